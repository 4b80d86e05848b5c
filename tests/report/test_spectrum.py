"""The Spectrum against counts by hand."""

from __future__ import annotations

import struct
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.report.eight import EIGHT
from vantage import Corpus, demo_corpus, read
from vantage.errors import InputError
from vantage.report.beside import CorpusAnalysis
from vantage.report.card import write_card
from vantage.report.cases import disagreements
from vantage.report.distributions import counted_answers
from vantage.report.overview import overview
from vantage.report.parts import Figure
from vantage.report.spectrum import COLUMNS, Spectrum, divisions, spectrum
from vantage.view.explorer import Explorer


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


@pytest.mark.parametrize("name", ["nominal", "ordinal", "slider"])
def test_disagreement_is_that_of_two_people(name: str) -> None:
    corpus = EIGHT[name]()
    [question, *_] = corpus.questions
    reach = np.ptp(question.scale.ends) if question.scale.ordered else 1.0
    listed = dict(disagreements(corpus).filter(question=question.id).select("item", "disagreement").iter_rows())
    for (item,), part in corpus.judgments.filter(question=question.id).group_by("item"):
        pairs = list(combinations(part["value"], 2))
        far = [abs(a - b) / reach if question.scale.ordered else float(a != b) for a, b in pairs]
        assert listed[str(item)] == pytest.approx(np.mean(far))
    shown = Explorer([], lambda: corpus).items(question.id, size=500)["rows"]
    assert {row["item"]: pytest.approx(row["disagreement"]) for row in shown} == listed


def test_it_opens_the_report() -> None:
    result = overview(demo_corpus())
    assert result.sections[0].parts[0].name == "spectrum"
    opening = "Raters are strongly divided on 30 % of texts about trust (0 % unanimous)"
    assert result.findings[0].text.startswith(opening)


def test_a_card_has_the_size_of_a_post_and_names_no_hidden_text(tmp_path: Path) -> None:
    corpus = made(["yyn", "nnn", "nny", "yyy"]).corpus
    said = write_card(corpus, tmp_path / "card.png")
    assert said == "50 % of 4 texts are unanimous; 0 % divide people strongly."
    head = (tmp_path / "card.png").read_bytes()[:24]
    assert (head[1:4], *struct.unpack(">II", head[16:24])) == (b"PNG", 1200, 630)
    hidden = Corpus(
        corpus.items.with_columns(hidden=pl.col("item") == "t2"), corpus.raters, corpus.judgments, corpus.instruments
    )
    [drawn] = spectrum(CorpusAnalysis(hidden, None, 0, None))
    assert isinstance(drawn, Figure)
    assert [text for _, text in drawn.options["pins"]] == ["t2", "text 0"]
    with pytest.raises(InputError, match="'warmth' cannot be drawn"):
        write_card(corpus, tmp_path / "card.png", "warmth")


def test_many_texts_with_the_same_mean_stay_mixed() -> None:
    rng = np.random.default_rng(0)
    answers = rng.integers(1, 6, (COLUMNS + 100, 6))
    rows = [(f"i{i:03}", f"r{r}", value) for (i, r), value in np.ndenumerate(answers)]
    corpus = read(pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row"))
    _, counts = next(iter(counted_answers(corpus)))
    shown = Spectrum.of(counts).order
    assert shown.tolist() == np.argsort(answers.sum(axis=1), kind="stable").tolist()
