"""Prompting styles: how a question is put to a model, composed of named parts.

A style is written as its parts joined by `+`, in any order: `few-shot:4+reasoning`, `persona+scoring`. docs/raters.md
says what each does. A `perspective` may stand beside a `history`: then the user is told by a trait and shown by earlier
answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from vantage.errors import InputError, nearest

Voice = Literal["", "persona", "selective-persona", "perspective", "history"]

FORMS: Final = (
    *("few-shot", "reasoning", "answer-first", "two-step", "scoring", "sampling", "together", "json", "free", "coarse"),
)
VOICES: Final = ("persona", "selective-persona", "perspective", "history")
PARTS: Final = ("zero-shot", *FORMS, *VOICES)


@dataclass(frozen=True, slots=True)
class Style:
    """The parts of a prompting style.

    >>> Style.parse("reasoning+few-shot:4").name
    'few-shot:4+reasoning'
    >>> Style.parse("zero-shot") == Style()
    True
    """

    shots: int = 0
    reasoning: bool = False
    answer_first: bool = False
    two_step: bool = False
    scoring: bool = False
    sampling: int = 0
    """How many replies the distribution over the answers is made of."""
    together: bool = False
    json: bool = False
    free: bool = False
    coarse: bool = False
    voice: Voice = ""
    trait: str = ""
    """The trait that a perspective gives, with or without a history."""
    neighbours: int = 5
    """How many earlier judgments a history shows."""

    def __post_init__(self) -> None:
        if self.answer_first:  # an answer is read from a line at the end of a reply, and from anywhere in an object
            object.__setattr__(self, "json", True)
        for wrong, why in (
            (self.scoring and self.sampling, "scoring and sampling both give the distribution over the answers"),
            (
                self.sampling and self.two_step,
                "sampling and two-step cannot be combined: there is not one answer to explain",
            ),
            (
                self.sampling and self.together,
                "sampling and together cannot be combined: it asks one question at a time",
            ),
            (self.scoring and self.two_step, "scoring reads no text, so it cannot be asked why"),
            (self.scoring and self.together, "scoring compares the options of one question at a time"),
            (self.scoring and self.json, "scoring reads no text, so there is no JSON to read"),
            (
                self.scoring and self.voice == "selective-persona",
                "scoring reads no text, so a persona cannot say whether the item is relevant to it",
            ),
            (self.two_step and self.together, "two-step asks one question at a time"),
            (
                self.answer_first and (self.reasoning or self.two_step),
                "answer-first, reasoning and two-step each say when the reason is asked for",
            ),
            (self.shots < 0, "the number of examples cannot be negative"),
            (self.neighbours < 1, "a history needs at least one earlier judgment"),
            (self.voice == "perspective" and not self.trait, "a perspective names its trait: perspective:TRAIT"),
        ):
            if wrong:
                raise InputError(why, remedy="leave one of them out" if " both " in why or "scoring" in why else None)

    @property
    def distribution(self) -> bool:
        """Whether an answer is a distribution over the options."""
        return self.scoring or bool(self.sampling)

    @classmethod
    def parse(cls, text: str) -> Style:
        """A style from its name."""
        style = cls()
        for word in text.replace(" ", "").split("+"):
            part, _, detail = word.partition(":")
            style = replace(style, **_read_part(part, detail, style))
        return style

    @property
    def name(self) -> str:
        """The parts in their fixed order; equal styles have equal names."""
        voice = self.voice
        perspective = f"perspective:{self.trait}" if self.trait else ""
        shown = f"history:{self.neighbours}" if voice == "history" else ""
        voiced = "+".join(filter(None, (perspective, shown))) or voice
        counted = {"few-shot": self.shots, "sampling": self.sampling}
        flags = [part for part in FORMS if counted.get(part) or getattr(self, part.replace("-", "_"), False)]
        parts = [f"{part}:{counted[part]}" if part in counted else part for part in flags]
        return "+".join(filter(None, (*parts, voiced))) or "zero-shot"


def _read_part(part: str, detail: str, style: Style) -> dict[str, Any]:
    if part not in PARTS:
        raise InputError(f"there is no style '{part}'", remedy=nearest(part, PARTS))
    if detail and part not in ("few-shot", "sampling", "perspective", "history"):
        raise InputError(f"style '{part}' takes nothing after the colon", remedy=f"write {part}")
    if part == "few-shot":
        return {"shots": _count(part, detail, 4)}
    if part == "sampling":
        return {"sampling": _count(part, detail, 20)}
    if part in VOICES:
        if style.voice and {style.voice, part} != {"perspective", "history"}:
            raise InputError(f"{style.voice} and {part} both say who speaks", remedy="leave one of them out")
        # A user who is told by a trait and shown by earlier answers speaks through these.
        chosen: dict[str, Any] = {"voice": "history" if style.voice else part}
        if part == "perspective":
            if not detail:
                raise InputError("a perspective names its trait: perspective:TRAIT")
            chosen["trait"] = detail
        if part == "history":
            chosen["neighbours"] = _count(part, detail, 5)
        return chosen
    return {} if part == "zero-shot" else {part.replace("-", "_"): True}


def _count(part: str, detail: str, default: int) -> int:
    if not detail:
        return default
    if not detail.isdecimal() or not 1 <= int(detail) <= 1000:
        raise InputError(f"{part} takes a number, not '{detail}'", remedy=f"write {part}:{default}")
    return int(detail)
