"""A whole flow over HTTP without JavaScript: every page is one plain form."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.collect.web.studies import OPENED, QUIZ, Visitor, corpus
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy, bundled_flows
from vantage.instruments import Instrument

PRACTICE = {"item": {"post": "It rains.", "reply": "Great."}, "accept": {"irony": [1]}, "explain": "Rain."}
FLOW: list[Any] = [
    "consent",
    {
        "screener": {
            "questions": [{"id": "adult", "ask": "Are you 18?", "options": ["yes", "no"], "required": True}],
            "rules": [{"if": "adult", "is": ["no"], "end": "This study is for adults. Thank you for asking."}],
        }
    },
    {
        "guidelines": {
            "training": {
                "items": [
                    {"item": {"post": "It rains.", "reply": "Great."}, "accept": {"irony": [1]}, "explain": "Rain."}
                ]
            }
        }
    },
    {"quiz": QUIZ},
    {"block": {"id": "first", "batch": 2, "title": "First part", "minutes": 30}},
    {
        "questionnaire": {
            "title": "How was it?",
            "intro": "Two questions.",
            "questions": [
                {"id": "hard", "ask": "Was it hard?", "options": ["yes", "no"]},
                {"id": "why", "ask": "Why?", "kind": "text", "show_if": {"if": "hard", "is": ["yes"]}},
            ],
        }
    },
    {"block": {"id": "again", "items": {"same_as": "first"}}},
    {"debriefing": {"text": "We study **irony**."}},
]


def service_of(folder: Path, **plan: Any) -> StudyService:
    service = StudyService(AnnotationStudy.of(corpus(folder, "irony"), "irony", flow=FLOW, **plan))
    OPENED.append(service)
    return service


def one_form(visitor: Visitor) -> None:
    """Every page has one form, which names its own address."""
    forms = re.findall(r'<form method="post" action="([^"]+)"', visitor.text)
    assert len(forms) == 1, visitor.path
    assert forms[0] == visitor.path


def test_every_phase_in_turn(tmp_path: Path) -> None:
    service = service_of(tmp_path, recruitment={"via": "prolific", "completion_code": "CDONE", "screen_out_code": "C"})
    ann = Visitor(service)
    assert ann.get("/?PROLIFIC_PID=5f1&STUDY_ID=s&SESSION_ID=x") == "/"
    assert ann.send("/consent", {"agreed": "yes"}) == "/screener"
    one_form(ann)
    assert ann.get("/guidelines") == "/screener", "guidelines come later"
    ann.send("/screener", {})
    assert (ann.status, ann.path) == (422, "/screener")
    assert ann.send("/screener", {"t0": "yes"}) == "/guidelines"
    assert ann.send("/guidelines") == "/training"
    one_form(ann)
    ann.send("/training", {})
    assert ann.status == 422
    item = ann.form_token
    assert ann.send("/training", {"a0": "0"}) == "/training"
    assert "We would have answered differently." in ann.text
    assert "Rain." in ann.text
    one_form(ann)
    ann.send("/training", {"a0": "1"}, signed=item)
    assert "We would have answered differently." in ann.text, "the first answer stands"
    assert ann.send("/training") == "/quiz"
    one_form(ann)
    assert ann.send("/quiz", {"t0": "1", "t1": "0"}) == "/item/1"
    one_form(ann)
    assert "First part" in ann.text
    assert "Minutes left: 30" in ann.text
    seen = [ann.text]
    ann.answer()
    ann.answer()
    assert ann.path == "/review"
    one_form(ann)
    assert ann.send("/review") == "/traits"
    assert "How was it?" in ann.text
    assert "Why?" not in ann.text
    first = ann.form_token
    assert ann.send("/traits", {"t0": "yes"}) == "/traits"
    assert "Why?" in ann.text
    ann.send("/traits", {"t0": "yes"}, signed=first)
    assert "Why?" in ann.text, "a form that was sent twice does not answer the next page"
    assert ann.send("/traits", {"t0": "No context"}) == "/item/1"
    assert "Minutes left" not in ann.text
    assert ann.get("/guidelines") == "/guidelines"
    ann.get("/item/1")
    seen.append(ann.text)
    ann.answer("0")
    ann.answer("0")
    assert ann.send("/review") == "/debriefing"
    one_form(ann)
    ann.send("/debriefing", follow=False)
    assert ann.headers["location"] == "https://app.prolific.com/submissions/complete?cc=CDONE"
    assert ann.get("/") == "/end"
    collected = service.researchers.corpus()
    assert collected.raters.select("adult", "hard", "why").rows() == [("yes", "yes", "No context")]
    assert dict(collected.judgments.group_by("block").agg(pl.col("sample").first()).iter_rows()) == {
        "first": 0,
        "again": 1,
    }
    assert collected.judgments.sort("sample")["value"].to_list() == [1, 1, 0, 0]
    judged = [line for line in service.researchers.items(0, 10) if line.ratings]
    assert [line.ratings for line in judged] == [2, 2], "once more is one more rating"
    shown = service.researchers.item(judged[0].item)
    assert (shown.raters, list(shown.distributions[0].counts.values())) == (1, [0, 1]), "of the first occasion"


def test_who_is_screened_out_reads_why_and_leaves_with_the_code(tmp_path: Path) -> None:
    service = service_of(
        tmp_path, recruitment={"via": "prolific", "completion_code": "CDONE", "screen_out_code": "COUT"}
    )
    ann = Visitor(service)
    ann.get("/?PROLIFIC_PID=5f1")
    ann.send("/consent", {"agreed": "yes"})
    assert ann.send("/screener", {"t0": "no"}) == "/end"
    assert "This study is for adults. Thank you for asking." in ann.text
    assert "cc=COUT" in ann.text
    assert "did not meet" not in ann.text


def test_a_page_whose_time_is_over(tmp_path: Path) -> None:
    from sqlalchemy import update

    from vantage.collect.tables import pages

    flow = ["consent", {"block": {"id": "all", "page_minutes": 1}}]
    service = StudyService(AnnotationStudy.of(corpus(tmp_path, "irony"), "irony", flow=flow))
    OPENED.append(service)
    ann = Visitor(service)
    ann.get("/")
    assert ann.send("/consent", {"agreed": "yes"}) == "/item/1"
    assert "Minutes left: 1" in ann.text
    service.database.write(lambda c: c.execute(update(pages).values(shown_at=pages.c.shown_at - 99)).close())
    ann.answer()
    assert ann.status == 409
    assert "came too late" in ann.text
    assert ann.get("/") == "/item/1"
    assert len(service.researchers.corpus().judgments) == 0


NEEDS = {
    "context": ("sarcasm", "context"),
    "context-check": ("context-quality", ""),
    "appraisals": ("appraisals", ""),
    "reason-check": ("rationale-quality", ""),
    "second-round": ("defensible", ""),
    "stereomap": ("stereotype-content:short", ""),
    "wcsent": ("warmth-competence", ""),
}


def walk(visitor: Visitor) -> None:
    """Goes through a study by reading the forms, as somebody who knows nothing of its phases."""
    visitor.get("/")
    for _ in range(200):
        if visitor.path == "/end":
            return
        named = re.findall(
            r'<(?:input type="(radio|text)"|textarea)[^>]*? name="(\w+)"(?: value="([^"]*)")?', visitor.text
        )
        named += [("textarea", name, "") for name in re.findall(r'<textarea name="(\w+)"', visitor.text)]
        form: dict[str, str] = {}
        for kind, name, value in named:
            form.setdefault(name, value if kind == "radio" else "40" if name.startswith("t") else "because")
        form |= {"agreed": "yes"} if visitor.path in ("/", "/consent") else {}
        action = re.search(r'<form method="post" action="([^"]+)"', visitor.text)
        assert action, visitor.text
        visitor.send(action.group(1), form)
        assert visitor.status == 200, visitor.text
    raise AssertionError("the study does not end")


def unqualified(folder: Path, name: str) -> Path:
    """A bundled flow that lets everybody pass its training."""
    flow = (resources.files("vantage.collect") / "flows" / f"{name}.yaml").read_text("utf-8")
    (folder / "flow.yaml").write_text(flow.replace("        needed: 2\n", ""), "utf-8")
    return folder / "flow.yaml"


def test_who_gives_one_answer_to_everything_does_not_qualify_for_appraisals(tmp_path: Path) -> None:
    items = [one.item for one in Instrument.load("appraisals").examples][:1]
    service = StudyService(AnnotationStudy.load("flow:appraisals", corpus(tmp_path, "appraisals", items)))
    OPENED.append(service)
    walk(Visitor(service))
    assert len(service.researchers.corpus().judgments) == 0


@pytest.mark.parametrize("name", bundled_flows())
def test_bundled_flows_run_from_end_to_end(tmp_path: Path, name: str) -> None:
    instrument, condition = NEEDS[name]
    examples = [one.item for one in Instrument.load(instrument).examples if one.condition == condition]
    items = (examples * 5)[:5]
    study = AnnotationStudy.load(unqualified(tmp_path, name), corpus(tmp_path, instrument, items))
    service = StudyService(study)
    OPENED.append(service)
    ann = Visitor(service)
    walk(ann)
    assert "Thank you" in ann.text
    collected = service.researchers.corpus()
    asked = len(study.blocks[0].groups[0])
    assert len(collected.judgments) == 5 * asked * len(study.blocks)
    if name == "context":
        by_condition = dict(collected.judgments.group_by("condition").len().iter_rows())
        assert by_condition == {"static": 5, "context": 5}
        assert set(collected.raters.columns) >= {"adult", "english", "age", "gender", "helped"}
    if name == "wcsent":
        assert collected.judgments["question"].n_unique() == 1
        assert collected.raters["comment"].to_list() == ["40"]
        # A comment on each answer, and who is meant by a target on every page.
        assert collected.judgments["rationale"].to_list() == ["because"] * 5
        assert "who believe in a god" in study.guidelines(study.instrument)
