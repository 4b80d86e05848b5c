from __future__ import annotations

from pathlib import Path

import pytest

from vantage import Instrument, Scale
from vantage.errors import InputError
from vantage.interop.answers import (
    GivenAnswer,
    as_number,
    ask,
    ask_option,
    coded,
    rationale_of,
    with_rationales,
)


def test_fields_find_their_question() -> None:
    instrument = Instrument.load("appraisals")
    assert ask("Self_Responsibility", instrument) == "self-responsibility"
    assert ask("  my  field ", instrument) == "my field"
    assert ask("  ", None) == "answer"
    assert len(ask("x" * 500, None)) == 200
    assert ask_option("topics", "a\nb") == "topics: a b"


def test_rationales_find_their_answer() -> None:
    assert rationale_of("reason-tone", ["tone", "warmth"]) == "tone"
    assert rationale_of("explanation", ["tone"]) == ""
    assert rationale_of("tone", ["tone"]) is None
    answers = [GivenAnswer("1", "ann", "tone"), GivenAnswer("1", "ann", "warmth")]
    told = with_rationales(answers, {"": "all", "tone": "this"})
    assert [answer.rationale for answer in told] == ["this", "all"]


def test_bare_scales() -> None:
    answers = [
        *(GivenAnswer("1", rater, "word", label=label) for rater, label in (("a", "Yes"), ("b", "no"), ("c", "yes"))),
        *(GivenAnswer("1", rater, "points", label=label) for rater, label in (("a", "2"), ("b", "5"))),
        *(GivenAnswer("1", rater, "slider", number=value) for rater, value in (("a", 0.25), ("b", 0.75))),
        GivenAnswer("1", "a", "same", label="only"),
        GivenAnswer("1", "a", "declined", status="refused"),
    ]
    judgments, (instrument,), notes = coded(answers, None, "My File", {})
    assert instrument.id == "my-file"
    described = {question.id: question.scale.describe() for question in instrument.questions}
    assert described == {
        "word": "no, Yes (nominal)",
        "points": "2…5 (ordinal)",
        "slider": "any number from 0.25 to 0.75 (interval)",
        "same": "only, another answer (nominal)",
        "declined": "0…1 (ordinal)",
    }
    assert judgments["value"].to_list() == [1, 0, 1, 2, 5, 0.25, 0.75, 0, None]
    assert "seconds" not in judgments.columns
    assert notes == []


def test_labels_beside_numbers_are_labels() -> None:
    answers = [GivenAnswer("1", "a", "q", label="1"), GivenAnswer("1", "b", "q", label="bad_text")]
    judgments, (instrument,), _ = coded(answers, None, "x", {})
    assert instrument.questions[0].scale.describe() == "1, bad_text (nominal)"
    assert judgments["value"].to_list() == [0, 1]


def test_an_empty_label_is_refused() -> None:
    answers = [GivenAnswer("1", "a", "q", label=" ", file=Path("x.json"), row=3)]
    with pytest.raises(InputError, match=r"x\.json, row 3: ' ', given by rater 'a'"):
        coded(answers, None, "x", {})


def test_scales_of_the_tool_come_before_guesses() -> None:
    answers = [GivenAnswer("1", "a", "q", label="high")]
    judgments, _, _ = coded(answers, None, "x", {"q": Scale.labels("low", "high")})
    assert judgments["value"].to_list() == [1]


def test_numbers() -> None:
    assert as_number("1e3") == 1000
    for odd in ("nan?", "", None, True, [1], "inf", "nan"):
        assert as_number(odd) is None
