"""A chat model with planted ambiguity: it knows which statements are ambiguous, and only some of its personas do too.

Statements read "Statement 12 (clear yes)." and so on. Personas who know a statement (told by a hash of both) answer
the label of a clear one and are divided over an ambiguous one; others are led astray by some clear statements and say
no to ambiguous ones. Without a persona the model is sure of itself whatever it reads.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
import polars as pl

from vantage import Corpus, Instrument
from vantage.raters.models.base import Completion, LogProbs, Request

_STATEMENT = re.compile(r"Statement (\d+) \((clear|ambiguous|foreign) (yes|no)\)")


def chance(*parts: object) -> float:
    """A number between 0 and 1 that depends on nothing but what is given."""
    return zlib.crc32("|".join(map(str, parts)).encode()) / 2**32


class Planted:
    """The model; `asked` counts its replies."""

    window: int | None = None

    def __init__(self, name: str = "planted") -> None:
        self.name, self.notes, self.asked = name, list[str](), 0

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        self.asked += len(requests)
        return [Completion(self._reply(one), prompt_tokens=100, completion_tokens=10) for one in requests]

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        self.asked += len(requests)
        rows = []
        for one in requests:
            if len(options) == 10:
                # Relevance from 1 to 10, shown as numbers or as letters.
                wanted = 9 if self._knows(one) else 2
                rows.append([0.91 if place == wanted else 0.01 for place in range(1, 11)])
            else:
                yes = self._yes(one)
                rows.append(
                    [{"no": 0.98 * (1 - yes), "yes": 0.98 * yes}.get(option, 0.02) + 1e-6 for option in options]
                )
        return np.asarray(np.log(np.array(rows) / np.sum(rows, axis=1, keepdims=True)), dtype=np.float64)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def close(self) -> None:
        return

    def _reply(self, request: Request) -> str:
        if "how relevant is it" in request.messages[-1].content:
            return f"Occasion: I remember it well.\nAnswer: {9 if self._knows(request) else 2}"
        seed = request.sampling.seed
        drawn = chance(request.messages[0].content, request.messages[-1].content, seed, "draw")
        answer = "yes" if drawn < self._yes(request) else "no"
        return f"It sounds so to me.\nAnswer: {answer}" if "reasons" in request.messages[-1].content else answer

    def _yes(self, request: Request) -> float:
        number, kind, label = _read(request)
        voice = _voice(request)
        if not voice:
            return abs((label == "yes") - 0.1 - 0.1 * chance(number, "sure"))
        if kind == "ambiguous":
            return float(chance(voice, number, "side") < 0.5) if self._knows(request) else 0.0
        astray = chance(number, "hard") < 0.4 and not self._knows(request)
        return 0.5 if astray else float(label == "yes")

    def _knows(self, request: Request) -> bool:
        number, kind, _ = _read(request)
        return kind != "foreign" and chance(_voice(request), number) < 0.5


def _read(request: Request) -> tuple[int, str, str]:
    found = _STATEMENT.findall(request.messages[-1].content)
    assert found, request.messages[-1].content
    return int(found[-1][0]), found[-1][1], found[-1][2]


def _voice(request: Request) -> str:
    system = request.messages[0].content
    return system.partition("# Who you are")[2][:80]


def planted_corpus(kinds: Sequence[str], *, people: int = 5, task: str = "sarcasm") -> Corpus:
    """Statements of these kinds; people are divided over ambiguous ones and agree about the others."""
    items, judged = [], []
    for number, kind in enumerate(kinds):
        label = "yes" if number % 2 else "no"
        items.append({"item": f"s{number:03}", "text": f"I made Statement {number} ({kind} {label}).", "label": label})
        for person in range(people):
            value = person % 2 if kind == "ambiguous" else number % 2
            judged.append({"item": f"s{number:03}", "rater": f"p{person}", "value": float(value)})
    return Corpus(
        pl.DataFrame(items),
        pl.DataFrame({"rater": [f"p{person}" for person in range(people)], "kind": ["person"] * people}),
        pl.DataFrame(judged).with_columns(pl.lit(task).alias("question"), pl.lit("static").alias("condition")),
        Instrument.load(task),
    )
