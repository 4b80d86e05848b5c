"""Corrections for many tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from vantage.errors import InputError
from vantage.measures.multiplicity import adjusted, weighted_holm


@settings(max_examples=25)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8),
    st.sampled_from([("bonferroni", "bonferroni"), ("holm", "holm"), ("bh", "fdr_bh"), ("by", "fdr_by")]),
)
@pytest.mark.slow
def test_corrections_agree_with_statsmodels(p: list[float], names: tuple[Any, str]) -> None:
    expected = multipletests(p, method=names[1])[1]
    assert adjusted(p, names[0]) == pytest.approx(list(expected))


def test_corrections_pass_over_tests_without_a_p_value() -> None:
    assert adjusted([None, 0.02, None], "bonferroni") == [None, 0.02, None]
    assert adjusted([None], "by") == [None]
    with pytest.raises(InputError):
        adjusted([0.1], "sidak")  # type: ignore[arg-type]


def test_weighted_holm_keeps_the_error_rate_of_the_whole_and_equals_holm_with_equal_weights() -> None:
    rng = np.random.default_rng(4)
    weights = [1.0, *[1 / 20] * 20, *[1 / 3] * 3]
    wrong = 0
    for _ in range(2000):
        p = rng.uniform(size=len(weights)).tolist()
        corrected = weighted_holm(p, weights)
        wrong += any(value is not None and value < 0.05 for value in corrected)
        plain = adjusted(p, "holm")
        assert weighted_holm(p, [1.0] * len(p)) == pytest.approx(plain)
    assert 0.035 < wrong / 2000 < 0.062
    assert weighted_holm([None, 0.01], [1.0, 1.0]) == [None, 0.01]
