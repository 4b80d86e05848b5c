"""The description that a saved rater is read from: one JSON file with a format number."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vantage.errors import InputError


def described(folder: Path, name: str, what: str, newest: int, keys: Sequence[str], remedy: str) -> Mapping[str, Any]:
    """What stands in the description of a saved rater, which must have all of `keys`.

    Args:
        folder: Where the rater was saved.
        name: The file that describes it.
        what: What is looked for, in words: `trained rater`.
        newest: The newest format that can be read.
        keys: What a description must tell.
        remedy: How such a rater is made.
    """
    file = folder / name
    if not file.exists():
        raise InputError(f"there is no {what} here", file=folder, remedy=remedy)
    try:
        told: Mapping[str, Any] = json.loads(file.read_text("utf-8"))
        version = int(told["format"])
        missing = [key for key in keys if key not in told]
    except (KeyError, TypeError, ValueError):
        raise InputError(f"this does not describe a {what}", file=file, remedy="fit it again") from None
    if version > newest:
        saver = told.get("vantage")
        raise InputError(f"the rater was saved by a newer Vantage ({saver})", file=file, remedy="update Vantage")
    if missing:
        raise InputError(f"the description of the {what} lacks '{missing[0]}'", file=file, remedy="fit it again")
    return told
