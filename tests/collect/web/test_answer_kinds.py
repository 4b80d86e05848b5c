"""People answer every kind of question without JavaScript, and the answers are exported, written and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collect.web.studies import Visitor, study_service
from tests.instruments.test_kinds import KINDS, OPINIONS, ORDERS, diary
from vantage.collect.answers import checked
from vantage.collect.service import StudyService
from vantage.collect.views import InvalidAnswers, QuestionAnswer
from vantage.collect.web import forms
from vantage.corpora import Corpus
from vantage.corpora.readers.table import read as read_table
from vantage.corpora.writers import csv_text
from vantage.instruments import Instrument

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


# tone a0, how sure a1, others s2.0–s2.2, anger s3.0–s3.2
OPINION = {"a0": "2", "a1": "80", "s2.0": "10", "s2.1": "30", "s2.2": "60", "s3.1": "50", "s3.2": "50"}


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"s2.0": "20"}, "The shares add up to 110. Please make them add up to 100."),
        ({"s2.0": "-10", "s2.1": "50"}, "Please enter a number from 0 to 100."),
        ({"s2.0": "ten"}, "Please enter a number from 0 to 100."),
        ({"s2.0": "nan"}, "Please enter a number from 0 to 100."),
        ({"o2": "ambiguous"}, "Please either give shares or choose the other answer, not both."),
        ({"s2.0": "", "s2.1": "", "s2.2": ""}, "Please choose an answer."),
    ],
)
def test_shares_that_are_no_distribution_are_refused(other: dict[str, str], sentence: str) -> None:
    asked = Instrument.load(OPINIONS).questions
    with pytest.raises(InvalidAnswers) as refused:
        checked(asked, forms.read(asked, {**OPINION, **other}))
    assert forms.errors(asked, refused.value) == {"a2": sentence}


def test_one_answer_is_no_distribution() -> None:
    asked = Instrument.load(OPINIONS).questions[3:]
    with pytest.raises(InvalidAnswers):
        checked(asked, {"anger": QuestionAnswer(2.0)})


def test_distributions_are_exported_with_the_most_probable_answer(tmp_path: Path) -> None:
    service = study_service(tmp_path, str(OPINIONS), items=ITEMS)
    visitor = Visitor(service)
    visitor.begin()
    assert visitor.text.count('class="card question beside"') == 2
    visitor.send("/item/1", {**OPINION, "s2.0": "20"})
    assert (visitor.status, 'value="60"' in visitor.text) == (422, True)
    visitor.send("/item/1", OPINION)
    declined = {name: value for name, value in OPINION.items() if name[:2] != "s2"} | {"o2": "ambiguous"}
    visitor.send("/item/2", {**declined, "s3.0": "33", "s3.1": "33", "s3.2": "33"})
    visitor.get("/item/1")
    assert 'name="s2.2" id="s2.2" value="60"' in visitor.text
    service.researchers.corpus().write(tmp_path / "out")
    rows = Corpus.read(tmp_path / "out").judgments.select("item", "question", "value", "status", "probabilities").rows()
    assert rows == [
        ("item/1", "tone", 2.0, "answered", None),
        ("item/1", "tone-sure", 80.0, "answered", None),
        ("item/1", "tone-others", 2.0, "answered", [0.1, 0.3, 0.6]),
        ("item/1", "anger", 2.0, "answered", [0.0, 0.5, 0.5]),
        ("item/2", "tone", 2.0, "answered", None),
        ("item/2", "tone-sure", 80.0, "answered", None),
        ("item/2", "tone-others", None, "ambiguous", None),
        ("item/2", "anger", 1.0, "answered", [0.333333, 0.333333, 0.333333]),
    ]


# aims a0–a2, side a3, words m4.0 …
ORDER = {"a0": "2", "a1": "3", "a2": "1", "a3": "1", "m4.1": "1", "m4.2": "1", "m4.4": "1"}
SPEECH = "We need work first, and clean air."


@pytest.mark.parametrize(
    ("other", "name", "sentence"),
    [
        ({"a1": "2"}, "a1", "Give each place once; 1 is the first."),
        ({"a1": "4"}, "a1", "Please choose an answer."),
        ({"a1": ""}, "a1", "Please choose an answer."),
        ({"o0": "not_mentioned"}, "a0", "Please choose either options or the answer below them, not both."),
        ({"m4.1": None, "m4.2": None, "m4.4": None}, "a4", "Mark the words that decided, at most 4."),
        ({"m4.0": "1", "m4.5": "1"}, "a4", "Mark the words that decided, at most 4."),
    ],
)
def test_what_is_no_ranking_and_no_mark_is_named(other: dict[str, str | None], name: str, sentence: str) -> None:
    asked = Instrument.load(ORDERS).questions
    form = {key: value for key, value in {**ORDER, **other}.items() if value is not None}
    with pytest.raises(InvalidAnswers) as refused:
        checked(asked, forms.read(asked, form))
    assert forms.errors(asked, refused.value) == {name: sentence}


def test_rankings_and_marked_words_are_exported(tmp_path: Path) -> None:
    service = study_service(tmp_path, str(ORDERS), items=[{"text": SPEECH, "place": "Rome"}, {"text": "No. No!"}])
    visitor = Visitor(service)
    visitor.begin()
    assert visitor.text.count("<select") == 3
    assert "<span>first,</span>" in visitor.text
    visitor.send("/item/1", {**ORDER, "a1": "2"})
    assert (visitor.status, visitor.text.count(" selected"), visitor.text.count(" checked")) == (422, 3, 4)
    visitor.send("/item/1", ORDER)
    assert visitor.path == "/item/2"
    visitor.send("/item/2", {"o0": "not_mentioned", "a3": "0", "m4.1": "1", "m4.99": "1"})
    visitor.get("/item/1")
    assert (visitor.text.count(" selected"), visitor.text.count(" checked")) == (3, 4)
    corpus = service.researchers.corpus()
    assert "probabilities" not in corpus.judgments.columns
    corpus.write(tmp_path / "out")
    rows = Corpus.read(tmp_path / "out").judgments.select("question", "value", "status", "rationale").rows()
    assert rows == [
        ("aims.jobs", 2.0, "answered", None),
        ("aims.the-climate-or-nature", 3.0, "answered", None),
        ("aims.safety", 1.0, "answered", None),
        ("side", 1.0, "answered", None),
        ("side-words", 1.0, "answered", "need work; and"),
        ("aims.jobs", None, "not_mentioned", None),
        ("aims.the-climate-or-nature", None, "not_mentioned", None),
        ("aims.safety", None, "not_mentioned", None),
        ("side", 0.0, "answered", None),
        ("side-words", 1.0, "answered", "No!"),
    ]
    item = service.researchers.item("item/1")
    assert [text for one in item.distributions for _, _, text in one.rationales] == ["need work; and"]
    assert service.researchers.raters()[0].answered == 2
