"""What a study is: options, a step that collects judgments, and a step that analyses them.

A study is a short module. It declares its options as a frozen dataclass, whose fields are the flags of
`vantage study NAME` and the keywords of `vantage.studies.run` alike, and two functions:

* `collect(context)` gives the corpus: it reads published data, or asks raters with `context.rate`, which stores
  what they say as it arrives, so that a run can be interrupted and continued;
* `analyse(corpus, context)` gives the `Result`: sections of tables and figures, findings in plain words, and what
  must be known before they are believed. It is a pure function of the corpus and the options.

The frame does the rest: progress, the folder with the corpus, tables (Parquet, CSV, LaTeX) and figures (PDF, SVG and
the data behind them), `study.json` with every option, seed, version and count, and `report.html`.

>>> from dataclasses import dataclass
>>> import vantage
>>> from vantage.report import Column, Figure, Finding, Result, Section, Table
>>> @dataclass(frozen=True)
... class Options:
...     level: str = option("ordinal", "level of measurement of the alpha")
>>> def collect(context: Context[Options]) -> vantage.Corpus:
...     corpus = vantage.demo_corpus()
...     # With models:  return context.rate(corpus, context.raters("scoring"), "warmth-competence")
...     return corpus
>>> def analyse(corpus: vantage.Corpus, context: Context[Options]) -> Result:
...     alpha = vantage.alpha(corpus, by="question", level=context.options.level, seed=context.seed)
...     best = alpha.sort("estimate", descending=True).row(0, named=True)
...     return Result(
...         sections=[
...             Section(
...                 "Agreement",
...                 ["How far raters agree beyond chance."],
...                 [
...                     Table("alpha", "Krippendorff's alpha, with 95 % intervals over items.", alpha,
...                           {"estimate": Column("alpha", digits=2, best="max")}),
...                     Figure("alpha", "Krippendorff's alpha, with 95 % intervals over items.",
...                            "One point per question with its interval.", "points", alpha,
...                            {"category": "question", "label": "Krippendorff's alpha"}),
...                 ],
...             )
...         ],
...         findings=[Finding("Raters agree most about {question} (alpha {estimate:.2f}).",
...                           {"question": best["question"], "estimate": best["estimate"]})],
...     )
>>> STUDY = Study("agreement", "Agreement in the demo corpus", ("Do raters agree?",), Options, collect, analyse)
>>> STUDY.options(level="nominal")
Options(level='nominal')
>>> STUDY.options(levl="nominal")
Traceback (most recent call last):
    ...
vantage.errors.InputError: study 'agreement' has no option 'levl'; did you mean 'level'?
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar, get_type_hints

from vantage.errors import InputError, nearest
from vantage.plugins import Plugins

if TYPE_CHECKING:
    from vantage.corpora import Corpus
    from vantage.instruments import Instrument
    from vantage.raters.chat import ChatRater
    from vantage.report.parts import Result
    from vantage.report.record import Record
    from vantage.runs.options import Options as RunOptions
    from vantage.runs.plan import Plan

O = TypeVar("O")  # noqa: E741 - the options of a study

STUDIES: Final[dict[str, str]] = {
    "appraisals": "vantage.studies.appraisals.study:STUDY",
    "context": "vantage.studies.context.study:STUDY",
    "demo": "vantage.studies.demo.study:STUDY",
    "perseval": "vantage.studies.perseval.study:STUDY",
    "stereomap": "vantage.studies.stereomap.study:STUDY",
    "wcsent": "vantage.studies.wcsent.study:STUDY",
}
"""The studies by name: where each is found when it is asked for."""


class Progress(Protocol):
    """Something that shows how far the work has come."""

    def __call__(self, title: str, total: int | None = None) -> AbstractContextManager[Callable[[int], None]]:
        """Opens a bar and gives what moves it on."""
        ...


@dataclass(frozen=True)
class Study(Generic[O]):
    """A recipe: its name, what it asks, its options, and how it collects and analyses.

    Args:
        name: What it is called on the command line.
        title: The title of its report.
        questions: The questions it answers, as a reader would ask them.
        kind: The dataclass of its options; each field is made with `option`.
        collect: From a context to the corpus.
        analyse: From corpus and context to the result.
        needs_data: Where its `--data` come from, if it needs some: a sentence for those who gave none.
        default_models: The models that are asked where none is named; empty for a study that asks none.
        libraries: Further libraries whose version the report states.
    """

    name: str
    title: str
    questions: tuple[str, ...]
    kind: Callable[..., O]
    collect: Callable[[Context[O]], Corpus]
    analyse: Callable[[Corpus, Context[O]], Result]
    needs_data: str = ""
    default_models: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    def options(self, **given: Any) -> O:
        """The options with some of them given; one that the study does not have is named."""
        known = [entry.name for entry in self.described()]
        for name in given:
            if name not in known:
                raise InputError(f"study '{self.name}' has no option '{name}'", remedy=nearest(name, known))
        return self.kind(**given)

    def described(self) -> list[OptionEntry]:
        """Every option with its type, default and meaning, for the command line."""
        kind: Any = self.kind
        hints = get_type_hints(kind, vars(sys.modules[kind.__module__]))
        return [
            OptionEntry(part.name, hints[part.name], part.default, part.metadata.get("help", ""))
            for part in fields(kind)
        ]


@dataclass(frozen=True, slots=True)
class OptionEntry:
    """An option of a study: a word, the type of its value, its default and what it means."""

    name: str
    type: Any
    default: Any
    help: str


def option(default: Any, help: str) -> Any:  # noqa: A002
    """A field of a study's options, with the sentence that explains it; a list of words is a tuple."""
    return field(default=default, metadata={"help": help})


