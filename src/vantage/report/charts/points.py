"""Points with intervals: one line per category, one colour and marker per series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from vantage.report.charts.empty import no_data
from vantage.report.charts.frames import distinct, groups, need, nothing
from vantage.report.style import FAINT, PAGE, canvas, colours, markers
from vantage.report.style import label as short

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
        series: The column of the series, if there are several.
        label: What the numbers are.
        reference: A value to compare with, drawn as a line.
        reference_label: What that value is.
        limits: The ends of the axis.
        width: The width in inches.
    """
    need(frame, category, value, series)
    if nothing(frame, value):
        return no_data()
    names, several = distinct(frame, category), distinct(frame, series)
    step = 0.8 / max(len(several), 1)
    figure, (axes,) = canvas(width, 0.7 + max(0.24, 0.13 * len(several)) * len(names))
    colour, marker = colours(several), markers(several)
    for number, (name, part) in enumerate(groups(frame, series)):
        places = np.array([names.index(entry) for entry in part[category]], dtype=float)
        places += (number - (len(several) - 1) / 2) * step
        estimates = part[value].cast(pl.Float64).to_numpy()
        if low in part.columns and high in part.columns:
            ends = part.select(pl.col(low, high).cast(pl.Float64))
            axes.hlines(places, ends[low].to_numpy(), ends[high].to_numpy(), color=colour[name], linewidth=1.3)
        axes.plot(estimates, places, linestyle="", marker=marker[name], color=colour[name], label=short(name))
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
    axes.set_yticks(range(len(names)), [short(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(short(label or value))
    if limits:
        axes.set_xlim(*limits)
    if len(several) > 1:
        figure.legend(loc="outside lower center", ncols=min(len(several), 4))
    return figure
