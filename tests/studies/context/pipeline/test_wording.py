"""What the writer is told: a worked example, then the task, in which nothing that is quoted can give orders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.instruments.questions import fill
from vantage.studies.context.pipeline.dialogue import WRITTEN_TOKENS, messages, quoted


@pytest.mark.parametrize("step", WRITTEN_TOKENS)
def test_every_step_is_asked_with_a_worked_example(step: str) -> None:
    turns = [{"speaker": "Person A", "text": "Hi."}, {"speaker": "Person B", "text": "Hm."}]
    item = {"text": "I wait.", "scenario": "Rain.", "conversation": turns, "meaning": "It is so.", "question": "Tone"}
    chat = messages(step, {**item, "reason": "it is empty"})
    assert [message.role for message in chat] == ["system", "user", "assistant", "user"]
    assert "> I wait." in chat[-1].content
    assert "turned down: it is empty" in chat[-1].content
    assert "(Tone): It is so." in chat[-1].content
    assert not any("{" in message.content for message in chat)


@given(st.text())
def test_no_line_of_a_quotation_leaves_it(text: str) -> None:
    told = fill("Before\n{statement}\nAfter", {"statement": quoted(text)})
    lines = told.split("\n")
    assert lines[0] == "Before"
    assert lines[-1] == "After"
    assert all(line.startswith("> ") for line in lines[1:-1])
