"""Recipes: a report as a short document of sections that name measures or functions, their options and their views.

A recipe is YAML, checked as instruments are: every problem is reported with its line, all at once. It has sections with
a title, text, and entries under `show`. An entry names a `measure` of Vantage, several of them `side_by_side`, or a
`function` of the study, which gives a frame (or nothing, and then the entry is left out). What a measure declares about
its presentation need not be said again; an entry can replace any of it. A text with a name in braces takes it from the
options or the facts of a function and is left out where there is no such value.

>>> recipe = Recipe.parse('''
... title: Agreement
... sections:
...   - title: Do raters agree?
...     show:
...       - {measure: alpha, headline: true, options: {resamples: 200}}
...       - {measure: alpha, by: question, name: alpha-by-question, options: {resamples: 200}}
... ''')
>>> from vantage import demo_corpus
>>> result = recipe.result(Analysis(demo_corpus()))
>>> [part.name for part in result.sections[0].parts]
['alpha', 'alpha-by-question', 'alpha-by-question']
>>> print(result.findings[0].text)
Raters agree better than chance (α = 0.56, 95 % CI 0.50 to 0.62).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Any, Final

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from vantage.corpora import Corpus
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.measures import find
from vantage.measures.presentation import Against, Column, Extremes, Fact, Rule, View
from vantage.report.charts import chart
from vantage.report.parts import Finding, Part, Result, Section
from vantage.report.published import PublishedFigures, published_section
from vantage.report.references import ALWAYS
from vantage.report.sentences import Statement, decide
from vantage.report.views import Presented, interval_words, present, used_options, who_of, with_view

Function = Callable[[Any], Any]
_STRICT: Final = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
_OF_FIGURE: Final = ("chart", "name", "caption", "alt")
PEOPLE: Final = ("person", "slot")


@dataclass
class Analysis:
    """What the functions of a recipe are given: the corpus, the options of the study, and the seed."""

    corpus: Corpus
    options: Any = None
    seed: int = 0

    @property
    def people(self) -> Corpus:
        """The part of the corpus that people judged; all of it where nobody says who they are."""
        kinds = self.corpus.raters["kind"].cast(pl.String)
        return self.corpus.filter(kind=list(PEOPLE)) if kinds.is_in(PEOPLE).any() else self.corpus


@dataclass(frozen=True)
class Data:
    """What a function gives where a frame is not all: facts for texts, captions and sentences."""

    frame: pl.DataFrame
    facts: Mapping[str, Any] = field(default_factory=dict)


class Says(BaseModel):
    """A rule of a sentence, under its name, and whether it opens the report where that is not said of its entry."""

    model_config = _STRICT
    headline: bool | int | None = None
    against: Against | None = None
    extremes: Extremes | None = None
    fact: str | Fact | None = None

    @property
    def rule(self) -> Rule:
        """The rule that was given."""
        fact = Fact(self.fact) if isinstance(self.fact, str) else self.fact
        found = self.against or self.extremes or fact
        if found is None:
            raise InputError("a sentence has no rule", remedy="use against, extremes or fact")
        return found


class Show(BaseModel):
    """An entry of a section."""

    model_config = _STRICT
    measure: str = ""
    side_by_side: dict[str, dict[str, Any]] = Field(default_factory=dict)
    function: str = ""
    name: str = ""
    of: str = "people"
    by: list[str] = Field(default_factory=list)
    options: dict[str, Any] = Field(default_factory=dict)
    title: str = ""
    symbol: str = ""
    caption: str = ""
    columns: dict[str, Column | str] = Field(default_factory=dict)
    show: list[str] = Field(default_factory=list)
    keys: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    figure: list[dict[str, Any]] | None = None
    table: bool = True
    say: list[Says] | None = None
    headline: bool | int = False

    @field_validator("by", "keys", "show", "notes", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("figure", mode="before")
    @classmethod
    def _figures(cls, value: Any) -> Any:
        several = value if isinstance(value, list) else [] if value is False else [value]
        return [{"chart": one} if isinstance(one, str) else one for one in several]

    @property
    def called(self) -> str:
        """The name of its files."""
        return self.name or (self.measure or self.function or "side-by-side").replace("_", "-")

    @property
    def shown(self) -> dict[str, Column]:
        """How its columns are shown."""
        return {name: Column(how) if isinstance(how, str) else how for name, how in self.columns.items()}

    def ranked(self, statements: Sequence[Statement]) -> list[tuple[Statement, int]]:
        """Statements with their places among the sentences that open the report, 0 for none."""
        own = [one.headline for one in self.say or ()] or [None] * len(statements)
        return [
            (statement, int(self.headline if headline is None else headline))
            for statement, headline in zip(statements, own, strict=False)
        ]

    @property
    def rules(self) -> list[Rule] | None:
        """The rules of its sentences; null for those of the measure."""
        return None if self.say is None else [one.rule for one in self.say]


class SectionSpec(BaseModel):
    """A section of a recipe."""

    model_config = _STRICT
    title: str
    text: list[str] = Field(default_factory=list)
    each: str = ""
    show: list[Show] = Field(default_factory=list)

    @field_validator("text", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


class Recipe(BaseModel):
    """A report, as its document declares it."""

    model_config = _STRICT
    title: str
    questions: list[str] = Field(default_factory=list)
    data: str = ""
    models: list[str] = Field(default_factory=list)
    libraries: list[str] = Field(default_factory=list)
    ask: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, dict[str, Any]] = Field(default_factory=dict)
    warnings: list[str] = Field(default_factory=list)
    methods: list[str] = Field(default_factory=list)
    sections: list[SectionSpec] = Field(default_factory=list)

    @classmethod
    def parse(cls, text: str, functions: Mapping[str, Function] | None = None, file: str = "recipe") -> Recipe:
        """Reads a recipe; whatever is wrong with it is told at once, with lines."""
        return cls.of(Document.parse(text, file), functions or {})

    @classmethod
    def bundled(cls, package: str, functions: Mapping[str, Function], file: str = "recipe.yaml") -> Recipe:
        """The recipe that ships with a package."""
        return cls.of(Document.bundled(package, file), functions)

    @classmethod
    def read(cls, path: Path, functions: Mapping[str, Function]) -> Recipe:
        """The recipe in a file."""
        return cls.of(Document.read(path), functions)

    @classmethod
    def of(cls, document: Document, functions: Mapping[str, Function]) -> Recipe:
        """A document as a recipe, checked against the measures, charts and functions that exist."""
        recipe = document.validate(cls, {"title": "?"})
        for loc, message in _faults(document.data, functions):
            document.problem(loc, message)
        document.check()
        assert recipe is not None  # noqa: S101 - whatever keeps a document from being one was a problem
        return recipe

    def result(
        self,
        analysis: Any,
        functions: Mapping[str, Function] | None = None,
        *,
        published: PublishedFigures | None = None,
        warnings: Sequence[str] = (),
        step: Callable[[int], None] = lambda _: None,
    ) -> Result:
        """The report on an analysis.

        Args:
            analysis: What functions are given; it has at least `corpus`, `options` and `seed`.
            functions: The functions of the study, by name.
            published: Published figures to be set beside what was recomputed.
            warnings: What must be known before anything is believed.
            step: Called with 1 after each section.
        """
        running = _Running(functions or {}, _options(analysis))
        made: list[_Made] = []
        for spec in self.sections:
            made += running.sections(spec, analysis)
            step(1)
        sections, findings = running.written(made)
        if running.facts:
            running.frames["facts"] = pl.DataFrame([running.facts])
        if published is not None and published.rows(running.frames):
            section, more = published_section(published, running.frames)
            sections.append(section)
            findings += more
        texts = [text for text in map(running.filled, self.methods) if text]
        return Result(
            sections,
            findings,
            [*warnings, *(text for text in map(running.filled, self.warnings) if text)],
            [*texts, *running.methods()],
            running.references(),
        )


def functions_of(*modules: ModuleType) -> dict[str, Function]:
    """The public functions that modules define, by name: what a recipe can call."""
    return {
        name: function
        for module in modules
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
    }


@dataclass
class _Made:
    """A section before its sentences are decided."""

    title: str
    text: list[str]
    parts: list[Part]
    statements: list[tuple[Statement, int]]


@dataclass
class _Running:
    """A recipe at work: what was measured so far."""

    functions: Mapping[str, Function]
    options: Mapping[str, Any]
    frames: dict[str, pl.DataFrame] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    used: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)

    def sections(self, spec: SectionSpec, analysis: Any) -> Iterator[_Made]:
        """The section, or one for each part of the analysis; none where there is nothing to show."""
        parts = self.functions[spec.each](analysis) if spec.each else {"": analysis}
        for label, part in parts.items():
            made = _Made(f"{spec.title}: {label}" if label else spec.title, [], [], [])
            suffix = f"-{_slug(label)}" if label else ""
            further: list[str] = []
            for entry in spec.show:
                for shown in self._shown(entry, part, suffix, further):
                    made.parts += shown.parts
                    made.statements += entry.ranked(shown.statements)
            made.text = [*(text for text in map(self.filled, spec.text) if text), *further]
            if made.parts or made.statements or further or not spec.show:
                yield made

    def written(self, made: Sequence[_Made]) -> tuple[list[Section], list[Finding]]:
        """The sections with their sentences, corrected over all of them, and those that open the report."""
        said = iter(decide([one for section in made for one, _ in section.statements]))
        sections, findings = [], []
        for section in made:
            own: list[Finding] = []
            for _, headline in section.statements:
                sentences = next(said)
                own += sentences
                findings += [(headline, sentence) for sentence in sentences if headline]
            sections.append(Section(section.title, section.text, section.parts, own))
        return sections, [sentence for _, sentence in sorted(findings, key=lambda one: one[0])]

    def filled(self, text: str) -> str:
        """A text with options and facts in their places; empty where one of them is missing."""
        names = [name for _, name, _, _ in Formatter().parse(text) if name]
        known = {**self.options, **self.facts}
        if any(known.get(name) is None for name in names):
            return ""
        return text.format_map({name: _plain(known[name]) for name in names})

    def methods(self) -> list[str]:
        """A sentence per measure that was used, and one on each kind of interval."""
        texts: dict[str, None] = {}
        for name, frames in self.used.items():
            if method := self.views[name].method:
                texts.update(dict.fromkeys(_filled(method, used_options(frame)) for frame in frames))
        for frame in (frame for frames in self.used.values() for frame in frames):
            if words := _interval_method(frame):
                texts[words] = None
        if not texts:
            return []
        texts["Sentences that compare were corrected over all comparisons of the report (Holm, 1979)."] = None
        return [" ".join(texts)]

    def references(self) -> list[str]:
        """The works behind the measures that were used."""
        return list(dict.fromkeys([*(key for view in self.views.values() for key in view.sources), *ALWAYS]))

    def _shown(self, entry: Show, analysis: Any, suffix: str, further: list[str]) -> Iterator[Presented]:
        name = entry.called + suffix
        if entry.function:
            found = self.functions[entry.function](analysis)
            if isinstance(found, list | tuple):
                further += [one for one in found if isinstance(one, str)]
                yield Presented([one for one in found if not isinstance(one, str)])
                return
            frame = found.frame if isinstance(found, Data) else found
            self.facts |= found.facts if isinstance(found, Data) else {}
            view, who = View(entry.title), ""
        else:
            corpus = _subset(analysis, entry.of)
            if corpus is None or corpus.judgments["value"].count() == 0:
                return
            options = {key: self._option(value) for key, value in entry.options.items()}
            try:
                frame, view = self._measured(entry, corpus, options, analysis.seed)
            except InputError as error:
                # Data that a measure cannot use leave a sentence instead of a table.
                further.append(f"{find(entry.measure).view.title if entry.measure else name}: {error}")
                return
            who = who_of(corpus)
        if frame is None or frame.is_empty():
            return
        frame = _in_order(frame, analysis.corpus)
        self.frames[name] = frame
        own = {"title": entry.title, "symbol": entry.symbol, "show": entry.show, "notes": self._notes(entry)}
        yield present(
            frame,
            with_view(view, columns=entry.shown, **own),
            name=name,
            by=entry.by,
            who=who,
            caption=self.filled(entry.caption) or entry.caption,
            figures=self._figures(entry),
            table=entry.table,
            keys=entry.keys,
            says=entry.rules,
            values={**self.options, **self.facts},
        )

    def _figures(self, entry: Show) -> list[dict[str, Any]] | None:
        """Its figures; `$name` as an option of a chart is the option or fact of that name."""
        if entry.figure is None:
            return None
        known = {**self.options, **self.facts}
        named = {f"${name}": value for name, value in known.items()}
        return [
            {key: named.get(value, value) if isinstance(value, str) else value for key, value in one.items()}
            for one in entry.figure
        ]

    def _notes(self, entry: Show) -> list[str]:
        return [text for text in map(self.filled, entry.notes) if text]

    def _option(self, value: Any) -> Any:
        """An option of a measure; `$name` is the study's own option of that name."""
        return self.options[value[1:]] if isinstance(value, str) and value.startswith("$") else value

    def _measured(
        self, entry: Show, corpus: Corpus, options: Mapping[str, Any], seed: int
    ) -> tuple[pl.DataFrame | None, View]:
        if entry.measure:
            return self._recorded(entry.measure, corpus, entry.by, options, seed), find(entry.measure).view
        joined: pl.DataFrame | None = None
        columns: dict[str, Column] = {}
        for column, how in entry.side_by_side.items():
            given = {key: self._option(value) for key, value in how.items() if key != "measure"}
            name = how.get("measure", column)
            frame = self._recorded(name, corpus, entry.by, {**options, **given}, seed)
            ends = {"estimate": column, "low": f"{column}_low", "high": f"{column}_high"}
            frame = frame.select(*entry.by, *(pl.col(old).alias(new) for old, new in ends.items()))
            estimate = find(name).view.columns.get("estimate", Column(digits=2))
            columns[column] = Column(
                estimate.title or column, estimate.digits, estimate.percent, interval=ends_of(column)
            )
            joined = frame if joined is None else joined.join(frame, on=entry.by, how="left", maintain_order="left")
        return joined, View("Measures side by side", columns=columns)

    def _recorded(
        self, name: str, corpus: Corpus, by: Sequence[str], options: Mapping[str, Any], seed: int
    ) -> pl.DataFrame:
        """The result of a measure, noted for the methods section."""
        measure = find(name)
        given = dict(options)
        if "by" in measure.options:
            given["by"] = list(by)
        if "seed" in measure.options:
            given.setdefault("seed", seed)
        if "kinds" in measure.options:
            # Whose judgments these are was decided by the entry.
            given.setdefault("kinds", "all")
        frame = measure.function(corpus, **given)
        self.used.setdefault(name, []).append(frame)
        self.views[name] = measure.view
        return frame


