"""Conversations as data: read from what a model wrote, checked without any model, and with a statement put into them.

A model either names the place of the statement, and this program inserts it unchanged; or it writes the whole
conversation anew, and what it wrote is checked.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
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
    if text.startswith(("[", "{")) and (turns_read := _json_turns(text)):
        return turns_read
    turns: list[SpokenTurn] = []
    for line in text.splitlines():
        if match := _TURN.match(line):
            turns.append(SpokenTurn(match["speaker"].strip(), _spoken(match["text"])))
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
    if speakers is not None and (count := len({turn.speaker.casefold() for turn in turns})) != speakers:
        return f"the conversation has {count} speaker{'' if count == 1 else 's'}, not {speakers}"
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
        data = json.loads(text)
    except ValueError:
        return []
    if isinstance(data, Mapping):
        data = next((value for value in data.values() if isinstance(value, list)), [])
    turns: list[SpokenTurn] = []
    for entry in data if isinstance(data, list) else []:
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
    match = _AFTER.search(text) or _NUMBER.search(text)
    if match is None:
        return None
    after = int(match[1] if match.re is _AFTER else match[0])
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


NOT_FIRST_PERSON: Final = "the statement is not made in the first person"

_QUOTED: Final = re.compile(r'"[^"]*"|“[^”]*”')
_ADDRESSED: Final = re.compile(r"^(?:\s*(?:RT\b:?|[@#]\w+:?|<\w+>,?|https?://\S+))+\s*")
_PRONOUN: Final = re.compile(
    r"(?<![\w.])(?:I(?:['’](?:m|ve|ll|d))?|(?:i(?:['’](?:m|ve|ll|d)))|im|Im|ive|Ive|i"
    r"|[Mm]e|[Mm]y|MY|ME|[Mm]ine|[Mm]yself|[Ww]e(?:['’](?:re|ve|ll|d))?|WE|[Uu]s|[Oo]ur|OUR|[Oo]urs|[Oo]urselves)"
    r"(?![\w]|\.\w|['’][a-z])"
)
_NUMERAL: Final = re.compile(r"\b(?:[A-Z][a-z]+\s){1,2}I\b(?=[\s,.]*(?:$|[,.;:)]))")
"""A capital I that counts kings and wars."""
_SUBJECTLESS: Final = re.compile(
    r"^\W*(?:(?:oh|well|so|and|but|just|really|still|also|yes|yeah|no|hi|hello|hey|ok|okay)\W+){0,3}"
    r"(?:thanks?\b|thx\b|sorry\b|love\b|loving\b|hate\b|hating\b|can['’]?t\s+(?:wait|believe|stop|sleep)\b|wish\b|hope\b"
    r"|hoping\b|wishing\b|glad\b|guess\b|feel(?:ing)?\b|looking\s+forward\b|excited\b|wondering\b|miss(?:ing)?\b|need\b|want\b"
    r"|(?:so\s+)?(?:happy|proud|tired|sick|bored|grateful)\b|been\b|got\b|had\b|went\b|saw\b|woke\b|spent\b|trying\b"
    r"|going\s+to\b|gonna\b|don['’]?t\s+(?:know|think|care|want)\b|not\s+sure\b)",
    re.IGNORECASE,
)
"""Openings in which English leaves out "I" or "we": "Can't wait", "Thanks for", "Just got"."""


def first_person(statement: str) -> bool:
    """Whether a statement is made in the first person, told by its words.

    What it quotes does not count, nor do names and links before it.

    >>> first_person("I could listen to this all day."), first_person("Can't wait for Monday.")
    (True, True)
    >>> first_person("The US won World War I."), first_person('He said "I am fine".')
    (False, False)
    """
    own = _ADDRESSED.sub("", _QUOTED.sub(" ", statement))
    if _SUBJECTLESS.match(own):
        return True
    return bool(_PRONOUN.search(_NUMERAL.sub(" ", own)))
