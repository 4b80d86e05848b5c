"""People answer every kind of question without JavaScript, and the answers are exported, written and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collect.web.studies import Visitor, study_service
from tests.instruments.test_kinds import KINDS, diary
from vantage.collect.answers import checked
from vantage.collect.service import StudyService
from vantage.collect.views import InvalidAnswers
from vantage.collect.web import forms
from vantage.corpora import Corpus
from vantage.corpora.readers.table import read as read_table
from vantage.corpora.writers import csv_text

# strength a0, share a1, emotions a2–a4, keywords r5, remark r6, best a7, worst a8
FORM = {"a0": "50", "a1": "7", "a2": "1", "a4": "1", "r5": "=rain; mud", "a7": "1", "a8": "3"}
ITEMS = [{"text": "It rained."}, {"text": "It snowed."}]


@pytest.fixture
def service(tmp_path: Path) -> StudyService:
    return study_service(tmp_path, str(KINDS), items=ITEMS)


def problems(form: dict[str, str]) -> dict[str, str]:
    asked = diary().questions
    try:
        checked(asked, forms.read(asked, form))
    except InvalidAnswers as invalid:
        return forms.errors(asked, invalid)
    return {}


def without(*names: str, **other: str) -> dict[str, str]:
    return {name: value for name, value in FORM.items() if name not in names} | other


@pytest.mark.parametrize(
    ("form", "name", "sentence"),
    [
        (without("a0"), "a0", "Please enter a number from 0 to 100, or choose the other answer."),
        (without(o0="too_private"), "a0", "Please enter a number from 0 to 100, or choose the other answer."),
        (without(a1="7.5"), "a1", "Please enter a whole number from 0 to 100."),
        (without(a1="101"), "a1", "Please enter a whole number from 0 to 100."),
        (without("a2", "a4"), "a2", "Please choose an answer."),
        (without(n2="none"), "a2", "Please choose either options or the answer below them, not both."),
        (without(n2="ambiguous"), "a2", "Please choose either options or the answer below them, not both."),
        (without("r5"), "a5", "Please write an answer."),
        (without(r5="x" * 61), "a5", "Please shorten this to 60 characters; it has 61."),
        (without(r6="much", o6="no_words"), "a6", "Please either write an answer or choose the other one, not both."),
        (without(a8="1"), "a8", "Please choose another answer than in the question before."),
        (without("a8"), "a8", "Please choose an answer."),
    ],
)
def test_what_cannot_be_stored_is_named_at_its_input(form: dict[str, str], name: str, sentence: str) -> None:
    assert problems(form) == {name: sentence}


@pytest.mark.parametrize(
    "form",
    [
        FORM,
        without("a2", "a4", n2="none"),
        without("a2", "a4", n2="ambiguous"),
        without("a0", o0="too_private"),
        without(r6="Nothing."),
        without(o6="no_words"),
    ],
)
def test_the_form_shows_what_was_answered(form: dict[str, str]) -> None:
    asked = diary().questions
    assert problems(form) == {}
    answers = forms.read(asked, form)
    again = forms.read(asked, forms.inputs(asked, answers))
    assert again == answers


def test_answers_are_exported_and_read_back(service: StudyService, tmp_path: Path) -> None:
    visitor = Visitor(service)
    visitor.begin()
    for words in ("None of these", "Choose all that apply.", "At most 60 characters.", "<b>50</b> <bdi>somewhat</bdi>"):
        assert words in visitor.text
    assert visitor.text.count('type="radio"') == 6
    visitor.send("/item/1", without("a0"))
    assert (visitor.status, visitor.text.count(" checked")) == (422, 4)
    assert "=rain; mud</textarea>" in visitor.text
    visitor.send("/item/1", FORM)
    visitor.send("/item/2", without("a0", "a2", "a4", o0="too_private", n2="none", o6="no_words"))
    visitor.get("/item/2")
    assert visitor.text.count(" checked") == 5

    exported = service.researchers.corpus()
    exported.write(tmp_path / "out")
    corpus = Corpus.read(tmp_path / "out")
    rows = {(row["item"], row["question"]): row for row in corpus.judgments.iter_rows(named=True)}
    told = [("strength", 50.0, None), ("emotions.anger-or-rage", 0.0, None), ("keywords", 1.0, "=rain; mud")]
    for question, value, text in told:
        row = rows["item/1", question]
        assert (row["value"], row["status"], row["rationale"]) == (value, "answered", text)
    assert rows["item/2", "strength"]["status"] == "too_private"
    assert rows["item/2", "remark"]["status"] == "no_words"
    assert [rows["item/2", question.id]["value"] for question in diary().named("emotions")] == [0.0, 0.0, 0.0]
    assert corpus.instruments[0] == diary()

    assert "'=rain; mud" in csv_text(corpus.judgments)
    item = service.researchers.item("item/1")
    texts = next(d.rationales for d in item.distributions if d.question == "keywords")
    assert [(label, text) for _, label, text in texts] == [("text", "=rain; mud")]


def test_a_table_with_an_opt_out_of_the_instrument_is_imported(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("item,rater,question,value,status\na,r,strength,,too_private\na,s,strength,50,answered\n")
    corpus = read_table(table, instrument=diary())
    assert corpus.judgments["status"].cast(str).to_list() == ["too_private", "answered"]
