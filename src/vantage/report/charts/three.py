"""Three intervals for each estimate: people's, the model's, and that of both; each estimate on an axis of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from vantage.report.charts.empty import no_data
from vantage.report.charts.frames import groups, need, nothing
from vantage.report.style import INK, PAGE, PALETTE, PEOPLE, canvas
from vantage.report.style import label as short

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

COLOURS: Final = {"people": PEOPLE, "both": PALETTE[2]}
COLUMNS: Final = 2
HEIGHT: Final = 1.15


def three(
    frame: pl.DataFrame,
    *,
    panel: str,
    row: str = "judged_by",
    value: str = "estimate",
    low: str = "low",
    high: str = "high",
    width: float = PAGE,
) -> Drawing:
    """Points with intervals from top to bottom in the order of the data, in panels with axes of their own.

    Args:
        frame: One row per panel and row, such as those of people, the model and both.
        panel: The column of what is estimated.
        row: The column that says whose estimate it is.
        value: The column of the estimates.
        low: The lower end of the interval.
        high: The upper end of the interval.
        width: The width in inches.
    """
    need(frame, panel, row, value, low, high)
    if nothing(frame, value):
        return no_data()
    parts = list(groups(frame, panel))
    columns = min(COLUMNS, len(parts))
    lines = -(-len(parts) // columns)
    figure, all_axes = canvas(width, HEIGHT * lines + 0.15, lines, columns)
    for axes, (title, part) in zip(all_axes, parts, strict=False):
        places = np.arange(len(part))
        numbers = part.select(pl.col(value, low, high).cast(pl.Float64))
        ink = [COLOURS.get(name, PALETTE[0]) for name in part[row]]
        axes.hlines(places, numbers[low], numbers[high], color=ink, linewidth=1.8)
        axes.scatter(numbers[value], places, s=22, c=ink, linewidths=0, zorder=3)
        axes.set_yticks(places, [short(name) for name in part[row]])
        axes.set_ylim(len(part) - 0.4, -0.6)
        axes.set_title(short(title, 60), loc="left", color=INK)
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
    for axes in all_axes[len(parts) :]:
        axes.set_visible(False)
    return figure
