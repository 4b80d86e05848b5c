"""Small studies for the tests of the pages: the worked examples of an instrument are the items."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
from starlette.testclient import TestClient

from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.web import create_app
from vantage.corpora import Corpus
from vantage.instruments import Instrument

PASSWORD = "correct horse"  # noqa: S105 - of studies that live as long as a test
TURNS = pl.List(pl.Struct({"speaker": pl.String, "text": pl.String}))
TRAITS: list[dict[str, Any]] = [
    {"id": "age", "ask": "How old are you?", "kind": "number", "from": 18, "to": 120, "required": True},
    {"id": "gender", "ask": "Which gender are you?", "options": ["woman", "man", "another"]},
    {"id": "tongues", "ask": "What do you speak at home?", "kind": "several", "options": ["English", "العربية"]},
    {"id": "work", "ask": "What is your work?", "kind": "text"},
]
QUIZ: dict[str, Any] = {
    "questions": [
        {
            "ask": "Whose view counts?",
            "options": ["mine", "the author's"],
            "answer": 2,
            "explain": "See the <first> point.",
        },
        {"ask": "May you stop?", "options": ["yes", "no"], "answer": 1},
    ]
}
OPENED: list[StudyService] = []
"""What is open, to be closed after the test."""


def examples(instrument: Instrument) -> list[Mapping[str, Any]]:
    """The worked examples as items."""
    return [example.item for example in instrument.examples]


def corpus(folder: Path, instrument: str, items: Sequence[Mapping[str, Any]] | None = None) -> Path:
    """A corpus folder of items without judgments."""
    loaded = Instrument.load(instrument.partition(":")[0])
    rows = items if items is not None else examples(loaded)
    shape = {f.name: TURNS if f.kind == "conversation" else pl.String for f in loaded.fields}
    table = pl.DataFrame(
        [{"item": f"item/{n}", **{name: row.get(name) for name in shape}} for n, row in enumerate(rows, 1)],
        schema={"item": pl.String, **shape},
    )
    nobody = pl.DataFrame(schema={"rater": pl.String})
    nothing = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    return Corpus(table, nobody, nothing, loaded).write(folder / "corpus")


def study_service(
    folder: Path, instrument: str = "irony", *, items: Sequence[Mapping[str, Any]] | None = None, **plan: Any
) -> StudyService:
    """A study at work."""
    given = {"order": {"items": "fixed"}, **plan}
    service = StudyService(AnnotationStudy.of(corpus(folder, instrument, items), instrument, **given))
    OPENED.append(service)
    return service


class Visitor:
    """A browser without JavaScript: follows redirects, keeps cookies, sends the forms that it was shown."""

    def __init__(self, service: StudyService, *, prefix: str = "", base: str = "http://study.example") -> None:
        self.client = TestClient(create_app(service, prefix=prefix), base_url=base, raise_server_exceptions=False)
        self.client.follow_redirects = True
        self.text = ""
        self.status = 0
        self.path = ""
        self.headers: Mapping[str, str] = {}

    def cookie(self, name: str) -> str:
        """A cookie of the study, whose name ends with what is the study's own."""
        names = (one for one in self.client.cookies if re.fullmatch(rf"{name}-[0-9a-f]{{8}}", one))
        return next((self.client.cookies[one] for one in names), "")

    def get(self, path: str) -> str:
        """Opens a page."""
        return self._seen(self.client.get(path))

    def send(
        self, path: str, form: Mapping[str, Any] | None = None, *, signed: str | None = None, follow: bool = True
    ) -> str:
        """Sends a form with the token of the page that is open."""
        content = {"form_token": self.form_token if signed is None else signed, **(form or {})}
        return self._seen(self.client.post(path, data=content, follow_redirects=follow))

    @property
    def form_token(self) -> str:
        """The token of the form on the open page."""
        found = re.search(r'name="form_token" value="([^"]+)"', self.text)
        return found.group(1) if found else ""

    def begin(self) -> str:
        """Goes to the first item of a study without traits and quiz."""
        self.get("/")
        self.send("/consent", {"agreed": "yes"})
        return self.send("/guidelines")

    def answer(self, value: str = "1", position: int | None = None) -> str:
        """Answers every question of the open page with the same code."""
        form = dict.fromkeys(re.findall(r'name="(a\d+)" value="[^"]*" id=', self.text), value)
        form |= dict.fromkeys(re.findall(r'<textarea name="(r\d+)"', self.text), "because")
        return self.send(self.path if position is None else f"/item/{position}", form)

    def log_in(self) -> str:
        """Opens the dashboard."""
        self.get("/admin/login")
        return self.send("/admin/login", {"password": PASSWORD})

    def _seen(self, response: Any) -> str:
        self.text, self.status, self.headers = response.text, response.status_code, response.headers
        self.path = urlsplit(str(response.url)).path
        return self.path
