"""Settings of models as they come from a command line or from Python, checked before a model is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, formatannotation, signature
from typing import Any, Final

from vantage.errors import nearest
from vantage.raters.models.base import ModelError

_LEAST: Final = {"gpu_layers": -1, "max_retries": 0}
"""The least value of numbers that need not be positive."""
_WORDS: Final = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "text"}


def checked(kind: str, model: Callable[..., Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as a model takes them, told by the types of its keyword-only arguments.

    A model behind a network gets every setting that it does not know as a parameter of its requests, unless the name
    is nearly that of one that it knows.

    >>> def some_model(*, window: int = 10, exact: bool = True) -> None: ...
    >>> checked("some", some_model, {"window": 5, "exact": "false"})
    {'window': 5, 'exact': False}
    >>> checked("some", some_model, {"window": "wide"})
    Traceback (most recent call last):
        ...
    vantage.raters.models.base.ModelError: The setting 'window' takes a whole number, not 'wide'.
    >>> def remote_model(*, window: int = 10, parameters: dict | None = None) -> None: ...
    >>> checked("remote", remote_model, {"top_k": 20, "extra_body.chat_template_kwargs.enable_thinking": "false"})
    {'parameters': {'top_k': 20, 'chat_template_kwargs': {'enable_thinking': False}}}
    """
    known = {p.name: p for p in signature(model).parameters.values() if p.kind is Parameter.KEYWORD_ONLY}
    passed: dict[str, Any] = {}
    for name in settings:
        if name not in known:
            if "parameters" in known and ("." in name or "did you mean" not in nearest(name, list(known))):
                _put(passed, name.removeprefix("extra_body.").split("."), settings[name])
                continue
            article = "An" if kind[0] in "aeiou" else "A"
            clause = nearest(name, list(known))
            stop = "" if clause.endswith("?") else "."
            raise ModelError(f"{article} {kind} model has no setting '{name}'; {clause}{stop}")
    kinds = {name: p.annotation for name, p in known.items()}
    written = {name: kind if isinstance(kind, str) else formatannotation(kind) for name, kind in kinds.items()}
    fitting = {n: _fitting(n, v, written[n]) for n, v in settings.items() if n in known and n != "parameters"}
    if passed or settings.get("parameters"):
        fitting["parameters"] = {**(settings.get("parameters") or {}), **passed}
    return fitting


def _put(tree: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Puts a value at a path of a nested dictionary; words that are true, false or null in JSON become so."""
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
    words = {"true": True, "false": False, "null": None}
    tree[path[-1]] = words.get(value, value) if isinstance(value, str) else value


def _fitting(name: str, value: Any, annotation: str) -> Any:
    kinds = annotation.split(" | ")
    if "None" in kinds and value is None:
        return None
    if "bool" in kinds and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    if "str" in kinds:
        return str(value)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or "bool" in kinds or ("int" in kinds and value != int(value)):
        raise ModelError(f"The setting '{name}' takes {_WORDS[kinds[0]]}, not '{value}'.")
    if value < _LEAST.get(name, 1) and not (kinds[0] == "float" and value > 0):
        raise ModelError(f"The setting '{name}' is at least {_LEAST.get(name, 1)}, not {value}.")
    return int(value) if "int" in kinds else value
