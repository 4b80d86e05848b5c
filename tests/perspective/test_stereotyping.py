from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.perspective.conftest import made
from vantage import Corpus
from vantage.perspective import Evaluation, Split, advantage, evaluate, passport, split
from vantage.perspective.splits import people_pairs


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
    row = passport(told, corpus, "side", "seen").row(0, named=True)
    assert row["people"] == pytest.approx(0.2, abs=0.06)
    assert row["low"] < 2 < row["high"]
    assert row["low"] > 1
    nothing = passport(told, made(20, 60, 60, seed=9, labels=2).filter(), "country", "seen")
    assert nothing.is_empty()


def test_a_difference_that_people_do_not_have_gives_no_ratio() -> None:
    rng = np.random.default_rng(1)
    corpus = made(20, 30, 30)
    judged = corpus.judgments.with_columns(value=pl.Series(rng.integers(2, size=len(corpus.judgments)).astype(float)))
    corpus = Corpus(corpus.items, corpus.raters, judged, corpus.instruments)
    gold = people_pairs(corpus, "seen").select("item", "rater", "value")
    row = passport(gold, corpus, "side", "seen").row(0, named=True)
    assert row["ratio"] is None
    assert row["reason"] == "people's own difference cannot be told from zero"


def planted(rng: np.random.Generator, gap: float, people: int = 24, texts: int = 60) -> tuple[Corpus, float]:
    """Two groups whose shares of yes differ by a gap; and people differ among themselves. Also the true difference."""
    side = np.arange(people) % 2
    own = rng.normal(0, 0.08, people)
    chance = np.clip(0.5 + gap * (0.5 - side) + own, 0, 1)[None, :] + rng.normal(0, 0.1, texts)[:, None]
    value = (rng.random((texts, people)) < chance).astype(float)
    ids = [(f"t{i}", f"p{j}") for i in range(texts) for j in range(people)]
    corpus = made(people, texts, 1)
    judged = pl.DataFrame(ids, schema=["item", "rater"], orient="row").with_columns(
        question=pl.lit("seen"), value=pl.Series(value.ravel())
    )
    raters = corpus.raters.with_columns(side=pl.Series([["a", "b"][s] for s in side]))
    return Corpus(corpus.items, raters, judged, corpus.instruments), gap


def put_with(rng: np.random.Generator, corpus: Corpus, gap: float) -> pl.DataFrame:
    """What a model says of every text with every value of the trait."""
    frames = []
    for value, shift in (("a", gap / 2), ("b", -gap / 2)):
        said = (rng.random(len(corpus.items)) < 0.5 + shift).astype(float)
        frames.append(corpus.items.select("item", rater=pl.lit(value)).with_columns(pl.Series("value", said)))
    return pl.concat(frames)


def test_swapped_traits_recover_a_planted_stereotype() -> None:
    # Of 400 corpora (seeds 0 to 399) the interval of the ratio covers in 96 %.
    covered = seen = 0
    for seed in range(60, 100):
        rng = np.random.default_rng(seed)
        corpus, gap = planted(rng, 0.3)
        row = passport(put_with(rng, corpus, 2.5 * gap), corpus, "side").row(0, named=True)
        assert row["swapped"]
        covered += row["low"] is not None and row["low"] <= 2.5 <= row["high"]
        seen += row["verdict"] == "sets the groups further apart than people are"
    assert covered >= 35
    assert seen >= 38


def test_a_model_that_answers_by_group_alone_gets_its_verdict() -> None:
    corpus, _ = planted(np.random.default_rng(3), 0.4, people=8, texts=40)
    by_group = put_with(np.random.default_rng(0), corpus, 1.0)
    row = passport(by_group, corpus, "side").row(0, named=True)
    assert row["model"] == 1.0
    assert row["verdict"] == "sets the groups further apart than people are"
    assert 0 < row["least"] < 0.6
    against = by_group.with_columns(value=1 - pl.col("value"))
    assert passport(against, corpus, "side")["verdict"].item() == "moves against people's direction"
    still = by_group.with_columns(value=pl.lit(1.0))
    assert passport(still, corpus, "side")["verdict"].item() == "does not move with the trait"


def test_a_model_that_is_like_people_is_seldom_accused() -> None:
    accused = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        corpus, gap = planted(rng, 0.3)
        row = passport(put_with(rng, corpus, gap), corpus, "side").row(0, named=True)
        accused += row["verdict"] != "cannot be told apart from people"
    assert accused <= 6


@pytest.mark.slow
def test_gains_are_seen_when_all_pairs_are_asked() -> None:
    seen = dict.fromkeys((0.0, 0.02, 0.06, 0.09), 0)
    for seed in range(15):
        rng = np.random.default_rng(seed)
        corpus, _ = planted(rng, 0.3, people=72, texts=40)
        parts = split(corpus, method="crossed")
        assert len(parts.test) == 72 * 40
        gold = parts.test["value"].to_numpy()
        right = rng.random(len(gold)) < 0.65
        chance = rng.random(len(gold))

        def scored(correct: Any, gold: Any = gold, parts: Split = parts) -> Evaluation:
            value = np.where(correct, gold, 1 - gold)
            return evaluate(parts.test.with_columns(pl.Series("value", value)), parts, resamples=100)

        withheld = scored(right)
        for gain in seen:
            # Of the same model, told of the user or not, most answers are the same: few change, more of them for good.
            knowing = np.where(right, chance > 0.03 / 0.65, chance < (0.03 + gain) / 0.35)
            seen[gain] += advantage(scored(knowing), withheld, "b")["p"] < 0.05
    assert seen[0.0] <= 3
    assert min(seen[0.02], seen[0.06], seen[0.09]) >= 12, seen
