"""A corpus in which models of known skill judged statements alone and in context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from vantage import Corpus, Instrument
from vantage.report.parts import Result
from vantage.report.record import Record
from vantage.studies.base import find
from vantage.studies.context.pipeline.controls import with_controls
from vantage.studies.context.study import STUDY
from vantage.studies.execution import Context

SKILLS: Mapping[str, tuple[float, float]] = {
    "m:a": (0.6, 0.95),
    "m:b": (0.7, 0.9),
    "m:c": (0.8, 0.85),
    "m:d": (0.9, 0.7),
}
"""The share of right answers of each model, static and in context: context turns their order round."""


def judged_corpus(
    items: int = 60,
    skills: Mapping[str, tuple[float, float]] = SKILLS,
    *,
    styles: Sequence[str] = ("zero-shot",),
    runs: int = 3,
    controls: bool = True,
    people: int = 0,
    luck: float | None = None,
    seed: int = 0,
) -> Corpus:
    """The corpus, with the labels of its items."""
    rng = np.random.default_rng(seed)
    ids = [f"i{n:03}" for n in range(items)]
    gold = rng.integers(0, 2, items)
    rows: list[dict[str, Any]] = []

    def answers(rater: str, condition: str, right: float, towards: Any, samples: int) -> None:
        for sample in range(samples):
            hit = rng.random(items) < right
            value = np.where(hit, towards, 1 - towards)
            unclear = rng.random(items) < (0.1 if condition == "static" and luck is None else 0.0)
            for item, code, opted in zip(ids, value, unclear, strict=True):
                rows.append(
                    {
                        "item": item,
                        "question": "sarcasm",
                        "rater": rater,
                        "condition": condition,
                        "sample": sample,
                        "value": None if opted else float(code),
                        "status": "ambiguous" if opted else "answered",
                    }
                )

    raters: list[dict[str, Any]] = []
    for style in styles:
        for model, (alone, inside) in skills.items():
            rater = f"{model}+{style}"
            raters.append({"rater": rater, "kind": "model", "model": model, "style": style})
            answers(rater, "static", alone, gold, runs)
            answers(rater, "context", inside, gold, runs)
            if controls and style == "zero-shot":
                answers(rater, "context-opposite", luck or 0.8, 1 - gold, runs)
                answers(rater, "context-blind", alone, gold, runs)
    for number in range(people):
        raters.append({"rater": f"p{number}", "kind": "person", "model": None, "style": None})
        answers(f"p{number}", "static", luck or 0.75, gold, 1)
        answers(f"p{number}", "context", luck or 0.88, gold, 1)
    instrument = with_controls(Instrument.load("sarcasm"), ["opposite", "blind"])
    table = pl.DataFrame(
        {
            "item": ids,
            "text": [f"Statement {n}." for n in range(items)],
            "task": ["sarcasm"] * items,
            "label": ["yes" if code else "no" for code in gold],
        }
    )
    return Corpus(table, pl.DataFrame(raters), pl.DataFrame(rows), instrument)


def analysed(corpus: Corpus, **options: Any) -> Result:
    """The report on a corpus."""
    chosen = {"tasks": "sarcasm", "methods": "length", "resamples": 200, **options}
    context = Context(find("context").options(**chosen), Record("context", "Context"))
    return STUDY.analyse(corpus, context)


def table(result: Result, name: str) -> pl.DataFrame:
    """The data behind a table of a report."""
    return next(one.frame for one in result.tables if one.name == name)
