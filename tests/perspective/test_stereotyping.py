import numpy as np
import polars as pl
import pytest

from tests.perspective.conftest import made
from vantage import Corpus
from vantage.perspective.splits import people_pairs
from vantage.perspective.traits import exaggeration, explained


def test_a_model_that_doubles_a_difference_is_found_out() -> None:
    rng = np.random.default_rng(0)
    corpus = made(20, 60, 60)
    sides = dict(corpus.raters.select("rater", "side").iter_rows())
    chances = {"left": 0.6, "right": 0.4}
    judged = corpus.judgments.with_columns(
        value=pl.Series([float(rng.random() < chances[sides[r]]) for r in corpus.judgments["rater"]])
    )
    corpus = Corpus(corpus.items, corpus.raters, judged, corpus.instruments)
    further = {"left": 0.7, "right": 0.3}
    pairs = people_pairs(corpus, "seen").select("item", "rater")
    told = pairs.with_columns(value=pl.Series([float(rng.random() < further[sides[r]]) for r in pairs["rater"]]))
    row = exaggeration(told, corpus, "side", "seen").row(0, named=True)
    assert row["people"] == pytest.approx(0.2, abs=0.06)
    assert row["low"] < 2 < row["high"]
    assert row["low"] > 1
    nothing = exaggeration(told, made(20, 60, 60, seed=9, labels=2).filter(), "country", "seen")
    assert nothing.is_empty()


def test_a_difference_that_people_do_not_have_gives_no_ratio() -> None:
    rng = np.random.default_rng(1)
    corpus = made(20, 30, 30)
    judged = corpus.judgments.with_columns(value=pl.Series(rng.integers(2, size=len(corpus.judgments)).astype(float)))
    corpus = Corpus(corpus.items, corpus.raters, judged, corpus.instruments)
    gold = people_pairs(corpus, "seen").select("item", "rater", "value")
    row = exaggeration(gold, corpus, "side", "seen").row(0, named=True)
    assert row["ratio"] is None
    assert row["reason"] == "people's own difference cannot be told from zero"


def test_a_trait_that_matters_gains_and_one_that_does_not_gains_nothing() -> None:
    rng = np.random.default_rng(2)
    corpus = made(40, 30, 30)
    sides = dict(corpus.raters.select("rater", "side").iter_rows())
    judged = corpus.judgments.with_columns(
        value=pl.Series([float(rng.random() < (0.8 if sides[r] == "left" else 0.2)) for r in corpus.judgments["rater"]])
    )
    raters = corpus.raters.with_columns(coin=pl.Series(rng.permutation(["h", "t"] * 20)))
    found = explained(Corpus(corpus.items, raters, judged, corpus.instruments))
    gains = dict(found.select("trait", "gain").iter_rows())
    assert gains["side"] > 0.25
    assert gains["coin"] < 0.03
    assert gains["country"] is None
