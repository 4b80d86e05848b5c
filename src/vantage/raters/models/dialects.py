"""How models write their thinking into a reply: one table, by which it is taken out before anything is read.

A dialect has a mark that opens thinking and one that closes it; where a template writes the opening into the prompt,
only the closing one is in the reply. Thinking that is opened and never closed hides the answer, if there is one; so
does a mark that looks like thinking and stands in no line of the table.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final, NamedTuple


class ThinkingMarks(NamedTuple):
    """A dialect: its name, and patterns of what opens thinking and of what closes it."""

    name: str
    opens: str
    closes: str


def _tag(name: str) -> ThinkingMarks:
    return ThinkingMarks(name, rf"<{name}>", rf"</{name}>")


_TAGS: Final = (
    # DeepSeek, Qwen, GLM, MiniMax, Nemotron, Phi and many others; Claude's prompts; Reka; EXAONE; Seed; LongCat.
    *("think", "thinking", "reasoning", "thought", "thoughts", "seed:think", "longcat_think", "reflection"),
    *("scratchpad", "analysis", "inner_monologue", "ant_thinking", "antml:thinking", "reason_and_think", "cot"),
)
DIALECTS: Final = (
    *map(_tag, _TAGS),
    ThinkingMarks("mistral", r"\[THINK\]", r"\[/THINK\]"),
    ThinkingMarks("kimi", "◁think▷", "◁/think▷"),
    ThinkingMarks("cohere", r"<\|START_THINKING\|>", r"<\|END_THINKING\|>(?:\s*<\|START_(?:RESPONSE|TEXT)\|>)?"),
    ThinkingMarks(
        "gpt-oss",
        r"(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)[^<]{0,80}<\|message\|>",
        r"(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>final[^<]{0,80}<\|message\|>",
    ),
    # Where a server drops the special tokens of gpt-oss, the names of the channels are all that is left.
    ThinkingMarks("gpt-oss-plain", r"\Aanalysis(?=[A-Z\s])", "assistantfinal"),
    ThinkingMarks("gemma", r"<\|channel>thought\b", r"<channel\|>"),
    ThinkingMarks("apertus", r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),
    ThinkingMarks("solar", r"<\|think\|>", r"<\|end\|>\s*<\|begin\|>assistant<\|content\|>"),
    ThinkingMarks("begin-of-thought", r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    ThinkingMarks("granite", r"\A\s*Here(?: is|'s) my thought process:", r"Here(?: is|'s) my response:"),
    ThinkingMarks("apriel", r"\A\s*Here are my reasoning steps:", r"\[BEGIN FINAL RESPONSE\]"),
)
_LEFTOVERS: Final = re.compile(
    r"<\|(?:END_RESPONSE|END_TEXT|end|return|begin_of_solution|end_of_solution)\|>|\[END FINAL RESPONSE\]"
)
"""Marks that go around the answer itself in some of the dialects."""
_SUSPECT: Final = re.compile(
    r"[<◁][|｜/]{0,2}[\w:.-]{0,20}(?:think|thought|reason|reflect|channel|monologue|scratch)[\w:.-]{0,20}[|｜/]{0,2}[>▷]"
    r"|(?-i:\[/?[A-Z_]{0,20}(?:THINK|THOUGHT|REASON|REFLECT)[A-Z_]{0,20}\])",
    re.IGNORECASE,
)
"""What looks like a mark of thinking."""
_MARK: Final = r"[<\[◁«{|]{1,2}[^\s<>\[\]]{1,40}[>\]▷»}|]{1,2}"
_ENCLOSED: Final = re.compile(
    rf"(?P<opens>{_MARK})?.*?(?P<closes>{_MARK})\s*(?P<answer>[^<>\[\]◁▷«»{{}}|]*)", re.DOTALL
)
"""A reply of which thinking stands before the answer, between marks or before one."""


class _Table:
    """The dialects that are known, and patterns of their marks."""

    def __init__(self) -> None:
        self.dialects: tuple[ThinkingMarks, ...] = ()
        self.extend(*DIALECTS)

    def extend(self, *dialects: ThinkingMarks) -> None:
        """Adds dialects."""
        self.dialects = tuple(dict.fromkeys((*self.dialects, *dialects)))
        self.opens, self.closes = (
            re.compile(
                "|".join(f"(?P<d{n}>{getattr(one, side)})" for n, one in enumerate(self.dialects)), re.IGNORECASE
            )
            for side in ("opens", "closes")
        )
        learned = [one.closes for one in self.dialects[len(DIALECTS) :]]
        self.any = re.compile("|".join([r"[<\[◁]|Here(?: is|'s|\sare)\smy|\Aanalysis|assistantfinal", *learned]))

    def name(self, mark: re.Match[str]) -> str:
        """The dialect of a mark."""
        return self.dialects[int(str(mark.lastgroup)[1:])].name


_TABLE: Final = _Table()


def learn(opens: str, closes: str) -> None:
    """Adds a dialect to the table for as long as this process lives: one that a probe has met, by its two marks."""
    _TABLE.extend(ThinkingMarks("learned", re.escape(opens) or "(?!)", re.escape(closes)))


def enclosed(text: str, answer: str) -> tuple[str, str] | None:
    """The marks around the thinking of a reply whose answer is known; the first is empty where there is only one.

    >>> enclosed("<ponder>They want a word.</ponder> ready", "ready"), enclosed("I am ready", "ready")
    (('<ponder>', '</ponder>'), None)
    """
    marks = _ENCLOSED.fullmatch(text.strip())
    if marks is None or marks["answer"].strip(" .!\"'*\n").casefold() != answer:
        return None
    return marks["opens"] or "", marks["closes"]


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
    if _TABLE.any.search(text) is None:
        return Parted(text, "")
    thought: list[str] = []
    kept, rest, dialect, unclosed = "", text, "", False
    while not unclosed:
        opened = _TABLE.opens.search(rest)
        # A template may write the opening mark into the prompt, so that the reply has only the closing one. All that
        # stands before the last of those is gone through once: a reply may be thousands of them.
        closing = deque(_TABLE.closes.finditer(rest, 0, opened.start() if opened else len(rest)), maxlen=1)
        if closing:
            thought.append(kept + _TABLE.closes.sub("\n", rest[: closing[0].start()]))
            kept, dialect, rest = "", _TABLE.name(closing[0]), rest[closing[0].end() :]
            continue
        if opened is None:
            break
        # Only its own mark closes what a dialect has opened; another's inside it is part of the thinking.
        own = (one for one in _TABLE.closes.finditer(rest, opened.end()) if one.lastgroup == opened.lastgroup)
        closed, dialect = next(own, None), _TABLE.name(opened)
        unclosed = closed is None
        thought.append(rest[opened.end() : closed.start() if closed else len(rest)])
        kept, rest = kept + rest[: opened.start()], rest[closed.end() :] if closed else ""
    rest = kept + rest
    rest = _LEFTOVERS.sub("", rest).strip() if dialect else text
    unclosed = unclosed or _SUSPECT.search(rest) is not None
    return Parted(rest, "\n".join(filter(None, map(str.strip, thought))), dialect, unclosed)
