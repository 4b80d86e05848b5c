"""A study with every phase and every kind of answer, rehearsed: careful people finish it, and nothing breaks."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from markupsafe import escape
from sqlalchemy import select

from tests.collect.web.studies import QUIZ, Visitor, corpus
from tests.instruments.test_kinds import KINDS, OPINIONS, ORDERS
from vantage.collect.flow_checks import people_needed
from vantage.collect.form import StudyForm, form_of
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import participants
from vantage.collect.web import forms
from vantage.corpora import Corpus
from vantage.documents import dump
from vantage.instruments import Instrument
from vantage.recruit.rehearsal.answering import Guest, RehearsalAnswers
from vantage.recruit.rehearsal.rehearse import forecast, rehearse

OFFER = {"url": "https://a.example", "description": "d", "hourly_pay": 9.0, "currency": "GBP", "minutes": 6}
SCREENER: dict[str, Any] = {
    "questions": [
        {"id": "age", "ask": "How old are you?", "kind": "number", "from": 18, "to": 99, "required": True},
        {"id": "english", "ask": "Do you speak English?", "options": ["yes", "no"], "required": True},
    ],
    "rules": [
        {"if": "english", "is": ["no"], "end": "This study is for those who speak English."},
        {"if": "age", "above": 40, "end": "This study is for people of up to 40 years."},
    ],
}
ABOUT: dict[str, Any] = {
    "questions": [
        {"id": "gender", "ask": "Which gender are you?", "options": ["woman", "man", "another"]},
        {"id": "tongues", "ask": "What do you speak?", "kind": "several", "options": ["English", "Hebrew"]},
        {"id": "work", "ask": "What is your work?", "kind": "text", "required": True},
    ]
}
TRAINING: dict[str, Any] = {
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


def flow(training: Mapping[str, Any]) -> list[Any]:
    """Every phase."""
    return [
        "consent",
        {"screener": SCREENER},
        {"questionnaire": ABOUT},
        {"guidelines": {"training": training}},
        {"quiz": QUIZ},
        {"block": {"id": "main"}},
        {"debriefing": {"text": "Thank you. The entries were invented."}},
    ]


def whole(folder: Path, **more: Any) -> AnnotationStudy:
    """A study with every phase about a diary: sliders, numbers, several options, texts, best and worst."""
    texts = [{"text": f"Entry {n}: it rained, and I shouted at the cat in the garden."} for n in range(9)]
    data: dict[str, Any] = {
        "id": "whole",
        "title": "Whole",
        "instrument": str(KINDS),
        "corpus": more.get("corpus") or str(corpus(folder, str(KINDS), texts)),
    }
    data |= {"raters": 2, "batch": {"size": 4}, "flow": flow(TRAINING), "gold": GOLD, "recruitment": {"offer": OFFER}}
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


HEBREW, GERMAN = "משפט", "Satz"
"""What words of the study begin with in its other languages."""


def said(part: Any, word: str) -> Any:
    """What an instrument or an item says, with a word before each text that people read."""
    if isinstance(part, list):
        return [said(one, word) for one in part]
    if not isinstance(part, dict):
        return part
    read = ("title", "ask", "label", "description", "guidelines", "several", "reason")
    named = {
        key: {code: f"{word} {text}" for code, text in part.get(key, {}).items()} for key in ("opt_outs", "anchors")
    }
    new = {
        key: f"{word} {text}" if key in read and isinstance(text, str) else said(text, word)
        for key, text in part.items()
    }
    return new | {key: texts for key, texts in named.items() if texts}


def every_kind(language: str = "en", word: str = "") -> dict[str, Any]:
    """One instrument with a question of every kind, in a language."""
    parts = [yaml.safe_load(file.read_text("utf-8")) for file in (KINDS, OPINIONS, ORDERS)]
    fields = [{"name": "text", "title": "Entry"}, {"name": "place", "title": "Place"}]
    scales: dict[str, Any] = {}
    questions: list[Any] = []
    for part in parts:
        scales |= {f"{part['id']}-{name}": scale for name, scale in part["scales"].items()}
        questions += [one | {"scale": f"{part['id']}-{one['scale']}"} for one in part["questions"]]
    whole = {"id": f"everything-{language}", "version": 1, "language": language, "title": "Everything"}
    whole |= {"description": "Every kind of answer.", "guidelines": "Read the entry.", "fields": fields}
    whole |= {"scales": scales, "questions": questions}
    return said(whole, word) if word else whole


def in_three_languages(folder: Path, **more: Any) -> AnnotationStudy:
    """The study with every phase and every kind of answer in English, German and Hebrew."""
    for code, word in (("en", ""), ("de", GERMAN), ("he", HEBREW)):
        (folder / f"everything.{code}.yaml").write_text(dump(every_kind(code, word)), encoding="utf-8")
    original = folder / "everything.en.yaml"
    texts = [f"Entry {n}: it rained, and I shouted at the cat in the garden." for n in range(13)]
    items = {"item": [f"item/{n}" for n in range(13)], "text": texts, "place": ["Rome"] * 13}
    for code, word in (("de", GERMAN), ("he", HEBREW)):
        items |= {f"text_{code}": [f"{word} {text}" for text in texts], f"place:{code}": [f"{word} Rome"] * 13}
    Corpus.of_items(pl.DataFrame(items), Instrument.load(original)).write(folder / "corpus")
    practice = copy.deepcopy(TRAINING["items"])
    for one in practice:
        own = one["item"]["text"]
        one["item"] |= {"text_de": f"{GERMAN} {own}", "text_he": f"{HEBREW} {own}"}
    asked = [*SCREENER["questions"], *ABOUT["questions"], *QUIZ["questions"]]
    own = [*(text for one in asked for text in (one["ask"], *one.get("options", ()))), CHECKS[0]["instruction"]]
    own += ["Thank you. The entries were invented.", "Laughing is joy.", *(one["end"] for one in SCREENER["rules"])]
    translations = {
        code: {
            "instrument": f"everything.{code}.yaml",
            "back_translation": "By nobody: this is a test.",
            "texts": {text: f"{word} {text}" for text in own},
        }
        for code, word in (("de", GERMAN), ("he", HEBREW))
    }
    return whole(
        folder,
        instrument="everything.en.yaml",
        corpus="corpus",
        translations=translations,
        flow=flow({"items": practice, "needed": 2}),
        **more,
    )


def test_every_phase_and_kind_of_answer_is_rehearsed_in_three_languages(tmp_path: Path) -> None:
    """Everybody careful finishes, and the forecast of the duration is that of the people who came."""
    made = rehearse(in_three_languages(tmp_path, raters=3), people=9, seed=1, mix={"careful": 1})
    row = made.summary.row(0, named=True)
    assert made.stuck.is_empty(), made.stuck.to_dicts()
    assert (row["finished"], row["answered"], row["open"]) == (9, 36, 0)


@pytest.mark.slow
def test_forecasts_are_near_what_becomes_of_a_study_in_three_languages(tmp_path: Path) -> None:
    study = in_three_languages(tmp_path, raters=10)
    expected, needed = forecast(study, seed=2), people_needed(study.plan, study.blocks, {"main": 12})
    made = rehearse(study, people=40, seed=3, mix={"careful": 1})
    row = made.summary.row(0, named=True)
    assert (row["finished"], row["not_needed"], row["answered"]) == (needed, 40 - needed, 120)
    assert abs(row["median_minutes"] / expected - 1) <= 0.15, (row["median_minutes"], expected)


def test_pages_of_a_study_in_hebrew_say_nothing_in_english(tmp_path: Path) -> None:
    """What people read in another language of the content is in that language, on every page."""
    study = in_three_languages(tmp_path, attention={"per_batch": 4, "checks": CHECKS})
    known = r"Entry \d|laughed all|I shook|Choose the middle|Thank you|Which \w|How \w|^: (?:yes|no)\b"
    texts = [text for page in walked(study, "he") for text in re.findall(r">([^<>]+)<", page)]
    # Words to mark stand one by one.
    read = [" ".join(text.split()) for text in texts if " " in text.strip() and re.search(known, text)]
    assert any(text.startswith(f": {HEBREW} joy") for text in texts), "the feedback names the options"
    assert len({*read}) > 15
    assert [text for text in read if not text.startswith(HEBREW)] == []


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


def walked(study: AnnotationStudy, language: str = "en") -> Iterator[str]:
    """The pages that a careful person sees, filled in as the typed form of each step, from the first to the last."""
    with closing(StudyService(study)) as service:
        visitor, answers, guest = Visitor(service), RehearsalAnswers(study, 1), Guest(1, "careful", 1.0)
        visitor.client.headers["accept-language"] = language
        rng, people = np.random.default_rng(1), service.participants
        visitor.get("/")
        visitor.send("/consent", {"agreed": "yes"})
        (number,) = service.database.read(lambda c: c.execute(select(participants.c.id)).scalars().all())
        person = people.find(number)
        assert person is not None
        seen, behind = list[str](), list[float]()
        while (step := people.step(person)).kind != "finished":
            form = form_of(people, person, step)
            yield visitor.text
            drawn = set(re.findall(r'name="([almnorst]\d+(?:\.\d+)?)"', visitor.text))
            content = sent(form, answers.filled(form, guest, rng))
            assert {*content} <= drawn, form.name
            assert bool(drawn) == bool(form.fields), form.name
            for one in form.fields:
                label = str(escape(one.label))
                assert label in visitor.text or study.in_language(language).said(one.label) in visitor.text, form.name
            visitor.send(visitor.path, content)
            assert visitor.status == 200, (form.name, visitor.text)
            bar = re.search(r'<progress value="([0-9.]+)" max="1"', visitor.text)
            behind.append(float(bar[1]) if bar else 1.0)
            seen.append(step.kind)
            assert len(seen) < 40
        assert visitor.path == "/end"
        items = seen.count("item")
        kinds = ["screener", "traits", "guidelines", *["training"] * 4, "quiz"]
        assert seen == [*kinds, *["item"] * items, "review", "debriefing"]
        # One bar for the whole study: it never goes back, and rises with every page that is answered.
        assert behind == sorted(behind)
        assert 0 < behind[0] < 0.2
        assert len({*behind}) >= len(seen) - 3, behind


def test_the_pages_draw_what_the_forms_ask(tmp_path: Path) -> None:
    """A careful person's answers to the fields, sent through the real pages, lead from the first to the last."""
    assert sum("/item/" in page and 'class="rating"' in page for page in walked(whole(tmp_path))) == 6
