"""Bars side by side with intervals, or stacked as shares of a whole; boxes or violins of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import polars as pl

from vantage.report.charts.frames import (
    NothingToDraw,
    distinct,
    ends,
    facets,
    groups,
    name_columns,
    name_rows,
    need,
    placed,
)
from vantage.report.style import INK, PAGE, PALETTE, canvas, colour_of, colours, panels, scale_colours, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

SLANTED: Final = 34
"""Categories whose names have more characters than this, all together, are written at a slant."""
LETTERS: Final = 14
"""So many letters of a legend fit into an inch."""


def bars(
    frame: pl.DataFrame,
    *,
    category: str,
    value: str = "estimate",
    low: str = "low",
    high: str = "high",
    series: str | None = None,
    label: str = "",
    limits: tuple[float, float] | None = None,
    width: float = PAGE,
    height: float = 2.8,
) -> Drawing:
    """Bars side by side, one group per category and one bar per series, with intervals where there are some.

    Args:
        frame: One row per category and series.
        category: The column of the categories, from left to right in the order of the data.
        value: The column of the heights.
        low: The lower end of the interval.
        high: The upper end of the interval.
        series: The column of the series, if there are several; more than eight get a panel each.
        label: What the numbers are.
        limits: The ends of the axis.
        width: The width in inches.
        height: The height in inches.
    """
    need(frame, category, series, drawn=value)
    names, parts = distinct(frame, category), facets(frame, series)
    several = distinct(frame, series) if len(parts) == 1 else [""]
    figure, all_axes, columns = panels(len(parts), width, height)
    colour = colours(distinct(frame, series))
    labels = [short(name, 24) for name in names]
    slanted = len(labels) > 3 and sum(map(len, labels)) > SLANTED * width / 3.35 / columns
    for axes, (title, rest) in zip(all_axes, parts, strict=True):
        for name, part, places, ink in placed(rest, category, names, series, len(several), colour):
            heights = part[value].cast(pl.Float64).to_numpy()
            axes.bar(places, heights, width=0.9 * (0.8 / len(several)), color=ink, label=short(name))
            if interval := ends(part, low, high):
                axes.vlines(places, *interval, color=INK, linewidth=0.9)
        name_columns(axes, labels, slanted=slanted)
        axes.tick_params(axis="x", length=0)
        axes.axhline(0, color=INK, linewidth=0.6)
        axes.grid(axis="y")
        axes.set_title(short(title), loc="left")
    for axes in all_axes[::columns]:
        axes.set_ylabel(short(label or value))
    if limits:
        all_axes[0].set_ylim(*limits)
    if len(several) > 1:
        figure.legend(loc="outside lower center", ncols=min(len(several), 4))
    return figure


def shares(
    frame: pl.DataFrame,
    *,
    category: str,
    part: str,
    value: str = "share",
    order: Sequence[Any] = (),
    label: str = "share",
    sequential: bool = False,
    bipolar: bool = False,
    width: float = PAGE,
) -> Drawing:
    """What each category consists of: one lying bar per category, stacked to a whole.

    Args:
        frame: One row per category and part, with its count or share; each bar is scaled to one.
        category: The column of the bars, from top to bottom in the order of the data.
        part: The column of the parts.
        value: The column of the counts or shares.
        order: The order of the parts; that of the data without it.
        label: What the shares are of.
        sequential: Whether the parts are steps of a scale: then the colours run from light to dark, as they do where
            there are more than eight.
        bipolar: Whether the steps have a middle that is neither: then the colours run from one colour to another.
        width: The width in inches.
    """
    need(frame, category, part, drawn=value)
    if not frame[value].sum():
        raise NothingToDraw
    frame = frame.drop_nulls(value)
    names = distinct(frame, category)
    kinds = [kind for kind in order if kind in set(frame[part])] or distinct(frame, part)
    figure, (axes,) = canvas(width, 0.9 + 0.27 * len(names))
    colour = scale_colours(kinds, ordered=sequential or len(kinds) > len(PALETTE), bipolar=bipolar)
    table = np.zeros((len(names), len(kinds)))
    for name, kind, amount in frame.select(category, part, value).iter_rows():
        if kind in kinds:
            table[names.index(name), kinds.index(kind)] += amount or 0
    total = table.sum(axis=1, keepdims=True)
    table = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    left = np.zeros(len(names))
    for number, kind in enumerate(kinds):
        amounts = table[:, number]
        axes.barh(range(len(names)), amounts, left=left, color=colour[kind], label=short(kind, 24), height=0.72)
        left += amounts
    name_rows(axes, names)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel(short(label))
    room = sum(len(short(kind, 24)) + 4 for kind in kinds) < LETTERS * width
    beside = 7 if room else max(1, round(4 * width / PAGE))
    figure.legend(loc="outside lower center", ncols=min(len(kinds), beside), handlelength=1, columnspacing=1.2)
    return figure


def distribution(
    frame: pl.DataFrame,
    *,
    value: str = "value",
    category: str | None = None,
    kind: Literal["box", "violin"] = "box",
    label: str = "",
    width: float = PAGE,
) -> Drawing:
    """How values are spread, one shape per category.

    Args:
        frame: One row per value.
        value: The column of the values.
        category: The column of the categories, from top to bottom in the order of the data.
        kind: Boxes (median, quartiles, whiskers to 1.5 times their distance) or violins.
        label: What the values are.
        width: The width in inches.
    """
    need(frame, category, drawn=value)
    known = frame.drop_nulls(value).with_columns(pl.col(value).cast(pl.Float64))
    names = distinct(known, category)
    figure, (axes,) = canvas(width, 0.7 + 0.32 * len(names))
    values = [part[value].to_numpy() for _, part in groups(known, category)]
    (_violins if kind == "violin" else _boxes)(axes, values, [colour_of(name) for name in names])
    name_rows(axes, names)
    axes.grid(axis="x")
    axes.set_xlabel(short(label or value))
    return figure


def _boxes(axes: Axes, values: list[np.ndarray], inks: list[str]) -> None:
    line = {"color": INK, "linewidth": 0.9}
    drawn = axes.boxplot(
        values,
        positions=range(len(values)),
        orientation="horizontal",
        widths=0.55,
        patch_artist=True,
        boxprops={"edgecolor": INK, "linewidth": 0.8, "alpha": 0.75},
        medianprops={"color": INK, "linewidth": 1.6},
        whiskerprops=line,
        capprops=line,
        flierprops={"marker": ".", "markersize": 3, "alpha": 0.6},
    )
    for place, (box, points, ink) in enumerate(zip(drawn["boxes"], drawn["fliers"], inks, strict=True)):
        box.set(facecolor=ink)
        # A point that thousands of ratings share is drawn once.
        different = np.unique(points.get_xdata())
        points.set(markeredgecolor=ink, data=(different, np.full(len(different), place)))


def _violins(axes: Axes, values: list[np.ndarray], inks: list[str]) -> None:
    # A density needs at least two different values; others are drawn as points.
    spread = [number for number, part in enumerate(values) if len(np.unique(part)) > 1]
    if spread:
        shapes = axes.violinplot(
            [values[number] for number in spread],
            positions=spread,
            orientation="horizontal",
            widths=0.8,
            showextrema=False,
        )
        bodies: Any = shapes["bodies"]
        for body, number in zip(bodies, spread, strict=True):
            body.set(facecolor=inks[number], edgecolor=inks[number], alpha=0.55)
    for number, part in enumerate(values):
        axes.plot([np.median(part)], [number], marker="|", color=INK, markersize=9, markeredgewidth=1.6)
