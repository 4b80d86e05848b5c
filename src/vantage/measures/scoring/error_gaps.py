"""For whom does a model work? Its errors by the traits of people, on the same items, beside those of people themselves.

The error of a model for a person is the distance between their answers to an item: 0 or 1 on a nominal scale, the
difference of codes on an ordered one. Errors are answers of a kind, and who differs in them is asked by the one
analysis of groups (`relations.groups`), which allows for who judged which items. A group whose people differ among
themselves is far from any model: beside a gap stands that beyond the group's own `ceiling`, the distance of its people
from each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import polars as pl

from vantage.corpora import RATERS, TraitScale, inferred_scale_of
from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.intervals import Contrast
from vantage.measures.multiplicity import adjusted
from vantage.measures.parts import names, parts, stacked, unit_table
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import By, Judgments, RaterGroups, has_column, level_of
from vantage.measures.relations.groups import SAME, GroupAnalysis, trait_scales
from vantage.measures.scoring.references import sides_of
from vantage.scales import Level

MANY: Final = 12
"""Words with more values than this, and than half of the people, tell no groups apart."""
POWER: Final = 0.8
LEVEL: Final = 0.05
INNER: Final = ("row", "end", "gap")
"""What only verdicts need of a row: its kind, who is served worse, and the contrast that is tested."""

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
    show=(
        *("model", "trait", "group", "people", "error", "rest", "estimate", "ceiling", "beyond", "detectable", "worse"),
        "reason",
    ),
    notes=(
        "The error is the distance between the answers of the model and of a person to the same item, averaged over "
        "people. A gap as small as the one that could be seen would be found in 80 % of such studies.",
    ),
    says=(
        Against(
            0.0,
            value="tested",
            p="p_worse",
            label="{whom}",
            above="{model} serves some people worse than others: {rows}",
            below="{model} serves some people better than others: {rows}",
            within="We found no difference in how {model} serves people: {rows}",
        ),
    ),
    method="The errors of a model were compared between groups of people in a linear mixed model of items and people, "
    "with Satterthwaite's degrees of freedom.",
    sources=("barr2013",),
)


@measure("error-gaps", "accuracy", view=VIEW, pools=False)
def error_gaps(
    data: Judgments,
    *,
    by: By = (),
    models: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    level: Level | None = None,
    match: By = ("item", "question"),
    traits: Sequence[str] | None = None,
    per: Literal["group", "item"] = "group",
    confidence: float = 0.95,
    groups: RaterGroups | None = None,
) -> pl.DataFrame:
    """For whom does a model work worse? Its error for each group of people, beside that for all others.

    `traits` are the columns of people to look at (all of a corpus by default), analysed as by `groups`: every value of
    a nominal trait against all other people, the trend of an ordered one, the slope of a number. Groups of fewer than
    five people, or with fewer outside, are described and not tested.

    `error` is the mean distance between the model's answer and those of the group's people, `rest` that of the others,
    `estimate` the difference, given who judged what, with its interval and `p` over people. `ceiling` is how far people
    of the group are from each other, and `beyond` the gap that is left when that is taken out. `detectable` is the
    smallest gap that would be found in 80 % of such studies. `p_worse` is the larger p of the gap and of the gap beyond
    (looked at where the first is below .05), corrected over all comparisons of the model (Bonferroni), and `worse` says
    that a gap remains. With `per="item"` there is a row for each item and group, the items that make the gap first.

    >>> import numpy as np
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
        raise InputError("there are no traits of people", remedy="name columns of people with the option traits")
    kind = ["kind"] if (models is None or people is None) and has_column(data, "kind") else []
    scales = trait_scales(data)
    rows: list[dict[str, Any]] = []
    frames: list[pl.DataFrame] = []
    for part in parts(data, by, extra=[*keys, *columns, *kind]):
        persons, tested = sides_of(part.frame, models, people)
        questions = part.frame["question"].unique().sort().to_list()
        nominal = level_of(part.scale(), level, questions) == "nominal" if len(tested) else False
        for model in tested["rater"].unique().sort():
            mine = tested.filter(pl.col("rater") == model)
            errors = Errors.of(persons, mine, keys, nominal=nominal, groups=groups)
            if errors.frame.is_empty():
                continue  # every call failed, or nobody judged what the model did: there is no error to be compared
            head = {**part.key, "model": str(model)}
            if per == "group":
                about = ", ".join(str(value) for value in part.key.values())
                made_rows = errors.gaps({trait: scales.get(trait) for trait in columns}, confidence, about)
                rows += [{**head, **{name: row[name] for name in row if name not in INNER}} for row in made_rows]
            for trait in columns if per == "item" else ():
                made = errors.by_item(trait, scales.get(trait)).with_columns(
                    pl.lit(value).alias(name) for name, value in {**head, "trait": trait}.items()
                )
                used = pl.col("value").is_not_null()
                frames.append(unit_table(made, part, by, keys, ["model", "trait", "group", "error", "rest"], used))
    if per == "item":
        return stacked([], frames, by).sort("estimate", descending=True, nulls_last=True, maintain_order=True)
    if not rows:
        raise InputError("there is no model whose errors could be compared", remedy="name it with the option models")
    return table(rows, names(by))


