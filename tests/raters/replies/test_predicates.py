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
        ("The speaker does not mean to be polite. It is neutral.", "Does the speaker mean to be polite?", 0),
        ("The speaker means to be polite.", "Does the speaker mean to be polite?", 1),
        (
            "The speaker means to be polite. Then the speaker does not mean to be polite.",
            "Does he mean to be polite?",
            None,
        ),
        ("The speaker does not mean to be funny.", "Does the speaker mean to be polite?", None),
        ("Answer: The text does not contain misinformation.", "Does the text contain misinformation?", 0),
        ("The text does not contain obvious misinformation.", "Does the text contain misinformation?", None),
        ("It is unclear whether the text contains misinformation.", "Does the text contain misinformation?", None),
        ("Misinformation in the text.", "Does the text contain misinformation?", None),
        ('The statement "All are welcome here" is not considered ironic.', "Is the statement ironic?", 0),
    ],
)
def test_predicates(text: str, ask: str, value: float | None) -> None:
    reading = read_predicate(text, ask, YES_NO)
    assert (reading.value if reading else None) == value


def test_other_scales_have_no_yes() -> None:
    assert read_predicate("It is ironic.", "Is the reply ironic?", Scale.points(1, 5)) is None
