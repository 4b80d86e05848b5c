"""An annotation study: which items people judge, with which instrument, by how many raters, recruited how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import resources
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.collect import evidence
from vantage.collect.blocks import Block, Shown, blocks_of, instrument_key, shown
from vantage.collect.copied_reasons import GivenReasons
from vantage.collect.document import StudyDocument
from vantage.collect.flow_checks import FlowChecks, training_items
from vantage.collect.flow_document import TraitPart
from vantage.collect.languages import language
from vantage.collect.phases import Flow, flow_of
from vantage.collect.study_checks import placed_blocks
from vantage.collect.translations import aligned, columns
from vantage.corpora import Corpus
from vantage.corpora.schema import MODELS
from vantage.documents import Document, Loc
from vantage.errors import InputError, Problems, nearest
from vantage.instruments import Instrument, Question
from vantage.presentations import PLAIN, Presentation

BUNDLED: Final = "flow:"
"""What the name of a bundled flow begins with, where a study file is expected."""


@dataclass(frozen=True)
class AnnotationStudy:
    """A study file together with what it refers to.

    `AnnotationStudy.load` reads a file and reports all its problems at once, each with its line; `AnnotationStudy.of`
    creates a study with the defaults for a corpus folder and an instrument.
    """

    plan: StudyDocument
    instruments: Mapping[str, Instrument]
    """The study's own instrument under the empty name, those of blocks by `blocks.instrument_key`, and translations of
    the study's own under `@` and their language."""
    corpus: Corpus = field(repr=False)
    """All items; those of several corpora have their names in the column `corpus`."""
    folder: Path
    """The corpus folder; of several corpora a folder for the export, named after the study, beside its file."""
    sources: Mapping[str, Path]
    """The corpus folders by name; a single one under the empty name."""

    @classmethod
    def load(cls, path: str | Path, folder: str | Path | None = None) -> AnnotationStudy:
        """Reads a study file, or a bundled flow by its name (`flow:NAME`); `folder` is its corpus if it names none."""
        document, beside = study_document(path, folder)
        return cls._resolve(document, beside)

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
    def stored(
        cls,
        plan: Mapping[str, Any],
        instruments: Mapping[str, Mapping[str, Any]],
        folder: Path,
        sources: Mapping[str, Path],
        database: str,
    ) -> AnnotationStudy:
        """A study from its database, with its corpora and database where they are now."""
        whole = StudyDocument.model_validate({**plan, "corpus": str(folder), "database": database})
        known = {name: Instrument.from_document(document) for name, document in instruments.items()}
        return cls(whole, known, corpus_of(sources), folder.resolve(), sources)

    @property
    def instrument(self) -> Instrument:
        """The study's own instrument."""
        return self.instruments[""]

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks in the order of the file."""
        return blocks_of(self.plan, self.instruments)

    @cached_property
    def flow(self) -> Flow:
        """What participants go through."""
        return flow_of(self.plan, self.blocks, self.instruments)

    @cached_property
    def traits(self) -> tuple[TraitPart, ...]:
        """All questions about the participant."""
        return tuple(question for phase in self.flow.questionnaires for question in phase.part.questions)

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The questions of all blocks."""
        return tuple({q.id: q for block in self.blocks for group in block.groups for q in group}.values())

    @cached_property
    def rated(self) -> tuple[Question, ...]:
        """The questions whose answers can be compared: not those that are answered in own words."""
        return tuple(question for question in self.questions if not question.scale.text)

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of all blocks; `("",)` for a study without conditions."""
        return tuple(dict.fromkeys(condition for block in self.blocks for condition in block.conditions))

    @property
    def id(self) -> str:
        """The name of the study."""
        return self.plan.id

    @property
    def title(self) -> str:
        """What participants read at the top of every page."""
        return self.plan.title

    @cached_property
    def language(self) -> str:
        """The language of the study file's own texts."""
        return self.plan.language or self.instrument.language

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages in which participants can have the pages, the first by default."""
        codes = self.plan.languages or (self.language, *self.plan.translations)
        return tuple(dict.fromkeys(language(code).code for code in codes))

    @cached_property
    def _translated(self) -> Mapping[str, AnnotationStudy]:
        return {
            code: replace(
                self,
                plan=self.plan.model_copy(update={"language": code}),
                instruments={**self.instruments, "": aligned(self.instrument, self.instruments[f"@{code}"])},
            )
            for code in self.plan.translations
        }

    def in_language(self, code: str) -> AnnotationStudy:
        """The study with the instrument and the texts of one language of its content: the same questions and codes."""
        return self._translated.get(code, self)

    def said(self, text: str) -> str:
        """A text of the study file in the language of the content."""
        own = self.plan.translations.get(self.language)
        return own.texts.get(text, text) if own else text

    def shown_item(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """An item as participants see it, in the language of the content and without the others."""
        names = [one.name for one in self.instrument.fields]
        others = {column for name in names for code in self.plan.translations for column in columns(name, code)}
        own = {name: record[c] for name in names for c in columns(name, self.language) if record.get(c) is not None}
        return {**{name: text for name, text in record.items() if name not in others}, **own}

    @property
    def consent(self) -> str:
        """What a participant agrees to, as plain paragraphs; may be empty."""
        own = next((phase.consent.text for phase in self.plan.flow if phase.consent), "")
        whole = self.said(own or self.plan.consent) or self.instrument.consent
        added = language(self.language).say(evidence.CONSENT) if self.plan.evidence else ""
        return "\n\n".join(part for part in (whole, added) if part)

    @property
    def warning(self) -> str:
        """The content warning; may be empty."""
        return self.said(self.plan.warning) or self.instrument.warning

    def guidelines(self, instrument: Instrument, presentation: Presentation = PLAIN) -> str:
        """The study's own guidelines, then those of an instrument, in the wording of a presentation."""
        worded = presentation.guidelines(instrument)
        own = self.said(self.plan.guidelines) if instrument == self.instrument else ""
        return "\n\n".join(part.strip() for part in (own, worded) if part.strip())

    def block(self, question_set: int) -> Block:
        """The block that a question set belongs to."""
        return next(block for block in self.blocks if question_set in block.sets)

    def group(self, question_set: int) -> tuple[Question, ...]:
        """The questions of a set."""
        block = self.block(question_set)
        return block.groups[question_set - block.first_set]

    def block_of_arm(self, arm: int) -> Block:
        """The block that an arm belongs to."""
        return next(block for block in self.blocks if arm in block.arms)

    def shown(self, question_set: int, participant: int, page: int) -> Shown:
        """A question set as a participant sees it on a page."""
        block = self.block(question_set)
        return shown(block.presentation, block.seed, self.group(question_set), participant, page)

    @cached_property
    def kept_apart(self) -> frozenset[str]:
        """Items with known answers, which are not assigned for ordinary judgment: gold and training items."""
        gold = {item for block in self.blocks for item in block.gold}
        return frozenset(gold | {item for item, _ in training_items(self.plan)})

    @cached_property
    def model_reasons(self) -> GivenReasons:
        """The reasons that models gave about the items, to compare people's with."""
        models = self.corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(MODELS))["rater"]
        return GivenReasons(self.corpus.judgments.filter(pl.col("rater").is_in(models.implode())))

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields of the instruments that the items have."""
        known = self.corpus.scan("items").collect_schema().names()
        named = dict.fromkeys(f.name for instrument in self.instruments.values() for f in instrument.fields)
        further = (c for name in named for code in self.plan.translations for c in columns(name, code))
        return tuple(name for name in (*named, *further) if name in known)

    @property
    def database(self) -> str:
        """The address of the study's database: as given in the file, or a SQLite file in the (first) corpus folder."""
        return self.plan.database or default_database(self.id, self.sources)

    @classmethod
    def _resolve(cls, document: Document, beside: Path) -> AnnotationStudy:
        placeholders = {"id": "x", "title": "x", "corpus": "x", "instrument": "x"}
        data = document.data if isinstance(document.data, Mapping) else {}
        plan = document.validate(StudyDocument, placeholders)
        if plan is None:
            document.check()
            raise AssertionError("an invalid document must have a problem to report")
        instruments, corpus = _instruments(document, plan, beside, data), None
        folder, sources = corpus_places(data, beside)
        if sources:
            corpus = _try(document, ("corpus",), lambda: corpus_of(sources))
        FlowChecks(document, plan, instruments or {}, corpus).run()
        document.check()
        assert instruments is not None  # noqa: S101
        assert corpus is not None  # noqa: S101
        return cls(plan, instruments, corpus, folder, sources)


