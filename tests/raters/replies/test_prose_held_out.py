"""520 recorded replies in prose, in 15 languages, written and judged by somebody who had not seen the reader.

At its first reading the reader got 279 right, left 235 unread and invented five values (of 520, with one opt-out taken
for a refusal): four from a JSON object whose only key counts something in the text (`{"number_of_sentences": 1}`), one
from an object that was announced as an example. Both rules were mended afterwards, so the counts below are no longer
those of unseen replies. No rule was written for a single reply.

A second file has 527 replies in 24 languages about 13 questions of other kinds (points, a slider, words of eight
languages), again by somebody who had not seen the reader, in the manner of models that no other file has; 292 give no
answer. At its first reading, and since then no rule has changed, none got a value that it does not give: 66 of the
235 others were read, 169 left unread.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

from vantage.instruments import Instrument, Question
from vantage.raters.conversation import read_reply
from vantage.raters.models.base import Completion
from vantage.scales import OptOut, Scale, show_code

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


SECOND = list(
    csv.DictReader(
        Path(__file__).with_name("prose_second.tsv").read_text("utf-8").splitlines(),
        delimiter="\t",
        quoting=csv.QUOTE_NONE,
    )
)
SCALES = {
    "funny": Scale.points(0, 6, anchors={0: "not funny at all", 6: "extremely funny"}),
    "trust": Scale.points(1, 7, anchors={1: "not at all trustworthy", 7: "completely trustworthy"}),
    "anger": Scale.continuous(0, 100),
    "politeness": Scale.points(1, 5, anchors={1: "非常粗鲁", 5: "非常礼貌"}),
    "tone": Scale.labels("negative", "neutral", "positive", opt_outs=[OptOut("ambiguous", "unclear")]),
    "frequency": Scale.labels("never", "rarely", "sometimes", "often", "always", level="ordinal"),
    "hate": Scale.labels("not hateful", "hateful"),
    "register": Scale.labels("very informal", "informal", "neutral", "formal", "very formal", level="ordinal"),
    "ironie": Scale.labels("nicht ironisch", "ironisch"),
    "frecuencia": Scale.labels("nunca", "a veces", "siempre", level="ordinal"),
    "humour": Scale.labels("pas du tout", "un peu", "beaucoup", level="ordinal"),
    "emotion": Scale.labels("喜び", "怒り", "悲しみ", "なし"),
    "stance": Scale.labels("против", "нейтрально", "за", level="ordinal"),
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


def test_none_of_527_other_replies_gets_a_value_that_it_does_not_give() -> None:
    verdicts = Counter[tuple[bool, str]]()
    for row in SECOND:
        scale = SCALES[row["question"]]
        question = Question(row["question"], row["question"].title(), "How is the text?", scale)
        completion = Completion(row["reply"].replace("⏎", "\n"))
        parsed = read_reply(completion, [question], "", lettered=True, prose=True)[question.id]
        read = show_code(parsed.value) if parsed.value is not None else parsed.status.replace("ambiguous", "unclear")
        if parsed.value is not None and row["question"] not in ("funny", "trust", "anger", "politeness"):
            read = str(scale.label(parsed.value))
        verdict = "right" if read == row["meant"] else "unread" if read == "unparsed" else "invented"
        verdicts[bool(row["meant"]), verdict] += 1
    assert len({row["language"] for row in SECOND}) == 24
    assert verdicts == {(True, "right"): 66, (True, "unread"): 169, (False, "unread"): 292}
