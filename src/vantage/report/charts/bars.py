"""Bars: side by side with intervals, or stacked as shares of a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from vantage.report.charts.frames import NothingToDraw, distinct, facets, groups, need
from vantage.report.style import INK, PAGE, PALETTE, canvas, colour_of, colours, panels, row_label, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

SLANTED = 34
"""Categories whose names have more characters than this, all together, are written at a slant."""


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
    colour, step = colours(distinct(frame, series)), 0.8 / len(several)
    labels = [short(name, 24) for name in names]
    slanted = len(labels) > 3 and sum(map(len, labels)) > SLANTED * width / 3.35 / columns
    turned: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    for axes, (title, rest) in zip(all_axes, parts, strict=True):
        for number, (name, part) in enumerate(groups(rest, series)):
            places = np.array([names.index(entry) for entry in part[category]], dtype=float)
            places += (number - (len(several) - 1) / 2) * step
            heights = part[value].cast(pl.Float64).to_numpy()
            ink = colour[name] if series else [colour_of(entry) for entry in part[category]]
            axes.bar(places, heights, width=0.9 * step, color=ink, label=short(name))
            if low in part.columns and high in part.columns:
                ends = part.select(pl.col(low, high).cast(pl.Float64))
                axes.vlines(places, ends[low].to_numpy(), ends[high].to_numpy(), color=INK, linewidth=0.9)
        axes.set_xticks(range(len(names)), labels, **turned)
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
        sequential: Whether the parts are steps of a scale: then the colours run from one end to the other, as they do
            where there are more than eight.
        width: The width in inches.
    """
    need(frame, category, part, drawn=value)
    if not frame[value].sum():
        raise NothingToDraw
    frame = frame.drop_nulls(value)
    names = distinct(frame, category)
    kinds = [kind for kind in order if kind in set(frame[part])] or distinct(frame, part)
    figure, (axes,) = canvas(width, 0.9 + 0.27 * len(names))
    colour = _steps(kinds) if sequential or len(kinds) > len(PALETTE) else colours(kinds)
    table = np.zeros((len(names), len(kinds)))
    for name, kind, amount in frame.select(category, part, value).iter_rows():
        if kind in kinds:
            table[names.index(name), kinds.index(kind)] += amount or 0
    total = table.sum(axis=1, keepdims=True)
    table = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    left = np.zeros(len(names))
    for number, kind in enumerate(kinds):
        axes.barh(
            range(len(names)), table[:, number], left=left, color=colour[kind], label=short(kind, 24), height=0.72
        )
        left += table[:, number]
    axes.set_yticks(range(len(names)), [row_label(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel(short(label))
    figure.legend(loc="outside lower center", ncols=min(len(kinds), 7), handlelength=1, columnspacing=1.2)
    return figure


def _steps(kinds: Sequence[Any]) -> dict[Any, str]:
    """Colours from one end of a scale to the other, through a middle that is neither."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    ends = LinearSegmentedColormap.from_list("ends", ["#b2541a", "#d99a6c", "#8f979f", "#6aa5c9", "#1f6f9f"])
    last = max(len(kinds) - 1, 1)
    return {kind: to_hex(ends(number / last)) for number, kind in enumerate(kinds)}
