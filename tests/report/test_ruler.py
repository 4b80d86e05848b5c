from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from vantage import Corpus, demo_corpus
from vantage.report import ruler
from vantage.report.parts import Figure
from vantage.report.ruler import trait_effects, wright_maps


@pytest.fixture(scope="module")
def demo() -> Corpus:
    return demo_corpus()


def test_the_report_of_the_demo_shows_wright_maps_and_what_traits_explain(demo: Corpus) -> None:
    from vantage.report.beside import CorpusAnalysis
    from vantage.report.groups import explained
    from vantage.report.overview import rulers

    analysis = CorpusAnalysis(demo, None, 0)
    maps = rulers(analysis)
    assert maps is not None
    assert [figure.chart for figure in maps if isinstance(figure, Figure)] == ["wright"] * 3
    rows = explained(analysis)
    assert rows is None or "not_estimated" in rows.columns


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
    assert "only if the items of each group are alike on average" in figure.caption
    shown = set(figure.data.filter(~pl.col("facet").is_in(["item", "threshold"]))["name"])
    assert shown == set(parted.judgments["rater"])


def test_a_question_with_very_many_answers_has_a_sentence(demo: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ruler, "LARGEST", 10)
    question = demo.questions[0].id
    (sentence,) = wright_maps(demo, [question]) or []
    assert isinstance(sentence, str)
    assert sentence.startswith(f"There is no Wright map of {question}, which has ")


def test_a_trait_that_another_determines_has_a_reason_and_the_others_their_estimates() -> None:
    rng = np.random.default_rng(1)
    raters = pl.DataFrame({"rater": [f"r{n}" for n in range(24)], "gender": ["f", "m"] * 12})
    raters = raters.with_columns(sex=pl.col("gender").replace({"f": "female", "m": "male"}))
    cells = [(f"i{i}", f"r{n}", float(rng.integers(1, 6))) for i in range(12) for n in range(24)]
    judgments = pl.DataFrame(cells, schema=["item", "rater", "value"], orient="row")
    frame = judgments.join(raters, on="rater").with_columns(question=pl.lit("q"))
    rows = trait_effects(frame, ["gender", "sex"], "q")
    assert rows is not None
    gender, sex = (rows.filter(trait=trait).row(0, named=True) for trait in ("gender", "sex"))
    assert gender["difference"] is not None
    assert "cannot be told apart" in sex["not_estimated"]
