"""The parts of a report: findings in plain words, and sections of text, tables and figures.

All are plain data. A table and a figure hold the frame behind them, so that a stored report can be drawn again
without running the study again.

>>> import polars as pl
>>> frame = pl.DataFrame({"question": ["trust"], "estimate": [0.597], "low": [0.576], "high": [0.618]})
>>> table = Table("alpha", "Krippendorff's alpha per question.", frame, {"estimate": Column("alpha", digits=2)})
>>> table.heads()
[Head(column='question', title='question', numeric=False), Head(column='estimate', title='alpha', numeric=True)]
>>> [cell.text for cell in next(table.rows())]
['trust', '0.60 [0.58, 0.62]']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import polars as pl

from vantage.errors import InputError
from vantage.measures.base import only_reason
from vantage.measures.presentation import Column
from vantage.report.cells import MISSING, minus, p_value, show
from vantage.report.marks import Mark, is_mark, words
from vantage.report.style import COLUMN

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

    from vantage.report.ledger import Claim

__all__ = ["Cell", "Column", "Figure", "Finding", "Head", "Part", "Result", "Section", "Table"]

_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CHANCE: Final = re.compile(r"(?:.*_)?p(?:_.*)?")
"""Names of columns that hold p values."""
_PERCENT: Final = {True: 1, False: None}
"""Digits of a column that does not say how many."""
HIDDEN: Final = ("measure", "options")
"""Columns that make a row recomputable: kept in the files, left out for people."""
ALONE: Final = "_alone"
"""What the ends of an interval of one row by itself are called, where those shown hold for a family: only in files."""


class Shown:
    """Something that a notebook shows."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        # How parts look is imported when the first one is shown, since it needs the parts themselves.
        # Plain text: marimo takes nothing else.
        return str(import_module("vantage.report.notebook").shown(self))


def cell_text(how: Column, value: Any) -> str:
    """A value of a column for people.

    >>> cell_text(Column(percent=True, digits=1), 0.269), cell_text(Column(signed=True, digits=2), 0.1)
    ('26.9 %', '+0.10')
    >>> cell_text(Column(chance=True, digits=3), 0.00004), cell_text(Column(), None)
    ('< .001', '–')
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        return show(value, how.digits)
    if how.chance:
        return p_value(value)
    digits = how.digits if how.digits is not None else _PERCENT[how.percent]
    text = minus(show(100 * value if how.percent else value, digits))
    text = f"{text} %" if how.percent else text
    return f"+{text}" if how.signed and value > 0 else text


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a shown column."""

    column: str
    title: str
    numeric: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A shown cell: its text, interval and mark, what it is sorted by, and whether it is the best of its column."""

    plain: str
    interval: str = ""
    key: Any = None
    best: bool = False
    mark: Mark | None = None

    @property
    def text(self) -> str:
        """Value and interval."""
        return f"{self.plain} {self.interval}" if self.interval else self.plain


@dataclass(frozen=True)
class Table(Shown):
    """A table of a report.

    Columns named `estimate`, `low` and `high`, as measures give them, are folded into one; columns that say
    nothing in any row, and those that only make a row recomputable, are left out for people and kept in the files.
    """

    name: str
    caption: str
    frame: pl.DataFrame
    columns: Mapping[str, Column | str] = field(default_factory=dict)
    shown: Sequence[str] = ()
    keys: Sequence[str] = ()
    notes: Sequence[str] = ()
    published: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "table")
        columns = {name: Column(how) if isinstance(how, str) else how for name, how in self.columns.items()}
        object.__setattr__(self, "columns", columns)
        wanted = [*columns, *self.shown, *self.keys, *(part for how in columns.values() for part in how.folds)]
        if missing := [name for name in wanted if name not in self.frame.columns]:
            raise InputError(f"table '{self.name}' has no column '{missing[0]}'")

    def column(self, name: str) -> Column:
        """How a column is shown."""
        how = self.columns.get(name, Column())
        assert isinstance(how, Column)  # noqa: S101 - read in __post_init__
        if how.interval is None and name == "estimate" and {"low", "high"} <= set(self.frame.columns):
            how = replace(how, interval=("low", "high"))
        if _CHANCE.fullmatch(name) and self.frame.schema[name].is_float():
            how = replace(how, chance=True)
        if how.digits is None and not how.percent and self.frame.schema[name].is_float():
            # One number with digits after the point gives them to its whole column.
            known = self.frame[name].drop_nulls()
            how = replace(how, digits=None if (known == known.round()).all() else 3)
        return how

    def heads(self) -> list[Head]:
        """The columns that people see."""
        schema = self.frame.schema
        names = list(self.shown)
        if not names:
            folded = {part for name in self.frame.columns for part in self.column(name).folds}
            names = [name for name in self._shown_columns() if name not in folded]
        return [Head(n, self.column(n).title or n.replace("_", " "), schema[n].is_numeric()) for n in names]

    def rows(self, limit: int | None = None) -> Iterator[list[Cell]]:
        """The rows as people see them; the first ones where there is a limit."""
        columns = [(head.column, self.column(head.column)) for head in self.heads()]
        best: dict[str, Any] = {}
        for name, how in columns:
            if how.best and len(known := self.frame[name].drop_nulls()) > 1:
                best[name] = known.max() if how.best == "max" else known.min()
        for row in (self.frame if limit is None else self.frame.head(limit)).iter_rows(named=True):
            yield [_cell(row, name, how, best.get(name)) for name, how in columns]

    def to_pandas(self) -> pd.DataFrame:
        """All data of the table as a pandas frame."""
        from vantage.notebook.frames import to_pandas

        return to_pandas(self.frame)

    def _shown_columns(self) -> list[str]:
        """The columns that say something in at least one row; all where there are no rows."""
        names = [name for name in self.frame.columns if name not in HIDDEN and not name.endswith(ALONE)]
        if self.frame.is_empty():
            return names
        once = ["reason"] if only_reason(self.frame) else []  # the caption says it
        known = [name for name in names if name not in once and self.frame[name].null_count() < len(self.frame)]
        return [name for name in known if name in self.columns or says_something(self.frame[name])]


@dataclass(frozen=True)
class Figure(Shown):
    """A figure of a report: a kind of chart, the frame it is drawn from, and the options of the chart."""

    name: str
    caption: str
    alt: str = ""
    chart: str = "points"
    data: pl.DataFrame = field(default_factory=pl.DataFrame)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(self.name, "figure")

    @property
    def in_words(self) -> str:
        """The figure for those who cannot see it: the text given, or its axes, number of points and ends."""
        from vantage.report.charts import in_words

        return self.alt.strip() or in_words(self.chart, self.data, self.options)

    def draw(self, width: float | None = None) -> Drawing:
        """The figure as a Matplotlib object, for changing it by hand; `width` in inches instead of the chart's."""
        from vantage.report.charts import draw

        return draw(self.chart, self.data, {**self.options, **({"width": width} if width else {})})

    @property
    def resizable(self) -> bool:
        """Whether its chart can be drawn in any width, and is wider than a phone."""
        from vantage.report.charts import chart

        parameter = signature(chart(self.chart)).parameters.get("width")
        return parameter is not None and self.options.get("width", parameter.default) > COLUMN


