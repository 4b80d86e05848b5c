"""What further models wrote, most of them four answers to a reply, and the rules that came of it.

The replies were judged before the parser read them; `part` says whether rules were mended on the model (A), or it was
held out until they stood (B, then C to G, H, I, L, M, O, P, R; most of H and I is free prose). "again" is a model of
which one reply had been seen, "sums" are answers to riddles instead of ratings. NOTICE names where they are from.
Those with more than five words of repositories that do not license their text are only pointed to, in elsewhere.csv.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.raters.replies.questions import Unread, expected
from vantage.instruments import Question
from vantage.raters.conversation import read_reply
from vantage.raters.models.base import Completion
from vantage.raters.replies import ParsedReply, parse_replies, parse_reply
from vantage.scales import OptOut, Scale

HERE = Path(__file__).parent
ASKED = {
    "percent": ("What is your best estimate, in percent?", Scale.continuous(0, 100)),
    "jack": ("What is the probability, in percent, that Jack is one of the engineers?", Scale.continuous(0, 100)),
    "two": ("Which of the two do you choose, A or B?", Scale.labels("A", "B")),
    "three": ("Which restaurant do you choose, A, B or C?", Scale.labels("A", "B", "C")),
    "ski": ("Which ski trip do you go on, Michigan or Wisconsin?", Scale.labels("Michigan", "Wisconsin")),
    "sentiment": (
        "Is the sentiment of the text negative, neutral or positive?",
        Scale.labels("negative", "neutral", "positive", level="ordinal"),
    ),
    "colour": (
        "Choose from the following options: green, yellow, orange, brown.",
        Scale.labels("green", "yellow", "orange", "brown"),
    ),
    "hs": ("Is the tweet hate speech (HS) or not (NH)?", Scale.labels("HS", "NH")),
    "ol": ("Does the tweet contain offensive language (OL) or not (NO)?", Scale.labels("OL", "NO")),
    "policy": ("Did the agent follow the policy correctly?", Scale.labels("No", "Yes")),
    "better": ("Which output is better, Output (a) or Output (b)?", Scale.labels("Output (a)", "Output (b)")),
    "taiwan": ("Is Taiwan an independent country?", Scale.labels("No", "Yes")),
    "review": ('Is this customer review more "positive" or "negative"?', Scale.labels("negative", "positive")),
    "sally": ("How many sisters does Sally have?", Scale.points(0, 20)),
    "apples": ("How many apples did I remain with?", Scale.points(0, 20)),
}
ITEMS = {
    "review": "The staff really left us our privacy, we’ll be back.",
    "sally": "Sally (a girl) has 3 brothers. Each brother has 2 sisters. How many sisters does Sally have?",
    "apples": (
        "I went to the market and bought 10 apples. I gave 2 apples to the neighbor and 2 to the repairman. I then "
        "went and bought 5 more apples and ate 1. I also gave 3 bananas to my brother. How many apples did I remain "
        "with?"
    ),
}
BETTER = Question("better", "Better", *ASKED["better"])
LETTERS = Question("better", "Better", "Which response is better, A or B?", Scale.labels("A", "B"))
COLOUR = Question("option", "Option", *ASKED["colour"])
FEELINGS = [
    Question(name.lower(), name, f"How strong is the {name}?", Scale.points(0, 10)) for name in ("Anger", "Joy")
]


@pytest.mark.slow
def test_replies_of_models_held_out_are_read_as_meant() -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for line in (HERE / "heldout.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        questions = _questions(record)
        completion = Completion(record["reply"], "length" if record.get("cut") else "stop")
        replies: Mapping[str, ParsedReply] = parse_replies(record["reply"], questions)
        if not record.get("shown"):  # the prompts of some showed letters, which `read_reply` does not expect
            replies = read_reply(completion, questions, ITEMS.get(record["questions"][0], ""), prose=True)
        for question, meant in zip(questions, record["meant"], strict=True):
            reply = replies[question.id]
            got = reply.status if reply.value is None else f"{reply.value:g}"
            wrong = "missed" if reply.value is None else "invented"
            counts[record["part"], "right" if got in meant.split("/") else wrong] += 1
    # Prose is left unread where anything casts doubt on it; no value is invented.
    right = {
        "A": 258,
        "B": 662,
        "C": 708,
        "D": 696,
        "G": 2483,
        "H": 61,
        "I": 1,
        "L": 18,
        "M": 381,
        "O": 383,
        "P": 78,
        "R": 106,
        "again": 48,
        "sums": 16,
    }
    missed = {"A": 1, "B": 1, "D": 4, "G": 31, "H": 95, "I": 20, "L": 18, "M": 65, "P": 12, "sums": 33}
    assert counts == {(part, "right"): n for part, n in right.items()} | {
        (part, "missed"): n for part, n in missed.items()
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Output (b) covers all points. Therefore, Output (b) is better.", Unread(1)),
        ("Output (a) is better than Output (b).", Unread(0)),
        ("Both are good, but Output (b) is better.", Unread(1)),
        ("Output (a) is no better, Output (b) is better.", Unread(1)),
        ('You may answer "Output (a) is better." or "Output (b) is better." Output (b) is better.', Unread(1)),
        ("Output (a) is better in tone. Output (b) is better in content.", None),
        ("If the reader is a child, Output (a) is better.", None),
        ("Neither Output (a) nor Output (b) is better.", None),
        ("Output (b) is better. Wait, no: Output (a) follows the instruction.", None),
        ("Output (a) better captures the essence of the content.", None),
        ("Say 'Output (a) is better.' or 'Output (b) is better.'", None),
    ],
)
def test_an_output_that_is_called_better_is_the_answer_to_which_is_better(text: str, value: float | None) -> None:
    assert parse_reply(text, BETTER).value == expected(value)


@pytest.mark.parametrize(
    "text",
    [
        "You might think A is better, but it is not so clear.",
        "It is unclear whether A is better.",
        "Some say A is better, others prefer B.",
        "A is better, if you like jokes.",
        "A is better?",
        "I don't think A is better.",
        "At first glance A is better. However, on reflection I prefer B.",
        "A is better at grammar, but B is better overall.",
        "One could argue that A is better.",
        "I thought A is better, but now I see that B wins.",
        "The user thinks A is better.",
        "To decide which is better: A is better when short.",
    ],
)
def test_a_preference_that_is_doubted_reported_or_conditional_is_none(text: str) -> None:
    assert parse_reply(text, LETTERS).value is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("With this in mind, I'll choose... **orange**.\n\nMy reasoning is that orange is a safe choice.", Unread(2)),
        ("I'm going to choose... **green**!\n\nMy reasoning is that green is easy to see.", Unread(0)),
        (
            "I want a color that is not the most common one (orange). Therefore, I choose the color yellow.",
            Unread(1),
        ),
        ("The chance of yellow is 1/4, and so is that of green. I will choose option yellow.", Unread(1)),
        ("After a random draw, I arrive at my answer:\n\nThe color **yellow**.", Unread(1)),
        ("Let's say:\n - yellow = 1\n - orange = 2\n - brown = 3\n - green = 4\n\nAnswer: yellow", 1),
        ("I choose... **green**.\n\nThere are four options, and I have to choose just one.", Unread(0)),
        ("There are four options, and I have to choose just one.", None),
        ("I choose two.", None),
        ("I will choose option 2.", None),
        ("I chose... not green.", None),
        ("I might choose... **green**.", None),
        ("I could choose the option green, but I prefer not to.", None),
        ("Others would choose green. I choose something else.", None),
        ("Most people pick green.", None),
    ],
)
def test_an_option_is_chosen_by_its_name_and_one_of_them_is_no_number(text: str, value: float | None) -> None:
    assert parse_reply(text, COLOUR).value == expected(value)
    assert parse_reply("I have to choose just one.", FEELINGS[0]).value is None


@pytest.mark.parametrize(
    "text",
    [
        "The answer is **green** in most cultures, but here it is **brown**.",
        "Green in most cultures, but here it is brown.",
        "The answer is green in general. Here the answer is brown.",
        "Green is the answer for grass, while the answer is brown here, yet overall it is orange.",
    ],
)
def test_an_answer_that_is_limited_and_followed_by_another_is_none(text: str) -> None:
    assert parse_reply(text, COLOUR).value is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The score is 4 in general, but here it is 7.", None),
        ("My rating is 4 for tone, but 6 overall.", None),
        ("4, but here it is 7.", None),
        ("My rating is 4, but it could be a 5 if they shout.", Unread(4)),
        ("My rating is 4, but not a 5.", Unread(4)),
        ("I'm going to give it a 4", Unread(4)),
        ("I am going to rate this 4 because it is calm.", Unread(4)),
        ("I was going to give it a 4, but they shout.", None),
        ("They're going to give it a 4.", None),
        ("I'm not going to give it a 4.", None),
        ("I'm not sure I'm going to give it a 4.", None),
        ("I'm not sure, but I'd say 4.", Unread(4)),
    ],
)
def test_a_rating_that_one_is_going_to_give_counts_unless_it_is_limited(text: str, value: float | None) -> None:
    assert parse_reply(text, FEELINGS[0]).value == expected(value)


@pytest.mark.parametrize(
    "text",
    [
        'Therefore, I would classify this customer review as more "negative" than "positive".',
        'I would rather choose "positive" than "negative".',
    ],
)
def test_an_option_that_another_is_set_above_is_no_answer(text: str) -> None:
    assert parse_reply(text, _question("review")).value is None
    assert parse_reply('Instead of "positive", I would choose "negative".', _question("review")).value is None
    assert parse_reply('I would choose "negative" instead of "positive".', _question("review")).value is None


@pytest.mark.parametrize(
    "text",
    [
        "I would rate it higher than a 4.",
        "I would give it more than a 4.",
        "I'd rate this lower than 7.",
        "I would say it is rather a 5 than a 4.",
        "I would give it a 5 rather than a 4.",
    ],
)
def test_a_number_that_is_only_compared_with_is_no_answer(text: str) -> None:
    assert parse_reply(text, FEELINGS[0]).value in {None, 5}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"No, I will never agree to that," he said. "It is over."', None),
        ('"Yes, of course, dear"', None),
        ('"Yes", because they say "of course"', Unread(1)),
        ('No, they say "thanks"', Unread(0)),
        ('"Yes, they mock it.', Unread(1)),
    ],
)
def test_a_quotation_that_begins_with_an_option_is_no_answer(text: str, value: float | None) -> None:
    question = Question("sarcastic", "Sarcastic", "Is this meant sarcastically?", Scale.labels("No", "Yes"))
    assert parse_reply(text, question).value == expected(value)


GENDER = Question("genere", "Genere", "Di che genere è il pubblico?", Scale.labels("maschile", "femminile", "neutro"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("maschile e femminile (tutti e due)", None),
        ("**maschile** o **femminile**", None),
        ("Answer: maschile und femminile", None),
        ("maschile, ma anche femminile", None),
        ("maschile. E femminile.", None),
        ("maschile & femminile", None),
        ("maschile, e non altro", Unread(0)),
        ("**Risposta:** femminile", 1),
        ('Non è chiaro. Perciò la mia risposta sarà "neutro".', Unread(2)),
        ("Entrambi, quindi la risposta è neutro.", 2),
        ("La risposta non è neutro", None),
        ("Non credo che la risposta è neutro", None),
        ("Non è vero: la risposta è neutro", None),
        ("Se il testo è chiaro, la risposta è neutro, altrimenti maschile", None),
        ("La risposta è maschile se parla un uomo, femminile se parla una donna.", None),
        ("La risposta è maschile o femminile.", None),
        ("Risposta: maschile. Risposta: femminile.", None),
        ('Quindi la risposta è: "femminile". Se invece si intende un uomo, sarebbe "maschile".', None),
        ('maschile\n\n---\n\nRisposta: La frase non specifica il pubblico, quindi segnala "neutro".', None),
        ("maschile\n\n---\n\nTesto: Una squadra.\n\nRisposta: neutro\n\nTesto: Le madri.\n\nRisposta: femminile", None),
        ('maschile\n\n(Il termine è di solito associato a uomini, quindi la risposta è "maschile".)', 0),
    ],
)
def test_two_options_are_joined_and_one_is_announced_in_other_languages_too(text: str, value: float | None) -> None:
    assert parse_reply(text, GENDER).value == expected(value)


@pytest.mark.parametrize(
    "text", ["3 e 4", "3 a 4", "3 bis 4", "I'd say 3 e 4", "entre 3 et 4", "Die Antwort ist 4 oder 5.", "3 и 4"]
)
def test_two_numbers_that_are_joined_in_another_language_are_a_range(text: str) -> None:
    assert parse_reply(text, FEELINGS[0]).rule == "range"
    assert parse_reply("Die Antwort lautet 4.", FEELINGS[0]).value == 4


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The image best represents the Malay culture.", Unread(0)),
        ('This image best represents "Tamil."', Unread(1)),
        ("The image best represents the culture of a **Malay**.", Unread(0)),
        ("The image does not represent the Malay culture.", None),
        ("It is unclear whether the image represents Malay culture.", None),
        ("If the dress is silk, the image best represents the Tamil culture.", None),
        ("The image best represents the Malay or Tamil culture.", None),
        ("The image best represents the Malay culture, but also the Tamil culture.", None),
        ("The image represents a Malay festival.", None),
        ("The image best represents the culture of the Malay people.", Unread(0)),
        ("One might think that the image best represents the Malay culture.", None),
    ],
)
def test_an_option_is_stated_in_the_words_of_the_question(text: str, value: float | None) -> None:
    ask = "Which Asian culture does this image best represent?"
    assert parse_reply(text, Question("c", "C", ask, Scale.labels("Malay", "Tamil"))).value == expected(value)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("HOLD\nCriticality: 1\nAll is calm.", [Unread(0), 1]),
        ("**PAGE**\n\nCriticality: 3", [Unread(1), 3]),
        ("HOLD or PAGE\nCriticality: 1", [None, 1]),
        ("HOLD\nDecision: PAGE\nCriticality: 2", [1, 2]),
        ("Hold on\nCriticality: 2", [None, 2]),
        ("HOLD\nPAGE\nCriticality: 3", [None, 3]),
        ("HOLD\nAll is calm.", [None, None]),
    ],
)
def test_the_first_of_several_answers_may_lack_its_name(text: str, values: list[float | None]) -> None:
    decision = Question("decision", "Decision", "What do you do?", Scale.labels("HOLD", "PAGE"))
    criticality = Question("criticality", "Criticality", "How critical is it?", Scale.points(1, 5))
    read = [reply.value for reply in parse_replies(text, [decision, criticality]).values()]
    assert read == [expected(value) for value in values]


def test_what_is_compared_is_what_the_question_asks_about() -> None:
    question = Question("s", "S", "Which text is more sarcastic, Text 1 or Text 2?", Scale.labels("Text 1", "Text 2"))
    assert parse_reply("Text 2 is sarcastic, but Text 1 is more sarcastic because it mocks.", question).value in (
        None,
        0,
    )
    assert parse_reply("Text 1 is less sarcastic.", question).value is None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Anger: 3, Joy: 4", [3, 4]),
        ("Anger: 3Joy: 4", [3, 4]),
        ("Anger: 3/10 | Joy: 4/10", [3, 4]),
        ("Anger: less than Joy: 4", [None, None]),
        ("Anger: 1\nJoy: 2\n\nRevised scores:\nAnger: 5\nJoy: 6", [5, 6]),
        ("Anger: 1\nJoy: 2\n\nRevised scores:\nAnger: 5", [5, Unread(2)]),
        ("Anger: 1\nJoy: 2\n\nFinal thoughts: both are low.", [Unread(1), Unread(2)]),
        ("Anger: 1\nJoy: 2\n\nFinal note: Anger: could be 5", [Unread(1), Unread(2)]),
        ("Anger: 3\nJoy: 4\n\nFor example:\nAnger: 5", [3, 4]),
        ("Possible emotions:\nAnger: 3\nJoy: 4", [None, None]),
        ("Example output:\nAnger: 3\nJoy: 4", [None, None]),
        ('{"anger": 3, "joy": 4}\nAnger: 5', [None, 4]),
        ('{"anger": 3, "joy": 4}\nAnger: they shout', [3, 4]),
    ],
)
def test_several_answers_are_found_revised_and_told_from_examples(text: str, values: list[float | None]) -> None:
    read = [reply.value for reply in parse_replies(text, FEELINGS).values()]
    assert read == [expected(value) for value in values]


def _questions(record: dict[str, Any]) -> list[Question]:
    """The questions of a record: by their names or, from part H on, with their wording and options or ends."""
    if "asked" not in record:
        return [_question(name) for name in record["questions"]]
    questions = []
    for name, (ask, options) in zip(record["questions"], record["asked"], strict=True):
        points = Scale.continuous if record.get("continuous") else Scale.points
        if isinstance(options, dict):  # codes with their labels
            labels = {int(code): label for code, label in options.items()}
            scale = replace(Scale.points(min(labels), max(labels), anchors=labels), called="numbers")
        else:
            scale = Scale.labels(*options) if isinstance(options[0], str) else points(*options)
        if "opt_out" in record:
            scale = replace(scale, opt_outs=(OptOut("opted_out", record["opt_out"]),))
        questions.append(Question(name.lower(), name, ask, replace(scale, called=record.get("shown", scale.called))))
    return questions


def _question(name: str) -> Question:
    ask, scale = ASKED.get(name, (f"How intensely does the character feel: {name}?", Scale.points(0, 10)))
    return Question(name.lower(), name, ask, scale)


@pytest.mark.parametrize(
    ("text", "value", "status"),
    [
        ("「Yes」", 1, "answered"),
        ("Yes ### Output: well done", 1, "answered"),
        ("No ### Answer: Yes", None, "unparsed"),
        ('Question: is it so or not? Choose between "No" and "Yes".', None, "unparsed"),
        ('{"policy": "Yes"}\n{"policy": "No"}\n{"policy": "Yes"}', None, "unparsed"),
        ('{"policy": "No"}\nOn reflection:\n{"policy": "Yes"}', 1, "answered"),
        ("I cannot answer with certainty, I would say yes to it.", None, "unparsed"),
        ("I have no personal opinion, as an AI. Therefore, my answer would be: Yes.", 1, "answered"),
    ],
)
def test_what_models_of_part_p_showed(text: str, value: float | None, status: str) -> None:
    reply = parse_reply(text, Question("policy", "Policy", *ASKED["policy"]))
    assert (reply.value, reply.status) in ((value, status), (None, "unparsed"))


def test_a_refusal_on_the_line_of_one_question_refuses_that_one() -> None:
    replies = parse_replies("**Anger**: As an AI, I do not have personal opinions.\n**Joy**: 4", FEELINGS)
    assert [(reply.value, reply.status) for reply in replies.values()] == [(None, "refused"), (4, "answered")]
