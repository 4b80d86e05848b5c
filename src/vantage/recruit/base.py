"""The state of recruiting, and payments as plans: a list with a total, confirmed as shown."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

from vantage.errors import InputError


@dataclass(frozen=True, slots=True)
class Recruited:
    """The state of recruiting."""

    platform: str
    study: str
    """The study's id on the platform; empty before it is created."""
    status: str
    places: int
    submissions: Mapping[str, int] = field(default_factory=dict)
    open_batches: int = 0
    """Batches of seats that nobody has."""
    finished: int = 0
    reward: int = 0
    """What each gets, in the hundredth part of the currency."""
    paid: int = 0
    bonuses: int = 0
    fees: int = 0
    """Fees and tax of the platform so far."""
    currency: str = ""
    hourly: float | None = None
    """What an hour was paid, by the median of the time that participants took; null before anyone finished."""
    unconfirmed: tuple[str, ...] = ()
    """Entries of the ledger that were begun and have no end, such as payments the platform does not show yet."""
    differences: tuple[str, ...] = ()
    """Where the platform shows other payments than the ledger."""


CHANGED: Final = "is no longer due as it was confirmed; plan it again"
"""Why a line of a plan is not carried out when things have changed since."""
PaidAct = Literal["publish", "top-up", "approve", "bonus", "reject"]


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    """What a researcher asks for, before it is a list."""

    act: PaidAct
    amounts: Mapping[str, int] = field(default_factory=dict)
    """Bonuses by submission, in the hundredth part of the currency; for rejections, the submissions with 0."""
    name: str = ""
    """Of the bonus: nobody gets a bonus of the same name twice."""
    resend: bool = False
    """Pay again what was sent before and, as the researcher has seen, was not paid."""
    category: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PaymentLine:
    """One line of a plan: who gets what, or how many places are offered."""

    key: str
    """The entry in the ledger that this line becomes."""
    submission: str
    amount: int
    rater: str = ""
    note: str = ""
    replaces: str = ""
    """The entry of an earlier attempt that this line gives up."""


@dataclass(frozen=True, slots=True)
class PaymentPlan:
    """A list that a researcher confirms as shown, and that is carried out as exactly this list."""

    request: PaymentRequest
    lines: tuple[PaymentLine, ...]
    currency: str
    before: tuple[str, ...] = ()
    """Submissions that have this payment already."""
    unconfirmed: tuple[str, ...] = ()
    """Submissions whose payment was sent and is not shown by the platform yet; they are not paid again."""

    @property
    def total(self) -> int:
        """What the lines cost together, without the platform's fees."""
        return sum(line.amount for line in self.lines)

    @property
    def digest(self) -> str:
        """A short name of exactly this list, by which a page says what was confirmed."""
        parts = [asdict(self.request), [asdict(line) for line in self.lines], self.currency]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Paid:
    """What became of a plan, line by line."""

    paid: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """Lines that were not carried out, by submission (or key), and why."""
    amount: int = 0


def cents(text: str) -> int:
    """An amount as people write it, in the hundredth part of the currency.

    >>> cents("0.50"), cents("1,5")
    (50, 150)
    """
    written = re.fullmatch(r"([0-9]{1,7})(?:[.,]([0-9]{1,2}))?", text.strip())
    amount = int(written[1]) * 100 + int((written[2] or "").ljust(2, "0")) if written else 0
    if amount:
        return amount
    raise InputError(f"'{text}' is not an amount", remedy="write for example 0.50, with at most two decimals")
