"""Options as people write them: words of a command line or of a form, as values of a type."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from inspect import Parameter
from typing import Any, Final, Literal, Union, get_args, get_origin

from vantage.errors import InputError, nearest
from vantage.measures.base import RENAMED, Measure, not_powered, not_weighted

FROM_PYTHON: Final = "(from Python only)"
"""What `values_of` says of an option that cannot be written as a word."""


def parse_words(
    words: Sequence[str], types: Mapping[str, Any], unknown: Callable[[str], InputError], verb: str
) -> dict[str, Any]:
    """`--name value` and `--name=value` by their names, converted to their types; a lone `--name` turns a switch on.

    >>> parse_words(["--min-items", "3", "--signed"], {"min-items": int, "signed": bool}, InputError, "vantage measure")
    {'min-items': 3, 'signed': True}
    """
    parsed: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            remedy = f"options are written --name value; see {verb} --help"
            raise InputError(f"'{word}' was not expected", remedy=remedy)
        flag, equals, value = word[2:].partition("=")
        flag = flag.replace("_", "-")
        if flag not in types:
            raise unknown(flag)
        hint = types[flag]
        if not equals and (hint is bool or bool in get_args(hint)) and (not rest or rest[0].startswith("--")):
            parsed[flag] = True
            continue
        if not equals and not rest:
            raise InputError(f"--{flag} needs a value", remedy=f"write --{flag} VALUE")
        parsed[flag] = convert(value if equals else rest.pop(0), hint, f"--{flag}")
    return parsed


def parse_options(chosen: Measure, words: Sequence[str]) -> dict[str, Any]:
    """`--name value` pairs as keyword arguments of a measure, converted as its signature says."""
    known = {option.replace("_", "-"): option for option in chosen.options if option not in ("by", "confidence_")}
    verb = f"vantage measure {chosen.name}"

    def unknown(flag: str) -> InputError:
        if flag == "powered-by":
            return not_powered(chosen.name)
        if flag == "weights" and RENAMED[flag] not in chosen.options:
            return not_weighted(chosen.name)
        return InputError(f"measure '{chosen.name}' has no option --{flag}", remedy=_instead(flag, known))

    types = {flag: chosen.types[option] for flag, option in known.items()}
    parsed = {known[flag]: value for flag, value in parse_words(words, types, unknown, verb).items()}
    for flag, option in known.items():
        if chosen.options[option].default is Parameter.empty and option not in parsed:
            raise InputError(f"measure '{chosen.name}' needs --{flag}", remedy=f"see {verb} --help")
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
            if str(choice).replace("_", "-") == text.replace("_", "-"):
                return choice
        raise InputError(f"{flag} is one of {', '.join(map(str, arguments))}, not '{text}'")
    if origin in (Union, types.UnionType):
        return _one_of([kind for kind in arguments if kind is not type(None)], text, flag)
    if _is_list(hint):
        inner = arguments[0] if arguments else str
        return [convert(part.strip(), inner, flag) for part in text.split(",") if part.strip()]
    if origin is Mapping and arguments[0] is str:
        return dict(_pair(part, arguments[1], flag) for part in text.split(",") if part.strip())
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


def _pair(text: str, kind: Any, flag: str) -> tuple[str, Any]:
    """`NAME=VALUE` as a pair; a name may have an equals sign in it, as models have."""
    name, equals, value = (part.strip() for part in text.rpartition("="))
    if not (equals and name and value):
        raise InputError(f"{flag} takes NAME=VALUE, not '{text}'", remedy=f"write {flag} NAME=VALUE,NAME=VALUE")
    return name, convert(value, kind, flag)


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
    if get_origin(hint) is Mapping and get_args(hint)[0] is str:
        return "NAME=VALUE,…"
    names = {bool: "on or off", int: "a whole number", float: "a number", str: "a word", object: "a word"}
    return "a list: a,b,c" if _is_list(hint) else names.get(hint, FROM_PYTHON)
