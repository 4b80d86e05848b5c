"""The joint test: its size where nothing differs, although some specification nearly always does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.often import times
from tests.robust.planted import planted
from vantage import Corpus
from vantage.robust import Alternative, Conclusion, Universe, robust
from vantage.robust.joint import BLOCK, FEWEST_BLOCKS, Blocks, JointTest


def corpora_without_effect(number: int, specifications: int) -> list[np.ndarray]:
    """Differences of two groups by block and specification; labels of one item share what the item is."""
    rng = np.random.default_rng(7)
    made = []
    for _ in range(number):
        shared = rng.exponential(size=(20, 2, 4, 1))  # blocks, groups, items: skewed, as answers are
        labels = shared + rng.exponential(size=(20, 2, 4, specifications))
        made.append(labels[:, 0].mean(axis=1) - labels[:, 1].mean(axis=1))
    return made


@pytest.mark.slow
def test_its_size_is_five_percent_although_some_specification_is_often_significant() -> None:
    tests = [JointTest.of(one, 0.0, "items", seed) for seed, one in enumerate(corpora_without_effect(300, 12))]
    known = [one for one in tests if one is not None]
    assert len(known) == 300
    assert 0.03 <= np.mean([one.p < 0.05 for one in known]) <= 0.07
    some = np.mean([one.share > 0 for one in known])
    assert some > 0.2
    assert np.mean([one.any_null for one in known]) == pytest.approx(some, abs=0.08)


def test_an_effect_is_found_whatever_its_sign() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(20, 1)) + 0.3 * rng.normal(size=(20, 9))
    for effect in (-1.5, 1.5):
        test = JointTest.of(noise + effect, 0.0, "items", 0)
        assert test is not None
        assert test.p < 0.01
    assert JointTest.of(np.full((20, 3), np.nan), 0.0, "items", 0) is None


def dealt(corpus: Corpus) -> Blocks:
    return Blocks.of(corpus, corpus.judgments, "era", 0)


def test_blocks_have_as_many_of_each_group() -> None:
    blocks = dealt(planted(items=120))
    counts = blocks.corpus.items.group_by(BLOCK, "era").len()
    assert (blocks.number, blocks.unit) == (15, "items")
    assert counts["len"].unique().to_list() == [4]
    assert dealt(planted(items=2 * 4 * FEWEST_BLOCKS - 2)).number == 0


@pytest.mark.slow
def test_in_corpora_without_any_effect_some_specification_is_significant_more_often_than_the_joint_test() -> None:
    """Five prompts, on all items or on half of them: what docs/robust.md says of 200 corpora."""
    prompts = list("abcde")
    choices = {
        "prompt": {one: Alternative(where={"condition": [one]} if one != "a" else {}) for one in prompts},
        "items": {"all": Alternative(), "half": Alternative(where={"half": ["x"]})},
    }
    claim = Conclusion.of("mean", {"between": "era", "values": ["new", "old"], "ci": "items"}, {"condition": ["a"]})
    jointly, alone, some = [], [], []
    for seed in range(times(200, 12)):
        corpus = planted(items=96, people=0, prompts=dict.fromkeys(prompts, 0.0), seed=1000 + seed)
        items = corpus.items.with_columns(half=pl.Series(list("xxyy") * 24))
        halved = Corpus(items, corpus.raters, corpus.judgments, corpus.instruments)
        made = robust(halved, claim, Universe(choices=choices), seed=seed)
        assert made.joint is not None
        assert len(made.specifications) == 10
        jointly.append(made.joint.p < 0.05)
        alone.append(made.claimed["verdict"] != "within")
        some.append((made.specifications["verdict"] != "within").any())
    assert np.mean(jointly) <= (0.07 if len(some) >= 200 else 0.25)
    assert np.mean(some) >= (0.15 if len(some) >= 200 else np.mean(alone))
