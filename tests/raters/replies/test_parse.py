from __future__ import annotations

import json
from typing import Any

import pytest

from tests.raters.replies.questions import (
    AGREE,
    FIVE,
    IRONY,
    NINE,
    OFTEN,
    POLITE,
    SARCASM,
    SENTIMENT,
    SLIDER,
    TRUST,
    USEFUL,
    Unread,
    expected,
)
from vantage.instruments import MultipleChoice, Question
from vantage.raters.replies import parse_reply
from vantage.raters.replies.own_words import parse_own
from vantage.scales import Scale

ANSWERED = [
    # JSON, with all that goes wrong in it
    (NINE, '{"answer": 7, "reason": "x"}', 7, "json:number"),
    (NINE, "Sure:\n```json\n{'rating': '7', 'rationale': 'it\\'s ok',}\n```\nHope it helps", 7, "json:number"),
    (NINE, '{"response": {"score": 3, "why": "no"}}', 3, "json:number"),
    (NINE, '{"answers": [{"rating": 7}]}', 7, "json:number"),
    (NINE, '{"label": "Completely", "confidence": 0.4}', 9, "json:label"),
    (NINE, '{"first answer": 3, "final answer": 5}', 5, "json:number"),
    (NINE, '{"rating": "<1-9>"} like so: {"rating": 2}', 2, "json:number"),
    (NINE, '{"rating": 7, "reason": "The narr', 7, "json:number"),
    (SARCASM, '{"answer": true}', 1, "json:label"),
    (TRUST, '{"trust": {"value": -2}, "competence": {"value": 3}}', -2, "json:number"),
    # tags and boxes
    (NINE, "<likert>7</likert><rationale>because 3 people</rationale>", 7, "tag:number"),
    (NINE, "It follows that \\boxed{7}.", 7, "tag:number"),
    (NINE, "<think>maybe 3? no, 5</think>\n5", 5, "whole:number"),
    # numbers
    (FIVE, "4/5", 4, "whole:fraction"),
    (FIVE, "4 out of 5", 4, "whole:fraction"),
    (FIVE, "4 on a scale of 1 to 5", 4, "whole:number"),
    (FIVE, "On a scale from 1 to 5, 4.", 4, "whole:number"),
    (FIVE, "Rating: 3 (somewhat)", 3, "marker:number"),
    (FIVE, "The rating is 3 on a scale of 1 to 5", 3, "whole:number"),
    (FIVE, "On a scale of 1 to 5, I would rate them a 4.", Unread(4), "marker:number"),
    (FIVE, "Rating: ④", 4, "marker:number"),
    (FIVE, "| Rating | 4 |", 4, "marker:number"),
    (FIVE, "- Rating: 4/5", 4, "marker:fraction"),
    (FIVE, "**Rating:** 4", 4, "marker:number"),
    (FIVE, "I'd give it a solid 4.", 4, "marker:number"),
    (FIVE, "Score: 4 stars", 4, "marker:number"),
    (NINE, "seven", 7, "whole:word"),
    (NINE, "７", 7, "whole:number"),
    (NINE, "**7**", 7, "whole:number"),
    (NINE, "[7]", 7, "whole:number"),
    (NINE, "7 - they were upset for 3 days", 7, "lead:number"),
    (NINE, "Rating (1-9): 4", Unread(4), "marker:number"),
    (NINE, "Rating on a scale from 1 to 9: 4", Unread(4), "marker:number"),
    (TRUST, "+2", 2, "whole:number"),
    (TRUST, "−2", -2, "whole:number"),
    (TRUST, "minus two", -2, "whole:word"),
    (TRUST, "Score: -2/3", -2, "marker:fraction"),
    (TRUST, "Trust: -1 because of the lie", -1, "marker:number"),
    (SLIDER, "72.5", 72.5, "whole:number"),
    (SLIDER, "72%", 72, "whole:number"),
    (SLIDER, "seventy-two", 72, "whole:word"),
    (USEFUL, "0.5", 0.5, "whole:number"),
    (USEFUL, "½", 0.5, "whole:number"),
    # labels and letters
    (TRUST, "Very Trustworthy", 3, "whole:label"),
    (TRUST, "Slightly untrustworthy.", -1, "whole:label"),
    (TRUST, "2 (trustworthy)", 2, "whole:number"),
    (TRUST, "The sentence makes Clinton look untrustworthy.", Unread(-2), "prose:label"),
    (AGREE, "strongly_agree", 5, "whole:label"),
    (AGREE, "(B)", 2, "whole:letter"),
    (AGREE, "B.", 2, "whole:letter"),
    (AGREE, "Answer: b", 2, "marker:letter"),
    (AGREE, "Option D", 4, "whole:letter"),
    (AGREE, "The answer is (C).", 3, "marker:letter"),
    (AGREE, "**Agree**", 4, "whole:label"),
    (AGREE, "4 (agree)", 4, "whole:number"),
    (AGREE, "Agree (4)", 4, "whole:number"),
    (AGREE, "I neither agree nor disagree.", Unread(3), "prose:label"),
    (AGREE, "I agree.", Unread(4), "lead:label"),
    (AGREE, "I strongly disagree with this statement.", Unread(1), "prose:label"),
    (OFTEN, "3 - often", 3, "whole:number"),
    (OFTEN, "0 = never, 1 = rarely, 2 = sometimes, 3 = often, 4 = always. My answer: 3", 3, "marker:number"),
    (SENTIMENT, "The sentiment is negative.", Unread(-1), "prose:label"),
    (SENTIMENT, "I think it's neutral.", Unread(0), "prose:label"),
    (SENTIMENT, "I'd go with negative.", -1, "marker:label"),
    (SARCASM, "Yes, because of the tone.", Unread(1), "lead:label"),
    (SARCASM, "Y", 1, "whole:label"),
    # the end of long reasoning
    (NINE, "The narrator is upset and blames others. Therefore, my rating is 6", 6, "marker:number"),
    (NINE, "They feel watched.\n\nThey feel hunted.\n\n**8**", 8, "line:number"),
    (NINE, "They feel that nothing can be done. 8", Unread(8), "end:number"),
    (SARCASM, "Long text here.\nFinal answer: yes", 1, "marker:label"),
    (SARCASM, "Answer: no\nWait.\nAnswer: yes", Unread(1), "marker:label"),
    (FIVE, "1. They are kind\n2. They are rich\n\nOverall rating: 3/5", Unread(3), "marker:fraction"),
    # hedges and excuses before an answer
    (NINE, "I'm sorry this happened to them. I would rate it a 6.", 6, "marker:number"),
    (NINE, "As an AI, I cannot feel, but I would rate it 4.", Unread(4), "marker:number"),
    (NINE, "I don't know what the scale is, but I'd say it's a 4.", Unread(4), "marker:number"),
    (NINE, "Compared to a 9, this is low; I'd go for 2.", Unread(2), "marker:number"),
    (NINE, "It would be a 7 if they had said so, but they didn't, so 4.", Unread(4), "marker:number"),
    # yes and no in the question's words
    (SARCASM, "It is not sarcastic.", Unread(0), "prose:predicate"),
    (SARCASM, "I believe the statement is sarcastic because it says 'great'.", Unread(1), "prose:predicate"),
    (POLITE, "not polite", Unread(0), "prose:predicate"),
    (POLITE, "The speaker is polite.", Unread(1), "prose:predicate"),
    (IRONY, "The reply isn't ironic.", Unread(0), "prose:predicate"),
]

