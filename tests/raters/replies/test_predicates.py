from __future__ import annotations

import pytest

from vantage.raters.replies.predicates import read_predicate
from vantage.scales import Scale

YES_NO = Scale.labels("no", "yes")


@pytest.mark.parametrize(
    ("text", "ask", "value"),
    [
        ("It is ironic.", "Is the reply ironic?", 1),
        ("The reply isn't ironic.", "Is the reply ironic?", 0),
        ("Clearly ironic", "Is the reply ironic?", 1),
        ("It is not very ironic.", "Is the reply ironic?", None),
        ("It is ironic. It is not ironic.", "Is the reply ironic?", None),
        ("It is a reply.", "Is the reply ironic?", None),
        ("It is ironic.", "Is the reply ironic or sincere?", None),
        ("It is ironic.", "How ironic is the reply?", None),
        ("It is polite because they say please.", "Does the speaker mean to be polite?", 1),
    ],
)
def test_predicates(text: str, ask: str, value: float | None) -> None:
    reading = read_predicate(text, ask, YES_NO)
    assert (reading.value if reading else None) == value


def test_other_scales_have_no_yes() -> None:
    assert read_predicate("It is ironic.", "Is the reply ironic?", Scale.points(1, 5)) is None
