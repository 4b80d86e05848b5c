"""An annotation study: which items people judge, with which instrument, by how many raters, recruited how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from vantage.collect import evidence
from vantage.collect.copies import ModelReasons
from vantage.collect.document import AttentionCheckPart, GoldItemPart, RangePart, StudyDocument
from vantage.collect.languages import language
from vantage.collect.presenting import Shown, assigned, shown
from vantage.collect.study_checks import PlanChecks, check_items
from vantage.corpora import Corpus
from vantage.documents import Document
from vantage.errors import InputError, Problems
from vantage.instruments import Check, Instrument, Question, grouped
from vantage.presentations import PLAIN, Presentation


@dataclass(frozen=True)
class AnnotationStudy:
    """A study file together with what it refers to.

    `AnnotationStudy.load` reads a file and reports all its problems at once, each with its line; `AnnotationStudy.of`
    creates a study with the defaults for a corpus folder and an instrument.
    """

    plan: StudyDocument
    """The file, as it was written."""
    instrument: Instrument
    corpus: Corpus = field(repr=False)
    folder: Path
    """The corpus folder."""

    @classmethod
    def load(cls, path: str | Path) -> AnnotationStudy:
        """Reads a study file."""
        document = Document.read(path)
        return cls._resolve(document, Path(path).parent)

    @classmethod
    def of(cls, folder: str | Path, instrument: str | Path, **given: Any) -> AnnotationStudy:
        """A study of all items of a corpus with the defaults; `given` are keys of the study file."""
        known = Instrument.load(instrument)
        data = {
            "id": known.id,
            "title": known.title,
            "corpus": str(Path(folder).absolute()),
            "instrument": str(instrument),
            **given,
        }
        return cls._resolve(Document("the study", data), Path())

    @classmethod
    def stored(cls, plan: Mapping[str, Any], instrument: Mapping[str, Any], folder: Path) -> AnnotationStudy:
        """A study from its database, with its corpus at its current place."""
        whole = StudyDocument.model_validate({**plan, "corpus": str(folder)})
        return cls(whole, Instrument.from_document(instrument), Corpus.read(folder), folder.resolve())

    @property
    def id(self) -> str:
        """The name of the study."""
        return self.plan.id

    @property
    def title(self) -> str:
        """What participants read at the top of every page."""
        return self.plan.title

    @property
    def language(self) -> str:
        """The language of the study file's own texts."""
        return self.plan.language or self.instrument.language

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages in which participants can have the pages, the first by default."""
        return tuple(dict.fromkeys(language(code).code for code in self.plan.languages or (self.language,)))

    @property
    def consent(self) -> str:
        """What a participant agrees to, as plain paragraphs; may be empty."""
        added = [language(self.language).say(evidence.CONSENT)] if self.plan.evidence else []
        return "\n\n".join(part for part in [self.plan.consent or self.instrument.consent, *added] if part)

    @property
    def warning(self) -> str:
        """The content warning; may be empty."""
        return self.plan.warning or self.instrument.warning

    def guidelines(self, presentation: Presentation = PLAIN) -> str:
        """The study's own guidelines, then the instrument's, in the wording of a presentation."""
        worded = presentation.guidelines(self.instrument)
        return "\n\n".join(part.strip() for part in (self.plan.guidelines, worded) if part.strip())

    def presentation(self, participant: int) -> Presentation:
        """How a participant is shown what is the same on all pages; plainly where every page differs."""
        part = self.plan.presentation
        return PLAIN if part is None or part.drawn == "page" else assigned(part, self.plan.order.seed, participant)

    def shown(self, group: int, participant: int, page: int) -> Shown:
        """A group of questions as a participant sees it on a page."""
        return shown(self.plan.presentation, self.plan.order.seed, self.question_groups[group], participant, page)

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The conditions; `("",)` for a study without conditions."""
        return tuple(self.plan.conditions.names) if self.plan.conditions else ("",)

    def condition(self, arm: int) -> str:
        """The condition of an arm: each question set has one arm per condition."""
        return self.conditions[arm % len(self.conditions)]

    @property
    def within(self) -> bool:
        """Whether a participant works under all conditions."""
        return self.plan.conditions is not None and bool(self.plan.conditions.within)

    @cached_property
    def question_sets(self) -> tuple[tuple[str, ...], ...]:
        """The questions shown together on a page; a participant gets one of the sets."""
        every = tuple(question.id for question in self.instrument.questions)
        if self.plan.questions == "together":
            return (every,)
        if isinstance(self.plan.questions, str):
            return tuple(tuple(question.id for question in group) for group in grouped(self.instrument.questions))
        named = self.instrument.named
        return tuple(tuple(one.id for name in group for one in named(name)) for group in self.plan.questions)

    @cached_property
    def question_groups(self) -> tuple[tuple[Question, ...], ...]:
        """The question sets with the instrument's questions."""
        return tuple(tuple(self.instrument.question(name) for name in group) for group in self.question_sets)

    @cached_property
    def checks(self) -> Mapping[str, Check]:
        """The attention checks in use, by id."""
        plan = self.plan.attention
        if plan is None:
            return {}
        known = {check.id: check for check in self.instrument.checks}
        if not plan.checks:
            return known
        return {check.id: check for check in (_check(part, known) for part in plan.checks) if check is not None}

    @cached_property
    def model_reasons(self) -> ModelReasons:
        """The reasons that models gave about the items, to compare people's with."""
        return ModelReasons(self.corpus)

    @cached_property
    def gold(self) -> Mapping[str, GoldItemPart]:
        """The gold items by their id."""
        return {part.item: part for part in self.plan.gold.items} if self.plan.gold else {}

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields of the instrument that the items have."""
        columns = self.corpus.scan("items").collect_schema().names()
        return tuple(f.name for f in self.instrument.fields if f.name in columns)

    @property
    def database(self) -> str:
        """The address of the study's database: as given in the file, or a SQLite file in the corpus folder."""
        return self.plan.database or f"sqlite:///{(self.folder / f'collect-{self.id}.sqlite').absolute()}"

    @classmethod
    def _resolve(cls, document: Document, beside: Path) -> AnnotationStudy:
        placeholders = {"id": "x", "title": "x", "corpus": "x", "instrument": "x"}
        data = document.data if isinstance(document.data, Mapping) else {}
        plan = document.validate(StudyDocument, placeholders)
        if plan is None:
            document.check()
            raise AssertionError("an invalid document must have a problem to report")
        instrument, corpus = None, None
        folder = (beside / plan.corpus).resolve() if isinstance(data.get("corpus"), str) else None
        if isinstance(data.get("instrument"), str):
            instrument = _try(document, "instrument", lambda: _instrument(plan, beside))
        if folder is not None:
            corpus = _try(document, "corpus", lambda: Corpus.read(folder))
        if instrument is not None:
            PlanChecks(document, plan, instrument).run()
            if corpus is not None:
                check_items(document, plan, instrument, corpus)
        document.check()
        assert instrument is not None  # noqa: S101
        assert corpus is not None  # noqa: S101
        assert folder is not None  # noqa: S101
        return cls(plan, instrument, corpus, folder)


def accepts(accept: list[float] | RangePart, value: float | None) -> bool:
    """Whether an answer to a gold item passes."""
    if value is None:
        return False
    return accept.from_ <= value <= accept.to if isinstance(accept, RangePart) else value in accept


def _check(part: str | AttentionCheckPart, known: Mapping[str, Check]) -> Check | None:
    if isinstance(part, str):
        return known.get(part)
    return Check(part.id, part.instruction, part.question, tuple(part.accept))


def _instrument(plan: StudyDocument, beside: Path) -> Instrument:
    name = plan.instrument
    if name.endswith((".yaml", ".yml")) or "/" in name:
        instrument = Instrument.load(beside / name)
    else:
        instrument = Instrument.load(name)
    return instrument.with_parameters(**plan.parameters) if plan.parameters else instrument


def _try(document: Document, key: str, make: Any) -> Any:
    """The result of `make`; null where it fails, with the reason noted at the key."""
    try:
        return make()
    except Problems as error:
        document.problem((key,), "\n    ".join(["the file itself has problems:", *error.problems]))
    except InputError as error:
        document.problem((key,), str(error).removesuffix("."))
    return None