DECLINED = [
    (NINE, "NA", "not_mentioned", "whole:opt-out"),
    (NINE, "[N/A]", "not_mentioned", "whole:opt-out"),
    (NINE, "Not mentioned.", "not_mentioned", "whole:opt-out"),
    (NINE, "NA: the text does not address this question.", "not_mentioned", "lead:opt-out"),
    (NINE, "The text does not say.", "not_mentioned", "prose:phrase"),
    (NINE, "I would mark it as NA.", "not_mentioned", "marker:opt-out"),
    (NINE, '{"likert": "NA", "explanation": "nothing is said"}', "not_mentioned", "json:opt-out"),
    (SENTIMENT, "ambiguous", "ambiguous", "whole:opt-out"),
    (SENTIMENT, "It cannot be told from the text.", "ambiguous", "prose:phrase"),
    (NINE, "I cannot rate this.", "refused", "prose:refusal"),
    (NINE, "As an AI language model, I don't have opinions.", "refused", "prose:refusal"),
    (NINE, "I'm sorry, but I can't assist with that.", "refused", "prose:refusal"),
    (FIVE, "It is not appropriate to stereotype groups of people.", "refused", "prose:refusal"),
    (FIVE, '{"rating": "I must decline to rate people."}', "refused", "json:refusal"),
]

