"""Replies that look like answers and are none, and answers in unusual clothes: no value may be invented."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.raters.replies.questions import Unread
from vantage.instruments import Instrument, Question
from vantage.raters.conversation import read_reply
from vantage.raters.models.base import Completion
from vantage.raters.replies import parse_replies, parse_reply
from vantage.scales import OptOut, Scale


def q(scale: Scale) -> Question:
    (question,) = Instrument.of_questions("q", "Q", {"q": scale}).questions
    return question


ENDS = {1: "not at all", 9: "completely"}
nine = q(Scale.points(1, 9, anchors=ENDS, opt_outs=[OptOut("not_mentioned", "not mentioned")]))
trust = Instrument.load("warmth-competence").question("trust")
irony = Instrument.load("irony").question("irony")
sar = Instrument.load("sarcasm-rating").question("sarcasm-rating")
bw = q(Scale.labels("worse", "same", "better"))
STEPS = ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree")
agree = q(Scale.points(1, 5, anchors=dict(enumerate(STEPS, 1))))
mood = q(Scale.labels("negative", "neutral", "positive"))
stance = q(Scale.labels("favor", "against", "none"))
lettered = q(replace(Scale.labels("none", "low", "high"), called="letters"))
side = q(Scale.points(-3, 3, anchors={-3: "very untrustworthy", 0: "neutral", 3: "very trustworthy"}))

CASES: list[tuple[Question, str, float | str | Unread | None]] = [
    # (question, text, expected value or None, note)
    (nine, "On a scale from 1 to 9, with 9 being completely, the narrator feels responsible.", None),
    (nine, "on a scale from 1 to 9, with 9 being the highest, this would be hard to say", None),
    (nine, "I would use a scale from 1 to 9, where 1 is not at all and 9 is completely.", None),
    (nine, "The scale goes from 1 (not at all) to 9 (completely).", None),
    (nine, "A rating of 9 would mean that they are completely responsible.", None),
    (nine, "If they were responsible I would give a 9.", None),
    (nine, "It would be a 7 if the narrator had said so.", None),
    (nine, "Would get worse if we didn't act", None),
    (bw, "Things would get worse if we didn't do anything.", None),
    (bw, "It could get better.", None),
    (nine, "7. This answer was marked as NA because the text does not say.", None),
    (nine, "7\n\nThis answer was marked as NA.", None),
    (nine, "7 ... Actually, I take that back.", None),
    (nine, "7. On second thought, the text does not allow a rating.", None),
    (nine, "Answer: 7. Actually, make that 5.", None),
    (nine, "Answer: 7\nCorrection: 5", None),
    (trust, "negative two", -2),
    (trust, "I would rate trust at negative two.", Unread(-2)),
    (trust, "Negative 2", -2),
    (trust, "minus two", -2),
    (trust, r"$-2$", -2),
    (trust, r"\(-2\)", -2),
    (trust, r"$\boxed{-2}$", -2),
    (trust, r"\boxed{\text{-2}}", -2),
    (trust, r"$\minus 2$", -2),
    (trust, r"\text{Answer: } -2", -2),
    (trust, "$−2$", -2),
    (trust, "Answer: $-2$", -2),
    (trust, "**-2**", -2),
    (trust, "-2.0", -2),
    (trust, "The answer is negative two (-2).", -2),
    (trust, "Answer: negative three", -3),
    (trust, "a negative 1", -1),
    (trust, "I'd give it a negative two.", -2),
    (trust, "2 (negative)", None),
    (trust, "two on the negative side", None),
    (trust, "somewhere on the negative end, maybe two", None),
    (nine, "to a degree of 8", Unread(8)),
    (nine, "They feel responsible to a degree of 8.", Unread(8)),
    (nine, "The narrator is responsible to a degree of 8 out of 9.", Unread(8)),
    (nine, "I lean towards maybe 6 or so.", None),
    (nine, "Perhaps a 6, but it could just as well be 3.", None),
    (nine, "It might be a 6.", None),
    (nine, "Possibly 5?", None),
    (nine, "Could be 5", None),
    (nine, "I'd guess 5.", Unread(5)),
    (nine, "maybe 5", Unread(5)),
    (nine, "Is it a 7?", None),
    (nine, "Some readers would say 7.", None),
    (nine, "Others might rate this 7.", None),
    (nine, "Previous raters gave it a 7.", None),
    (nine, "For example, a reply could be: 7", None),
    (nine, "Example: Answer: 7", None),
    (nine, "Please answer with a number from 1 to 9.", None),
    (nine, "Rating (1-9):", None),
    (nine, "Answer: X", None),
    (nine, "Answer: [1-9]", None),
    (nine, "Answer: 1-9", None),
    (nine, "Step 1: read the text. Step 2: judge.", None),
    (nine, "There are 3 reasons for this.", None),
    (nine, "In 3 of the 5 sentences the narrator takes the blame.", None),
    (nine, "I am 90% sure it is a 7.", Unread(7)),
    (nine, "Confidence: 9. Answer: 4", 4),
    (nine, "Answer: 4\nConfidence: 9", Unread(4)),
    (nine, "Confidence: 9/9", None),
    (nine, "Answer: 4/9", 4),
    (nine, "7/10", None),
    (nine, "4.5", None),
    (nine, "4,5", None),
    (nine, "Not 7.", None),
    (nine, "I would not say 7.", None),
    (nine, "Anything but a 7.", None),
    (nine, "Less than 5.", None),
    (nine, "above 5", None),
    (nine, "at least 5", None),
    (nine, "≥5", None),
    (nine, ">5", None),
    (nine, "<5", None),
    (nine, "~5", Unread(5)),
    (nine, "5+", None),
    (nine, "5-6", None),
    (nine, "5 to 6", None),
    (nine, "5 / 6", None),
    (nine, "5, 6", None),
    (nine, "5 6", None),
    (nine, "5\n6", None),
    (nine, "NA", "not_mentioned"),
    (nine, "N/A (7 if forced)", None),
    (nine, "Not mentioned, so 1.", None),
    (nine, "1 (not mentioned)", None),
    (nine, "I cannot rate people, but if I had to, 5.", None),
    (nine, "As an AI I have no feelings. Answer: 5", 5),
    (nine, "Not a 5, a 6.", Unread(6)),
    (nine, "First I thought 5. Final answer: 6", Unread(6)),
    (nine, "Answer: 5\nAnswer: 5", 5),
    (nine, '{"answer": "5 or 6"}', None),
    (nine, '{"answer": {"value": 5}}', 5),
    (nine, '{"answer": [5]}', 5),
    (nine, '{"answer": [5,6]}', None),
    (nine, '{"answer": "<1-9>"}', None),
    (nine, '{"answer": "number from 1 to 9"}', None),
    (nine, '{"min": 1, "max": 9}', None),
    (nine, '{"type": "integer", "minimum": 1, "maximum": 9}', None),
    (nine, '{"reason": "I would say 7"}', None),
    (nine, '{"answer": null}', None),
    (nine, '{"answer": true}', None),
    (nine, '{"error": 5}', None),
    (nine, '{"scale": 9}', None),
    (nine, "<answer>1-9</answer>", None),
    (nine, "<answer>5</answer> <answer>6</answer>", Unread(6)),
    (nine, "Ⅶ", None),
    (nine, "seven", 7),
    (nine, "Sieben", None),
    (nine, "７", 7),
    (nine, "7️⃣", 7),
    (nine, "⑦", 7),
    (nine, "⭐⭐⭐⭐⭐", None),
    (nine, "Answer: five", 5),
    (nine, "one thing is clear: he is sorry", None),
    (nine, "One could argue that it is complete.", None),
    (nine, "No one is to blame.", None),
    (nine, "The two of them fought.", None),
    (nine, "7 people were involved.", None),
    (nine, "The narrator is 7 years old.", None),
    (nine, "At 7, the narrator left.", None),
    (nine, "He is completely to blame? Hardly.", None),
    (nine, "Completely.", 9),
    (nine, "completely", 9),
    (nine, "Not at all.", 1),
    (nine, "not completely", None),
    (nine, "almost completely", None),
    (irony, "Yes and no.", None),
    (irony, "No. Wait, yes.", None),
    (irony, "yes?", None),
    (irony, "Yes, it is ironic.", Unread(1)),
    (irony, "No doubt it is ironic.", None),
    (irony, "I would say yes if the author were joking.", None),
    (irony, "Whether it is ironic, yes or no, is hard to say.", None),
    (irony, "yes or no", None),
    (irony, "Answer: yes/no", None),
    (irony, "Not really.", None),
    (irony, "It would be ironic if it were raining.", None),
    (irony, "It isn't ironic", Unread(0)),
    (sar, "4 seems too high.", None),
    (sar, "4 is too high; 3", None),
    (sar, "A 4 would be exaggerated.", None),
    (sar, "I would have said 4, had the author not smiled.", None),
    (sar, "My rating is 4, just kidding, it is 2.", None),
    (sar, "Rating: 4 (wait, no: 2)", None),
    (sar, "The user wants a number from 1 to 6.", None),
    (sar, "We need to output a number 1-6. The text is mild. So maybe 2.", None),
    (sar, "Okay, so the answer should be 4? Let me check.", None),
    (sar, "Should I say 4?", None),
    (sar, "Question 4: how sarcastic is it?", None),
    (sar, "4)", 4),
    (sar, "(4)", 4),
    (sar, "#4", 4),
    (sar, "No. 4", None),
    (sar, "The score cannot be 4.", None),
    (sar, "It's neither 4 nor 5.", None),
    (sar, "I refuse to give a 4.", None),
    (sar, "The previous answer was 4.", None),
    (sar, "Someone rated this as 4.", None),
    (sar, "The author rated the movie 4/6.", None),
    (sar, "They gave the restaurant a 4.", None),
    (irony, "It is ironic. Wait, no, that is not it.", None),
    (agree, "Somewhere between agree and strongly agree.", None),
    (agree, "As an AI, I do not have opinions. However, if I had to choose, I would pick 3.", "refused"),
    (agree, "If I had to choose, I would pick 3.", Unread(3)),
    (agree, "I can't take a stance on this political topic.", "refused"),
    (agree, "I somewhat disagree.", None),
    (agree, "Rating (1 = strongly disagree, 5 = strongly agree): 4", Unread(4)),
    (agree, "Answer: 2\n\nWait, let me reconsider. It says all taxes.\n\nAnswer: 1", Unread(1)),
    (agree, "Answer: 2\n\nIt says all taxes.\n\nAnswer: 1", None),
    (agree, "4 stars", 4),
    (nine, "At least a 5.", None),
    (nine, "It's a solid 6 for me.", Unread(6)),
    (nine, "Given the apology I land on 6.", Unread(6)),
    (nine, "Let's go with 6.", Unread(6)),
    (nine, "My score for threat is 6 (out of 9).", Unread(6)),
    (nine, "High (6)", Unread(6)),
    (nine, "Step 6", None),
    (mood, "Slightly positive", 2),
    (mood, "Based on the analysis, negative.", Unread(0)),
    (mood, "I would label this as neutral rather than negative.", Unread(1)),
    (stance, "The author is clearly against the policy.", None),
    (stance, "I first labelled this as favor, but it is in fact against.", Unread(1)),
    (stance, "Answer: in favor of", Unread(0)),
    (stance, "Answer: against, possibly none", None),
    (stance, "against -> none", None),
    (irony, "Yes if read with a smile.", None),
    (irony, "Yes, if you ask me.", Unread(1)),
    (irony, "I don't think it is ironic.", Unread(0)),
    (side, "1 (slightly untrustworthy)", None),
    (side, "-1 (slightly untrustworthy)", -1),
    (side, "On the -3 to +3 scale: 2", 2),
    (side, "Slightly trustworthy (+1)", Unread(1)),
    (trust, "On a scale from -3 (very untrustworthy) to 3 (very trustworthy), this earns them a 2.", Unread(2)),
    (trust, "1, I think. Then again, that would make it 0 or even -1. Hard to call.", None),
    (nine, "Answer: 2 / not mentioned", None),
    (nine, "I'd go with 5. Hmm, they do depend on others; make that a 4.", None),
    (nine, "First draft: so 2.\nSecond draft: so 3.\n\nBoth seem justified to me.", None),
    (nine, "I would go for 3... actually, given the contempt, 4.", None),
    (nine, "Answer: 1\n(edited: 2, since something was in their hands)", None),
    (nine, "Threat is real. So zero from me.", None),
    (irony, "They leave the other person free to say no.", None),
    (stance, "It could be read as **against** (many talk like this) or as **none**.", None),
    (stance, "favour", 0),
    (lettered, "B (high)", None),
    (lettered, "B (low)", 1),
    (lettered, "C would be defensible too, but my pick is B.", Unread(1)),
]


@pytest.mark.parametrize(("question", "text", "meant"), CASES)
def test_what_is_meant_and_nothing_else(question: Question, text: str, meant: float | str | Unread | None) -> None:
    reply = parse_reply(text, question)
    if isinstance(meant, Unread):
        assert (reply.value, reply.status) == (None, "unparsed")
    elif isinstance(meant, str):
        assert reply.status == meant
    else:
        assert reply.value == meant, reply.rule


def test_a_question_that_is_repeated_first_is_not_part_of_the_answer() -> None:
    (asked,) = Instrument.of_questions("q", "Q", {"q": Scale.labels("no", "yes")}).questions
    asked = replace(asked, ask="Read the text. Is this text sarcastic?")
    assert parse_reply("Is this text sarcastic? No, because it is sincere.", asked).value is None
    assert parse_reply("Is this text sarcastic?", asked).value is None


def test_options_that_were_shown_as_words_have_no_numbers() -> None:
    # "1" may be the first of three options as well as the one with the code 1. Others may have shown their codes.
    for text in ("1", "Answer: 1", '{"answer": 1}'):
        assert read_reply(Completion(text), [mood], "")["q"].rule == "other-scale"
        assert read_reply(Completion(text), [mood], "", lettered=True)["q"].value == 1
    assert read_reply(Completion("2 (positive)"), [mood], "")["q"].value == 2
    assert read_reply(Completion("2"), [agree], "")["q"].value == 2


def test_an_answer_among_several_may_be_taken_back() -> None:
    questions = Instrument.load("warmth-competence").questions
    lines = "- Trust: 2\n- Sociability: 1\n- Competence: 0\n\n"
    replies = parse_replies(f"{lines}On reflection, Trust: 1", questions)
    # Which of them is taken back is not read from prose: none of them counts.
    assert [replies[one].rule for one in ("trust", "sociability")] == ["conflict", "conflict"]
