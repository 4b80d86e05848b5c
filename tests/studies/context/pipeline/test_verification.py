"""Contexts are verified with the bundled instrument, and models in two roles are named."""

from __future__ import annotations

import pytest

from tests.studies.context.pipeline.script_writer import ScriptWriter
from vantage import ChatRater, Instrument
from vantage.runs import RunStore
from vantage.scales import Scale
from vantage.studies.context.pipeline.attempts import (
    Candidate,
    label_in_words,
    meaning,
    own_labels,
    shared_models,
    verified,
)
from vantage.studies.context.pipeline.dialogue import SpokenTurn
from vantage.studies.context.pipeline.writing import Asking

SARCASM = Instrument.load("sarcasm")
QUESTION = SARCASM.questions[0]
CANDIDATES = [
    Candidate("a", "I wait.", (SpokenTurn("Person A", "Forty minutes."), SpokenTurn("Person B", "I wait.")), 1.0),
    Candidate("b", "We wait.", (SpokenTurn("Person A", "An hour."), SpokenTurn("Person B", "We wait.")), 0.0),
]


def test_each_candidate_gets_its_own_verdict_and_cost() -> None:
    verifier = ScriptWriter("v", lambda step, item, _: "1" if (step, item) == ("natural-flow", "b") else "4")
    with RunStore.temporary() as store:
        found = verified(Asking(store), ChatRater(verifier), CANDIDATES, QUESTION)
    assert found["a"].reason == ""
    assert found["b"].reason == "natural-flow is 1, below 4"
    assert found["b"].text == "label-alignment 4, natural-flow 1, redundancy 4"
    assert found["a"].cost == {"calls": 3, "prompt_tokens": 30, "completion_tokens": 15}


def test_a_verifier_may_be_asked_everything_at_once() -> None:
    reply = '{"label-alignment": 5, "natural-flow": 4, "redundancy": 3}'
    verifier = ScriptWriter("v", lambda *_: reply)
    with RunStore.temporary() as store:
        found = verified(Asking(store), ChatRater(verifier, "together"), CANDIDATES, QUESTION)
    assert {verdict.reason for verdict in found.values()} == {"redundancy is 3, below 4"}
    assert len(verifier.asked) == 2


def test_the_writer_is_not_told_what_it_wrote_for() -> None:
    writer = ScriptWriter("w", lambda *_: "ambiguous")
    with RunStore.temporary() as store:
        found = own_labels(Asking(store), ChatRater(writer), CANDIDATES, SARCASM, QUESTION)
    assert found["a"].reason == "written for yes, labelled ambiguous"
    assert found["a"].text == "ambiguous"
    assert all("Intended label" not in r.messages[-1].content for r in writer.requests)


@pytest.mark.parametrize(
    ("models", "count"),
    [
        (("a", "b", ["c"]), 0),
        (("a", "a", ["c"]), 1),
        (("a", "b", ["a"]), 1),
        (("a", "b", ["b", "c"]), 1),
        (("a", "b", ["a", "b"]), 2),
        (("a", "a", ["a"]), 2),
        (("", "", ["a"]), 0),
    ],
)
def test_a_model_with_two_roles_is_named(models: tuple[str, str, list[str]], count: int) -> None:
    warnings = shared_models(*models)
    assert len(warnings) == count
    assert all("itself" in warning for warning in warnings)


def test_labels_are_told_in_words() -> None:
    assert label_in_words(QUESTION, 0) == "Sarcasm: no"
    assert meaning(QUESTION.scale, 1) == "The statement is meant sarcastically."
    assert meaning(Scale.points(1, 5), 3) == "3"
    assert meaning(Scale.continuous(0, 1), 0.5) == "0.5"
