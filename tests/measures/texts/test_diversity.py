"""Self-BLEU and n-gram entropy, at equal sample size."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures.texts.diversity import text_diversity
from vantage.measures.texts.tokens import words

VOCABULARY = [f"w{i}" for i in range(40)]


def texts(n: int, seed: int = 0, longest: int = 15) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(VOCABULARY, rng.integers(1, longest))) for _ in range(n)]


def of_all(told: list[str], column: str) -> float:
    """A number of one group of texts, all of which count."""
    found = text_diversity(pl.DataFrame({"condition": "", "text": told}))[column][0]
    assert isinstance(found, float)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_self_bleu_is_that_of_the_peer(seed: int) -> None:
    bleu = pytest.importorskip("nltk.translate.bleu_score", reason="the peer nltk is not installed")
    told = texts(12, seed)
    tokens = [words(text) for text in told]
    smooth = bleu.SmoothingFunction(epsilon=0.1).method1
    peer = [
        bleu.sentence_bleu([t for j, t in enumerate(tokens) if j != i], mine, smoothing_function=smooth)
        for i, mine in enumerate(tokens)
    ]
    assert of_all(told, "self_bleu") == pytest.approx(np.mean(peer))


def test_entropy_is_the_definition() -> None:
    found = of_all(["a b", "a b", "c d"], "entropy_2")
    assert found == pytest.approx(-(2 / 3 * np.log2(2 / 3) + 1 / 3 * np.log2(1 / 3)))


def test_entropy_grows_with_the_sample_unless_it_is_of_equal_size() -> None:
    few, many = texts(50, 1), texts(100, 1) + texts(100, 2)
    assert of_all(many, "entropy_2") > of_all(few, "entropy_2") + 0.5
    told = pl.DataFrame({"condition": ["few"] * 50 + ["many"] * 200, "text": few + many})
    found = text_diversity(told)
    assert found["ngrams_2"].n_unique() == 1
    one, two = found["entropy_2"].to_list()
    assert abs(one - two) < 0.15
    assert found["texts"].to_list() == [50, 50]


def test_a_group_without_enough_texts_says_so() -> None:
    told = pl.DataFrame({"condition": ["a", "b", "b"], "text": ["one text", "two texts", "three texts"]})
    found = text_diversity(told, size=2)
    assert found["reason"].to_list() == ["fewer than 2 texts", None]
    assert found["self_bleu"][0] is None
    with pytest.raises(InputError, match="no column 'rater'"):
        text_diversity(told, by="rater")


def test_the_order_of_texts_does_not_matter() -> None:
    told = pl.DataFrame({"condition": ["a"] * 30 + ["b"] * 20, "text": texts(50, 3)})
    assert text_diversity(told).equals(text_diversity(told.reverse()))