def corpus_places(data: Mapping[str | int, Any], beside: Path) -> tuple[Path, Mapping[str, Path]]:
    """The folder of a study and its corpus folders by name, from its file; none where the file names none."""
    named = data.get("corpus")
    if isinstance(named, Mapping):
        sources = {name: (beside / str(at)).resolve() for name, at in named.items()}
        return (beside / str(data.get("id"))).resolve(), sources
    folder = (beside / str(named)).resolve()
    return folder, {"": folder} if isinstance(named, str) else {}


def corpus_of(sources: Mapping[str, Path]) -> Corpus:
    """The corpus of a study; of several, their items say in the column `corpus` where they come from."""
    read = {name: Corpus.read(folder) for name, folder in sources.items()}
    if "" in read:
        return read[""]
    for name, one in read.items():
        if "corpus" in one.items.columns:
            raise InputError("The items already have a column 'corpus'", file=sources[name], remedy="rename it")
        items = one.items.with_columns(pl.lit(name).alias("corpus"))
        read[name] = Corpus(items, one.raters, one.judgments, one.instruments, one.about)
    first, *others = read.values()
    return first.merge(*others)


def default_database(id_: str, sources: Mapping[str, Path]) -> str:
    """The address of a study's database where its file names none: in the first corpus folder."""
    return f"sqlite:///{next(iter(sources.values()), Path()).absolute() / f'collect-{id_}.sqlite'}"


