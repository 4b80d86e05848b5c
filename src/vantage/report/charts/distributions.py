"""Distributions: boxes, violins or histograms of values by category."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from vantage.report.charts.frames import distinct, groups, need
from vantage.report.style import INK, PAGE, canvas, colour_of, panels, row_label, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


def distribution(
    frame: pl.DataFrame,
    *,
    value: str = "value",
    category: str | None = None,
    kind: Literal["box", "violin", "histogram"] = "box",
    label: str = "",
    bins: int | list[float] = 20,
    width: float = PAGE,
) -> Drawing:
    """How values are spread, one shape per category.

    Args:
        frame: One row per value.
        value: The column of the values.
        category: The column of the categories, from top to bottom in the order of the data.
        kind: Boxes (median, quartiles, whiskers to 1.5 times their distance), violins, or one histogram each.
        label: What the values are.
        bins: Of a histogram: how many, or where they begin and end.
        width: The width in inches.
    """
    need(frame, category, drawn=value)
    known = frame.drop_nulls(value).with_columns(pl.col(value).cast(pl.Float64))
    names = distinct(known, category)
    if kind == "histogram":
        return _histograms(known, value, category, label, bins, width)
    figure, (axes,) = canvas(width, 0.7 + 0.32 * len(names))
    values = [part[value].to_numpy() for _, part in groups(known, category)]
    (_violins if kind == "violin" else _boxes)(axes, values, [colour_of(name) for name in names])
    axes.set_yticks(range(len(names)), [row_label(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
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


def _histograms(
    known: pl.DataFrame, value: str, category: str | None, label: str, bins: int | list[float], width: float
) -> Drawing:
    names = distinct(known, category)
    figure, all_axes, columns = panels(len(names), width, 1.5)
    edges = np.histogram_bin_edges(known[value].to_numpy(), bins=bins)
    for axes, (name, part) in zip(all_axes, groups(known, category), strict=True):
        axes.hist(part[value].to_numpy(), bins=edges.tolist(), color=colour_of(name), rwidth=0.92)
        axes.set_title(short(name), loc="left")
        axes.grid(axis="y")
    for axes in all_axes[-columns:]:
        axes.set_xlabel(short(label or value))
    return figure
