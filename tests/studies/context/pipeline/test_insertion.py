"""A statement that is put into a conversation stands there word for word, and the two people still take turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.studies.context.pipeline.test_dialogue import TURNS, talk
from vantage.studies.context.pipeline.dialogue import IN_A_ROW, fault, insert, read_place

TURNS_OF_TWO = talk(("Person A", "It rains."), ("Person B", "Again?"), ("Person A", "All day."))


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("After: 2\nSpeaker: Person B", (2, "Person B")),
        ("**After:** 3\n**Speaker:** person b", (3, "Person B")),
        ("after turn 1", (1, "Person B")),
        ("I would put it after 2.", (2, "Person A")),
        ("2", (2, "Person A")),
        ("<think>After: 1</think>After: 3", (3, "Person B")),
        ("After: 2\nSpeaker: The narrator", (2, "Person A")),
        ("After: 0", None),
        ("After: 4", None),
        ("After: -1", None),
        ("at the end", None),
        ("", None),
    ],
)
def test_a_place_is_read_from_a_reply(reply: str, place: tuple[int, str] | None) -> None:
    assert read_place(reply, TURNS_OF_TWO) == place


@given(TURNS, st.text(min_size=1).filter(lambda t: bool(t.strip()) and t.isprintable()), st.data())
def test_what_is_put_in_by_the_program_is_never_changed(
    turns: list[dict[str, str]], statement: str, data: st.DataObject
) -> None:
    after = data.draw(st.integers(1, len(turns)))
    copied = [dict(turn) for turn in turns]
    whole = insert(turns, statement, after, "Person A")
    assert turns == copied
    joined = " ".join(turn["text"] for turn in whole)
    before, behind = (" ".join(turn["text"] for turn in part) for part in (turns[:after], turns[after:]))
    assert joined == " ".join(part for part in (before, statement, behind) if part)
    assert {turn["speaker"] for turn in whole if statement in turn["text"]} >= {"Person A"}
    if fault(turns, "🙃") is None:
        assert fault(whole, "🙃") != IN_A_ROW
