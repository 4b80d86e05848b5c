"""Inserting a statement into a conversation, and checking that it occurs there once, word for word.

A model either names the place, and this program inserts the statement unchanged; or it writes the whole conversation
anew, and what it wrote is checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from vantage.raters.replies.clean import without_thought
from vantage.studies.context.pipeline.dialogue import EMPTY, IN_A_ROW, SpokenTurn, contains, in_a_row

LOST: Final = "the conversation has lost the statement"
CHANGED: Final = "the conversation changes the statement"
TWICE: Final = "the conversation has the statement more than once"
NO_PLACE: Final = "the reply names no turn of the conversation"
ALIKE: Final = 0.75
"""From this similarity on (Ratcliff and Metzener 1988) a passage counts as the statement, changed."""
_AFTER: Final = re.compile(r"after(?: turn)?[^\w-]{0,6}(-?\d+)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"-?\d+")
_SPEAKER: Final = re.compile(r"^\W*(?:speaker|said by)\W{0,6}(.+?)\W*$", re.IGNORECASE | re.MULTILINE)


class Position(NamedTuple):
    """Where a statement is said: behind so many turns, and by whom."""

    after: int
    speaker: str


def read_place(reply: str, turns: Sequence[SpokenTurn]) -> Position | None:
    r"""The place that a model named, or null where it named none that there is.

    Where no speaker is named, it is the one who did not speak last.

    >>> turns = [SpokenTurn("Person A", "Hi."), SpokenTurn("Person B", "Hi!")]
    >>> read_place("After: 2\nSpeaker: Person A", turns), read_place("2", turns), read_place("After: 9", turns)
    (Position(after=2, speaker='Person A'), Position(after=2, speaker='Person A'), None)
    """
    text, _ = without_thought(reply)
    found = _AFTER.search(text) or _NUMBER.search(text)
    if found is None:
        return None
    after = int(found[1] if found.re is _AFTER else found[0])
    if not 1 <= after <= len(turns):
        return None
    by_name = {turn.speaker.casefold(): turn.speaker for turn in turns}
    named = _SPEAKER.search(text)
    speaker = by_name.get(named[1].casefold()) if named else None
    return Position(after, speaker or _other(turns, turns[after - 1].speaker))


def insert(turns: Sequence[SpokenTurn], statement: str, place: Position) -> list[SpokenTurn]:
    """The conversation with the statement as a turn of its own, or in a turn of its speaker beside which it is said.

    >>> insert([SpokenTurn("A", "It rains."), SpokenTurn("B", "Again.")], "How lovely.", Position(2, "A"))[2]
    SpokenTurn(speaker='A', text='How lovely.')
    >>> insert([SpokenTurn("A", "It rains."), SpokenTurn("B", "Again.")], "How lovely.", Position(1, "B"))[1]
    SpokenTurn(speaker='B', text='How lovely. Again.')
    """
    before, after = list(turns[: place.after]), list(turns[place.after :])
    if before and before[-1].speaker == place.speaker:
        return [*before[:-1], SpokenTurn(place.speaker, f"{before[-1].text} {statement}"), *after]
    if after and after[0].speaker == place.speaker:
        return [*before, SpokenTurn(place.speaker, f"{statement} {after[0].text}"), *after[1:]]
    return [*before, SpokenTurn(place.speaker, statement), *after]


def insertion_fault(turns: Sequence[SpokenTurn], statement: str) -> str | None:
    """What is wrong with a conversation that should hold a statement once and unchanged, with turns that alternate.

    Unchanged means letter by letter; only white space may differ, since a turn is written on one line.

    >>> insertion_fault([SpokenTurn("A", "It rains."), SpokenTurn("B", "How very lovely.")], "How lovely.")
    'the conversation changes the statement'
    """
    if not turns or in_a_row(turns):
        return IN_A_ROW if turns else EMPTY
    wanted = _plain(statement)
    times = sum(len(_passage(wanted).findall(_plain(turn.text))) for turn in turns)
    if times > 1:
        return TWICE
    if times == 1:
        rest = [turn._replace(text=_passage(wanted).sub(" ", _plain(turn.text))) for turn in turns]
        return TWICE if contains(rest, statement) else None
    if contains(turns, statement) or any(_likeness(wanted, _plain(turn.text)) >= ALIKE for turn in turns):
        return CHANGED
    return LOST


def _passage(wanted: str) -> re.Pattern[str]:
    """Finds a text as such, and not as a part of longer words."""
    before = r"(?<!\w)" if wanted[:1].isalnum() else ""
    behind = r"(?!\w)" if wanted[-1:].isalnum() else ""
    return re.compile(before + re.escape(wanted) + behind)


def _likeness(wanted: str, said: str) -> float:
    """How much the most similar passage of a turn, as long as the statement, is like it."""
    one, other = wanted.casefold(), said.casefold()
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    best = matcher.find_longest_match()
    if best.size == 0:
        return 0.0
    start = max(0, best.b - best.a)
    passages = (other, other[start : start + len(one)])
    return max(SequenceMatcher(None, one, passage, autojunk=False).ratio() for passage in passages)


def _other(turns: Sequence[SpokenTurn], speaker: str) -> str:
    return next((turn.speaker for turn in turns if turn.speaker != speaker), speaker)


def _plain(text: str) -> str:
    return " ".join(text.split())
