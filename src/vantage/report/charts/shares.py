"""What things consist of: bars stacked as shares of a whole, boxes or violins of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import polars as pl

from vantage.report.charts.frames import NothingToDraw, distinct, groups, name_rows, need
from vantage.report.style import INK, PAGE, PALETTE, canvas, colour_of, scale_colours, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

LETTERS: Final = 14
"""So many letters of a legend fit into an inch."""


def shares(
    frame: pl.DataFrame,
    *,
    category: str,
    part: str,
    value: str = "share",
    order: Sequence[Any] = (),
    colours: Sequence[str] = (),
    label: str = "share",
    bipolar: bool = False,
    width: float = PAGE,
) -> Drawing:
    """What each category consists of: one lying bar per category, stacked to a whole."""
    need(frame, category, part, drawn=value)
    if not frame[value].sum():
        raise NothingToDraw
    frame = frame.drop_nulls(value)
    names = distinct(frame, category)
    kinds = [kind for kind in order if kind in set(frame[part])] or distinct(frame, part)
    figure, (axes,) = canvas(width, 0.9 + 0.27 * len(names))
    steps = len(kinds) > len(PALETTE)
    colour = scale_colours(kinds, ordered=steps, bipolar=bipolar) | dict(zip(order, colours, strict=bool(colours)))
    table = np.zeros((len(names), len(kinds)))
    for name, kind, amount in frame.select(category, part, value).iter_rows():
        if kind in kinds:
            table[names.index(name), kinds.index(kind)] += amount
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
    """How values are spread, one shape per category."""
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
        how: dict[str, Any] = {"orientation": "horizontal", "widths": 0.8, "showextrema": False}
        bodies: Any = axes.violinplot([values[number] for number in spread], positions=spread, **how)["bodies"]
        for body, number in zip(bodies, spread, strict=True):
            body.set(facecolor=inks[number], edgecolor=inks[number], alpha=0.55)
    for number, part in enumerate(values):
        axes.plot([np.median(part)], [number], marker="|", color=INK, markersize=9, markeredgewidth=1.6)
