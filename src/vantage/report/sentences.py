"""Sentences that follow from numbers: the rules of `vantage.measures.presentation`, put to a result.

A rule becomes a `Statement`: the p values of its comparisons, and a function that writes its sentences once these were
corrected. `decide` corrects over all statements of a report together (Holm 1979, weighted), so that a page with many
comparisons claims something false in at most 5 % of cases, and writes the sentences. What the corrected values do not
support is said as such ("cannot be told apart"), and nothing is said of an estimate that is missing.

Where a result gives an interval and no p value, the p value is the one that belongs to the interval on the side of the
reference, with the tails of Student's t, so that interval and sentence never contradict each other. The highest row
is tested against the runner-up, two-sided: for the selected best this is valid without a further correction (Gutmann
and Maymin 1987).

>>> import polars as pl
>>> frame = pl.DataFrame({"question": ["trust", "skill"], "estimate": [0.60, 0.05], "low": [0.55, -0.02],
...                       "high": [0.65, 0.12]})
>>> rule = Against(0.0, above="Raters agree better than chance[ about {rows}]",
...                within="Agreement[ about {rows}] cannot be told apart from chance")
>>> for finding in decide([statement(rule, frame, Words(by=("question",), symbol="α"))])[0]:
...     print(finding.text)
Raters agree better than chance about trust (α = 0.60, 95 % CI 0.55 to 0.65).
Agreement about skill (α = 0.05, 95 % CI −0.02 to 0.12) cannot be told apart from chance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import NormalDist
from string import Formatter
from typing import Any, Final

import polars as pl
from scipy.special import stdtr, stdtrit

from vantage.measures.multiplicity import weighted_holm
from vantage.measures.presentation import Against, Column, Extremes, Fact, Rule
from vantage.report.cells import p_value as show_p
from vantage.report.parts import Evidence, Finding, cell_text

LEVEL: Final = 0.05
"""The error rate of a whole report."""
LARGE: Final = 10**6
"""The degrees of freedom of an interval whose units are not known."""
LISTED: Final = 4
"""How many rows a sentence names; of more it names three and counts the others."""
Row = Mapping[str, Any]
Claims = list[tuple[Row, str, Evidence]]

_OPTIONAL: Final = re.compile(r"\[([^\]]*)\]")
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class Words:
    """How the rows of a result are named in sentences.

    Args:
        by: The columns that tell rows apart.
        symbol: The symbol of the estimate.
        columns: How columns are shown.
        confidence: The coverage of the intervals.
        values: Further names that phrases use, such as the study's own options.
    """

    by: Sequence[str] = ()
    symbol: str = ""
    columns: Mapping[str, Column] = field(default_factory=dict)
    confidence: float = 0.95
    values: Mapping[str, Any] = field(default_factory=dict)

    def shown(self, row: Row, name: str) -> str:
        """A value of a row, as its column shows it; floats with two digits unless the column says otherwise."""
        how, value = self.columns.get(name, Column()), row[name] if name in row else self.values[name]
        if isinstance(value, float) and how.digits is None and not how.percent:
            how = Column(digits=2, signed=how.signed, chance=how.chance or name == "p" or name.startswith("p_"))
        return cell_text(how, value)

    def filled(self, phrase: str, row: Row, **further: str) -> str:
        """A phrase with the columns of a row in their places."""
        names = [name for _, name, _, _ in Formatter().parse(phrase) if name]
        return phrase.format_map({name: further.get(name) or self.shown(row, name) for name in names})

    def name(self, row: Row, label: str = "") -> str:
        """The name of a row; empty where nothing tells rows apart."""
        if label:
            return self.filled(label, row)
        first, *others = [str(row[column]) for column in self.by if row.get(column) not in (None, "")] or [""]
        return f"{first} ({', '.join(others)})" if others else first

    def result(self, row: Row, rule: Against | Extremes, corrected: float | None = None) -> str:
        """The estimate of a row with its interval, for brackets."""
        text = self.filled(rule.result, row) if rule.result else self._estimate(row, rule)
        return text if corrected is None else f"{text}, p {_p_text(corrected)} after correction"

    def _estimate(self, row: Row, rule: Against | Extremes) -> str:
        low, high = (self.shown({rule.value: row.get(end)}, rule.value) for end in (rule.low, rule.high))
        text = self.shown(row, rule.value)
        text = f"{self.symbol} = {text}" if self.symbol else text
        if row.get(rule.low) is not None and row.get(rule.high) is not None:
            return f"{text}, {self.confidence * 100:g} % CI {low} to {high}"
        if isinstance(rule, Against) and rule.p and row.get(rule.p) is not None:
            return f"{text}, p {_p_text(row[rule.p])}"
        return text

    def listed(self, rows: Sequence[str]) -> str:
        """Names as a list: a, b and c; of many the first three and a count."""
        if len(rows) > LISTED:
            rows = [*rows[: LISTED - 1], f"{len(rows) - LISTED + 1} others"]
        return rows[0] if len(rows) == 1 else f"{', '.join(rows[:-1])} and {rows[-1]}"


@dataclass(frozen=True, slots=True)
class Statement:
    """What a rule has to say of a result, before the correction over the whole report."""

    tests: Sequence[float | None]
    write: Callable[[Sequence[float | None]], list[Finding]]


def decide(statements: Sequence[Statement]) -> list[list[Finding]]:
    """The sentences of each statement, after correcting over the comparisons of all of them.

    Every statement has the same weight, which its comparisons share: a table of fifty raters leaves the one test of
    another table its power.
    """
    tests = [(p, 1 / len(one.tests)) for one in statements for p in one.tests]
    corrected = weighted_holm([p for p, _ in tests], [weight for _, weight in tests])
    findings, place = [], 0
    for one in statements:
        findings.append(one.write(corrected[place : place + len(one.tests)]))
        place += len(one.tests)
    return findings


def statement(rule: Rule, frame: pl.DataFrame, words: Words) -> Statement:
    """What a rule has to say of a frame."""
    rows = frame.to_dicts()
    if isinstance(rule, Fact):
        return Statement((), lambda _: _facts(rule, rows, words))
    if isinstance(rule, Against):
        return _against(rule, rows, words)
    return _extremes(rule, rows, words)


def p_value(
    estimate: float,
    low: float | None,
    high: float | None,
    reference: float,
    confidence: float = 0.95,
    units: int | None = None,
) -> float | None:
    """The two-sided p value that belongs to an interval; null where there is none.

    Tails are those of Student's t with one degree of freedom less than there are units, where their number is known.

    >>> round(p_value(0.5, 0.0, 1.0, 0.0), 3), p_value(0.5, None, None, 0.0)
    (0.05, None)
    >>> p_value(1.0, 1.0, 1.0, 0.5), p_value(0.5, 0.5, 0.5, 0.5)
    (0.0, 1.0)
    """
    if low is None or high is None:
        return None
    reach = estimate - low if estimate > reference else high - estimate
    if reach <= 0:
        return 1.0 if low <= reference <= high else 0.0
    freedom = max(units - 1, 1) if units else LARGE
    t = abs(estimate - reference) / reach * float(stdtrit(freedom, (1 + confidence) / 2))
    return 2 * float(stdtr(freedom, -t))


def _against(rule: Against, rows: Sequence[Row], words: Words) -> Statement:
    known = [
        (row, reference)
        for row in rows
        if row.get(rule.value) is not None and (reference := _reference(rule, row, words)) is not None
    ]
    tests = [_tested(rule, row, reference, words) for row, reference in known]
    return Statement(tests, partial(_compared, rule, known, tests, words))


def _compared(
    rule: Against,
    rows: Sequence[tuple[Row, float]],
    raw: Sequence[float | None],
    words: Words,
    corrected: Sequence[float | None],
) -> list[Finding]:
    """One sentence each for the rows above the reference, below it, and not told apart from it."""
    sides: dict[str, Claims] = {"above": [], "below": [], "within": []}
    for (row, reference), before, p in zip(rows, raw, corrected, strict=True):
        if p is None or before is None:
            continue
        side = "within" if p >= LEVEL else ("above" if row[rule.value] > reference else "below")
        low, high = row.get(rule.low), row.get(rule.high)
        beyond = low is not None and high is not None and not low <= reference <= high
        # An interval without the reference beside "cannot be told apart" needs the p value that decided.
        lost = p if side == "within" and (before < LEVEL or beyond) else None
        evidence = Evidence(f"against:{side}", row[rule.value], low, high, reference, p, words.name(row))
        sides[side].append((row, words.result(row, rule, lost), evidence))
    findings = []
    for side, claims in sides.items():
        phrase = getattr(rule, side)
        # Rows that a phrase names in other words, such as two groups that were compared, have sentences of their own.
        apart: dict[str, Claims] = {}
        farthest = sorted(claims, key=lambda claim: claim[0][rule.value], reverse=side != "below")
        for claim in farthest if phrase else ():
            apart.setdefault(words.filled(phrase, claim[0], rows="…"), []).append(claim)
        findings += [_sentence(phrase, part, words, rule.label) for part in apart.values()]
    return findings


def _extremes(rule: Extremes, rows: Sequence[Row], words: Words) -> Statement:
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if all(row.get(name) is not None for name in (rule.value, rule.low, rule.high)):
            parts.setdefault(tuple(row.get(name) for name in rule.among), []).append(row)
    ranked = [sorted(part, key=lambda row: -row[rule.value]) for part in parts.values() if len(part) > 1]
    # Of two rows the higher one is also the only one above the lowest: one test says both.
    ends = [(part, [part, part[::-1]] if rule.least and len(part) > 2 else [part]) for part in ranked]
    tests = [_selected(order, rule, words) for _, orders in ends for order in orders]
    return Statement(tests, partial(_ranked, rule, ends, words))


def _ranked(
    rule: Extremes, ends: Sequence[tuple[list[Row], list[list[Row]]]], words: Words, corrected: Sequence[float | None]
) -> list[Finding]:
    findings, place = [], 0
    for part, orders in ends:
        p = corrected[place : place + len(orders)]
        place += len(orders)
        sides = (("most", rule.most, part[0], part[1]), ("least", rule.least, part[-1], part[-2]))
        claims = [(*side, value) for side, value in zip(sides, p, strict=False) if value is not None and value < LEVEL]
        for side, phrase, row, other, value in claims:
            numbers = (row[rule.value], row[rule.low], row[rule.high], other[rule.value], value)
            evidence = Evidence(f"extreme:{side}", *numbers, words.name(row))
            named = f"{words.name(row, rule.label)} ({words.result(row, rule)})"
            findings.append(_finding(words.filled(_OPTIONAL.sub(r"\1", phrase), row, rows=named), evidence))
        if not claims and rule.alike:
            span = " to ".join(words.shown(row, rule.value) for row in (part[-1], part[0]))
            row, other = part[:2]
            interval = (row[rule.low], row[rule.high])
            evidence = Evidence("extreme:alike", row[rule.value], *interval, other[rule.value], p[0])
            findings.append(_finding(words.filled(_OPTIONAL.sub(r"\1", rule.alike), row, range=span), evidence))
    return findings


def _selected(order: Sequence[Row], rule: Extremes, words: Words) -> float:
    """The p value that the first row of an order lies beyond all others: its largest against any of them.

    The error of a difference is that of the two sides of the intervals that face each other (Zou and Donner 2008).
    """
    scale = _NORMAL.inv_cdf((1 + words.confidence) / 2)
    facing, away = (rule.low, rule.high) if order[0][rule.value] >= order[-1][rule.value] else (rule.high, rule.low)
    first, *others = order
    own, largest = abs(first[rule.value] - first[facing]) / scale, 0.0
    for row in others:
        spread = (own**2 + (abs(row[away] - row[rule.value]) / scale) ** 2) ** 0.5
        apart = abs(first[rule.value] - row[rule.value])
        p = (0.0 if apart else 1.0) if spread == 0 else 2 * (1 - _NORMAL.cdf(apart / spread))
        largest = max(largest, p)
    return largest


def _facts(rule: Fact, rows: Sequence[Row], words: Words) -> list[Finding]:
    if rule.where:
        decided = [row for row in rows if row.get(rule.where) is not None]
        rows = [row for row in decided if row[rule.where]]
        if decided and not rows:
            return [Finding(rule.none, (Evidence("fact", numbers={rule.where: False}),))] if rule.none else []
    stated = Formatter().parse(rule.text + _OPTIONAL.sub("", rule.row))
    names = [name for _, name, _, _ in stated if name and name != "rows"]
    known = []
    for row in rows if rule.each or rule.row else rows[:1]:
        used = {name: row[name] if name in row else words.values.get(name) for name in names}
        if all(value is not None for value in used.values()):
            known.append((row, Evidence("fact", numbers=used)))
    if rule.row and known:
        listed = words.listed(list(dict.fromkeys(_stated(rule.row, row, words) for row, _ in known)))
        return [Finding(words.filled(rule.text, known[0][0], rows=listed), tuple(one for _, one in known))]
    texts = {words.filled(rule.text, row): evidence for row, evidence in known}
    return [Finding(text, (evidence,)) for text, evidence in texts.items()]


def _stated(phrase: str, row: Row, words: Words) -> str:
    group = words.name(row)
    if group in words.filled(_OPTIONAL.sub("", phrase), row):
        group = ""  # The phrase names it already.
    named = group.replace("{", "{{").replace("}", "}}")
    return words.filled(_OPTIONAL.sub(lambda part: part[1].replace("{group}", named) if group else "", phrase), row)


def _sentence(phrase: str, claims: Claims, words: Words, label: str) -> Finding:
    named = [(words.name(row, label), result) for row, result, _ in claims]
    row, evidence = claims[0][0], [one for _, _, one in claims]
    if any(name for name, _ in named):
        listed = words.listed([f"{name} ({result})" for name, result in named])
        return _finding(words.filled(_OPTIONAL.sub(r"\1", phrase), row, rows=listed), *evidence)
    return _finding(f"{words.filled(_OPTIONAL.sub('', phrase), row)} ({named[0][1]})", *evidence)


def _finding(text: str, *evidence: Evidence) -> Finding:
    return Finding(text if text.endswith((".", "?", "!")) else f"{text}.", evidence)


def _reference(rule: Against, row: Row, words: Words) -> float | None:
    if not isinstance(rule.reference, str):
        return rule.reference
    reference: float | None = row.get(rule.reference, words.values.get(rule.reference))
    return reference


def _tested(rule: Against, row: Row, reference: float, words: Words) -> float | None:
    if rule.p:
        return row.get(rule.p)
    ends = (row.get(rule.low), row.get(rule.high))
    return p_value(row[rule.value], *ends, reference, words.confidence, row.get("units") or row.get("items"))


def _p_text(p: float) -> str:
    text = show_p(p)
    return text if text.startswith("<") else f"= {text}"
