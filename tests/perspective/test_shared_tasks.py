from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import wasserstein_distance

import vantage
from tests.perspective.conftest import made
from vantage import Corpus, InputError, Instrument, Scale
from vantage.perspective.benchmark import shared_task
from vantage.perspective.splits import people_pairs


def ordinal(seed: int = 0) -> Corpus:
    corpus = made(6, 10, 10, seed, labels=5)
    scale = Scale.labels(*"abcde", level="ordinal")
    return Corpus(
        corpus.items, corpus.raters, corpus.judgments, Instrument.of_questions("made", "Made", {"seen": scale})
    )


def test_scores_equal_their_definitions_text_by_text() -> None:
    corpus = ordinal()
    rng = np.random.default_rng(3)
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value")
    told = pairs.with_columns(value=pl.Series(rng.integers(5, size=len(pairs)).astype(float)))
    scores = dict(shared_task(told, corpus, resamples=0).select("score", "estimate").iter_rows())
    frame = pairs.join(told.rename({"value": "told"}), on=["item", "rater"])
    expected: dict[str, list[float]] = {"error_rate": [], "absolute_distance": [], "manhattan": [], "wasserstein": []}
    for part in frame.partition_by("item"):
        gold, value = part["value"].to_numpy(), part["told"].to_numpy()
        p, q = (np.bincount(v.astype(int), minlength=5) / len(v) for v in (gold, value))
        expected["error_rate"].append(float(np.mean(gold != value)))
        expected["absolute_distance"].append(float(np.mean(np.abs(gold - value)) / 4))
        expected["manhattan"].append(float(np.abs(p - q).sum()))
        expected["wasserstein"].append(float(wasserstein_distance(gold, value)))
    assert scores == pytest.approx({name: np.mean(values) for name, values in expected.items()})


def test_perfect_predictions_have_no_distance_and_unread_ones_the_largest() -> None:
    corpus = ordinal()
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value")
    assert shared_task(pairs, corpus)["estimate"].to_list() == [0.0] * 4
    nothing = shared_task(pairs.with_columns(value=pl.lit(None, dtype=pl.Float64)), corpus, resamples=0)
    assert dict(nothing.select("score", "estimate").iter_rows()) == {
        "error_rate": 1.0,
        "absolute_distance": 1.0,
        "manhattan": 2.0,
        "wasserstein": 4.0,
    }
    assert nothing["unanswered"].to_list() == [len(pairs)] * 4


def test_a_nominal_scale_has_no_distances_along_it() -> None:
    corpus = made(6, 10, 10, labels=3)
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value")
    assert set(shared_task(pairs, corpus)["score"]) == {"error_rate", "manhattan"}


def test_a_continuous_scale_is_refused() -> None:
    corpus = made(4, 5, 5)
    scale = Scale(level="interval", range=(0.0, 1.0))
    slider = Corpus(corpus.items, corpus.raters, corpus.judgments, Instrument.of_questions("m", "M", {"seen": scale}))
    with pytest.raises(InputError, match="continuous"):
        shared_task(people_pairs(slider, "seen"), slider)


@pytest.mark.data
def test_the_majority_of_a_real_corpus_is_scored(data_dir: Path) -> None:
    corpus = vantage.load("csc", data_dir / "lewidi/2025/CSC").filter(split="dev")
    question = corpus.questions[0].id
    pairs = people_pairs(corpus, question)
    mean = pairs.group_by("item").agg(pl.col("value").median().round().alias("value"))
    scores = shared_task(pairs.select("item", "rater").join(mean, on="item"), corpus, question=question)
    found = dict(scores.select("score", "estimate").iter_rows())
    assert 0 < found["absolute_distance"] < found["error_rate"] < 1
    assert (scores["low"] < scores["estimate"]).all()
