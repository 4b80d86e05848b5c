"""Rules of a study file about raters: what is looked at, from which value on, and after how much of it.

A rule reads `failed attention > 0.5`, `seconds < 2 after 10` or `longest run > 30`. It looks at a rater's own answers
only, so that its result depends on nobody else, and it is applied when the rater finishes a batch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

FACTS: Final = {
    "failed attention": "share of attention checks that were failed",
    "failed gold": "share of gold items that were failed",
    "seconds": "median seconds per page",
    "longest run": "longest run of equal answers to a question",
    "same answer": "share of the most frequent answer to a question",
    "copied reasons": "share of reasons that nearly copy a model's",
}
"""What a rule may look at."""
_RULE: Final = re.compile(rf"({'|'.join(FACTS)})\s*([<>])\s*([0-9]*\.?[0-9]+)(?:\s+after\s+([0-9]+))?")


@dataclass(frozen=True, slots=True)
class RaterFact:
    """What is known of a rater: a value, and how many answers it rests on."""

    value: float
    of: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A fact compared with a number.

    >>> rule = Rule.parse("failed attention > 0.5 after 2")
    >>> rule.breaks({"failed attention": RaterFact(1.0, 1)}), rule.breaks({"failed attention": RaterFact(1.0, 2)})
    (False, True)
    """

    fact: str
    below: bool
    limit: float
    after: int = 1
    """Answers, checks or reasons that there must be."""

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Reads a rule; `ValueError` says how one is written."""
        match = _RULE.fullmatch(" ".join(text.split()))
        if match is None:
            known = ", ".join(f"'{name}'" for name in FACTS)
            raise ValueError(f"'{text}' is no rule; write for example 'failed attention > 0.5 after 2', with {known}")
        return cls(match[1], match[2] == "<", float(match[3]), int(match[4] or 1))

    def breaks(self, facts: Mapping[str, RaterFact]) -> bool:
        """Whether a rater with these facts breaks the rule."""
        fact = facts.get(self.fact)
        if fact is None or fact.of < self.after:
            return False
        return fact.value < self.limit if self.below else fact.value > self.limit
