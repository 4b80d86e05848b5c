"""The ledger of claims: every statement that a report can make is one row, and the row alone decides what may be said.

Within a family, which is a research question, every rule has the same share of the error rate, and its comparisons
divide it; which families may open a report is a selection over families. docs/reports.md says how and why.

>>> claim = Claim("against", estimate=0.5, low=0.1, high=0.9, reference=0.0, p=p_value(0.5, 0.1, 0.9, 0.0))
>>> [[alone]] = settle([[claim]])
>>> alone.rule, round(alone.low, 2), round(alone.p_family, 3)
('against:above', 0.1, 0.014)
>>> [several] = settle([[claim] * 5])
>>> several[0].rule, round(several[0].low, 2), round(several[0].p_family, 3), round(several[0].seen, 2)
('against:within', -0.03, 0.071, 0.7)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf, isclose
from typing import Any, Final

import polars as pl
from scipy.special import stdtr, stdtrit

LEVEL: Final = 0.05
"""The error rate of a family."""
POWER: Final = 0.8
"""With which probability an effect of the size `seen` would have been found."""
LARGE: Final = 10**6
"""The degrees of freedom of an interval whose units are not known."""
CLAIMS: Final = ("above", "below", "most", "least")
"""Verdicts that claim something; the others are `within`, `alike`, `untested` and, of facts, `stated`."""
JUDGED: Final = ("floor", "floor_rater", "ceiling", "skill")
"""What a row says of a model besides its estimate: raters without skill, and what people reach among themselves."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One row of the ledger; docs/reports.md says what its columns mean. `low` and `high` hold within the family."""

    rule: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    reference: float | None = None
    p: float | None = None
    name: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    question: str = ""
    estimand: str = ""
    population: str = ""
    family: str = ""
    after: str = ""
    exploratory: bool = False
    p_family: float | None = None
    error: float | None = None
    seen: float | None = None
    floor: float | None = None
    floor_rater: str | None = None
    ceiling: float | None = None
    skill: float | None = None
    opens: bool = False
    units: float | None = None
    confidence: float = 0.95
    low_alone: float | None = None
    high_alone: float | None = None
    table: str = ""
    row: int | None = None
    columns: Sequence[str] = ()
    part: Sequence[Any] = ()
    limits: Sequence[float] | None = None

    @property
    def verdict(self) -> str:
        """What the numbers allow to be said."""
        return self.rule.partition(":")[2] or "stated"

    @property
    def level(self) -> float:
        """The error rate of its family: where an interval of another confidence was asked for, so was another test."""
        return round(1 - self.confidence, 12)

    @property
    def place(self) -> tuple[Any, ...]:
        """Which interval of which table it is about."""
        return self.table, tuple(self.columns), self.row

    @property
    def claims(self) -> bool:
        """Whether it claims a difference, a direction or a ranking."""
        return self.verdict in CLAIMS


def settle(rules: Sequence[Sequence[Claim]]) -> list[list[Claim]]:
    """The claims of several rules with verdicts, p values and intervals that hold within their families."""
    tested = Counter((n, claim.family) for n, one in enumerate(rules) for claim in one if claim.p is not None)
    ruled = Counter(family for _, family in tested)
    shares = {key: 1 / (count * ruled[key[1]]) for key, count in tested.items()}
    settled = [[_settled(claim, shares.get((n, claim.family), 1.0)) for claim in one] for n, one in enumerate(rules)]
    return _opening(_alike(settled))


def _alike(rules: list[list[Claim]]) -> list[list[Claim]]:
    """The claims with one interval for a row of a table, whatever is said of it: the one that holds for all of that."""
    ends: dict[Any, tuple[float, float]] = {}
    for claim in (claim for one in rules for claim in one if claim.rule.startswith("against") and claim.table):
        if claim.low is not None and claim.high is not None:
            low, high = ends.get(claim.place, (inf, -inf))
            ends[claim.place] = (min(low, claim.low), max(high, claim.high))

    def shared(claim: Claim) -> Claim:
        low, high = ends.get(claim.place, (claim.low, claim.high))
        return replace(claim, low=low, high=high)

    return [[shared(claim) for claim in one] for one in rules]


def p_value(
    estimate: float,
    low: float | None,
    high: float | None,
    reference: float,
    confidence: float = 0.95,
    units: float | None = None,
) -> float | None:
    """The two-sided p value that belongs to an interval; null where there is none.

    Tails are those of Student's t with one degree of freedom less than there are units, where their number is known.
    An interval of a single point says that all units are alike: the p value is that of the sign test, and null where
    nobody knows how many there are.

    >>> round(p_value(0.5, 0.0, 1.0, 0.0), 3), p_value(0.5, None, None, 0.0), p_value(1.0, 1.0, 1.0, 0.5)
    (0.05, None, None)
    >>> p_value(1.0, 1.0, 1.0, 0.5, units=9), p_value(1.0, 1.0, 1.0, 1.0, units=9)
    (0.00390625, 1.0)
    """
    if low is None or high is None:
        return None
    if not low < high:
        return 1.0 if estimate == reference else None if not units else min(1.0, 2.0 ** (1 - units))
    facing, away = (estimate - low, high - estimate) if estimate > reference else (high - estimate, estimate - low)
    # Where an interval reaches to one side of its estimate only, that side says how sure it is.
    t = abs(estimate - reference) / (facing if facing > 0 else away) * quantile((1 + confidence) / 2, units)
    return 2 * float(stdtr(_freedom(units), -t))


