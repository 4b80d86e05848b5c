from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.report.cells import minus, printable, shortened, show


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (float("nan"), None, "–"),
        (float("inf"), 2, "–"),
        (True, None, "yes"),
        ([1, 0.25], 1, "1, 0.2"),
        (1234.5, 1, "1,234.5"),
        (2.0, 2, "2.00"),
        ("a\x1b[31mb", None, "a�[31mb"),
    ],
)
def test_a_cell_is_rounded_and_harmless(value: object, digits: int | None, shown: str) -> None:
    assert show(value, digits) == shown


@given(st.text())
def test_printable_text_has_no_control_characters(text: str) -> None:
    assert all(c.isprintable() or c == "\n" for c in printable(text))


@given(st.text(), st.integers(2, 20))
def test_shortened_text_fits(text: str, most: int) -> None:
    assert len(shortened(text, most)) <= most


@given(st.floats(-1e6, 1e6))
def test_only_true_negatives_have_a_minus_sign(value: float) -> None:
    text = minus(f"{value:.2f}")
    assert text.startswith("−") == (round(value, 2) < 0)


def test_words_keep_their_hyphens() -> None:
    assert minus("split-half, e-mail, 2020-01-31, gpt-4, -3") == "split-half, e-mail, 2020-01-31, gpt-4, −3"
