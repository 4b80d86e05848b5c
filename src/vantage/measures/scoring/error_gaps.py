"""For whom does a model work? Its errors by the traits of people, on the same items, beside those of people themselves.

The error of a model for a person is the distance between their answers to an item: 0 or 1 on a nominal scale, the
difference of codes on an ordered one. People who judged harder items are not people whom a model serves worse, so that
each person has one score, freed from the items that they happened to judge (`rater_scores`), and groups of people are
compared by Welch's (1947) test of these scores. A group whose people differ among themselves is far from any model:
beside a gap stands that beyond the group's own `ceiling`, the distance of its people from each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from vantage.corpora.schema import RATERS
from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.intervals import Contrast
from vantage.measures.multiplicity import Correction, adjusted
from vantage.measures.parts import names, parts, stacked, unit_table
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import By, Judgments, has_column, level_of
from vantage.measures.reliability.variance_design import rater_scores
from vantage.measures.scoring.references import sides_of
from vantage.scales import Level

FEWEST: Final = 5
"""So many people a group needs, and the rest of them, for a test."""
MANY: Final = 12
"""A trait of numbers with more values than this is a slope, not groups."""
POWER: Final = 0.8
MIRRORED: Final = "mirrored"
FEW: Final = "fewer than {} people in the group or outside of it, so that its gap is described and not tested"
ALIKE: Final = "the errors do not vary"

VIEW: Final = View(
    "For whom a model works: its errors by the traits of people, on the same items",
    columns={
        "estimate": Column("error beyond that for others", digits=2, signed=True),
        "error": Column("error", digits=2),
        "rest": Column("error for others", digits=2),
        "ceiling": Column("people of the group among themselves", digits=2),
        "beyond": Column("gap beyond theirs", digits=2, signed=True, interval=("beyond_low", "beyond_high")),
        "detectable": Column("smallest gap that could be seen", digits=2),
        "worse": Column("works worse"),
    },
    show=("model", "trait", "group", "people", "error", "rest", "estimate", "ceiling", "beyond", "detectable", "worse"),
    notes=(
        "The error is the distance between the answers of the model and of a person to the same item, averaged over "
        "people. A gap as small as the one that could be seen would be found in 80 % of such studies.",
    ),
    says=(
        Against(
            0.0,
            p="p_adjusted",
            label="{group} ({trait}) by {model}",
            above="People are served worse than others: {rows}",
            below="People are served better than others: {rows}",
        ),
    ),
    method="The errors of a model were compared between groups of people, each person freed from the items that they "
    "judged, by Welch's test (correction: {correction}).",
)


@measure("error-gaps", "accuracy", view=VIEW, pools=False)
def error_gaps(
    data: Judgments,
    *,
    by: By = (),
    models: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    level: Level | None = None,
    correction: Correction = "holm",
    min_people: int = FEWEST,
    match: By = ("item", "question"),
    traits: Sequence[str] | None = None,
    per: Literal["group", "item"] = "group",
    confidence: float = 0.95,
) -> pl.DataFrame:
    """For whom does a model work worse? Its error for each group of people, beside that for all others.

    `traits` are the columns of people to look at (all of a corpus by default). Every value is a group, compared with
    all other people; a trait of numbers with more than twelve values has one row, whose gap is that of one unit more.
    A `group` of null counts people without a value, who are in no comparison.

    `error` is the mean distance between the model's answer and those of the group's people, `rest` that of the others,
    both freed from the items that they judged, and `estimate` the difference, with its interval and `p` over people.
    `ceiling` is how far people of the group are from each other, and `beyond` the gap that is left when each person's
    distance from their own group is taken out: a group that disagrees within itself is far from everyone. `detectable`
    is the smallest gap that would be found in 80 % of such studies. `worse` says that a gap remains beyond chance, also
    beyond the ceiling where that is known. `p_adjusted` corrects over all rows. Groups of fewer than `min_people`, or
    with fewer outside, are described and not tested.

    With `per="item"` there is a row for each item and group, the items that make the gap first.

    >>> rng = np.random.default_rng(0)
    >>> item, rater = (grid.ravel() for grid in np.indices((40, 21)))
    >>> old = (rater > 0) & (rater < 8)
    >>> value = np.where(rater == 0, 3, 3 + rng.integers(-1, 2, len(item)) + 2 * old)
    >>> table = pl.DataFrame({"item": item, "rater": rater, "value": value, "age": np.where(old, "old", "young"),
    ...                       "kind": np.where(rater == 0, "model", "person")})
    >>> error_gaps(table, traits=["age"], level="ordinal").select("group", pl.col("estimate").round(1), "worse").rows()
    [('old', 1.4, True), ('young', -1.4, False)]
    """
    keys, columns = names(match), known_traits(data, traits)
    if not columns:
        raise InputError("nothing is known of the people", remedy="name columns of people with the option traits")
    kind = ["kind"] if (models is None or people is None) and has_column(data, "kind") else []
    rows: list[dict[str, Any]] = []
    frames: list[pl.DataFrame] = []
    for part in parts(data, by, extra=[*keys, *columns, *kind]):
        persons, tested = sides_of(part.frame, models, people)
        questions = part.frame["question"].unique().sort().to_list()
        nominal = level_of(part.scale(), level, questions) == "nominal" if len(tested) else False
        for model in tested["rater"].unique().sort():
            errors = Errors.of(persons, tested.filter(pl.col("rater") == model), keys, nominal=nominal)
            head = {**part.key, "model": str(model)}
            for trait in columns:
                about = {**head, "trait": trait}
                if per == "item":
                    made = errors.by_item(trait).with_columns(
                        pl.lit(value).alias(name) for name, value in about.items()
                    )
                    used = pl.col("value").is_not_null()
                    frames.append(unit_table(made, part, by, keys, ["model", "trait", "group", "error", "rest"], used))
                else:
                    rows += [{**about, **row} for row in errors.gaps(trait, min_people, confidence)]
    if per == "item":
        return stacked([], frames, by).sort("estimate", descending=True, nulls_last=True, maintain_order=True)
    if not rows:
        raise InputError("there is no model whose errors could be compared", remedy="name it with the option models")
    return table(judged(rows, correction), names(by))


def worse_for(
    persons: pl.DataFrame, model: pl.DataFrame, keys: Sequence[str], traits: Sequence[str], *, nominal: bool
) -> str | None:
    """The groups for whom a model works worse than for others, in words; null where there are none."""
    errors = Errors.of(persons, model, keys, nominal=nominal)
    rows = [{"trait": trait, **row} for trait in traits for row in errors.gaps(trait, FEWEST, 0.95)]
    return ", ".join(f"{row['group']} ({row['trait']})" for row in judged(rows, "holm") if row["worse"]) or None


def judged(rows: list[dict[str, Any]], correction: Correction) -> list[dict[str, Any]]:
    """The rows with corrected p values and whether the model works worse for the group.

    Of two groups the second has the comparison of the first with its sign turned, which counts once.
    """
    mirrored = [bool(row.pop(MIRRORED, False)) for row in rows]
    columns = []
    for name in ("p", "beyond_p"):
        tests = [None if again else row[name] for row, again in zip(rows, mirrored, strict=True)]
        corrected = adjusted(tests, correction)
        columns.append([corrected[n - again] for n, again in enumerate(mirrored)])
    for row, p, beyond in zip(rows, *columns, strict=True):
        gap = p is not None and p < 0.05 and row["estimate"] > 0
        row["p_adjusted"] = p
        row["worse"] = None if p is None else gap and (beyond is None or (beyond < 0.05 and row["beyond"] > 0))
    return rows


def known_traits(data: Any, wanted: Sequence[str] | None) -> list[str]:
    """The columns of people to look at: those asked for, or the traits of a corpus that tell people apart."""
    if wanted is not None:
        return list(wanted)
    corpus = getattr(data, "corpus", data)  # a selection of a corpus has it
    if not hasattr(corpus, "raters"):
        return []
    people = corpus.people().raters
    columns = [people[name] for name in people.columns if name not in (*RATERS, "excluded")]
    # What nearly every person has another value of, such as a text, tells no groups apart.
    most = max(MANY, len(people) // 2)
    several = [one for one in columns if not one.dtype.is_nested() and one.drop_nulls().n_unique() > 1]
    return [one.name for one in several if one.dtype.is_numeric() or one.n_unique() <= most]


@dataclass(frozen=True, slots=True)
class Errors:
    """The distance of a model's answer from that of each person who judged the same item."""

    frame: pl.DataFrame
    """One row per judgment of a person that the model has an answer to, with `value`, the distance, and `answer`."""
    keys: list[str]
    nominal: bool

    @classmethod
    def of(cls, persons: pl.DataFrame, model: pl.DataFrame, keys: Sequence[str], *, nominal: bool) -> Errors:
        """The errors on all items that both answered; those of repeated samples are averaged."""
        replies = model.filter(pl.col("value").is_not_null()).select(*keys, reply="value")
        asked = persons.filter(pl.col("value").is_not_null()).rename({"value": "answer"}).with_row_index("__row")
        met = asked.join(replies, on=list(keys), nulls_equal=True)
        distance = _distance(pl.col("reply"), pl.col("answer"), nominal=nominal)
        mean = met.group_by("__row").agg(distance.mean().alias("value"))
        return cls(asked.join(mean, on="__row").sort("__row").drop("__row"), list(keys), nominal)

    def gaps(self, trait: str, fewest: int, confidence: float) -> Iterator[dict[str, Any]]:
        """One row for each group of people, compared with the others; people without a value are counted."""
        known = self.frame.filter(pl.col(trait).is_not_null())
        missing = self.frame.filter(pl.col(trait).is_null())["rater"].n_unique()
        column = known[trait]
        if column.dtype.is_numeric() and column.n_unique() > MANY:
            yield self._slope(known, trait, confidence)
        else:
            groups = column.unique().sort().to_list()
            for group in groups:
                row = self._group(known, pl.col(trait) == group, str(group), fewest, confidence)
                yield {**row, MIRRORED: len(groups) == 2 and group == groups[1]}
        if missing:
            yield {**NOTHING, "group": None, "people": missing, "reason": f"people whose {trait} is not known"}

    def _group(
        self, known: pl.DataFrame, inside: pl.Expr, group: str, fewest: int, confidence: float
    ) -> dict[str, Any]:
        scores = self._scores(known, inside)
        mine, others = (scores.filter(pl.col("inside") == side)["score"].to_numpy() for side in (True, False))
        row: dict[str, Any] = {**NOTHING, "group": group, "people": len(mine), "others": len(others)}
        row |= {name: float(side.mean()) for name, side in (("error", mine), ("rest", others)) if len(side)}
        row |= {"items": known.filter(inside)["item"].n_unique(), "raters": len(scores), "judgments": len(known)}
        if len(mine) and len(others):
            row["estimate"] = float(mine.mean() - others.mean())
        within = self._within(known, inside)
        theirs = within.filter("inside")
        row["ceiling"] = float(theirs["apart"].mean()) if len(theirs) else None  # type: ignore[arg-type]
        if min(len(mine), len(others)) < fewest:
            return {**row, "reason": FEW.format(fewest)}
        row |= tested(Contrast.of_means(mine, others), confidence)
        # Each person's error less their distance from their own side, on the items where that is known.
        beyond = within.with_columns(pl.col("value") - pl.col("apart"))
        if not beyond.is_empty():
            freed = self._scores(beyond, pl.col("inside"))
            sides = [freed.filter(pl.col("inside") == side)["score"].to_numpy() for side in (True, False)]
            if min(map(len, sides)) >= fewest:
                left = tested(Contrast.of_means(*sides), confidence)
                row |= {"beyond": float(sides[0].mean() - sides[1].mean()), "beyond_p": left["p"]}
                row |= {"beyond_low": left.get("low"), "beyond_high": left.get("high")}
        return row

    def _slope(self, known: pl.DataFrame, trait: str, confidence: float) -> dict[str, Any]:
        """How much the error grows with one unit of a trait of numbers, over people."""
        of_people = known.select("rater", trait).unique("rater")
        scores = rater_scores(known).join(of_people, on="rater")
        x, y = (scores[name].cast(pl.Float64).to_numpy() for name in (trait, "score"))
        row: dict[str, Any] = {**NOTHING, "group": "one unit more", "people": len(y), "others": 0}
        row |= {"items": known["item"].n_unique(), "raters": len(y), "judgments": len(known), "error": float(y.mean())}
        centred = x - x.mean()
        slope = float(centred @ y / (centred @ centred))
        left = y - y.mean() - slope * centred
        freedom = len(y) - 2
        error = float(np.sqrt(left @ left / max(freedom, 1) / (centred @ centred)))
        return {**row, "estimate": slope, **tested(Contrast(slope, error, freedom), confidence)}

    def _scores(self, frame: pl.DataFrame, inside: pl.Expr) -> pl.DataFrame:
        """The error of each person, freed from their items, and on which side they are."""
        side = frame.select("rater", inside.alias("inside")).unique("rater")
        return rater_scores(frame).join(side, on="rater").sort("rater")

    def _within(self, known: pl.DataFrame, inside: pl.Expr) -> pl.DataFrame:
        """The errors of judgments that others of the same side judged too, with the distance `apart` from these."""
        frame = known.with_columns(inside.alias("inside")).with_row_index("__row")
        on = [*self.keys, "inside"]
        others = frame.select(*on, other="answer", other_rater="rater")
        pairs = frame.select("__row", "rater", "answer", *on).join(others, on=on, nulls_equal=True)
        pairs = pairs.filter(pl.col("rater") != pl.col("other_rater"))
        apart = _distance(pl.col("answer"), pl.col("other"), nominal=self.nominal).mean().alias("apart")
        return frame.join(pairs.group_by("__row").agg(apart), on="__row").sort("__row").drop("__row")

    def by_item(self, trait: str) -> pl.DataFrame:
        """The error of each item for each group and for the others, where both judged it."""
        known = self.frame.filter(pl.col(trait).is_not_null())
        if known[trait].dtype.is_numeric() and known[trait].n_unique() > MANY:
            known = known.clear()
        whole = known.group_by(self.keys).agg(total=pl.col("value").sum(), n=pl.len())
        groups = known.group_by(*self.keys, pl.col(trait).cast(pl.String).alias("group")).agg(
            sum=pl.col("value").sum(), size=pl.len()
        )
        both = groups.join(whole, on=self.keys, nulls_equal=True).filter(pl.col("n") > pl.col("size"))
        error, rest = pl.col("sum") / pl.col("size"), (pl.col("total") - pl.col("sum")) / (pl.col("n") - pl.col("size"))
        return both.select(*self.keys, "group", error=error, rest=rest, estimate=error - rest)


NOTHING: Final[dict[str, Any]] = dict.fromkeys(
    ("group", "people", "others", "error", "rest", "estimate", "low", "high", "over", "p", "p_adjusted", "ceiling")
) | dict.fromkeys(("beyond", "beyond_low", "beyond_high", "beyond_p", "detectable", "worse"))
"""The columns of a row, which are null where nothing is known."""


def _distance(first: pl.Expr, second: pl.Expr, *, nominal: bool) -> pl.Expr:
    return (first != second).cast(pl.Float64) if nominal else (first - second).abs()


def tested(gap: Contrast, confidence: float) -> dict[str, Any]:
    """Student's interval and test of a gap, and the smallest one that four of five such studies would find."""
    if not gap.freedom >= 1 or not gap.error > 1e-12:
        return {"p": None, "reason": ALIKE}
    # A quantile of one tail is an end of the interval that leaves as much out on either side.
    detectable = gap.reach(confidence) + gap.reach(2 * POWER - 1)
    low, high = gap.ends(confidence)
    return {"low": low, "high": high, "over": "raters", "p": gap.p, "detectable": detectable}
