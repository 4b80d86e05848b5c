"""What predictions are compared with: a gold column, aggregated people, or each person in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from vantage.corpora.schema import PEOPLE as KINDS_OF_PEOPLE
from vantage.errors import InputError, nearest
from vantage.measures.parts import Rounding, names, rounded, scales_of
from vantage.measures.rater_variance import without_raters
from vantage.measures.ratings import By, Judgments, has_column, judgments_frame
from vantage.scales import Scale

Reference: TypeAlias = str | pl.DataFrame | Mapping[str, Any]
"""What is right:

* `mean`, `median` or `majority` of the people, or `each` of them in turn;
* the name of an item column (codes, or labels of the scale), or of a rater, such as an aggregate;
* a frame with `item`, `value` and, where they matter, `question` and `condition`.
"""

PEOPLE: Final = ("mean", "median", "majority", "each")


def against(
    data: Judgments,
    reference: Reference,
    *,
    by: By = (),
    raters: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    match: By = ("item", "question"),
    rounding: Rounding = "none",
) -> pl.DataFrame:
    """The judgments of the raters under test, each with the reference beside it in the column `gold`.

    `raters` are those under test and `people` those who make the reference; by default people (raters of kind
    `person` or `slot`) make it and all others but aggregates are under test. Where there are no people and one
    aggregate, it is the reference. A rater under test is never part of their own reference.
    With `each`, a judgment occurs once for every person who answered too, named in `person`. A majority needs more
    votes than any other answer; a tie leaves `gold` empty.
    """
    keys = names(match)
    columns = list(dict.fromkeys([*names(by), *keys]))
    if isinstance(reference, str) and reference in PEOPLE:
        tested, judges = under_test_and_judges(data, columns, raters, people)
        sole = _sole_aggregate(data) if judges.is_empty() and reference == "majority" and people is None else None
        if sole is None:
            return tested.join(_of_people(judges, reference, keys, rounding), on=keys, how="left", nulls_equal=True)
        return _against_rater(data, sole, columns, keys, raters)
    if isinstance(reference, str) and not has_column(data, reference) and _is_rater(data, reference):
        return _against_rater(data, reference, columns, keys, raters)
    if isinstance(reference, str):
        frame = _known(data, [*columns, reference], reference)
        gold = _codes(frame, reference, scales_of(data))
        frame = frame.with_columns(gold.alias("gold"))
    else:
        frame = _joined(judgments_frame(data, columns), reference, scales_of(data))
    frame = frame.with_columns(_round(frame["gold"], rounding), pl.lit(None, dtype=pl.String).alias("person"))
    return _under_test(frame, raters)


def _against_rater(
    data: Judgments, rater: str, columns: list[str], keys: list[str], raters: Sequence[str] | None
) -> pl.DataFrame:
    """The judgments of the others, with the answers of one rater as the reference."""
    frame, mine = judgments_frame(data, columns), pl.col("rater").cast(pl.String) == rater
    gold = frame.filter(mine & pl.col("value").is_not_null()).select(*keys, gold="value", person=pl.lit(rater))
    if gold.select(keys).is_duplicated().any():
        remedy = "match by condition or sample as well"
        raise InputError(f"rater '{rater}' answered an item several times", remedy=remedy)
    return _under_test(frame.filter(~mine), raters).join(gold, on=keys, how="left", nulls_equal=True)


def _is_rater(data: Judgments, name: str) -> bool:
    return bool((judgments_frame(data)["rater"].cast(pl.String) == name).any())


def _sole_aggregate(data: Judgments) -> str | None:
    aggregates = judgments_frame(data, ["kind"]).filter(pl.col("kind").cast(pl.String) == "aggregate")["rater"].unique()
    return str(aggregates[0]) if len(aggregates) == 1 else None


def against_without_each(
    data: Judgments,
    reference: Reference,
    *,
    by: By,
    raters: Sequence[str] | None,
    people: Sequence[str] | None,
    match: By,
    rounding: Rounding,
    seed: int,
) -> Iterator[pl.DataFrame]:
    """The same without each person who makes the reference or, where people do not make it, each rater under test."""
    keys = names(match)
    if isinstance(reference, str) and reference in PEOPLE:
        columns = list(dict.fromkeys([*names(by), *keys]))
        tested, judges = under_test_and_judges(data, columns, raters, people)
        for rest in without_raters(judges, seed):
            yield tested.join(_of_people(rest, reference, keys, rounding), on=keys, how="left", nulls_equal=True)
    else:
        frame = against(data, reference, by=by, raters=raters, match=match, rounding=rounding)
        yield from without_raters(frame, seed)


def one_against_the_others(
    data: Judgments,
    reference: str,
    *,
    by: By,
    people: Sequence[str] | None,
    match: By,
    rounding: Rounding,
    seed: int,
    most: int = 50,
) -> pl.DataFrame:
    """Each person's judgments beside the reference that the other people make; of `most` people drawn at random."""
    keys = names(match)
    columns = list(dict.fromkeys([*names(by), *keys]))
    frame, person = _with_people(data, columns, people)
    judges = frame.filter(person & pl.col("value").is_not_null())
    everyone = judges["rater"].unique().sort()
    chosen = everyone[np.sort(np.random.default_rng(seed).permutation(len(everyone))[:most]).tolist()]
    frames = []
    for person in chosen:
        mine, others = judges.filter(pl.col("rater") == person), judges.filter(pl.col("rater") != person)
        others = others.join(mine.select(keys).unique(), on=keys, how="semi", nulls_equal=True)
        frames.append(mine.join(_of_people(others, reference, keys, rounding), on=keys, how="left", nulls_equal=True))
    return pl.concat(frames) if frames else judges.with_columns(gold=pl.lit(0.0), person=pl.lit("")).clear()


