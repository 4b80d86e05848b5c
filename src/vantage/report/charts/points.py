"""Estimates with intervals as points: one line per category, or panels beside the values that were expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from vantage.report.charts.frames import REFERENCE, distinct, ends, facets, groups, name_rows, need, note, placed
from vantage.report.style import FAINT, INK, PAGE, PALETTE, PEOPLE, canvas, colours, markers, panels, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

ROW: Final = 0.26
"""The height of a row in inches."""
HEAD: Final = 0.45
"""What the title and the axis of a panel need besides."""


def points(
    frame: pl.DataFrame,
    *,
    category: str,
    value: str = "estimate",
    low: str = "low",
    high: str = "high",
    series: str | None = None,
    label: str = "",
    reference: float | None = None,
    reference_label: str = "",
    limits: tuple[float, float] | None = None,
    width: float = PAGE,
) -> Drawing:
    """Estimates with their intervals, categories from top to bottom in the order of the data.

    Args:
        frame: One row per category and series; intervals are drawn where the two columns have values.
        category: The column of the categories.
        value: The column of the estimates.
        low: The lower end of the interval.
        high: The upper end of the interval.
        series: The column of the series, if there are several; more than eight get a panel each.
        label: What the numbers are.
        reference: A value to compare with, drawn as a line.
        reference_label: What that value is.
        limits: The ends of the axis.
        width: The width in inches.
    """
    need(frame, category, series, drawn=value)
    # What has no estimate stands in the table, with the reason.
    frame = frame.drop_nulls(value)
    names, parts = distinct(frame, category), facets(frame, series)
    several = distinct(frame, series) if len(parts) == 1 else [""]
    figure, all_axes, columns = panels(len(parts), width, 0.7 + max(0.24, 0.13 * len(several)) * len(names))
    colour, marker = colours(distinct(frame, series)), markers(distinct(frame, series))
    for axes, (title, rest) in zip(all_axes, parts, strict=True):
        for name, part, places, ink in placed(rest, category, names, series, len(several), colour):
            estimates = part[value].cast(pl.Float64).to_numpy()
            if interval := ends(part, low, high):
                axes.hlines(places, *interval, color=ink, linewidth=1.3)
            axes.scatter(estimates, places, s=25, marker=marker[name], c=ink, linewidths=0, label=short(name), zorder=3)
        if reference is not None:
            axes.axvline(reference, **REFERENCE)
            if reference_label:
                how: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "va": "top", "fontsize": 7}
                note(axes, short(reference_label), (reference, 1), (3, -1), color=FAINT, **how)
        axes.set_title(short(title), loc="left")
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
    name_rows(all_axes[0], names)
    for axes in all_axes[-columns:]:
        axes.set_xlabel(short(label or value))
    if limits:
        # A little more, so that a marker at an end is not cut.
        room = 0.015 * (limits[1] - limits[0])
        all_axes[0].set_xlim(limits[0] - room, limits[1] + room)
    if len(several) > 1:
        figure.legend(loc="outside lower center", ncols=min(len(several), 4))
    return figure


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
            axes.axvline(mark, **REFERENCE)
        if expected:
            diamond: dict[str, Any] = {"marker": "D", "facecolors": "none", "edgecolors": PEOPLE, "linewidths": 1.4}
            axes.scatter(numbers[expected], places, s=48, zorder=2, **diamond)
        axes.hlines(places, numbers[low], numbers[high], color=tints, linewidth=1.8, zorder=3)
        axes.scatter(numbers[value], places, s=20, c=tints, linewidths=0, zorder=4)
        name_rows(axes, part[category], 0.6)
        axes.set_title(short(title, 60), loc="left", color=INK)
        axes.grid(axis="x")
    if not expected:
        return figure
    marks = [
        Line2D([], [], linestyle="none", marker="D", markersize=6, markerfacecolor="none", markeredgecolor=PEOPLE),
        Line2D([], [], linewidth=1.8, marker="o", markersize=4.5, color=PALETTE[0]),
    ]
    figure.legend(marks, [expected_label, value_label], loc="outside upper left", ncols=2)
    return figure
