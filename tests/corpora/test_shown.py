"""Texts that are marked as not to be shown are in no file that others may see, and the numbers stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vantage import Corpus, demo_corpus
from vantage.corpora.disclosure import hidden, shown
from vantage.corpora.writers import WRITERS, export
from vantage.interop import write_split
from vantage.measures import alpha
from vantage.report.card import write_card
from vantage.report.overview import corpus_report
from vantage.studies import run
from vantage.studies.recipes import load
from vantage.view import Explorer
from vantage.view import export as exported

WORDS = "Quokkas nibble umbrellas"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """The demo, with a sentence that nobody else is to see and a reason that quotes it."""
    made, first = demo_corpus(), pl.col("item") == "s01"
    items = made.items.with_columns(
        text=pl.when(first).then(pl.lit(WORDS)).otherwise("text"), show=pl.when(first).then(pl.lit("no"))
    )
    judgments = made.judgments.with_columns(rationale=pl.when(first).then(pl.lit(f"It says “{WORDS}”.")))
    return Corpus(items, made.raters, judgments, made.instruments, made.about)


def written(folder: Path) -> str:
    parts = [path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file()]
    frames = [pl.read_parquet(path).write_json() for path in folder.rglob("*.parquet")]
    return "\n".join([*parts, *frames])


def test_hidden_items_keep_their_numbers_and_lose_their_words(corpus: Corpus) -> None:
    assert hidden(corpus).to_list() == ["s01"]
    seen = shown(corpus)
    assert seen.items["text"][0] == "(not shown)"
    assert seen.items["text"][1:].to_list() == corpus.items["text"][1:].to_list()
    assert WORDS not in seen.judgments.write_json()
    assert alpha(seen, by="question", ci="none").equals(alpha(corpus, by="question", ci="none"))
    assert shown(demo_corpus()) == demo_corpus()


def test_a_column_of_another_meaning_hides_nothing(corpus: Corpus) -> None:
    names = pl.Series("show", ["no", "Friends"] * 15)
    series = Corpus(corpus.items.with_columns(names), corpus.raters, corpus.judgments, corpus.instruments)
    assert len(hidden(series)) == 0


@pytest.mark.parametrize("name", list(WRITERS))
@pytest.mark.filterwarnings("ignore")
def test_no_format_has_a_hidden_text(corpus: Corpus, tmp_path: Path, name: str) -> None:
    options: dict[str, Any] = {"question": "trust"} if "question" in WRITERS[name].options else {}
    place = tmp_path / ("out.csv" if name == "csv" else "out")
    export(corpus, name, place, **options)
    said = written(tmp_path)
    assert said
    assert WORDS not in said


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_reports_cards_splits_and_explorers_have_none(corpus: Corpus, tmp_path: Path) -> None:
    corpus_report(corpus).write(tmp_path / "report")
    write_split(corpus, tmp_path / "split", question="trust")
    write_card(corpus, tmp_path / "card.png")
    page = exported(Explorer([], lambda: corpus))
    assert "(not shown)" in page
    assert WORDS not in page
    assert WORDS not in written(tmp_path)
    assert WORDS not in json.dumps(Explorer([], lambda: corpus).items(), default=str)


def test_a_study_says_how_many_texts_are_not_shown(corpus: Corpus, tmp_path: Path) -> None:
    corpus.write(tmp_path / "corpus")
    recipe = tmp_path / "mine.yaml"
    recipe.write_text("title: Mine\nsections: [{title: S, show: [{measure: entropy, by: item}]}]\n")
    study = run(load(recipe), data=tmp_path / "corpus", out=tmp_path / "out")
    assert any("words of 1 item are not shown" in warning for warning in study.result.warnings)
    assert Corpus.read(tmp_path / "out" / "corpus").items["text"][0] == WORDS, "what is one's own is kept"
