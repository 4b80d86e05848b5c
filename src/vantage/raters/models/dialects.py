"""How models write their thinking into a reply: one table, by which it is taken out before anything is read.

A dialect has a mark that opens thinking and one that closes it; where a template writes the opening into the prompt,
only the closing one is in the reply. Thinking that is opened and never closed hides the answer, if there is one; so
does a mark that looks like thinking and stands in no line of the table.
"""

from __future__ import annotations

import re
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
_ANY: Final = re.compile(r"[<\[◁]|Here(?: is|'s|\sare)\smy|\Aanalysis|assistantfinal")
_OPENS, _CLOSES = (
    re.compile("|".join(f"(?P<d{number}>{getattr(one, side)})" for number, one in enumerate(DIALECTS)), re.IGNORECASE)
    for side in ("opens", "closes")
)


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
    if _ANY.search(text) is None:
        return Parted(text, "")
    thought: list[str] = []
    rest, dialect, unclosed = text, "", False
    while not unclosed:
        opened = _OPENS.search(rest)
        # A template may write the opening mark into the prompt, so that the reply has only the closing one.
        if bare := _CLOSES.search(rest, 0, opened.start() if opened else len(rest)):
            thought.append(rest[: bare.start()])
            dialect, rest = _name(bare), rest[bare.end() :]
            continue
        if opened is None:
            break
        # Only its own mark closes what a dialect has opened; another's inside it is part of the thinking.
        own = (one for one in _CLOSES.finditer(rest, opened.end()) if one.lastgroup == opened.lastgroup)
        closed, dialect = next(own, None), _name(opened)
        unclosed = closed is None
        thought.append(rest[opened.end() : closed.start() if closed else len(rest)])
        rest = rest[: opened.start()] + (rest[closed.end() :] if closed else "")
    rest = _LEFTOVERS.sub("", rest).strip() if dialect else text
    unclosed = unclosed or _SUSPECT.search(rest) is not None
    return Parted(rest, "\n".join(filter(None, map(str.strip, thought))), dialect, unclosed)


def _name(mark: re.Match[str]) -> str:
    return DIALECTS[int(str(mark.lastgroup)[1:])].name
