"""No input of any kind may crash the parser, make it slow, or lead it off the scale."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.raters.replies.questions import AGREE, FIVE, NINE, OFTEN, SARCASM, SENTIMENT, SLIDER, TRUST, USEFUL
from vantage.instruments import Instrument, Question
from vantage.instruments.instrument import bundled
from vantage.raters.replies import ParsedReply, parse_replies, parse_reply
from vantage.scales import STATUSES, Option, OptOut, Scale, show_code

QUESTIONS = [NINE, FIVE, SLIDER, OFTEN, AGREE, TRUST, SARCASM, SENTIMENT, USEFUL]
PIECES = st.sampled_from(
    [
        *"{}[]()<>\"'`*_|:;,.-+/\\#=\n \t0159aAn",
        *("rating", "answer", "my rating is", "I would rate it as", "not", "n't", "NA", "N/A", "yes", "no", "agree"),
        *("completely", "not at all", "out of", "between", "and", "or", "1 to 9", "<likert>", "</likert>", "<think>"),
        *(
            "</think>",
            "### End",
            "I cannot",
            "the text does not address this question",
            "seven",
            "−",
            "½",
            "ı",
            "\ud800",
        ),
        *("```json\n", '{"answer": ', '"reason": "', "true", "null", "1e400", "nan", "inf", "９", "\ue000", "\ue001"),
    ]
)
MESSY = st.lists(PIECES, max_size=30).map(" ".join) | st.lists(PIECES, max_size=30).map("".join)
ANYTHING: st.SearchStrategy[Any] = st.one_of(
    MESSY,
    st.text(max_size=200),
    st.binary(max_size=60),
    st.none(),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.lists(st.integers(), max_size=3),
)


def check(reply: ParsedReply, question: Question) -> None:
    assert (reply.value is not None) == (reply.status == "answered")
    assert reply.value is None or question.scale.holds(reply.value)
    assert reply.status in STATUSES
    if reply.status in {"ambiguous", "not_mentioned"}:
        assert reply.status in {opt_out.status for opt_out in question.scale.opt_outs}
    assert reply.rule
    assert (":" in reply.rule) == (reply.status != "unparsed")
    assert reply.rationale is None or reply.rationale.encode("utf-8").decode("utf-8").strip()


@given(ANYTHING, st.sampled_from(QUESTIONS), ANYTHING)
@example('{"answer": "' + "\\ud800", NINE, None)
@example('{"answer": [ (', NINE, None)
@example("lıke sıx", NINE, "x")
def test_anything_is_read(text: Any, question: Question, source: Any) -> None:
    reply = parse_reply(text, question, source)
    check(reply, question)
    assert parse_reply(text, question, source) == reply
    if reply.value is not None:
        assert parse_reply(show_code(reply.value), question).value == reply.value


@given(ANYTHING, ANYTHING)
def test_anything_is_read_for_several_questions(text: Any, source: Any) -> None:
    replies = parse_replies(text, [NINE, TRUST, SARCASM], source)
    assert list(replies) == [NINE.id, TRUST.id, SARCASM.id]
    for question in (NINE, TRUST, SARCASM):
        check(replies[question.id], question)


@given(
    st.lists(st.text(min_size=1, max_size=12), min_size=2, max_size=6, unique_by=str.casefold),
    st.text(max_size=12),
    MESSY | st.text(max_size=40),
)
def test_labels_of_any_kind_do_no_harm(labels: list[str], opt_out: str, text: str) -> None:
    options = tuple(Option(float(code), label) for code, label in enumerate(labels))
    question = Question("q", "t", "?", Scale(options, "ordinal", (OptOut("ambiguous", opt_out),)))
    for reply in (text, *labels):
        check(parse_reply(reply, question), question)


@pytest.mark.parametrize("name", bundled())
def test_every_code_and_label_of_every_instrument_is_read_back(name: str) -> None:
    for question in Instrument.load(name).questions:
        for option in question.scale.options:
            assert parse_reply(show_code(option.code), question).value == option.code
            assert parse_reply(f'{{"answer": {show_code(option.code)}}}', question).value == option.code
            # A rating is a number; where answers are words, it belongs to another scale.
            rated = None if question.scale.named else option.code
            assert parse_reply(f"Rating: {show_code(option.code)}", question).value == rated
            if option.label:
                for written in (option.label, option.label.upper(), f"**{option.label}**.", f"Answer: {option.label}"):
                    assert parse_reply(written, question).value == option.code, written
                both = f"{show_code(option.code)} ({option.label})"
                assert parse_reply(both, question).value == option.code
        for opt_out in question.scale.opt_outs:
            for written in (opt_out.label, opt_out.label.partition(":")[0], opt_out.status):
                assert parse_reply(written, question).status == opt_out.status


def test_a_batch_of_any_instrument_is_read_back() -> None:
    for name in bundled():
        questions = Instrument.load(name).questions
        chosen = {question.id: question.scale.options[0 if question.unlike else -1].code for question in questions}
        lines = "\n".join(f"- {question.id}: {show_code(chosen[question.id])}" for question in questions)
        assert {id_: reply.value for id_, reply in parse_replies(lines, questions).items()} == chosen


BOMBS = [
    *("{", "[", '{"a":', "'", '"', "1", "1,", "1.", "not ", "n't x ", "I think ", "I would rate it as ", "rating: "),
    *("if a mark ", "between 1 and ", "the text does not ", "a ", "A. ", "answer:NA\n", "\n- ", "| ", "**", "<answer>"),
    *(
        "<think>",
        "</think>",
        "<think></think>",
        "</think> 2 <think>a</think>",
        "\\boxed{",
        "no, ",
        "not at all ",
        "1 = not at all ",
        "1 being ",
        "on a scale of 1 to 9 ",
    ),
    *(
        "ﷺ",
        "½",
        "so ",
        "sorry, but i ",
        "i can't ",
        "1\n",
        "NA\n",
        "q: ",
        "(",
        "_",
        "0" * 50 + "x ",
        "is a 5 ",
        "hope it is ",
    ),
    *("don't know enough ", "impossible to tell ", "### End", "\ud800", "\t", "a(1.", "completely "),
]


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_two_hundred_thousand_characters_take_no_longer_than_a_fraction_of_them(bomb: str) -> None:
    def seconds(length: int) -> float:
        text = (bomb * (length // len(bomb) + 1))[:length]
        start = time.process_time()
        for question in (NINE, AGREE):
            check(parse_reply(text, question, "the quick brown fox jumped over 3 dogs " * 50), question)
        return time.process_time() - start

    # A reply is read at its two ends, so ten times the text may not take ten times as long; the slack is for noise.
    assert seconds(200_000) < 4 * seconds(20_000) + 2


def test_random_mixtures_of_bombs_are_read() -> None:
    chance = random.Random(5)  # noqa: S311
    for _ in range(10):
        text = "".join(chance.choice(BOMBS) * chance.randint(1, 60) for _ in range(40))
        for question in (NINE, SARCASM):
            check(parse_reply(text, question, text[:2000]), question)