def under_test_and_judges(
    data: Judgments, columns: list[str], raters: Sequence[str] | None, people: Sequence[str] | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """All judgments of the raters under test, and the answers of the people who are not."""
    frame, person = _with_people(data, columns, people)
    aggregate = pl.col("kind").cast(pl.String) == "aggregate" if "kind" in frame.columns else pl.lit(value=False)
    tested = _under_test(frame, raters) if raters is not None else frame.filter(~person & ~aggregate)
    if tested.is_empty() and not frame.is_empty():
        raise InputError(
            "all raters are people, so none is under test", remedy="name those to test with the option raters"
        )
    judges = frame.filter(person & pl.col("value").is_not_null())
    return tested, judges.join(tested.select("rater").unique(), on="rater", how="anti")


def _with_people(data: Judgments, columns: list[str], people: Sequence[str] | None) -> tuple[pl.DataFrame, pl.Expr]:
    """The judgments, and which of them are those of people."""
    if people is not None:
        named = [str(person) for person in people]
        return judgments_frame(data, columns), pl.col("rater").cast(pl.String).is_in(named)
    return _known(data, [*columns, "kind"], "kind"), pl.col("kind").cast(pl.String).is_in(KINDS_OF_PEOPLE)


def _of_people(judges: pl.DataFrame, reference: str, keys: list[str], rounding: Rounding) -> pl.DataFrame:
    """The reference that people make: `gold`, and `person` where each of them is one."""
    nobody = pl.lit(None, dtype=pl.String).alias("person")
    if reference == "each":
        return judges.select([*keys, pl.col("rater").cast(pl.String).alias("person"), pl.col("value").alias("gold")])
    if reference == "majority":
        votes = judges.group_by([*keys, "value"]).agg(pl.len().alias("n"))
        ahead = votes.filter(pl.col("n") == pl.col("n").max().over(keys))
        return ahead.filter(pl.len().over(keys) == 1).select([*keys, pl.col("value").alias("gold"), nobody])
    centre = pl.col("value").mean() if reference == "mean" else pl.col("value").median()
    gold = judges.group_by(keys).agg(centre.alias("gold"))
    return gold.with_columns(_round(gold["gold"], rounding), nobody)


def _under_test(frame: pl.DataFrame, raters: Sequence[str] | None) -> pl.DataFrame:
    if raters is None:
        return frame
    present = frame["rater"].cast(pl.String).unique().to_list()
    for rater in raters:
        if str(rater) not in present:
            raise InputError(f"there is no rater '{rater}'", remedy=nearest(str(rater), present))
    return frame.filter(pl.col("rater").cast(pl.String).is_in([str(r) for r in raters]))


def _known(data: Judgments, columns: Sequence[str], wanted: str) -> pl.DataFrame:
    """The judgments with the wanted column, or what to do when there is none."""
    if not has_column(data, wanted):
        if wanted == "kind":
            raise InputError(
                "the table does not say which raters are people",
                remedy="add a column 'kind' or name them with the option people",
            )
        raise InputError(
            f"reference '{wanted}' is neither a column of the table, nor a rater, nor one of {', '.join(PEOPLE)}",
            remedy="give a column, a rater, one of these words, or a frame with item and value",
        )
    return judgments_frame(data, list(dict.fromkeys(columns)))


def _joined(
    frame: pl.DataFrame, reference: pl.DataFrame | Mapping[str, Any], scales: Mapping[str, Scale]
) -> pl.DataFrame:
    if isinstance(reference, pl.DataFrame):
        gold = reference
    else:
        gold = pl.DataFrame({name: np.asarray(column) for name, column in reference.items()})
    for column in ("item", "value"):
        if column not in gold.columns:
            raise InputError(f"the reference has no column '{column}'", remedy=f"it has {', '.join(gold.columns)}")
    keys = [column for column in ("item", "question", "condition") if column in gold.columns]
    if gold.select(keys).is_duplicated().any():
        twice = gold.filter(gold.select(keys).is_duplicated())["item"][0]
        raise InputError(f"the reference has item '{twice}' twice", remedy="give one value per item and question")
    gold = gold.select([*(pl.col(k).cast(frame[k].dtype) for k in keys), pl.col("value").alias("gold")])
    joined = frame.join(gold, on=keys, how="left")
    return joined.with_columns(_codes(joined, "gold", scales).alias("gold"))


def _codes(frame: pl.DataFrame, column: str, scales: Mapping[str, Scale]) -> pl.Series:
    """A reference column as codes; labels are looked up in the scale of each row's question."""
    series = frame[column]
    if series.dtype.is_numeric() or series.dtype in {pl.Boolean, pl.Null}:
        return series.cast(pl.Float64).fill_nan(None)
    known: dict[tuple[str, str], float | None] = {}
    for question, label in frame.select("question", pl.col(column).cast(pl.String)).drop_nulls().unique().iter_rows():
        code = scales[question].code(label) if question in scales else None
        if code is None:
            raise InputError(
                f"reference '{label}' is not an answer of question '{question}'",
                remedy="give codes or the scale's labels",
            )
        known[question, label] = code
    pairs = zip(frame["question"], series.cast(pl.String), strict=True)
    return pl.Series(column, [known.get((q, label)) for q, label in pairs], dtype=pl.Float64)


def _round(gold: pl.Series, rounding: Rounding) -> pl.Series:
    if rounding == "none":
        return gold.alias("gold")
    values = rounded(gold.fill_null(float("nan")).to_numpy(), rounding)
    return pl.Series("gold", values).fill_nan(None)
