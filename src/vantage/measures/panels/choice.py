"""The cheapest sufficient panel, chosen on some items and scored on others.

A panel answers with the mean row of its members; its loss is the squared distance of that from the distribution of
people. On the items at hand every further look makes the best of many panels look better than it is, so that a panel
is chosen on nine tenths of the items and scored on the last, ten times over (Stone 1974). Sufficient is a panel whose
loss is within one standard error of the lowest (the one-standard-error rule of Breiman et al. 1984).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from vantage.measures.panels.answers import PanelAnswers
from vantage.measures.ratings import Floats

FOLDS: Final = 10
ALL_SUBSETS: Final = 12
"""Up to so many members every panel is looked at; of more, those that grow by the best next member."""

Members = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PanelChoice:
    """The chosen panel, and the losses on items that had no part in the choosing."""

    chosen: Members
    order: Members
    """All members, the best first, each next one the best addition."""
    by_rule: Floats
    """Per unit: the loss of the panel that the rule chose without this unit's item."""
    by_size: Floats
    """Sizes × units: the same for the best panel of each size."""


def choose(answers: PanelAnswers, prices: Sequence[float], seed: int) -> PanelChoice:
    """The cheapest sufficient panel and its cross-validated loss."""
    products = answers.products
    m, units = len(answers.raters), len(products)
    items = int(answers.item.max()) + 1
    fold = np.random.default_rng(seed).permutation(items)[answers.item] % min(FOLDS, items)
    by_rule, by_size = np.empty(units), np.empty((m, units))
    for number in range(min(FOLDS, items)):
        out = fold == number
        best = _best_of_size(products[~out].mean(axis=0))
        for size, panel in enumerate(best):
            by_size[size, out] = losses(products[out], panel)
        by_rule[out] = losses(products[out], _sufficient(products[~out], prices))
    path = _grown(products.mean(axis=0))
    return PanelChoice(_sufficient(products, prices), path[-1], by_rule, by_size)


def losses(products: Floats, panel: Members) -> Floats:
    """The loss of a panel on each unit: the mean product of its members' errors."""
    return np.asarray(products[:, panel][:, :, panel].mean(axis=(1, 2)))


def _sufficient(products: Floats, prices: Sequence[float]) -> Members:
    """The cheapest panel whose loss is within one standard error of the lowest."""
    mean = products.mean(axis=0)
    candidates = _panels(mean)
    loss = np.array([mean[np.ix_(panel, panel)].mean() for panel in candidates])
    cost = np.array([sum(prices[member] for member in panel) for panel in candidates])
    best = candidates[int(loss.argmin())]
    lowest = losses(products, best)
    order = np.lexsort((loss, cost))
    dearer, good = np.inf, []
    for place in order:  # only panels that no cheaper one beats are worth a look
        if loss[place] < dearer:
            dearer = loss[place]
            good.append(candidates[int(place)])
    for panel in good:
        apart = losses(products, panel) - lowest
        if apart.mean() <= apart.std(ddof=1) / np.sqrt(len(apart)):
            return panel
    return best


def _panels(mean: Floats) -> list[Members]:
    m = len(mean)
    if m <= ALL_SUBSETS:
        return [panel for size in range(1, m + 1) for panel in combinations(range(m), size)]
    return [*((member,) for member in range(m)), *(tuple(panel) for panel in _grown(mean))]


def _best_of_size(mean: Floats) -> list[Members]:
    best: dict[int, tuple[float, Members]] = {}
    for panel in _panels(mean):
        loss = float(mean[np.ix_(panel, panel)].mean())
        if len(panel) not in best or loss < best[len(panel)][0]:
            best[len(panel)] = (loss, panel)
    return [best[size][1] for size in sorted(best)]


def _grown(mean: Floats) -> list[Members]:
    """Panels of one, two … members, each with the best next member added."""
    path: list[Members] = []
    members: Members = ()
    while len(members) < len(mean):
        rest = [member for member in range(len(mean)) if member not in members]
        with_each = [float(mean[np.ix_((*members, one), (*members, one))].mean()) for one in rest]
        members = (*members, rest[int(np.argmin(with_each))])
        path.append(members)
    return path
