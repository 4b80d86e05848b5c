"""Rehearsals of bundled instruments: exact counts, checks that catch careless people, pages nobody can pass."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.collect.web.studies import QUIZ, corpus
from vantage import Corpus, demo_corpus
from vantage.collect.study import AnnotationStudy
from vantage.documents import Document, dump
from vantage.errors import InputError
from vantage.recruit.rehearsal.answering import KINDS, crowd
from vantage.recruit.rehearsal.rehearse import forecast, rehearse
from vantage.recruit.rehearsal.results import Rehearsal
from vantage.report.planning import rehearsal_report

CHECKS = [
    {"id": f"{question}{code}", "instruction": f"Choose {code} here.", "question": question, "accept": [code]}
    for question in ("trust", "sociability", "competence")
    for code in (3, -2)
]
TRAITS = [
    {"id": "age", "ask": "How old are you?", "kind": "number", "from": 18, "to": 120, "required": True},
    {"id": "gender", "ask": "What is your gender?", "options": ["woman", "man"]},
    {"id": "tongues", "ask": "What do you speak?", "kind": "several", "options": ["English", "German"]},
    {"id": "work", "ask": "What is your work?", "kind": "text"},
]


def warmth(folder: Path, **plan: Any) -> AnnotationStudy:
    """A study of the demo's items: each participant judges some on one dimension, with checks."""
    given = {"raters": 4, "batch": {"size": 5}, "attention": {"per_batch": 2, "checks": CHECKS}, **plan}
    return AnnotationStudy.of(demo_corpus().write(folder / "demo"), "warmth-competence", **given)


def exact(made: Rehearsal, people: int) -> dict[str, Any]:
    """Checks that every person and every seat is accounted for; the summary."""
    row = made.summary.row(0, named=True)
    assert row["people"] == people == len(made.people)
    ends = ("finished", "ended_early", "declined", "returned", "vanished", "stuck", "failed", "no_place")
    assert sum(made.outcomes[end].sum() for end in ends) == people
    assert row["answered"] + row["open"] == row["wanted"]
    planned = {guest.number: guest.kind for guest in crowd(people, 1)}
    assert dict(made.people.select("person", "kind").iter_rows()) == planned
    assert made.outcomes["failed"].sum() == made.outcomes["stuck"].sum() == 0
    return row


def flow(folder: Path, name: str, items: Path, **plan: Any) -> AnnotationStudy:
    """A bundled flow in smaller portions, so that 200 people share few items."""
    document = Document.bundled("vantage.collect", "flows", f"{name}.yaml").data
    assert isinstance(document, dict)
    file = folder / "study.yaml"
    file.write_text(dump({**document, "recruitment": {"offer": OFFER}, **plan}), encoding="utf-8")
    return AnnotationStudy.load(file, items)


@pytest.mark.slow
def test_two_hundred_people_of_wcsent_end_with_exact_counts(tmp_path: Path) -> None:
    items = demo_corpus().write(tmp_path / "demo")
    attention = {"per_batch": 2, "checks": CHECKS}
    plan: dict[str, Any] = {"raters": 10, "batch": {"size": 5}, "attention": attention}
    # Without the training, which careless people fail before they meet a check.
    plan["flow"] = ["consent", "guidelines", {"block": {"id": "sentences", "comments": True}}]
    made = rehearse(flow(tmp_path, "wcsent", items, **plan), people=200, seed=1)
    row = exact(made, 200)
    assert (row["answered"], row["open"]) == (900, 0)
    # Five items each: 180 batches are complete, and nobody is paid for more.
    assert row["finished"] * 5 >= 900 - 5 * int(row["left"])
    assert row["finished"] + row["declined"] + row["left"] + row["screened_out"] + row["not_needed"] == 200
    paid = row["finished"] - _failed(made)
    assert row["cost"] == pytest.approx(paid * row["reward"] * 1.4, abs=0.05)  # a third of fees, a fifth of tax on it
    assert made.people.filter(kind="phone", continued=False).is_empty()
    check = made.checks.row(0, named=True)
    stated = 1 - (1 / 7) ** 2  # two checks with seven answers each, of which none may fail
    reach = 3 * sqrt(stated * (1 - stated) / check["careless"])
    assert abs(check["sensitivity"] - stated) <= reach
    assert check["false_alarms"] < 0.15
    page = rehearsal_report(made).write(tmp_path / "page").read_text()
    assert "900 of 900 ratings were given" in page


