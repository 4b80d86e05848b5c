"""Points with intervals: one line per category, one colour and marker per series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from vantage.report.charts.frames import distinct, facets, groups, need
from vantage.report.style import FAINT, PAGE, colour_of, colours, markers, panels, row_label, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


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
    step = 0.8 / max(len(several), 1)
    for axes, (title, rest) in zip(all_axes, parts, strict=True):
        for number, (name, part) in enumerate(groups(rest, series)):
            places = np.array([names.index(entry) for entry in part[category]], dtype=float)
            places += (number - (len(several) - 1) / 2) * step
            estimates = part[value].cast(pl.Float64).to_numpy()
            ink = colour[name] if series else [colour_of(entry) for entry in part[category]]
            if low in part.columns and high in part.columns:
                ends = part.select(pl.col(low, high).cast(pl.Float64))
                axes.hlines(places, ends[low].to_numpy(), ends[high].to_numpy(), color=ink, linewidth=1.3)
            axes.scatter(estimates, places, s=25, marker=marker[name], c=ink, linewidths=0, label=short(name), zorder=3)
        if reference is not None:
            axes.axvline(reference, color=FAINT, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
            if reference_label:
                axes.annotate(
                    short(reference_label),
                    (reference, 1),
                    xycoords=("data", "axes fraction"),
                    xytext=(3, -1),
                    textcoords="offset points",
                    va="top",
                    fontsize=7,
                    color=FAINT,
                )
        axes.set_title(short(title), loc="left")
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
    all_axes[0].set_yticks(range(len(names)), [row_label(name) for name in names])
    all_axes[0].set_ylim(len(names) - 0.5, -0.5)
    for axes in all_axes[-columns:]:
        axes.set_xlabel(short(label or value))
    if limits:
        # A little more, so that a marker at an end is not cut.
        room = 0.015 * (limits[1] - limits[0])
        all_axes[0].set_xlim(limits[0] - room, limits[1] + room)
    if len(several) > 1:
        figure.legend(loc="outside lower center", ncols=min(len(several), 4))
    return figure
