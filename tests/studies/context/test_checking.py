"""People check kept and rejected contexts without knowing which, and their answers come back as one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.studies.context.pipeline.planted import planted_corpus
from tests.studies.context.pipeline.script_writer import ScriptWriter
from vantage import Corpus
from vantage.collect.study import AnnotationStudy
from vantage.context import attached, generate
from vantage.errors import InputError
from vantage.report.record import Record
from vantage.studies.base import find
from vantage.studies.context.analysis import ContextAnalysis
from vantage.studies.context.contexts import PASSED, SERVED, checked, contexts_to_check
from vantage.studies.execution import Context, leave


def written(statements: int = 8) -> Corpus:
    """A corpus of the study in which the first contexts of half of the statements were rejected."""
    corpus = planted_corpus(["clear"] * statements)
    corpus = corpus._with(items=corpus.items.with_columns(pl.lit("sarcasm").alias("task")))
    parts = [corpus.filter(pl.col("item").is_in(corpus.items["item"][n::2].implode())) for n in (0, 1)]
    both = [
        generate(part, "sarcasm", ScriptWriter(), ScriptWriter("checker", grades=grades), attempts=1)
        for part, grades in zip(parts, ("5", "1"), strict=True)
    ]
    steps = pl.concat([one.steps for one in both])
    joined = type(both[0])(both[0].corpus, steps, "label")
    return attached(corpus, corpus.instruments[0], joined)[0]


def left(items: Corpus, folder: Path | None) -> Context[Any]:
    study = Context(find("context").options(tasks="sarcasm"), Record("context", "Context"), folder=folder)
    leave(study, "check", items, "contexts", SERVED, "run it again")
    return study


def test_both_kinds_are_drawn_and_nothing_shown_tells_them_apart() -> None:
    items = contexts_to_check(written(), 3).items
    assert sorted(items[PASSED].to_list()) == [False] * 3 + [True] * 3
    assert items["item"].str.starts_with("t-").all()
    assert min(items["conversation"].list.len()) > 2
    shown = {"statement", "label", "conversation"}
    assert shown <= set(items.columns)
    again = contexts_to_check(written(), 3).items
    assert again["item"].to_list() == items["item"].to_list()


def test_the_corpus_is_served_by_the_bundled_flow_and_read_back(tmp_path: Path) -> None:
    study = left(contexts_to_check(written(), 4), tmp_path)
    assert "8 contexts are ready" in study.warnings[0]
    corpus = Corpus.read(tmp_path / "check")
    assert AnnotationStudy.load("flow:context-check", folder=tmp_path / "check").instrument.id == "context-quality"
    rows = [
        {"item": item, "question": question, "rater": rater, "value": float(4 if kept else 2)}
        for item, kept in corpus.items.select("item", PASSED).iter_rows()
        for question in ("label-alignment", "natural-flow")
        for rater in ("ann", "bob")
    ]
    answered = corpus.add(pl.DataFrame(rows), pl.DataFrame({"rater": ["ann", "bob"], "kind": ["person"] * 2}), [])
    answered.write(tmp_path / "exported")
    options = find("context").options(tasks="sarcasm", checked=str(tmp_path / "exported"), resamples=20)
    table = checked(ContextAnalysis(written(), options))
    assert table is not None
    row = table.filter(question="natural-flow").row(0, named=True)
    assert (row["kept"], row["rejected"], row["difference"], row["contexts"]) == (4.0, 2.0, 2.0, 8)


def test_a_corpus_without_contexts_or_checks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no kept and rejected contexts"):
        contexts_to_check(planted_corpus(["clear"]), 3)
    with pytest.raises(InputError, match="need a folder"):
        left(contexts_to_check(written(), 3), None)
    left(contexts_to_check(written(), 3), tmp_path)
    with pytest.raises(InputError, match="no judgments of texts with their 'context_kept'"):
        checked(ContextAnalysis(written(), find("context").options(tasks="sarcasm", checked=str(tmp_path / "check"))))