def _failed(made: Rehearsal) -> int:
    row = made.checks.filter(check="attention checks").row(0, named=True)
    return int(row["caught"] + row["flagged"] + row["hasty_caught"] + row["copying_caught"] + row["others_caught"])


OFFER = {"url": "https://a.example", "description": "d", "hourly_pay": 9.0, "currency": "GBP", "minutes": 6}


@pytest.mark.slow
def test_two_hundred_people_of_appraisals_end_with_exact_counts(tmp_path: Path) -> None:
    items = [{"text": f"My {n}. day at work went wrong, and I blame myself for it."} for n in range(12)]
    offer = {"recruitment": {"offer": {**OFFER, "minutes": 20}}}
    study = flow(tmp_path, "appraisals", corpus(tmp_path, "appraisals", items), raters=10, batch={"size": 1}, **offer)
    made = rehearse(study, people=200, seed=1)
    row = exact(made, 200)
    assert (row["answered"], row["open"]) == (120, 0)
    assert len(made.reliability) == 24


@pytest.mark.slow
def test_the_same_seed_gives_the_same_rehearsal(tmp_path: Path) -> None:
    study = warmth(tmp_path, raters=1, batch={"size": 2}, traits=TRAITS, quiz=QUIZ, recruitment={"offer": OFFER})
    mix = dict.fromkeys(("careful", "leaving", "phone", "declining"), 1.0)
    first, second = (rehearse(study, people=4, seed=3, mix=mix) for _ in range(2))
    assert first.people.equals(second.people)
    assert first.summary.equals(second.summary)
    assert {path.name for path in tmp_path.rglob("*.sqlite")} == set()


@pytest.mark.slow
def test_what_people_judge_again_is_no_further_rating(tmp_path: Path) -> None:
    blocks: list[Any] = [
        {"block": {"id": "test", "items": {"sample": 3}}},
        {"block": {"id": "again", "items": {"same_as": "test"}}},
    ]
    plan = {
        "flow": ["consent", *blocks],
        "raters": 2,
        "batch": {"size": 30},
        "attention": None,
        "questions": [["trust"]],
    }
    made = rehearse(warmth(tmp_path, **plan), people=4, seed=1)
    assert made.reliability.select("items", "per_item").row(0) == (3, 2)


def test_a_page_that_nobody_can_pass_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vantage.collect import participants
    from vantage.collect.views import InvalidAnswers

    def refused(*_: Any) -> str:
        raise InvalidAnswers({"trust": "No answer is right."})

    monkeypatch.setattr(participants, "checked", refused)
    made = rehearse(warmth(tmp_path, recruitment={"offer": OFFER}), people=3, seed=1, mix={"careful": 1})
    assert made.stuck["nobody"].all()
    assert made.stuck["stuck"].sum() == 3
    assert "No answer is right." in made.stuck["why"][0]
    assert "nobody could pass" in made.summary["verdict"][0]


@pytest.mark.slow
def test_pilots_give_the_model_of_answers(tmp_path: Path) -> None:
    study = warmth(tmp_path, raters=1, questions=[["trust"]], recruitment={"offer": OFFER})
    made = rehearse(study, people=3, seed=1, mix={"careful": 1}, pilot=demo_corpus())
    assert made.summary["finished"][0] == 3
    empty = Corpus(
        demo_corpus().items, demo_corpus().raters, demo_corpus().judgments.clear(), demo_corpus().instruments
    )
    with pytest.raises(InputError, match="pilot"):
        rehearse(study, people=3, pilot=empty)


@pytest.mark.slow
def test_the_forecast_follows_the_length(tmp_path: Path) -> None:
    short = forecast(warmth(tmp_path, batch={"size": 2}, attention=None))
    longer = forecast(warmth(tmp_path, batch={"size": 8}, attention=None))
    assert 1 < short < longer < 30


def test_crowds_are_exact_and_named() -> None:
    counts = pl.Series([guest.kind for guest in crowd(200, 5)]).value_counts()
    assert dict(counts.iter_rows())["careful"] == 140
    assert len(crowd(7, 1)) == 7
    assert {guest.kind for guest in crowd(300, 1)} == set(KINDS)
    with pytest.raises(InputError, match="did you mean 'careless'"):
        crowd(10, 1, {"carless": 1.0})
    with pytest.raises(InputError, match="needs people"):
        crowd(0, 1)
