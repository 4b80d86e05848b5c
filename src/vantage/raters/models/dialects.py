"""How models write their thinking into a reply: `dialects.yaml`, by which it is taken out before anything is read.

A dialect has a mark that opens thinking and one that closes it; where a template writes the opening into the prompt,
only the closing one is in the reply. Thinking that is opened and never closed hides the answer, if there is one; so
does a mark that looks like thinking and stands in no line of the table.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final, NamedTuple

from vantage.documents import Document


class ThinkingMarks(NamedTuple):
    """A dialect: its name, and patterns of what opens thinking and of what closes it."""

    name: str
    opens: str
    closes: str


def _tag(name: str) -> ThinkingMarks:
    return ThinkingMarks(name, rf"<{name}>", rf"</{name}>")


_KNOWN: Final = Document.bundled("vantage.raters.models", "dialects.yaml").data
DIALECTS: Final = (*map(_tag, _KNOWN["tags"]), *(ThinkingMarks(**one) for one in _KNOWN["dialects"]))
_LEFTOVERS: Final = re.compile(
    r"<\|(?:END_RESPONSE|END_TEXT|end|return|begin_of_solution|end_of_solution)\|>|\[END FINAL RESPONSE\]"
)
"""Marks that go around the answer itself in some of the dialects."""
_SUSPECT: Final = re.compile(
    r"[<◁][|｜/]{0,2}[\w:.-]{0,20}(?:think|thought|reason|reflect|channel|monologue|scratch)[\w:.-]{0,20}[|｜/]{0,2}[>▷]"
    r"|【/?(?:思考|推理)[^】]{0,8}】|(?-i:\[/?[A-Z_]{0,20}(?:THINK|THOUGHT|REASON|REFLECT)[A-Z_]{0,20}\])",
    re.IGNORECASE,
)
"""What looks like a mark of thinking."""
_DISGUISED: Final = re.compile(r"(?:&lt;|\\u003c|＜)([/／]?[\w:|｜-]{2,40})(?:&gt;|\\u003e|＞)", re.IGNORECASE)
"""A mark whose brackets are escaped, as by a web page, or full-width."""
_MARK: Final = re.compile(r"[<\[◁«{|]{1,2}[^\s<>\[\]]{1,40}[>\]▷»}|]{1,2}")
NO_MARK: Final = "(?!)"


class _Table:
    """The dialects that are known, and patterns of their marks."""

    def __init__(self) -> None:
        self.dialects: tuple[ThinkingMarks, ...] = ()
        self.extend(*DIALECTS)

    def extend(self, *dialects: ThinkingMarks) -> None:
        self.dialects = tuple(dict.fromkeys((*self.dialects, *dialects)))
        learned = self.dialects[len(DIALECTS) :]
        # What no mark begins with is passed over at once: a reply may be long, and the table is.
        firsts = "".join(mark[:2] for one in learned for mark in one[1:] if mark != NO_MARK)
        self.opens, self.closes = (
            re.compile(
                rf"(?=[<\[◁【ha{firsts}])(?:"
                + "|".join(f"(?P<d{n}>{getattr(one, side)})" for n, one in enumerate(self.dialects))
                + ")",
                re.IGNORECASE,
            )
            for side in ("opens", "closes")
        )
        self.any = re.compile(
            "|".join([r"[<\[◁【]|Here(?: is|'s|\sare)\smy|\Aanalysis|assistantfinal", *(one.closes for one in learned)])
        )

    def name(self, mark: re.Match[str]) -> str:
        return self.dialects[int(str(mark.lastgroup)[1:])].name


_TABLE: Final = _Table()


def learn(opens: str, closes: str) -> None:
    """Adds a dialect to the table for as long as this process lives: one that a probe has met, by its two marks."""
    _TABLE.extend(ThinkingMarks("learned", re.escape(opens) or NO_MARK, re.escape(closes)))


def enclosed(text: str, answer: str) -> tuple[str, str] | None:
    """The marks around the thinking of a reply whose answer is known; the first is empty where there is only one.

    >>> enclosed("<ponder>They want a word.</ponder> ready", "ready"), enclosed("I am ready", "ready")
    (('<ponder>', '</ponder>'), None)
    """
    text = text.strip()
    marks = list(_MARK.finditer(text))
    if not marks or text[marks[-1].end() :].strip().strip(" .!\"'*").casefold() != answer:
        return None
    opens = marks[0].group() if len(marks) > 1 and marks[0].start() == 0 else ""
    return opens, marks[-1].group()


class Parted(NamedTuple):
    """A reply without its thinking."""

    answer: str
    thinking: str
    dialect: str = ""
    """The name of the dialect, where there was thinking in the text."""
    open: bool = False
    """Whether thinking was opened and not closed, or there is a mark that no dialect knows: no answer can be read."""


def split_thinking(text: str) -> Parted:
    r"""The answer and the thinking of a reply.

    >>> split_thinking("[THINK]I would give it a 3.[/THINK]2")
    Parted(answer='2', thinking='I would give it a 3.', dialect='mistral', open=False)
    >>> split_thinking("Hm. So 4.</think>4").answer, split_thinking("<think>Let me see").open
    ('4', True)
    """
    text = _DISGUISED.sub(lambda mark: f"<{mark[1].replace('／', '/')}>", text)
    if _TABLE.any.search(text) is None:
        return Parted(text, "")
    whole = text.lstrip()
    thought: list[str] = []
    kept: list[str] = []
    at, dialect, unclosed = 0, "", False
    # Each mark is looked for from where the last one ended, never again from the beginning: a reply may be thousands.
    while not unclosed:
        opened = _TABLE.opens.search(whole, at)
        # A template may write the opening mark into the prompt, so that the reply has only the closing one; all that
        # stands before the last of those is thinking.
        for bare in deque(_TABLE.closes.finditer(whole, at, opened.start() if opened else len(whole)), 1):
            thought.append("".join(kept) + _TABLE.closes.sub("\n", whole[at : bare.start()]))
            kept, dialect, at = [], _TABLE.name(bare), bare.end()
        if opened is None:
            break
        # Only its own mark closes what a dialect has opened; another's inside it is part of the thinking.
        own = (one for one in _TABLE.closes.finditer(whole, opened.end()) if one.lastgroup == opened.lastgroup)
        closed, dialect = next(own, None), _TABLE.name(opened)
        unclosed = closed is None
        kept.append(whole[at : opened.start()])
        at = closed.end() if closed else len(whole)
        thought.append(whole[opened.end() : closed.start() if closed else at])
    rest = _LEFTOVERS.sub("", "".join([*kept, whole[at:]])).strip() if dialect else text
    unclosed = unclosed or _SUSPECT.search(rest) is not None
    return Parted(rest, "\n".join(filter(None, map(str.strip, thought))), dialect, unclosed)
