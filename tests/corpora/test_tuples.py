"""Tuples of texts: each text equally often, in each place, and no two texts twice."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import polars as pl
import pytest

from vantage import Instrument
from vantage.corpora import Corpus
from vantage.corpora.tuples import design, tuples
from vantage.errors import InputError


@pytest.mark.parametrize(
    ("texts", "size", "each"), [(5, 2, 4), (24, 2, 4), (30, 2, 10), (14, 4, 4), (60, 4, 8), (101, 4, 16), (40, 3, 9)]
)
@pytest.mark.parametrize("seed", [0, 7])
def test_a_design_is_balanced(texts: int, size: int, each: int, seed: int) -> None:
    made = design(texts, size, each, seed)
    assert len(made) == texts * each // size
    for place in range(size):
        assert Counter(one[place] for one in made) == dict.fromkeys(range(texts), each // size)
    pairs = Counter(frozenset(pair) for one in made for pair in combinations(one, 2))
    assert set(pairs.values()) == {1}
    assert all(len(pair) == 2 for pair in pairs)
    linked = {0}
    while more := {one for pair in pairs if pair & linked for one in pair} - linked:
        linked |= more
    assert len(linked) == texts
    assert made == design(texts, size, each, seed)
    assert made != design(texts, size, each, seed + 1)


def test_what_cannot_be_balanced_is_refused() -> None:
    with pytest.raises(InputError, match="a multiple of 4 tuples"):
        design(60, 4, 6)
    with pytest.raises(InputError, match="ask for at most 4 tuples per text"):
        design(20, 4, 8)
    with pytest.raises(InputError, match="or take more texts"):
        design(5, 4, 4)


def texts(count: int = 20) -> Corpus:
    items = pl.DataFrame({"item": [f"t{n}" for n in range(count)], "text": [f"Text {n}." for n in range(count)]})
    nobody = pl.DataFrame(schema={"rater": pl.String})
    nothing = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    return Corpus(items, nobody, nothing, Instrument.load("irony"))


def test_a_missing_text_is_named() -> None:
    corpus = texts()
    with pytest.raises(InputError, match="no column 'post'"):
        tuples(corpus, 2, 4, field="post")
