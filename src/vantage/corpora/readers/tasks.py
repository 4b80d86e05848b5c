"""Items out of the data that an annotation tool shows: any JSON object per task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from vantage.corpora.prolific import snake_case

CONVERSATION: Final = pl.List(pl.Struct({"speaker": pl.String, "text": pl.String}))
SPEAKERS: Final = ("speaker", "author", "role", "name", "user")
UTTERANCES: Final = ("text", "content", "utterance", "message")


def items_of(tasks: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """The items table: one column per key, named in lower_snake_case.

    Lists of turns become conversations, other nested data JSON text; a column that mixes kinds becomes text.

    >>> items_of({"1": {"text": "Hi", "Turns": [{"author": "Ann", "text": "Hello"}]}}).to_dicts()
    [{'item': '1', 'text': 'Hi', 'turns': [{'speaker': 'Ann', 'text': 'Hello'}]}]
    """
    names: dict[str, str] = {}
    for data in tasks.values():
        for key in data:
            names.setdefault(key, _free(snake_case(key) or "column", {*names.values(), "item"}))
    columns = [pl.Series("item", list(tasks), dtype=pl.String)]
    columns += [_column(name, [data.get(key) for data in tasks.values()]) for key, name in names.items()]
    return pl.DataFrame(columns)


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where it is taken."""
    return next(n for n in (name, *(f"{name}_{i}" for i in range(2, len(taken) + 3))) if n not in taken)


def _column(name: str, values: list[Any]) -> pl.Series:
    known = [value for value in values if value is not None]
    if known and all(_turns(value) is not None for value in known):
        return pl.Series(name, [_turns(value) for value in values], dtype=CONVERSATION)
    kinds = {bool if isinstance(v, bool) else float if isinstance(v, int | float) else type(v) for v in known}
    if kinds == {bool} or (kinds == {float} and all(abs(v) < 2**53 for v in known)):
        return pl.Series(name, values, strict=False)
    return pl.Series(name, [_text(value) for value in values], dtype=pl.String)


def _turns(value: Any) -> list[dict[str, str]] | None:
    """The turns of a conversation, or null for anything else."""
    if not isinstance(value, list) or not value or not all(isinstance(turn, dict) for turn in value):
        return None
    turns = []
    for turn in value:
        speaker = next((key for key in SPEAKERS if key in turn), None)
        said = next((key for key in UTTERANCES if key in turn), None)
        if speaker is None or said is None:
            return None
        turns.append({"speaker": str(turn[speaker]), "text": str(turn[said])})
    return turns


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
