"""Models: what answers a prompt, whatever runs it. `load_model("embedded")` or `load_model("openai:NAME")`.

`base` says what every model can be asked; each further module is one kind of model and is imported when a
model of that kind is loaded, so that torch, llama.cpp and HTTP clients cost nothing until they are used.
May import `errors` and the table reader of `corpora`. The next kind is a class with the methods of
`base.ChatModel` and a line below, or an entry point of another package (see `plugins`); one whose inner states can be
read also has that of `prefix_scorer.Stateful`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from inspect import Parameter, formatannotation, signature
from typing import Any, Final, cast

from vantage.errors import InputError, nearest
from vantage.plugins import Plugins
from vantage.raters.models.base import (
    ChatModel,
    Completion,
    Finish,
    LogProbs,
    Message,
    ModelError,
    Request,
    Role,
    Sampling,
)

__all__ = [
    "ChatModel",
    "Completion",
    "Finish",
    "LogProbs",
    "Message",
    "ModelError",
    "Request",
    "Role",
    "Sampling",
    "account_of",
    "is_remote",
    "load_model",
]

_KINDS: Final = {
    "anthropic": ("vantage.raters.models.anthropic", "AnthropicModel", "NAME"),
    "azure": ("vantage.raters.models.openai", "AzureModel", "DEPLOYMENT"),
    "bedrock": ("vantage.raters.models.bedrock", "BedrockModel", "NAME"),
    "cohere": ("vantage.raters.models.cohere", "CohereModel", "NAME"),
    "embedded": ("vantage.raters.models.embedded", "EmbeddedModel", ""),
    "gguf": ("vantage.raters.models.gguf", "GGUFModel", "PATH"),
    "gemini": ("vantage.raters.models.gemini", "GeminiModel", "NAME"),
    "hf": ("vantage.raters.models.huggingface", "HuggingFaceModel", "NAME_OR_PATH"),
    "mistral": ("vantage.raters.models.openai", "MistralModel", "NAME"),
    "openai": ("vantage.raters.models.openai", "OpenAIModel", "NAME"),
    "openrouter": ("vantage.raters.models.openai", "OpenRouterModel", "NAME"),
    "recorded": ("vantage.raters.models.recorded", "RecordedModel", "PATH"),
}
"""Kind of model: its module, its class, and what follows the colon."""
_HERE: Final = ("embedded", "gguf", "hf", "recorded")


def is_remote(spec: str) -> bool:
    """Whether a model of this name is behind a network.

    >>> is_remote("openai:gpt-5"), is_remote("gguf:model.gguf")
    (True, False)
    """
    return spec.partition(":")[0] not in _HERE


def account_of(spec: str, settings: Mapping[str, Any]) -> str:
    """What the account is known by on which a model behind a network is used: see `RemoteModel.account_of`.

    A model of another package has an account to itself.
    """
    known = getattr(kind_of(spec), "account_of", None)
    return str(known(settings.get("base_url"), settings.get("key_variable"))) if known else spec


def gives_several(spec: str) -> bool:
    """Whether the protocol of a model can ask for several replies to one prompt (the setting `several`).

    >>> gives_several("openai:gpt-5"), gives_several("anthropic:claude")
    (True, False)
    """
    return spec.partition(":")[0] in ("azure", "openai")


_FORBIDDEN: Final[ContextVar[str]] = ContextVar("forbidden", default="")


@contextmanager
def nothing_sent(problem: str) -> Iterator[None]:
    """Within it, loading or asking a model is an error with this problem."""
    token = _FORBIDDEN.set(problem)
    try:
        yield
    finally:
        _FORBIDDEN.reset(token)


def check_sending() -> None:
    """Raises an error where nothing may be sent."""
    if problem := _FORBIDDEN.get():
        raise InputError(problem, remedy="ask with context.rate, or context.asks before anything else")


def load_model(spec: str, **settings: Any) -> ChatModel:
    """The model that a name such as `openai:NAME` or `embedded` stands for.

    Args:
        spec: `openai:NAME`, `anthropic:NAME`, `gguf:PATH` and so on; see `docs/models.md`.
        settings: What the kind of model takes besides, such as `base_url` or `threads`; see its class.

    >>> load_model("opnai:gpt-5")
    Traceback (most recent call last):
        ...
    vantage.raters.models.base.ModelError: There is no kind of model 'opnai'; did you mean 'openai'?
    >>> load_model("embedded", thread=2)
    Traceback (most recent call last):
        ...
    vantage.raters.models.base.ModelError: An embedded model has no setting 'thread'; did you mean 'threads'?
    """
    check_sending()
    _, _, argument = spec.partition(":")
    fitting = check_model(spec, settings)
    return cast(ChatModel, kind_of(spec)(*filter(None, [argument]), **fitting))


def check_model(spec: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model as its class takes them; raises `ModelError` for an invalid name or setting."""
    kind, _, argument = spec.partition(":")
    model = kind_of(spec)
    behind = _KINDS[kind][2] if kind in _KINDS else _argument(model)
    if behind and not argument:
        raise ModelError(f"The model '{spec}' is not complete; write {kind}:{behind}.")
    if argument and not behind:
        raise ModelError(f"Nothing follows '{kind}'; write {kind} instead of {spec}.")
    return checked(kind, model, settings)


