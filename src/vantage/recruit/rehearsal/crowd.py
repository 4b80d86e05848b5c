"""Who comes to a rehearsal: kinds of people, how they behave, and how many there are of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from vantage.errors import InputError, nearest

Kind = Literal["careful", "hasty", "careless", "copying", "leaving", "phone", "declining"]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How people of a kind behave."""

    pace: float = 1.0
    """Their time for a page, relative to careful people."""
    random: float = 0.0
    """The share of their answers that are drawn at random from all options."""
    attends: float = 0.98
    """How often they see what a check, a quiz or an item with a known answer asks for."""
    says: str = ""


KINDS: Final[Mapping[Kind, Behaviour]] = {
    "careful": Behaviour(says="read, and answer as they see it"),
    "hasty": Behaviour(pace=0.35, random=0.25, attends=0.8, says="skim, and answer a quarter at random"),
    "careless": Behaviour(pace=0.2, random=1.0, attends=0.0, says="answer everything at random"),
    "copying": Behaviour(pace=0.6, random=0.1, attends=0.95, says="paste a model's reasons"),
    "leaving": Behaviour(says="leave half-way; half of them return the submission, the others vanish"),
    "phone": Behaviour(pace=1.2, says="leave half-way and come back on a phone"),
    "declining": Behaviour(says="do not agree"),
}
MIX: Final[Mapping[Kind, float]] = {
    "careful": 0.70,
    "hasty": 0.08,
    "careless": 0.06,
    "copying": 0.04,
    "leaving": 0.05,
    "phone": 0.03,
    "declining": 0.04,
}
"""The shares of each kind, unless others are given."""


@dataclass(frozen=True, slots=True)
class Guest:
    """One simulated person."""

    number: int
    kind: Kind
    speed: float
    """Their time for a page, relative to others of the kind."""

    @property
    def behaviour(self) -> Behaviour:
        """How they behave."""
        return KINDS[self.kind]

    @property
    def id(self) -> str:
        """Their id on the platform."""
        return f"{self.number:024x}"


def crowd(people: int, seed: int, mix: Mapping[str, float] | None = None) -> list[Guest]:
    """So many people in the order of their arrival, as many of each kind as its share says.

    >>> sum(guest.kind == "careful" for guest in crowd(200, 1))
    140
    """
    shares = dict(MIX if mix is None else mix)
    for kind in shares:
        if kind not in KINDS:
            raise InputError(f"There are no '{kind}' people", remedy=nearest(kind, list(KINDS)))
    if people < 1 or min(shares.values()) < 0 or sum(shares.values()) <= 0:
        raise InputError("A rehearsal needs people", remedy="give one person or more, and shares of 0 or more")
    exact = {kind: people * share / sum(shares.values()) for kind, share in shares.items()}
    counts = {kind: int(number) for kind, number in exact.items()}
    for kind in sorted(exact, key=lambda kind: counts[kind] - exact[kind])[: people - sum(counts.values())]:
        counts[kind] += 1
    rng = np.random.default_rng([seed, 1])
    kinds = rng.permutation([kind for kind in KINDS for _ in range(counts.get(kind, 0))])
    return [Guest(n, kind, float(np.exp(rng.normal(0, 0.3)))) for n, kind in enumerate(kinds.tolist(), 1)]