UNPARSED = [
    (NINE, None, "empty"),
    (NINE, " \n ", "empty"),
    (NINE, '{"rating": ""}', "empty"),
    (NINE, '{"rating": null}', "null"),
    (FIVE, "between 3 and 4", "range"),
    (FIVE, "3 or 4", "range"),
    (FIVE, "3–4", "range"),
    (FIVE, "Somewhere between a 3 and a 4, I feel.", "range"),
    (SLIDER, "between 20 and 30", "range"),
    (NINE, "6 (maybe 7)", "range"),
    (NINE, "6, possibly 7", "range"),
    (NINE, ">6", "no-answer"),
    (TRUST, "untrustwortyh", "no-answer"),
    (SENTIMENT, "neutral/ambiguous", "conflict"),
    (NINE, "I would not rate it above 5.", "negated"),
    (NINE, "7.5", "decimal"),
    (NINE, "7½", "decimal"),
    (NINE, '{"rating": 7.5}', "decimal"),
    (NINE, "11", "off-scale"),
    (NINE, "0", "off-scale"),
    (NINE, "Rating: 12", "off-scale"),
    (SLIDER, "101", "off-scale"),
    (FIVE, "8/10", "other-scale"),
    (NINE, "Final rating: 7/10", "other-scale"),
    (NINE, "5, 6, 7", "several"),
    (NINE, "1\n2\n3", "echo"),
    (NINE, '{"rating": [3, 4]}', "several"),
    (SARCASM, "Yes and no", "several"),
    (AGREE, "disagree or strongly disagree", "several"),
    (OFTEN, "never, rarely, sometimes, often, always", "several"),
    (AGREE, "4 (disagree)", "conflict"),
    (NINE, "2, completely", "conflict"),
    (NINE, "7\nNA", "conflict"),
    (NINE, "7. The text does not address this question.", "conflict"),
    (NINE, '{"rating": 7, "score": 6}', "conflict"),
    (NINE, "3\nI was torn, so my rating is 6.", "several"),
    (NINE, "not a 5", "negated"),
    (NINE, "It is not a 5.", "negated"),
    (AGREE, "I do not agree", "negated"),
    (SENTIMENT, "not positive", "negated"),
    (FIVE, "N/A", "no-opt-out"),
    (NINE, '{"reason": "The narr', "truncated"),
    (SLIDER, '{"rating": 7', "truncated"),
    (NINE, "All in all, my rating is", "truncated"),
    (NINE, "<think>maybe 3?", "truncated"),
    (NINE, "I would rate this on a scale from 1 to 9.", "echo"),
    (TRUST, "-3 to 3", "echo"),
    (NINE, "1 is not at all, 9 is completely", "echo"),
    (OFTEN, "0 = never\n1 = rarely\n2 = sometimes\n3 = often\n4 = always", "echo"),
    (NINE, "Answer: 3 months", "no-answer"),
    (FIVE, "1. They are seen as warm.\n2. They are seen as kind.\n", "no-answer"),
    (SARCASM, "no idea", "no-answer"),
    (SARCASM, "This is not funny.", "no-answer"),
    (OFTEN, "oftn", "no-answer"),
    (TRUST, "intrustworthy", "no-answer"),
]


@pytest.mark.parametrize(("question", "text", "value", "rule"), ANSWERED, ids=lambda part: str(part)[:30])
def test_answers(question: Question, text: str, value: float, rule: str) -> None:
    reply = parse_reply(text, question)
    if rule.partition(":")[0] in ("whole", "json", "tag", "line"):
        assert (reply.value, reply.status) == (value, "answered")
    assert reply.value == expected(value), reply.rule


@pytest.mark.parametrize(("question", "text", "status", "rule"), DECLINED, ids=lambda part: str(part)[:30])
def test_opt_outs_and_refusals(question: Question, text: str, status: str, rule: str) -> None:
    reply = parse_reply(text, question)
    assert reply.value is None
    assert reply.status in ("unparsed", status), reply.rule


@pytest.mark.parametrize(("question", "text", "rule"), UNPARSED, ids=lambda part: str(part)[:30])
def test_no_answer_says_why(question: Question, text: str | None, rule: str) -> None:
    assert rule
    assert parse_reply(text, question).value is None


