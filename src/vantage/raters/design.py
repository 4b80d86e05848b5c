"""Designs: in which presentations each item is put to a model, so that what a presentation does can be estimated.

A full design asks about every item in every combination of levels. A balanced one asks about every item in a few
combinations: each level of a factor equally often, all main effects estimable within the item, and which level stands
for which column of the array drawn anew for each item. Every combination is then equally likely for every item, so
that main effects have the same expectation as in the full design, whatever interactions there are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question
from vantage.presentations import FACTORS, PLAIN, Presentation, levels, seeded
from vantage.raters.style import Style
from vantage.scales import Scale

DesignKind: TypeAlias = Literal["balanced", "full"]
Array: TypeAlias = NDArray[np.int64]

ANSWER_SD: Final = 0.2
"""Assumed standard deviation of answers about one item in one presentation, as a share of the scale's length."""
EFFECT_SD: Final = 0.1
"""Assumed standard deviation of an effect over items, as a share of the scale's length."""
_POWER: Final = float(ndtri(0.975) + ndtri(0.8))
_STARTS: Final = 12


@dataclass(frozen=True, slots=True)
class Design:
    """Which presentations every item is asked in.

    >>> design = Design((("order", ("up", "down")), ("labels", ("numbers", "letters"))))
    >>> [str(cell) for cell in design.cells("item-1")]
    ['labels=letters order=up', 'labels=numbers order=up', 'labels=letters order=down', 'labels=numbers order=down']
    """

    factors: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The factors that are varied, with their levels."""
    kind: DesignKind = "balanced"
    base: Presentation = PLAIN
    """What is the same for all."""
    seed: int = 0

    @classmethod
    def of(
        cls,
        vary: str | Sequence[str],
        instrument: Instrument,
        questions: Sequence[Question],
        style: Style,
        *,
        kind: str = "balanced",
        base: str | Presentation = PLAIN,
        samples: int = 1,
        seed: int = 0,
    ) -> Design:
        """A design for an instrument and a style; refused where these do not have what is to be varied.

        Args:
            vary: Factors such as `order,labels`; `wording=1/2` chooses levels.
            instrument: What is asked.
            questions: Those of its questions that are asked.
            style: How the model is asked otherwise.
            kind: `balanced` or `full`.
            base: What is the same for all, such as `order=down`.
            samples: How often each presentation is asked.
            seed: Of the draws.
        """
        if kind not in ("balanced", "full"):
            raise InputError(f"there is no design '{kind}'", remedy="use balanced or full")
        same = Presentation.parse(base) if isinstance(base, str) else base
        listed = [name.strip() for name in vary.split(",")] if isinstance(vary, str) else list(vary)
        factors: dict[str, tuple[str, ...]] = {}
        for entry in filter(None, listed):
            factor, _, chosen = entry.partition("=")
            if factor in factors or factor in same.levels:
                raise InputError(f"the factor '{factor}' is given twice", remedy="name it once")
            factors[factor] = _levels(factor, chosen, instrument, questions, style)
            if len(factors[factor]) < 2:
                raise InputError(f"{factor} has one level, so nothing is varied", remedy="give at least two")
        for factor, level in same.levels.items():
            if factor != "seen":
                _levels(factor, level, instrument, questions, style)
        every = {**{factor: (level,) for factor, level in same.levels.items()}, **factors}
        _check(every, questions, style, samples)
        return cls(tuple(factors.items()), "full" if kind == "full" else "balanced", same, seed)

    @property
    def size(self) -> int:
        """How many presentations each item is asked in."""
        return len(self._array)

    @property
    def _array(self) -> Array:
        counts = tuple(len(known) for _, known in self.factors)
        return full_array(counts) if self.kind == "full" else balanced_array(counts)

    def cells(self, item: str) -> list[Presentation]:
        """The presentations of an item; the same whichever other items there are."""
        orders = [list(known) for _, known in self.factors]
        if self.kind == "balanced":
            for (factor, _), order in zip(self.factors, orders, strict=True):
                seeded(self.seed, item, factor).shuffle(order)
        names = [factor for factor, _ in self.factors]
        return [
            self.base.having(**{name: order[place] for name, order, place in zip(names, orders, row, strict=True)})
            for row in self._array.tolist()
        ]

    def asked(self, item: str, samples: int) -> list[tuple[Presentation, int]]:
        """What each repetition of an item is: its presentation, and how often that was asked before.

        The second sample follows the first as a whole, so that a further sample leaves the numbers of others alone.
        """
        met: dict[Presentation, int] = {}
        repetitions = []
        for cell in self.cells(item) * samples:
            met[cell] = met.get(cell, -1) + 1
            repetitions.append((cell, met[cell]))
        return repetitions

    def smallest_effect(self, factor: str, items: int, samples: int, scale: Scale) -> float:
        """The least difference between two levels of a factor, in points of the scale, that is seen with 80 % power.

        A two-sided test at 5 % of the mean difference over items, under `ANSWER_SD` and `EFFECT_SD`.

        >>> design = Design((("order", ("up", "down")),))
        >>> round(design.smallest_effect("order", 30, 1, Scale.points(1, 5)), 2)
        0.61
        """
        low, high = scale.ends
        each = self.size * samples / len(dict(self.factors)[factor])
        variance = 2 * ANSWER_SD**2 / each + EFFECT_SD**2
        return _POWER * math.sqrt(variance / items) * (high - low)

    def described(self) -> dict[str, object]:
        """The design as a run's record keeps it."""
        return {"factors": dict(self.factors), "kind": self.kind, "base": str(self.base), "seed": self.seed}


