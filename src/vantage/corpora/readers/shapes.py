"""Shapes of the field as long tables: counts and lists of labels, rows without raters, tables that belong together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl
import polars.selectors as cs

from vantage.corpora.readers.columns import fits
from vantage.corpora.readers.files import read_table
from vantage.corpora.readers.table_file import ROW, FileRows, check_column

SLOT: Final = {"rater": "__rater", "kind": "__kind"}
"""The columns of raters of whom nothing is known but that they are different people in one row or item."""


def shaped(
    rows: FileRows,
    roles: dict[str, str],
    traits: list[str],
    lists: str | None,
    counts: Sequence[str],
    join: str | Path | None,
    *,
    anonymous: bool,
) -> tuple[FileRows, dict[str, str]]:
    """The rows and roles of a table in one of the shapes; what another table tells of raters is added to the traits."""
    if join is not None:
        rows, key, new = joined(rows, join)
        if roles.get("rater", "rater") == key:
            traits += [name for name in new if name not in traits]
        elif key in (roles.get("item", "item"), roles.get("text", "text")):
            roles |= {name: name for name in new if name not in roles.values()}
    if lists is not None:
        rows, roles = from_lists(rows, lists, roles)
    if counts:
        return from_counts(rows, counts, roles)
    return from_rows(rows, roles) if anonymous else (rows, roles)


def from_counts(rows: FileRows, patterns: Sequence[str], roles: Mapping[str, str]) -> tuple[FileRows, dict[str, str]]:
    """One row per person behind counts such as n_1 … n_5; what the names of columns have in common is no label."""
    held = [name for name in rows.schema if any(fits(name, pattern) for pattern in patterns)]
    if len(held) < 2:
        raise rows.fault(f"fewer than two columns fit {', '.join(patterns)}", "name the columns that count answers")
    start = next((n for n, signs in enumerate(zip(*held, strict=False)) if len(set(signs)) > 1), 0)
    start -= len(re.search(r"\d*$", held[0][:start])[0])  # type: ignore[index]
    labels = {name: name[start:].strip(" _-") or name for name in held}
    counts = pl.col("__count").cast(pl.String).cast(pl.Float64, strict=False)
    index = [ROW, *(name for name in rows.schema if name not in held)]
    lazy = rows.lazy.with_columns(pl.col(held).cast(pl.String)).unpivot(
        held, index=index, variable_name="__column", value_name="__count"
    )
    (odd,) = rows.collect(
        lazy.filter(pl.col("__count").is_not_null() & ((counts.is_null()) | (counts < 0) | (counts % 1 != 0)))
    )
    if len(odd):
        number, column, cell = odd.sort(ROW).select(ROW, "__column", "__count").row(0)
        raise rows.fault(f"'{cell}' is not a count", "correct the cell", number, column)
    lazy = lazy.with_columns(
        pl.col("__column").replace_strict(labels).alias("__value"), counts.fill_null(0).cast(pl.Int64)
    )
    lazy = lazy.sort(ROW, maintain_order=True).filter(pl.col("__count") > 0)
    lazy = lazy.select(pl.exclude("__count", "__column").repeat_by("__count")).explode(cs.all())
    made, slots = _with_slots(replace(rows, lazy=lazy, schema=lazy.drop(ROW).collect_schema()), ROW)
    return made, {**roles, **slots, "value": "__value"}


def from_rows(rows: FileRows, roles: Mapping[str, str]) -> tuple[FileRows, dict[str, str]]:
    """Rows without raters: the first, second … answer to each item is that of another person."""
    key = (
        roles.get("item") or roles.get("text") or next((name for name in ("item", "text") if name in rows.schema), None)
    )
    if key is None:
        raise rows.fault("no column is mapped to the item", "pass --map item=COLUMN")
    check_column(rows.path, list(rows.schema), key)
    made, slots = _with_slots(rows, *[key, *([roles["question"]] if "question" in roles else [])])
    return made, {**roles, **slots}


def _with_slots(rows: FileRows, *key: str) -> tuple[FileRows, dict[str, str]]:
    place = pl.int_range(pl.len()).over(key) + 1
    lazy = rows.lazy.with_columns(pl.format("slot-{}", place).alias("__rater"), pl.lit("slot").alias("__kind"))
    return replace(rows, lazy=lazy.collect().lazy(), schema=lazy.drop(ROW).collect_schema(), streamed=False), dict(SLOT)


def from_lists(rows: FileRows, column: str, roles: Mapping[str, str]) -> tuple[FileRows, dict[str, str]]:
    """Lists of labels as a question for each label, answered no or yes; lists of objects as a row for each object."""
    check_column(rows.path, list(rows.schema), column)
    frame, dtype = rows.lazy.collect(), rows.schema[column]
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        clash = [one.name for one in dtype.inner.fields if one.name in rows.schema]
        if clash:
            raise rows.fault(
                f"the objects in '{column}' have a field '{clash[0]}' like the table", "rename one of them"
            )
        frame = frame.explode(column).unnest(column)
        return replace(rows, lazy=frame.lazy(), schema=frame.drop(ROW).schema, streamed=False), dict(roles)
    if not isinstance(dtype, pl.List):
        texts = frame[column].cast(pl.String)
        mark = next((mark for mark in ("|", ";", ",", "/") if texts.str.contains(mark, literal=True).any()), ",")
        frame = frame.with_columns(
            texts.str.strip_chars("[]{} ").str.replace_all("['\"]", "").str.split(mark).alias(column)
        )
    frame = frame.with_columns(
        pl.col(column)
        .cast(pl.List(pl.String))
        .list.eval(pl.element().str.strip_chars().filter(pl.element().str.strip_chars() != ""))
    )
    labels = frame[column].explode().drop_nulls().unique().sort().to_list()
    if not 1 < len(labels) <= 200:
        raise rows.fault(f"'{column}' has {len(labels):,} different labels", "name a column of lists of labels")
    frame = frame.join(pl.DataFrame({"__label": labels}), how="cross", maintain_order="left").filter(
        pl.col(column).is_not_null()
    )
    frame = frame.with_columns(
        pl.format(f"{column}: {{}}", "__label").alias("__question"),
        pl.col(column).list.contains(pl.col("__label")).cast(pl.Int64).alias("__value"),
    ).drop(column, "__label")
    made = replace(rows, lazy=frame.lazy(), schema=frame.drop(ROW).schema, streamed=False)
    return made, {**roles, "question": "__question", "value": "__value"}


def joined(rows: FileRows, other: str | Path) -> tuple[FileRows, str, list[str]]:
    """The rows with the columns of another table or sheet that has one of theirs as its id, and which."""
    file = Path(other)
    table = read_table(file) if file.is_file() else read_table(rows.path, sheet=str(other))
    shared = [
        n
        for n in table.frame.columns
        if n in rows.schema and table.frame[n].drop_nulls().n_unique() == len(table.frame)
    ]
    if len(shared) != 1:
        what = "no column" if not shared else f"several columns ({', '.join(shared)})"
        raise rows.fault(
            f"{what} of '{other}' can tell its rows apart and is in the table too", "rename the id to one name in both"
        )
    key = shared[0]
    new = [name for name in table.frame.columns if name != key]
    if clash := next((name for name in new if name in rows.schema), None):
        raise rows.fault(f"both tables have a column '{clash}'", "rename one of them")
    side = table.frame.with_columns(pl.col(key).cast(pl.String))
    lazy = rows.lazy.with_columns(pl.col(key).cast(pl.String)).join(
        side.lazy(), on=key, how="left", maintain_order="left"
    )
    (known,) = rows.collect(lazy.select(pl.col(key).is_in(side[key].implode()).any()))
    if not known.item():
        raise rows.fault(f"no '{key}' of the table is in '{other}'", "make the ids equal")
    labels, titles = {**rows.labels, **table.labels}, {**rows.titles, **table.titles}
    return replace(rows, lazy=lazy, schema=lazy.drop(ROW).collect_schema(), labels=labels, titles=titles), key, new