def quantile(probability: float, units: float | None = None) -> float:
    """A quantile of Student's t for an interval over so many units."""
    return float(stdtrit(_freedom(units), probability))


def ledger_frame(claims: Iterable[Claim]) -> pl.DataFrame:
    """The ledger as a table: one row per statement, without what only finds a row in its table again."""
    first = ("family", "exploratory", "question", "estimand", "population", "name", "verdict", "opens")
    inner = ("rule", "after", "columns", "part", "limits")
    kinds = {"verdict": "str", **Claim.__annotations__}
    order = dict.fromkeys([*first, *(name for name in kinds if name not in inner)])
    types = {"float | None": pl.Float64, "int | None": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}
    schema = {name: types.get(kinds[name], pl.String) for name in order}
    return pl.DataFrame([_row(claim) for claim in claims], schema=schema, strict=False)


def _row(claim: Claim) -> dict[str, Any]:
    numbers = ", ".join(f"{name}: {value}" for name, value in claim.numbers.items())
    return {"verdict": claim.verdict, **asdict(claim), "numbers": numbers}


def _settled(claim: Claim, share: float) -> Claim:
    """A claim at its share of the error rate; what has no p value was not tested, and a fact needs none."""
    if claim.p is None:
        return claim if claim.rule == "fact" else replace(claim, rule=f"{claim.rule.partition(':')[0]}:untested")
    assert claim.estimate is not None  # noqa: S101 - there is no test without an estimate
    assert claim.reference is not None  # noqa: S101 - nor without a reference
    p, beyond = min(1.0, claim.p / share), quantile(1 - claim.level * share / 2, claim.units)
    kind, _, end = claim.rule.partition(":")
    side = end or ("above" if claim.estimate > claim.reference else "below")
    verdict = side if p < claim.level else "within" if kind == "against" else "alike"
    low, high = (claim.low, claim.high) if end else _widened(claim, beyond)
    # An error of zero says that the units are all alike, not that nothing could escape.
    error = (claim.error if claim.error is not None else _error(claim, claim.estimate - claim.reference)) or None
    seen = None if error is None else error * (beyond + quantile(POWER, claim.units))
    return replace(claim, rule=f"{kind}:{verdict}", p_family=p, low=low, high=high, error=error, seen=seen)


def _error(claim: Claim, apart: float) -> float | None:
    """The standard error that belongs to the interval, or to the test where that is less sure."""
    of = []
    if claim.low is not None and claim.high is not None:
        of.append((claim.high - claim.low) / 2 / quantile((1 + claim.confidence) / 2, claim.units))
    if claim.p is not None and claim.p > 0 and (not of or abs(apart) > of[0]):
        # A test that sees nothing at all where an interval does says that its units are too few for either.
        of.append(abs(apart) / (max(quantile(1 - claim.p / 2, claim.units), 1e-9) if claim.p < 1 else 1.0))
    return max(of, default=None)


def _widened(claim: Claim, beyond: float) -> tuple[float | None, float | None]:
    """The interval at the level of the family; it leaves out the reference exactly where the test does."""
    if claim.low is None or claim.high is None:
        return claim.low, claim.high
    estimate, p = claim.estimate or 0.0, claim.p or 0.0
    wider = beyond / quantile((1 + claim.confidence) / 2, claim.units)
    below, above = (estimate - claim.low) * wider, (claim.high - estimate) * wider
    if p > 0:
        # The test may be stricter than the interval that came with it: then the side that faces the reference follows.
        apart = estimate - (claim.reference or 0.0)
        facing = abs(apart) * min(beyond / max(quantile(1 - p / 2, claim.units), 1e-9), _FARTHEST)
        below, above = (max(below, facing), above) if apart > 0 else (below, max(above, facing))
    lowest, highest = claim.limits or (-inf, inf)
    low, high = max(estimate - below, min(lowest, estimate)), min(estimate + above, max(highest, estimate))
    # An interval that only rounding would change is left as it is.
    return (claim.low if isclose(low, claim.low, abs_tol=_SAME) else low), (
        claim.high if isclose(high, claim.high, abs_tol=_SAME) else high
    )


_SAME: Final = 1e-12
"""Ends of intervals that lie closer are the same."""
_FARTHEST: Final = 3.0
"""How many times as far as the reference an interval is drawn out at most, where a test sees nothing at all."""


def _opening(rules: list[list[Claim]]) -> list[list[Claim]]:
    """The claims with those marked that may open the report: families are selected from the top of their hierarchy."""
    smallest: dict[str, float] = {}
    above: dict[str, str] = {}
    for claim in (claim for one in rules for claim in one if not claim.exploratory and claim.p_family is not None):
        smallest[claim.family] = min(smallest.get(claim.family, 1.0), claim.p_family or 0.0)
        above[claim.family] = claim.after
    level, levels = LEVEL, dict[str, float]()
    # What comes after a question that these data do not answer comes first.
    tested = [family for family in smallest if above[family] not in smallest]
    while tested:
        ordered = sorted(smallest[family] for family in tested)
        passing = [place for place, p in enumerate(ordered, 1) if p < level * place / len(ordered)]
        level *= max(passing, default=0) / len(ordered)
        chosen = {family: level for family in tested if smallest[family] < level}
        levels |= chosen
        tested = [family for family in smallest if above[family] in chosen]

    def opens(claim: Claim) -> bool:
        p = None if claim.exploratory else claim.p_family
        return p is not None and p < levels.get(claim.family, 0.0)

    return [[replace(one, opens=opens(one)) for one in claims] for claims in rules]


def _freedom(units: float | None) -> float:
    return max(units - 1, 1) if units else LARGE
