"""The written contexts: how many there are, what was rejected and why, some of them, and what people say of them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import About, Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.resampling import Resampling, difference_with_interval, named
from vantage.report.parts import Table, dialogue
from vantage.report.recipe import Data, there
from vantage.studies.context.analysis import ContextAnalysis
from vantage.studies.context.pipeline import controls
from vantage.studies.context.pipeline.dialogue import CONVERSATION, read_turns
from vantage.studies.context.pipeline.generation import QUALITY, label_in_words
from vantage.studies.context.tasks import LABEL, TASK, TASKS, labels_of, question_of
from vantage.studies.execution import blinded, taken_back

BY: Final = (TASK, "control")
SERVED: Final = "--study flow:context-check"
PASSED: Final = "context_kept"
"""The item column that says whether a context passed the verifier; people do not see it."""


@lru_cache(maxsize=1)
def _steps(analysis: ContextAnalysis) -> pl.DataFrame:
    """All steps, with the task and what contexts were written for."""
    whole = [frame.with_columns(pl.lit(control).alias("control")) for control, frame in analysis.steps.items()]
    tasks = analysis.corpus.items.select("item", TASK)
    return pl.concat(there(whole or None)).join(tasks, on="item", maintain_order="left")


def written(analysis: ContextAnalysis) -> Data:
    """How many contexts were kept, by task and by what they were written for, and what they took."""
    steps, outcome = _steps(analysis), pl.col("step") == controls.OUTCOME
    kept = outcome & (pl.col("status") == controls.KEPT)
    counts = steps.group_by(BY, maintain_order=True).agg(
        statements=outcome.sum(),
        kept=kept.sum(),
        first_try=(kept & (pl.col("attempt") <= 1)).sum(),
        **{name: pl.col(name).sum() for name in controls.COST},
    )
    frame = counts.with_columns(
        (pl.col("kept") / pl.col("statements")).alias("share"),
        # A share of nothing is not zero but null.
        pl.when(pl.col("kept") > 0).then(pl.col("first_try") / pl.col("kept")).alias("first_try"),
        pl.when(pl.col("control") == "label").then("kept").alias("kept_for_label"),
    )
    steps_of = {"writers": "conversation", "checkers": "verification"}
    models = {who: steps.filter(step=step)["model"].drop_nulls() for who, step in steps_of.items()}
    return Data(frame, {who: ", ".join(some.unique(maintain_order=True)) or "nobody" for who, some in models.items()})


def rejected(analysis: ContextAnalysis) -> pl.DataFrame:
    """Rejected attempts by step and reason, and the last reasons for which statements were dropped."""
    steps = _steps(analysis)
    counts = [
        steps.filter(status=status).group_by(*BY, "step", "reason").len(name)
        for status, name in (("rejected", "attempts"), (controls.DROPPED, "statements"))
    ]
    dropped = pl.col("step").replace(controls.OUTCOME, "statement dropped")
    frame = pl.concat(counts, how="diagonal").with_columns(dropped)
    order = [*BY, "step", pl.coalesce("attempts", "statements"), "reason"]
    return frame.sort(order, descending=[False] * 3 + [True, False])


def examples(analysis: ContextAnalysis) -> list[Table]:
    """Kept contexts as conversations, of as many tasks as there are: three for the label, one of each control."""
    items = {row["item"]: row for row in analysis.corpus.items.iter_rows(named=True)}
    kept = _steps(analysis).filter(step=controls.OUTCOME, status=controls.KEPT)
    by_turns = kept.with_columns(pl.int_range(pl.len()).over(BY).alias("turn")).sort("turn", maintain_order=True)
    shown = []
    for control in kept["control"].unique(maintain_order=True):
        some = by_turns.filter(control=control).head(3 if control == "label" else 1)
        for number, (task, name) in enumerate(some.select(TASK, "item").iter_rows(), 1):
            item, instrument = items[name], Instrument.load(TASKS[task].instrument)
            column = controls.column_of(controls.context_fields(instrument)[1].name, control)
            kind, label = controls.KINDS[control], item[LABEL]
            caption = f"A conversation {kind}, with the statement that was judged (its label: {label})."
            turns = [(turn["speaker"], turn["text"]) for turn in item[column]]
            shown.append(dialogue(f"context-{control}-{number}", caption, turns, item["text"]))
    return shown


def contexts_to_check(corpus: Corpus, each: int, seed: int = 0) -> Corpus:
    """Up to `each` contexts that the verifier passed and as many that it rejected, under ids that hide which.

    They were written for the label, and a statement has at most one of each kind.
    """
    steps, keys = controls.attached_steps(corpus).get("label"), ["item", "attempt"]
    drawn: list[pl.DataFrame] = []
    if steps is not None:
        texts = steps.filter(step="insertion", status="written").select(*keys, "text")
        passed = steps.filter(step="verification").select(*keys, (pl.col("status") == "passed").alias(PASSED))
        whole = texts.join(passed, on=keys, maintain_order="left")
        order = np.random.default_rng(seed).permutation(len(whole))
        shuffled = whole[order].unique(["item", PASSED], keep="first", maintain_order=True)
        drawn = [part.head(each) for _, part in shuffled.group_by(PASSED)]
    if len(drawn) < 2:
        raise InputError("there are no kept and rejected contexts to be checked", remedy="write contexts first")
    known = corpus.items.select("item", TASK, statement="text").join(labels_of(corpus.items), on="item")
    rows: list[dict[str, Any]] = []
    for row in pl.concat(drawn).join(known, on="item", maintain_order="left").iter_rows(named=True):
        label = label_in_words(question_of(TASKS[row[TASK]]), row["value"])
        shown = {"statement": row["statement"], "label": label, "conversation": read_turns(row["text"])}
        rows.append({**shown, "of": row["item"], "attempt": row["attempt"], PASSED: row[PASSED]})
    items = pl.DataFrame(rows, schema_overrides={"conversation": CONVERSATION})
    about = About(name="context-check", title="Contexts to be checked")
    return blinded(items, QUALITY, about, seed, ["of", "attempt"])


def checked(analysis: ContextAnalysis) -> pl.DataFrame | None:
    """What people answered about kept and about rejected contexts, and the difference with its interval over them."""
    if not analysis.options.checked:
        return None
    theirs = taken_back(analysis.options.checked, PASSED, SERVED)
    answers = theirs.judgments.drop_nulls("value").join(theirs.items.select("item", PASSED), on="item")
    how = Resampling(resamples=analysis.options.resamples, seed=analysis.seed)
    rows = []
    for (question,), part in answers.group_by("question", maintain_order=True):
        kept = part[PASSED].cast(pl.Float64).to_numpy()
        sides = {"kept": part.filter(pl.col(PASSED)), "rejected": part.filter(~pl.col(PASSED))}
        means = {name: side["value"].mean() for name, side in sides.items()}
        low, high = theirs.question(str(question)).scale.ends
        limits, values = (low - high, high - low), part["value"].to_numpy()
        apart = named("difference", difference_with_interval(part["item"], values, kept, how, limits))
        rows.append({"question": question, **means, **apart, "contexts": part["item"].n_unique(), "answers": len(part)})
    return pl.DataFrame(rows, infer_schema_length=None)
