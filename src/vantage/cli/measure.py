"""`vantage measure`: any measure on a corpus folder; its options are those of the Python function."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Sequence
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

from vantage.cli.corpora import Where, conditions, filtered
from vantage.cli.output import Csv, Json, Latex, print_frame, print_rows
from vantage.errors import InputError, nearest

if TYPE_CHECKING:
    from vantage.measures.base import Measure

_FROM_PYTHON = "(from Python only)"
CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def measure(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The measure.")] = None,
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="A corpus folder.")] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN,…", help="Columns of items, raters or judgments to group by."),
    ] = None,
    where: Where = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the measures.")] = False,
    help_: Annotated[bool, typer.Option("--help", "-h", help="Show this, or the options of a measure.")] = False,
    as_json: Json = False,
    as_csv: Csv = False,
    as_latex: Latex = False,
) -> None:
    """Measure agreement, reliability, variation or accuracy on a corpus.

    `vantage measure --list` names the measures, `vantage measure NAME --help` their options. For example:

    vantage measure alpha FOLDER --by question --where kind=person
    """
    if help_ and name is None:
        typer.echo(context.get_help())
        return
    if list_all or name is None:
        _list(as_json=as_json)
        return
    from vantage.measures import find

    chosen = find(name)
    if help_ or folder is None:
        _explain(chosen)
        if folder is None and not help_:
            raise InputError("no corpus given", remedy=f"run: vantage measure {name} FOLDER")
        return
    from vantage.corpora import Corpus

    options = parse_options(chosen, context.args)
    corpus = filtered(Corpus.read(folder), where)
    if "kind" in conditions(where):
        options.setdefault("kinds", "all")
    if "by" in chosen.options:
        options["by"] = [column.strip() for column in (by or "").split(",") if column.strip()]
    elif by:
        raise InputError(f"measure '{name}' does not group", remedy="leave --by out")
    from vantage.measures.base import chosen_for

    whose = {"kinds": options.get("kinds"), "include_excluded": options.get("include_excluded", False)}
    model = options.get("powered_by")
    if model is None and (line := chosen_for(options, corpus, pools=chosen.pools, **whose).sentence):
        typer.echo(line, err=True)
    result = chosen.function(corpus, **options)
    print_frame(result, as_json=as_json, as_csv=as_csv, as_latex=as_latex, hidden=("measure", "options"))
    if model is not None:
        from vantage.measures.powered.sentences import sentences

        for line in sentences(result, model, options.get("by", ())):
            typer.echo(line, err=True)


def parse_options(chosen: Measure, words: list[str]) -> dict[str, Any]:
    """`--name value` pairs as keyword arguments of a measure, converted as its signature says."""
    known = {option.replace("_", "-"): option for option in chosen.options if option not in ("by", "confidence_")}
    parsed: dict[str, Any] = {}
    words = list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise InputError(
                f"'{word}' was not expected",
                remedy=f"options are written --name value; see vantage measure {chosen.name} --help",
            )
        flag, equals, value = word[2:].partition("=")
        if flag not in known and flag == "powered-by":
            from vantage.measures.base import not_powered

            raise not_powered(chosen.name)
        if flag not in known:
            raise InputError(f"measure '{chosen.name}' has no option --{flag}", remedy=_instead(flag, known))
        hint = chosen.types[known[flag]]
        truth = hint is bool or bool in get_args(hint)
        if truth and not equals and (not words or words[0].startswith("--")):
            parsed[known[flag]] = True
            continue
        if not equals:
            if not words:
                raise InputError(f"--{flag} needs a value", remedy=f"write --{flag} VALUE")
            value = words.pop(0)
        parsed[known[flag]] = convert(value, hint, f"--{flag}")
    for flag, option in known.items():
        if chosen.options[option].default is Parameter.empty and option not in parsed:
            help_ = f"see vantage measure {chosen.name} --help"
            raise InputError(f"measure '{chosen.name}' needs --{flag}", remedy=help_)
    return parsed


def _instead(flag: str, known: Collection[str]) -> str:
    """The option that was probably meant."""
    from vantage.measures.base import RENAMED

    now = RENAMED.get(flag.replace("-", "_"), "").replace("_", "-")
    return f"it is now --{now}" if now in known else nearest(flag, list(known))


def convert(text: str, hint: Any, flag: str) -> Any:
    """A word of the command line as a value of a type.

    >>> convert("0.9", float, "--confidence"), convert("none", Literal["items", "none"], "--ci")
    (0.9, 'none')
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        for choice in arguments:
            if str(choice) == text:
                return choice
        raise InputError(f"{flag} is one of {', '.join(map(str, arguments))}, not '{text}'")
    if origin in (Union, types.UnionType):
        return _one_of([kind for kind in arguments if kind is not type(None)], text, flag)
    if _is_list(hint):
        inner = arguments[0] if arguments else str
        return [convert(part.strip(), inner, flag) for part in text.split(",") if part.strip()]
    if hint is bool:
        if text.lower() in ("true", "yes", "on", "false", "no", "off"):
            return text.lower() in ("true", "yes", "on")
        raise InputError(f"{flag} is on or off, not '{text}'")
    if hint in (int, float):
        try:
            return hint(text)
        except ValueError:
            what = "a whole number" if hint is int else "a number"
            raise InputError(f"{flag} takes {what}, not '{text}'") from None
    if hint in (str, Any, object):
        return text
    raise InputError(f"{flag} can only be given from Python")


