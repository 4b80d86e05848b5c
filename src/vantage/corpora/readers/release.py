"""A published data set as a corpus that knows where it comes from, from files that repeat items and raters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from vantage.corpora import schema
from vantage.corpora.corpus import Corpus, with_defaults
from vantage.corpora.readers import READERS
from vantage.corpora.readers.files import read_table
from vantage.corpora.readers.table_file import FileTable
from vantage.corpora.schema import Place, in_table
from vantage.corpora.storage import About
from vantage.instruments import Instrument


def release(
    reader: str,
    items: pl.DataFrame,
    raters: pl.DataFrame,
    judgments: pl.DataFrame,
    instruments: Instrument | Iterable[Instrument],
    notes: Iterable[str] = (),
    place: Place = in_table,
    **named: str,
) -> Corpus:
    """The corpus of a reader, with what `readers.toml` says about its origin; `named` replaces the names in braces."""
    origin = dict(READERS[reader].about)
    fixed = [note.format(**named) for note in origin.pop("notes", [])]
    texts = {"name": reader, "source": READERS[reader].home, **origin}
    about = About(**{key: text.format(**named) for key, text in texts.items()}, notes=(*fixed, *notes))
    return Corpus(items, raters, judgments, instruments, about, place=place)


def read_flat(path: Path) -> FileTable:
    """A table whose columns all hold single values, as those of the released files do."""
    table = read_table(path)
    for name, dtype in table.frame.schema.items():
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
            remedy = "check that this is the released file"
            raise table.fault(f"the column holds {dtype}, not single values", remedy, column=name)
    return table


def one_row_each(rows: pl.DataFrame, key: str) -> tuple[pl.DataFrame, int]:
    """One row per id, in order of appearance, with the first value that each column has for it.

    Also tells how many ids had different values in some column, so that a reader can note it.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"rater": ["a", "b", "a"], "age": [None, 40, 31], "sex": ["f", "m", "x"]})
    >>> table, differing = one_row_each(rows, "rater")
    >>> table.rows(), differing
    ([('a', 31, 'f'), ('b', 40, 'm')], 1)
    """
    rest = pl.all().exclude(key)
    grouped = rows.group_by(key, maintain_order=True)
    table = grouped.agg(rest.drop_nulls().first())
    if table.width == 1:
        return table, 0
    counts = grouped.agg(rest.drop_nulls().n_unique())
    differing = counts.select(pl.any_horizontal(pl.exclude(key) > 1).sum()).item()
    return table, int(differing)


def first_of_each(judgments: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Judgments with one row per key, and how many further rows were dropped."""
    complete = with_defaults(judgments)
    kept = complete.unique(list(schema.KEY), keep="first", maintain_order=True)
    return kept, len(complete) - len(kept)


def ids(table: FileTable, column: str, prefix: str = "") -> pl.Series:
    """A column of ids as text; whole numbers that were stored as fractions lose their ".0"."""
    values = table.column(column)
    if values.dtype.is_float():
        values = values.fill_nan(None)
    text = values.cast(pl.String).str.strip_chars().str.replace(r"^(\d+)\.0$", "${1}")
    empty = text.is_null() | (text == "")
    table.refuse(empty, column, "the cell is empty", "fill in the id")
    return prefix + text


def codes(table: FileTable, column: str, meanings: Mapping[str, float]) -> pl.Series:
    """A column of labels as codes; empty cells are null, an unknown label is named with its row."""
    labels = table.column(column).cast(pl.String).str.strip_chars()
    labels = labels.set((labels == "").fill_null(False), None)
    coded = labels.str.to_lowercase().replace_strict(dict(meanings), default=None, return_dtype=pl.Float64)
    wrong = coded.is_null() & labels.is_not_null()
    table.refuse(wrong, column, f"'{{}}' is not one of {', '.join(meanings)}")
    return coded


def notes_on(dropped: int, items: int, raters: int) -> Iterable[str]:
    """What has to be said about rows that did not agree with each other."""
    if dropped:
        yield f"{dropped} judgments stood twice; the first of each was kept."
    for count, what in ((items, "items"), (raters, "raters")):
        if count:
            yield f"{count} {what} are described differently in different rows; the first value was kept."
