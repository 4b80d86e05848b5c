"""520 recorded replies in prose, in 15 languages, written and judged by somebody who had not seen the reader.

At its first reading the reader got 279 right, left 235 unread and invented five values (of 520, with one opt-out taken
for a refusal): four from a JSON object whose only key counts something in the text (`{"number_of_sentences": 1}`), one
from an object that was announced as an example. Both rules were mended afterwards, so the counts below are no longer
those of unseen replies. No rule was written for a single reply.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from vantage.instruments import Instrument, Question
from vantage.raters.conversation import read_reply
from vantage.raters.models.base import Completion
from vantage.scales import OptOut, Scale

REPLIES = [
    json.loads(line) for line in Path(__file__).with_name("prose_held_out.jsonl").read_text("utf-8").splitlines()
]
UNCLEAR = [OptOut("ambiguous", "ambiguous")]
POLITE = Scale.points(1, 5, anchors={1: "not at all polite", 5: "very polite"})
STANCE = Scale.labels("against", "neutral", "in favour", opt_outs=UNCLEAR)
SARCASTIC = Scale.labels("not sarcastic", "sarcastic", opt_outs=UNCLEAR)
QUESTIONS = {
    "trust": Instrument.load("warmth-competence").question("trust"),
    "politeness": Question("politeness", "Politeness", "How polite is the message?", POLITE),
    "stance": Question("stance", "Stance", "What is the author's stance?", STANCE),
    "sarcasm": Question("sarcasm", "Sarcasm", "Is the text sarcastic?", SARCASTIC),
    "offence": Question(
        "offence", "Offence", "Is it offensive?", Scale.labels("no", "somewhat", "very", level="ordinal")
    ),
}


def said(question: Question, reply: str) -> float | str | None:
    """What is read: a code, the label of an option, a status, or nothing."""
    parsed = read_reply(Completion(reply), [question], "", lettered=True, prose=True)[question.id]
    if parsed.value is None:
        return None if parsed.status == "unparsed" else parsed.status
    return question.scale.label(parsed.value) if question.scale.named else parsed.value


def verdict(row: dict[str, str]) -> str:
    read = said(QUESTIONS[row["question"]], row["reply"])
    if read == row["gold"]:
        return "right"
    return "unread" if read is None else "other status" if read in ("refused", "ambiguous") else "invented"


def test_at_most_one_value_in_five_hundred_is_invented() -> None:
    verdicts = Counter(map(verdict, REPLIES))
    assert sum(verdicts.values()) == 520
    assert verdicts["invented"] <= 1
    assert verdicts["other status"] <= 1
    assert verdicts["right"] >= 283


def test_no_reply_without_an_answer_gets_one() -> None:
    without = [row for row in REPLIES if row["gold"] is None]
    assert len(without) == 200
    assert Counter(map(verdict, without))["invented"] <= 1
