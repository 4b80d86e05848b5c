"""The reference of a file format as Markdown, written from the models that check the file.

>>> from vantage.instruments.document import BandPart
>>> print(section(BandPart, "Bands").splitlines()[0])
## Bands
"""

from __future__ import annotations

import types
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from vantage.instruments.document import DocumentPart

_WORDS: Final[dict[Any, str]] = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "any"}


def reference(document: type[BaseModel], title: str, introduction: str) -> str:
    """A page about a file format: its keys, then the keys of every part that they lead to, in the order of use.

    >>> from vantage.instruments.document import InstrumentDocument
    >>> page = reference(InstrumentDocument, "The instrument file", "One YAML file.")
    >>> print(page.splitlines()[0], "|", "## `scales`" in page, "|", "### `bands`" in page)
    # The instrument file | True | True
    """
    DocumentPart.describe()
    blocks = [f"# {title}", introduction.strip(), _table(document)]
    met: set[type[BaseModel]] = set()

    def follow(model: type[BaseModel], depth: int) -> None:
        for key, field in model.model_fields.items():
            for part in _parts(field.annotation):
                if part not in met:
                    met.add(part)
                    blocks.append(section(part, f"`{field.alias or key}`", depth))
                    follow(part, depth + 1)

    follow(document, 2)
    return "\n\n".join(blocks) + "\n"


def section(model: type[BaseModel], title: str, depth: int = 2) -> str:
    """The heading, the sentence and the keys of one part of a file."""
    sentence = " ".join((model.__doc__ or "").split())
    return f"{'#' * depth} {title}\n\n{sentence}\n\n{_table(model)}"


def _table(model: type[BaseModel]) -> str:
    rows = ["| key | value | default | meaning |", "| --- | --- | --- | --- |"]
    for key, field in model.model_fields.items():
        # A key without a sentence of its own leads to a part that has one.
        text = field.description or next((part.__doc__ or "" for part in _parts(field.annotation)), "")
        meaning = " ".join(text.split()).replace("|", "\\|")
        rows.append(f"| `{field.alias or key}` | {_value(field.annotation)} | {_default(field)} | {meaning} |")
    return "\n".join(rows)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    value = field.get_default(call_default_factory=True)
    if value is None or value in ("", [], {}, ()):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`" if not isinstance(value, BaseModel) else ""


def _value(kind: Any) -> str:
    """What may be written, in words."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return ", ".join(f"`{word}`" for word in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(_value(part) for part in inner if part is not type(None))
    if origin in (list, tuple):
        return f"list of {_value(inner[0])}"
    if origin is dict:
        return f"{_value(inner[0])} → {_value(inner[1])}"
    if hasattr(kind, "__value__"):  # a named type
        return _value(kind.__value__)
    if hasattr(kind, "__metadata__"):
        return _value(inner[0])
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "mapping"
    return _WORDS.get(kind, getattr(kind, "__name__", str(kind)))


def _parts(kind: Any) -> list[type[BaseModel]]:
    """The models that a value may be made of."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [part for inner in get_args(kind) for part in _parts(inner)]
