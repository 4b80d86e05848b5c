"""What models wrote that were asked to grade texts: replies of models that no rule had been written for.

The replies were judged before the parser read them. They are from two repositories, some long ones shortened:
github.com/Booyaka101/llm-judge-blind-spot (Copyright 2026 Christian Bosch, MIT License) and github.com/instructlab/eval
(Apache License 2.0; the replies of granite-7b-lab); their licences are in NOTICE. Those of other repositories are only
pointed to, in elsewhere.csv.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

from tests.raters.replies.test_unseen import judged
from vantage.instruments import Question
from vantage.raters.replies import parse_reply
from vantage.scales import Scale

HERE = Path(__file__).parent
QUESTIONS = {
    "score": Question(
        "quality",
        "Quality",
        "Rate the response's overall quality from 1 to 10, where 1 is unusable and 10 is excellent.",
        Scale.points(1, 10, anchors={1: "unusable", 10: "excellent"}),
    ),
    "verdict": Question(
        "verdict", "Verdict", "Does it contain an error of any kind?", Scale.labels("NO ERROR", "ERROR")
    ),
    "winner": Question("winner", "Winner", "Which response is better?", Scale.labels("A", "B")),
    "mtbench": Question("rating", "Rating", "Please rate the response on a scale of 1 to 10.", Scale.points(1, 10)),
}


def test_replies_of_judges_are_read_as_meant() -> None:
    # At first reading 168 of 175 (5 invented); the 41 replies of four further models, read after the rules were mended,
    # were all read right at first.
    counts: Counter[tuple[str, str]] = Counter()
    for line in (HERE / "judges.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        reply = parse_reply(record["reply"], QUESTIONS[record["question"]])
        meant = record["meant"].split("|")
        verdicts = {judged(reply, one) for one in meant}
        counts[record["part"], "right" if "right" in verdicts else judged(reply, meant[0])] += 1
    # Prose is read only where nothing casts doubt on it, so 14 stay unread; none is invented.
    assert counts == {
        ("mended on", "right"): 86,
        ("mended on", "missed"): 5,
        ("held out", "right"): 75,
        ("held out", "missed"): 9,
        ("new", "right"): 41,
    }


def test_the_replies_that_are_pointed_to_have_a_question_and_a_label() -> None:
    lines = [line for line in (HERE / "elsewhere.csv").read_text("utf-8").splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    assert len(rows) == len({(row["sha256"], row["question"], row["model"]) for row in rows}) == 2885
    assert {len(row["sha256"]) for row in rows} == {16}


def test_numbers_count_where_the_model_was_shown_numbers() -> None:
    words = Scale.points(1, 3, anchors={1: "dull", 2: "somewhat interesting", 3: "interesting"})
    question = Question(
        "engaging", "Engaging", "Is the response dull or interesting?", replace(words, called="numbers")
    )
    text = "Rating: 2\nRationale: The response is somewhat interesting."
    assert parse_reply(text, question).value == 2
    assert parse_reply("Rating: 2", replace(question, scale=words)).rule == "other-scale"
    assert parse_reply("2. It shifts the topic.", question).value == 2


def test_what_is_said_of_the_response_is_no_announcement() -> None:
    score = QUESTIONS["score"]
    assert parse_reply("**SCORE: 9**\n\nThe response is excellent: it is correct.", score).value == 9
    assert parse_reply("SCORE: 4. The response is excellent in style but wrong.", score).value is None
    assert parse_reply("The rating is 9. Overall, the grade is unusable.", score).value is None
    assert parse_reply("Its rating is 9, while the reference answer is 10.", QUESTIONS["mtbench"]).value is None
    assert parse_reply("With tests it could be improved, earning a rating of 10.", QUESTIONS["mtbench"]).value is None


def test_points_of_a_list_are_no_answers() -> None:
    agree = Question("agree", "Agree", "Do you agree?", Scale.labels("Disagree", "Agree", level="ordinal"))
    text = "Disagree\n\nHere is an explanation of my choice:\n\n1. **Duty**: We must.\n\n2. **Law**: It says so."
    assert parse_reply(text, agree).value == 0
    assert parse_reply("1.  **Error:** It returns the minimum.\n\nSCORE: 2", QUESTIONS["score"]).value == 2
    assert parse_reply("M>\nOption 1:\n\nGlobalisation should serve humanity.", agree).value is None
    assert parse_reply('The claim can be interpreted as "Disagree" because it denies it.', agree).value is None