def ends_of(column: str) -> tuple[str, str]:
    """The columns of a column's interval."""
    return f"{column}_low", f"{column}_high"


def _subset(analysis: Any, of: str) -> Corpus | None:
    """The part of the corpus that an entry is about: a corpus of the analysis by name, or a kind of rater."""
    found = getattr(analysis, of, None) if of != "everyone" else analysis.corpus
    return found if isinstance(found, Corpus) else None


def _in_order(frame: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """Rows in the order in which the instrument asks its questions."""
    if "question" not in frame.columns or frame.schema["question"] != pl.String:
        return frame
    order = {question.id: place for place, question in enumerate(corpus.questions)}
    return frame.sort(pl.col("question").replace_strict(order, default=len(order)), maintain_order=True)


def _options(analysis: Any) -> dict[str, Any]:
    options = getattr(analysis, "options", None)
    return dict(options) if isinstance(options, Mapping) else dict(vars(options)) if options is not None else {}


def _slug(label: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", label.casefold()).strip("-")


def _plain(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _filled(text: str, options: Mapping[str, Any]) -> str:
    names = [name for _, name, _, _ in Formatter().parse(text) if name]
    return text.format_map({name: _plain(options.get(name, "its own")) for name in names})


def _interval_method(frame: pl.DataFrame) -> str:
    options = used_options(frame)
    words = interval_words(frame, options)
    kind = {"percentile": "percentile bootstrap ", "bca": "BCa bootstrap "}.get(str(options.get("interval")), "")
    words = words.removeprefix(", with ").replace("intervals", f"{kind}intervals", 1)
    return f"Intervals are {words}." if " over " in words else ""


def _faults(data: Any, functions: Mapping[str, Function]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What is wrong with the names in a document, each with its place; what has another shape is left to the schema."""
    sections = data.get("sections") if isinstance(data, Mapping) else None
    for number, section in enumerate(sections if isinstance(sections, list) else ()):
        if not isinstance(section, Mapping):
            continue
        each = section.get("each")
        if isinstance(each, str) and each not in functions:
            yield ("sections", number, "each"), f"there is no function '{each}'; {nearest(each, list(functions))}"
        entries = section.get("show")
        for place, raw in enumerate(entries if isinstance(entries, list) else ()):
            try:
                entry = Show.model_validate(raw)
            except ValidationError:
                continue
            for message, loc in _entry_faults(entry, functions):
                yield ("sections", number, "show", place, *loc), message


def _entry_faults(entry: Show, functions: Mapping[str, Function]) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    if sum(map(bool, (entry.measure, entry.side_by_side, entry.function))) != 1:
        yield "an entry needs one of measure, side_by_side and function", ()
    if entry.function and entry.function not in functions:
        yield f"there is no function '{entry.function}'; {nearest(entry.function, list(functions))}", ("function",)
    asked = {entry.measure: entry.options} if entry.measure else {}
    for column, how in entry.side_by_side.items():
        asked[how.get("measure", column)] = {**entry.options, **{k: v for k, v in how.items() if k != "measure"}}
    for name, options in asked.items():
        where = "measure" if entry.measure else "side_by_side"
        try:
            known = list(find(name).options)
        except InputError as error:
            yield str(error), (where,)
            continue
        for option in options:
            if option not in known:
                yield f"measure '{name}' has no option '{option}'; {nearest(option, known)}", ("options", option)
    for number, says in enumerate(entry.say or ()):
        if sum(one is not None for one in (says.against, says.extremes, says.fact)) != 1:
            yield "a sentence needs one of against, extremes and fact", ("say", number)
    for number, figure in enumerate(entry.figure or ()):
        for message in _figure_faults(figure):
            yield message, ("figure", number)


def _figure_faults(figure: Mapping[str, Any]) -> Iterator[str]:
    kind = figure.get("chart", "")
    try:
        known = [name for name in inspect.signature(chart(kind)).parameters if name != "frame"]
    except InputError as error:
        yield str(error)
        return
    for option in figure:
        if option not in (*known, *_OF_FIGURE):
            yield f"chart '{kind}' has no option '{option}'; {nearest(option, known)}"
