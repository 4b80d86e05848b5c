"""Estimates with intervals as points or bars, one line per category, beside the values that were expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from vantage.report.charts.frames import REFERENCE, distinct, ends, facets, groups, name_rows, need, note, placed
from vantage.report.style import FAINT, INK, PAGE, PEOPLE, canvas, colours, markers, panels, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

ROW: Final = 0.26
"""The height of a row in inches."""
SERIES: Final = 0.16
"""The same of each of several series in a row."""
HEAD: Final = 0.7
"""What the title and the axis of a panel need besides."""


def points(
    frame: pl.DataFrame,
    *,
    category: str,
    value: str = "estimate",
    low: str = "low",
    high: str = "high",
    series: str | None = None,
    panel: str | None = None,
    expected: str | None = None,
    expected_label: str = "expected",
    value_label: str = "found, with 95 % interval",
    bars: bool = False,
    label: str = "",
    reference: float | str | None = None,
    reference_label: str = "",
    limits: tuple[float, float] | None = None,
    width: float = PAGE,
) -> Drawing:
    """Estimates with their intervals, categories from top to bottom in the order of the data."""
    column = reference if isinstance(reference, str) else None
    need(frame, category, series, panel, expected, column, drawn=value)
    # What has no estimate stands in the table, with the reason.
    frame = frame.drop_nulls(value)
    parts = list(groups(frame, panel)) if panel else facets(frame, series)
    several = distinct(frame, series) if panel or len(parts) == 1 else [""]
    names = [distinct(part if panel else frame, category) for _, part in parts]
    heights = [HEAD + max(ROW, SERIES * len(several)) * len(one) for one in names]
    if panel:
        figure, all_axes = canvas(width, sum(heights) + 0.25, len(parts), 1, height_ratios=heights)
    else:
        figure, all_axes, _ = panels(len(parts), width, heights[0])
    colour, marker = colours(distinct(frame, series)), markers(distinct(frame, series))
    for axes, (title, rest), rows in zip(all_axes, parts, names, strict=True):
        for name, part, places, ink in placed(rest, category, rows, series, len(several), colour):
            estimates = part[value].cast(pl.Float64).to_numpy()
            if bars:
                axes.barh(places, estimates, height=0.72 / len(several), color=ink, label=short(name))
            else:
                shown = short(name) or value_label
                axes.scatter(estimates, places, s=25, marker=marker[name], c=ink, linewidths=0, label=shown, zorder=4)
            if interval := ends(part, low, high):
                axes.hlines(places, *interval, color=INK if bars else ink, linewidth=1.3, zorder=3)
            if expected:
                how: dict[str, Any] = {"marker": "D", "s": 48, "facecolors": "none", "edgecolors": PEOPLE, "zorder": 2}
                axes.scatter(part[expected].cast(pl.Float64), places, linewidths=1.4, label=expected_label, **how)
        _compare(axes, distinct(rest.drop_nulls(column), column) if column else [reference], reference_label)
        axes.set_title(short(title, 60), loc="left")
        axes.grid(axis="x")
        if panel or axes is all_axes[0]:
            name_rows(axes, rows, 0.6)
        else:
            axes.tick_params(axis="y", length=0)
    figure.supxlabel(short(label or ("" if panel else value)), fontsize=8.5)
    if limits:
        # A little more, so that a marker at an end is not cut.
        room = 0.015 * (limits[1] - limits[0])
        all_axes[0].set_xlim(limits[0] - room, limits[1] + room)
    if len(several) > 1 or expected:
        handles, labels = all_axes[0].get_legend_handles_labels()
        # Above, since the label of the axis is below.
        figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 4))
    return figure


def _compare(axes: Axes, references: Sequence[Any], words: str) -> None:
    """Lines at values to compare with, and what these are."""
    for at in (one for one in references if one is not None):
        axes.axvline(at, **REFERENCE)
        how: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "ha": "center", "fontsize": 7}
        note(axes, short(words), (at, 1), (0, 2), color=FAINT, **how)
