"""Rules of a study file: until when an item gets more ratings, and which item the next one should go to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from vantage.adaptive.distributions import Distributions, needed, width
from vantage.measures.ratings import Floats

GoalName: TypeAlias = Literal["width", "error", "alpha"]
GOALS: Final[tuple[GoalName, ...]] = get_args(GoalName)
HOW: Final = "write 'width 0.3' (every item), 'error 0.1' (the mean over items) or 'alpha 0.2' (the study's alpha)"


@dataclass(frozen=True, slots=True)
class Until:
    """A goal with its target.

    `width`: each item is known when the widest 95 % interval of its options' shares is no wider than this. `error`: the
    expected error of the items' distributions (total variation) is at most this on average. `alpha`: the always-valid
    interval of the study's alpha is no wider than this; items then get the same number of ratings.

    >>> Until.parse("width 0.3")
    Until(goal='width', target=0.3)
    """

    goal: GoalName
    target: float

    @classmethod
    def parse(cls, text: str) -> Until:
        """Reads a rule; `ValueError` says how one is written."""
        match = re.fullmatch(rf"({'|'.join(GOALS)})\s+([0-9]*\.?[0-9]+)", text.strip())
        if match is None or not 0 < float(match[2]) < 1:
            raise ValueError(f"'{text}' is no rule; {HOW}")
        goal: GoalName = next(goal for goal in GOALS if goal == match[1])
        return cls(goal, float(match[2]))

    def __str__(self) -> str:
        return f"{self.goal} {self.target:g}"

    @property
    def by_item(self) -> bool:
        """Whether items get different numbers of ratings, depending on their answers."""
        return self.goal != "alpha"

    @property
    def needed(self) -> tuple[int, int] | None:
        """The ratings that an item needs where everyone agrees, and where people are evenly split; null without such.

        >>> Until("width", 0.3).needed
        (9, 39)
        """
        return (needed(self.target, 0.0), needed(self.target, 0.5)) if self.goal == "width" else None

    def open(self, items: Sequence[Distributions]) -> NDArray[np.bool_]:
        """Which items need more ratings; `items` has one table per question, and every question must be known."""
        if self.goal == "width":
            return np.asarray(np.any([known.widths > self.target for known in items], axis=0))
        if self.goal == "error":
            unknown = any(float(known.error().mean()) > self.target for known in items)
            return np.full(len(items[0].counts), unknown)
        return np.zeros(len(items[0].counts), dtype=np.bool_)

    def missing(self, items: Sequence[Distributions], most: int) -> Floats:
        """How many more ratings each item is expected to get, if no item has more than `most`.

        >>> known = Distributions(np.array([[5.0, 5.0], [20.0, 20.0], [50.0, 0.0]]))
        >>> Until("width", 0.3).missing([known], 60).tolist()
        [29.0, 0.0, 0.0]
        """
        wanted = []
        for known in items:
            if self.goal == "width":
                number = np.arange(1, most + 1, dtype=np.float64)
                wide = width(known.expected[:, :, None], number).max(axis=1) > self.target
                enough = np.minimum(wide.sum(axis=1) + 1, most)
            else:
                enough = known.ratings * max(float(known.error().mean()) / self.target, 1.0) ** 2
            wanted.append(np.clip(enough, known.ratings, np.maximum(most, known.ratings)) - known.ratings)
        return np.where(self.open(items), np.max(wanted, axis=0), 0.0)

    def gain(self, items: Sequence[Distributions]) -> Floats:
        """What one more rating of each item is expected to bring towards the goal, over all questions."""
        if self.goal == "width":
            gains = [np.where(known.widths > self.target, known.narrowed(), 0.0) for known in items]
        else:
            gains = [known.error() - known.error(1) for known in items]
        return np.asarray(np.sum(gains, axis=0))
