"""A second round: answers with reasons and without names, judged by others and by those who gave them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import select

from tests.collect.web.studies import Visitor
from vantage import Corpus, Instrument, measures
from vantage.collect import AnnotationStudy, StudyService
from vantage.collect.second_round import NO_REASON, second_round
from vantage.collect.tables import participants
from vantage.errors import InputError

IRONY = Instrument.load("irony")


def first(**more: list[str | None]) -> Corpus:
    """Two people and a model about two texts; the people disagree about the first."""
    people = pl.DataFrame({"rater": ["p", "q", "m"], "kind": ["person", "person", "model"]})
    items = pl.DataFrame({"item": ["a", "b"], **{f.name: ["Great.", "Rain."] for f in IRONY.fields}})
    rows = {"item": [*"aabba"], "question": ["irony"] * 5, "rater": [*"pqpqm"], "value": [1, 0, 0, 0, 1], **more}
    return Corpus(items, people, pl.DataFrame(rows), IRONY)


def test_every_answer_of_people_is_an_item_without_names() -> None:
    made = second_round(first(rationale=["Because it rains.", None, "Dull.", "Plain.", "As an AI."]))
    rows = {row["item"]: row for row in made.items.iter_rows(named=True)}
    labels = [IRONY.questions[0].scale.label(code) for code in (1, 0)]
    assert list(rows) == [f"a | irony | {labels[0]}", f"a | irony | {labels[1]}", f"b | irony | {labels[1]}"]
    one, two, three = rows.values()
    assert (one["given_by"], two["given_by"], three["given_by"]) == (["p"], ["q"], ["p", "q"])
    assert (one["reasons"], two["reasons"]) == ("• Because it rains.", NO_REASON)
    assert sorted(three["reasons"].split("\n")) == ["• Dull.", "• Plain."]
    assert {row["first_item"] for row in rows.values()} == {"a", "b"}
    assert "Great." in one["text"]
    shown = {field.name for field in made.instruments[0].fields}
    assert "given_by" not in shown


def test_a_corpus_without_answers_has_no_second_round() -> None:
    with pytest.raises(InputError, match="no person has answered"):
        second_round(first().filter(rater=["m"]))


def test_people_say_what_is_defensible_and_errors_are_told_from_perspectives(tmp_path: Path) -> None:
    made = second_round(first())
    judged = {
        # Both answers about the first text are defensible to the other person, and each stands by their own.
        made.items["item"][0]: {"p": 1.0, "q": 1.0},
        made.items["item"][1]: {"p": 1.0, "q": 1.0, "r": 1.0},
        # Two more people find the answer about the second text an error, and one of its authors takes it back.
        made.items["item"][2]: {"p": 0.0, "q": 1.0, "r": 0.0, "s": 0.0},
    }
    rows = [(item, "defensible", rater, value) for item, given in judged.items() for rater, value in given.items()]
    judgments = pl.DataFrame(rows, schema=["item", "question", "rater", "value"], orient="row")
    raters = pl.DataFrame({"rater": [*"pqrs"]}).with_columns(kind=pl.lit("person"))
    corpus = Corpus(made.items, raters, judgments, made.instruments)
    corpus.write(tmp_path / "second")
    corpus = Corpus.read(tmp_path / "second")
    scores = {row["score"]: row["estimate"] for row in measures.defensible(corpus).iter_rows(named=True)}
    # Four answers: two that others validate, two of the two people about the second text that nobody else does.
    assert scores == {
        "peer_validated": 0.5,
        "self_validated": 0.75,
        "errors": 0.5,
        "divided": 0.5,
        "disagreed": 0.5,
    }
    answers = measures.defensible(corpus, per="answer").select("first_item", "givers", "estimate", "own").rows()
    assert answers == [("a", 1, 1.0, 1.0), ("a", 1, 1.0, 1.0), ("b", 2, 0.0, 0.5)]


def test_an_answer_is_an_error_where_nearly_all_others_say_so() -> None:
    people = [f"p{n}" for n in range(9)]
    rows = {"item": ["a|x"] * 9 + ["a|y"] * 9, "rater": people * 2, "value": [0] * 9 + [1] * 9}
    rows |= {"first_item": ["a"] * 18, "first_question": ["q"] * 18, "given_by": [["z"]] * 18}
    assert measures.defensible(rows, per="answer")["verdict"].to_list() == ["error", "defensible"]
    with pytest.raises(InputError, match="they are not answers from a first round"):
        measures.defensible({"item": ["a"], "rater": ["p"], "value": [1]})


def test_people_of_the_first_round_keep_their_names(tmp_path: Path) -> None:
    """Somebody who comes from the same platform is the same rater in both exports."""
    first().write(tmp_path / "first")
    second_round(first()).write(tmp_path / "second")
    names = []
    recruitment = {"via": "panel", "parameter": "id"}
    for place, more in (("first", {}), ("second", {"people_of": str(tmp_path / "first" / "one.sqlite")})):
        folder = tmp_path / place
        flow = {"flow": ["consent", "guidelines", {"block": {"id": "main"}}]} if place == "first" else {}
        asked = "irony" if place == "first" else "defensible"
        study = AnnotationStudy.of(folder, asked, raters=2, recruitment={**recruitment, **more}, **flow)
        service = StudyService(study, f"sqlite:///{folder / 'one.sqlite'}")
        visitor = Visitor(service)
        visitor.get("/?id=ann-7")
        visitor.send("/consent", {"agreed": "yes"})
        names.append(service.database.read(lambda c: c.execute(select(participants.c.rater)).scalar_one()))
        service.close()
    assert names[0] == names[1]
