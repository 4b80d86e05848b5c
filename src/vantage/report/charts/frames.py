"""What charts ask of their frames: that columns are there, and rows in the order of the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from vantage.errors import InputError, nearest
from vantage.report.style import PALETTE


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
