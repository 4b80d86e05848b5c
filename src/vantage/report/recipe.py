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
...       - {measure: alpha, by: [], headline: true, options: {resamples: 200}}
...       - {measure: alpha, by: question, name: alpha-by-question, options: {resamples: 200}}
... ''')
>>> from vantage import demo_corpus
>>> careful = demo_corpus().filter(rater=[f"r{n}" for n in range(1, 9)])  # without r9, who did not read
>>> result = recipe.result(Analysis(careful))
>>> [part.name for part in result.sections[0].parts]
['alpha', 'alpha-by-question', 'alpha-by-question']
>>> print(result.findings[0].text)
Raters agree better than chance (α = 0.79, 95 % CI 0.71 to 0.88).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import polars as pl
from pydantic import BaseModel, Field, PrivateAttr, ValidationError

from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.measures import find
from vantage.report import cases, groups, spectrum
from vantage.report.charts import chart
from vantage.report.engine import HEADLINES, Analysis, Data, Function, RecipeEngine, Written, decided, there
from vantage.report.entries import STRICT, SectionSpec, Show
from vantage.report.parts import Result
from vantage.report.published import PublishedFigures, published_section
from vantage.report.references import entries

__all__ = ["Analysis", "Data", "Function", "Recipe", "SectionSpec", "Show", "functions_of", "there"]

_OF_FIGURE: Final = ("chart", "name", "caption", "alt", "where", "stack", "each", "least", "most")


class Recipe(BaseModel):
    """A report, as its document declares it."""

    model_config = STRICT
    title: str
    questions: list[str] = Field(default_factory=list)
    families: dict[str, str] = Field(default_factory=dict)
    """The research questions whose comparisons are corrected together, primary first, under short names."""
    after: dict[str, str] = Field(default_factory=dict)
    """For some families the one before it that must be answered before this one may open the report."""
    data: str = ""
    models: list[str] = Field(default_factory=list)
    libraries: list[str] = Field(default_factory=list)
    ask: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, dict[str, Any]] = Field(default_factory=dict)
    warnings: list[str] = Field(default_factory=list)
    methods: list[str] = Field(default_factory=list)
    sources: list[str] = Field(default_factory=list)
    sections: list[SectionSpec] = Field(default_factory=list)
    _functions: Mapping[str, Function] = PrivateAttr(default_factory=dict)
    """What its entries call."""

    @classmethod
    def parse(cls, text: str, functions: Mapping[str, Function] | None = None, file: str = "recipe") -> Recipe:
        """Reads a recipe; all problems are reported at once, with lines."""
        return cls.of(Document.parse(text, file), functions or {})

    @classmethod
    def bundled(cls, package: str, *modules: ModuleType, file: str = "recipe.yaml") -> Recipe:
        """The recipe that ships with a package; its entries call the public functions of modules."""
        return cls.of(Document.bundled(package, file), functions_of(*modules))

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
        recipe._functions = functions
        return recipe

    def result(
        self,
        analysis: Any,
        *,
        published: PublishedFigures | None = None,
        warnings: Sequence[str] = (),
        step: Callable[[int], None] = lambda _: None,
    ) -> Result:
        """The report on an analysis."""
        options = getattr(analysis, "options", None) or {}
        values = dict(options if isinstance(options, Mapping) else vars(options))
        engine = RecipeEngine(self._functions, values, self.families, self.after)
        made: list[Written] = []
        for spec in self.sections:
            made += engine.sections(spec, analysis)
            step(1)
        if engine.facts:
            engine.frames["facts"] = pl.DataFrame([engine.facts])
        compared = published_section(published, engine.frames) if published is not None else None
        sections, findings, ledger = decided(made, HEADLINES - (compared is not None))
        if compared is not None:
            sections.append(compared)
            findings += compared.findings
        return Result(
            sections,
            findings,
            [*warnings, *engine.all_filled(self.warnings)],
            [*engine.all_filled(self.methods), *engine.methods()],
            list(dict.fromkeys([*self.sources, *engine.references()])),
            ledger,
        )


def functions_of(*modules: ModuleType) -> dict[str, Function]:
    """What a recipe can call: the public functions of modules by name, and those of cases, groups and the Spectrum."""
    return {
        name: function
        for module in (cases, groups, spectrum, *modules)
        for name, function in vars(module).items()
        if inspect.isfunction(inspect.unwrap(function) if callable(function) else None)
        and function.__module__ == module.__name__
        and not name.startswith("_")
    }


def _faults(data: Any, functions: Mapping[str, Function]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What is wrong with the names in a document, each with its place; what has another shape is left to the schema."""
    data = data if isinstance(data, Mapping) else {}
    sources = data.get("sources")
    for number, key in enumerate(sources if isinstance(sources, list) else ()):
        if key not in entries():
            yield ("sources", number), f"'{key}' is not in the bibliography; {nearest(str(key), list(entries()))}"
    declared = list(data["families"]) if isinstance(data.get("families"), Mapping) else []
    after = data.get("after")
    for name, before in after.items() if isinstance(after, Mapping) else ():
        if name not in declared or before not in declared[: declared.index(name)]:
            yield ("after", name), f"'{name}' can only come after a family that is declared before it, not '{before}'"
    sections = data.get("sections")
    for number, section in enumerate(sections if isinstance(sections, list) else ()):
        if not isinstance(section, Mapping):
            continue
        each = section.get("each")
        if isinstance(each, str) and each not in functions:
            yield ("sections", number, "each"), f"there is no function '{each}'; {nearest(each, list(functions))}"
        shown = section.get("show")
        for place, raw in enumerate(shown if isinstance(shown, list) else ()):
            try:
                entry = Show.model_validate(raw)
            except ValidationError:
                continue
            families = data.get("families") or {}
            for message, loc in (*_entry_faults(entry, functions), *_unasked(entry, families)):
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
        yield from _unknown(lambda measure: list(find(measure).options), name, f"measure '{name}'", options, where)
    for number, says in enumerate(entry.say or ()):
        if sum(one is not None for one in (says.against, says.extremes, says.fact)) != 1:
            yield "a sentence needs one of against, extremes and fact", ("say", number)
    for number, figure in enumerate(entry.figure or ()):
        kind = figure.get("chart", "")
        for message, _ in _unknown(_chart_options, kind, f"chart '{kind}'", figure, "figure"):
            yield message, ("figure", number)


def _unasked(entry: Show, families: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """Families that are not declared, and sentences that would open the report and answer no declared question."""
    says = entry.say or ()
    for name in (entry.family, *(one.family for one in says)):
        if name and name not in families:
            yield f"there is no family '{name}'; {nearest(name, list(families))}", ("family",)
    opening = (one for one in says if (entry.headline if one.headline is None else one.headline))
    if families and not entry.family and any(one.fact is None and not one.family for one in opening):
        yield f"what opens the report answers a research question; name one: family: {next(iter(families))}", ()


def _chart_options(kind: str) -> list[str]:
    return [*(name for name in inspect.signature(chart(kind)).parameters if name != "frame"), *_OF_FIGURE]


def _unknown(
    options: Callable[[str], list[str]], name: str, of: str, given: Mapping[str, Any], where: str
) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """Options that a measure or a chart does not have; a message where there is no such measure or chart."""
    try:
        known = options(name)
    except InputError as error:
        yield str(error), (where,)
        return
    for option in given:
        if option not in known:
            yield f"{of} has no option '{option}'; {nearest(option, known)}", ("options", option)
