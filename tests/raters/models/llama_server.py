"""A real llama.cpp server with SmolLM2 on a port of this machine, as anybody would start one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl
import pytest

from tests.often import times
from vantage import ChatRater, Instrument, demo_corpus
from vantage.raters.models.embedded import weights
from vantage.raters.personas import Persona
from vantage.runs import RunOptions, RunPlan, RunStore, run

INSTRUMENTS = ("warmth-competence", "irony", "sarcasm-rating", "sentiment", "appraisals")
STYLES = (
    *("zero-shot", "few-shot:1", "reasoning", "two-step", "reasoning+two-step", "scoring", "reasoning+scoring"),
    "sampling:2",
    *("together", "json", "json+free", "coarse", "coarse+scoring", "persona", "selective-persona"),
)


def pairs(every: int) -> list[Any]:
    """Every style with one in `every` of the instruments, in turn; before a release with all of them.

    Only one instrument has bands.
    """
    return [
        pytest.param(instrument, style, marks=pytest.mark.slow)
        for place, instrument in enumerate(INSTRUMENTS)
        for turn, style in enumerate(STYLES)
        if ("coarse" in style and instrument == "warmth-competence")
        or ("coarse" not in style and (place + turn) % times(1, every) == 0)
    ]


@contextmanager
def llama_server(window: int = 4096) -> Iterator[str]:
    """The base URL of the server while it runs."""
    import xllamacpp  # type: ignore[import-untyped]

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.n_ctx, params.n_parallel = 2 * window, 2
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.ui = params.warmup = False
    params.verbosity = -1
    server: Any = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server


def check_style(url: str, instrument: str, style: str) -> None:
    """Puts the first question of an instrument about one item to SmolLM2: no call fails, and no answer is invented."""
    known = Instrument.load(instrument)
    question = known.questions[0].id
    items = demo_corpus().items.head(1)
    for part in known.shown(""):
        if part.name not in items.columns:
            items = items.with_columns(items["text"].alias(part.name))
    corpus = demo_corpus().filter(item=items["item"].to_list())._with(items=items)
    persona = Persona("baker", age=40, occupation="baker") if "persona" in style else None
    settings = {"base_url": url, "timeout": 300}
    rater = ChatRater("openai:smollm2", style, persona, max_tokens=6, settings=settings)
    with RunStore.temporary() as store:
        plan = RunPlan.of(corpus, rater, known, questions=[question])
        outcome = run(plan, store, RunOptions(concurrency=2))
    assert (outcome.tally.failed, outcome.complete) == (0, True), outcome.tally.fault
    judged = outcome.judged[0].judgments.filter(pl.col("question").is_in([question, f"{question}-coarse"]))
    # A persona to whom the item is not relevant gives no answer.
    assert len(judged) == 1 or style == "selective-persona"
    for row in judged.iter_rows(named=True):
        if row["mass"] is not None and row["mass"] < 0.5:
            assert (row["status"], row["value"]) == ("failed", None)
        if row["rule"] == "cut":
            assert row["value"] is None
