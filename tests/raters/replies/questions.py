"""Questions of every kind of scale, for the tests of reading replies."""

from __future__ import annotations

from typing import Any, NamedTuple

from vantage.instruments import Instrument, Question
from vantage.scales import OptOut, Scale


def ask(scale: Scale, wording: str = "How much?") -> Question:
    return Question("q", "Q", wording, scale)


NINE = ask(
    Scale.points(1, 9, anchors={1: "not at all", 9: "completely"}, opt_outs=[OptOut("not_mentioned", "not mentioned")])
)
FIVE = ask(Scale.points(1, 5, anchors={1: "not at all", 5: "extremely"}))
SLIDER = ask(Scale.continuous(0, 100))
OFTEN = ask(Scale.labels("never", "rarely", "sometimes", "often", "always", level="ordinal"))
AGREE = Instrument.load("context-quality").questions[0]
TRUST = Instrument.load("warmth-competence").question("trust")
SARCASM = Instrument.load("sarcasm").question("sarcasm")
IRONY = Instrument.load("irony").question("irony")
POLITE = Instrument.load("politeness").question("politeness")
SENTIMENT = Instrument.load("sentiment").question("sentiment")
USEFUL = Instrument.load("rationale-quality").question("usefulness")


class Unread(NamedTuple):
    """What a reply means that is left unread: prose that is not set apart, or is doubted."""

    meant: Any


def expected(meant: Any, unread: Any = None) -> Any:
    """What has to be read from a reply whose meaning is known."""
    return unread if isinstance(meant, Unread) else meant
