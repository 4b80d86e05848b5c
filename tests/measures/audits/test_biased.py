"""Raters that are biased on purpose: their mean is what was planted, exactly."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.biased import BiasedRater
from vantage.errors import InputError
from vantage.scales import Scale

SCALE = Scale.points(1, 7)
CODES = np.arange(1, 8)


def mean(rater: BiasedRater, presentation: str = "", *, late: bool = False, truth: float = 4.3) -> float:
    return float((rater.probabilities([truth], SCALE, presentation, late=late) @ CODES)[0])


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_mean_answer_is_the_truth_plus_what_was_planted(noise: float) -> None:
    rater = BiasedRater(primacy=0.6, letters=0.4, acquiescence=0.3, drift=0.2, noise=noise)
    assert mean(rater) == pytest.approx(4.3)
    assert mean(rater, late=True) == pytest.approx(4.5)
    assert mean(rater, "order=down") - mean(rater, "order=up") == pytest.approx(0.6)
    letters = mean(rater, "labels=letters order=down") - mean(rater, "labels=letters order=up")
    assert letters == pytest.approx(1.0)
    assert mean(rater, "direction=plain") == pytest.approx(4.6)
    assert mean(rater, "direction=reversed") == pytest.approx(4.0)
    # Options of the twin run the other way in the codes of the question.
    twin = mean(rater, "direction=reversed order=down") - mean(rater, "direction=reversed order=up")
    assert twin == pytest.approx(-0.6)


def test_careless_answers_are_drawn_from_all_options() -> None:
    assert BiasedRater(careless=1.0).probabilities([2.0], SCALE)[0] == pytest.approx(np.full(7, 1 / 7))
    assert mean(BiasedRater(careless=0.5, primacy=1.0), "order=down", truth=4.0) == pytest.approx(4.25)


def test_answers_have_the_probabilities_and_the_seed_decides_them() -> None:
    rater, truth = BiasedRater(primacy=0.5, careless=0.2, noise=0.1), {f"i{n}": 3.7 for n in range(4000)}
    frame = rater.judgments(truth, SCALE, ["order=down"], seed=3)
    share = np.bincount(frame["value"].to_numpy().astype(int), minlength=8)[1:] / 4000
    assert share == pytest.approx(rater.probabilities([3.7], SCALE, "order=down")[0], abs=0.03)
    assert frame.equals(rater.judgments(truth, SCALE, ["order=down"], seed=3))


def test_what_is_hidden_is_not_chosen_and_wrong_settings_are_refused() -> None:
    assert BiasedRater(noise=0.5).probabilities([4.0], SCALE, "middle=hidden")[0, 3] == 0
    with pytest.raises(InputError, match="careless is 2"):
        BiasedRater(careless=2)
    with pytest.raises(InputError, match="ordered scale"):
        BiasedRater().probabilities([0.0], Scale.labels("a", "b", "c"))
