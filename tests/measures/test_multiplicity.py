"""Corrections for many tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from vantage.errors import InputError
from vantage.measures.multiplicity import Flags, adjusted, permutation_p
from vantage.measures.ratings import Floats


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


def flipped(data: Floats, seed: int) -> Callable[[int], Flags]:
    """A test of whether numbers lie around 0, by random signs."""
    rng = np.random.default_rng(seed)
    return lambda many: np.asarray(np.abs(rng.choice([-1.0, 1.0], (many, len(data))) @ data) >= abs(data.sum()) - 1e-12)


def test_small_p_values_of_permutations_are_fine_and_noise_has_its_share_of_them() -> None:
    rng = np.random.default_rng(0)
    found = np.array([permutation_p(flipped(rng.normal(size=12), n), 199) for n in range(1000)])
    for level in (0.05, 0.01, 0.002):
        assert (found <= level).mean() <= level + 2 * np.sqrt(level / 1000)
    clear = permutation_p(flipped(rng.normal(2, 1, size=40), 0), 199)
    assert clear == pytest.approx(1 / 2000)
