"""Conversations are read whatever form a model gives them, and faults are found without a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.studies.context.pipeline.dialogue import (
    CONTAINS,
    EMPTY,
    IN_A_ROW,
    contains,
    fault,
    read_turns,
    script,
)


def talk(*turns: tuple[str, str]) -> list[dict[str, str]]:
    return [{"speaker": speaker, "text": text} for speaker, text in turns]


TWO = talk(("Person A", "It rains."), ("Person B", "Again?"))
WORDS = st.lists(st.sampled_from(["rain", "bus", "late", "again", "we", "walk"]), min_size=1, max_size=6).map(" ".join)
TURNS = st.lists(st.tuples(st.sampled_from(["Person A", "Person B"]), WORDS), min_size=1).map(lambda t: talk(*t))


@pytest.mark.parametrize(
    "reply",
    [
        "Person A: It rains.\nPerson B: Again?",
        "Sure! Here is the conversation:\n\n**Person A:** It rains.\n\n**Person B:** Again?",
        "1. Person A: It rains.\n2. Person B: Again?",
        "<think>Person A: no, not this.</think>\nPerson A: It rains.\nPerson B: Again?",
        '```\nPerson A: It\nrains.\nPerson B: "Again?"\n```',
        "Person A:\nIt rains.\nPerson B:\nAgain?",
    ],
)
def test_a_conversation_is_read_in_the_forms_that_models_use(reply: str) -> None:
    assert read_turns(reply) == TWO


@pytest.mark.parametrize("reply", ["", "   ", "Two people talk.", "<think>never ended", '["a", "b"]', "{}", "Note: "])
def test_what_is_no_conversation_has_no_turns(reply: str) -> None:
    assert read_turns(reply) == []


@given(TURNS)
def test_a_script_is_read_back_as_it_was_written(turns: list[dict[str, str]]) -> None:
    assert read_turns(script(turns)) == turns


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([], EMPTY),
        (talk(("Person A", "Hi."), ("person a", "Hm.")), "the conversation has 1 speaker, not 2"),
        (talk(("A", "Hi."), ("a", "Oh."), ("B", "Hm.")), IN_A_ROW),
        (talk(*((name, "Hi.") for name in "ABC")), "the conversation has 3 speakers, not 2"),
        (talk(("A", "x" * 5000), ("B", "y" * 2000)), "the conversation has more than 6,000 characters"),
        (talk(("A", "Well, I LOVE it — really!"), ("B", "Hm.")), CONTAINS),
        (talk(("A", "I love"), ("B", "it.")), CONTAINS),
        (talk(("A", "I loved it."), ("B", "Hm.")), None),
    ],
)
def test_faults_are_found_without_a_model(turns: list[dict[str, str]], reason: str | None) -> None:
    assert fault(turns, "I love it") == reason


@given(TURNS, WORDS)
def test_a_statement_is_found_wherever_it_is_said(turns: list[dict[str, str]], statement: str) -> None:
    said = [*turns, *talk(("Person A", f"Well: {statement.upper()}!"))]
    assert contains(said, statement)


def test_a_statement_of_signs_alone_is_compared_as_it_stands() -> None:
    assert contains(talk(("A", "Oh 🙃")), "🙃")
    assert not contains(talk(("A", "Hello.")), "🙃")
