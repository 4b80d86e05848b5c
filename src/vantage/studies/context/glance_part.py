"""The first screen of the report: which statements are ambiguous, and does context settle them?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from vantage.context.controls import CONTEXT, attached_steps
from vantage.context.simulation import STATIC
from vantage.corpora import Corpus
from vantage.report.parts import Column, Finding, Section, Table
from vantage.studies.context.detecting import Detection
from vantage.studies.context.model_scores import ALL
from vantage.studies.context.tasks import TASK

F1: Final = "models-f1"
"""The table of the section on models that has their scores."""
EXAMPLES: Final = 2
"""How many ambiguous statements are quoted at the top."""
_QUOTED: Final = 90


def glance(found: Sequence[Detection], corpus: Corpus, judged: Sequence[Section] = ()) -> tuple[Section, list[Finding]]:
    """One row per task, and the answer to the study's question in one or two sentences.

    Args:
        found: What was found about the statements of each task.
        corpus: Statements, contexts and judgments.
        judged: The sections on models, whose scores are repeated here.
    """
    scores = next((part.frame for s in judged for part in s.parts if isinstance(part, Table) and part.name == F1), None)
    rows = [_row(one, corpus, scores) for one in found]
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    table = Table(
        "glance",
        "The study in one table. Ambiguous: to people, standing alone. Doubt: the share of people's answers that are "
        "not the most frequent option, on statements that were judged both ways. F1: mean of the models' macro F1 on "
        "statements with a context.",
        frame,
        {
            "ambiguous": "ambiguous to people",
            "flagged": "flagged by the selecting method",
            "contexts": "contexts kept",
            "doubt_static": Column("doubt, alone", digits=2),
            "doubt_context": Column("doubt, with context", digits=2),
            "f1_static": Column("models' F1, alone", digits=2),
            "f1_context": Column("models' F1, with context", digits=2),
        },
        keys=(TASK,),
    )
    quotes = [sentence for one in found if (sentence := _quoted(one))]
    return Section("At a glance", quotes, [table]), [_answer(frame)]


def _row(one: Detection, corpus: Corpus, scores: pl.DataFrame | None) -> dict[str, Any]:
    target = one.judging.target
    marked = one.votes.filter(pl.col(target.column) >= target.mark - 1e-9)
    both = one.votes.join(one.after.select("item", pl.col("doubt").alias("after")), on="item")
    part = corpus.filter(pl.col(TASK) == one.task.name)
    steps = attached_steps(part).get("label")
    static, context = _models(scores, one.question.id)
    return {
        TASK: one.task.name,
        "statements": len(one.items),
        "ambiguous": len(marked) if len(one.votes) else None,
        "flagged": len(one.flagged()) if one.methods else None,
        "contexts": None if steps is None else steps.filter(step="outcome", status="kept")["item"].n_unique(),
        "doubt_static": both["doubt"].mean() if len(both) else None,
        "doubt_context": both["after"].mean() if len(both) else None,
        "f1_static": static,
        "f1_context": context,
    }


def _models(scores: pl.DataFrame | None, question: str) -> tuple[float | None, float | None]:
    """Mean F1 of the models, alone and with context, as the section on models gives it for all items."""
    if scores is None or CONTEXT not in scores.columns:
        return None, None
    both = scores.filter((pl.col("task") == question) & (pl.col("part") == ALL)).drop_nulls([STATIC, CONTEXT])
    if both.is_empty():
        return None, None
    alone, with_context = both.select(pl.col(STATIC).mean(), pl.col(CONTEXT).mean()).row(0)
    return alone, with_context


def _answer(frame: pl.DataFrame) -> Finding:
    """Whether context settles what is ambiguous, as far as anybody was asked."""
    people, models = frame.drop_nulls("doubt_context"), frame.drop_nulls("f1_context")
    if len(people):
        numbers = {"static": people["doubt_static"].mean(), "context": people["doubt_context"].mean()}
        settled = people["doubt_context"].mean() < people["doubt_static"].mean()  # type: ignore[operator]
        verb = "lowers" if settled else "does not lower"
        return Finding(f"Context {verb} people's doubt: {{static:.2f}} alone, {{context:.2f}} with context.", numbers)
    if len(models):
        numbers = {"static": models["f1_static"].mean(), "context": models["f1_context"].mean()}
        return Finding(
            "Whether context settles anything for people is not known, since nobody judged with context. The models' "
            "F1 goes from {static:.2f} to {context:.2f}; compare it with the contexts that were written for no label "
            "or for the opposite one before you believe that it is understanding.",
            numbers,
        )
    return Finding(
        "Whether context settles them is not answered here: nobody judged with context, and no contexts were written "
        "and judged (name --generator and --model, or people's answers with --people)."
    )


def _quoted(one: Detection) -> str:
    """Some statements about which people are most divided."""
    top = one.votes.sort("doubt", "item", descending=[True, False]).filter(pl.col("doubt") > 0).head(EXAMPLES)
    texts = dict(one.items.select("item", "text").iter_rows())
    quotes = [texts[item] for item in top["item"]]
    short = [text if len(text) <= _QUOTED else f"{text[:_QUOTED].rstrip()}…" for text in quotes]
    return f"Most divided, {one.task.title}: " + " · ".join(f"“{text}”" for text in short) if short else ""


_SCHEMA: Final[dict[str, Any]] = {
    TASK: pl.String,
    "statements": pl.Int64,
    "ambiguous": pl.Int64,
    "flagged": pl.Int64,
    "contexts": pl.Int64,
    **dict.fromkeys(("doubt_static", "doubt_context", "f1_static", "f1_context"), pl.Float64),
}
