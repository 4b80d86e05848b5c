"""How well distributions are known, and the rules of a study file, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from vantage.adaptive.until import Distributions, Until, needed, width
from vantage.measures.intervals import wilson


@pytest.mark.parametrize(("yes", "n"), [(0, 5), (3, 9), (7, 12), (40, 80)])
def test_a_width_is_that_of_wilsons_interval(yes: int, n: int) -> None:
    low, high = wilson(yes, n, 0.95)
    assert float(width(np.array(yes / n), np.array(float(n)))) == pytest.approx(high - low, abs=1e-12)


@pytest.mark.parametrize("target", [0.15, 0.3, 0.45])
def test_the_ratings_needed_are_the_fewest(target: float) -> None:
    for share in (0.0, 0.2, 0.5):
        n = needed(target, share)
        assert float(width(np.array(share), np.array(float(n)))) <= target
        assert n == 1 or float(width(np.array(share), np.array(float(n - 1)))) > target


def test_the_strength_of_the_prior_is_recovered() -> None:
    rng = np.random.default_rng(1)
    shares = rng.dirichlet([3.0, 1.5, 0.5], size=4000)
    known = Distributions(np.array([rng.multinomial(12, share) for share in shares], dtype=float))
    mean, strength = known.prior
    assert mean == pytest.approx([0.6, 0.3, 0.1], abs=0.01)
    assert strength == pytest.approx(5.0, rel=0.1)
    # Shares that are drawn towards those of all items are closer to the truth than the items' own.
    assert np.abs(known.expected - shares).mean() < 0.95 * np.abs(known.shares - shares).mean()


def test_items_that_are_all_alike_lend_each_other_all_they_can() -> None:
    counts = np.random.default_rng(2).multinomial(8, [0.5, 0.5], size=500).astype(float)
    assert Distributions(counts).prior[1] > 20


def test_the_expected_error_is_the_mean_error() -> None:
    rng = np.random.default_rng(3)
    shares = rng.dirichlet([2.0, 2.0, 1.0], size=3000)
    known = Distributions(np.array([rng.multinomial(15, share) for share in shares], dtype=float))
    realised = np.abs(known.shares - shares).sum(axis=1) / 2
    assert float(known.error().mean()) == pytest.approx(float(realised.mean()), rel=0.06)


def test_the_next_rating_goes_where_the_interval_narrows_most() -> None:
    until = Until.parse("width 0.3")
    known = Distributions(np.array([[5.0, 5.0], [20.0, 20.0], [50.0, 0.0], [6.0, 4.0]]))
    assert until.open([known]).tolist() == [True, False, False, True]
    gain = until.gain([known])
    assert gain[2] == 0
    assert gain[0] > gain[1]


@pytest.mark.parametrize("text", ["", "width", "width 0", "width 1.5", "wide 0.3", "width -0.3", "width 0.3 alpha 0.2"])
def test_what_is_no_rule_says_how_one_is_written(text: str) -> None:
    with pytest.raises(ValueError, match=r"write 'width 0.3'"):
        Until.parse(text)
