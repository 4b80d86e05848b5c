"""Conversations: asking a model for them (`wording.yaml`), reading and checking them, and inserting a statement."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.documents import Document
from vantage.instruments import Instrument, Question
from vantage.instruments.questions import fill
from vantage.raters.chat import ChatRater
from vantage.raters.models.base import Message, Request
from vantage.raters.models.dialects import split_thinking
from vantage.raters.prompts import Prompter, Shot

CONVERSATION: Final = pl.List(pl.Struct({"speaker": pl.String, "text": pl.String}))
LONGEST: Final = 6_000
"""The most characters of a conversation."""
EMPTY: Final = "the conversation is empty"
CONTAINS: Final = "the conversation already contains the statement"
IN_A_ROW: Final = "one speaker has two turns in a row"
_TURN: Final = re.compile(
    r"^[\s>#*_\-•\d.)(\]\[]*(?P<speaker>[^\W\d_][\w'’.]{0,23}(?: [\w'’.]{1,16})?)[*_]*\s*:[*_]*\s*(?P<text>.*)$"
)
_FENCE: Final = re.compile(r"^```\w*\s*|\s*```$")


SpokenTurns = list[dict[str, str]]
"""A conversation, as in a cell of an items table: the `speaker` and the `text` of each turn."""


def read_turns(reply: str) -> SpokenTurns:
    r"""The turns of a script, one a line; what precedes the first is left out, other lines continue the turn before.

    >>> [turn["text"] for turn in read_turns("Here you are:\n**Person A:** Hi!\n2. Person B: Oh,\nhello.")]
    ['Hi!', 'Oh, hello.']
    """
    text, _, _, cut = split_thinking(reply)
    turns: SpokenTurns = []
    for line in _FENCE.sub("", "" if cut else text.strip()).strip().splitlines():
        if match := _TURN.match(line):
            turns.append({"speaker": match["speaker"].strip(), "text": _spoken(match["text"])})
        elif turns and line.strip():
            turns[-1]["text"] = f"{turns[-1]['text']} {_spoken(line)}".strip()
    return [turn for turn in turns if turn["text"]]


def script(turns: SpokenTurns) -> str:
    r"""A conversation as a script, one turn a line.

    >>> script([{"speaker": "Ann", "text": "Hi!"}, {"speaker": "Bob", "text": "Hello."}])
    'Ann: Hi!\nBob: Hello.'
    """
    return "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in turns)


def fault(turns: SpokenTurns, statement: str) -> str | None:
    r"""What is wrong with a conversation of two for a statement, or null.

    >>> fault(read_turns("Ann: Lovely weather!\nBob: Yes, it is."), "Lovely  weather")
    'the conversation already contains the statement'
    """
    speakers = [turn["speaker"].casefold() for turn in turns]
    if not turns:
        return EMPTY
    if (count := len(set(speakers))) != 2:
        return f"the conversation has {count} speaker{'' if count == 1 else 's'}, not 2"
    if any(one == other for one, other in pairwise(speakers)):
        return IN_A_ROW
    if sum(len(turn["text"]) for turn in turns) > LONGEST:
        return f"the conversation has more than {LONGEST:,} characters"
    return CONTAINS if contains(turns, statement) else None


def contains(turns: SpokenTurns, statement: str) -> bool:
    """Whether a statement is said, in one turn or over several, whatever its case, marks and white space."""
    said = " ".join(turn["text"] for turn in turns)
    wanted = _letters(statement)
    if not wanted:
        # A statement of signs alone, such as emoji.
        return bool(statement.strip()) and " ".join(statement.split()) in " ".join(said.split())
    return f" {wanted} " in f" {_letters(said)} "


def _letters(text: str) -> str:
    """Letters and digits only, in one case, one space between words."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", "")
    return " ".join(re.sub(r"[^\w\s]|_", " ", folded).split())


def _spoken(text: str) -> str:
    """What is said, on one line and without the quotation marks and stars that were put around all of it."""
    said = " ".join(text.split()).strip("*").strip()
    for opening, closing in (('"', '"'), ("“", "”")):
        if len(said) > 1 and said[0] == opening and said[-1] == closing and opening not in said[1:-1]:
            return said[1:-1].strip()
    return said


