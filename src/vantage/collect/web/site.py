"""What all pages of a study share: templates, rendered guidelines, signatures, and static files."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from anyio import CapacityLimiter
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from vantage.collect.answers import LONGEST
from vantage.collect.languages import ENGLISH, Language, direction, language, reading_direction
from vantage.collect.phases import Guidelines
from vantage.collect.web.forms import QuestionCache, layout, signed
from vantage.collect.web.item_view import panels, prose
from vantage.collect.web.signing import StudySigner
from vantage.collect.web.throttle import Throttle
from vantage.instruments import Answer, Example, Instrument, MultipleChoice, Question, grouped, put
from vantage.presentations import PLAIN, Presentation
from vantage.scales import show_code

if TYPE_CHECKING:
    from vantage.collect.service import StudyService

PREVIEW_SUFFIX: Final = "-preview"
KINDS: Final = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
Verify = Callable[["StudyService", Mapping[str, str]], None]
"""Asks a platform whether the parameters of a link are somebody's; raises `Refused` where they are not."""


class Site:
    """One study's pages, rendered from templates that are compiled once; no request reads from disk."""

    def __init__(
        self, service: StudyService, prefix: str = "", *, preview: bool = False, verify: Verify | None = None
    ) -> None:
        self.service, self.study, self.prefix = service, service.study, prefix.rstrip("/")
        self.verify: Verify = verify or (lambda service, params: None)
        self.participants, self.researchers = service.participants, service.researchers
        self.signer = StudySigner(service.database.secret("web"), PREVIEW_SUFFIX if preview else "")
        self.private = service.database.private
        self.throttle = Throttle(self.private)
        # Rendering a page is bound by the processor, so more threads would only compete. Saving waits for the disk, and
        # requests that wait together share one commit. Entering and going on to the next phase wait for others who are
        # given work, and the researcher's measures may take a second: people who answer never wait for their threads.
        self.reading, self.saving = CapacityLimiter(4), CapacityLimiter(48)
        self.moving, self.measuring = CapacityLimiter(24), CapacityLimiter(2)
        # Rating pages come from a local file, and showing one changes nothing unless it starts a clock.
        self.reads_at_once = service.database.sql.sqlite and not any(b.page_seconds for b in self.study.blocks)
        self.researcher_paths = (f"{self.prefix}/admin", f"{self.prefix}/api/")
        self.static = static_files()
        self.shared = {
            "root": self.prefix,
            "study": self.study.title,
            "languages": [language(code) for code in self.study.languages],
            "contact": self.study.plan.contact,
            "preview": preview,
            "recruiting": self.study.plan.recruitment.via == "prolific" and self.study.plan.recruitment.offer,
            "style": next(name for name in self.static if name.endswith(".css")),
            "scripts": sorted(n for n in self.static if n.endswith(".js") and not n.startswith("dashboard-")),
            "dashboard_script": next(name for name in self.static if name.startswith("dashboard-")),
        }
        translations = self.study.plan.translations
        texts = {code: translations[code].texts if code in translations else {} for code in self.study.languages}
        self.languages = {code: replace(language(code), texts=own) for code, own in texts.items()}
        self.question_cache, self.practice_cache = lru_cache(self._question_cache), lru_cache(self._question_cache)
        corpus_language = self.study.corpus.about.language
        known = re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", corpus_language)
        self._item_language = corpus_language if known else ""
        self.guide = lru_cache(maxsize=64)(self._guide)

    def render(self, template: str, language: Language = ENGLISH, **values: Any) -> str:
        """A page as HTML."""
        study = self.study.in_language(language.code)
        written = {"study": study.language, "instrument": study.instrument.language}
        # The letters of a text decide its direction.
        texts = {f"{name}_text": Markup(' lang="{}" dir="auto"').format(code) for name, code in written.items()}
        return templates(language).get_template(template).render(self.shared | texts, **values)

    def item_lang(self, language: Language) -> str:
        """The language of items on pages in some language; empty where it is not known."""
        return language.code if self.study.plan.translations else self._item_language

    @property
    def deletes(self) -> bool:
        """Whether withdrawing deletes a participant's answers."""
        return self.study.plan.withdrawal == "delete"

    @property
    def redirects(self) -> tuple[str, ...]:
        """Origins that participants may be sent to at the end."""
        origins = ["https://app.prolific.com"] if self.study.plan.recruitment.via == "prolific" else []
        if self.study.plan.recruitment.completion_url:
            parts = urlsplit(self.study.plan.recruitment.completion_url)
            origins.append(f"{parts.scheme}://{parts.netloc}")
        return tuple(dict.fromkeys(origins))

    def _question_cache(self, language: Language) -> QuestionCache:
        return QuestionCache(templates(language), LONGEST, self.study.in_language(language.code).instrument.language)

    def guide_of(self, phase: Guidelines, participant: int, language: Language = ENGLISH) -> Markup:
        """The guidelines of a phase as a participant sees them."""
        blocks = phase.blocks
        conditions = tuple(dict.fromkeys(name for block in blocks for name in block.conditions)) or ("",)
        questions = tuple(dict.fromkeys(name for block in blocks for name in block.questions))
        way = blocks[0].presented(participant) if blocks else PLAIN
        return self.guide(phase.instrument, conditions, questions, way, language)

    def _guide(
        self,
        instrument: Instrument,
        conditions: tuple[str, ...],
        questions: tuple[str, ...],
        way: Presentation = PLAIN,
        language: Language = ENGLISH,
    ) -> Markup:
        # A random order says nothing here, where answers stand by themselves.
        way = way.having(order="") if way.order == "random" else way
        shown = [
            example
            for example in instrument.examples
            if (not example.condition or example.condition in conditions or conditions == ("",))
            and any(name in questions for name in example.answers)
        ]
        return Markup(  # noqa: S704 - the template escapes
            self.render(
                "guide.html",
                language,
                guidelines=self.study.in_language(language.code).guidelines(instrument, way),
                questions={
                    group[0].id if question is group[0].whole else question.id: question
                    for group in grouped([way.shown(q) for q in instrument.questions if q.id in questions])
                    for question in put(group)
                },
                examples=[
                    (panels(instrument, example.item, example.condition), _answers(instrument, example, way))
                    for example in shown
                ],
            )
        )


