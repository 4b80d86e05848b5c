"""Corrections for many tests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from vantage.errors import InputError
from vantage.measures.multiplicity import adjusted


@settings(max_examples=25)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8),
    st.sampled_from([("bonferroni", "bonferroni"), ("holm", "holm"), ("bh", "fdr_bh"), ("by", "fdr_by")]),
)
def test_corrections_agree_with_statsmodels(p: list[float], names: tuple[Any, str]) -> None:
    expected = multipletests(p, method=names[1])[1]
    assert adjusted(p, names[0]) == pytest.approx(list(expected))


def test_corrections_pass_over_tests_without_a_p_value() -> None:
    assert adjusted([None, 0.02, None], "bonferroni") == [None, 0.02, None]
    assert adjusted([None], "by") == [None]
    with pytest.raises(InputError):
        adjusted([0.1], "sidak")  # type: ignore[arg-type]
