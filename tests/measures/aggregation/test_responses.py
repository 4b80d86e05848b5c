from __future__ import annotations

import numpy as np

from vantage.measures.aggregation.latent_classes import Responses
from vantage.measures.ratings import Ratings


def test_pairs_lead_back_to_the_answers() -> None:
    rng = np.random.default_rng(0)
    unit, rater = rng.integers(0, 6, 40), rng.integers(0, 4, 40)
    value = rng.choice([-1.0, 0.5, 2.0], 40)
    data = Responses.of(Ratings.of(unit, rater, value))
    back = zip(data.unit, data.pair_rater[data.pair], data.classes[data.answer], strict=True)
    assert sorted(back) == sorted(zip(unit, rater, value, strict=True))
    np.testing.assert_array_equal(data.pair_answer[data.pair], data.answer)
    np.testing.assert_array_equal(data.pair_count, np.bincount(data.pair))


def test_sums_per_rater() -> None:
    data = Responses.of(Ratings.of(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([1.0, 1, 2, 1])))
    np.testing.assert_array_equal(data.per_rater(data.pair_count), [2, 2])
    np.testing.assert_array_equal(data.per_rater(np.ones((3, 2))), [[2, 2], [1, 1]])
