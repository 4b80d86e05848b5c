"""One mark for a distribution: votes, samples or shares of one text or group as the same small picture everywhere.

In a frame it is a list of answers with their votes (or shares), in the order of the scale and with those that nobody
gave. Pages and notebooks draw it as bars, LaTeX as rules, terminals as blocks; files and readers of screens have words.

>>> mark = [{"answer": "1", "votes": 3.0}, {"answer": "2", "votes": 0.0}, {"answer": "3", "votes": 6.0}]
>>> words(mark), blocks(mark)
('1 ×3, 3 ×6', '▄ █')
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil
from typing import Any, Final, TypeAlias

Mark: TypeAlias = list[dict[str, Any]]
BLOCKS: Final = " ▁▂▃▄▅▆▇█"
STEP, HIGH = 13, 26
"""Pixels of a bar, and of the highest."""
TICK: Final = 2
"""Answers of so many characters are written below their bars; longer ones in words, or of many the two ends."""
MANY: Final = 7


def mark(answers: Sequence[str], votes: Sequence[float]) -> Mark:
    """The mark of some answers."""
    return [{"answer": answer, "votes": float(n)} for answer, n in zip(answers, votes, strict=True)]


def is_mark(value: object) -> bool:
    """Whether a value of a frame is a distribution."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and {"answer", "votes"} == {*value[0]}


def words(value: Mark) -> str:
    """The answers that were given, with how often."""
    whole = all(float(one["votes"]).is_integer() for one in value)
    given = [one for one in value if one["votes"]]
    often = [f"×{one['votes']:,.0f}" if whole else f"{100 * one['votes']:.0f} %" for one in given]
    return ", ".join(f"{one['answer']} {times}" for one, times in zip(given, often, strict=True))


def blocks(value: Mark) -> str:
    """The mark in a terminal."""
    return "".join(BLOCKS[ceil(8 * height - 1e-9)] for height in _heights(value))


def svg(value: Mark) -> str:
    """The mark in a page or a notebook, in the colour of its text."""
    ticks = _fits(value)
    wide, tall = STEP * len(value), HIGH + (13 if ticks else 2)
    parts = [
        f'<rect x="{at * STEP + 1}" y="{HIGH - HIGH * height:.1f}" width="{STEP - 2}" height="{HIGH * height:.1f}"/>'
        for at, height in enumerate(_heights(value))
        if height
    ]
    parts.append(f'<path d="M0 {HIGH + 0.5}h{wide}" stroke="currentColor" stroke-opacity=".4"/>')
    if ticks:
        place = f'y="{HIGH + 11}" font-size="11" text-anchor="middle"'
        parts += [
            f'<text x="{(at + 0.5) * STEP}" {place}>{escape(one["answer"])}</text>' for at, one in enumerate(value)
        ]
    size = f'width="{wide}" height="{tall}" viewBox="0 0 {wide} {tall}"'
    label = escape(words(value))
    drawing = f'<svg class="mark" role="img" aria-label="{label}" {size} fill="currentColor">{"".join(parts)}</svg>'
    ends = escape(f"{value[0]['answer']} … {value[-1]['answer']}")
    below = ends if len(value) > MANY else label.replace(" ×", "\u00a0×")
    return drawing if ticks else f"{drawing}<br><small>{below}</small>"


def latex(value: Mark) -> str:
    """The mark in a paper: rules of different heights, which need no package."""
    bars = (rf"\rule{{.55em}}{{{max(1.6 * height, 0.04):.2f}em}}" for height in _heights(value))
    return r"\,".join(bars)


def _heights(value: Mark) -> list[float]:
    most = max(one["votes"] for one in value) or 1.0
    return [one["votes"] / most for one in value]


def _fits(value: Mark) -> bool:
    return all(len(one["answer"]) <= TICK for one in value)
