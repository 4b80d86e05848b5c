from __future__ import annotations

import json

import pytest

from vantage.instruments import Instrument, Question
from vantage.raters.replies import parse_replies

WARMTH = Instrument.load("warmth-competence").questions
STEREOTYPES = Instrument.load("stereotype-content").questions
TRAITS = [q for q in STEREOTYPES if q.id in {"friendly", "honest", "good-natured"}]


def values(text: str | None, questions: list[Question] | tuple[Question, ...]) -> dict[str, float | str]:
    replies = parse_replies(text, questions)
    return {id_: reply.rule if reply.value is None else reply.value for id_, reply in replies.items()}


@pytest.mark.parametrize(
    "text",
    [
        '{"friendly": 4, "honest": 3, "good-natured": 2}',
        "```json\n{'Friendly': '4/5', 'Honest': {'rating': 3, 'reason': 'r'}, 'Good-natured': 2,}\n```",
        '{"ratings": {"friendly": {"score": 4}, "honest": {"score": 3}, "good_natured": {"score": 2}}}',
        '{"all": [{"id": "friendly", "score": 4}, {"id": "honest", "score": 3}, {"id": "good-natured", "score": 2}]}',
        '[{"name": "Friendly", "rate": 4}, {"name": "Honest", "rate": 3}, {"name": "Good-natured", "rate": 2}]',
        "- Friendly: 4/5\n- Honest: 3/5\n- Good-natured: 2/5",
        "* **Friendly:** 4\n* **Honest:** 3 (some say)\n* **Good-natured:** 2",
        "Here are my ratings:\n\nFriendly: 4\nHonest: 3\nGood-natured: 2\n\nOverall rating: 5",
        "| Trait | Rating |\n|---|---|\n| Friendly | 4 |\n| Honest | 3 |\n| Good-natured | 2 |",
        "a. Friendly - 4\nb. Honest - 3\nc. Good natured - 2",
        "1. Friendly: four\n2. Honest: 3 out of 5\n3. Good-natured: 2.",
    ],
)
def test_every_layout_is_read(text: str) -> None:
    assert values(text, TRAITS) == {"good-natured": 2.0, "friendly": 4.0, "honest": 3.0}


@pytest.mark.parametrize(
    "text",
    [
        '{"trust": 2, "sociability": 1, "competence": 0} Hmm, trust should be 1 instead.',
        '{"draft": {"trust": 2, "sociability": 1, "competence": 0}}',
        '{"trust": {"stars": 2}, "sociability": {"first": 1}, "competence": {"in_doubt": 0}}',
        '[{"question": "trust", "stars": 2}, {"question": "sociability", "stars": 1}]',
    ],
)
def test_strictly_each_answer_stands_where_it_was_asked_for(text: str) -> None:
    assert {reply.value for reply in parse_replies(text, WARMTH, strict=True).values()} == {None}


def test_numbers_of_questions_are_no_names() -> None:
    assert values("1. -2\n2. 0", WARMTH) == dict.fromkeys(["trust", "sociability", "competence"], "missing")


def test_what_is_left_out_or_said_twice_is_told() -> None:
    assert values("Trust: 1\nTrust: 2\nSociability: 1\nSociability: 1", WARMTH) == {
        "trust": "several",
        "sociability": 1.0,
        "competence": "missing",
    }


def test_each_answer_keeps_its_obstacle() -> None:
    assert values("Trust: 7\nSociability: 1 or 2\nCompetence: 1.5", WARMTH) == {
        "trust": "off-scale",
        "sociability": "range",
        "competence": "decimal",
    }


def test_reasons_stay_with_their_answers() -> None:
    replies = parse_replies("| Trust | -2 | a lie |\nSociability: 1 (smiles)", WARMTH)
    assert replies["trust"].rationale == "a lie"
    assert replies["sociability"].rationale == "smiles"
    told = parse_replies(json.dumps({"trust": {"answer": 1, "why": "kept a promise"}}), WARMTH)
    assert told["trust"].rationale == "kept a promise"


def test_a_refusal_refuses_every_question() -> None:
    replies = parse_replies("I'm sorry, but I cannot rate people by their group.", WARMTH)
    assert {reply.status for reply in replies.values()} == {"refused"}


def test_a_single_question_is_read_as_usual() -> None:
    assert parse_replies("I'd say 2.", WARMTH[:1])["trust"].value == 2


@pytest.mark.parametrize(("text", "rule"), [(None, "empty"), ("", "empty"), ("<think>hm", "unclosed-thinking")])
def test_no_text_no_answers(text: str | None, rule: str) -> None:
    assert set(values(text, WARMTH).values()) == {rule}


def test_a_title_that_two_questions_share_names_neither() -> None:
    scale = WARMTH[0].scale
    questions = [Question("a", "Rating", "?", scale), Question("b", "Rating", "?", scale)]
    assert values("Rating: 1", questions) == {"a": "missing", "b": "missing"}
    assert values("a: 1\nb: 2", questions) == {"a": 1.0, "b": 2.0}
