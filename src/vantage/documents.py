"""YAML documents whose every value knows its line, so that problems can be reported with their place.

Scalars follow the YAML 1.2 core schema: `yes`, `no`, `on` and dates are plain text, as label names need
them to be. A duplicate key in a mapping is a problem, not a silent overwrite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from vantage.errors import InputError, Problems

Loc = tuple[str | int, ...]
"""The way from the top of a document to a value: mapping keys and list positions."""

M = TypeVar("M", bound=BaseModel)

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Writer: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_CORE: Final = {
    "tag:yaml.org,2002:null": re.compile(r"(?:~|null|Null|NULL|)$"),
    "tag:yaml.org,2002:bool": re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"),
    "tag:yaml.org,2002:int": re.compile(r"[-+]?[0-9]+$"),
    "tag:yaml.org,2002:float": re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"),
}
_MAX_NODES: Final = 200_000


class _Loader(_Base):  # type: ignore[misc]
    """PyYAML's safe loader with the scalars of YAML 1.2."""


_Loader.yaml_implicit_resolvers = {None: [(tag, pattern) for tag, pattern in _CORE.items()]}


class _Dumper(_Writer):  # type: ignore[misc]
    """PyYAML's safe dumper, which puts quotation marks around text that either YAML would take for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.yaml_implicit_resolvers = {
    first: [*resolvers, *_Loader.yaml_implicit_resolvers[None]]
    for first, resolvers in {
        **dict.fromkeys("+-.0123456789~ntfNTF"),
        **yaml.SafeDumper.yaml_implicit_resolvers,
    }.items()
    for resolvers in [resolvers or []]
}


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Text whose line ends are not plain ones stands between double quotes, where they are escaped."""
    unusual = any(c in text for c in "\x85\u2028\u2029\ufeff\r")
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if unusual else None)


_Dumper.add_representer(str, _text)


def dump(data: Any) -> str:
    """Plain data as YAML that reads back as the same data.

    >>> print(dump({"a": "1e5", "b": "no", "c": 3}), end="")
    a: '1e5'
    b: 'no'
    c: 3
    """
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


