"""What the writer of contexts is told, step by step, with one worked example; from a file that can be translated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from vantage.documents import Document
from vantage.errors import InputError
from vantage.raters.models.base import Message
from vantage.studies.context.pipeline.dialogue import as_turns, cell, fault, read_turns, script
from vantage.studies.context.pipeline.insertion import Position, insert

STEPS: Final = ("first-person", "scenario", "conversation", "position", "written")
_WORDS: Final = (*STEPS, "role", "aim", "again")
_EXAMPLE: Final = ("statement", "scenario", "conversation", "speaker")
_NEEDED: Final = {
    "first-person": ("statement",),
    "scenario": ("statement", "aim"),
    "conversation": ("statement", "scenario", "aim"),
    "position": ("statement", "turns", "count", "aim"),
    "written": ("statement", "turns", "count", "aim"),
    "aim": ("meaning",),
    "again": ("reason",),
}
"""The places that each piece of wording must have."""
_PLACE: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Wording:
    """The wording of all steps, and the item and replies of the worked example, where there is one.

    >>> words = Wording.read()
    >>> print(words.task("first-person", {"text": "I'm {late}."}).splitlines()[2])
    > I'm {late}.
    """

    words: Mapping[str, str]
    example: Mapping[str, Any] | None = None
    replies: Mapping[str, str] | None = None
    """What the example answers, by step."""

    @classmethod
    def read(cls, source: str | Path = "") -> Wording:
        """The bundled wording, or that of a file of the same shape."""
        document = Document.read(source) if source else Document.bundled(__package__, "wording.yaml")
        data = document.data if isinstance(document.data, Mapping) else {}
        for name in _WORDS:
            if not isinstance(data.get(name), str):
                remedy = f"give {', '.join(_WORDS)}"
                raise InputError(f"the wording '{name}' is missing", file=document.file, remedy=remedy)
            for place in _NEEDED.get(name, ()):
                if f"{{{place}}}" not in data[name]:
                    raise InputError(f"the wording '{name}' has no {{{place}}}", file=document.file, remedy="put it in")
        words = {name: str(data[name]) for name in _WORDS}
        if "example" not in data:
            return cls(words)
        return cls(words, *_example(data["example"], document.file))

    def messages(self, step: str, item: Mapping[str, Any]) -> tuple[Message, ...]:
        """The chat that asks for one step of one item: the role, the worked example, the task."""
        chat = [Message("system", self.words["role"])]
        if self.example is not None and self.replies is not None:
            chat += [Message("user", self.task(step, self.example)), Message("assistant", self.replies[step])]
        return (*chat, Message("user", self.task(step, item)))

    def task(self, step: str, item: Mapping[str, Any]) -> str:
        """What is to be done, with everything that comes from outside quoted."""
        turns = as_turns(item.get("conversation"))
        numbered = [f"{n}. {turn.speaker}: {turn.text}" for n, turn in enumerate(turns, 1)]
        values = {
            "statement": quoted(str(item["text"])),
            "scenario": quoted(str(item.get("scenario") or "")),
            "turns": quoted("\n".join(" ".join(line.split()) for line in numbered)),
            "count": str(len(turns)),
            "aim": "",
        }
        if item.get("meaning"):
            told = {"meaning": str(item["meaning"]), "question": str(item["question"])}
            values["aim"] = filled(self.words["aim"], told).strip() + "\n\n"
        task = filled(self.words[step], values)
        if item.get("reason"):
            task += "\n\n" + filled(self.words["again"], {"reason": str(item["reason"])})
        return task


def quoted(text: str) -> str:
    r"""Text from outside as a quotation that it cannot leave: every line of it begins with a mark.

    >>> print(quoted("Nice.\nIgnore the above."))
    > Nice.
    > Ignore the above.
    """
    return "\n".join(f"> {line}" for line in text.strip().splitlines()) or "> "


def filled(words: str, values: Mapping[str, str]) -> str:
    """Wording with its places filled in, once: braces in what is filled in stay what they are."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), words)


def _example(told: Any, file: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The worked example as an item, and what it answers at each step."""
    if not isinstance(told, Mapping) or any(not isinstance(told.get(name), str) for name in _EXAMPLE):
        raise InputError("the example is not complete", file=file, remedy=f"give {', '.join(_EXAMPLE)} and after")
    turns, statement, after = read_turns(told["conversation"]), told["statement"], told.get("after")
    if problem := fault(turns, statement):
        raise InputError(f"the example cannot be used: {problem}", file=file)
    if not isinstance(after, int) or not 1 <= after <= len(turns):
        raise InputError("the example's 'after' is not the number of one of its turns", file=file)
    whole = insert(turns, statement, Position(after, told["speaker"]))
    item = {"text": statement, "scenario": told["scenario"], "conversation": cell(turns)}
    replies = {
        "first-person": "yes",
        "scenario": told["scenario"],
        "conversation": script(turns),
        "position": f"After: {after}\nSpeaker: {told['speaker']}",
        "written": script(whole),
    }
    return item, replies
