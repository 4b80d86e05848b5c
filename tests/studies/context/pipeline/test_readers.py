"""Methods of detection as raters: their styles, their number and their names."""

from __future__ import annotations

import pytest

from vantage.context import METHODS, Simulator


@pytest.mark.parametrize(
    ("method", "scoring", "style"),
    [
        ("direct", True, "scoring"),
        ("direct", False, "zero-shot"),
        ("reasoning", False, "reasoning"),
        ("persona", True, "scoring+persona"),
        ("persona-reasoning", False, "reasoning+persona"),
        ("selective", True, "selective-persona"),
        ("selective", False, "selective-persona"),
        ("selective-reasoning", False, "reasoning+selective-persona"),
    ],
)
def test_a_method_has_a_style(method: str, scoring: bool, style: str) -> None:
    readers = Simulator("openai:x", count=1, answers="scoring" if scoring else "sampling").raters(method)
    assert [rater.parts.name for rater in readers] == [style]
    assert list(METHODS)[-1] == "selective-reasoning"


def test_the_embedded_model_is_scored_and_others_are_sampled_unless_told() -> None:
    assert Simulator("embedded").scores("persona")
    assert not Simulator("openai:x").scores("persona")
    assert Simulator("openai:x", answers="scoring").scores("persona")
    assert not Simulator("openai:x", answers="scoring").scores("selective")
    assert not Simulator("embedded").scores("reasoning")


def test_there_is_a_rater_for_every_persona() -> None:
    raters = Simulator("openai:x", samples=7).raters("selective-reasoning")
    assert len(raters) == 40
    assert {rater.samples for rater in raters} == {7}
    assert {rater.temperature for rater in raters} == {1.0}
    assert len({rater.id for rater in raters}) == 40
    few = Simulator("openai:x", count=5).raters("persona")
    assert {rater.persona for rater in few} <= {rater.persona for rater in raters}
