"""A table as it was read from a file, its rows as they are queried, and a doubt about it."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.errors import InputError, nearest

ROW: Final = "__row"
"""The column of `FileRows` with the number of the row in the file."""


class Doubt(InputError):  # noqa: N818 - what it is
    """Something in a table that may change numbers, and the option of the reader that settles it.

    Where another one is as likely, `otherwise` is it, and only the user can choose.
    """

    def __init__(
        self, problem: str, *, settle: Mapping[str, Any], otherwise: Mapping[str, Any] | None = None, **place: Any
    ) -> None:
        super().__init__(problem, **place)
        self.settle, self.otherwise = dict(settle), dict(otherwise or {})


@dataclass(frozen=True, slots=True)
class CrossedHeader:
    """A header of two rows that cross, such as raters above and questions below, as names of columns."""

    names: tuple[str, ...]
    """`ann [trust]` for the column of ann in the first row and trust in the second."""
    columns: tuple[str, ...]
    """Those that have two names."""
    levels: tuple[str, str]
    """What the two rows say of themselves in front of their names."""
    lines: int
    """How many rows it takes; a third one names the columns beside."""


@dataclass(frozen=True, slots=True)
class FileTable:
    """A table that knows the row of the file for each of its rows."""

    path: Path
    frame: pl.DataFrame
    first_row: int = 1
    """The row of the file where the table starts: 2 below a header line."""
    kept: pl.Series | None = None
    """The rows that were kept, counted from 0, where blank lines were dropped."""
    notes: tuple[str, ...] = ()
    """What was decided in reading the file."""
    labels: Mapping[str, Mapping[float, str]] = field(default_factory=dict)
    """For columns of statistics packages: the words that their codes stand for."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """The wording behind a short column name, where the file has both."""
    beside: tuple[str, ...] = ()
    """Columns that the file itself keeps apart from the answers."""
    crossed: CrossedHeader | None = None
    """The names of the columns, where they take two rows."""

    def row(self, index: int) -> int:
        """The row of the file for a row of the frame, counted from 0."""
        return (index if self.kept is None else int(self.kept[index])) + self.first_row

    def rows(self) -> FileRows:
        """The rows for queries."""
        kept = pl.int_range(len(self.frame), dtype=pl.Int64) if self.kept is None else self.kept.cast(pl.Int64)
        frame = self.frame.with_columns((kept + self.first_row).alias(ROW))
        return FileRows(
            self.path,
            frame.lazy(),
            self.frame.schema,
            notes=self.notes,
            labels=self.labels,
            titles=self.titles,
            beside=self.beside,
            crossed=self.crossed,
        )

    def fault(self, problem: str, remedy: str, index: int | None = None, column: str | None = None) -> InputError:
        """The error for a problem with the file, or with a row (from 0) and column of the frame."""
        row = None if index is None else self.row(index)
        return InputError(problem, file=self.path, row=row, column=column, remedy=remedy)

    def column(self, name: str, purpose: str = "") -> pl.Series:
        """A column that has to be there."""
        check_column(self.path, self.frame.columns, name, purpose)
        return self.frame[name]

    def require(self, *names: str) -> None:
        """Refuses a table in which one of these columns is missing, naming them all."""
        if missing := [name for name in names if name not in self.frame.columns]:
            what = "is no column" if len(missing) == 1 else "are no columns"
            raise self.fault(f"there {what} {_names(missing)}", f"it has {_names(self.frame.columns)}")

    def refuse(
        self, wrong: pl.Series, column: str, problem: str, remedy: str = "check that this is the released file"
    ) -> None:
        """Names the first wrong cell with its row; `{}` in the problem is the content of the cell."""
        if wrong.any():
            index = wrong.arg_max() or 0
            if "{}" in problem:
                cell = self.frame[column][index]
                problem = problem.replace("{}", "" if cell is None else str(cell))
            raise self.fault(problem, remedy, index, column)

    def numbers(self, name: str) -> pl.Series:
        """A column as numbers; the first cell that is none is named with its row."""
        column = self.column(name)
        if column.dtype.is_numeric():
            return column.cast(pl.Float64)
        stripped = column.cast(pl.String).str.strip_chars()
        stripped = stripped.set(stripped == "", None)
        values = stripped.cast(pl.Float64, strict=False)
        self.refuse(values.is_null() & stripped.is_not_null(), name, "'{}' is not a number", "correct the cell")
        return values


class Scratch:
    """A temporary folder that is deleted with this object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="vantage-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of a table for queries: a frame in memory, or a large file streamed from the disk."""

    path: Path
    lazy: pl.LazyFrame
    """The columns of the file, and `ROW`."""
    schema: Mapping[str, pl.DataType]
    """The columns of the file."""
    streamed: bool = False
    cells: Sequence[str] = ()
    """Where the table was a wide one, the columns that held values: `ROW` then counts its cells, row by row."""
    notes: tuple[str, ...] = ()
    labels: Mapping[str, Mapping[float, str]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    crossed: CrossedHeader | None = None
    scratch: Scratch | None = None
    """Where the rows of a large file are stored."""

    def collect(self, *queries: pl.LazyFrame) -> list[pl.DataFrame]:
        """The answers to queries; those about a large file are streamed, one after the other."""
        if self.streamed:
            return [query.collect(engine="streaming") for query in queries]
        return pl.collect_all(list(queries))

    def having(self, table: pl.LazyFrame | pl.DataFrame, **changed: Any) -> FileRows:
        """These rows as another table, which is in memory where it is a frame."""
        streamed = self.streamed and isinstance(table, pl.LazyFrame)
        schema = table.lazy().drop(ROW).collect_schema()
        return replace(self, lazy=table.lazy(), schema=schema, streamed=streamed, **changed)

    def fault(self, problem: str, remedy: str | None, number: int | None = None, column: str = "") -> InputError:
        """The error for a problem with the file, or with the cell of a row (its `ROW`) and column."""
        place = {"file": self.path} if number is None else self.at(number, column)
        return InputError(problem, remedy=remedy, **place)

    def doubt(self, problem: str, remedy: str, number: int, column: str, **settle: Any) -> Doubt:
        """A doubt about the cell of a row and a column; `settle` are options of the reader."""
        return Doubt(problem, remedy=remedy, settle=settle, **self.at(number, column))

    def at(self, number: int, column: str = "") -> dict[str, Any]:
        """The place of a cell, for an error: file, row and column."""
        if self.cells:
            number, cell = divmod(number, len(self.cells))
            column = self.cells[cell] if column.startswith("__") else column
        return {"file": self.path, "row": number, "column": column}


def title_notes(lines: int, header: int) -> tuple[str, ...]:
    """What is noted of so many lines above the header; nothing where there are none."""
    if not lines:
        return ()
    above = "The first line is" if lines == 1 else f"The first {lines} lines are"
    return (f"{above} a title; the names of the columns are in line {header}.",)


def numeric(column: pl.Series) -> pl.Series:
    """A column of text as numbers where every cell is one."""
    if column.dtype != pl.String or column.null_count() == len(column):
        return column
    for dtype in (pl.Int64, pl.Float64):
        numbers = column.cast(dtype, strict=False)
        if numbers.null_count() == column.null_count():
            return numbers
    return column


def check_column(path: Path, columns: Sequence[str], name: str, purpose: str = "") -> None:
    """Refuses a table without a column; names the one that may have been meant, or all columns."""
    if name not in columns:
        what, close = f" for {purpose}" if purpose else "", nearest(name, columns)
        remedy = close if close.startswith("did you mean") else f"it has {_names(columns)}"
        raise InputError(f"there is no column '{name}'{what}", file=path, remedy=remedy)


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:20])
    return f"{shown} and {len(names) - 20} more" if len(names) > 20 else shown