def study_document(path: str | Path, folder: str | Path | None = None) -> tuple[Document, Path]:
    """A study file, or a bundled flow, and the folder from which its paths are read; `folder` is its corpus."""
    if (name := str(path)).startswith(BUNDLED):
        document, beside = Document.bundled("vantage.collect", "flows", f"{known_flow(name)}.yaml"), Path()
    else:
        document, beside = Document.read(path), Path(path).parent
    if folder is not None and isinstance(document.data, dict) and "corpus" not in document.data:
        document.data["corpus"] = str(Path(folder).absolute())
    return document, beside


def bundled_flows() -> list[str]:
    """The names of the flows that come with the package.

    >>> "context" in bundled_flows()
    True
    """
    folder = resources.files("vantage.collect") / "flows"
    names = (entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    return sorted(name for name in names if "." not in name)  # the others are translated instruments


def known_flow(name: str) -> str:
    """The name of a bundled flow without its prefix."""
    bare, known = name.removeprefix(BUNDLED), bundled_flows()
    if bare not in known:
        raise InputError(f"there is no flow '{bare}'", remedy=nearest(bare, known))
    return bare


def _instruments(
    document: Document, plan: StudyDocument, beside: Path, data: Mapping[str | int, Any]
) -> dict[str, Instrument] | None:
    """The instruments of the study; null where one cannot be loaded, with the reason noted at its place."""
    wanted: dict[str, tuple[Loc, str, Mapping[str, str]]] = {}
    if isinstance(data.get("instrument"), str):
        wanted[""] = (("instrument",), plan.instrument, plan.parameters)
    for code, translation in plan.translations.items():
        at = ("translations", code, "instrument")
        wanted[f"@{code}"] = (at, translation.instrument, translation.parameters)
    for index, phase in enumerate(plan.flow):
        if phase.guidelines and (name := phase.guidelines.instrument):
            wanted.setdefault(name, (("flow", index, "guidelines", "instrument"), name, {}))
    for part, loc, _ in placed_blocks(plan):
        if part.instrument:
            wanted.setdefault(instrument_key(part), ((*loc, "instrument"), part.instrument, part.parameters))
    made = {
        key: _try(document, loc, partial(_instrument, name, words, beside))
        for key, (loc, name, words) in wanted.items()
    }
    return None if "" not in made or None in made.values() else made


def _instrument(name: str, parameters: Mapping[str, str], beside: Path) -> Instrument:
    if name.startswith(BUNDLED):
        data = Document.bundled("vantage.collect", "flows", f"{name.removeprefix(BUNDLED)}.yaml").data
        instrument = Instrument.from_document(dict(data), name)
    else:
        file = name.endswith((".yaml", ".yml")) or "/" in name
        instrument = Instrument.load(beside / name if file else name)
    return instrument.with_parameters(**parameters) if parameters else instrument


def _try(document: Document, loc: Loc, make: Any) -> Any:
    """The result of `make`; null where it fails, with the reason noted at its place."""
    try:
        return make()
    except Problems as error:
        document.problem(loc, "\n    ".join(["the file itself has problems:", *error.problems]))
    except InputError as error:
        document.problem(loc, str(error).removesuffix("."))
    return None