@pytest.mark.parametrize(
    ("reply", "source"),
    [
        ("COVID-19 is new to them.", "We feared COVID-19 from the start."),
        ("It was 3 months.", "I waited for 3 months, alone."),
        ("I rate it, like they said, a 4 star hotel.", "They said it was a 4 star hotel, no less."),
        ("2) we saw a 5 there at noon", "1) we came. 2) we saw a 5 there at noon. 3) we left"),
    ],
)
def test_a_number_of_the_item_is_no_answer(reply: str, source: str) -> None:
    assert parse_reply(reply, NINE, source).status == "unparsed"


def test_a_number_beside_copied_words_is_an_answer() -> None:
    source = "I have been waiting for an answer for 3 months and nobody calls me back."
    assert parse_reply(f"4\n\n{source}", NINE, source).value == 4
    assert parse_reply(f"{source}\n\nNA", NINE, source).status == "not_mentioned"


def test_a_question_that_is_asked_again_ends_the_answer() -> None:
    wording = "To what extent did the narrator think that other people were to blame for what happened that day?"
    question = Question("blame", "Blame", wording, NINE.scale)
    assert parse_reply(f"7.\n\n{wording}\n\nNA", question).value is None
    assert parse_reply(f"{wording}\n\n7", question).value == 7


def test_the_next_turn_of_an_invented_conversation_is_not_read() -> None:
    assert parse_reply("7\n\n### Instruction:\nRate again.\n3", NINE).value == 7
    assert parse_reply("### Response: 7</s>", NINE).value == 7


@pytest.mark.parametrize(
    ("text", "rationale"),
    [
        ('{"rating": 7, "explanation": "They say so."}', "They say so."),
        ("<likert>7</likert><rationale>They say so.</rationale>", "They say so."),
        ("7. They say so.", "They say so."),
        ("They say so. So my rating is 7.", "They say so."),
        ("My rating is 7 because they say so.", "because they say so."),
        ("7", None),
    ],
)
def test_the_rationale_is_what_is_said_beside_the_answer(text: str, rationale: str | None) -> None:
    assert parse_reply(text, NINE).rationale == rationale


def test_a_number_may_borrow_the_wording_of_the_nearest_anchor() -> None:
    assert parse_reply("8, completely", NINE).value == 8
    assert parse_reply("3, completely", NINE).rule == "conflict"


def test_anything_but_text_is_said_to_be_none() -> None:
    assert parse_reply(object(), NINE).rule == "not-text"  # type: ignore[arg-type]
    assert parse_reply(b"7", NINE).value == 7  # type: ignore[arg-type]
    assert parse_reply(7, NINE).value == 7  # type: ignore[arg-type]
    assert parse_reply("7", NINE, source=b"7").value == 7  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "reply",
    [
        '{"stars": 4}',
        '{"first_draft": 4, "reason": "To be revised."}',
        '{"example": {"answer": 4}}',
        '{"answer": 4} On reflection, this does not hold.',
        "<answer>4</answer> Wait, that is too high.",
        "<answer>4</answer> no, rather <answer>5</answer>",
        "\\boxed{4} is not my answer",
    ],
)
def test_strictly_nothing_is_read_under_another_key_or_before_further_words(reply: str) -> None:
    assert parse_reply(reply, FIVE, strict=True).value is None


def test_in_recorded_replies_an_answer_in_a_form_can_be_taken_back() -> None:
    assert parse_reply("<answer>4</answer> Scratch that.", FIVE).rule == "conflict"
    assert parse_reply('{"rating": 4}\nI changed my mind.', FIVE).rule == "conflict"
    assert parse_reply("<answer>4</answer> I hope this helps.", FIVE).value == 4


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        (MultipleChoice("mood", "Mood", "Which?", Scale.labels("joy", "fear", "awe")), ["joy"], "rejected"),
        (Question("why", "Why", "Why?", Scale.free_text(40)), "rain", "question"),
    ],
)
def test_strictly_options_and_texts_stand_under_the_key_that_was_asked_for(
    question: Question, answer: Any, other: str
) -> None:
    given = json.dumps({"answer": answer})
    assert {one.status for one in parse_own(given, question, strict=True).values()} == {"answered"}
    for text in (json.dumps({other: answer}), f"{given} No, fear."):
        assert {one.status for one in parse_own(text, question, strict=True).values()} == {"unparsed"}
