from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.errors import InputError
from vantage.raters.scoring import calibrated

tables = st.tuples(st.integers(2, 6), st.integers(2, 5), st.integers(0, 99)).map(
    lambda t: -np.random.default_rng(t[2]).exponential(5, size=(t[0], t[1]))
)


@given(tables, st.floats(-20, 20))
def test_what_an_option_gets_everywhere_does_not_count(logprobs: np.ndarray, favour: float) -> None:
    favoured = logprobs.copy()
    favoured[:, 0] += favour
    assert calibrated(favoured) == pytest.approx(calibrated(logprobs), abs=1e-9)


@given(tables)
def test_rows_are_distributions(logprobs: np.ndarray) -> None:
    fair = calibrated(logprobs)
    assert np.exp(fair).sum(axis=1) == pytest.approx(1)


def test_a_constant_favourite_is_undone() -> None:
    # The model always says 3, but less surely so where the text is cold.
    logprobs = np.log([[0.05, 0.05, 0.9], [0.3, 0.1, 0.6], [0.1, 0.1, 0.8]])
    assert logprobs.argmax(axis=1).tolist() == [2, 2, 2]
    means = np.exp(calibrated(logprobs)) @ [1, 2, 3]
    assert means[1] < means[2] < means[0]


def test_rows_that_were_not_scored_stay_so_and_do_not_count() -> None:
    logprobs = np.log([[0.9, 0.1], [0.6, 0.4], [0.5, 0.5]])
    logprobs[2] = np.nan
    fair = calibrated(logprobs)
    assert np.isnan(fair[2]).all()
    assert fair[:2] == pytest.approx(calibrated(logprobs[:2]))


def test_one_item_cannot_be_calibrated() -> None:
    with pytest.raises(InputError, match="fewer than two were scored"):
        calibrated(np.log([[0.9, 0.1]]))
