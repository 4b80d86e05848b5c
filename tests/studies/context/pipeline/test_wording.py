"""What the generator is told comes from a file, which is checked before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vantage
from vantage.documents import Document, dump
from vantage.errors import InputError
from vantage.studies.context.pipeline.writing import STEPS, Wording, filled, quoted

BUNDLED = Path(vantage.__file__).parent / "studies" / "context" / "pipeline" / "wording.yaml"


def changed(tmp_path: Path, **changes: object) -> Path:
    data = {**dict(Document.read(BUNDLED).data), **changes}
    file = tmp_path / "mine.yaml"
    file.write_text(dump({name: value for name, value in data.items() if value is not None}), "utf-8")
    return file


@pytest.mark.parametrize("step", STEPS)
def test_every_step_is_asked_with_a_worked_example(step: str) -> None:
    turns = [{"speaker": "Person A", "text": "Hi."}, {"speaker": "Person B", "text": "Hm."}]
    item = {"text": "I wait.", "scenario": "Rain.", "conversation": turns, "meaning": "It is so.", "question": "Tone"}
    chat = Wording.read().messages(step, {**item, "reason": "it is empty"})
    assert [message.role for message in chat] == ["system", "user", "assistant", "user"]
    assert "> I wait." in chat[-1].content
    assert "turned down: it is empty" in chat[-1].content
    assert ("(Tone): It is so." in chat[-1].content) == (step != "first-person")
    assert "{" not in chat[-1].content


@given(st.text())
def test_no_line_of_a_quotation_leaves_it(text: str) -> None:
    told = filled("Before\n{statement}\nAfter", {"statement": quoted(text)})
    lines = told.split("\n")
    assert lines[0] == "Before"
    assert lines[-1] == "After"
    assert all(line.startswith("> ") for line in lines[1:-1])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"scenario": None}, "mine.yaml: the wording 'scenario' is missing; give first-person, scenario"),
        ({"conversation": "Write {statement}."}, "the wording 'conversation' has no {scenario}; put it in"),
        ({"example": {"statement": "Hi."}}, "the example is not complete"),
        ({"example": "none"}, "the example is not complete"),
    ],
)
def test_a_wording_that_lacks_something_is_refused(tmp_path: Path, changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Wording.read(changed(tmp_path, **changes))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"after": 9}, "the example's 'after' is not the number of one of its turns"),
        ({"conversation": "Nothing."}, "the example cannot be used: the conversation is empty"),
    ],
)
def test_an_example_that_cannot_be_used_is_refused(tmp_path: Path, changes: dict[str, object], sentence: str) -> None:
    example = {**dict(Document.read(BUNDLED).data["example"]), **changes}
    with pytest.raises(InputError, match=sentence):
        Wording.read(changed(tmp_path, example=example))


def test_a_wording_may_do_without_an_example(tmp_path: Path) -> None:
    words = Wording.read(changed(tmp_path, example=None))
    assert [message.role for message in words.messages("scenario", {"text": "I wait."})] == ["system", "user"]
