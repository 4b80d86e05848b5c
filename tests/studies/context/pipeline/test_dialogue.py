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
    SpokenTurn,
    as_turns,
    cell,
    contains,
    fault,
    read_turns,
    script,
)

TWO = [SpokenTurn("Person A", "It rains."), SpokenTurn("Person B", "Again?")]
WORDS = st.lists(st.sampled_from(["rain", "bus", "late", "again", "we", "walk"]), min_size=1, max_size=6).map(" ".join)
TURNS = st.lists(st.tuples(st.sampled_from(["Person A", "Person B"]), WORDS).map(lambda t: SpokenTurn(*t)), min_size=1)


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
def test_a_script_is_read_back_as_it_was_written(turns: list[SpokenTurn]) -> None:
    assert read_turns(script(turns)) == turns
    assert as_turns(cell(turns)) == turns
    assert read_turns(json.dumps(cell(turns))) == turns


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([], EMPTY),
        ([SpokenTurn("Person A", "Hi."), SpokenTurn("person a", "Hm.")], "the conversation has 1 speaker, not 2"),
        ([SpokenTurn("A", "Hi."), SpokenTurn("a", "Oh."), SpokenTurn("B", "Hm.")], IN_A_ROW),
        ([SpokenTurn(name, "Hi.") for name in "ABC"], "the conversation has 3 speakers, not 2"),
        ([SpokenTurn("A", "x" * 5000), SpokenTurn("B", "y" * 2000)], "the conversation has more than 6,000 characters"),
        ([SpokenTurn("A", "Well, I LOVE it — really!"), SpokenTurn("B", "Hm.")], CONTAINS),
        ([SpokenTurn("A", "I love"), SpokenTurn("B", "it.")], CONTAINS),
        ([SpokenTurn("A", "I loved it."), SpokenTurn("B", "Hm.")], None),
    ],
)
def test_faults_are_found_without_a_model(turns: list[SpokenTurn], reason: str | None) -> None:
    assert fault(turns, "I love it") == reason


def test_any_number_of_people_may_speak_in_real_turns() -> None:
    assert fault([SpokenTurn("A", "Hi.")], "I love it", speakers=None) is None


@given(TURNS, WORDS)
def test_a_statement_is_found_wherever_it_is_said(turns: list[SpokenTurn], statement: str) -> None:
    said = [*turns, SpokenTurn("Person A", f"Well: {statement.upper()}!")]
    assert contains(said, statement)


def test_a_statement_of_signs_alone_is_compared_as_it_stands() -> None:
    assert contains([SpokenTurn("A", "Oh 🙃")], "🙃")
    assert not contains([SpokenTurn("A", "Hello.")], "🙃")
    assert as_turns(None) == []
