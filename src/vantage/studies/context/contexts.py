"""The written contexts: how many there are, what was rejected and why, what they cost, and some of them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import polars as pl

from vantage.report.parts import Dialogue
from vantage.report.recipe import Data, there
from vantage.studies.context.analysis import ContextAnalysis
from vantage.studies.context.pipeline.controls import COST, DROPPED, KEPT, KINDS, OUTCOME, column_of, context_fields
from vantage.studies.context.pipeline.dialogue import as_turns
from vantage.studies.context.tasks import LABEL, TASK

BY: Final = (TASK, "control")
_ANSWER: Final = re.compile(r"([a-z-]+) (\d+(?:\.\d+)?)(?:,|$)")


@lru_cache(maxsize=1)
def _steps(analysis: ContextAnalysis) -> pl.DataFrame:
    """All steps, with the task and what contexts were written for."""
    whole = [frame.with_columns(pl.lit(control).alias("control")) for control, frame in analysis.steps.items()]
    return pl.concat(there(whole or None)).join(
        analysis.corpus.items.select("item", TASK), on="item", maintain_order="left"
    )


def written(analysis: ContextAnalysis) -> Data:
    """How many contexts were kept, by task and by what they were written for, and what they took."""
    steps = _steps(analysis)
    outcome = pl.col("step") == OUTCOME
    kept = outcome & (pl.col("status") == KEPT)
    # What was written for no label cannot be labelled otherwise.
    own = (pl.col("step") == "own-label") & (pl.col("control") != "blind")
    counts = steps.group_by(BY, maintain_order=True).agg(
        statements=outcome.sum(),
        kept=kept.sum(),
        first_try=(kept & (pl.col("attempt") <= 1)).sum(),
        labelled=own.sum(),
        differs=(own & (pl.col("status") == "differs")).sum(),
        **{name: pl.col(name).sum() for name in COST},
    )
    shares = {"share": ("kept", "statements"), "first_try": ("first_try", "kept"), "differs": ("differs", "labelled")}
    frame = counts.with_columns(
        # A share of nothing is not zero but null.
        *(pl.when(pl.col(of) > 0).then(pl.col(part) / pl.col(of)).alias(name) for name, (part, of) in shares.items()),
        pl.when(pl.col("control") == "label").then("kept").alias("kept_for_label"),
    ).drop("labelled")

    def named(step: str) -> str:
        return ", ".join(steps.filter(step=step)["model"].drop_nulls().unique(maintain_order=True)) or "nobody"

    return Data(frame, {"writers": named("conversation"), "checkers": named("verification")})


def rejected(analysis: ContextAnalysis) -> pl.DataFrame:
    """Rejected attempts by step and reason, and the last reasons for which statements were dropped."""
    steps = _steps(analysis)
    counts = [
        steps.filter(status=status).group_by(*BY, "step", "reason").len(name)
        for status, name in (("rejected", "attempts"), (DROPPED, "statements"))
    ]
    frame = pl.concat(counts, how="diagonal").with_columns(pl.col("step").replace(OUTCOME, "statement dropped"))
    return frame.sort(
        *BY, "step", pl.coalesce("attempts", "statements"), "reason", descending=[False] * 3 + [True, False]
    )


def verified(analysis: ContextAnalysis) -> pl.DataFrame | None:
    """What the verifier answered: means of attempts that passed and of those that did not."""
    steps = _steps(analysis)
    rows: list[dict[str, Any]] = []
    for row in steps.filter(step="verification").iter_rows(named=True):
        named = {name: row[name] for name in (*BY, "status")}
        rows += [{**named, "question": q, "value": float(value)} for q, value in _ANSWER.findall(row["text"] or "")]
    if not rows:
        return None
    graded = pl.DataFrame(rows).group_by(*BY, "question", "status")
    return graded.agg(mean=pl.col("value").mean(), attempts=pl.len()).sort(*BY, "question", "status")


def examples(analysis: ContextAnalysis) -> list[Dialogue]:
    """The first kept contexts of each task as conversations: two for the label, one of each control."""
    steps = _steps(analysis)
    items = {row["item"]: row for row in analysis.corpus.items.iter_rows(named=True)}
    shown = []
    for (task, control), kept in steps.filter(step=OUTCOME, status=KEPT).group_by(BY, maintain_order=True):
        part = next(one for one in analysis.parts.values() if one.task.name == task)
        instrument = next(one for one in part.corpus.instruments if one.id == part.task.instrument)
        column = column_of(context_fields(instrument)[1].name, control)
        for number, name in enumerate(kept["item"].head(2 if control == "label" else 1), 1):
            item = items[name]
            caption = f"A conversation {KINDS[control]}, with the statement that was judged (its label: {item[LABEL]})."
            turns = [(turn.speaker, turn.text) for turn in as_turns(item[column])]
            shown.append(Dialogue(f"context-{task}-{control}-{number}", caption, turns, item["text"]))
    return shown
