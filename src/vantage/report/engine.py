"""What runs a recipe: it puts entries to measures and functions, and decides all sentences of a report together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from string import Formatter
from typing import Any, Final, Self, TypeVar

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.errors import InputError, nearest
from vantage.measures import Column, View, by_columns, find, questions_apart
from vantage.report.entries import SectionSpec, Show
from vantage.report.ledger import Claim, settle
from vantage.report.parts import Finding, Part, Section
from vantage.report.references import ALWAYS
from vantage.report.sentences import Statement
from vantage.report.views import (
    Presented,
    interval_words,
    option_words,
    present,
    slug,
    used_options,
    who_of,
    with_view,
)

Function = Callable[[Any], Any]
V = TypeVar("V")
HEADLINES: Final = 6
"""How many sentences open a report, at most."""
EVERYONE: Final = "everyone"
UNDECIDED: Final = ("within", "alike")
COUNTS: Final = ("items", "raters", "judgments")
"""What measures that stand side by side rest on: told of the first where an entry shows it."""
CORRECTED: Final = (
    "P values and intervals of comparisons hold for all comparisons of a research question at once (Bonferroni); "
    "which research questions open the report was selected with a false discovery rate of 5 % (Benjamini and "
    "Bogomolov, 2014)."
)
LEFT_OUT: Final = "Unless stated otherwise, intervals come from leaving units out in turn (Efron and Stein, 1981)."
_BEHIND: Final = 3
"""By how many places a sentence that claims nothing falls behind among those that could open a report."""


@dataclass(eq=False)
class Analysis:
    """What the functions of a recipe are given: the corpus, the options of the study, and the seed."""

    corpus: Corpus
    options: Any = None
    seed: int = 0

    @classmethod
    def from_run(cls, corpus: Corpus, run: Any) -> Self:
        """The analysis of a corpus in the run of a study, which has options and a seed."""
        return cls(corpus, run.options, run.seed)

    @cached_property
    def people(self) -> Corpus:
        """The part of the corpus that people judged; where there are none, all of it but aggregates."""
        kinds = self.corpus.raters["kind"].cast(pl.String).unique()
        used = [kind for kind in kinds if kind in PEOPLE] or [kind for kind in kinds if kind != "aggregate"]
        return self.corpus.filter(kind=used) if used and len(used) < len(kinds) else self.corpus


class Absent(Exception):  # noqa: N818 - nothing is wrong: there is nothing to show
    """The data do not have what an entry shows, so the entry is left out."""


def there(value: V | None) -> V:
    """A part of an analysis; where there is none, or no row of it, the entry that needs it is left out.

    >>> there(pl.DataFrame({"item": []}))
    Traceback (most recent call last):
        ...
    vantage.report.engine.Absent
    """
    if value is None or (isinstance(value, pl.DataFrame) and value.is_empty()):
        raise Absent
    return value


@dataclass(frozen=True)
class Data:
    """What a function gives where a frame is not all.

    Args:
        frame: What it measured.
        facts: Values for texts, captions and sentences.
        columns: How columns are shown whose names depend on the data.
    """

    frame: pl.DataFrame
    facts: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Column] = field(default_factory=dict)


@dataclass
class Written:
    """A section before its sentences are decided: statements have their place among the headlines, 0 for none."""

    title: str
    text: list[str] = field(default_factory=list)
    parts: list[Part | Presented] = field(default_factory=list)
    statements: list[tuple[Statement, int]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        title: str,
        frame: pl.DataFrame,
        view: View,
        name: str,
        rank: int,
        *,
        hidden: Sequence[str] = (),
        **how: Any,
    ) -> Self:
        """A section of one result: its table, without columns that only sentences name, and its sentences."""
        said = present(frame, view, name=name, table=False, **how).statements
        shown = replace(present(frame.drop(hidden), view, name=name, says=(), **how), statements=said)
        return cls(title, [], [shown], [(statement, rank) for statement in said])


@dataclass
class RecipeEngine:
    """A recipe at work: the values that texts can name, and what was measured so far."""

    functions: Mapping[str, Function]
    values: dict[str, Any]
    """The options of the study and the facts of its functions."""
    families: Mapping[str, str] = field(default_factory=dict)
    """The research questions that the recipe declares, primary first."""
    after: Mapping[str, str] = field(default_factory=dict)
    """For some of them the one that must be answered before."""
    facts: dict[str, Any] = field(default_factory=dict)
    frames: dict[str, pl.DataFrame] = field(default_factory=dict)
    measured: list[tuple[str, pl.DataFrame]] = field(default_factory=list)

    def sections(self, spec: SectionSpec, analysis: Any) -> Iterator[Written]:
        """The section, or one for each part of the analysis; none where there is nothing to show."""
        parts = self.functions[spec.each](analysis) if spec.each else {"": analysis}
        for label, part in parts.items():
            made = Written(f"{spec.title}: {label}" if label else spec.title)
            suffix = f"-{slug(label)}" if label else ""
            for entry in spec.show:
                try:
                    shown = self._shown(entry, spec, part, suffix, made.text)
                except Absent:
                    continue
                made.parts += [shown] if isinstance(shown, Presented) else shown
                made.statements += entry.ranked(shown.statements) if isinstance(shown, Presented) else []
            if made.parts or made.statements or made.text or not spec.show:
                made.text[:0] = self.all_filled(spec.text)
                yield made

    def filled(self, text: str) -> str:
        """A text with options and facts in their places; empty where one of them is missing."""
        names = [name for _, name, _, _ in Formatter().parse(text) if name]
        if any(self.values.get(name) is None for name in names):
            return ""
        values = {name: self.values[name] for name in names}
        return text.format_map({name: f"{one:,}" if type(one) is int else str(one) for name, one in values.items()})

    def all_filled(self, texts: Sequence[str]) -> list[str]:
        """Those of some texts whose values are all known."""
        return [text for text in map(self.filled, texts) if text]

    def methods(self) -> list[str]:
        """A sentence per measure that was used, with what its interval is over, said once where all have the same."""
        intervals: dict[str, list[str]] = {}
        for name, frame in self.measured:
            method, options = find(name).view.method, used_options(frame)
            used = {option: value for option, value in options.items() if value is not None}
            named = [name for _, name, _, _ in Formatter().parse(method) if name]
            text = method.format_map({name: option_words(used.get(name, "the scale's own")) for name in named})
            words = interval_words(frame, options).removeprefix(", with ")
            intervals.setdefault(text, []).append(words if " over " in words else "")
        # What all measures have in common is said once.
        common = {one for kinds in intervals.values() for one in kinds if one}
        alike = f"Intervals are {next(iter(common))}." if len(common) == 1 else ""
        texts = [
            f"{text.removesuffix('.')}; {' or '.join(dict.fromkeys(filter(None, kinds)))}."
            if text and any(kinds) and not alike
            else text
            for text, kinds in intervals.items()
        ]
        said = list(dict.fromkeys(filter(None, [*texts, alike, LEFT_OUT if common else ""])))
        return [" ".join([*said, CORRECTED])] if said else []

    def references(self) -> list[str]:
        """The works behind the measures that were used."""
        measured = [key for name, _ in self.measured for key in find(name).view.sources]
        return list(dict.fromkeys([*measured, *(["efron1981"] if self.measured else []), *ALWAYS]))

    def _shown(
        self, entry: Show, spec: SectionSpec, analysis: Any, suffix: str, further: list[str]
    ) -> Presented | list[Part]:
        """What an entry shows, or its parts where it says nothing; paragraphs of a function are added to `further`."""
        name = entry.called + suffix
        who, view, columns = "", View(entry.title), entry.shown
        if entry.function:
            # A function that any study can call looks at a part of the corpus where the entry names one.
            part = Analysis(self._corpus(entry.of, analysis), analysis.options, analysis.seed) if entry.of else analysis
            result = self.functions[entry.function](part)
            if isinstance(result, list | tuple):
                further += [one for one in result if isinstance(one, str)]
                return [one for one in result if not isinstance(one, str)]
            if isinstance(result, Data):
                self.facts |= result.facts
                self.values |= result.facts
                columns = {**columns, **result.columns}
            frame = result.frame if isinstance(result, Data) else result
        else:
            corpus = self._corpus(entry.of or "people", analysis)
            beside = {column: self._resolved(how, analysis) for column, how in entry.side_by_side.items()}
            given = {"options": self._resolved(entry.options, analysis), "side_by_side": beside}
            entry = entry.model_copy(update={**given, "by": _grouping(entry, corpus, given["options"])})
            try:
                frame, view = self._measured(entry, corpus, analysis.seed)
            except InputError as error:
                # Data that a measure cannot use leave a sentence instead of a table.
                said = f"{find(entry.measure).view.title if entry.measure else name}: {error}"
                further += [said] if said not in further else []
                raise Absent from error
            who = who_of(corpus)
        frame = self.frames[name] = _in_order(there(frame), analysis.corpus, entry.by)
        notes = self.all_filled(entry.notes)
        resolved = (self._resolved({"": one}, analysis)[""] for one in entry.show)
        show = [name for one in resolved for name in ([one] if isinstance(one, str) else one)]
        figures = None if entry.figure is None else [self._resolved(one, analysis) for one in entry.figure]
        rules = view.says if entry.rules is None else entry.rules
        return present(
            frame,
            with_view(view, columns=columns, title=entry.title, symbol=entry.symbol, show=show, notes=notes),
            name=name,
            by=entry.by,
            who=who,
            caption=self.filled(entry.caption) or entry.caption,
            figures=figures,
            table=entry.table,
            keys=entry.keys,
            says=rules,
            values=self.values,
            families=entry.asked(self.families, spec.title, len(rules), self.after),
        )

    @staticmethod
    def _corpus(of: str, analysis: Any) -> Corpus:
        if of != EVERYONE and not hasattr(analysis, of):
            raise InputError(f"there are no judgments of '{of}'", remedy=nearest(of, ["people", EVERYONE]))
        corpus = analysis.corpus if of == EVERYONE else getattr(analysis, of)
        if not isinstance(corpus, Corpus) or corpus.judgments["value"].count() == 0:
            raise Absent
        return corpus

    def _resolved(self, options: Mapping[str, Any], analysis: Any) -> dict[str, Any]:
        """Options of a measure or a chart; `$name` is the option, the fact or the part of the analysis of that name."""

        def value(given: Any) -> Any:
            if not isinstance(given, str) or not given.startswith("$"):
                return given
            name = given[1:]
            if name not in self.values and not hasattr(analysis, name):
                remedy = nearest(name, list(self.values))
                raise InputError(f"'{given}' is neither an option nor a fact of the study", remedy=remedy)
            return self.values[name] if name in self.values else getattr(analysis, name)

        return {key: value(given) for key, given in options.items()}

    def _measured(self, entry: Show, corpus: Corpus, seed: int) -> tuple[pl.DataFrame | None, View]:
        if entry.measure:
            return self._recorded(entry.measure, corpus, entry.by, entry.options, seed), find(entry.measure).view
        joined: pl.DataFrame | None = None
        columns: dict[str, Column] = {}
        for column, how in entry.side_by_side.items():
            name, given = how.get("measure", column), {key: value for key, value in how.items() if key != "measure"}
            frame = self._recorded(name, corpus, entry.by, {**entry.options, **given}, seed)
            low, high = f"{column}_low", f"{column}_high"
            ends = {"estimate": column, "low": low, "high": high}
            counts = [count for count in COUNTS if joined is None and count in entry.show]
            frame = frame.select(*entry.by, *counts, *(pl.col(old).alias(new) for old, new in ends.items()))
            estimate = find(name).view.columns.get("estimate", Column(digits=2))
            title = estimate.title or column
            columns[column] = Column(title, estimate.digits, estimate.percent, interval=(low, high))
            joined = frame if joined is None else joined.join(frame, on=entry.by, how="left", maintain_order="left")
        return joined, View("Measures side by side", columns=columns)

    def _recorded(
        self, name: str, corpus: Corpus, by: Sequence[str], options: Mapping[str, Any], seed: int
    ) -> pl.DataFrame:
        """The result of a measure, noted for the methods section."""
        measure = find(name)
        # Whose judgments these are was decided by the entry.
        usual = {"by": list(by), "seed": seed, "kinds": "all"}
        usual = {option: value for option, value in usual.items() if option in measure.options}
        frame = measure.function(corpus, **{**usual, **options})
        self.measured.append((name, frame))
        return frame


def _grouping(entry: Show, corpus: Corpus, options: Mapping[str, Any]) -> list[str]:
    """The columns that an entry groups by: as written, or as its measure does by default."""
    if "by" in entry.model_fields_set:
        return entry.by
    return by_columns(find(entry.measure).grouping(corpus, options) if entry.measure else questions_apart((), corpus))


def decided(made: Sequence[Written], most: int = HEADLINES) -> tuple[list[Section], list[Finding], list[Claim]]:
    """The sections with their sentences, those that open the report, and the ledger that decided both.

    A claim opens the report only where the ledger allows that. Where there are too many sentences, one of each
    statement comes before the second of any, and statements that claim something come before those that do not.
    """
    statements = [one for section in made for one, _ in section.statements]
    settled = settle([one.claims for one in statements])
    ledger = {id(one): claims for one, claims in zip(statements, settled, strict=True)}
    sections: list[Section] = []
    opening: list[tuple[tuple[int, int, float], int, Finding]] = []
    for section in made:
        own: list[Finding] = []
        for one, rank in section.statements:
            claims = ledger[id(one)]
            own += one.write(claims)
            allowed = [claim for claim in claims if claim.opens or not (claim.claims or claim.verdict == "untested")]
            sentences = one.write(allowed) if rank else []
            for place, sentence in enumerate(sorted(sentences, key=_strength)):
                behind, p = _strength(sentence)
                opening.append(((place, rank + behind, p), rank, sentence))
        parts: list[Part] = []
        for shown in section.parts:
            if isinstance(shown, Presented):
                parts += shown.draw([claim for one in shown.statements for claim in ledger[id(one)]])
            else:
                parts.append(shown)
        sections.append(Section(section.title, section.text, parts, own))
    kept = sorted(opening, key=lambda one: one[0])[:most]
    findings = [sentence for _, _, sentence in sorted(kept, key=lambda one: one[1])]
    return sections, findings, [claim for claims in settled for claim in claims]


def _strength(finding: Finding) -> tuple[int, float]:
    """By how many places a sentence falls behind, for claiming nothing, and the smallest p value behind it."""
    claims = not finding.evidence or not all(one.verdict in UNDECIDED for one in finding.evidence)
    return 0 if claims else _BEHIND, min((one.p_family or 0.0 for one in finding.evidence if one.p), default=1.0)


def _in_order(frame: pl.DataFrame, corpus: Corpus, by: Sequence[str]) -> pl.DataFrame:
    """Rows in the order in which the instruments have their questions and conditions."""
    conditions = dict.fromkeys(name for one in corpus.instruments for name in one.conditions)
    known = {"question": [question.id for question in corpus.questions], "condition": list(conditions)}
    for column in reversed([*by] or ["question"]):
        if frame.schema.get(column) == pl.String:
            names = known.get(column) or frame[column].unique(maintain_order=True).to_list()
            order = {name: place for place, name in enumerate(names)}
            frame = frame.sort(pl.col(column).replace_strict(order, default=len(order)), maintain_order=True)
    return frame
