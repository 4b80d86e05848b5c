"""A heat map: a number for every pair, as a colour and in figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from vantage.report.cells import minus
from vantage.report.charts.frames import distinct, need
from vantage.report.style import PAGE, canvas, row_label, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

DARK = "#0b0d10"
"""Of figures inside pale cells: not plain black, which SVG leaves unsaid and the page would take for its own ink."""
WRITTEN = 400
"""With more cells than this, the figures inside them would not be readable and are left out."""


def heat(
    frame: pl.DataFrame,
    *,
    row: str,
    column: str,
    value: str = "estimate",
    label: str = "",
    limits: tuple[float, float] | None = None,
    diverging: bool = False,
    digits: int = 2,
    text: str | None = None,
    titles: tuple[str, str] | None = None,
    width: float = PAGE,
) -> Drawing:
    """A matrix of values; cells without one stay empty."""
    from matplotlib.colors import LinearSegmentedColormap

    need(frame, row, column, text, drawn=value)
    rows, columns = distinct(frame, row), distinct(frame, column)
    table = np.full((len(rows), len(columns)), np.nan)
    written: dict[tuple[int, int], Any] = {}
    for one in frame.with_columns(pl.col(value).cast(pl.Float64)).iter_rows(named=True):
        place = rows.index(one[row]), columns.index(one[column])
        table[place] = np.nan if one[value] is None else one[value]
        written[place] = one[text] if text else one[value]
    low, high = limits or _limits(table, diverging=diverging)
    shades = ["#b2541a", "#e8c3a4", "#f4f4f2", "#a9cde3", "#1f6f9f"] if diverging else ["#f1f5f8", "#8ebfdb", "#145a86"]
    map_ = LinearSegmentedColormap.from_list("heat", shades)
    figure, (axes,) = canvas(width, 0.9 + 0.26 * len(rows))
    image = axes.imshow(table, cmap=map_, vmin=low, vmax=high, aspect="auto")
    axes.set_yticks(range(len(rows)), [row_label(name) for name in rows])
    labels = [short(name, 24) for name in columns]
    slanted: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(labels)), labels, **(slanted if sum(map(len, labels)) > 9 * width else {}))
    if titles is not None:
        down, across = (str(frame[name][0]) if name in frame.columns else name for name in titles)
        axes.set_ylabel(short(down))
        axes.set_xlabel(short(across))
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    if table.size <= WRITTEN:
        texts = {place: _written(what, digits) for place, what in written.items()}
        # Room for a character in a cell, in inches, once names and colour bar have theirs.
        room = (width - 0.9 - 0.06 * max(len(short(name)) for name in rows)) / len(columns)
        size = max(5.0, min(7.5, 7.5 * room / (0.07 * max(map(len, texts.values()))) - 0.3))
        for (i, j), shown in texts.items():
            if not np.isnan(table[i, j]):
                # Written on its own shade, which is the same in the light and in the dark.
                red, green, blue, _ = map_((table[i, j] - low) / ((high - low) or 1))
                ink = "#ffffff" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5 else DARK
                axes.text(j, i, shown, ha="center", va="center", fontsize=size, color=ink)
    bar = figure.colorbar(image, ax=axes, fraction=0.03, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(short(label or value))
    return figure


def _written(what: Any, digits: int) -> str:
    """What stands inside a cell; adding zero takes the sign off a negative zero."""
    return minus(f"{round(what, digits) + 0.0:.{digits}f}") if isinstance(what, float) else short(what, 12)


def _limits(table: np.ndarray, *, diverging: bool) -> tuple[float, float]:
    low, high = float(np.nanmin(table)), float(np.nanmax(table))
    if diverging:
        end = max(abs(low), abs(high)) or 1.0
        return -end, end
    return (low, high) if low < high else (low - 0.5, high + 0.5)
