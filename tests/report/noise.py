"""Findings on noise, cheaply: only the entries of a recipe that can claim something are run, and nothing is drawn.

Of nothing that is true, each family may claim something in 5 % of cases, and 10 % of reports may open with a claim.
`claiming` gives the sentences of each seed for the family that claims most; `few` says how many such seeds chance
allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from tests.often import times
from tests.report.truth import check_all, findings
from vantage.measures import find
from vantage.measures.presentation import Fact
from vantage.report.parts import Result
from vantage.report.recipe import Recipe, Show

SEEDS = times(200, 80)
RESAMPLES = 200
"""Of measures: fewer than by default, and enough for the 95 % interval that decides a sentence."""


class Claiming:
    """The part of a bundled recipe that can claim something."""

    def __init__(self, package: str, *modules: ModuleType, file: str = "recipe.yaml") -> None:
        whole = Recipe.bundled(package, *modules, file=file)
        sections = [
            section.model_copy(update={"show": [quick(entry) for entry in section.show if compares(entry)]})
            for section in whole.sections
        ]
        self.recipe = whole.model_copy(update={"sections": [section for section in sections if section.show]})

    def result(self, analysis: Any) -> Result:
        """The findings, every sentence of which is checked against its numbers."""
        result = self.recipe.result(analysis)
        check_all(result)
        return result


def compares(entry: Show) -> bool:
    """Whether an entry has a rule that compares."""
    rules = entry.rules
    if rules is None:
        rules = list(find(entry.measure).view.says) if entry.measure else []
    return any(not isinstance(rule, Fact) for rule in rules)


def quick(entry: Show) -> Show:
    """An entry whose measure draws fewer resamples."""
    if not entry.measure or "resamples" not in find(entry.measure).options:
        return entry
    return entry.model_copy(update={"options": {**entry.options, "resamples": RESAMPLES}})


def claiming(make: Callable[[int], Result], seeds: Iterable[int], but: str = "") -> Mapping[int, list[str]]:
    """What the family claims that claims most often, by seed; sentences that begin with `but` are true even of noise.

    Fails where more reports than one in ten, and two standard errors of that, open with a claim.
    """
    families: dict[str, dict[int, list[str]]] = {}
    opened, tried = [], list(seeds)
    for seed in tried:
        result = make(seed)
        for finding in findings(result):
            claimed = [one for one in finding.evidence if one.claims]
            if claimed and not (but and finding.text.removeprefix("Exploratory: ").startswith(but)):
                families.setdefault(claimed[0].family, {}).setdefault(seed, []).append(finding.text)
                opened += [seed] if finding in result.findings else []
    assert len(set(opened)) <= len(tried) * 0.1 + 2 * float(np.sqrt(len(tried) * 0.09)), sorted(set(opened))
    return max(families.values(), key=len, default={})


def few(seeds: int) -> float:
    """How many of so many seeds the family that claims most may claim in: five of a hundred, and three standard errors.

    Of eight families that are right, the one that claims most is above two standard errors in one of six trials.
    """
    return seeds * 0.05 + 3 * float(np.sqrt(seeds * 0.05 * 0.95))
