"""A statement that is put into a conversation stands there once and word for word, or the conversation is rejected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.studies.context.pipeline.test_dialogue import TURNS
from vantage.studies.context.pipeline.dialogue import (
    CHANGED,
    EMPTY,
    LOST,
    TWICE,
    Position,
    SpokenTurn,
    in_a_row,
    insert,
    insertion_fault,
    read_place,
)

TURNS_OF_TWO = [
    SpokenTurn("Person A", "It rains."),
    SpokenTurn("Person B", "Again?"),
    SpokenTurn("Person A", "All day."),
]
STATEMENT = "I just love waiting."


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("After: 2\nSpeaker: Person B", Position(2, "Person B")),
        ("**After:** 3\n**Speaker:** person b", Position(3, "Person B")),
        ("after turn 1", Position(1, "Person B")),
        ("I would put it after 2.", Position(2, "Person A")),
        ("2", Position(2, "Person A")),
        ("<think>After: 1</think>After: 3", Position(3, "Person B")),
        ("After: 2\nSpeaker: The narrator", Position(2, "Person A")),
        ("After: 0", None),
        ("After: 4", None),
        ("After: -1", None),
        ("at the end", None),
        ("", None),
    ],
)
def test_a_place_is_read_from_a_reply(reply: str, place: Position | None) -> None:
    assert read_place(reply, TURNS_OF_TWO) == place


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("I just love waiting.", None),
        ("Oh. I just love  waiting. Truly.", None),
        ("I just adore waiting.", CHANGED),
        ("i just love waiting", CHANGED),
        ("I just love waiting for you.", CHANGED),
        ("What a day.", LOST),
        ("I just love waiting. I just love waiting.", TWICE),
        ("I just love waiting. I JUST LOVE WAITING!", TWICE),
    ],
)
def test_a_statement_that_is_lost_changed_or_repeated_is_told(said: str, reason: str | None) -> None:
    assert insertion_fault([*TURNS_OF_TWO, SpokenTurn("Person B", said)], STATEMENT) == reason


def test_a_short_statement_inside_a_word_does_not_count() -> None:
    assert insertion_fault([SpokenTurn("A", "Nothing."), SpokenTurn("B", "Not")], "No") in (LOST, CHANGED)
    assert insertion_fault([SpokenTurn("A", "Nothing."), SpokenTurn("B", "No")], "No") is None
    assert insertion_fault([], STATEMENT) == EMPTY


@given(TURNS, st.text(min_size=1).filter(lambda t: bool(t.strip()) and t.isprintable()), st.data())
def test_what_is_put_in_by_the_program_is_never_changed(
    turns: list[SpokenTurn], statement: str, data: st.DataObject
) -> None:
    after = data.draw(st.integers(1, len(turns)))
    whole = insert(turns, statement, Position(after, "Person A"))
    joined = " ".join(turn.text for turn in whole)
    before, behind = (" ".join(turn.text for turn in part) for part in (turns[:after], turns[after:]))
    assert joined == " ".join(part for part in (before, statement, behind) if part)
    assert {turn.speaker for turn in whole if statement in turn.text} >= {"Person A"}
    if not in_a_row(turns):
        assert insertion_fault(whole, statement) in (None, TWICE)