def worse_for(
    persons: pl.DataFrame,
    model: pl.DataFrame,
    keys: Sequence[str],
    traits: Mapping[str, TraitScale | None],
    *,
    nominal: bool,
    groups: RaterGroups | None = None,
) -> str | None:
    """Those for whom a model works worse than for others, in words; null where there is nobody."""
    rows = Errors.of(persons, model, keys, nominal=nominal, groups=groups).gaps(traits)
    return ", ".join(row["end"] for row in rows if row["worse"]) or None


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
    groups: RaterGroups | None = None
    """Which people were drawn together."""

    @classmethod
    def of(
        cls,
        persons: pl.DataFrame,
        model: pl.DataFrame,
        keys: Sequence[str],
        *,
        nominal: bool,
        groups: RaterGroups | None = None,
    ) -> Errors:
        """The errors on all items that both answered; those of repeated samples are averaged."""
        replies = model.filter(pl.col("value").is_not_null()).select(*keys, reply="value")
        asked = persons.filter(pl.col("value").is_not_null()).rename({"value": "answer"}).with_row_index("__row")
        met = asked.join(replies, on=list(keys), nulls_equal=True)
        distance = _distance(pl.col("reply"), pl.col("answer"), nominal=nominal)
        mean = met.group_by("__row").agg(distance.mean().alias("value"))
        return cls(asked.join(mean, on="__row").sort("__row").drop("__row"), list(keys), nominal, groups)

    def gaps(
        self, traits: Mapping[str, TraitScale | None], confidence: float = 0.95, about: str = ""
    ) -> list[dict[str, Any]]:
        """The rows of all traits, corrected together: those of the analysis of groups, with what is beyond a ceiling.

        Of two groups the one that is served worse is `tested`, since the other one says the same.
        """
        rows = [row for trait, scale in traits.items() for row in self._of_trait(trait, scale, confidence, about)]
        several = max(1, sum(row["p_worse"] is not None for row in rows))
        for row, p in zip(rows, adjusted([row["p_worse"] for row in rows], "bonferroni"), strict=True):
            row["p_adjusted"] = p
            if (gap := row.get("gap")) is not None:
                # A quantile of one tail is an end of the interval that leaves as much out on either side.
                row["detectable"] = gap.reach(1 - LEVEL / several) + gap.reach(2 * POWER - 1)
            # A trend or a slope is worse at one of its ends, a group where its gap is above zero.
            above = row["estimate"] is not None and (row["estimate"] > 0 or row["row"] != "group")
            row["worse"] = None if row["p"] is None else above and p is not None and p < LEVEL
        return rows

    def _of_trait(
        self, trait: str, scale: TraitScale | None, confidence: float, about: str
    ) -> Iterator[dict[str, Any]]:
        how: dict[str, Any] = {"over": "raters", "groups": self.groups, "confidence": confidence}
        analysis = GroupAnalysis.of(self.frame, trait, scale, **how)
        known = self.frame.drop_nulls(trait)
        mean, everyone = known["value"].mean(), known["rater"].n_unique()
        for row in analysis.rows():
            if row["row"] == "shape":
                continue
            kept = {
                name: row.get(name) for name in ("group", "estimate", "low", "high", "over", "df", "p", "reason", "row")
            }
            counted: dict[str, Any] = {
                name: row[name] for name in ("items", "raters", "judgments", "left_out") if name in row
            }
            made: dict[str, Any] = {**NOTHING, "trait": trait, **kept, **counted, "people": row["raters"]}
            made |= {"error": row.get("mean", mean), "rest": row.get("versus_mean"), "p_worse": row["p"]}
            ends = f" about {about}" if about else ""
            if row.get("reason") == SAME:
                made["reason"] = "the errors do not vary"
            if row["row"] == "group":
                named = f"{row['group']} ({trait})"
                made |= {"others": everyone - row["raters"], "whom": named + ends, "end": named}
                made |= self._beyond(analysis, row, confidence)
                if analysis.single and row["p"] is not None and row["estimate"] <= 0:
                    made["p_worse"] = None
            elif row["row"] != "missing":
                made |= {"whom": f"{row['higher']}{ends}", "end": row["higher" if row["estimate"] > 0 else "lower"]}
            if row["p"] is not None:
                made["gap"] = Contrast(row["estimate"], row["se"], row["df"])
            made["tested"] = None if made["p_worse"] is None else row["estimate"]
            yield made

    def _beyond(self, analysis: GroupAnalysis, row: Mapping[str, Any], confidence: float) -> dict[str, Any]:
        """A group among itself, and its gap where each person's distance from their own side is taken out."""
        level = next(one for one in analysis.levels if str(one) == row["group"])
        within = self._within(analysis.frame, pl.col(analysis.column) == level)
        theirs = within.filter("inside")
        ceiling: dict[str, Any] = {"ceiling": theirs["apart"].mean() if len(theirs) else None}
        # What is no gap is not looked at further.
        if row["p"] is None or row["p"] >= LEVEL or theirs.is_empty() or len(theirs) == len(within):
            return ceiling
        freed = within.with_columns(pl.col("value") - pl.col("apart"))
        how: dict[str, Any] = {"over": "raters", "groups": analysis.groups, "confidence": confidence}
        left = GroupAnalysis.of(freed, "inside", TraitScale("nominal"), **how).rows()[-1]
        if left["p"] is None:
            return ceiling
        ends = {f"beyond_{name}": left[name] for name in ("low", "high", "p")}
        # A gap is one beyond the ceiling only where both are, and on the same side.
        same = left["estimate"] * row["estimate"] > 0
        return {**ceiling, "beyond": left["estimate"], **ends, "p_worse": max(row["p"], left["p"]) if same else 1.0}

    def _within(self, known: pl.DataFrame, inside: pl.Expr) -> pl.DataFrame:
        """The errors of judgments that others of the same side judged too, with the distance `apart` from these."""
        frame = known.with_columns(inside.alias("inside")).with_row_index("__row")
        on = [*self.keys, "inside"]
        others = frame.select(*on, other="answer", other_rater="rater")
        pairs = frame.select("__row", "rater", "answer", *on).join(others, on=on, nulls_equal=True)
        pairs = pairs.filter(pl.col("rater") != pl.col("other_rater"))
        apart = _distance(pl.col("answer"), pl.col("other"), nominal=self.nominal).mean().alias("apart")
        return frame.join(pairs.group_by("__row").agg(apart), on="__row").sort("__row").drop("__row")

    def by_item(self, trait: str, scale: TraitScale | None) -> pl.DataFrame:
        """The error of each item for each group and for the others, where both judged it; none of numbers."""
        known = self.frame.filter(pl.col(trait).is_not_null())
        if (scale or inferred_scale_of(known.unique("rater", maintain_order=True)[trait])).level == "numeric":
            known = known.clear()
        whole = known.group_by(self.keys).agg(total=pl.col("value").sum(), n=pl.len())
        groups = known.group_by(*self.keys, pl.col(trait).cast(pl.String).alias("group")).agg(
            sum=pl.col("value").sum(), size=pl.len()
        )
        both = groups.join(whole, on=self.keys, nulls_equal=True).filter(pl.col("n") > pl.col("size"))
        error, rest = pl.col("sum") / pl.col("size"), (pl.col("total") - pl.col("sum")) / (pl.col("n") - pl.col("size"))
        return both.select(*self.keys, "group", error=error, rest=rest, estimate=error - rest)


NOTHING: Final[dict[str, Any]] = dict.fromkeys(
    (
        *("trait", "group", "people", "others", "error", "rest", "estimate", "low", "high", "over", "df", "p"),
        *("p_worse", "p_adjusted", "ceiling", "beyond", "beyond_low", "beyond_high", "beyond_p", "detectable"),
        *("worse", "whom", "tested"),
    )
)
"""The columns of a row, which are null where nothing is known."""


def _distance(first: pl.Expr, second: pl.Expr, *, nominal: bool) -> pl.Expr:
    return (first != second).cast(pl.Float64) if nominal else (first - second).abs()
