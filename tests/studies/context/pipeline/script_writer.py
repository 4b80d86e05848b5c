"""A chat model that writes contexts by a script, with whatever faults a test wants."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from vantage.raters.models.base import Completion, LogProbs, ModelError, Request

CONVERSATION = (
    "Person A: The train is late again.\nPerson B: By how much?\nPerson A: Forty minutes.\n"
    "Person B: And the bus?\nPerson A: It left.\nPerson B: So we walk."
)
Replies = Callable[[str, str, int], str | None]
"""From step, statement and the number of the call of that step for that statement, to a reply; null for the usual."""


def step_of(request: Request) -> str:
    """Which step a request belongs to, told by its tag."""
    return request.tag[1] if request.tag else ""


def statement_of(request: Request) -> str:
    """The statement that a request is about: the quotation that stands alone."""
    asked = request.messages[-1].content
    quotes = re.findall(r"(?m)(?:^|\n\n)((?:> .*\n?)+)", asked)
    lines = [block.strip() for block in quotes]
    alone = [block for block in lines if not re.match(r"> (?:1\. |Two )", block)]
    return "\n".join(line.removeprefix("> ") for line in alone[-1].splitlines()) if alone else ""


class ScriptWriter:
    """Answers every step well unless `replies` says otherwise."""

    window: int | None = None

    def __init__(self, name: str = "writer", replies: Replies = lambda *_: None, grades: str = "5") -> None:
        self.name, self.replies, self.grades = name, replies, grades
        self.notes: list[str] = []
        self.asked: list[tuple[str, str]] = []
        self.requests: list[Request] = []
        self.stop_after: int | None = None

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        return [self._complete(request) for request in requests]

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        raise ModelError("no scores")

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def close(self) -> None:
        self.closed = True

    def _complete(self, request: Request) -> Completion:
        if self.stop_after is not None and len(self.asked) >= self.stop_after:
            raise KeyboardInterrupt
        step = step_of(request)
        statement = statement_of(request) if step not in ("sarcasm", "sentiment") else ""
        item = request.tag[0] if request.tag else ""
        number = sum(1 for known in self.asked if known == (step, item))
        self.asked.append((step, item))
        self.requests.append(request)
        reply = self.replies(step, statement or item, number)
        if reply is None:
            reply = self._usual(step, statement)
        if reply == "FAIL":
            return Completion("", "failed", error="The server is down.")
        return Completion(reply, prompt_tokens=10, completion_tokens=5)

    def _usual(self, step: str, statement: str) -> str:
        return {
            "scenario": "Two friends stand at a station and wait.",
            "conversation": CONVERSATION,
            "position": "After: 3\nSpeaker: Person B",
            "sarcasm": "yes",
        }.get(step, self.grades)