def _one_of(kinds: list[Any], text: str, flag: str) -> Any:
    """A word is a word unless it is more than that: a number, a choice, or a list with commas."""
    if len(kinds) == 1:
        return convert(text, kinds[0], flag)
    for kind in sorted(kinds, key=lambda kind: (kind is str and "," in text, _is_list(kind), kind is str)):
        try:
            return convert(text, kind, flag)
        except InputError:
            continue
    only = all(values_of(kind) == _FROM_PYTHON for kind in kinds)
    raise InputError(f"{flag} can only be given from Python" if only else f"{flag} cannot be '{text}'")


def _is_list(hint: Any) -> bool:
    if get_origin(hint) is tuple:
        return Ellipsis in get_args(hint)
    return get_origin(hint) in (list, set, frozenset, Sequence, Iterable, Collection)


def _list(*, as_json: bool) -> None:
    from vantage.measures import registry

    known = registry().values()
    families = list(dict.fromkeys(m.family for m in known))
    rows = [
        {"measure": m.name, "family": m.family, "what": m.summary}
        for m in sorted(known, key=lambda m: families.index(m.family))
    ]
    print_rows(rows, as_json=as_json)
    if not as_json:
        typer.echo("\nUse one with: vantage measure NAME FOLDER --by question")


def _explain(chosen: Measure) -> None:
    import inspect
    from doctest import DocTestParser

    typer.echo(f"vantage measure {chosen.name} FOLDER [--by COLUMN,…] [--where COLUMN=VALUE] [--json|--csv|--latex]\n")
    parts = DocTestParser().parse(inspect.getdoc(chosen.function) or "")
    typer.echo("".join(part for part in parts if isinstance(part, str)).strip())
    typer.echo("\nOptions:")
    types = chosen.types
    for option, parameter in chosen.options.items():
        if option != "by":
            typer.echo(f"  --{option.replace('_', '-'):<16} {values_of(types[option])}{_default(parameter.default)}")


def values_of(hint: Any) -> str:
    """What an option takes, in a few words.

    >>> values_of(Literal["items", "none"] | None), values_of(int), values_of(bool)
    ('items|none', 'a whole number', 'on or off')
    """
    if get_origin(hint) in (Union, types.UnionType):
        kinds = dict.fromkeys(values_of(kind) for kind in get_args(hint) if kind is not type(None))
        if len(kinds) > 1:
            kinds.pop(_FROM_PYTHON, None)
        return " or ".join(kinds)
    if get_origin(hint) is Literal:
        return "|".join(str(choice) for choice in get_args(hint))
    names = {bool: "on or off", int: "a whole number", float: "a number", str: "a word", object: "a word"}
    return "a list: a,b,c" if _is_list(hint) else names.get(hint, _FROM_PYTHON)


def _default(default: Any) -> str:
    if default is Parameter.empty:
        return " (needed)"
    if default is None or default is False:
        return ""
    return f" ({', '.join(map(str, default)) if isinstance(default, tuple | list) else default})"
