from __future__ import annotations

from importlib import resources

import polars as pl
import pytest

from tools import make_demo_corpus, make_planted_corpus
from vantage import demo_corpus
from vantage.corpora.bundled import planted_corpus

BUNDLED = resources.files("vantage.corpora.bundled")


def test_the_bundled_files_are_what_the_tools_write() -> None:
    with resources.as_file(BUNDLED / "demo.csv") as path:
        assert pl.read_csv(path).equals(make_demo_corpus.ratings()), "run: python tools/make_demo_corpus.py"
    raters, ratings = make_planted_corpus.tables()
    written = pl.read_parquet((BUNDLED / "planted-ratings.parquet").read_bytes())
    assert written.equals(ratings), "run: python -m tools.make_planted_corpus"
    assert planted_corpus().raters["planted"].to_list() == raters["planted"].to_list()


def test_the_demo_corpus_is_sound_and_says_what_it_is() -> None:
    corpus = demo_corpus()
    assert (corpus.items.height, corpus.raters.height) == (30, 9)
    assert corpus.items["target"].n_unique() == 6
    assert "synthetic" in corpus.about.title
    assert any("synthetic" in note for note in corpus.about.notes)


def test_the_planted_corpus_is_sound_and_says_what_it_is() -> None:
    corpus = planted_corpus()
    assert (corpus.items.height, corpus.items["text"].n_unique(), corpus.items["target"].n_unique()) == (120, 120, 12)
    assert corpus.raters["kind"].cast(pl.String).value_counts().sort("kind")["count"].to_list() == [2, 24]
    assert all(target in text for target, text in _pairs(corpus.items))
    # A trait that does not matter is spread alike over the trait that does.
    assert corpus.raters.drop_nulls("home").group_by("home", "hand").len()["len"].sort().to_list() == [4, 4, 8, 8]
    assert "synthetic" in corpus.about.title


def _pairs(items: pl.DataFrame) -> list[tuple[str, str]]:
    return [(target.casefold(), text.casefold()) for target, text in items.select("target", "text").iter_rows()]


@pytest.mark.slow
def test_planted_values_are_what_the_generative_model_makes_true() -> None:
    written = pl.read_csv(make_planted_corpus.TRUTH)
    drawn = make_planted_corpus.truth(12)
    both = written.join(drawn, on="id", suffix="_drawn")
    assert both.height == written.height == drawn.height
    for row in both.filter(pl.col("id") != "home").iter_rows(named=True):
        assert row["planted_drawn"] == pytest.approx(row["planted"], abs=0.06), row