@dataclass
class Context(Generic[O]):
    """What a study is run with: its options, the data, the models, the seed and the folder.

    Args:
        options: The study's own options.
        data: The published data or the corpus folder that was named with `--data`.
        models: The models that were named with `--model`.
        seed: The seed of everything that is drawn by lot.
        settings: Settings of the models, such as `base_url`.
        folder: Where the results go; null for a run that leaves nothing behind.
        record: What the report will state about this run.
        progress: What shows how far the work has come.
        carried: How models are called: concurrency, limits of cost and of failures.
        warnings: What must be told at the top of the report.
        reached: The corpus as far as it has come, for the report on a run that is cut off.
        noted: What collecting leaves for analysing that has no place in the corpus, such as what calls cost.
    """

    plans: ClassVar[bool] = False
    """Whether nothing is asked or trained, since only an estimate is wanted (see `studies.estimating`)."""

    options: O
    record: Record
    data: Path | None = None
    models: tuple[str, ...] = ()
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    progress: Progress | None = None
    carried: RunOptions | None = None
    warnings: list[str] = field(default_factory=list)
    reached: Corpus | None = None
    noted: dict[str, Any] = field(default_factory=dict)

    def raters(self, style: str = "zero-shot", **options: Any) -> list[ChatRater]:
        """One chat rater per model named, in one prompting style; `options` are those of `ChatRater`."""
        from vantage.raters.chat import ChatRater

        options = {"seed": self.seed, "settings": dict(self.settings), **options}
        return [ChatRater(model, style, **options) for model in self.models]

    def rate(
        self,
        corpus: Corpus,
        raters: ChatRater | Iterable[ChatRater],
        instrument: Instrument | str,
        *,
        questions: Sequence[str] = (),
        condition: str = "",
    ) -> Corpus:
        """The corpus with the judgments of raters, each reply stored in the folder as it arrives.

        What the folder already has is not asked again, so an interrupted run goes on where it stopped.
        """
        from vantage.studies.asking import ask

        return ask(self, corpus, raters, instrument, questions=questions, condition=condition)

    def asks(self, plan: Plan, assumption: str = "") -> bool:
        """Whether to ask what a plan says, for studies that ask in other ways than with `rate`.

        A context that only plans adds it to its estimate instead; `assumption` says why it may be more than is needed.
        """
        return True

    def trains(self, rater: str, learns: str) -> bool:
        """Whether to train a rater now; a context that only plans notes who learns from what instead."""
        return True

    def warn(self, sentence: str) -> None:
        """A warning for the top of the report; said once, however often it comes up."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def step(self, title: str, total: int | None = None) -> AbstractContextManager[Callable[[int], None]]:
        """A progress bar for long work: `with context.step("resampling", 1000) as moved: … moved(1)`."""
        return self.progress(title, total) if self.progress else nullcontext(lambda _: None)


def hundredths(moved: Callable[[int], None]) -> Callable[[int, int], None]:
    """Moves a bar of a hundred steps by steps done of steps in all, as trained raters tell them.

    >>> moves: list[int] = []
    >>> advance = hundredths(moves.append)
    >>> advance(1, 4), advance(4, 4), moves
    (None, None, [25, 75])
    """
    told = 0

    def advance(done: int, total: int) -> None:
        nonlocal told
        share = 100 * done // max(total, 1)
        moved(share - told)
        told = share

    return advance


def find(name: str) -> Study[Any]:
    """The study with this name.

    >>> find("dmo")
    Traceback (most recent call last):
        ...
    vantage.errors.InputError: there is no study 'dmo'; did you mean 'demo'?
    """
    if name not in STUDIES:
        return PLUGINS.find(name)
    module, _, attribute = STUDIES[name].partition(":")
    study: Study[Any] = getattr(import_module(module), attribute)
    return study


def names() -> Iterator[str]:
    """The names of the studies, those of plugins last."""
    yield from STUDIES
    yield from PLUGINS.names()


def known() -> dict[str, Study[Any]]:
    """Every study by name, those of plugins last."""
    return {**{name: find(name) for name in STUDIES}, **PLUGINS.working()}


def _accepted(name: str, found: Any) -> Study[Any]:
    if not isinstance(found, Study):
        raise TypeError("is not a vantage.studies.Study")
    if found.name != name:
        raise ValueError(f"is a study with another name, '{found.name}'")
    return found


PLUGINS: Final[Plugins[Study[Any]]] = Plugins("studies", "study", lambda: STUDIES, _accepted)
"""Studies of other packages: `Study` objects."""
