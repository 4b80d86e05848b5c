"""What all pages of a study share: the templates, the guidelines as drawn, signatures, and the static files."""

from __future__ import annotations

import gzip
import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from anyio import CapacityLimiter
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from vantage.collect.answers import LONGEST
from vantage.collect.views import Participant
from vantage.collect.web.draughts import Draughts
from vantage.collect.web.exhibit import panels
from vantage.collect.web.forms import signed
from vantage.collect.web.prose import prose
from vantage.collect.web.recent import Recent
from vantage.collect.web.seals import COOKIE_LIFE, PARTICIPANT_COOKIE, Seals
from vantage.collect.web.throttle import Throttle
from vantage.instruments import Question

if TYPE_CHECKING:
    from vantage.collect.desk import Desk

MOST_PEOPLE: Final = 20_000
CHECKED_FOR: Final = 3600.0
"""Participants whose cookies are recognised without computing and asking, and for how many seconds."""
KINDS: Final = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


class Site:
    """One study's pages: drawn from templates that are compiled once, with nothing read from disk per request."""

    def __init__(self, desk: Desk, prefix: str = "") -> None:
        self.desk, self.study, self.prefix = desk, desk.study, prefix.rstrip("/")
        self.seals = Seals(desk.secret("web"))
        self.throttle = Throttle()
        self.recent = Recent(seconds=15)
        self.entered = Entered()
        self.threads = Threads()
        self.office = (f"{self.prefix}/desk", f"{self.prefix}/api/")
        self._people: dict[str, tuple[Participant, float]] = {}
        self.static = static_files()
        self.questions = [
            tuple(self.study.instrument.question(id_) for id_ in group) for group in self.study.question_sets
        ]
        self.shared = {
            "root": self.prefix,
            "study": self.study.title,
            "lang": self.study.instrument.language,
            "contact": self.study.plan.contact,
            "style": next(name for name in self.static if name.endswith(".css")),
            "script": next(name for name in self.static if name.endswith(".js")),
        }
        self.draughts = Draughts(templates(), LONGEST)
        language = self.study.corpus.about.language
        self.item_lang = language if re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", language) else ""
        self.guide = lru_cache(maxsize=64)(self._guide)

    def draw(self, template: str, **values: Any) -> str:
        """A page as HTML."""
        return templates().get_template(template).render(self.shared, **values)

    def known(self, cookie: str) -> Participant | None:
        """The participant whose signed cookie this is; one that has been checked is not checked again for a while."""
        now = time.monotonic()
        participant, until = self._people.get(cookie, (None, 0.0))
        if participant is None or now > until:
            content = self.seals.open(cookie, PARTICIPANT_COOKIE, max_age=COOKIE_LIFE)
            participant = self.desk.participant(str(content[0])) if content else None
            if participant is not None:
                if len(self._people) >= MOST_PEOPLE:
                    self._people.clear()
                self._people[cookie] = (participant, now + CHECKED_FOR)
        return participant

    @property
    def deletes(self) -> bool:
        """Whether the answers of somebody who withdraws are deleted."""
        return self.study.plan.withdrawal == "delete"

    @property
    def redirects(self) -> tuple[str, ...]:
        """The origins to which a participant may be sent at the end."""
        origins = ["https://app.prolific.com"] if self.study.recruitment.via == "prolific" else []
        if self.study.recruitment.completion_url:
            parts = urlsplit(self.study.recruitment.completion_url)
            origins.append(f"{parts.scheme}://{parts.netloc}")
        return tuple(dict.fromkeys(origins))

    def _guide(self, conditions: tuple[str, ...], questions: tuple[str, ...]) -> Markup:
        """The guidelines with what the questions mean and the worked examples, for some conditions and questions."""
        instrument = self.study.instrument
        asked = {q.id: q for q in instrument.questions if q.id in questions}
        examples = [
            {
                "panels": panels(instrument, example.item, example.condition),
                "answers": [
                    {
                        "asked": asked[id_].title,
                        "answer": worded(asked[id_], answer.answer),
                        "reason": answer.reason,
                    }
                    for id_, answer in example.answers.items()
                    if id_ in asked
                ],
            }
            for example in instrument.examples
            if not example.condition or example.condition in conditions or conditions == ("",)
        ]
        explained = [q for q in asked.values() if q.guidelines]
        return Markup(  # noqa: S704 - drawn by a template that escapes
            self.draw(
                "guide.html",
                guidelines=self.study.guidelines,
                questions=explained,
                examples=[example for example in examples if example["answers"]],
            )
        )


def worded(question: Question, answer: float | str) -> str:
    """An answer as people say it.

    >>> from vantage import Instrument
    >>> worded(Instrument.load("warmth-competence").question("trust"), -3)
    '−3 very untrustworthy'
    """
    if isinstance(answer, str):
        return next((o.label for o in question.scale.opt_outs if o.status == answer), answer)
    label = next((o.label for o in question.scale.options if o.code == answer), "")
    return f"{signed(answer, question.scale)} {label}".strip()


@lru_cache(maxsize=1)
def templates() -> Environment:
    """The templates, compiled when they are first drawn."""
    environment = Environment(
        loader=PackageLoader("vantage.collect.web"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = prose
    return environment


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent: plain, or packed for the browsers that say they can unpack it."""

    plain: bytes
    packed: bytes
    kind: str


@lru_cache(maxsize=1)
def static_files() -> Mapping[str, StaticFile]:
    """The static files by a name that changes with their content, so that browsers may keep them for ever."""
    files: dict[str, StaticFile] = {}
    for file in (resources.files("vantage.collect.web") / "static").iterdir():
        stem, _, kind = file.name.rpartition(".")
        if kind in KINDS:
            content = file.read_bytes()
            name = f"{stem}-{hashlib.sha256(content).hexdigest()[:10]}.{kind}"
            files[name] = StaticFile(content, gzip.compress(content, 9, mtime=0), KINDS[kind])
    return files


class Threads:
    """How many requests of each kind are worked on at the same time; the others wait their turn.

    Drawing keeps the processor busy, so that more threads would only stand in each other's way. Saving waits for the
    disk, and those who wait together share one commit. The researcher's measures may take a second, and get threads
    of their own, so that participants never wait for them.
    """

    def __init__(self) -> None:
        self.drawing, self.saving, self.office = CapacityLimiter(4), CapacityLimiter(48), CapacityLimiter(2)


class Entered:
    """Who came in through which form, so that a double click on "I agree" makes one participant and not two."""

    def __init__(self, most: int = 10_000) -> None:
        self._ids: OrderedDict[str, str] = OrderedDict()
        self._most = most
        self.lock = Lock()

    def get(self, view: str) -> str | None:
        """The participant who came in through the form with this number."""
        return self._ids.get(view)

    def put(self, view: str, participant: str) -> None:
        """Notes who came in; the oldest are forgotten."""
        self._ids[view] = participant
        while len(self._ids) > self._most:
            self._ids.popitem(last=False)
