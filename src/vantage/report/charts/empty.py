"""A figure for which there are no data says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vantage.report.style import COLUMN, FAINT, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def no_data(text: str = "There are no data to draw.") -> Drawing:
    """An empty frame with a sentence in it."""
    figure, (axes,) = canvas(COLUMN, 1.2)
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color=FAINT, transform=axes.transAxes)
    return figure