def styled(style: Style, presentation: Presentation) -> Style:
    """The style with the form of reply, and the place of the reason, that a presentation asks for."""
    if presentation.reason:
        style = replace(
            style,
            json=True,
            reasoning=presentation.reason == "first",
            answer_first=presentation.reason == "last",
            two_step=presentation.reason == "apart",
        )
    if not presentation.format:
        return style
    return replace(style, json=presentation.format == "json", scoring=presentation.format == "scored")


def full_array(counts: tuple[int, ...]) -> Array:
    """Every combination of levels, one a row."""
    return np.array(list(product(*map(range, counts))), dtype=np.int64).reshape(math.prod(counts), len(counts))


@lru_cache(maxsize=64)
def balanced_array(counts: tuple[int, ...]) -> Array:
    """A small array of levels: each level of a factor equally often, all main effects estimable.

    Its rows are the smallest multiple of the numbers of levels that allows both; columns are as nearly orthogonal as
    a search by swaps finds them (after Xu 2002).

    >>> balanced_array((2, 2, 2)).tolist()
    [[0, 1, 0], [0, 0, 1], [1, 1, 1], [1, 0, 0]]
    >>> balanced_array((2, 3, 2, 2, 2, 3)).shape
    (12, 6)
    """
    step, needed = math.lcm(*counts), 1 + sum(count - 1 for count in counts)
    runs = step * math.ceil(needed / step)
    while runs < math.prod(counts):
        array = _searched(counts, runs)
        if np.linalg.matrix_rank(np.hstack([_marked(column) for column in array.T])) == needed:
            return array
        runs += step
    return full_array(counts)


def _searched(counts: tuple[int, ...], runs: int) -> Array:
    columns: list[Array] = []
    for number, count in enumerate(counts):
        level = np.repeat(np.arange(count), runs // count)
        if not columns:
            columns.append(level)
            continue
        before = np.hstack([_marked(column) for column in columns])
        rng = np.random.default_rng([number, count, runs])
        starts = [_swapped(rng.permutation(level), before) for _ in range(_STARTS)]
        columns.append(min(starts, key=lambda one: _imbalance(one, before)))
    return np.column_stack(columns)


def _swapped(column: Array, before: NDArray[np.float64]) -> Array:
    """A column after every swap of two entries that makes it more nearly orthogonal to those before."""
    best = _imbalance(column, before)
    improved = True
    while improved and best > 0:
        improved = False
        for i, j in product(range(len(column)), repeat=2):
            if i < j and column[i] != column[j]:
                column[[i, j]] = column[[j, i]]
                now = _imbalance(column, before)
                if now < best - 1e-9:
                    best, improved = now, True
                else:
                    column[[i, j]] = column[[j, i]]
    return column


def _imbalance(column: Array, before: NDArray[np.float64]) -> float:
    pairs = before.T @ _marked(column)
    even = before.sum(axis=0)[:, None] / pairs.shape[1]
    return float(np.square(pairs - even).sum())


def _marked(column: Array) -> NDArray[np.float64]:
    return np.asarray(column[:, None] == np.arange(int(column.max()) + 1), dtype=np.float64)


def _levels(
    factor: str, chosen: str, instrument: Instrument, questions: Sequence[Question], style: Style
) -> tuple[str, ...]:
    """The levels of a factor: those chosen, or all that suit the instrument and the style."""
    known = levels(factor, instrument, questions)
    if factor == "shots" and not style.shots:
        raise InputError("the style has no examples to vary", remedy="add few-shot:K to --style")
    if factor == "questions" and not style.together:
        raise InputError("questions are asked one at a time, so they have no order", remedy="add together to --style")
    if factor == "format" and (style.together or style.sampling):
        raise InputError(f"the style '{style.name}' has one form of reply", remedy="leave format out")
    wanted = tuple(chosen.split("/")) if chosen else known[:2] if factor == "format" else known
    allowed = known if factor in ("wording", "labels", "direction") else FACTORS[factor]
    for level in wanted:
        if level not in allowed:
            raise InputError(f"{factor} has no level '{level}' here", remedy=nearest(level, allowed))
    return wanted


def _check(every: Mapping[str, Sequence[str]], questions: Sequence[Question], style: Style, samples: int) -> None:
    for way, words in product(every.get("direction", ("",)), every.get("wording", ("",))):
        for question in questions:
            Presentation(direction=way, wording=words).shown(question)
    if {"format", "reason"} <= every.keys():
        raise InputError(
            "reasons are put first or last in JSON objects, so that replies have one format",
            remedy="vary format or reason",
        )
    for factor in ("format", "reason"):
        for level in every.get(factor, ()):
            styled(style, PLAIN.having(**{factor: level}))
    if "scored" in every.get("format", ()) and samples > 1:
        raise InputError(
            "scoring gives the whole distribution at once, so it cannot be sampled",
            remedy="leave samples at 1, or vary format=line/json",
        )
