"""The Spectrum against counts by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from vantage import Corpus, demo_corpus, read
from vantage.report.beside import CorpusAnalysis
from vantage.report.cases import apart
from vantage.report.distributions import AnswerCounts
from vantage.report.overview import overview
from vantage.report.parts import Figure
from vantage.report.spectrum import COLUMNS, divisions, spectrum


def made(answers: list[str]) -> CorpusAnalysis:
    """A corpus with one text for each string, whose characters are the answers of people."""
    rows = [
        {"item": f"t{text}", "text": f"text {text}", "rater": f"r{rater}", "value": value}
        for text, given in enumerate(answers)
        for rater, value in enumerate(given)
    ]
    return CorpusAnalysis(read(pl.DataFrame(rows)), None, 0, None)


def figure(analysis: CorpusAnalysis) -> Figure:
    [drawn] = spectrum(analysis)
    assert isinstance(drawn, Figure)
    assert drawn.draw().axes
    return drawn


def test_texts_are_counted_as_unanimous_or_strongly_divided() -> None:
    # A third that differ are not yet many; without an order it does not matter which answers differ.
    frame = divisions(made(["nnn", "nny", "nyx", "yyy", "nnnnyy", "nnnyyy"]))
    assert frame is not None
    assert frame.select("texts", "unanimous", "strongly").rows() == [(6, 2 / 6, 2 / 6)]


def test_a_quarter_of_the_scale_apart_is_strongly_divided() -> None:
    rows = [("a", 1), ("a", 2), ("b", 2), ("b", 4), ("c", 5), ("c", 5), ("d", 1), ("d", 5)]
    table = pl.DataFrame({"item": [i for i, _ in rows], "rater": ["x", "y"] * 4, "value": [v for _, v in rows]})
    frame = divisions(CorpusAnalysis(read(table), None, 0, None))
    assert frame is not None
    # One step of five is a quarter of the way from 1 to 5.
    assert frame.select("unanimous", "strongly").rows() == [(0.25, 0.75)]


def test_columns_are_sorted_and_hold_the_shares() -> None:
    drawn = figure(made(["yyn", "nnn", "nny", "yyy"]))
    shares = drawn.data.filter(answer="n").sort("column")["share"].to_list()
    assert shares == pytest.approx([1, 2 / 3, 1 / 3, 0])
    whole = drawn.data.group_by("column").agg(pl.col("share").sum())["share"]
    assert whole.to_list() == pytest.approx([1.0] * 4)
    assert [text for _, text in drawn.options["pins"]] == ["text 2", "text 0"]


def test_many_texts_share_columns_and_keep_their_means() -> None:
    rng = np.random.default_rng(0)
    answers = ["".join(rng.choice(["n", "y"], 5, p=[share, 1 - share])) for share in rng.uniform(size=1000)]
    drawn = figure(made(answers))
    assert drawn.data["column"].n_unique() == COLUMNS
    people = drawn.data.filter(answer="y")
    assert people["texts"].sum() == 1000
    mean = (people["share"] * people["texts"]).sum() / 1000
    assert mean == pytest.approx(np.mean([given.count("y") / 5 for given in answers]))


def test_models_stand_below_people_in_the_same_order() -> None:
    corpus = demo_corpus().filter(question="trust")
    mean = corpus.judgments.group_by("item", "question").agg(pl.col("value").median().round())
    said = mean.with_columns(rater=pl.lit("machine"))
    judgments = pl.concat([corpus.judgments, said], how="diagonal_relaxed").with_columns(
        pl.col("condition").fill_null(""), pl.col("sample").fill_null(0), pl.col("status").fill_null("answered")
    )
    raters = pl.concat([corpus.raters, pl.DataFrame({"rater": ["machine"], "kind": ["model"]})], how="diagonal_relaxed")
    both = Corpus(corpus.items, raters, judgments, corpus.instruments)
    data = figure(CorpusAnalysis(both, None, 0, None)).data
    assert data["who"].unique(maintain_order=True).to_list() == ["people", "machine"]
    assert data.filter(who="machine")["share"].is_in([0.0, 1.0]).all()


def test_disagreement_is_the_same_number_in_the_report_and_in_the_explorer() -> None:
    corpus = demo_corpus()
    listed = {(item, question): value for item, question, value, _ in apart(corpus).iter_rows()}
    for question in corpus.questions:
        counts = AnswerCounts.of(corpus, question)
        for item, value in zip(counts.items, counts.disagreement, strict=True):
            assert listed[item, question.id] == pytest.approx(value, abs=1e-12)


def test_it_opens_the_report() -> None:
    result = overview(demo_corpus())
    assert result.sections[0].parts[0].name == "spectrum"
    opening = "How divided the answers are: trust (0 % of the texts unanimous, 30 % strongly divided)"
    assert result.findings[0].text.startswith(opening)
