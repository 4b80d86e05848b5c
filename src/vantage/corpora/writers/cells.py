"""Tables as CSV files, flat and safe in a spreadsheet; the one of a corpus has one row per judgment.

A row of it has the fields of its item and the kind and traits of its rater. Columns of the judgments come first, then
those of the items, then those of the raters; where two tables have a column of the same name, the later one gets
`item.` or `rater.` in front. Conversations and other nested columns are JSON text. Cells that a spreadsheet would run
as a formula get an apostrophe in front (see `defused`); numbers stay numbers. The reader `table` reads the file again:
it finds the judgments, their distributions, the text and the kind of rater by itself; name the rest. `restored` removes
the apostrophes.

    vantage.read(path, map={"target": "target"}, traits=["age"], instrument="warmth-competence")
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from vantage.corpora.writers.place import put_file

if TYPE_CHECKING:
    from vantage.corpora import Corpus

_FORMULA: Final = r"^'*[=+\-@\t\r＝＋－＠]"
_NUMBER: Final = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DEFUSED: Final = r"^'('*[=+\-@\t\r＝＋－＠])"


def write_csv(corpus: Corpus, path: Path, *, overwrite: bool = False) -> Path:
    """Writes the judgments with everything that is known of their items and raters.

    Items and raters without any judgment do not appear; use the corpus folder to keep them.
    """
    joined = flat(corpus.judgments)
    value = joined["value"]
    if ((value % 1 == 0) & (value.abs() < 2**53)).all():
        joined = joined.with_columns(value.cast(pl.Int64))
    for key, table in (("item", corpus.items), ("rater", corpus.raters)):
        taken = [name for name in table.columns if name != key and name in joined.columns]
        side = flat(table).rename({name: f"{key}.{name}" for name in taken})
        joined = joined.join(side, on=key, how="left", maintain_order="left")
    return put_file(path, safe(joined).write_csv, overwrite=overwrite)


def csv_text(frame: pl.DataFrame) -> str:
    """A table as CSV: nested columns as JSON, formulas defused.

    >>> import polars as pl
    >>> print(csv_text(pl.DataFrame({"measure": ["=x"], "estimate": [-0.5]})), end="")
    measure,estimate
    '=x,-0.5
    """
    return safe(flat(frame)).write_csv()


def safe(frame: pl.DataFrame) -> pl.DataFrame:
    """A flat table with formulas defused, in the names of its columns too."""
    names = pl.select(defused(pl.lit(pl.Series(frame.columns, dtype=pl.String)))).to_series()
    return frame.with_columns(defused(pl.col(pl.String))).rename(dict(zip(frame.columns, names, strict=True)))


def defused(cells: pl.Expr) -> pl.Expr:
    """Text that no spreadsheet takes for a formula: an apostrophe in front of `=`, `+`, `-`, `@`, tab and CR.

    Plain numbers are left alone. Text that starts with apostrophes before such a character gets one more, so
    that `restored` can always undo it.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"text": ["=1+1", "-3", "- no", "'=x", "fine"]})
    >>> cells.select(defused(pl.col("text")))["text"].to_list()
    ["'=1+1", '-3', "'- no", "''=x", 'fine']
    """
    risky = cells.str.contains(_FORMULA) & ~cells.str.contains(_NUMBER)
    return pl.when(~risky | risky.is_null()).then(cells).otherwise(pl.lit("'") + cells)


def restored(cells: pl.Expr) -> pl.Expr:
    """The text before it was `defused`."""
    return cells.str.replace(_DEFUSED, "${1}")


def flat(table: pl.DataFrame) -> pl.DataFrame:
    """A table whose columns a CSV file can hold."""
    nested = [name for name, dtype in table.schema.items() if dtype.is_nested() or dtype == pl.Binary]
    return table.with_columns(
        pl.col(pl.Enum, pl.Categorical).cast(pl.String), *(_as_json(table[name]) for name in nested)
    )


def _as_json(column: pl.Series) -> pl.Series:
    cells = [None if value is None else json_text(value) for value in column.to_list()]
    return pl.Series(column.name, cells, dtype=pl.String)


def json_text(value: object, indent: int | None = None) -> str:
    """Nested values as JSON; dates as ISO 8601, bytes in hexadecimal."""
    return json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)
