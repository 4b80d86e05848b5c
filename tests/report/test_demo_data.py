"""Every study and the corpus report on data that ship with Vantage: each sentence is true to its numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.report.truth import check_all, claims, findings
from vantage import Corpus, Instrument, demo_corpus
from vantage.corpora.bundled import planted_corpus
from vantage.report.overview import corpus_report
from vantage.report.parts import Result
from vantage.studies import run
from vantage.studies.stereomap.groups import groups_corpus, read_groups


def worked(name: str, **columns: Any) -> Corpus:
    """The worked examples of a bundled instrument, as one person answered them."""
    instrument = Instrument.load(name)
    items = [{"item": f"e{n}", **example.item} for n, example in enumerate(instrument.examples)]
    rows = [
        {
            "item": f"e{n}",
            "question": question,
            "rater": "author",
            "condition": example.condition,
            "value": None if isinstance(given.answer, str) else given.answer,
            "status": given.answer if isinstance(given.answer, str) else "answered",
            "rationale": given.reason,
        }
        for n, example in enumerate(instrument.examples)
        for question, given in example.answers.items()
    ]
    table = pl.DataFrame(items, infer_schema_length=None).with_columns(
        pl.Series(column, values) for column, values in columns.items()
    )
    raters = pl.DataFrame({"rater": ["author"], "kind": ["person"]})
    return Corpus(table, raters, pl.DataFrame(rows, infer_schema_length=None), instrument)


def groups() -> Corpus:
    """The bundled groups that the worked examples of stereotype content are about."""
    judged = worked("stereotype-content")
    empty = groups_corpus(read_groups(", ".join(judged.items["group"])), judged.instruments[0])
    ids = dict(zip(judged.items["item"], empty.items["item"], strict=True))
    return empty.add(judged.judgments.with_columns(pl.col("item").replace(ids)), judged.raters)


def perseval(corpus: Callable[[], Corpus], folder: Path) -> Result:
    corpus().write(folder / "data")
    return run(
        "perseval", data=folder / "data", encoder="none", methods="majority,tfidf,tfidf-users", resamples=40
    ).result


def context(folder: Path) -> Result:
    """The worked examples of sarcasm as statements, those in doubt left out, and the same as votes on them."""
    labels = ["yes", "no", "no", "yes", "no"]
    worked("sarcasm", label=labels).write(folder / "data" / "sarcasm")
    return run("context", data=folder / "data", tasks="sarcasm", items=5, methods="length", first_person=False).result


def study(name: str, corpus: Callable[[], Corpus], **options: Any) -> Callable[[Path], Result]:
    def made(folder: Path) -> Result:
        corpus().write(folder / "data")
        return run(name, data=folder / "data", **options).result

    return made


BUNDLED: dict[str, Callable[[Path], Result]] = {
    "corpus, demo": lambda _: corpus_report(demo_corpus()).result,
    "corpus, planted": lambda _: corpus_report(planted_corpus()).result,
    "wcsent, demo": study("wcsent", demo_corpus, predict=False),
    "wcsent, planted": study("wcsent", planted_corpus, predict=False),
    "perseval, demo": lambda folder: perseval(demo_corpus, folder),
    "perseval, planted": lambda folder: perseval(planted_corpus, folder),
    "appraisals, worked examples": study("appraisals", lambda: worked("appraisals"), resamples=20, topics=0, folds=2),
    "stereomap, worked examples": study("stereomap", groups, k=2, resamples=20),
    "context, worked examples": context,
}
SMALL = [name for name in BUNDLED if "worked" in name]


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED)
def test_sentences_on_bundled_data_are_true(name: str, tmp_path: Path) -> None:
    result = BUNDLED[name](tmp_path)
    check_all(result)
    assert result.sections
    if name in SMALL:
        assert claims(result) == [], "three examples of one person support no claim"
    words = " ".join([*result.methods, *(text for section in result.sections for text in section.text)])
    assert not re.search("moderately|most figures|little about", words, re.IGNORECASE)


@pytest.mark.slow
@pytest.mark.parametrize("corpus", [demo_corpus, planted_corpus])
def test_findings_and_sections_name_the_same_question(corpus: Callable[[], Corpus]) -> None:
    """One report once named different questions as the one that raters agree most about."""
    told = [one.text for one in findings(corpus_report(corpus()).result) if "agree most" in one.text]
    assert len(set(told)) <= 1
