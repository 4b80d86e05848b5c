"""What predictions are compared with: a gold column, aggregated people, or each person in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from vantage.corpora import MODELS
from vantage.corpora import PEOPLE as KINDS_OF_PEOPLE
from vantage.errors import InputError, nearest
from vantage.measures.intervals import Bootstrap
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


@dataclass(frozen=True)
class Scored:
    """Which raters are scored against what.

    `raters` are those under test and `people` those who make the reference; by default people (raters of kind
    `person` or `slot`) make it and all others but aggregates are under test. Where there are no people and one
    aggregate, it is the reference. A rater under test is never part of their own reference.
    """

    data: Judgments
    reference: Reference
    by: By
    raters: Sequence[str] | None
    people: Sequence[str] | None
    match: By
    rounding: Rounding

    @property
    def keys(self) -> list[str]:
        """What a judgment and its reference have in common."""
        return names(self.match)

    @property
    def columns(self) -> list[str]:
        """The columns that judgments need besides."""
        return list(dict.fromkeys([*names(self.by), *self.keys]))

    @property
    def word(self) -> str | None:
        """How people make the reference; null where they do not."""
        return self.reference if isinstance(self.reference, str) and self.reference in PEOPLE else None

    @cached_property
    def sides(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """All judgments of the raters under test, and the answers of the people who are not."""
        return under_test_and_judges(self.data, self.columns, self.raters, self.people)

    def frame(self) -> pl.DataFrame:
        """The judgments of the raters under test, each with the reference beside it in the column `gold`.

        With `each`, a judgment occurs once for every person who answered too, named in `person`. A majority needs more
        votes than any other answer; a tie leaves `gold` empty.
        """
        if self.word is not None:
            sole = self._sole_aggregate() if self.word == "majority" and self.people is None else None
            return self._beside(*self.sides) if sole is None else self._against_rater(sole)
        if isinstance(self.reference, str):
            everyone = judgments_frame(self.data)["rater"].cast(pl.String)
            if not has_column(self.data, self.reference) and (everyone == self.reference).any():
                return self._against_rater(self.reference)
            frame = _known(self.data, [*self.columns, self.reference], self.reference)
            frame = frame.with_columns(_codes(frame, self.reference, scales_of(self.data)).alias("gold"))
        else:
            frame = _joined(judgments_frame(self.data, self.columns), self.reference, scales_of(self.data))
        frame = frame.with_columns(_round(frame["gold"], self.rounding), pl.lit(None, dtype=pl.String).alias("person"))
        return _under_test(frame, self.raters)

    def without_each(self, how: Bootstrap) -> Iterator[pl.DataFrame]:
        """The same without each person who makes the reference or, if people do not, without each rater under test."""
        if self.word is None:
            yield from without_raters(self.frame(), how)
        else:
            for rest in without_raters(self.sides[1], how):
                yield self._beside(self.sides[0], rest)

    def one_against_the_others(self, seed: int, most: int = 50) -> pl.DataFrame:
        """Each person's judgments beside the reference that the other people make; of `most` people drawn at random."""
        frame, of_people = with_people(self.data, self.columns, self.people)
        judges = frame.filter(of_people & pl.col("value").is_not_null())
        everyone = judges["rater"].unique().sort()
        chosen = everyone[np.sort(np.random.default_rng(seed).permutation(len(everyone))[:most]).tolist()]
        frames = []
        for person in chosen:
            mine, others = judges.filter(pl.col("rater") == person), judges.filter(pl.col("rater") != person)
            others = others.join(mine.select(self.keys).unique(), on=self.keys, how="semi", nulls_equal=True)
            frames.append(self._beside(mine, others))
        return pl.concat(frames) if frames else judges.with_columns(gold=pl.lit(0.0), person=pl.lit("")).clear()

    def _beside(self, tested: pl.DataFrame, judges: pl.DataFrame) -> pl.DataFrame:
        """Judgments beside the reference that some people make."""
        gold = _of_people(judges, self.word or "", self.keys, self.rounding)
        return tested.join(gold, on=self.keys, how="left", nulls_equal=True)

    def _against_rater(self, rater: str) -> pl.DataFrame:
        """The judgments of the others, with the answers of one rater as the reference."""
        frame, mine = judgments_frame(self.data, self.columns), pl.col("rater").cast(pl.String) == rater
        gold = frame.filter(mine & pl.col("value").is_not_null()).select(*self.keys, gold="value", person=pl.lit(rater))
        if gold.select(self.keys).is_duplicated().any():
            remedy = "match by condition or sample as well"
            raise InputError(f"rater '{rater}' answered an item several times", remedy=remedy)
        return _under_test(frame.filter(~mine), self.raters).join(gold, on=self.keys, how="left", nulls_equal=True)

    def _sole_aggregate(self) -> str | None:
        """The one aggregate, where there are no people."""
        if not self.sides[1].is_empty():
            return None
        kinds = judgments_frame(self.data, ["kind"])
        aggregates = kinds.filter(pl.col("kind").cast(pl.String) == "aggregate")["rater"].unique()
        return str(aggregates[0]) if len(aggregates) == 1 else None


def under_test_and_judges(
    data: Judgments, columns: list[str], raters: Sequence[str] | None, people: Sequence[str] | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """All judgments of the raters under test, and the answers of the people who are not."""
    frame, person = with_people(data, columns, people)
    aggregate = pl.col("kind").cast(pl.String) == "aggregate" if "kind" in frame.columns else pl.lit(value=False)
    tested = _under_test(frame, raters) if raters is not None else frame.filter(~person & ~aggregate)
    if tested.is_empty() and not frame.is_empty():
        raise InputError(
            "all raters are people, so none is under test", remedy="name those to test with the option raters"
        )
    judges = frame.filter(person & pl.col("value").is_not_null())
    return tested, judges.join(tested.select("rater").unique(), on="rater", how="anti")


def sides_of(
    frame: pl.DataFrame,
    models: Sequence[str] | None,
    people: Sequence[str] | None,
    kinds: Sequence[str] = ("person",),
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The judgments of the people, those of such `kinds` unless named, and of the models under test."""
    rater = pl.col("rater").cast(pl.String)
    known = frame["rater"].cast(pl.String).unique().to_list()
    for name in [*(models or ()), *(people or ())]:
        if str(name) not in known:
            raise InputError(f"there is no rater '{name}'", remedy=nearest(str(name), known))
    if models is None and people is None and "kind" not in frame.columns:
        raise InputError(
            "the table does not say which raters are models and which are people",
            remedy="add a column 'kind', or name them",
        )
    if people is not None:
        person = rater.is_in([str(p) for p in people])
    elif "kind" in frame.columns:
        person = pl.col("kind").cast(pl.String).is_in(list(kinds))
    else:
        person = pl.lit(True)
    model = ~person
    if models is not None:
        model = rater.is_in([str(m) for m in models])
    elif "kind" in frame.columns:
        model = pl.col("kind").cast(pl.String).is_in(MODELS)
    return frame.filter(person & ~model), frame.filter(model)


def with_people(data: Judgments, columns: list[str], people: Sequence[str] | None) -> tuple[pl.DataFrame, pl.Expr]:
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
