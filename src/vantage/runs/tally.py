"""What happened to the calls of a run so far, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from vantage.raters.models.base import Completion
from vantage.raters.scoring import mass_note
from vantage.runs.prices import Price, paid

HOPELESS: Final = 50
"""When this many calls were sent and every one of them failed, nothing is sent any more."""
ENOUGH: Final = 20
"""Calls before a share of failures is taken seriously."""


@dataclass(slots=True)
class RunTally:
    """Counts of one run. `planned` counts first requests; follow-up questions come on top as they arise."""

    planned: int = 0
    skipped: int = 0
    """Planned requests whose judgments the corpus has already."""
    stored: int = 0
    """Requests that were not sent because the store holds their replies."""
    sent: int = 0
    """Requests that came to an end in this run, failed ones included."""
    failed: int = 0
    retried: int = 0
    """Tries beyond the first, after faults that passed."""
    clarified: int = 0
    """Requests that were sent to learn which answer a reply gives that could not be read."""
    elsewhere: int = 0
    """Requests that another process on the same store sent."""
    missing: int = 0
    """Planned requests without a result when the run ended or the store was read."""
    conversations: int = 0
    """Planned requests that ended, in a reply or in a failure."""
    truncated: int = 0
    """Prompts whose item was cut to fit into the model's window."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = 0.0
    """Of what was sent in this run; null when a price is not known."""
    mass: list[float] = field(default_factory=list)
    """The share of the probability that the options had: least, deciles 1 and 9, quartiles, median and most."""
    limit: int = 0
    """How many requests may be under way at the moment."""
    standing: str = ""
    """What the run waits for at the moment: that it is resumed, or an endpoint that is down."""
    fault: str = ""
    """Why the last request that failed did so."""
    ended: str = ""
    """Why the run ended before its end, in a sentence."""
    capped: bool = False
    """Whether it ended at a limit that was given, where the same command would only end again."""
    notes: list[str] = field(default_factory=list)

    def gather(self, others: Sequence[RunTally]) -> None:
        """Becomes the sum of the counts of several models, with all that is told of them."""
        for name in self.__dataclass_fields__:
            values = [getattr(other, name) for other in others]
            if name in ("notes", "mass") or not values:
                continue
            if isinstance(values[0], str):
                setattr(self, name, " ".join(dict.fromkeys(filter(None, values))))
            elif name == "cost":
                self.cost = None if None in values else sum(values)
            else:
                setattr(self, name, any(values) if isinstance(values[0], bool) else sum(values))
        for sentence in (one for other in others for one in other.notes):
            self.note(sentence)

    def note(self, sentence: str) -> None:
        """Adds a sentence to the notes, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def tell_mass(self, scored: Sequence[tuple[pl.Series, float]]) -> None:
        """Counts what share of the probability the options had, from each rater's masses and its least mass."""
        masses = pl.concat([mass for mass, _ in scored]).drop_nulls() if scored else pl.Series([], dtype=pl.Float64)
        if len(masses):
            self.mass = [
                round(float(masses.quantile(q, "linear") or 0.0), 4) for q in (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
            ]
            self.notes.append(mass_note(masses, scored[0][1]))

    def add(self, completion: Completion, price: Price | None) -> None:
        """Counts a request that came to an end."""
        self.sent += 1
        self.failed += completion.finish == "failed"
        self.fault = completion.error or self.fault
        self.prompt_tokens += completion.prompt_tokens
        self.completion_tokens += completion.completion_tokens
        self.cached_tokens += completion.cached_tokens
        self.reasoning_tokens += completion.reasoning_tokens
        cost = 0.0 if completion.finish == "failed" else paid(price, completion)
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    def too_many_failed(self, fail_on: float | None) -> str:
        """Why to stop because of failures, in a sentence; empty when there is no reason to."""
        if self.sent == self.failed and self.failed >= HOPELESS:
            return f"The first {self.failed} requests all failed, so no more were sent; the last because: {self.fault}"
        if fail_on is None:
            return ""
        if fail_on >= 1 or fail_on == 0:
            over = self.failed > fail_on
            reason = f"{self.failed:,} requests failed, more than the {fail_on:,.0f} allowed"
        else:
            over = self.sent >= ENOUGH and self.failed > fail_on * self.sent
            reason = f"{self.failed:,} of {self.sent:,} requests failed, more than the share of {fail_on:g} allowed"
        return f"{reason} by fail-on, so no more were sent." if over else ""

    def as_dict(self) -> dict[str, Any]:
        """The counts as plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("limit", "standing")}
