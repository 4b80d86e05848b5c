"""Answers in other languages than English: what is plain counts, and what could mean two things does not."""

from __future__ import annotations

import pytest

from tests.raters.replies.questions import Unread, expected
from vantage.instruments import Question
from vantage.raters.replies import parse_reply
from vantage.scales import Scale

SEVEN = Question("q", "Q", "Wie freundlich ist der Text?", Scale.points(1, 7))
ITALIAN = Question("q", "Q", "Qual è il tono?", Scale.labels("negativo", "neutro", "positivo", level="ordinal"))
CHINESE = Question("q", "Q", "这段话的情感是什么?", Scale.labels("消极", "中性", "积极", level="ordinal"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Antwort: 5. Der Ton ist warm und die Worte sind höflich.", Unread(5)),
        ("Bewertung: 5 von 7, denn der Ton ist freundlich.", Unread(5)),
        ("La note est mesurée.\nRéponse : 4", 4),
        ("评分：6。这段话很友好。", Unread(6)),
        ("答案是 6", Unread(6)),
        ("回答：6", 6),
        ("점수: 6", 6),
        ("Antwort: 5. Man könnte auch 4 sagen, aber das ist nicht gemeint.", Unread(5)),
        ("5, eher als 4, weil der Ton nicht kalt ist.", None),
        ("Antwort: nicht 5, das ist zu hoch.", None),
        ("Das ist keine 5, der Text ist nicht freundlich.", None),
        ("评分：5 或 6。", None),
        ("不是6。", None),
        ("5, eher als 4, weil der Ton nicht kalt ist.\nDanke.", None),
        ("Man könnte 4 oder 6 sagen, denn der Ton ist freundlich.\nAntwort: 5", 5),
    ],
)
def test_a_number_counts_where_no_other_is_named_and_none_is_denied(text: str, value: float | None) -> None:
    assert parse_reply(text, SEVEN).value == expected(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Positivo, perché il tono è caldo.", 2),
        ("La risposta è positivo.", 2),
        ("Positivo, anche se il finale è più neutro che altro.", None),
        ("La risposta non è positivo.", None),
        ("Il tono non è positivo, è freddo.", None),
    ],
)
def test_an_option_counts_where_no_other_is_named(text: str, value: float | None) -> None:
    assert parse_reply(text, ITALIAN).value == expected(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("积极", 2),
        ("积极。", 2),
        ("答案：积极", 2),
        ("答案是积极。", Unread(2)),
        ("不积极", None),
        ("既不积极也不消极。", None),
    ],
)
def test_options_in_a_script_without_spaces(text: str, value: float | None) -> None:
    assert parse_reply(text, CHINESE).value == expected(value)
