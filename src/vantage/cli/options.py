"""Options that several verbs share, and options that follow from the signature of the function behind a verb.

Shared ones are written once as the parameters of a function or a class, and the verb receives what that makes of them.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Final, get_type_hints

import typer
from typer.core import TyperCommand

from vantage.cli.output import Output
from vantage.errors import InputError

Command = Callable[..., None]

TO: Final = ("--to", "-o", "--out")
"""The option for where something is written; `--out` is its older name in some verbs."""
Seed = Annotated[int, typer.Option(help="Random seed.")]


def shared(name: str, options: Callable[..., Any]) -> Callable[[Command], Command]:
    """A verb that also has the options of a function or class, and receives what that makes of them under a name."""

    def decorate(command: Command) -> Command:
        further, own = inspect.signature(options).parameters, inspect.signature(command).parameters
        hints = _hints(options)
        if not hasattr(command, "__signature__"):
            hints |= _hints(command, name)

        @wraps(command)
        def run(**given: Any) -> None:
            made = options(**{one: given.pop(one) for one in further})
            command(**given, **{name: made})

        parameters = {one: parameter for one, parameter in {**own, **further}.items() if one != name}
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [p.replace(kind=p.KEYWORD_ONLY, annotation=hints.get(n, p.annotation)) for n, p in parameters.items()]
        )
        run.__annotations__ = {one: hints.get(one, p.annotation) for one, p in parameters.items()}
        return run

    return decorate


def options_of(
    module: str, name: str, *, only: str = "", without: str = "", flags: Mapping[str, str] | None = None
) -> Callable[..., dict[str, Any]]:
    """The keywords of a function, or the fields of a dataclass, as options: for `shared`, which gives the verb a dict.

    Types, choices and defaults come from the signature, and help is the first sentence about each in the docstring.
    They are read from the source: nothing is imported until the verb runs. What is not given is not in the dict.

    Args:
        module: The file below the package, such as `corpora/readers/table.py`.
        name: The function or the class.
        only: The keywords that are options, in this order; all of them without it.
        without: Keywords that are none.
        flags: How an option is called where not as its keyword.
    """
    tree = ast.parse(Path(__file__).parents[1].joinpath(module).read_text("utf-8"))
    made = next(node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name)
    aliases = {str(t): ast.unparse(v) for t, v in _assigned(tree) if "Literal[" in ast.unparse(v)}
    known = {one: (kind, default) for one, kind, default in _keywords(made)}
    chosen = only.split() or [one for one in known if one not in without.split()]
    said = dict(re.findall(r"^ {4}(\w+): (.+?)(?=\.(?:\s|$)|\Z|\n {4}\w)", ast.get_docstring(made) or "", re.M | re.S))
    kinds = {one: aliases.get(known[one][0].removesuffix(" | None"), known[one][0]) for one in chosen}

    def given(**values: Any) -> dict[str, Any]:
        return {one: _converted(kinds[one], one, value) for one, value in values.items() if value is not None}

    parameters = []
    for one in chosen:
        flag = (flags or {}).get(one)
        help_ = " ".join(said.get(one, "").replace("`", "").split()).removesuffix(".")
        annotation = _option(kinds[one], known[one][1], flag or f"--{one.replace('_', '-')}", f"{help_}.")
        parameters.append(inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    given.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    given.__annotations__ = {one.name: one.annotation for one in parameters}
    return given


def joined(options: Callable[..., Any], further: Callable[..., Any]) -> Callable[..., Any]:
    """A function for `shared` that also has the options of another, which it receives as further keywords."""
    own = [one for one in inspect.signature(options).parameters.values() if one.kind is not one.VAR_KEYWORD]
    parameters = [*own, *inspect.signature(further).parameters.values()]
    hints = {**_hints(options), **_hints(further)}

    @wraps(options)
    def both(**given: Any) -> Any:
        return options(**given)

    both.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=one.KEYWORD_ONLY) for one in parameters]
    )
    both.__annotations__ = {one.name: hints[one.name] for one in parameters}
    return both


def _assigned(tree: ast.Module) -> list[tuple[str, ast.expr]]:
    """The names that a module assigns, with what."""
    one = [
        (n.targets[0].id, n.value)
        for n in tree.body
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    ]
    other = [
        (n.target.id, n.value)
        for n in tree.body
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.value
    ]
    return [*one, *other]


def _keywords(made: ast.FunctionDef | ast.ClassDef) -> list[tuple[str, str, Any]]:
    """What a function or class takes that has a default: name, type and, where it is plain, the default."""
    if isinstance(made, ast.FunctionDef):
        pairs = [*zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True)]
        with_default = made.args.args[len(made.args.args) - len(made.args.defaults) :]
        pairs = [*zip(with_default, made.args.defaults, strict=True), *pairs]
        rows = [(one.arg, one.annotation, default) for one, default in pairs]
    else:
        fields = [one for one in made.body if isinstance(one, ast.AnnAssign)]
        rows = [(one.target.id, one.annotation, one.value) for one in fields if isinstance(one.target, ast.Name)]
    return [
        (name, ast.unparse(kind) if kind else "str", default.value if isinstance(default, ast.Constant) else None)
        for name, kind, default in rows
    ]


def _option(kind: str, default: Any, flag: str, help_: str) -> Any:
    """The annotation of an option for Typer."""
    how: dict[str, Any] = {"help": help_, "show_default": str(default) if default not in (None, False, "") else False}
    if kind.startswith("bool"):
        how["show_default"] = flag[2:] if default is True else False
        both = f"{flag}/--no-{flag[2:]}" if default is True or ("None" in kind and "/" not in flag) else flag
        return Annotated[bool | None, typer.Option(both, **how)]
    if kind.startswith("Mapping"):
        return Annotated[list[str] | None, typer.Option(flag, metavar="NAME=VALUE,…", **how)]
    if words := re.findall(r"'([^']+)'", kind) if "Literal" in kind else []:
        return Annotated[str | None, typer.Option(flag, metavar="|".join(words), **how)]
    if "Sequence" in kind or "tuple" in kind:
        return Annotated[str | None, typer.Option(flag, metavar="A,B,…", **how)]
    plain = next((one for word, one in (("int", int), ("float", float)) if re.match(rf"{word}\b", kind)), str)
    return Annotated[plain | None, typer.Option(flag, **how)]


def _converted(kind: str, name: str, value: Any) -> Any:
    if "[float]" in kind or kind.startswith("Mapping[str, float]"):
        from vantage.measures.option_text import convert

        words = value if isinstance(value, str) else ",".join(value)
        return convert(words, Sequence[float] if "[float]" in kind else Mapping[str, float], f"--{name}")
    if kind.startswith("Mapping"):
        return pairs(value, f"--{name}", form="RATER=KIND" if name == "kinds" else "NAME=VALUE") or None
    return names(value) if "Sequence" in kind or "tuple" in kind else value


class GroupedCommand(TyperCommand):
    """A command whose help shows options in groups, where it has them."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes a section for each group, in their order."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        groups = help_groups(self)
        for title in groups.values():
            sections.setdefault(title, [])
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


