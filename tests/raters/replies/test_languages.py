"""Replies in twelve languages that no rule was written for.

They were written in the manner of models that no other file here has (in the asked form, with thinking, fences and
reasons in the language; refusals; and prose with doubt, negation and second thoughts), and judged before the parser
had read any of them. `asked` are replies in the form that prompts of Vantage ask for, `refusal` and `prose` are not.
A rule for refusals came of the first file; none came of the second, which has four more languages and other dialects
of thinking.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from vantage.instruments import Question
from vantage.raters.conversation import read_reply
from vantage.raters.models.base import Completion
from vantage.scales import OptOut, Scale, show_code

FILES = ("languages.tsv", "languages_second.tsv")
ROWS = [
    row | {"file": file}
    for file in FILES
    for row in csv.DictReader(
        (Path(__file__).parent / file).read_text("utf-8").splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE
    )
]
LABELS = {
    "en": ("negative", "neutral", "positive"),
    "de": ("negativ", "neutral", "positiv"),
    "fr": ("négatif", "neutre", "positif"),
    "es": ("negativo", "neutral", "positivo"),
    "it": ("negativo", "neutro", "positivo"),
    "pl": ("negatywny", "neutralny", "pozytywny"),
    "zh": ("负面", "中性", "正面"),
    "ja": ("否定的", "中立", "肯定的"),
    "pt": ("negativo", "neutro", "positivo"),
    "ko": ("부정", "중립", "긍정"),
    "nl": ("negatief", "neutraal", "positief"),
    "ru": ("отрицательный", "нейтральный", "положительный"),
}
SCALES = {
    "t": Scale.points(-3, 3, anchors={-3: "not at all", 3: "very"}),
    "r": Scale.points(1, 5, anchors={1: "not at all", 5: "very"}),
    "o": Scale.points(1, 9, opt_outs=[OptOut("not_mentioned", "not mentioned")]),
}


def said(row: dict[str, str], *, prose: bool) -> str:
    """What is read from a reply: a code, the label of an option, or a status."""
    scale = SCALES.get(row["question"]) or Scale.labels(*LABELS[row["language"]])
    question = Question("q", "Q", "How is it?", scale)
    reply = read_reply(Completion(row["reply"].replace("⏎", "\n")), [question], "", prose=prose)["q"]
    if reply.value is None:
        return reply.status
    labels = {option.code: option.label for option in scale.options}
    return labels[reply.value] if row["question"] == "s" else show_code(reply.value)


def meant(row: dict[str, str]) -> str:
    return row["meant"].casefold() if row["question"] == "s" else row["meant"]


def verdicts(form: str, *, prose: bool) -> list[Counter[str]]:
    """How many replies of a form, by file, are read as meant, left unread, or given a value that they do not state."""
    counts = {file: Counter[str]() for file in FILES}
    for row in ROWS:
        one = said(row, prose=prose)
        wrong = "unread" if one in ("unparsed", "refused", "not_mentioned") else "invented"
        if row["form"] == form:
            counts[row["file"]]["right" if one == meant(row) else wrong] += 1
    return list(counts.values())


def test_replies_in_the_asked_form_are_read_and_none_is_invented() -> None:
    # As at first reading; a three between guillemets is left unread.
    assert verdicts("asked", prose=False) == [{"right": 205, "unread": 1}, {"right": 109}]


def test_refusals_are_told_in_every_language() -> None:
    # At first reading only the English one was; a rule for the others came of it.
    assert verdicts("refusal", prose=False) == [{"right": 8}, {"right": 5}]


def test_nothing_is_read_strictly_from_prose() -> None:
    assert verdicts("prose", prose=False) == [{"right": 77, "unread": 12}, {"right": 55, "unread": 11}]


def test_recorded_prose_is_read_where_nothing_casts_doubt_on_it() -> None:
    # As at first reading: ten answers of 23, and no value of the 132 replies that give none.
    assert verdicts("prose", prose=True) == [{"right": 81, "unread": 8}, {"right": 61, "unread": 5}]


@pytest.mark.parametrize("language", list(LABELS)[:8])
def test_every_language_has_enough_replies(language: str) -> None:
    mine = [row for row in ROWS if row["language"] == language]
    assert len(mine) >= 35
    assert all(len(row["meant"]) > 0 for row in mine)
