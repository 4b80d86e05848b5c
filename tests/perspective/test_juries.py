import polars as pl
import pytest

from tests.perspective.conftest import made
from vantage import InputError
from vantage.perspective.splits import people_pairs
from vantage.perspective.traits import jury


def test_the_composition_decides_where_the_groups_are_of_two_minds() -> None:
    corpus = made(10, 6, 6)
    pairs = people_pairs(corpus, "seen").select("item", "rater").join(corpus.raters, on="rater")
    told = pairs.select("item", "rater", (pl.col("side") == "left").cast(pl.Float64).alias("value"))
    left = jury(told, corpus, "side", {"left": 3, "right": 2})
    assert left["verdict"].to_list() == [1.0] * 6
    assert left["share"].to_list() == [1.0] * 6
    assert left["vote"].to_list() == pytest.approx([0.6] * 6)
    even = jury(told, corpus, "side", {"left": 2, "right": 2})
    assert even["verdict"].to_list() == [None] * 6
    assert even["tied"].to_list() == [1.0] * 6


def test_the_distribution_over_juries_follows_the_hypergeometric_law() -> None:
    corpus = made(10, 1, 1)
    told = pl.DataFrame({"item": "t0", "rater": [f"p{n}" for n in range(10)], "value": [1.0] * 2 + [0.0] * 8})
    # Of five on the right, one votes 1; a jury of one from there is that one in a fifth of the cases.
    found = jury(told, corpus, "side", {"right": 1}, juries=4000).row(0, named=True)
    assert found["verdict"] == 0.0
    assert found["share"] == pytest.approx(0.8, abs=0.03)


def test_too_few_users_and_unknown_values_are_told() -> None:
    corpus = made(4, 3, 3)
    told = people_pairs(corpus, "seen").select("item", "rater", "value")
    assert jury(told, corpus, "side", {"left": 3})["reason"].to_list() == ["too few users with side left"] * 3
    for trait, seats, sentence in (
        ("age", {"old": 1}, "no trait 'age'"),
        ("side", {"up": 1}, "nobody has the side 'up'"),
        ("side", {"left": -1}, "-1 seats"),
        ("side", {"left": 0}, "no seats"),
    ):
        with pytest.raises(InputError, match=sentence):
            jury(told, corpus, trait, seats)


def test_nobody_votes_twice() -> None:
    corpus = made(10, 2, 2)
    told = people_pairs(corpus, "seen").select("item", "rater", "value")
    with pytest.raises(InputError, match="several answers to one text"):
        jury(pl.concat([told, told]), corpus, "side", {"right": 1})
