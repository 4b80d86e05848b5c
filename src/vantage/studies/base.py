"""What a study is: options, a step that collects judgments, and a step that analyses them.

Most studies are recipes (`studies.recipes`), which become: options as a frozen dataclass, the flags of `vantage study
NAME` and keywords of `vantage.studies.run`; `collect(context)`, which gives the corpus and asks raters with
`context.rate` alone, so that a run can be resumed; and `analyse(corpus, context)`, a pure function that gives the
`Result`. See docs/studies.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.plugins import Plugins

if TYPE_CHECKING:
    from vantage.corpora import Corpus
    from vantage.report import Result
    from vantage.studies.execution import Context

O = TypeVar("O")  # noqa: E741 - the options of a study

STUDIES: Final[dict[str, str]] = {
    name: f"vantage.studies.{name}.study:STUDY"
    for name in ("appraisals", "context", "demo", "perseval", "stereomap", "wcsent")
}
"""The studies by name: where each is found when it is asked for."""


@dataclass(frozen=True)
class Study(Generic[O]):
    """A study.

    Args:
        name: Its name on the command line.
        title: The title of its report.
        questions: The questions it answers, as a reader would ask them.
        kind: The dataclass of its options.
        collect: From a context to the corpus.
        analyse: From corpus and context to the result.
        needs_data: Where its `--data` come from, if it needs some.
        default_models: The models that it asks unless others are named.
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
        """The options, some of them given; unknown options and choices are refused."""
        known = {entry.name: entry.type for entry in self.described()}
        for name, value in given.items():
            if name not in known:
                raise InputError(f"study '{self.name}' has no option '{name}'", remedy=nearest(name, list(known)))
            if get_origin(known[name]) is Literal and value not in get_args(known[name]):
                raise InputError(f"{name} '{value}' is not known", remedy=nearest(str(value), get_args(known[name])))
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
    """A field of a study's options with its explanation."""
    return field(default=default, metadata={"help": help})


def paper_prompts(study: str) -> dict[str, Any]:
    """How the paper of a study asked its models (`prompts.yaml`)."""
    known: dict[str, Any] = Document.bundled(__package__, "prompts.yaml").data[study]
    return known


def listed(words: str, known: Collection[str] = (), what: str = "") -> list[str]:
    """The words of an option, separated by commas; unknown ones are refused.

    >>> listed(" a, b,,c ")
    ['a', 'b', 'c']
    >>> listed("direct,reasonin", ["direct", "reasoning"], "method")
    Traceback (most recent call last):
        ...
    vantage.errors.InputError: there is no method 'reasonin'; did you mean 'reasoning'?
    """
    chosen = list(dict.fromkeys(word.strip() for word in words.split(",") if word.strip()))
    for word in chosen if known else ():
        if word not in known:
            raise InputError(f"there is no {what} '{word}'", remedy=nearest(word, list(known)))
    return chosen


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


def _accepted(name: str, study: Any) -> Study[Any]:
    if not isinstance(study, Study):
        raise TypeError("is not a vantage.studies.Study")
    if study.name != name:
        raise ValueError(f"is a study with another name, '{study.name}'")
    return study


PLUGINS: Final[Plugins[Study[Any]]] = Plugins("studies", "study", lambda: STUDIES, _accepted)
"""Studies of other packages: `Study` objects."""
