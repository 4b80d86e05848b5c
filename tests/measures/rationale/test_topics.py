"""Planted topics are found, and found again with another seed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures.rationale.topics import _fit, npmi, topics

FIRE, RAIN = ["smoke", "fire", "house", "burn"], ["rain", "river", "boat", "flood"]


def planted(seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    texts = ["the narrator " + " ".join(rng.choice(part, 3, replace=False)) for part in (FIRE, RAIN) for _ in range(25)]
    return pl.DataFrame({"question": "p", "text": texts})


def test_planted_topics_are_found_coherent_and_stable() -> None:
    found = topics(planted(), by="question", count=2, shown=4, stop_words=["narrator"], fits=3)
    assert {frozenset(told.split(", ")) for told in found["words"]} == {frozenset(FIRE), frozenset(RAIN)}
    assert found["share"].sum() == pytest.approx(1.0)
    assert (found["coherence"] > 0.4).all()
    assert found["stability"].to_list() == [1.0, 1.0]
    assert found["topic"].to_list() == [1, 2]


@pytest.mark.slow
def test_topics_are_those_of_scikit_learn() -> None:
    from sklearn.decomposition import LatentDirichletAllocation

    rng = np.random.default_rng(1)
    words = rng.dirichlet(np.full(60, 0.05), 3)
    counts = np.array([rng.multinomial(30, rng.dirichlet(np.full(3, 0.3)) @ words) for _ in range(200)]).astype(float)
    ours, shares = _fit(counts, 3, 0)
    theirs = LatentDirichletAllocation(3, max_iter=200, random_state=0).fit(counts).components_
    # The better of the two is the one that gives the words, each topic beside the planted one that is most like it.
    apart = [
        np.abs((found / found.sum(axis=1, keepdims=True))[:, None] - words).sum(axis=2).min(axis=0).mean()
        for found in (ours, theirs)
    ]
    assert apart[0] < min(0.3, apart[1] + 0.05)
    assert shares.sum() == pytest.approx(1.0)


def test_noise_is_unstable() -> None:
    rng = np.random.default_rng(1)
    noise = [" ".join(rng.choice([f"w{chr(97 + k)}" for k in range(26)], 8)) for _ in range(40)]
    found = topics(pl.DataFrame({"text": noise}), count=3, fits=3)
    assert (found["stability"] < 0.9).any()
    assert found.equals(topics(pl.DataFrame({"text": noise}), count=3, fits=3))


def test_too_few_words_are_null_with_a_reason() -> None:
    found = topics(pl.DataFrame({"text": ["alone", "it"]}), count=2, fits=1)
    assert found["words"].to_list() == [None]
    assert found["reason"][0] == "fewer than 2 words occur in 2 texts"


def test_words_that_never_meet_are_incoherent() -> None:
    present = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert npmi([0, 1], present) == -1.0
    independent = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert npmi([0, 1], independent) == pytest.approx(0.0)
    assert npmi([0], present) is None


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="no column 'text'"):
        topics(pl.DataFrame({"words": ["a"]}))
    with pytest.raises(InputError, match="at least one topic"):
        topics(pl.DataFrame({"text": ["a"]}), count=0)
