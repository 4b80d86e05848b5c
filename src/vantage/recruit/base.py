"""What every recruiter can do, whatever the platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Recruited:
    """The state of recruiting."""

    platform: str
    study: str
    """The study's id on the platform; empty before it is created."""
    status: str
    places: int
    """Places offered so far."""
    submissions: Mapping[str, int] = field(default_factory=dict)
    """Submissions by their status."""
    open_batches: int = 0
    """Batches of seats that nobody has."""
    finished: int = 0
    """Participants who finished here."""
    reward: int = 0
    """What each gets, in the hundredth part of the currency."""
    paid: int = 0
    bonuses: int = 0
    fees: int = 0
    """Fees and tax of the platform so far."""
    currency: str = ""
    hourly: float | None = None
    """What an hour was paid, by the median of the time that participants took; null before anyone finished."""
    edits: tuple[str, ...] = ()
    """Fields that were changed on the platform's website: the field, what it was, what it is."""
    unconfirmed: tuple[str, ...] = ()
    """Payments of which nobody knows yet whether the platform made them."""
    link: str = ""
    """The link to put on the platform, where that is done by hand."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A submission that a researcher may want to reject, and why; nobody is rejected automatically."""

    submission: str
    rater: str
    reason: str


@dataclass(frozen=True, slots=True)
class Paid:
    """What a payment came to: how many were paid now, were paid before, and are not confirmed yet."""

    paid: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    amount: int = 0


class Recruiter(Protocol):
    """Finds people for a study and pays them. Nothing here asks for confirmation: commands and pages do."""

    def create(self) -> Recruited:
        """Sets up the study on the platform, where nobody sees it yet."""

    def publish(self) -> Recruited:
        """Opens the study to people."""

    def state(self) -> Recruited:
        """The state of recruiting, after what people did on the platform has been taken over."""

    def top_up(self) -> int:
        """Offers as many more places as open seats need; how many."""

    def approve(self) -> Paid:
        """Pays those who finished."""

    def proposals(self) -> list[Proposal]:
        """Whom one could reject, and why."""

    def reject(self, submissions: Sequence[str], category: str, reason: str) -> None:
        """Rejects these submissions, which are then not paid."""

    def bonus(self, amounts: Mapping[str, int], name: str) -> Paid:
        """Pays a bonus of this name, in the hundredth part of the currency; the same name is paid to nobody twice."""

    def stop(self) -> Recruited:
        """Ends recruiting; those who are at work may finish."""

    def close(self) -> None:
        """Closes connections to the platform."""
