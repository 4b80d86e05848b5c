"""The command that imports a table, and its words as a Python user writes them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

FLAGS: Final[Mapping[str, Mapping[Any, str]]] = {
    "strip": {True: "--strip", False: "--keep-spaces"},
    "anonymous": {True: "--anonymous"},
}
LISTS: Final = ("missing", "valid", "values", "traits", "order", "without", "counts", "shares", "pairs")
"""Options that take several words."""


def command(path: Path | None, options: Mapping[str, Any]) -> str:
    """The command that imports a table with these options."""
    words = ["vantage", "corpora", "import", "table", "--from", str(path) if path is not None else "FILE"]
    for name, value in options.items():
        if value in (None, (), [], {}):
            continue
        if name == "map":
            mapped = [f"{role}={column}" for role, column in value.items()]
            plain = all("," not in pair for pair in mapped)
            words += ["--map", ",".join(mapped)] if plain else [w for pair in mapped for w in ("--map", pair)]
        elif name == "traits" and isinstance(value, Mapping):
            words += ["--traits", ",".join(value)]
            words += [w for trait, how in value.items() if how for w in ("--trait", f"{trait}:{_scale_text(how)}")]
        elif isinstance(value, Mapping):
            words += [f"--{name}", ",".join(f"{key}={one}" for key, one in value.items())]
        elif name in FLAGS:
            words.append(FLAGS[name][value])
        elif isinstance(value, list | tuple):
            text = ",".join(map(str, value))
            words += [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]
        else:
            words += [f"--{name}", str(value)]
    stem = path.name.split(".")[0] if path is not None else "corpus"
    return shlex.join([*words, "--to", stem or "corpus"])


def _scale_text(how: Any) -> str:
    return how if isinstance(how, str) else f"ordered:{','.join(map(str, how))}"


def in_python(sentence: str) -> str:
    """A sentence with options of the command line as those of `vantage.read`.

    >>> in_python("pass --missing=-99,NA, or --valid=9; pass --map rater=COLUMN.")
    'pass missing=["-99", "NA"], or valid=["9"]; pass map={"rater": "COLUMN"}.'
    >>> in_python("pass --columns and --values")
    'pass columns and values'
    >>> in_python("pass --strip if they are the same, or --keep-spaces.")
    'pass strip=True if they are the same, or strip=False.'
    """
    ran = r"vantage corpora import table (.+?) --to \S+?(?= OR |[.;]?$| or )"
    sentence = re.sub(ran, lambda m: _call(shlex.split(m[1])), sentence)
    sentence = sentence.replace("--keep-spaces", "strip=False").replace("--strip", "strip=True")

    value = r"(?:[= ](?!(?:and|or|with)\s)((?:'[^']*'|[^\s;]+?))(?=[,;.]?(?:\s|$)))?"
    sentence = re.sub(r"'--([a-z]+)=([^']*)'", lambda m: _keyword(m[1], m[2]), sentence)
    return re.sub(rf"--([a-z]+){value}", lambda m: _keyword(m[1], m[2].strip("'")) if m[2] else m[1], sentence)


def _keyword(name: str, text: str) -> str:
    """An option as a keyword of `vantage.read`."""
    if name == "map" or (name == "kinds" and "=" in text):
        return f"{name}={json.dumps(dict(pair.split('=', 1) for pair in text.split(',')), ensure_ascii=False)}"
    return f"{name}={json.dumps(text.split(',') if name in LISTS else text, ensure_ascii=False)}"


def _call(words: list[str]) -> str:
    """The words of the command as a call.

    >>> _call(["--from", "t.csv", "--map", "item=id", "--columns", "rater", "--anonymous"])
    'vantage.read("t.csv", map={"item": "id"}, columns="rater", anonymous=True)'
    """
    options: dict[str, str] = {}
    for place, word in enumerate(words):
        if word.startswith("--"):
            name, _, given = word.removeprefix("--").partition("=")
            follows = words[place + 1] if place + 1 < len(words) and not words[place + 1].startswith("--") else ""
            options[name] = ",".join(filter(None, (options.get(name, ""), given or follows)))
    source = json.dumps(options.pop("from", ""), ensure_ascii=False)
    given_ = [_keyword(name, text) if text else f"{name}=True" for name, text in options.items()]
    return f"vantage.read({', '.join([source, *given_])})"
