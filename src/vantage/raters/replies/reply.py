"""What a reply was found to say, and by which rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from vantage.scales import Scale, Status

JOINED: Final = (
    r"(?:and|or|to|as\swell\sas|but\salso|e|ed|o|oppure|ma\sanche|y|u|pero\stambién|et|ou|à|mais\saussi|und|oder|bis"
    r"|aber\sauch|sowie|och|eller|og|en|of|tot|i|oraz|lub|albo|и|или|до|та|або|ve|veya|dan|atau|dhe|και|ή)"
)
"""Words that put a second answer beside the first, in English and in languages in which models reply unasked."""


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """Value, status and rationale of a reply, with the rule that read it.

    The rule is `PLACE:FORM` for an answer, an opt-out or a refusal, and the name of the obstacle for a reply
    that is `unparsed`; docs/replies.md lists them all.
    """

    value: float | None
    status: Status
    rationale: str | None
    rule: str
    shares: tuple[float, ...] | None = field(default=None, repr=False)
    """Shares of 1 in the order of the scale, where they were asked for; the value is the option with the largest."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What stands at one place of a reply: a value, an opt-out, or an obstacle to both."""

    form: str
    """How it was written (`number`, `fraction`, `label` …), or the name of the obstacle."""
    end: int
    """Where the reading ends in the text that was read."""
    value: float | None = None
    opt_out: Status | None = None

    @property
    def usable(self) -> bool:
        """Whether the reading is an answer or an opt-out."""
        return self.value is not None or self.opt_out is not None

    def same(self, other: Reading) -> bool:
        """Whether both say the same, however it is written."""
        return self.usable and (self.value, self.opt_out) == (other.value, other.opt_out)

    def reply(self, place: str, rationale: str | None = None) -> ParsedReply:
        """The reply that consists of this reading."""
        if self.value is not None:
            return ParsedReply(self.value, "answered", rationale, f"{place}:{self.form}")
        if self.opt_out is not None:
            return ParsedReply(None, self.opt_out, rationale, f"{place}:{self.form}")
        return unparsed(self.form)


def unparsed(obstacle: str) -> ParsedReply:
    """A reply without a usable answer."""
    return ParsedReply(None, "unparsed", None, obstacle)


def agree(scale: Scale, number: float, named: float) -> bool:
    """Whether a number and the wording of an option can be one answer.

    Where every option has its wording, only the option's own wording fits. Where only some points have one, the
    others borrow theirs: on a scale from "not at all" (1) to "completely" (9), "8, completely" is 8, while "3,
    completely" says two things.

    >>> scale = Scale.points(1, 9, anchors={1: "not at all", 9: "completely"})
    >>> agree(scale, 8, 9), agree(scale, 3, 9)
    (True, False)
    """
    if number == named:
        return True
    anchors = [option.code for option in scale.options if option.label]
    if len(anchors) == len(scale.options):
        return False
    return abs(number - named) <= min(abs(number - code) for code in anchors)
