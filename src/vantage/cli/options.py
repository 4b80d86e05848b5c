"""Options that several verbs share: written once as the parameters of a function or a class that a verb receives."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Final, get_type_hints

import typer

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
    concurrency: Annotated[int | None, typer.Option(help="Maximum number of concurrent requests.")] = None,
    fail_on: Annotated[
        float | None, typer.Option(help="Stop when more requests than this have failed: a share below 1, or a count.")
    ] = None,
    max_cost: Annotated[float | None, typer.Option(help="Stop before the run costs more; needs --prices.")] = None,
    fallback: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL", help="Asked, as a rater of its own, what a model whose account fails has left open."
        ),
    ] = None,
    canary: Annotated[
        bool,
        typer.Option("--canary", help="Put fixed prompts to each model first, and compare with earlier sittings."),
    ] = False,
    clarify: Annotated[
        bool,
        typer.Option("--clarify/--no-clarify", help="Where a reply cannot be read, ask once for the answer alone."),
    ] = True,
) -> dict[str, Any]:
    from vantage.runs.prices import read_prices, shipped_prices

    known = {**shipped_prices(), **(read_prices(prices) if prices is not None else {})}
    limits = {"concurrency": concurrency, "fail_on": fail_on, "max_cost": max_cost}
    return {"prices": known, "clarify": clarify, "fallbacks": tuple(fallback or ()), "canary": canary, **limits}


with_limits = shared("limits", _limits)
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


def numbers(text: str, flag: str, form: str) -> dict[str, float] | None:
    """`NAME=NUMBER,…` as a mapping; null where nothing was given.

    >>> numbers("careful=0.9, careless=0.1", "--mix", "KIND=SHARE")
    {'careful': 0.9, 'careless': 0.1}
    """
    shares = {}
    for part in names(text):
        name, _, number = part.rpartition("=")
        try:
            shares[name.strip()] = float(number)
        except ValueError:
            name = ""
        if not name:
            raise InputError(f"{flag} takes {form}, not '{part}'", remedy=f"write {flag} {form},{form}")
    return shares or None


def names(text: str | None) -> list[str]:
    """`A,B` as a list."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]
