"""Merging: tables with one row per id, and instruments with one version each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import polars as pl

from vantage.corpora import schema
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question


def merge_instruments(instruments: Iterable[Instrument]) -> tuple[Instrument, ...]:
    """Each instrument once; of two versions the newer, provided that they ask on the same scales."""
    merged: dict[str, Instrument] = {}
    for instrument in instruments:
        known = merged.get(instrument.id)
        if known is None or known == instrument:
            merged[instrument.id] = instrument
            continue
        older, newer = sorted((known, instrument), key=lambda i: i.version)
        for question in older.questions:
            if not any(q.id == question.id and q.scale.meaning == question.scale.meaning for q in newer.questions):
                problem = f"instrument '{instrument.id}' has two versions that differ in question '{question.id}'"
                raise InputError(problem, remedy="rename one instrument and its questions")
        merged[instrument.id] = newer
    return tuple(merged.values())


def questions_of(instruments: Iterable[Instrument]) -> tuple[Question, ...]:
    """The questions of all instruments; one id cannot stand for two scales."""
    questions: dict[str, Question] = {}
    for instrument in instruments:
        for question in instrument.questions:
            known = questions.setdefault(question.id, question)
            if known.scale.meaning != question.scale.meaning:
                problem = f"two instruments have a question '{question.id}' with different scales"
                remedy = "import the tables anew with one --instrument if it is the same question, or else rename one"
                raise InputError(f"{problem} ({known.scale.describe()}; {question.scale.describe()})", remedy=remedy)
    return tuple(questions.values())


def stacked(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Tables one below the other; a column that holds different kinds of things in them is named."""
    try:
        return pl.concat(tables, how="diagonal_relaxed")
    except pl.exceptions.PolarsError:
        types: dict[str, pl.DataType] = {}
        for table in tables:
            for column, dtype in table.schema.items():
                if types.setdefault(column, dtype) != dtype and (dtype.is_nested() or types[column].is_nested()):
                    problem = f"the column holds {types[column]} in one table and {dtype} in another"
                    raise InputError(problem, column=column, remedy="rename one of them") from None
        raise


def union(key: Literal["item", "rater"], tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Rows of several tables, each id once: what one table does not know is taken from the other."""
    tables = [table for table in tables if len(table)] or [tables[0]]
    joined = stacked(tables)
    if joined[key].n_unique() == len(joined):
        return joined
    rows: dict[str, dict[str, Any]] = {}
    for row in joined.iter_rows(named=True):
        known = rows.setdefault(row[key], row)
        for column, value in row.items():
            if known[column] is None:
                known[column] = value
            elif value is not None and value != known[column]:
                problem = f"{key} '{row[key]}' has two different values, '{known[column]}' and '{value}'"
                raise InputError(problem, column=column, remedy="rename the ids or correct one table")
    return pl.DataFrame(list(rows.values()), schema=joined.schema)


def shared_raters(raters: Sequence[pl.Series]) -> list[str]:
    """A note that names those who are in several tables, since ids such as 1, 2, 3 may mean other people in each."""
    everyone = pl.concat(some.unique() for some in raters)
    shared = everyone.filter(everyone.is_duplicated()).unique().sort().to_list()
    named = f"{', '.join(shared[:5])}{f' and {len(shared) - 5:,} more' if shared[5:] else ''}"
    return (
        [f"Raters with the same id in several of the merged corpora count as one person each: {named}."]
        if shared
        else []
    )


def with_traits(raters: pl.DataFrame, traits: pl.DataFrame, on: str) -> pl.DataFrame:
    """Raters with further columns from a table that has their ids in a column; others keep what was known of them."""
    if on not in traits.columns:
        raise InputError(f"the table has no column '{on}'", remedy=nearest(on, traits.columns))
    traits = traits.with_columns(pl.col(on).cast(pl.String).alias("rater"))
    if on != "rater":
        traits = traits.drop(on)
    if traits["rater"].n_unique() < len(traits):
        index = (~traits["rater"].is_first_distinct()).arg_max() or 0
        twice = traits["rater"][index]
        raise InputError(f"duplicate rater '{twice}'", row=index + 1, column=on, remedy="keep one row per rater")
    new = [column for column in traits.columns if column != "rater"]
    if clash := [column for column in new if column in schema.RATERS]:
        raise InputError(f"'{clash[0]}' cannot be a trait", column=clash[0], remedy="rename the column")
    described = raters["rater"].is_in(traits["rater"].implode())
    if not described.any() and len(described) and len(traits):
        problem = f"no rater of the corpus is in the table, such as '{raters['rater'][0]}'"
        raise InputError(problem, column=on, remedy=f"the table has '{traits['rater'][0]}'; make the ids equal")
    joined = raters.join(traits, on="rater", how="left", suffix="__new", maintain_order="left")
    again = [column for column in new if column in raters.columns]
    latest = (pl.when(described).then(f"{column}__new").otherwise(column).alias(column) for column in again)
    return joined.with_columns(latest).drop(f"{column}__new" for column in again)