def kind_of(spec: str) -> Any:
    """The class of a model by its name; an unknown kind raises `ModelError`."""
    kind, colon, _ = spec.partition(":")
    if kind in _KINDS:
        module, name, _ = _KINDS[kind]
        return getattr(import_module(module), name)
    if kind in PLUGINS.names():
        return PLUGINS.find(kind)
    raise ModelError(_unknown(spec, kind, bool(colon)))


def _unknown(spec: str, kind: str, has_colon: bool) -> str:
    forms = [f"{name}:{behind}" if behind else name for name, (_, _, behind) in _KINDS.items()]
    forms += PLUGINS.names()
    if not has_colon and kind.lower().endswith(".gguf"):
        return f"The model '{spec}' names no kind; did you mean 'gguf:{spec}'?"
    if "did you mean" in (clause := nearest(kind, [*_KINDS, *PLUGINS.names()])):
        return f"There is no kind of model '{kind}'; {clause}"
    return f"There is no kind of model '{kind}'; write one of {', '.join(forms)}."


def _accepted(name: str, factory: Any) -> Callable[..., ChatModel]:
    if not callable(factory):
        raise TypeError("is neither a class nor a function that makes a model")
    return cast(Callable[..., ChatModel], factory)


def _argument(model: Callable[..., ChatModel]) -> str:
    """What follows the colon: the name of the positional argument with which a plugin's model is made, if any."""
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return next((p.name.upper() for p in signature(model).parameters.values() if p.kind in kinds), "")


PLUGINS: Final[Plugins[Callable[..., ChatModel]]] = Plugins("models", "kind of model", lambda: _KINDS, _accepted)
"""Models of other packages: classes, or functions that make a model, by the prefix of its name."""


_LEAST: Final = {"gpu_layers": -1, "max_retries": 0}
"""The lowest values of numbers that need not be positive."""
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
    known = _settings(model)
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
    given = {name: value for name, value in settings.items() if name in known and name != "parameters"}
    fitting = {name: _fitting(name, value, known[name].annotation) for name, value in given.items()}
    if passed or settings.get("parameters"):
        fitting["parameters"] = {**(settings.get("parameters") or {}), **passed}
    return fitting


def _settings(model: Callable[..., Any]) -> dict[str, Parameter]:
    """The keyword-only arguments of a model, with those of its base where it passes further ones on."""
    arguments = signature(model).parameters.values()
    known = {one.name: one for one in arguments if one.kind is Parameter.KEYWORD_ONLY}
    if isinstance(model, type) and any(one.kind is Parameter.VAR_KEYWORD for one in arguments):
        known = {**_settings(model.__bases__[0]), **known}
    return known


def _put(tree: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Puts a value at a path of a nested dictionary; words that are true, false or null in JSON become so."""
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
    words = {"true": True, "false": False, "null": None}
    tree[path[-1]] = words.get(value, value) if isinstance(value, str) else value


def _fitting(name: str, value: Any, annotation: Any) -> Any:
    kinds = (annotation if isinstance(annotation, str) else formatannotation(annotation)).split(" | ")
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
