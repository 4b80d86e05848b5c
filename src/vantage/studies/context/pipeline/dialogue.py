"""Conversations as data: read from what a model wrote, written as a script, and checked without any model."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import polars as pl

from vantage.raters.replies.clean import without_thought

CONVERSATION: Final = pl.List(pl.Struct({"speaker": pl.String, "text": pl.String}))
"""The type of a column of conversations."""
LONGEST: Final = 6_000
"""Characters of a conversation beyond which it is no short conversation any more."""
FEWEST: Final = 2
EMPTY: Final = "the conversation is empty"
CONTAINS: Final = "the conversation already contains the statement"
IN_A_ROW: Final = "one speaker has two turns in a row"
_TURN: Final = re.compile(
    r"^[\s>#*_\-•\d.)(\]\[]*(?P<speaker>[^\W\d_][\w'’.]{0,23}(?: [\w'’.]{1,16})?)[*_]*\s*:[*_]*\s*(?P<text>.*)$"
)
_FENCE: Final = re.compile(r"^```\w*\s*|\s*```$")
_SPEAKER_KEYS: Final = ("speaker", "role", "name")
_TEXT_KEYS: Final = ("text", "content", "utterance")


class SpokenTurn(NamedTuple):
    """What one speaker says at a time."""

    speaker: str
    text: str


def read_turns(reply: str) -> list[SpokenTurn]:
    r"""The turns of a conversation as a model wrote it: a script, one turn a line, or a JSON list.

    Text before the first turn is left out, and lines without a speaker continue the turn before them.

    >>> read_turns("Here you are:\n**Person A:** Hi!\n2. Person B: Oh,\nhello.")
    [SpokenTurn(speaker='Person A', text='Hi!'), SpokenTurn(speaker='Person B', text='Oh, hello.')]
    """
    text, cut = without_thought(reply)
    text = _FENCE.sub("", "" if cut else text.strip()).strip()
    if text.startswith(("[", "{")) and (told := _json_turns(text)):
        return told
    turns: list[SpokenTurn] = []
    for line in text.splitlines():
        if found := _TURN.match(line):
            turns.append(SpokenTurn(found["speaker"].strip(), _spoken(found["text"])))
        elif turns and line.strip():
            last = turns[-1]
            turns[-1] = last._replace(text=f"{last.text} {_spoken(line)}".strip())
    return [turn for turn in turns if turn.text]


def as_turns(conversation: Iterable[Mapping[str, Any]] | str | None) -> list[SpokenTurn]:
    """The turns of a cell of an items table."""
    if conversation is None:
        return []
    if isinstance(conversation, str):
        return read_turns(conversation)
    return [SpokenTurn(str(turn["speaker"]), str(turn["text"])) for turn in conversation]


def cell(turns: Sequence[SpokenTurn]) -> list[dict[str, str]]:
    """Turns as a cell of an items table."""
    return [turn._asdict() for turn in turns]


def script(turns: Sequence[SpokenTurn]) -> str:
    r"""A conversation as people read it, one turn a line.

    >>> script([SpokenTurn("Ann", "Hi!"), SpokenTurn("Bob", "Hello.")])
    'Ann: Hi!\nBob: Hello.'
    """
    return "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)


def fault(turns: Sequence[SpokenTurn], statement: str, *, speakers: int | None = 2) -> str | None:
    """What is wrong with a conversation into which a statement is to be put, or null.

    >>> fault([SpokenTurn("Ann", "Lovely weather!"), SpokenTurn("Bob", "Yes, it is.")], "Lovely  weather")
    'the conversation already contains the statement'

    Args:
        turns: The conversation, without the statement.
        statement: What is to be put into it.
        speakers: How many people must speak; any number with null.
    """
    if not turns:
        return EMPTY
    if speakers is not None and (found := len({turn.speaker.casefold() for turn in turns})) != speakers:
        return f"the conversation has {found} speaker{'' if found == 1 else 's'}, not {speakers}"
    if speakers is not None and len(turns) < FEWEST:
        return f"the conversation has {len(turns)} turn, fewer than {FEWEST}"
    if speakers is not None and in_a_row(turns):
        return IN_A_ROW
    if sum(len(turn.text) for turn in turns) > LONGEST:
        return f"the conversation has more than {LONGEST:,} characters"
    if contains(turns, statement):
        return CONTAINS
    return None


def in_a_row(turns: Sequence[SpokenTurn]) -> bool:
    """Whether one speaker has two turns in a row."""
    speakers = [turn.speaker.casefold() for turn in turns]
    return any(one == other for one, other in pairwise(speakers))


def contains(turns: Sequence[SpokenTurn], statement: str) -> bool:
    """Whether a statement is said, in one turn or over several, whatever its case, marks and white space."""
    said = " ".join(turn.text for turn in turns)
    wanted = _letters(statement)
    if not wanted:
        # A statement of signs alone, such as emoji.
        return bool(statement.strip()) and " ".join(statement.split()) in " ".join(said.split())
    return f" {wanted} " in f" {_letters(said)} "


def _letters(text: str) -> str:
    """Letters and digits only, in one case, one space between words."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", "")
    return " ".join(re.sub(r"[^\w\s]|_", " ", folded).split())


def _json_turns(text: str) -> list[SpokenTurn]:
    try:
        told = json.loads(text)
    except ValueError:
        return []
    if isinstance(told, Mapping):
        told = next((value for value in told.values() if isinstance(value, list)), [])
    turns: list[SpokenTurn] = []
    for entry in told if isinstance(told, list) else []:
        if not isinstance(entry, Mapping):
            return []
        speaker = next((entry[key] for key in _SPEAKER_KEYS if key in entry), None)
        said = next((entry[key] for key in _TEXT_KEYS if key in entry), None)
        if speaker is None or said is None:
            return []
        turns.append(SpokenTurn(str(speaker).strip(), _spoken(str(said))))
    return [turn for turn in turns if turn.text and turn.speaker]


def _spoken(text: str) -> str:
    """What is said, on one line and without the quotation marks and stars that were put around all of it."""
    said = " ".join(text.split()).strip("*").strip()
    for opening, closing in (('"', '"'), ("“", "”")):
        if len(said) > 1 and said[0] == opening and said[-1] == closing and opening not in said[1:-1]:
            return said[1:-1].strip()
    return said