@dataclass(slots=True)
class Document:
    """The plain data of a file, and the line of every value in it."""

    file: str
    data: Any
    lines: dict[Loc, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    kept: dict[str | int, list[int]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | str) -> Document:
        """Reads a file; what is not YAML at all ends here with its line."""
        path = Path(path)
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            raise InputError("there is no such file", file=path, remedy="check the path") from None
        except OSError as error:
            raise InputError(f"the file cannot be read ({error.strerror})", file=path) from None
        except UnicodeDecodeError as error:
            row = error.object[: error.start].count(b"\n") + 1
            raise InputError("the file is not UTF-8", file=path, row=row, remedy="save it as UTF-8") from None
        return cls.parse(text, str(path))

    @classmethod
    def bundled(cls, package: str, *path: str) -> Document:
        """Reads a file that ships with a package.

        >>> Document.bundled("vantage.instruments", "bundled", "irony.yaml").data["id"]
        'irony'
        """
        return cls.parse(bundled_text(package, *path), path[-1])

    @classmethod
    def parse(cls, text: str, file: str = "document") -> Document:
        r"""Reads YAML text.

        >>> document = Document.parse("a: no\nb:\n  - 1\n")
        >>> document.data, document.line(("b", 0))
        ({'a': 'no', 'b': [1]}, 3)
        """
        try:
            root = yaml.compose(text, Loader=_Loader)
            document = cls(file, None)
            document.data = None if root is None else document._value(root, (), ())
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be parsed"
            row = mark.line + 1 if mark else None
            raise InputError(f"this is not valid YAML ({problem})", file=file, row=row) from None
        except (RecursionError, ValueError):
            raise InputError("this is not valid YAML (nested too deeply)", file=file) from None
        return document

    def line(self, loc: Sequence[str | int]) -> int | None:
        """The line of a value, or of the closest thing around it."""
        for end in range(len(loc), -1, -1):
            if (line := self.lines.get(tuple(loc[:end]))) is not None:
                return line
        return None

    def problem(self, loc: Sequence[str | int], message: str) -> None:
        """Notes a problem with its place, to be reported with all the others."""
        line = self.line(loc)
        place = f"line {line}, " if line else ""
        note = f"{place}{show(loc)}: {message}"
        if note not in self.problems:
            self.problems.append(note)

    def check(self) -> None:
        """Raises everything that was noted, in the order of the file."""
        if self.problems:

            def line(note: str) -> int:
                return int(match[1]) if (match := re.match(r"line (\d+)", note)) else 0

            raise Problems(self.file, sorted(self.problems, key=line))

    def validate(self, model: type[M], stand_ins: Mapping[str, Any] | None = None) -> M | None:
        """The data as a model; what does not fit is noted and left out, so that the rest can be checked too.

        Top-level keys that are missing or faulty are noted and then taken from `stand_ins`. Returns null when
        nothing usable is left.
        """
        if not isinstance(self.data, Mapping):
            kinds = {list: "list", str: "text", bool: "true or false", int: "number", float: "number"}
            what = "empty" if self.data is None else f"a {kinds[type(self.data)]}"
            self.problem((), f"the file is {what}, not a mapping of keys to values")
            return None
        data = {key: list(v) if isinstance(v, list) else v for key, v in self.data.items()}
        self.kept = {key: list(range(len(v))) for key, v in data.items() if isinstance(v, list)}
        before: set[Loc] = set()
        for _ in range(len(self.lines) + 1):
            try:
                return model.model_validate(data)
            except ValidationError as error:
                faults = error.errors(include_url=False)
            # A list that is empty only because its elements do not fit is no fault of its own.
            places = [fault["loc"] for fault in faults]
            faults = [
                fault
                for fault in faults
                if fault["type"] != "too_short"
                or not any(place[: len(fault["loc"])] == fault["loc"] != place for place in places)
            ]
            # What is missing only because it was left out has been noted; the mapping around it goes too.
            known = {fault["loc"] for fault in faults if fault["type"] == "missing" and fault["loc"] in before}
            before |= {fault["loc"][:2] for fault in faults}
            for key in {loc[0] for loc in known}:
                data.pop(key, None)
            for fault in (fault for fault in faults if fault["loc"] not in known):
                loc = self.original(tuple(part for part in fault["loc"] if not str(part).startswith("[")))
                self.problem(loc, _plain_message(fault["msg"], fault["type"]))
            left_out = self._leave_out(data, {fault["loc"][:2] for fault in faults})
            needed = {key: v for key, v in (stand_ins or {}).items() if key not in data}
            data |= needed
            if not left_out and not needed and not known:
                return None
        return None

    def original(self, loc: Loc) -> Loc:
        """A place in what `validate` returned as a place in the file: list elements may have been left out."""
        if len(loc) > 1 and isinstance(loc[1], int) and loc[0] in self.kept:
            return (loc[0], self.kept[loc[0]][loc[1]], *loc[2:])
        return loc

    def _leave_out(self, data: dict[str | int, Any], locs: set[Loc]) -> bool:
        """Removes the list elements, named entries or keys that do not fit; false when there is nothing to remove."""
        before = sum(len(v) if isinstance(v, list | dict) else 1 for v in data.values())
        for loc in sorted(
            locs, key=lambda loc: loc[1] if len(loc) > 1 and isinstance(loc[1], int) else -1, reverse=True
        ):
            key, part = loc[0], data.get(loc[0])
            if len(loc) > 1 and isinstance(part, list) and isinstance(loc[1], int):
                del part[loc[1]], self.kept[key][loc[1]]
            elif len(loc) > 1 and isinstance(part, dict):
                data[key] = {name: v for name, v in part.items() if str(name) != str(loc[1])}
            else:
                data.pop(key, None)
        return sum(len(v) if isinstance(v, list | dict) else 1 for v in data.values()) < before

    def _value(self, node: Any, loc: Loc, above: tuple[int, ...]) -> Any:
        self.lines.setdefault(loc, node.start_mark.line + 1)
        if id(node) in above or len(self.lines) > _MAX_NODES:
            raise ValueError
        above = (*above, id(node))
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node.tag, node.value)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(child, (*loc, i), above) for i, child in enumerate(node.value)]
        result: dict[str | int, Any] = {}
        for key_node, child in node.value:
            key = _scalar(key_node.tag, key_node.value) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str | int | float):
                self.problem(loc, "a key must be a word or a number")
                continue
            key = key if isinstance(key, str | int) else f"{key:g}"
            if key in result:
                self.problem((*loc, key), f"duplicate key '{key}'")
                continue
            result[key] = self._value(child, (*loc, key), above)
            self.lines[(*loc, key)] = key_node.start_mark.line + 1
        return result


def bundled_text(package: str, *path: str) -> str:
    """The text of a file that ships with a package."""
    return resources.files(package).joinpath(*path).read_text("utf-8")


def show(loc: Sequence[str | int]) -> str:
    """A place in words.

    >>> show(("questions", 0, "scale"))
    'questions[1].scale'
    """
    text = ""
    for part in loc:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".") or "the file"


def _scalar(tag: str, value: str) -> str | int | float | bool | None:
    kind = tag.rpartition(":")[2]
    if kind == "null":
        return None
    if kind == "bool":
        return value.lower() == "true"
    if kind == "int" and len(value) < 19:
        return int(value)
    if kind in ("int", "float"):
        return float(value)
    return value


def _plain_message(message: str, kind: str) -> str:
    if kind == "missing":
        return "this is missing"
    if kind == "extra_forbidden":
        return "there is no such key"
    if kind in ("dict_type", "model_type", "model_attributes_type"):
        return "must be a mapping of names to values, such as {name: value}"
    if kind in ("list_type", "tuple_type"):
        return "must be a list, such as [one, another]"
    if kind == "string_pattern_mismatch" and "a-z0-9][a-z0-9_-" in message:
        return "use lower-case letters, digits, hyphens and underscores only, at most 64 of them"
    message = message.removeprefix("Value error, ").removeprefix("Input ")
    return message[:1].lower() + message[1:]
