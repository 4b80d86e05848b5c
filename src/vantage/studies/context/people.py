"""What people say, standing alone and with context: the study in one table."""

from __future__ import annotations

from typing import Any

import polars as pl

from vantage.report.recipe import Data
from vantage.studies.context.analysis import ContextAnalysis, Statements, paired
from vantage.studies.context.models import effects
from vantage.studies.context.pipeline.controls import KEPT, OUTCOME
from vantage.studies.context.tasks import TASK


def summary(analysis: ContextAnalysis) -> Data:
    """One row per task: how many statements are ambiguous, what was done about it, and what context changed."""
    rows = [_summarised(analysis, part) for part in analysis.parts.values()]
    inside = "an answer like the others" if analysis.options.ambiguous_in else "left out"
    kinds = analysis.readers.raters["kind"].cast(pl.String) if analysis.readers else pl.Series(dtype=pl.String)
    facts = {"annotators": int((kinds == "person").sum()) or None, "seats": int((kinds == "slot").sum()) or None}
    return Data(pl.DataFrame(rows, infer_schema_length=None), {"inside": inside, **facts})


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
