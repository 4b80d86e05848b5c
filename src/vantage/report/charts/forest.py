"""Estimates with intervals beside the values that were expected, in panels with axes of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from vantage.report.charts.frames import distinct, groups, need
from vantage.report.style import FAINT, INK, PAGE, PALETTE, PEOPLE, canvas, colours, row_label, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

ROW: Final = 0.26
"""The height of a row in inches."""
HEAD: Final = 0.45
"""What the title and the axis of a panel need besides."""


def forest(
    frame: pl.DataFrame,
    *,
    category: str,
    expected: str | None = None,
    panel: str | None = None,
    reference: str | None = None,
    value: str = "estimate",
    low: str = "low",
    high: str = "high",
    expected_label: str = "expected",
    value_label: str = "found, with 95 % interval",
    width: float = PAGE,
) -> Drawing:
    """Points with intervals and, as diamonds, the values that were expected; panels from top to bottom.

    Args:
        frame: One row per category; a row without an expected value has no diamond.
        category: The column of the names of rows; where nothing was expected, each name has its colour.
        expected: The column of the values that were expected, if there are some.
        panel: The column of the panels; rows in one panel are on one axis.
        reference: The column of a value to compare with, drawn as a line in each panel.
        value: The column of the estimates.
        low: The lower end of the interval.
        high: The upper end of the interval.
        expected_label: What the diamonds are, for the legend.
        value_label: What the points are, for the legend.
        width: The width in inches.
    """
    from matplotlib.lines import Line2D

    need(frame, category, low, high, expected, panel, reference, drawn=value)
    names = distinct(frame, category)
    ink = dict.fromkeys(names, PALETTE[0]) if expected else colours(names)
    parts = list(groups(frame, panel))
    heights = [len(part) * ROW + HEAD for _, part in parts]
    figure, all_axes = canvas(width, sum(heights) + 0.25, len(parts), 1, height_ratios=heights)
    for axes, (title, part) in zip(all_axes, parts, strict=True):
        places = np.arange(len(part))
        numbers = part.select(pl.col(value, low, high, *([expected] if expected else [])).cast(pl.Float64))
        tints = [ink[name] for name in part[category]]
        for mark in distinct(part.drop_nulls(reference), reference) if reference else ():
            axes.axvline(mark, color=FAINT, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        if expected:
            diamond: dict[str, Any] = {"marker": "D", "facecolors": "none", "edgecolors": PEOPLE, "linewidths": 1.4}
            axes.scatter(numbers[expected], places, s=48, zorder=2, **diamond)
        axes.hlines(places, numbers[low], numbers[high], color=tints, linewidth=1.8, zorder=3)
        axes.scatter(numbers[value], places, s=20, c=tints, linewidths=0, zorder=4)
        axes.set_yticks(places, [row_label(name) for name in part[category]])
        axes.set_ylim(len(part) - 0.4, -0.6)
        axes.set_title(short(title, 60), loc="left", color=INK)
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
    if not expected:
        return figure
    marks = [
        Line2D([], [], linestyle="none", marker="D", markersize=6, markerfacecolor="none", markeredgecolor=PEOPLE),
        Line2D([], [], linewidth=1.8, marker="o", markersize=4.5, color=PALETTE[0]),
    ]
    figure.legend(marks, [expected_label, value_label], loc="outside upper left", ncols=2)
    return figure