def in_groups(groups: Mapping[str, str]) -> Callable[[Command], Command]:
    """A verb whose help shows options in groups: from titles to the names of parameters, parted by spaces."""

    def decorate(command: Command) -> Command:
        command.help_groups = {name: title for title, names in groups.items() for name in names.split()}  # type: ignore[attr-defined]
        return command

    return decorate


def _hints(function: Callable[..., Any], received: str = "") -> dict[str, Any]:
    """The types of a function's options; what a verb receives may have one that only a type checker imports."""
    named = {name: kind for name, kind in function.__annotations__.items() if name not in ("return", received)}
    names_of = vars(sys.modules[function.__module__])
    return get_type_hints(SimpleNamespace(__annotations__=named), names_of, include_extras=True)


with_output = shared("output", Output)
"""A verb with `--json`, `--csv` and `--latex`, which it receives as `output`."""


def _connection(
    setting: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A setting of the model, such as threads=2.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="The address of an OpenAI-compatible endpoint.")] = None,
) -> dict[str, Any]:
    settings: dict[str, Any] = {key: number(value) for key, value in pairs(setting or [], "--setting").items()}
    return settings | ({"base_url": base_url} if base_url else {})


with_connection = shared("connection", _connection)
"""A verb with `--setting` and `--base-url`, which it receives as `connection`: settings of a model."""


def _limits(
    prices: Annotated[
        Path | None,
        typer.Option(help="A YAML file of prices per million tokens, instead of those that ship (docs/models.md)."),
    ] = None,
    fallback: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL", help="Asked, as a rater of its own, what a model whose account fails has left open."
        ),
    ] = None,
    unprobed: Annotated[
        bool, typer.Option("--no-probe", help="Do not ask an unknown endpoint some ten short questions first.")
    ] = False,
    **carried: Any,
) -> dict[str, Any]:
    from vantage.runs.prices import read_prices, shipped_prices

    known = {**shipped_prices(), **(read_prices(prices) if prices is not None else {})}
    return {"prices": known, "fallbacks": tuple(fallback or ()), "probe": not unprobed, **_carried(**carried)}


_carried = options_of("runs/options.py", "RunOptions", only="concurrency fail_on max_cost canary clarify")
with_limits = shared("limits", joined(_limits, _carried))
"""A verb with options of `RunOptions` that every run has, which it receives as `limits`."""


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


def names(text: str | None) -> list[str]:
    """`A,B` as a list."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]
