from __future__ import annotations

from collections import Counter
from statistics import mean, median
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.measures.aggregation.labels import centre, majority, signs
from vantage.measures.ratings import Ratings

UNITS = st.lists(st.lists(st.integers(-2, 2), min_size=1, max_size=7), min_size=1, max_size=6)


def ratings(units: list[list[int]]) -> Ratings:
    unit = np.repeat(np.arange(len(units)), [len(u) for u in units])
    coder = np.concatenate([np.arange(len(u)) for u in units])
    return Ratings.of(unit, coder, np.array([float(v) for u in units for v in u]))


@given(UNITS, st.booleans(), st.sampled_from(["none", "neutral", "random", "lowest"]))
def test_majority_is_the_most_common_answer(units: list[list[int]], strict: bool, ties: Any) -> None:
    value, share = majority(ratings(units), strict=strict, ties=ties, neutral=0.0, seed=1)
    for answers, found, part in zip(units, value, share, strict=True):
        count = Counter(answers)
        most = max(count.values())
        leaders = sorted(a for a, n in count.items() if n == most)
        tied = 2 * most <= len(answers) if strict else len(leaders) > 1
        if tied and ties == "none":
            assert np.isnan(found)
            assert np.isnan(part)
            continue
        if tied and ties == "neutral":
            assert found == 0
        elif tied and ties == "random":
            assert found in leaders
        else:
            assert found == leaders[0]
        assert part == pytest.approx(count[found] / len(answers))


@given(UNITS, st.sampled_from(["none", "neutral", "random", "lowest"]))
def test_signs_compare_the_two_sides_and_ignore_zeros(units: list[list[int]], ties: Any) -> None:
    value, share = signs(ratings(units), ties=ties, seed=1)
    for answers, found, part in zip(units, value, share, strict=True):
        above, below = sum(a > 0 for a in answers), sum(a < 0 for a in answers)
        if above == below > 0:
            if ties == "none":
                assert np.isnan(found)
                assert np.isnan(part)
                continue
            assert found in {"neutral": [0], "lowest": [-1], "random": [-1, 1]}[ties]
        else:
            assert found == np.sign(above - below)
        assert part == pytest.approx(sum(np.sign(a) == found for a in answers) / len(answers))


@given(UNITS)
def test_centres(units: list[list[int]]) -> None:
    np.testing.assert_allclose(centre(ratings(units), median=False), [mean(u) for u in units], atol=1e-12)
    np.testing.assert_array_equal(centre(ratings(units), median=True), [median(u) for u in units])


def test_random_ties_follow_the_seed_and_reach_every_leader() -> None:
    units = [[0, 1, 2]] * 60
    first, again, other = (
        majority(ratings(units), strict=False, ties="random", neutral=0.0, seed=s)[0] for s in (1, 1, 2)
    )
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()
    assert set(first) == {0.0, 1.0, 2.0}
    sides = signs(ratings([[-1, 1]] * 60), ties="random", seed=0)[0]
    assert set(sides) == {-1.0, 1.0}
