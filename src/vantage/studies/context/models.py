"""What context changes: the study in one table, models' F1 against the labels, the controls, and models' order.

A run is scored by itself, and a model's score is the mean over its runs. All conditions are scored on the same items.
"Ambiguous" is no label and counts as wrong, and so does an answer that cannot be read. A label that occurs neither in
the reference nor in the answers is left out of the average, so that a perfect model scores 1 on every part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl

from vantage import measures
from vantage.measures import Floats
from vantage.perspective.fairness import swap_p
from vantage.raters.style import Style
from vantage.report.recipe import Data, there
from vantage.studies.context.analysis import ContextAnalysis, Statements, paired
from vantage.studies.context.pipeline.controls import CONTEXT, KEPT, KINDS, OUTCOME, STATIC, condition_of, target
from vantage.studies.context.pipeline.detection import LEAST
from vantage.studies.context.tasks import TASK

ALL: Final = "all"
DRAWS: Final = 20
"""Random selections beside the flagged items."""
F1: Final = measures.Metric("f1", "macro")
WRONG: Final[dict[str, Any]] = {"missing": "wrong", "opt_outs": "wrong"}


@dataclass(frozen=True)
class Rated:
    """The answers of one model in one style, with the original label in `gold` and the run in `person`."""

    part: Statements
    named: Mapping[str, str]
    judged: pl.DataFrame

    def under(self, condition: str) -> pl.DataFrame:
        """Its judgments under one condition."""
        return self.judged.filter(condition=condition)

    def common(self, *conditions: str) -> list[str]:
        """The items that were judged under all of the conditions."""
        judged = self.judged.filter(pl.col("condition").is_in(conditions))
        counts = judged.group_by("item").agg(pl.col("condition").n_unique())
        return counts.filter(condition=len(conditions))["item"].sort().to_list()

    def f1(self, conditions: Sequence[str], items: Sequence[str]) -> Callable[..., Floats]:
        """F1 as a function of weights on the items, one array per condition, so that weights can mix conditions."""
        every = self.judged.filter(pl.col("condition").is_in(conditions), pl.col("item").is_in(items))
        every = every.with_columns(pl.format("{} {}", "condition", "item").alias("item"))
        rules = measures.Rules(np.array(self.part.question.scale.codes, dtype=np.float64), zero_division=None, **WRONG)
        runs = every["person"].unique().sort().to_list()
        placed = pl.DataFrame({"item": [f"{name} {item}" for name in conditions for item in items]})
        scores = measures.Scores.of(every, rules, runs, placed.with_row_index("position"))
        return lambda *weights: scores.values(np.column_stack(weights), [F1])[:, 0]

    def scores(
        self,
        columns: Mapping[str, str],
        items: Sequence[str],
        flagged: Collection[str] = (),
        change: str = "difference",
    ) -> dict[str, Any]:
        """F1 under one or two conditions and the second less the first (`change`), with intervals over items and p.

        `p` is that of an approximate randomisation test (Noreen 1989), in which the answers under the two conditions
        change places item by item. With flagged items, `selective` takes the second condition for these alone, and
        `random` is its mean for as many items at random. Fewer than ten items have neither interval nor p.
        """
        if not items:
            return {"reason": "no item of this part was judged under all conditions"}
        f1, n, seed = self.f1(list(columns.values()), items), len(items), self.part.seed
        first, *other = columns
        statistics: dict[str, Callable[[Floats], Floats]] = {first: f1}
        row: dict[str, Any] = {}
        if other:
            statistics = {first: lambda w: f1(w, 0 * w), other[0]: lambda w: f1(0 * w, w)}
            if flagged:
                chosen = np.isin(items, list(flagged)).astype(np.float64)
                drawn = np.random.default_rng(seed).permuted(np.tile(chosen, (DRAWS, 1)), axis=1)
                statistics["selective"] = lambda w: f1(w * (1 - chosen), w * chosen)
                row["random"] = float(f1(1 - drawn, drawn).mean())
            statistics[change] = lambda w: f1(0 * w, w) - f1(w, 0 * w)

        def together(weight: Floats) -> Floats:
            return np.column_stack([statistic(weight) for statistic in statistics.values()])

        how = measures.Resampling("items" if n >= LEAST else "none", resamples=self.part.options.resamples, seed=seed)
        limits = [(-1.0, 1.0) if name == change else measures.SHARES for name in statistics]
        row |= measures.several_with_intervals(list(statistics), n, together, how, limits)
        if other and n >= LEAST:
            row[f"{change}_p"] = swap_p(row[change], lambda kept: f1(kept, 1 - kept) - f1(1 - kept, kept), n, seed)
        return row


def rated(part: Statements) -> Iterator[Rated]:
    """Every model in every style that judged the statements of a task."""
    known = {row["rater"]: row for row in part.corpus.raters.iter_rows(named=True)}
    gold = part.labels.select("item", pl.col("value").alias("gold"))
    judged = part.said("model").join(gold, on="item", maintain_order="left")
    judged = judged.with_columns(pl.col("sample").cast(pl.String).alias("person"))
    for (rater,), rows in judged.group_by("rater", maintain_order=True):
        row = known[str(rater)]
        named = {"model": row.get("model") or rater, "style": row.get("style") or "", "rater": rater}
        yield Rated(part, {TASK: part.task.name, **named}, rows)


def parts_of(items: Sequence[str] | pl.Series, flagged: Collection[str]) -> dict[str, list[str]]:
    """All items and, where some are flagged, these and the rest."""
    parts = {ALL: list(items)}
    if flagged:
        parts["context needed"] = [item for item in items if item in flagged]
        parts["the rest"] = [item for item in items if item not in flagged]
    return parts


@lru_cache(maxsize=1)
def f1(analysis: ContextAnalysis) -> Data:
    """F1 of each model without context, with it, and with it for flagged items only."""
    rows = [
        {**one.named, **row}
        for part in analysis.parts.values()
        for one in rated(part)
        for row in before_and_after(one, part.flagged)
    ]
    flagged = sum(len(part.flagged) for part in analysis.parts.values())
    return Data(pl.DataFrame(there(rows or None), infer_schema_length=None), {"flagged": flagged or None})


def before_and_after(one: Rated, flagged: Collection[str]) -> Iterator[dict[str, Any]]:
    """One row per part of the items: F1 in each condition, the difference, and the shares of "ambiguous" and unread."""
    conditions = [name for name in (STATIC, CONTEXT) if len(one.under(name))]
    for part, items in parts_of(one.common(*conditions), flagged).items():
        row: dict[str, Any] = {"part": part, "items": len(items)}
        for name in conditions if items else ():
            status = one.under(name).filter(pl.col("item").is_in(items))["status"].cast(pl.String)
            row[f"ambiguous_{name}"] = (status == "ambiguous").mean()
            row[f"unread_{name}"] = status.is_in(["refused", "unparsed", "failed"]).mean()
        yield {**row, **one.scores({name: name for name in conditions}, items, flagged if part == ALL else ())}


@lru_cache(maxsize=1)
def effects(analysis: ContextAnalysis) -> pl.DataFrame:
    """One row for each model and kind of context: F1 without and with it on the same items, and who follows it.

    `gain` is the difference for contexts written for the label, `control` that for the others, `beyond` the gain over
    contexts without a label. An answer follows a context when it is the label that this was written for; `followed` is
    the change of that share with opposite contexts.
    """
    rows = [
        {**one.named, "who": "{model}, {style} ({task})".format_map(one.named), **row}
        for part in analysis.parts.values()
        for one in rated(part)
        for row in _kinds(one)
    ]
    return pl.DataFrame(rows, schema=_EFFECTS, orient="row")


_EFFECTS: Final[dict[str, Any]] = {
    **dict.fromkeys((TASK, "model", "style", "rater", "who", "written_for", "kind"), pl.String),
    "items": pl.Int64,
    **{
        f"{name}{end}": pl.Float64
        for name in (STATIC, CONTEXT, "difference", "beyond", "followed")
        for end in ("", "_low", "_high", "_p")
    },
    **dict.fromkeys(("gain", "control", "follows_static", "follows"), pl.Float64),
}


def _kinds(one: Rated) -> Iterator[dict[str, Any]]:
    for written_for, kind in KINDS.items():
        condition = condition_of(written_for)
        items = one.common(STATIC, condition)
        if not items:
            continue
        row = {"written_for": written_for, "kind": kind, "items": len(items)}
        row |= one.scores({STATIC: STATIC, CONTEXT: condition}, items)
        row["gain" if written_for == "label" else "control"] = row["difference"]
        if written_for in ("label", "opposite"):
            scale, gold = one.part.question.scale, one.judged["gold"]
            aims = pl.Series([target(scale, label, written_for) for label in gold], dtype=pl.Float64)
            hits = one.judged.with_columns(hit=(pl.col("value") == aims).fill_null(value=False).cast(pl.Float64))
            hits = hits.filter(pl.col("item").is_in(items)).sort("item")
            alone, inside = (hits.filter(condition=name) for name in (STATIC, condition))
            row |= {"follows_static": alone["hit"].mean(), "follows": inside["hit"].mean()}
            if written_for == "opposite":
                shares = (side.group_by("item", maintain_order=True).agg("hit") for side in (alone, inside))
                before, after = (side["hit"].list.mean().to_numpy() for side in shares)
                row |= paired("followed", after - before)
        if written_for == "blind" and (both := one.common(STATIC, CONTEXT, condition)):
            scores = one.scores({"blind": condition, "label": CONTEXT}, both, change="beyond")
            row |= {name: value for name, value in scores.items() if name.startswith("beyond")}
        yield row


def summary(analysis: ContextAnalysis) -> Data:
    """One row per task: how many statements are ambiguous, what was done about it, and what context changed."""
    rows = [_summarised(analysis, part) for part in analysis.parts.values()]
    inside = "an answer like the others" if analysis.options.ambiguous_in else "left out"
    kinds = analysis.readers.raters["kind"].cast(pl.String) if analysis.readers else pl.Series(dtype=pl.String)
    people, seats = (int((kinds == kind).sum()) or None for kind in ("person", "slot"))
    # Who has a seat differs from statement to statement: a seat is no reader who could be left out.
    over = {"readers_over": "items" if seats else "both", "readers_units": "items" if seats else "items and people"}
    facts = {"inside": inside, "annotators": people, "seats": seats, **over}
    return Data(pl.DataFrame(rows, infer_schema_length=None), facts)


def _summarised(analysis: ContextAnalysis, part: Statements) -> dict[str, Any]:
    both = part.votes.join(part.after.select("item", pl.col("doubt").alias("after")), on="item")
    items, voted, steps = part.corpus.items, len(part.votes), analysis.steps.get("label")
    models = effects(analysis).filter(task=part.task.name, written_for="label")
    ambiguous = int(part.judging.marked(part.votes).sum()) if voted else None
    kept = None if steps is None else steps.filter(step=OUTCOME, status=KEPT).join(items, on="item", how="semi").height
    return {
        TASK: part.task.name,
        "statements": len(items),
        "unjudged": None if voted else len(items),
        "voted": voted or None,
        "ambiguous": ambiguous,
        "share": None if ambiguous is None else ambiguous / voted,
        "flagged": len(part.flagged) if part.methods else None,
        "contexts": kept,
        "alone": None if len(both) else part.task.name,
        "items": len(both) or None,
        "doubt_static": both["doubt"].mean(),
        "doubt_context": both["after"].mean(),
        **paired("change", (both["after"] - both["doubt"]).to_numpy()),
        "f1_static": models["static"].mean(),
        "f1_context": models["context"].mean(),
    }


AVERAGE: Final = "people, average"
BEST: Final = "people, best"
BOTH: Final = [STATIC, CONTEXT]
COLUMNS: Final = ("item", "question", "rater", "system", "condition", "sample", "value", "status")


@dataclass(frozen=True)
class Ranked:
    """The models of a task in one style under both conditions, alone and with people: judgments with a `system`.

    The frames are the same where people did not judge in both conditions.
    """

    part: Statements
    named: dict[str, str]
    models: pl.DataFrame
    everyone: pl.DataFrame

    def ranks(self, judged: pl.DataFrame, between: str = "condition", values: Any = None, **how: Any) -> pl.DataFrame:
        """The measure `ranks` of these systems by F1; of few items without intervals."""
        common: dict[str, Any] = {"resamples": self.part.options.resamples, "seed": self.part.seed, **WRONG}
        if judged["item"].n_unique() < LEAST:
            common["ci"] = "none"
        reference = self.part.labels.select("item", "value")
        common |= {"system": "system", "reference": reference, "score": "f1_macro", **how}
        return measures.ranks(judged, between=between, values=values or BOTH, **common)


@lru_cache(maxsize=1)
def _ranked(analysis: ContextAnalysis) -> list[Ranked]:
    """The models of each task and style of which at least two were asked under both conditions."""
    return there([one for part in analysis.parts.values() for one in _styles(part)] or None)


def _styles(part: Statements) -> Iterator[Ranked]:
    known, people = list(rated(part)), _people(part)
    for style in dict.fromkeys(one.named["style"] for one in known):
        frames = [
            one.judged.with_columns(pl.lit(one.named["model"]).alias("system")).select(COLUMNS)
            for one in known
            if one.named["style"] == style
        ]
        whole = pl.concat(frames).filter(pl.col("condition").is_in(BOTH))
        some = whole.filter(pl.col("condition").n_unique().over("item") == 2)
        if set(some["condition"]) != set(BOTH) or some["system"].n_unique() < 2:
            continue
        theirs = people.join(some, on="item", how="semi")
        everyone = pl.concat([some, theirs]) if set(theirs["condition"]) == set(BOTH) else some
        yield Ranked(part, {TASK: part.task.name, "style": style}, some, everyone)


def _people(part: Statements) -> pl.DataFrame:
    """People as two systems: all of them pooled, and in each condition the one with the highest F1.

    The best of many is best by luck as well, and need not be the same person in both conditions.
    """
    judged = part.said("person").filter(pl.col("condition").is_in(BOTH))
    pooled = judged.with_columns(pl.lit(AVERAGE).alias("system")).select(COLUMNS)
    if judged.is_empty():
        return pooled
    by = ["rater", "condition"]
    scores = measures.accuracy(judged, by=by, reference=part.labels, metric="f1_macro", ci="none", **WRONG)
    enough = scores.filter(pl.col("items") >= LEAST).drop_nulls("estimate")
    best = enough.sort("estimate", "rater", descending=[True, False]).unique("condition", keep="first")
    return pl.concat([pooled, pooled.join(best, on=by, how="semi").with_columns(pl.lit(BEST).alias("system"))])


def rank_correlations(analysis: ContextAnalysis) -> pl.DataFrame:
    """Rank correlations of models between the conditions, on all items and on parts, and between two runs of one."""
    rows: list[dict[str, Any]] = []
    for one in _ranked(analysis):
        frames = {"models": one.models, "models and people": one.everyone}
        if one.everyone is one.models:
            del frames["models and people"]
        for systems, frame in frames.items():
            for part, kept in parts_of(frame["item"].unique(maintain_order=True), one.part.flagged).items():
                some = frame.filter(pl.col("item").is_in(kept))
                if set(some["condition"]) < set(BOTH):
                    continue
                row = one.ranks(some).row(0, named=True)
                named = {**one.named, "systems_are": systems, "part": part, "between": "static and context"}
                # Two or three models have hardly any orders to be told apart; of them, changes of places say more.
                several = part == ALL and systems == "models" and row["systems"] > 3
                overall = row["estimate"] if several else None
                rows.append({**named, **row, "overall": overall})
        rows += [{**one.named, "systems_are": "models", "part": ALL, **row} for row in _between_runs(one)]
    return pl.DataFrame(rows, infer_schema_length=None)


def _between_runs(one: Ranked) -> Iterator[dict[str, Any]]:
    """How two runs under the same condition correlate, without which a low figure says little."""
    several = one.models.filter(pl.col("sample").n_unique().over("system") > 1)
    for condition in BOTH:
        runs = several.filter(condition=condition)
        pairs = combinations(runs["sample"].unique().sort().to_list(), 2) if runs["system"].n_unique() > 1 else ()
        orders = [one.ranks(runs, "sample", list(pair), ci="none").row(0, named=True) for pair in pairs]
        if orders:
            known = [row["estimate"] for row in orders if row["estimate"] is not None]
            middle = {"estimate": float(np.mean(known)) if known else None, "systems": orders[0].get("systems")}
            counted = {"items": orders[0]["items"], "judgments": len(runs)}
            yield {"between": f"two runs, {condition}", **middle, **counted}


def rank_changes(analysis: ContextAnalysis) -> pl.DataFrame:
    """Score and rank of every model without and with context, and the change of its rank with its interval."""
    frames = [
        one.ranks(one.models, per="system").with_columns(**{name: pl.lit(value) for name, value in one.named.items()})
        for one in _ranked(analysis)
    ]
    return pl.concat(frames, how="diagonal_relaxed")


def rank_shifts(analysis: ContextAnalysis) -> pl.DataFrame:
    """The order without and with context, for each task and style without examples, or else the first."""
    places: dict[str, list[pl.DataFrame]] = {}
    for one in _ranked(analysis):
        known = places.setdefault(one.named[TASK], [])
        if Style.parse(one.named["style"]).shots and known:
            continue
        order = one.ranks(one.everyone, per="system", ci="none")
        if "first_rank" in order.columns:
            asked = pl.lit("{task}, {style}".format_map(one.named)).alias("asked")
            known += [
                order.select("system", asked, condition=pl.lit(name), rank=f"{side}_rank", score=f"{side}_score")
                for side, name in (("first", STATIC), ("second", CONTEXT))
            ]
    return pl.concat(there([frame for known in places.values() for frame in known] or None))
