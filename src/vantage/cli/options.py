"""A verb from a function: arguments, options, help, choices, defaults and output follow from what Python reads.

Arguments are a verb's positional parameters, options its keyword-only ones. Types and defaults come from the signature,
help from the docstring: a line `name (METAVAR): what it is` for each, in sections that head the groups of the help. A
parameter that is `Annotated[what, function]` is made by that function from options of its own: so verbs share options,
are given what is opened for them and closed when they end, and `options_of` takes options from a function of the
library, whose docstring is then the help of the command line too.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand
from typer.models import ParameterInfo

from vantage.cli.output import Output, VerbResult
from vantage.errors import InputError, nearest

if TYPE_CHECKING:
    from vantage.corpora import Corpus

Values = dict[str, Any]
Command = TypeVar("Command", bound=Callable[..., Any])

FLAGS: Final = {"to": ("--to", "-o"), "mapping": ("--map",)}
"""How options are called if not as their parameter."""
COMMON: Final = {
    "claim": ("", "A measure, a row of a report's ledger (FOLDER#ROW), or a frozen plan."),
    "corpus": ("", "A corpus folder."),
    "database": ("URL", "sqlite:///FILE or postgresql://USER@HOST/NAME."),
    "estimate": ("", "Print calls, tokens, cost and time, and exit."),
    "figure": ("", "Draw the chart: .svg, .pdf or .png."),
    "folder": ("", "A corpus folder."),
    "instrument": ("NAME", "A bundled instrument (NAME or NAME:FORM) or a file."),
    "into": ("", "Where to write the result."),
    "limit": ("", "The accepted risk of a wrong conclusion."),
    "mapping": ("NAME=COLUMN,…", "For a file of texts: text=COLUMN, target=COLUMN …"),
    "name": ("", "Its name, or a path that ends in it."),
    "overwrite": ("", "Replace an existing corpus."),
    "price": ("", "What one answer costs."),
    "part": ("", "The released part to predict: test or dev."),
    "run": ("", "The run's number; see vantage runs list."),
    "seed": ("", "Random seed."),
    "store": ("", "A run store, or the corpus folder that contains one."),
    "submissions": ("ID…", "Submission ids on the platform."),
    "task": ("", "One data set, such as MP (default: all)."),
    "to": ("", "Where to write (default: change the folder itself)."),
    "trait": (
        "COLUMN:LEVEL[:A,B,…]",
        "The scale of a trait, such as age:ordered or edu:ordered:school,college; repeatable.",
    ),
    "universe": ("FILE", "A YAML file of choices."),
    "url": ("", "The study's URL for participants."),
    "vary": ("NAME[=VALUE,…]", "An option or a column to vary; repeatable."),
    "where": (
        "COLUMN=VALUE[,VALUE]",
        "Keep what matches, such as kind=person, or everything else: kind!=person; repeatable.",
    ),
    "yes": ("", "Do not ask for confirmation."),
}
"""Metavar and help of parameters that mean the same in every verb whose docstring says nothing else."""
PLAIN: Final = {"int": int, "float": float, "Path": Path}
SECTION: Final = re.compile(r"^(\S[^\n]*):\n(?= {4}\S)((?:(?: {4}[^\n]+)?(?:\n|\Z))+)", re.M)
ENTRY: Final = re.compile(r"^ {4}(\w+)(?: \(([^\n]+?)\))?: (.+?)(?=\n {4}\S|\s*\Z)", re.M | re.S)


class Described(NamedTuple):
    """What a docstring says of a function and of its parameters."""

    text: str
    parameters: dict[str, tuple[str, str]]
    """Metavar and help of each."""
    groups: dict[str, str]
    """The section of each, where there are several sections."""


def described(docstring: str | None) -> Described:
    r"""A docstring, read. A section describes parameters, or names in a line some that are described elsewhere.

    >>> described("Make links.\n\nOptions:\n    count (N): How many\n        links.\n    seed to").parameters
    {'count': ('N', 'How many links.')}
    """
    parameters, groups, text = {}, {}, inspect.cleandoc(docstring or "")
    for title, body in SECTION.findall(text):
        for name, metavar, help_ in ENTRY.findall(body):
            parameters[name], groups[name] = (metavar, " ".join(help_.split())), title
        for line in re.findall(r"^ {4}(\w+(?: \w+)*)$", body, re.M):
            groups |= dict.fromkeys(line.split(), title)
    return Described(SECTION.sub("", text).strip(), parameters, groups if len({*groups.values()}) > 1 else {})


class VerbGroup(typer.Typer):
    """Verbs under one word."""

    def __init__(self, text: str, **settings: Any) -> None:
        super().__init__(help=text, rich_markup_mode=None, **{"no_args_is_help": True, **settings})

    def verb(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Adds a function as a verb of its name."""
        self.command(function.__name__.strip("_").replace("_", "-"), cls=GroupedCommand)(verb(function))
        return function

    def alone(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Adds a function that runs if no verb follows."""
        run = verb(function)

        def unless_another(context: typer.Context, **given: Any) -> None:
            if context.invoked_subcommand is None:
                run(**given)

        _sign(unless_another, [_CONTEXT, *inspect.signature(run).parameters.values()])
        self.callback(invoke_without_command=True)(unless_another)
        return function


def verb(function: Callable[..., Any]) -> Callable[..., None]:
    """A command for Typer from a function; what it returns is printed for people or, if asked for, for programs."""
    parameters, taken, groups = _taken(function)
    answers = str(inspect.signature(function).return_annotation).removesuffix(" | None")
    forms = _taken(Output)[0][: {"VerbResult": 1, "VerbTable": 3}.get(answers, 0)]

    def run(**given: Any) -> None:
        output = Output(**{one.name: bool(given[one.name]) for one in forms})
        with ExitStack() as opened:
            made = function(**taken(given, opened))
        if isinstance(made, VerbResult):
            made.print(output)

    run.__name__, run.__doc__, run.__module__ = function.__name__, described(function.__doc__).text, function.__module__
    run.help_groups = groups  # type: ignore[attr-defined]
    return _sign(run, [*parameters, *forms])


def options_of(
    module: str, name: str, *, only: str = "", without: str = "", flags: Mapping[str, str] | None = None
) -> Callable[..., Values]:
    """The keywords of a function, or the fields of a dataclass, as options, from which a verb gets a dict.

    Types, choices and defaults come from the signature, and help is the first sentence about each in the docstring.
    They are read from the source: nothing is imported until the verb runs. What is not given is not in the dict.

    Args:
        module: The file below the package, such as `corpora/readers/table.py`.
        name: The function or the class.
        only: The keywords that are options, in this order; all of them without it.
        without: Keywords that are none.
        flags: How an option is called where not as its keyword.
    """
    tree = _tree(module)
    made = next(node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name)
    known, said = _keywords(made), described(ast.get_docstring(made)).parameters
    aliases = {one: kind for one, kind in _assigned(tree) if "Literal[" in kind}
    parameters, sentences = [], ["", "Args:"]
    for one in only.split() or [one for one in known if one not in without.split()]:
        kind, default = known[one]
        kind = aliases.get(kind.partition(" | ")[0], kind)
        parameters.append(inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
        first = re.split(r"\.(?:\s|$)", said.get(one, ("", ""))[1].replace("`", ""), maxsplit=1)[0]
        sentences.append(f"    {one}: {first}.")

    def given(**values: Any) -> Values:
        return {one: value for one, value in values.items() if value not in ([], {})}

    given.__doc__ = "\n".join(sentences)
    given.flags = flags  # type: ignore[attr-defined]
    return _sign(given, parameters)


_CONTEXT: Final = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def _sign(function: Command, parameters: Sequence[inspect.Parameter]) -> Command:
    """A function that takes any keywords, with a signature for Typer."""
    signature = inspect.Signature([one.replace(kind=one.KEYWORD_ONLY) for one in parameters])
    vars(function)["__signature__"] = signature
    function.__annotations__ = {one.name: one.annotation for one in parameters}
    return function


def _taken(
    function: Callable[..., Any],
) -> tuple[list[inspect.Parameter], Callable[[Values, ExitStack], Values], dict[str, str]]:
    """The parameters of a function for Typer, what makes its arguments of what Typer gives, and their groups."""
    said, parameters = described(function.__doc__), []
    groups: dict[str, str] = {}
    named = getattr(function, "flags", None) or {}
    takes: dict[str, Callable[[Values, ExitStack], Any]] = {}
    for name, one in inspect.signature(function).parameters.items():
        kind, resolved = str(one.annotation), _resolved(function, one.annotation)
        if resolved is typer.Context:
            parameters.append(one.replace(annotation=resolved))
            takes[name] = partial(_typed, name, "", "")
        elif callable(maker := getattr(resolved, "__metadata__", (None,))[0]) and not isinstance(maker, ParameterInfo):
            further, inside, shared = _taken(maker)
            parameters += further
            groups |= shared
            takes[name] = partial(_made, maker, inside)
        else:
            flags = (named[name],) if name in named else FLAGS.get(name, (f"--{name.strip('_').replace('_', '-')}",))
            known = "into" if name == "to" and one.default is one.empty else name
            metavar, help_ = said.parameters.get(name) or COMMON[known]
            parameters.append(_for_typer(one, kind, resolved, flags, metavar, help_))
            takes[name] = partial(_typed, name, kind, flags[0].partition("/")[0])

    def taken(given: Values, opened: ExitStack) -> Values:
        return {name: value for name, take in takes.items() if (value := take(given, opened)) is not None}

    return parameters, taken, groups | said.groups


def _made(
    maker: Callable[..., Any], inside: Callable[[Values, ExitStack], Values], given: Values, opened: ExitStack
) -> Any:
    """What a function makes of its own options; what has to be closed is closed when the verb ends."""
    made = maker(**inside(given, opened))
    closes = hasattr(made, "__exit__") and not isinstance(made, Path)
    return opened.enter_context(made) if closes else made


def _resolved(function: Callable[..., Any], kind: Any) -> Any:
    """What an annotation means to Typer: the type that it names in its module, or one for what is typed."""
    if not isinstance(kind, str):
        return kind
    known = vars(sys.modules[function.__module__])
    if kind in known or kind.startswith(("Annotated", "typer.", "tuple[Path")):
        hints = SimpleNamespace(__annotations__={"it": kind})
        return known[kind] if kind in known else get_type_hints(hints, known, include_extras=True)["it"]
    one = next((made for word, made in PLAIN.items() if re.match(rf"(?:list\[)?{word}\b", kind)), str)
    return list[one] if kind.startswith(("list", "Mapping")) else one  # type: ignore[valid-type]


def _typed(name: str, kind: str, flag: str, given: Values, _: ExitStack) -> Any:
    """An argument from what was typed: several give a list, which may be empty."""
    value = given[name]
    if "float]" in kind and value:
        from vantage.measures import convert

        several = Mapping[str, float] if kind.startswith("Mapping") else Sequence[float]
        return convert(value if isinstance(value, str) else ",".join(value), several, flag)
    if kind.startswith("Mapping"):
        return pairs(value or [], flag)
    if "Literal" not in kind and ("Sequence" in kind or ("tuple" in kind and "Path" not in kind)):
        return names(value)
    if value is not None and value not in (words := re.findall(r"'([^']+)'", kind) or [value]):
        raise InputError(f"{flag} cannot be '{value}'", remedy=nearest(value, words))
    return list(value or []) if kind.startswith("list") else value


def _for_typer(
    one: inspect.Parameter, kind: str, resolved: Any, flags: Sequence[str], metavar: str, help_: str
) -> inspect.Parameter:
    """A parameter of a verb as an argument or option; what is not given is None, and the verb's own default holds."""
    how: dict[str, Any] = {"help": help_, "show_default": False, "metavar": metavar or None}
    several = kind.startswith(("list", "Sequence", "Mapping"))
    needed = one.default is one.empty and (one.kind is not one.KEYWORD_ONLY or not several)
    if one.kind is not one.KEYWORD_ONLY:
        what = typer.Argument(**{**how, "metavar": metavar or one.name.upper()})
        return one.replace(annotation=Annotated[resolved, what], default=one.empty if needed else None)
    if metavar.startswith("-"):
        flags, how["metavar"] = (*flags, metavar), None
    flag, limits = flags[0], None
    if one.default not in (None, False, "", one.empty):
        how["show_default"] = str(one.default)
    if kind.startswith("bool"):
        both = one.default is True or ("None" in kind and "/" not in flag)
        flags = (f"{flag}/--no-{flag[2:]}" if both else flag, *flags[1:])
        how["show_default"] = flag[2:] if one.default is True else False
        resolved = bool
    elif words := re.findall(r"'([^']+)'", kind):
        how["metavar"] = "|".join(words)
    elif kind.startswith("Annotated"):
        resolved, limits = resolved.__origin__, copy(resolved.__metadata__[0])
    elif not metavar and (several or "Sequence" in kind or "tuple" in kind):
        how["metavar"] = None if kind.startswith("list") else "NAME=VALUE,…" if kind.startswith("Mapping") else "A,B,…"
    option = limits or typer.Option()
    vars(option).update(how, param_decls=flags)
    return one.replace(
        annotation=Annotated[resolved if needed else resolved | None, option], default=one.empty if needed else None
    )


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(Path(__file__).parents[1].joinpath(module).read_text("utf-8"))


def _assigned(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that a module assigns, with what."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield ast.unparse(target), ast.unparse(node.value)


def _keywords(made: ast.FunctionDef | ast.ClassDef) -> dict[str, tuple[str, Any]]:
    """What a function or class takes that has a default: name, type and, where it is plain, the default."""
    if isinstance(made, ast.FunctionDef):
        given = made.args
        with_default = [*given.args[len(given.args) - len(given.defaults) :], *given.kwonlyargs]
        defaults = [*given.defaults, *given.kw_defaults]
        rows = [(one.arg, one.annotation, default) for one, default in zip(with_default, defaults, strict=True)]
    else:
        rows = [
            (ast.unparse(one.target), one.annotation, one.value) for one in made.body if isinstance(one, ast.AnnAssign)
        ]
    return {
        name: (ast.unparse(kind) if kind else "str", default.value if isinstance(default, ast.Constant) else None)
        for name, kind, default in rows
    }


class GroupedCommand(TyperCommand):
    """A command whose help shows options in groups, where it has them."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes a section for each group, in their order."""
        groups = help_groups(self)
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", *groups.values())}
        for one in self.get_params(ctx):
            if record := one.get_help_record(ctx):
                title = "Arguments" if one.param_type_name == "argument" else groups.get(str(one.name), "Options")
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def help_groups(command: Any) -> dict[str, str]:
    """The group of each option of a command, by its name."""
    groups: dict[str, str] = getattr(command.callback, "help_groups", {})
    return groups


def _settings(*, setting: Mapping[str, str], base_url: str = "") -> Values:
    """What an endpoint needs to know.

    Args:
        setting (NAME=VALUE): A setting of the model, such as threads=2.
        base_url: The URL of an OpenAI-compatible endpoint.
    """
    settings: Values = {key: number(value) for key, value in setting.items()}
    return settings | ({"base_url": base_url} if base_url else {})


def _limits(carried: Carried, *, prices: Path | None = None, fallback: list[str], no_probe: bool = False) -> Values:
    """What every run has.

    Args:
        prices: A YAML file of prices per million tokens, to replace the bundled ones (docs/models.md).
        fallback (MODEL): A rater of its own, asked what another model leaves open when its account fails.
        no_probe: Do not send about ten short test questions to an unknown endpoint first.
    """
    from vantage.runs.prices import read_prices, shipped_prices

    known = {**shipped_prices(), **(read_prices(prices) if prices is not None else {})}
    return {"prices": known, "fallbacks": tuple(fallback), "probe": not no_probe, **carried}


Carried = Annotated[
    Values, options_of("runs/options.py", "RunOptions", only="concurrency fail_on max_cost canary clarify")
]
Connection = Annotated[Values, _settings]
"""Settings of a model, from `--setting` and `--base-url`."""
Limits = Annotated[Values, _limits]
"""Options of `RunOptions` that every run has."""


def number(text: str) -> int | float | str:
    """A word as a number where it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def pairs(texts: list[str], flag: str, *, comma: bool = True, form: str = "NAME=VALUE") -> dict[str, str]:
    """`NAME=VALUE` words as a mapping; `form` says what they are called. The name of a column may have commas.

    >>> pairs(["rater=who,value=How warm, on the whole?"], "--map")
    {'rater': 'who', 'value': 'How warm, on the whole?'}
    """
    pairs: dict[str, str] = {}
    between = r",(?=[^,]*=)" if flag == "--map" else ","
    for text in texts:
        for part in filter(None, map(str.strip, re.split(between, text))) if comma else [text]:
            name, equals, value = (word.strip() for word in part.partition("="))
            if not equals or not name or not value:
                remedy = f"write {flag} item=COLUMN" if flag == "--map" else f"write {flag} {form}"
                raise InputError(f"{flag} takes {form}, not '{part}'", remedy=remedy)
            if pairs.setdefault(name, value) != value:
                several = f"write {flag} {name}={pairs[name]},{value}" if flag == "--where" else "keep one of them"
                raise InputError(f"{flag} names '{name}' twice", remedy=several)
    return pairs


def conditions(where: list[str]) -> dict[str, list[str]]:
    """`--where COLUMN=VALUE,VALUE` and `COLUMN!=VALUE,VALUE` as keywords of `Corpus.filter`."""
    return {column: values.split(",") for column, values in pairs(where, "--where", comma=False).items()}


def filtered(corpus: Corpus, where: list[str]) -> Corpus:
    """The part of a corpus that fits `--where`; a value that occurs nowhere is refused, with the nearest that does."""
    for column, values in conditions(where).items():
        known = corpus.values_of(column.removesuffix("!"))
        for value in values:
            if value not in known and value.removesuffix(".0") not in known:
                raise InputError(f"no {column.removesuffix('!')} is '{value}'", remedy=nearest(value, known[:50]))
    part = corpus.filter(**conditions(where)) if where else corpus
    if where and part.judgments.is_empty() and not corpus.judgments.is_empty():
        raise InputError(f"nothing matches --where {' --where '.join(where)}", remedy="loosen the conditions")
    return part


def names(text: str | None) -> list[str]:
    """`A,B` as a list."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]
