"""Accuracy against a reference: how often, and how nearly, raters give the answer that is taken as right.

The label set is that of the scale, or of the whole table where there is no scale; it never shrinks to the
labels of a subset, so that two groups are always averaged over the same classes. An answer that is missing
is left out or counted wrong, as asked, and every row says which. Counted wrong, it is a miss for the class of
its reference, and never a class of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Unpack

import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.intervals import OVER, IntervalOptions
from vantage.measures.parts import Rounding, check_level, names, of_group, partitioned, scale_of, scales_of
from vantage.measures.presentation import Column, View
from vantage.measures.rater_variance import several_items
from vantage.measures.ratings import TOGETHER, By, Judgments, by_columns
from vantage.measures.resampling import Resampling
from vantage.measures.scoring.floors import OWN, SKILL_COLUMNS, SKILL_NOTES, no_skill_raters, with_skill
from vantage.measures.scoring.references import Reference, Scored
from vantage.measures.scoring.scores import (
    METRICS,
    NUMERIC,
    Missing,
    Rules,
    Scores,
    chosen,
    label_set,
    shown,
    without_reference,
)
from vantage.scales import Scale

_MANY_CLASSES: Final = 50
"""A plain table with more distinct answers than this is taken for continuous unless classes are asked for."""


ACCURACY_VIEW: Final = View(
    "Accuracy against the reference",
    columns={"estimate": Column(digits=2), **SKILL_COLUMNS},
    show=("metric", "average", "class", "estimate", "floor", "floor_rater", "ceiling", "skill", "items", "judgments"),
    notes=SKILL_NOTES,
    method="Raters were scored against the reference by {metric}.",
    sources=("wilson1927", "zou2008"),
)


@measure("accuracy", "accuracy", view=ACCURACY_VIEW, pools=False, interval=("raters", "sources"))
def accuracy(
    data: Judgments,
    *,
    by: By = "rater",
    reference: Reference = "majority",
    metric: str | Sequence[str] | None = None,
    within: float = 1.0,
    missing: Missing = "left_out",
    opt_outs: Missing = "left_out",
    rounding: Rounding = "none",
    labels: Sequence[float] | None = None,
    zero_division: float | None = 0.0,
    raters: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    match: By = ("item", "question"),
    skill: bool = True,
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """How well each rater hits a reference: gold labels, aggregated people, or each person in turn.

    With `reference="each"` the estimate is the mean over people. `metric` names one or several of those in
    docs/measures-accuracy.md (all that the scale allows, by default). `missing` says what a refused, unparsed or failed
    answer is, `opt_outs` the same for "ambiguous" and "not mentioned": left out, or wrong. Metrics of codes always
    leave both out. A class without any denominator is null in its own row; in averages it counts as `zero_division`, or
    is left out with None. Averages of people often lie between the answers: `rounding` puts them on the scale.

    Raters are scored one by one; those of a group together with another `by`. `ci` is over items and raters where at
    least ten of those who make the reference judged several items each, otherwise over items.

    With `skill` every estimate stands between the `floor`, what the best rater that does not read reaches on the same
    items (`floor_rater`), and the `ceiling`, what a person reaches against the reference that the others make; `skill`
    is the share of the way, with its interval over items.

    >>> answers = {"item": ["a", "b", "c", "d"], "rater": ["m"] * 4, "value": [1, 0, 1, 1]}
    >>> gold = {"item": ["a", "b", "c", "d"], "value": [1, 0, 0, 1]}
    >>> accuracy(answers, reference=gold, metric=["accuracy", "f1_macro"], ci="none").select(
    ...     "metric", "average", pl.col("estimate").round(3)).rows()
    [('accuracy', None, 0.75), ('f1', 'macro', 0.733)]
    """
    wanted = None if metric is None else by_columns(metric)
    for name in wanted or ():
        if name not in METRICS:
            raise InputError(f"metric '{name}' is not known", remedy=nearest(name, METRICS))
    scored_against = Scored(data, reference, by, raters, people, match, rounding)
    frame, word = scored_against.frame(), scored_against.word
    how = Resampling(**resampling, over=OVER)
    left_out = frame if word is None else scored_against.sides[1]
    # One person, or one rater whose reference people do not make: there is nobody to be left out.
    one = word is None and "rater" in names(by)
    if how.ci == "auto" and one:
        how = replace(how, ci="items")
    how = how.chosen(several_items(left_out.filter(pl.col("value").is_not_null()), how.groups))
    rest = list(scored_against.without_each(how)) if how.ci in ("raters", "both") and not one else []
    # A mean that was not rounded is no answer, so it does not widen the label set of a plain table.
    between = word in {"mean", "median"} and rounding == "none"
    seen = frame.with_columns(pl.lit(None, dtype=pl.Float64).alias("gold")) if between else frame
    alone = scored_against.one_against_the_others(how.seed) if skill and word is not None else None
    rows: list[dict[str, Any]] = []
    for key, part in partitioned(frame, names(by)):
        scale = scale_of(part, scales_of(data))
        codes = label_set(seen, scale, labels)
        metrics = chosen(wanted, scale, len(codes), _looks_continuous(seen, scale, labels))
        # What looks at no class needs no sums of every class, of which a continuous column has thousands.
        classes = codes if any(m.of_classes for m in metrics) else codes[:0]
        rules = Rules(classes, within, missing, opt_outs, zero_division)
        if numeric := [m.name for m in metrics if m.name in NUMERIC]:
            check_level(scale, part, f"the metric {numeric[0]}")
        persons = _persons(part, word)
        rated = part.filter(pl.col("person").is_in(persons)) if word == "each" else part
        # Where a tie of the whole is none of the rest, an item has a reference in the rest only.
        items = rated.select("item").unique().sort("item").with_row_index("position") if rest else None
        without = [
            Scores.of(others, rules, left, items)
            for others in (of_group(frame, key) for frame in rest)
            if (left := _persons(others, word))
        ]
        scores = Scores.of(rated, rules, persons, items)
        scored = scores.rows(metrics, how, rated, scale, without)
        if raters is None and not {"rater", "kind"} & set(names(by)) and scores.frame["rater"].n_unique() > 1:
            scored = [{**row, "note": TOGETHER} for row in scored]
        if skill:
            single = _one_by_one(alone, key, names(match), scores) if alone is not None else []
            ordered = scale is None or scale.ordered
            no_skill = no_skill_raters(scores.frame, scale, ordered=ordered, seed=how.seed)
            skilled = with_skill(scores, single, metrics, how, no_skill)
            nothing = dict.fromkeys(OWN)
            pairs = zip(scored, skilled, strict=True)
            scored = [{**row, **(added if row.get("estimate") is not None else nothing)} for row, added in pairs]
        stated = ({"missing": missing if m.classifies else "left_out"} for m in metrics)
        rows += [{**key, **said, **row} for said, row in zip(stated, scored, strict=True)]
    first = (*names(by), "metric", "average", "class", "missing", "wrong", *OWN)
    return table([{**{c: row[c] for c in first if c in row}, **row} for row in rows], names(by))


CONFUSION_VIEW: Final = View(
    "Answers given where the reference has which answer",
    columns={"estimate": Column("share", percent=True, digits=0)},
)


@measure("confusion", "accuracy", view=CONFUSION_VIEW, pools=False)
def confusion(
    data: Judgments,
    *,
    by: By = "rater",
    reference: Reference = "majority",
    rounding: Rounding = "none",
    raters: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    match: By = ("item", "question"),
) -> pl.DataFrame:
    """Which answers were given where the reference has which: counts, and shares of each reference class.

    One row per pair of classes of the label set. Missing answers have rows of their own, with their status and without
    a predicted class. `estimate` is the share among all judgments with that reference; `judgments` the count.

    >>> answers = {"item": ["a", "b", "c"], "rater": ["m"] * 3, "value": [1, 0, 1]}
    >>> gold = {"item": ["a", "b", "c"], "value": [1, 0, 0]}
    >>> confusion(answers, reference=gold).select("reference", "predicted", "judgments").rows()
    [('0', '0', 1), ('0', '1', 1), ('1', '0', 0), ('1', '1', 1)]
    """
    frame = Scored(data, reference, by, raters, people, match, rounding).frame()
    rows: list[dict[str, Any]] = []
    for key, part in partitioned(frame, names(by)):
        scale = scale_of(part, scales_of(data))
        known = part.filter(pl.col("gold").is_not_null())
        codes = [float(code) for code in label_set(frame, scale, None)]
        off_scale = sorted(set(known["gold"].unique()) - set(codes))
        status = pl.when(pl.col("value").is_null()).then(pl.col("status").cast(pl.String)).otherwise(pl.lit("answered"))
        cells = known.group_by("gold", "value", status.alias("state")).agg(pl.len(), pl.col("item", "rater").n_unique())
        counts = {(gold, value, state): counted for gold, value, state, *counted in cells.iter_rows()}
        states = sorted({state for _, value, state in counts if value is None})
        for gold in [*codes, *off_scale]:
            total = known.filter(pl.col("gold") == gold).height
            pairs = [(value, "answered") for value in codes] + [(None, state) for state in states]
            for value, state in pairs:
                n, items, judges = counts.get((gold, value, state), (0, 0, 0))
                row: dict[str, Any] = {
                    "reference": shown(gold, scale),
                    "predicted": None if value is None else shown(value, scale),
                    "status": state,
                    "estimate": n / total if total else None,
                    "items": items,
                    "raters": judges,
                    "judgments": n,
                    "left_out": without_reference(part),
                    "reason": None if total else "the reference never has this class",
                }
                rows.append({**key, **row})
    return table(rows, names(by))


def _one_by_one(alone: pl.DataFrame, key: dict[str, Any], match: Sequence[str], scores: Scores) -> list[Scores]:
    """Each person against the others on what was scored, at the same positions."""
    about = {name: value for name, value in key.items() if name not in ("rater", "kind")}  # people, whoever is scored
    same = of_group(alone, about).join(scores.frame, on=match, how="semi", nulls_equal=True)
    items = scores.frame.select("item", "position").unique("item")
    return [
        Scores.of(rated, scores.rules, rated["person"].unique().sort().to_list(), items)
        for _, rated in partitioned(same, ["rater"])
    ]


def _persons(part: pl.DataFrame, reference: str | None) -> list[str | None]:
    """The people that are references one by one, or nobody in particular."""
    return part["person"].unique().drop_nulls().sort().to_list() if reference == "each" else [None]


def _looks_continuous(frame: pl.DataFrame, scale: Scale | None, labels: Sequence[float] | None) -> bool:
    if scale is not None:
        return scale.range is not None
    return labels is None and len(label_set(frame, None, None)) > _MANY_CLASSES