def _answers(instrument: Instrument, example: Example, way: Presentation) -> dict[str, Answer]:
    """The answers of a worked example as they are given in a presentation; those it does not offer are left out."""
    answers = {}
    for name, given in example.answers.items():
        question = instrument.question(name)
        scale = way.offered(question.scale)
        if isinstance(given.answer, str):
            if scale.text or any(o.status == given.answer for o in scale.opt_outs):
                answers[name] = given
        elif question.whole is not None:
            values = {part: answer.answer for part, answer in example.answers.items()}
            answers[name] = replace(given, answer=chosen_text(question.whole, values))
        elif scale.holds(given.answer):
            answers[name] = replace(given, answer=way.decoded(question, given.answer))
    return answers


def chosen_text(whole: MultipleChoice, values: Mapping[str, float | str]) -> str:
    """The options that apply, or all in the order of their places, by the answers about each."""
    return "; ".join(whole.scale.label(code) for code in whole.codes(values)) or whole.none


def answer_text(question: Question, answer: float | str) -> str:
    """An answer as shown to people.

    >>> from vantage import Instrument
    >>> answer_text(Instrument.load("warmth-competence").question("trust"), -3)
    '−3 very untrustworthy'
    """
    if isinstance(answer, str):
        return next((o.label for o in question.scale.opt_outs if o.status == answer), answer)
    label = next((o.label for o in question.scale.options if o.code == answer), "")
    return f"{signed(answer, question.scale)} {label}".strip()


@lru_cache
def templates(language: Language = ENGLISH) -> Environment:
    """The templates in a language, compiled on first use."""
    environment = Environment(
        loader=PackageLoader("vantage.collect.web"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_translations(language.catalogue, newstyle=True)  # type: ignore[attr-defined]
    environment.globals |= {"lang": language.code, "dir": direction(language.code)}
    environment.filters |= {
        "prose": prose,
        "utc": lambda seconds: datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M"),
        "code": show_code,
        "signed": signed,
        "layout": layout,
        "answer": answer_text,
        "number": language.number,
        "reading": reading_direction,
        "say": language.say,
    }
    return environment


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A static file, plain and compressed."""

    plain: bytes
    packed: bytes
    kind: str


@lru_cache(maxsize=1)
def static_files() -> Mapping[str, StaticFile]:
    """The static files by a name that changes with their content, so that browsers can cache them for ever."""
    files: dict[str, StaticFile] = {}
    for file in (resources.files("vantage.collect.web") / "static").iterdir():
        stem, _, kind = file.name.rpartition(".")
        if kind in KINDS:
            content = file.read_bytes()
            name = f"{stem}-{hashlib.sha256(content).hexdigest()[:10]}.{kind}"
            files[name] = StaticFile(content, gzip.compress(content, 9, mtime=0), KINDS[kind])
    return files
