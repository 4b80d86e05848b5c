"""Texts of instruments become paragraphs and lists, and never anything else."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from vantage.collect.web.item_view import prose


def test_paragraphs_and_points() -> None:
    html = prose("One\nline.\n\n- a\n- b\n  goes on\n\nEnd.")
    assert html == "<p>One line.</p><ul><li>a</li><li>b goes on</li></ul><p>End.</p>"


def test_a_list_may_follow_its_introduction_at_once() -> None:
    assert prose("Choose:\n- one") == "<p>Choose:</p><ul><li>one</li></ul>"


@given(st.text(max_size=200))
def test_no_text_brings_markup_of_its_own(text: str) -> None:
    rest = re.sub(r"</?(p|ul|li)>", "", prose(text))
    assert "<" not in rest
    assert ">" not in rest
    assert '"' not in rest
