from __future__ import annotations

import polars as pl
import pytest

from vantage import Corpus, demo_corpus
from vantage.report import ruler
from vantage.report.parts import Figure
from vantage.report.ruler import wright_maps


@pytest.fixture(scope="module")
def demo() -> Corpus:
    return demo_corpus()


def test_the_report_of_the_demo_shows_wright_maps(demo: Corpus) -> None:
    from vantage.report.beside import CorpusAnalysis
    from vantage.report.overview import rulers

    analysis = CorpusAnalysis(demo, None, 0)
    maps = rulers(analysis)
    assert maps is not None
    assert [figure.chart for figure in maps if isinstance(figure, Figure)] == ["wright"] * 3


def in_two_groups(corpus: Corpus, question: str) -> tuple[Corpus, pl.DataFrame]:
    """A corpus in which a third of the raters share items with each other alone, and the judgments of the others."""
    judgments = corpus.judgments.filter(question=question)
    raters, items = judgments["rater"].unique().sort(), judgments["item"].unique().sort()
    few, some = raters[: len(raters) // 3].implode(), items[: len(items) // 3].implode()
    apart = pl.col("rater").is_in(few) == pl.col("item").is_in(some)
    return corpus.filter(apart, question=question), judgments.filter(apart, ~pl.col("rater").is_in(few))


def test_groups_of_raters_without_common_items_are_named_as_such(demo: Corpus) -> None:
    question = demo.questions[0].id
    parted, _ = in_two_groups(demo, question)
    (figure,) = wright_maps(parted, [question]) or []
    assert isinstance(figure, Figure)
    assert "Raters fall into 2 groups that share no items" in figure.caption
    assert "only if their items are alike on average" in figure.caption
    shown = set(figure.data.filter(~pl.col("facet").is_in(["item", "threshold"]))["name"])
    assert shown == set(parted.judgments["rater"])


def test_a_question_with_very_many_answers_has_a_sentence(demo: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ruler, "LARGEST", 10)
    question = demo.questions[0].id
    (sentence,) = wright_maps(demo, [question]) or []
    assert isinstance(sentence, str)
    assert sentence.startswith(f"There is no Wright map of {question}, which has ")