def dialogue(name: str, caption: str, turns: Sequence[tuple[str, str]], statement: str = "") -> Table:
    """A conversation as a table of turns; the statement that was judged is marked, at the end where no turn says it.

    >>> talk = dialogue("lunch", "A remark.", [("Ann", "The soup is cold."), ("Ben", "How lovely.")], "How lovely.")
    >>> talk.frame.rows()
    [(1, 'Ann', 'The soup is cold.', False), (2, 'Ben', 'How lovely.', True)]
    """
    said = [(str(speaker), str(text)) for speaker, text in turns]
    if statement and not any(statement in text for _, text in said):
        said.append(("", statement))
    rows = [(n, *turn, bool(statement) and statement in turn[1]) for n, turn in enumerate(said, 1)]
    types = {"turn": pl.Int64, "speaker": pl.String, "text": pl.String, "judged": pl.Boolean}
    frame = pl.DataFrame(rows, schema=types, orient="row")
    return Table(name, caption, frame, {}, ["turn", "speaker", "text", *(["judged"] if statement else [])], ("turn",))


Part: TypeAlias = Table | Figure
"""What stands in a section besides text."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One plain sentence with the rows of the ledger that it says."""

    text: str
    evidence: Sequence[Claim] = ()


@dataclass(frozen=True, slots=True)
class Section(Shown):
    """A part of the report: a title, some paragraphs, what its numbers say, then tables and figures in their order."""

    title: str
    text: Sequence[str] = ()
    parts: Sequence[Part] = ()
    findings: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True)
class Result(Shown):
    """What a study has found."""

    sections: Sequence[Section]
    findings: Sequence[Finding] = ()
    warnings: Sequence[str] = ()
    methods: Sequence[str] = ()
    references: Sequence[str] = ()
    ledger: Sequence[Claim] = ()

    def __post_init__(self) -> None:
        for kind, parts in (("tables", self.tables), ("figures", self.figures)):
            names = [part.name for part in parts]
            if twice := [name for i, name in enumerate(names) if name in names[:i]]:
                raise InputError(f"two {kind} of the report are called '{twice[0]}'")

    @property
    def parts(self) -> list[Part]:
        """All parts, in their order."""
        return [part for section in self.sections for part in section.parts]

    @property
    def tables(self) -> list[Table]:
        """All tables, in their order."""
        return [part for part in self.parts if isinstance(part, Table)]

    @property
    def figures(self) -> list[Figure]:
        """All figures, in their order."""
        return [part for part in self.parts if isinstance(part, Figure)]


def check_name(name: str, what: str) -> None:
    """Refuses a name that could not be the name of a file on every machine."""
    if not _NAME.fullmatch(name):
        raise InputError(f"the {what} cannot be called '{name}'", remedy="use small letters, digits and single hyphens")


def says_something(column: pl.Series) -> bool:
    """Whether any row of a column has more than nothing, an empty text or an empty list."""
    if column.dtype == pl.Struct:
        return any(show(value) != MISSING for value in column.head(1000).to_list())
    known = column.drop_nulls()
    if isinstance(column.dtype, pl.List):
        return bool((known.list.len() > 0).any())
    return len(known) > 0 and not (column.dtype == pl.String and (known == "").all())


def _cell(row: Mapping[str, Any], name: str, how: Column, best: Any) -> Cell:
    value = row[name]
    plain = how if how.interval else replace(how, signed=False)
    ends = [cell_text(plain, row[end]) for end in how.interval or filter(None, [how.spread])]
    interval = ""
    if ends and value is not None and MISSING not in ends:
        interval = f"[{', '.join(ends)}]" if how.interval else f"± {ends[0]}"
    key = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    drawn = value if is_mark(value) else None
    text = words(value) if drawn else cell_text(how, value)
    return Cell(text, interval, key, best is not None and value == best, drawn)
