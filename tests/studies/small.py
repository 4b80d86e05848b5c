"""A small study for the tests: recorded answers about the sentences of the demo corpus."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from vantage import Corpus, demo_corpus
from vantage.measures import alpha
from vantage.report import Column, Finding, Result, Section, Table
from vantage.studies import Context, Study, option


@dataclass(frozen=True)
class Options:
    level: Literal["ordinal", "nominal"] = option("ordinal", "level of measurement")
    items: int = option(4, "how many sentences")
    loud: bool = option(False, "whether to say more")
    words: tuple[str, ...] = option(("a",), "some words")


def collect(context: Context[Options]) -> Corpus:
    corpus = demo_corpus()
    part = corpus.filter(item=corpus.items["item"][: context.options.items].to_list())
    return context.rate(part, context.raters("zero-shot"), "warmth-competence", questions=["trust"])


def analyse(corpus: Corpus, context: Context[Options]) -> Result:
    found = alpha(corpus, by="question", level=context.options.level, ci="none")
    table = Table("alpha", "Alpha.", found, {"estimate": Column("alpha")})
    return Result([Section("Agreement", ["Text."], [table])], [Finding(f"There are {len(found)} rows.")])


STUDY = Study("small", "A small study", ("Does it run?",), Options, collect, analyse)


def recorded(path: Path, reply: str = "Answer: 2") -> str:
    """A model that gives one reply to everything."""
    items = demo_corpus().items["item"]
    pl.DataFrame({"item": items, "question": "trust", "reply": reply}).write_csv(path)
    return f"recorded:{path}"
