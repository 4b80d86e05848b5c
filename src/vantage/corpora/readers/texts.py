"""Texts alone: the items of a corpus that nobody has judged yet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import polars as pl

from vantage.corpora import schema
from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.column_facts import facts_of
from vantage.corpora.readers.files import frame_table, read_table
from vantage.corpora.storage import About
from vantage.instruments import Instrument


def read(
    source: Path | Any,
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002
    instrument: str | Instrument | None = None,
    keep: bool = False,
    encoding: str = "utf-8",
    separator: str | None = None,
    quotes: Literal["literal"] | None = None,
    sheet: str | None = None,
) -> Corpus:
    """Reads one item per row from any table, or from a frame.

    Args:
        source: The file, or a frame.
        map: From columns of the items (`text`, `item`, `target` …) to columns of the file. Without `item` the rows are
            numbered; columns that are called `item`, `text` or like a field of the instrument need not be mapped.
        instrument: What is to be asked of the texts.
        keep: Keep the other columns too. The only column with sentences is the text, and a column `id`, or the first
            column, without repetitions and blanks names the items.
        encoding: The encoding of a text file.
        separator: The separator of a CSV file.
        quotes: `literal` where quotation marks are part of the text.
        sheet: The sheet of a spreadsheet.

    >>> read(pl.DataFrame({"sentence": ["Hi.", "Go!"]}), map={"text": "sentence"}).items.rows()
    [('1', 'Hi.'), ('2', 'Go!')]
    """
    if isinstance(source, str | Path):
        table = read_table(Path(source), encoding, separator=separator, quotes=quotes, sheet=sheet)
    else:
        table = frame_table(source)
    known = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    mapping = dict(map or {})
    fields = [field.name for field in known.fields] if known else []
    for name in ("item", "text", *fields):
        if name in table.frame.columns and name not in mapping.values():
            mapping.setdefault(name, name)
    inferred = _find(table.frame, mapping) if keep else []
    if not set(mapping) - {"item"}:
        columns = ", ".join(f"'{column}'" for column in table.frame.columns[:20])
        raise table.fault(f"no column is mapped to the text; the file has {columns}", "pass --map text=COLUMN")
    if keep:
        others = [column for column in table.frame.columns if column not in mapping.values()]
        mapping |= {column: column for column in others if column not in mapping}
    for name, column in mapping.items():
        table.column(column, f"'{name}'")
    items = table.frame.select(pl.col(column).alias(name) for name, column in mapping.items())
    for name in ("item", "text"):
        if name in items.columns:
            table.refuse(items[name].is_null(), mapping[name], f"the {name} is empty", "fill it in")
    if "text" in items.columns:
        items = items.with_columns(pl.col("text").cast(pl.String))
    if "item" not in items.columns:
        width = len(str(len(items)))
        ids = [f"{number:0{width}}" for number in range(1, len(items) + 1)]
        items = items.insert_column(0, pl.Series("item", ids, dtype=pl.String))
    items = items.with_columns(pl.col("item").cast(pl.String))
    unused = [column for column in table.frame.columns if column not in mapping.values()]
    notes = (*inferred, f"Columns that were not read: {', '.join(unused)}.") if unused else (*inferred,)
    name = table.path.name.split(".")[0]

    def place(_: str, index: int) -> dict[str, Any]:
        return {"file": table.path, "row": table.row(index), "column": mapping.get("item", "item")}

    about = About(name=name, title=name, source=table.path.name, notes=(*notes, *table.notes))
    raters, judgments = pl.DataFrame(schema=schema.RATERS), pl.DataFrame(schema=schema.JUDGMENTS)
    return Corpus(items, raters, judgments, known or (), about, place=place)


def _find(frame: pl.DataFrame, mapping: dict[str, str]) -> list[str]:
    """Finds the text, where one column alone has sentences, and what names the rows; says what it found."""
    texts = [column for column in frame.columns if facts_of(frame[column], None).kind == "text"]
    named = [column for column in ("id", frame.columns[0]) if column in frame.columns and _names_rows(frame[column])]
    inferred = {} if set(mapping) - {"item"} or len(texts) != 1 else {"text": texts[0]}
    if named and "item" not in mapping and named[0] not in mapping.values():
        inferred["item"] = named[0]
    mapping |= inferred
    return [f"The {name} was read from the column '{column}'." for name, column in inferred.items()]


def _names_rows(column: pl.Series) -> bool:
    """Whether every row has a word or a number of its own."""
    words = column.cast(pl.String).fill_null(" ")
    return words.n_unique() == len(words) and not words.str.contains(r"\s").any()
