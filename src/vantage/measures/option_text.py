"""The options of a measure as people write them: words of a command line or of a form, as values of a type."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Sequence
from inspect import Parameter
from typing import Any, Final, Literal, Union, get_args, get_origin

from vantage.errors import InputError, nearest
from vantage.measures.base import RENAMED, Measure, not_powered

FROM_PYTHON: Final = "(from Python only)"
"""What `values_of` says of an option that cannot be written as a word."""


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
    only = all(values_of(kind) == FROM_PYTHON for kind in kinds)
    raise InputError(f"{flag} can only be given from Python" if only else f"{flag} cannot be '{text}'")


def _is_list(hint: Any) -> bool:
    if get_origin(hint) is tuple:
        return Ellipsis in get_args(hint)
    return get_origin(hint) in (list, set, frozenset, Sequence, Iterable, Collection)


def values_of(hint: Any) -> str:
    """What an option takes, in a few words.

    >>> values_of(Literal["items", "none"] | None), values_of(int), values_of(bool)
    ('items|none', 'a whole number', 'on or off')
    """
    if get_origin(hint) in (Union, types.UnionType):
        kinds = dict.fromkeys(values_of(kind) for kind in get_args(hint) if kind is not type(None))
        if len(kinds) > 1:
            kinds.pop(FROM_PYTHON, None)
        return " or ".join(kinds)
    if get_origin(hint) is Literal:
        return "|".join(str(choice) for choice in get_args(hint))
    names = {bool: "on or off", int: "a whole number", float: "a number", str: "a word", object: "a word"}
    return "a list: a,b,c" if _is_list(hint) else names.get(hint, FROM_PYTHON)
