"""The command that imports a table, and its words as a Python user writes them."""

from __future__ import annotations

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
    >>> in_python("pass --strip if they are the same, or --keep-spaces.")
    'pass strip=True if they are the same, or strip=False.'
    """
    sentence = sentence.replace("--keep-spaces", "strip=False").replace("--strip", "strip=True")

    def written(match: re.Match[str]) -> str:
        name, text = match[1], match[2].strip("'")
        if not text:
            return name
        words = [f'"{word}"' for word in text.split(",")]
        if "=" in text:
            return f"{name}={{{', '.join(words)}}}".replace("=", '": "').replace(f'{name}": "', f"{name}=", 1)
        if name in LISTS:
            return f"{name}=[{', '.join(words)}]"
        return f'{name}="{text}"'

    value = r"(?:[= ]((?:'[^']*'|[^\s;]+?))(?=[,;.]?(?:\s|$)))?"
    return re.sub(rf"'?--([a-z]+){value}", lambda m: written(m) if m[2] else m[1], sentence)
