"""Conversations are read whatever form a model gives them, and faults are found without a model."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.studies.context.pipeline.dialogue import (
    CONTAINS,
    EMPTY,
    IN_A_ROW,
    Turn,
    as_turns,
    cell,
    contains,
    fault,
    read_turns,
    script,
)

TWO = [Turn("Person A", "It rains."), Turn("Person B", "Again?")]
WORDS = st.lists(st.sampled_from(["rain", "bus", "late", "again", "we", "walk"]), min_size=1, max_size=6).map(" ".join)
TURNS = st.lists(st.tuples(st.sampled_from(["Person A", "Person B"]), WORDS).map(lambda t: Turn(*t)), min_size=1)


@pytest.mark.parametrize(
    "reply",
    [
        "Person A: It rains.\nPerson B: Again?",
        "Sure! Here is the conversation:\n\n**Person A:** It rains.\n\n**Person B:** Again?",
        "1. Person A: It rains.\n2. Person B: Again?",
        "<think>Person A: no, not this.</think>\nPerson A: It rains.\nPerson B: Again?",
        '```\nPerson A: It\nrains.\nPerson B: "Again?"\n```',
        '[{"speaker": "Person A", "text": "It rains."}, {"speaker": "Person B", "text": "Again?"}]',
        '{"turns": [{"role": "Person A", "content": "It rains."}, {"role": "Person B", "content": "Again?"}]}',
        "Person A:\nIt rains.\nPerson B:\nAgain?",
    ],
)
def test_a_conversation_is_read_in_the_forms_that_models_use(reply: str) -> None:
    assert read_turns(reply) == TWO


@pytest.mark.parametrize("reply", ["", "   ", "Two people talk.", "<think>never ended", '["a", "b"]', "{}", "Note: "])
def test_what_is_no_conversation_has_no_turns(reply: str) -> None:
    assert read_turns(reply) == []


@given(TURNS)
def test_a_script_is_read_back_as_it_was_written(turns: list[Turn]) -> None:
    assert read_turns(script(turns)) == turns
    assert as_turns(cell(turns)) == turns
    assert read_turns(json.dumps(cell(turns))) == turns


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([], EMPTY),
        ([Turn("Person A", "Hi."), Turn("person a", "Hm.")], "the conversation has 1 speaker, not 2"),
        ([Turn("A", "Hi."), Turn("a", "Oh."), Turn("B", "Hm.")], IN_A_ROW),
        ([Turn(name, "Hi.") for name in "ABC"], "the conversation has 3 speakers, not 2"),
        ([Turn("A", "x" * 5000), Turn("B", "y" * 2000)], "the conversation has more than 6,000 characters"),
        ([Turn("A", "Well, I LOVE it — really!"), Turn("B", "Hm.")], CONTAINS),
        ([Turn("A", "I love"), Turn("B", "it.")], CONTAINS),
        ([Turn("A", "I loved it."), Turn("B", "Hm.")], None),
    ],
)
def test_faults_are_found_without_a_model(turns: list[Turn], reason: str | None) -> None:
    assert fault(turns, "I love it") == reason


def test_any_number_of_people_may_speak_in_real_turns() -> None:
    assert fault([Turn("A", "Hi.")], "I love it", speakers=None) is None


@given(TURNS, WORDS)
def test_a_statement_is_found_wherever_it_is_said(turns: list[Turn], statement: str) -> None:
    said = [*turns, Turn("Person A", f"Well: {statement.upper()}!")]
    assert contains(said, statement)


def test_a_statement_of_signs_alone_is_compared_as_it_stands() -> None:
    assert contains([Turn("A", "Oh 🙃")], "🙃")
    assert not contains([Turn("A", "Hello.")], "🙃")
    assert as_turns(None) == []
