"""A chart of our own: `Figure(…, chart="lab-strip", …)`."""

import polars as pl
from matplotlib.figure import Figure

from vantage.report.style import canvas


def strip(frame: pl.DataFrame, *, category: str, value: str = "value") -> Figure:
    """Every value as a short line, one row for each category."""
    names = frame[category].unique(maintain_order=True).to_list()
    figure, (axes,) = canvas(6.0, 0.6 + 0.3 * len(names))
    axes.plot(frame[value], [names.index(name) for name in frame[category]], "|", markersize=12)
    axes.set_yticks(range(len(names)), names)
    return figure
