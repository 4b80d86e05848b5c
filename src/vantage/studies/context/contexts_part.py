"""The written contexts in the report: how many there are, what was rejected and why, and what they cost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from vantage.context.controls import condition_of
from vantage.context.dialogue import as_turns, script
from vantage.context.record import DROPPED, KEPT, OUTCOME
from vantage.corpora import Corpus
from vantage.report.parts import Column, Figure, Finding, Section, Table

_COST: Final = ("calls", "prompt_tokens", "completion_tokens")
_ANSWER: Final = re.compile(r"([a-z-]+) (\d+(?:\.\d+)?)(?:,|$)")
_LONGEST: Final = 1_200
"""Characters of an example that are shown."""


def contexts_sections(
    corpus: Corpus, steps: Mapping[str, pl.DataFrame], *, examples: int = 2
) -> tuple[list[Section], list[Finding]]:
    """The sections on generated contexts; none where there are none.

    Args:
        corpus: The items, with their conversations.
        steps: `Contexts.steps` by control, as `vantage.context.controls.attached_steps` finds them in a corpus.
        examples: How many conversations are shown of each kind.
    """
    if not steps:
        return [], []
    whole = pl.concat([frame.with_columns(pl.lit(control).alias("control")) for control, frame in steps.items()])
    by = ["task", "control"] if "task" in corpus.items.columns else ["control"]
    if "task" in corpus.items.columns:
        whole = whole.join(corpus.items.select("item", "task"), on="item", how="left", maintain_order="left")
    overview = _overview(whole, by)
    parts: list[Table | Figure] = [
        Table(
            "contexts",
            "Statements for which a context was written, by what it was written for.",
            overview,
            {
                "control": "written for",
                "share": Column("kept, share", percent=True),
                "first_try": Column("kept at first try", percent=True),
                "differs": Column("labelled otherwise by its writer", percent=True),
                "prompt_tokens": "prompt tokens",
                "completion_tokens": "reply tokens",
            },
            keys=by,
            notes=[
                "The writer is asked for the label of its own context without being told what it was written for; "
                "contexts that it labels otherwise are counted and kept."
            ],
        ),
        Table(
            "contexts-dropped",
            "Why statements have no context: the reason for which the last attempt was rejected.",
            _dropped(whole, by),
            {"control": "written for"},
            keys=[*by, "reason"],
        ),
        Table(
            "contexts-rejected",
            "Rejected attempts by step; an attempt that is rejected begins anew, up to the number allowed.",
            _rejected(whole, by),
            {"control": "written for"},
            keys=[*by, "step", "reason"],
        ),
    ]
    graded = _graded(whole, by)
    if len(graded):
        parts.append(
            Table(
                "contexts-verified",
                "What the verifier answered, from 1 (strongly disagree) to 5 (strongly agree): means of attempts that "
                "passed and of those that did not.",
                graded,
                {"control": "written for", "mean": Column(digits=2)},
                keys=[*by, "question", "status"],
            )
        )
    shown = _examples(corpus, whole, by, examples)
    if len(shown):
        parts.append(
            Table(
                "contexts-examples",
                "Some of the contexts, the first of each kind.",
                shown,
                {"control": "written for"},
                keys=[*by, "item"],
            )
        )
    text = [
        "A model wrote a situation for each statement, then a conversation without it; the statement was put into it "
        "unchanged, and a verifier was asked about label, flow and repetition. What failed was written anew a bounded "
        "number of times, then dropped.",
        _roles(whole),
    ]
    return [Section("The contexts", text, parts)], _findings(overview)


def _overview(steps: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    outcome = pl.col("step") == OUTCOME
    kept = outcome & (pl.col("status") == KEPT)
    # What was written for no label cannot be labelled otherwise.
    own = (pl.col("step") == "own-label") & (pl.col("control") != "blind")
    found = steps.group_by(by, maintain_order=True).agg(
        statements=outcome.sum(),
        kept=kept.sum(),
        first_try=(kept & (pl.col("attempt") <= 1)).sum(),
        labelled=own.sum(),
        differs=(own & (pl.col("status") == "differs")).sum(),
        **{name: pl.col(name).sum() for name in _COST},
    )
    return found.with_columns(
        share=_share("kept", "statements"), first_try=_share("first_try", "kept"), differs=_share("differs", "labelled")
    ).select(*by, "statements", "kept", "share", "first_try", "differs", *_COST)


def _share(part: str, of: str) -> pl.Expr:
    """A share; of nothing it is not zero but null."""
    return pl.when(pl.col(of) > 0).then(pl.col(part) / pl.col(of))


def _dropped(steps: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    lost = steps.filter(pl.col("step") == OUTCOME, pl.col("status") == DROPPED)
    return (
        lost.group_by(*by, "reason", maintain_order=True)
        .len("statements")
        .sort(*by, "statements", "reason", descending=[False] * len(by) + [True, False])
    )


def _rejected(steps: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    lost = steps.filter(pl.col("status") == "rejected")
    return (
        lost.group_by(*by, "step", "reason", maintain_order=True)
        .len("attempts")
        .sort(*by, "step", "attempts", "reason", descending=[False] * (len(by) + 1) + [True, False])
    )


def _graded(steps: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for row in steps.filter(pl.col("step") == "verification").iter_rows(named=True):
        named = {name: row[name] for name in (*by, "status")}
        rows += [{**named, "question": q, "value": float(value)} for q, value in _ANSWER.findall(row["text"] or "")]
    if not rows:
        return pl.DataFrame()
    graded = pl.DataFrame(rows).group_by(*by, "question", "status", maintain_order=True)
    return graded.agg(mean=pl.col("value").mean(), attempts=pl.len()).sort(*by, "question", "status")


def _examples(corpus: Corpus, steps: pl.DataFrame, by: list[str], count: int) -> pl.DataFrame:
    """The first contexts of each kind, as they stand in the corpus."""
    kept = steps.filter(pl.col("step") == OUTCOME, pl.col("status") == KEPT)
    first = kept.group_by(by, maintain_order=True).head(count)
    rows = []
    for row in first.iter_rows(named=True):
        name = _column(corpus, row["control"])
        if name is None:
            continue
        item = corpus.items.filter(pl.col("item") == row["item"]).row(0, named=True)
        told = script(as_turns(item[name])).replace("\n", " | ")
        told = told if len(told) <= _LONGEST else f"{told[:_LONGEST]} …"
        rows.append(
            {**{n: row[n] for n in by}, "item": row["item"], "statement": item.get("text"), "conversation": told}
        )
    return pl.DataFrame(rows)


def _column(corpus: Corpus, control: str) -> str | None:
    """The column in which the conversations of a control stand."""
    for instrument in corpus.instruments:
        for field in instrument.shown(condition_of(control)):  # type: ignore[arg-type]
            if field.kind == "conversation" and field.name in corpus.items.columns:
                return field.name
    return None


def _roles(steps: pl.DataFrame) -> str:
    """Who wrote and who checked."""

    def named(step: str) -> str:
        models = steps.filter(pl.col("step") == step)["model"].drop_nulls().unique(maintain_order=True).to_list()
        return ", ".join(models) or "nobody"

    return f"Written by {named('conversation')}, checked by {named('verification')}."


def _findings(overview: pl.DataFrame) -> list[Finding]:
    rows = overview.filter(pl.col("control") == "label")
    return [
        Finding(
            "{task}{kept} of {statements} statements got a context that passed all checks, for {calls} calls.",
            {
                "task": f"{row['task']}: " if "task" in row else "",
                **{name: row[name] for name in ("kept", "statements", "calls")},
            },
        )
        for row in rows.iter_rows(named=True)
    ]
