"""What charts share: columns that must be there, rows in the order of the data, axes of names, and notes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.report.style import FAINT, PALETTE, colour_of, row_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REFERENCE: Final[dict[str, Any]] = {"color": FAINT, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 0}
"""The look of a line to compare with."""


class NothingToDraw(Exception):  # noqa: N818 - nothing is wrong
    """No row has a value for what a chart draws; the figure then says so."""


def need(frame: pl.DataFrame, *columns: str | None, drawn: str | tuple[str, ...]) -> None:
    """Refuses a frame without the columns of a chart, or without a row in which all that is drawn has a value."""
    values = [drawn] if isinstance(drawn, str) else list(drawn)
    for column in (*columns, *values):
        if column is not None and column not in frame.columns:
            raise InputError(f"the data of the chart have no column '{column}'", remedy=nearest(column, frame.columns))
    if frame.drop_nulls(values).is_empty():
        raise NothingToDraw


def groups(frame: pl.DataFrame, column: str | None) -> Iterator[tuple[Any, pl.DataFrame]]:
    """The rows of each value of a column, in the order in which the values come; all of them without a column."""
    if column is None:
        yield "", frame
        return
    for (value,), part in frame.group_by([column], maintain_order=True):
        yield value, part


def distinct(frame: pl.DataFrame, column: str | None) -> list[Any]:
    """The values of a column in the order in which they come."""
    return [""] if column is None else frame[column].unique(maintain_order=True).to_list()


def facets(frame: pl.DataFrame, series: str | None) -> list[tuple[Any, pl.DataFrame]]:
    """All series in one panel, or a panel for each where there are more than colours."""
    together = len(distinct(frame, series)) <= len(PALETTE)
    return [("", frame)] if together else list(groups(frame, series))


def ends(part: pl.DataFrame, low: str, high: str) -> tuple[np.ndarray, np.ndarray] | None:
    """The two ends of each row's interval; null where the frame has none."""
    if low not in part.columns or high not in part.columns:
        return None
    return part[low].cast(pl.Float64).to_numpy(), part[high].cast(pl.Float64).to_numpy()


def placed(
    part: pl.DataFrame, category: str, names: Sequence[Any], series: str | None, several: int, colour: dict[Any, str]
) -> Iterator[tuple[Any, pl.DataFrame, np.ndarray, Any]]:
    """Each series with the places of its rows among the categories, beside the other series, and their colours."""
    step = 0.8 / several
    for number, (name, rows) in enumerate(groups(part, series)):
        places = np.array([names.index(entry) for entry in rows[category]], dtype=float)
        places += (number - (several - 1) / 2) * step
        yield name, rows, places, colour[name] if series else [colour_of(entry) for entry in rows[category]]


def name_rows(axes: Axes, names: Collection[Any], margin: float = 0.5) -> None:
    """The names of rows beside them, the first at the top."""
    axes.set_yticks(range(len(names)), [row_label(name) for name in names])
    axes.set_ylim(len(names) - 1 + margin, -margin)
    axes.tick_params(axis="y", length=0)


def note(axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], **how: Any) -> None:
    """A text beside a place, so many points away from it."""
    axes.annotate(text, at, xytext=offset, textcoords="offset points", **how)