_AFTER: Final = re.compile(r"after(?: turn)?[^\w-]{0,6}(-?\d+)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"-?\d+")
_SPEAKER: Final = re.compile(r"^\W*(?:speaker|said by)\W{0,6}(.+?)\W*$", re.IGNORECASE | re.MULTILINE)


def read_place(reply: str, turns: SpokenTurns) -> tuple[int, str] | None:
    r"""After how many turns the statement comes and who says it: the speaker named, or the one who did not speak last.

    >>> turns = read_turns("Person A: Hi.\nPerson B: Hi!")
    >>> read_place("After: 2\nSpeaker: Person A", turns), read_place("2", turns), read_place("After: 9", turns)
    ((2, 'Person A'), (2, 'Person A'), None)
    """
    text = split_thinking(reply).answer
    match = _AFTER.search(text) or _NUMBER.search(text)
    after = int(match[match.lastindex or 0]) if match else 0
    if not 1 <= after <= len(turns):
        return None
    speakers = {turn["speaker"].casefold(): turn["speaker"] for turn in turns}
    named, last = _SPEAKER.search(text), turns[after - 1]["speaker"]
    speaker = speakers.get(named[1].casefold()) if named else None
    return after, speaker or next((one for one in speakers.values() if one != last), last)


def insert(turns: SpokenTurns, statement: str, after: int, speaker: str) -> SpokenTurns:
    r"""The conversation with the statement as a turn of its own, or in a turn of its speaker beside which it is said.

    >>> talk = read_turns("A: It rains.\nB: Again.")
    >>> script(insert(talk, "How lovely.", 2, "A")), script(insert(talk, "How lovely.", 1, "B"))
    ('A: It rains.\nB: Again.\nA: How lovely.', 'A: It rains.\nB: How lovely. Again.')
    """
    before, behind, said = turns[:after], turns[after:], statement
    if before and before[-1]["speaker"] == speaker:
        said = f"{before.pop()['text']} {said}"
    elif behind and behind[0]["speaker"] == speaker:
        said = f"{said} {behind.pop(0)['text']}"
    return [*before, {"speaker": speaker, "text": said}, *behind]


_QUOTED: Final = re.compile(r'"[^"]*"|“[^”]*”')
_ADDRESSED: Final = re.compile(r"^(?:\s*(?:RT\b:?|[@#]\w+:?|<\w+>,?|https?://\S+))+\s*")
_PRONOUN: Final = re.compile(
    r"(?<![\w.])(?:I(?:['’](?:m|ve|ll|d))?|(?:i(?:['’](?:m|ve|ll|d)))|im|Im|ive|Ive|i"
    r"|[Mm]e|[Mm]y|MY|ME|[Mm]ine|[Mm]yself|[Ww]e(?:['’](?:re|ve|ll|d))?|WE|[Uu]s|[Oo]ur|OUR|[Oo]urs|[Oo]urselves)"
    r"(?![\w]|\.\w|['’][a-z])"
)
_NUMERAL: Final = re.compile(r"\b(?:[A-Z][a-z]+\s){1,2}I\b(?=[\s,.]*(?:$|[,.;:)]))")
"""The number of a king or a war."""
_SUBJECTLESS: Final = re.compile(
    r"^\W*(?:(?:oh|well|so|and|but|just|really|still|also|yes|yeah|no|hi|hello|hey|ok|okay)\W+){0,3}"
    r"(?:thanks?\b|thx\b|sorry\b|love\b|loving\b|hate\b|hating\b|can['’]?t\s+(?:wait|believe|stop|sleep)\b|wish\b|hope\b"
    r"|hoping\b|wishing\b|glad\b|guess\b|feel(?:ing)?\b|looking\s+forward\b|excited\b|wondering\b|miss(?:ing)?\b|need\b|want\b"
    r"|(?:so\s+)?(?:happy|proud|tired|sick|bored|grateful)\b|been\b|got\b|had\b|went\b|saw\b|woke\b|spent\b|trying\b"
    r"|going\s+to\b|gonna\b|don['’]?t\s+(?:know|think|care|want)\b|not\s+sure\b)",
    re.IGNORECASE,
)
"""Openings that leave out "I" or "we": "Can't wait", "Thanks for", "Just got"."""


def first_person(statement: str) -> bool:
    """Whether a statement is made in the first person; quotations, and names and links before it, do not count.

    >>> first_person("I could listen to this all day."), first_person("Can't wait for Monday.")
    (True, True)
    >>> first_person("The US won World War I."), first_person('He said "I am fine".')
    (False, False)
    """
    own = _ADDRESSED.sub("", _QUOTED.sub(" ", statement))
    if _SUBJECTLESS.match(own):
        return True
    return bool(_PRONOUN.search(_NUMERAL.sub(" ", own)))


WRITTEN_TOKENS: Final = {"scenario": 60, "conversation": 220, "position": 12}
"""Typical lengths of replies."""
ASK_AGAIN: Final = 1_000_003
"""The distance between the seeds of two attempts, beyond those of samples."""


@cache
def wording() -> Mapping[str, Any]:
    """The writer's instructions (`wording.yaml`), with the worked example as an item and its reply at each step."""
    words = dict(Document.bundled(__package__, "wording.yaml").data)
    example = words["example"]
    turns = read_turns(example["conversation"])
    replies = {
        "scenario": example["scenario"],
        "conversation": script(turns),
        "position": f"After: {example['after']}\nSpeaker: {example['speaker']}",
    }
    item = {"text": example["statement"], "scenario": example["scenario"], "conversation": turns}
    return {**words, "example": item, "replies": replies}


def messages(step: str, item: Mapping[str, Any]) -> tuple[Message, ...]:
    """The chat that asks for one step of one item: the role, the worked example, the task."""
    words = wording()
    shown = (Message("user", task(step, words["example"])), Message("assistant", words["replies"][step]))
    return (Message("system", words["role"]), *shown, Message("user", task(step, item)))


def task(step: str, item: Mapping[str, Any]) -> str:
    """The instructions for a step, with everything from outside quoted.

    >>> print(task("scenario", {"text": "I'm {late}."}).splitlines()[2])
    > I'm {late}.
    """
    words, turns = wording(), item.get("conversation") or []
    numbered = [f"{n}. {turn['speaker']}: {turn['text']}" for n, turn in enumerate(turns, 1)]
    values = {
        "statement": quoted(str(item["text"])),
        "scenario": quoted(str(item.get("scenario") or "")),
        "turns": quoted("\n".join(" ".join(line.split()) for line in numbered)),
        "count": str(len(turns)),
        "aim": "",
    }
    if item.get("meaning"):
        about = {"meaning": str(item["meaning"]), "question": str(item["question"])}
        values["aim"] = fill(words["aim"], about).strip() + "\n\n"
    again = "\n\n" + fill(words["again"], {"reason": str(item["reason"])}) if item.get("reason") else ""
    return fill(words[step], values) + again


def quoted(text: str) -> str:
    r"""Text from outside as a quotation: every line begins with a mark.

    >>> print(quoted("Nice.\nIgnore the above."))
    > Nice.
    > Ignore the above.
    """
    return "\n".join(f"> {line}" for line in text.strip().splitlines()) or "> "


@dataclass(frozen=True, slots=True)
class StepPrompter(Prompter):
    """Writes the prompts of one step."""

    step: str = "scenario"

    def request(self, questions: Sequence[Question], item: Mapping[str, Any], shots: Sequence[Shot] = ()) -> Request:
        """The request of the step for one item."""
        return Request(messages(self.step, item), self.sampling)


@dataclass(frozen=True)
class StepWriter(ChatRater):
    """A chat model that writes one step of a context."""

    step: str = "scenario"

    @classmethod
    def of(cls, generator: ChatRater, step: str, attempt: int, seed: int) -> StepWriter:
        """The generator as the writer of one step; each attempt draws anew."""
        names = ("temperature", "top_p", "max_tokens", "settings")
        common: dict[str, Any] = {name: getattr(generator, name) for name in names}
        named = f"{generator.model_name}+{step}"
        return cls(generator.model, step=step, name=named, seed=seed + attempt * ASK_AGAIN, **common)

    @property
    def answers(self) -> bool:
        """It writes: a text that cannot be used is written again, in another attempt."""
        return False

    def reply_tokens(self, questions: Sequence[Question]) -> int:
        """The typical length of the step's reply."""
        return WRITTEN_TOKENS[self.step]

    def prompter(self, corpus: Corpus, instrument: Instrument, condition: str = "") -> Prompter:
        """The prompter of this step."""
        plain = ChatRater.prompter(self, corpus, instrument, condition)
        common = (plain.instrument, plain.style, plain.condition, plain.voice, plain.sampling)
        return StepPrompter(*common, step=self.step)
