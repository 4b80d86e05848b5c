"""A study with every phase and every kind of answer, rehearsed: careful people finish it, and nothing breaks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import escape
from sqlalchemy import select

from tests.collect.web.studies import QUIZ, Visitor, corpus
from tests.instruments.test_kinds import KINDS, OPINIONS, ORDERS
from vantage.collect.form import StudyForm, form_of
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import participants
from vantage.collect.web import forms
from vantage.documents import dump
from vantage.recruit.rehearsal.answering import Guest, RehearsalAnswers
from vantage.recruit.rehearsal.rehearse import rehearse

OFFER = {"url": "https://a.example", "description": "d", "hourly_pay": 9.0, "currency": "GBP", "minutes": 6}
SCREENER = {
    "questions": [
        {"id": "age", "ask": "How old are you?", "kind": "number", "from": 18, "to": 99, "required": True},
        {"id": "english", "ask": "Do you speak English?", "options": ["yes", "no"], "required": True},
    ],
    "rules": [
        {"if": "english", "is": ["no"], "end": "This study is for those who speak English."},
        {"if": "age", "above": 40, "end": "This study is for people of up to 40 years."},
    ],
}
ABOUT = {
    "questions": [
        {"id": "gender", "ask": "Which gender are you?", "options": ["woman", "man", "another"]},
        {"id": "tongues", "ask": "What do you speak?", "kind": "several", "options": ["English", "Hebrew"]},
        {"id": "work", "ask": "What is your work?", "kind": "text", "required": True},
    ]
}
TRAINING = {
    "items": [
        {
            "item": {"text": "I laughed all day."},
            "accept": {
                "strength": {"from": 60, "to": 100},
                "share": [70, 80, 90],
                "emotions.joy": [1],
                "emotions.fear": [0],
                "emotions.anger-or-rage": [0],
                "best": [1],
            },
            "explain": "Laughing is joy.",
        },
        {
            "item": {"text": "I shook."},
            "accept": {"emotions.fear": [1], "emotions.joy": [0], "emotions.anger-or-rage": [0]},
        },
    ],
    "needed": 2,
}
GOLD = {"per_batch": 1, "items": [{"item": "item/1", "accept": {"strength": {"from": 80, "to": 100}, "best": [2]}}]}
CHECKS = [{"id": "middle", "instruction": "Choose the middle as the worst.", "question": "worst", "accept": [2]}]


def whole(folder: Path, **more: Any) -> AnnotationStudy:
    """A study with every phase about a diary: sliders, numbers, several options, texts, best and worst."""
    texts = [{"text": f"Entry {n}: it rained, and I shouted at the cat in the garden."} for n in range(9)]
    flow = [
        "consent",
        {"screener": SCREENER},
        {"questionnaire": ABOUT},
        {"guidelines": {"training": TRAINING}},
        {"quiz": QUIZ},
        {"block": {"id": "main"}},
        {"debriefing": {"text": "Thank you. The entries were invented."}},
    ]
    data: dict[str, Any] = {
        "id": "whole",
        "title": "Whole",
        "instrument": str(KINDS),
        "corpus": str(corpus(folder, str(KINDS), texts)),
    }
    data |= {"raters": 2, "batch": {"size": 4}, "flow": flow, "gold": GOLD, "recruitment": {"offer": OFFER}}
    data |= {
        "attention": {"per_batch": 1, "checks": CHECKS},
        **more,
    }
    file = folder / "study.yaml"
    file.write_text(dump(data), encoding="utf-8")
    return AnnotationStudy.load(file)


def test_careful_people_finish_every_phase_with_every_kind_of_answer(tmp_path: Path) -> None:
    made = rehearse(whole(tmp_path), people=4, seed=1, mix={"careful": 1})
    row = made.summary.row(0, named=True)
    assert (row["finished"], row["answered"], row["open"]) == (4, 16, 0), made.stuck.to_dicts()
    assert made.stuck.is_empty()


def test_careless_people_are_screened_out(tmp_path: Path) -> None:
    made = rehearse(whole(tmp_path), people=3, seed=1, mix={"careless": 1})
    assert made.people["outcome"].to_list() == ["ended early"] * 3


def test_distributions_and_confidence_are_rehearsed(tmp_path: Path) -> None:
    items = [{"text": f"Post {n} says this."} for n in range(5)]
    rules = [{"exclude": "same answer > 0.9"}]
    plan: dict[str, Any] = {"raters": 2, "batch": {"size": 5}, "rules": rules, "recruitment": {"offer": OFFER}}
    study = AnnotationStudy.of(corpus(tmp_path, str(OPINIONS), items), str(OPINIONS), **plan)
    made = rehearse(study, people=2, seed=1, mix={"careful": 1})
    assert made.summary.select("finished", "answered").row(0) == (2, 10)


def test_rankings_and_marked_words_are_rehearsed(tmp_path: Path) -> None:
    items = [{"text": f"We need work first, and clean air after {n} years.", "place": "Rome"} for n in range(12)]
    rules = [{"exclude": "same answer > 0.9 after 10"}]
    plan: dict[str, Any] = {"raters": 2, "batch": {"size": 12}, "rules": rules, "recruitment": {"offer": OFFER}}
    study = AnnotationStudy.of(corpus(tmp_path, str(ORDERS), items), str(ORDERS), **plan)
    made = rehearse(study, people=2, seed=1, mix={"careful": 1})
    assert made.summary.select("finished", "answered").row(0) == (2, 24)


def test_careful_people_differ_on_every_kind_of_answer(tmp_path: Path) -> None:
    scales = {
        "degree": {"level": "ratio", "from": 0, "to": 100},
        "colours": {"level": "nominal", "options": [{"code": n, "label": f"colour {n}"} for n in (1, 2, 3)]},
    }
    questions = [
        {"id": "degree", "title": "Degree", "ask": "How much?", "scale": "degree"},
        {"id": "order", "title": "Order", "ask": "Which comes first?", "scale": "colours", "ranking": True},
    ]
    document = {"id": "two", "version": 1, "title": "Two", "description": "Two kinds.", "guidelines": "Read."}
    document |= {"fields": [{"name": "text", "title": "Text"}], "scales": scales, "questions": questions}
    (tmp_path / "two.yaml").write_text(dump(document), encoding="utf-8")
    items = [{"text": f"Sentence {n} is about something else."} for n in range(12)]
    plan: dict[str, Any] = {"raters": 4, "batch": {"size": 12}, "recruitment": {"offer": OFFER}}
    place = str(tmp_path / "two.yaml")
    study = AnnotationStudy.of(corpus(tmp_path, place, items), place, **plan)
    made = rehearse(study, people=4, seed=1, mix={"careful": 1})
    assert made.checks.is_empty(), "nobody is flagged"


@pytest.mark.parametrize("name", ["pairwise", pytest.param("best-worst", marks=pytest.mark.slow)])
def test_comparisons_are_rehearsed(tmp_path: Path, name: str) -> None:
    from vantage.instruments import Instrument

    fields = [field.name for field in Instrument.load(name).fields]
    items = [{field: f"Text {n} as {field}." for field in fields} for n in range(6)]
    plan = {"raters": 2, "batch": {"size": 6}, "recruitment": {"offer": OFFER}}
    study = AnnotationStudy.of(corpus(tmp_path, name, items), name, **plan)
    made = rehearse(study, people=2, seed=1, mix={"careful": 1})
    assert made.summary.select("finished", "answered").row(0) == (2, 12)


def sent(form: StudyForm, given: Mapping[str, Any]) -> dict[str, Any]:
    """Answers to fields as the inputs of the page send them."""
    if any(one.questions for one in form.fields):
        return forms.inputs([question for one in form.fields for question in one.questions], given)
    return {f"t{n}": given[one.name] for n, one in enumerate(form.fields)}


def test_the_pages_draw_what_the_forms_ask(tmp_path: Path) -> None:
    """A careful person's answers to the fields, sent through the real pages, lead from the first to the last."""
    study = whole(tmp_path)
    with closing(StudyService(study)) as service:
        visitor, answers, guest = Visitor(service), RehearsalAnswers(study, 1), Guest(1, "careful", 1.0)
        rng, people = np.random.default_rng(1), service.participants
        visitor.get("/")
        visitor.send("/consent", {"agreed": "yes"})
        (number,) = service.database.read(lambda c: c.execute(select(participants.c.id)).scalars().all())
        person = people.find(number)
        assert person is not None
        seen, behind = list[str](), list[float]()
        while (step := people.step(person)).kind != "finished":
            form = form_of(people, person, step)
            drawn = set(re.findall(r'name="([anort]\d+)"', visitor.text))
            content = sent(form, answers.filled(form, guest, rng))
            assert {*content} <= drawn, form.name
            assert bool(drawn) == bool(form.fields), form.name
            for one in form.fields:
                assert str(escape(one.label)) in visitor.text, (form.name, one.label)
            visitor.send(visitor.path, content)
            assert visitor.status == 200, (form.name, visitor.text)
            bar = re.search(r'<progress value="([0-9.]+)" max="1"', visitor.text)
            behind.append(float(bar[1]) if bar else 1.0)
            seen.append(step.kind)
            assert len(seen) < 40
        assert visitor.path == "/end"
        kinds = ["screener", "traits", "guidelines", *["training"] * 4, "quiz", *["item"] * 6, "review", "debriefing"]
        assert seen == kinds
        # One bar for the whole study: it never goes back, and rises with every page that is answered.
        assert behind == sorted(behind)
        assert 0 < behind[0] < 0.2
        assert len({*behind}) >= len(kinds) - 3, behind
