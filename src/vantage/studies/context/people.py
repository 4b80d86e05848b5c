"""What people say, standing alone and with context: how divided they are, whether they agree, and single annotators."""

from __future__ import annotations

from typing import Any

import polars as pl

from vantage.measures.agreement.alpha import alpha
from vantage.measures.scoring.accuracy import accuracy
from vantage.measures.variation.spread import ambiguity, entropy
from vantage.report.recipe import Data
from vantage.studies.context.analysis import ContextAnalysis, Statements, once, paired
from vantage.studies.context.models import effects
from vantage.studies.context.pipeline.controls import STATIC
from vantage.studies.context.pipeline.record import KEPT, OUTCOME
from vantage.studies.context.tasks import TASK, labels_of


def summary(analysis: ContextAnalysis) -> Data:
    """One row per task: how many statements are ambiguous, what was done about it, and what context changed."""
    rows = [_summarised(analysis, part) for part in analysis.parts.values()]
    inside = "an answer like the others" if analysis.options.ambiguous_in else "left out"
    return Data(pl.DataFrame(rows, infer_schema_length=None), {"inside": inside})


def _summarised(analysis: ContextAnalysis, part: Statements) -> dict[str, Any]:
    target, voted = part.judging.target, len(part.votes)
    both = part.votes.join(part.after.select("item", pl.col("doubt").alias("after")), on="item")
    change = paired("change", (both["after"] - both["doubt"]).to_numpy())
    steps = analysis.steps.get("label")
    kept = None
    if steps is not None:
        kept = steps.filter(step=OUTCOME, status=KEPT).join(part.corpus.items, on="item", how="semi").height
    models = effects(analysis).filter(task=part.task.name, written_for="label")
    ambiguous = int(target.marked(part.votes).sum())
    return {
        TASK: part.task.name,
        "statements": len(part.corpus.items),
        "unjudged": None if voted else len(part.corpus.items),
        "voted": voted or None,
        "ambiguous": ambiguous if voted else None,
        "share": ambiguous / voted if voted else None,
        "flagged": len(part.flagged) if part.methods else None,
        "contexts": kept,
        "alone": None if len(both) else part.task.name,
        "items": len(both) or None,
        "doubt_static": both["doubt"].mean() if len(both) else None,
        "doubt_context": both["after"].mean() if len(both) else None,
        **change,
        "f1_static": models["static"].mean(),
        "f1_context": models["context"].mean(),
    }


@once
def people_by_condition(analysis: ContextAnalysis) -> Data | None:
    """One row per task and condition: ambiguity score, entropy, alpha and two kinds of F1, with intervals over items.

    F1 (macro) is that of single answers, all people taken together. "Ambiguous" is no label, so it is counted as
    wrong in the first kind, which makes fewer such answers look like better ones, and left out in the second.
    """
    people = analysis.judged_by("person", "slot")
    if people is None:
        return None
    by = [TASK, "condition"]
    how: dict[str, Any] = {"by": by, "resamples": analysis.options.resamples, "seed": analysis.seed}
    exact: dict[str, Any] = {**how, "reference": labels_of(analysis.corpus.items), "metric": "f1_macro"}
    exact["zero_division"] = None
    frames = {
        "ambiguity": ambiguity(people, **how),
        "entropy": entropy(people, base="k", opt_outs=True, **how),
        "alpha": alpha(people, level="nominal", **how),
        "f1": accuracy(people, opt_outs="wrong", **exact),
        "f1_decided": accuracy(people, **exact),
    }
    found = frames["ambiguity"].select(*by, "items", "raters", "judgments")
    for name, frame in frames.items():
        ends = [pl.col("low").alias(f"{name}_low"), pl.col("high").alias(f"{name}_high")]
        found = found.join(frame.select(*by, pl.col("estimate").alias(name), *ends), on=by, how="left")
    kinds = people.raters["kind"].cast(pl.String)
    facts = {"annotators": int((kinds == "person").sum()) or None, "seats": int((kinds == "slot").sum()) or None}
    return Data(found.sort(TASK, pl.col("condition") != STATIC, "condition"), facts)


def before_after(analysis: ContextAnalysis) -> pl.DataFrame | None:
    """The same numbers, one row for each of them."""
    found = people_by_condition(analysis)
    if found is None:
        return None
    titles = {
        "ambiguity": "ambiguity score",
        "alpha": "alpha",
        "f1": "F1, ambiguous is wrong",
        "f1_decided": "F1, decided answers",
    }
    rows = [
        found.frame.select(
            pl.format("{}: {}", TASK, pl.lit(title)).alias("what"),
            "condition",
            *(pl.col(f"{name}{end}").alias(as_) for end, as_ in (("", "estimate"), ("_low", "low"), ("_high", "high"))),
        )
        for name, title in titles.items()
    ]
    return pl.concat(rows).sort("what", maintain_order=True)


def annotators(analysis: ContextAnalysis) -> pl.DataFrame | None:
    """F1 of every single annotator by task and condition; none where seats hide who said what."""
    persons = analysis.judged_by("person")
    if persons is None:
        return None
    return accuracy(
        persons,
        by=[TASK, "condition", "rater"],
        reference=labels_of(analysis.corpus.items),
        metric="f1_macro",
        opt_outs="wrong",
        zero_division=None,
        resamples=analysis.options.resamples,
        seed=analysis.seed,
    ).sort(TASK, "condition", "estimate", descending=[False, False, True], nulls_last=True)
