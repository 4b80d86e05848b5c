"""Distances between answers and agreement weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from irrCAC.weights import Weights

from vantage.errors import InputError
from vantage.measures.agreement.alpha import custom, difference
from vantage.measures.agreement.chance_corrected import weight_matrix

CODES = np.array([1.0, 2.0, 4.0])


@pytest.mark.parametrize("name", ["linear", "quadratic", "ordinal"])
def test_weights_equal_the_peer(name: Any) -> None:
    codes = [1.0, 2.0, 3.0, 4.0, 5.0]
    theirs = np.asarray(Weights(codes)[name])
    assert weight_matrix(name, np.array(codes)) == pytest.approx(theirs)


def test_no_weights_and_one_code() -> None:
    assert weight_matrix(None, CODES).tolist() == np.eye(3).tolist()
    assert weight_matrix("linear", CODES[:1]).tolist() == [[1.0]]


def test_ratio_difference() -> None:
    between = difference("ratio", np.array([0.0, 1.0, 3.0])).between
    assert between is not None
    assert between(np.array([0, 1, 0]), np.array([0, 2, 2])).tolist() == [0.0, 0.25, 1.0]
    assert difference("ordinal", CODES).between is None


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        ({(1, 2): 1.0}, "has no entry for the value 4"),
        ({(1, 2): 1.0, (1, 4): 2.0}, "the distance between 2 and 4 is missing"),
        ({(1, 2): 1.0, (2, 1): 2.0, (1, 4): 2.0, (2, 4): 1.0}, "not symmetric"),
        (([1, 2, 4], np.ones((3, 3))), "zeros for equal codes"),
        (([1, 2, 4], np.ones((2, 2))), "3 codes need a matrix of 3 × 3"),
        (([1, 2, 4], -np.ones((3, 3))), "negative or not a number"),
    ],
)
def test_distances_that_are_none(distance: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        custom(distance, CODES)
