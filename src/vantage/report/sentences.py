"""Sentences that follow from the ledger: the rules of `vantage.measures.presentation`, put to a result.

A rule becomes a `Statement`: its claims, not yet settled, and a function that writes sentences from settled ones.
`decide` settles the claims of several statements together (`vantage.report.ledger`) and writes the sentences. What the
numbers do not support is said as such, with what would have been seen; nothing is said of an estimate that is missing.

The highest row is tested against every other one, two-sided: for the selected best this is valid without a further
correction (Gutmann and Maymin 1987). A row that has an estimate and no interval keeps the ranking open.

>>> import polars as pl
>>> frame = pl.DataFrame({"question": ["trust", "skill"], "estimate": [0.60, 0.05], "low": [0.55, -0.02],
...                       "high": [0.65, 0.12]})
>>> rule = Against(0.0, above="Raters agree better than chance[ about {rows}]",
...                within="Agreement[ about {rows}] cannot be told apart from chance")
>>> for finding in decide([statement(rule, frame, Words(by=("question",), symbol="α"))])[0]:
...     print(finding.text)
Raters agree better than chance about trust (α = 0.60, 95 % CI 0.54 to 0.66).
Agreement about skill (α = 0.05, 95 % CI −0.03 to 0.13) cannot be told apart from chance; α = 0.11 would have been seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from string import Formatter
from typing import Any, Final

import polars as pl

from vantage.measures import Against, Column, Extremes, Fact, speaks_of_raters
from vantage.measures.presentation import BOUNDS, Rule
from vantage.report.cells import p_value as show_p
from vantage.report.ledger import JUDGED, Claim, p_value, quantile, settle
from vantage.report.parts import Finding, cell_text

LISTED: Final = 4
"""How many rows a sentence names; of more it names three and counts the others."""
EXPLORATORY: Final = "Exploratory: "
"""How sentences begin that no declared research question asks for."""
_FURTHER: Final = 4
"""So many further digits at most tell the end of an interval from a reference."""
Row = Mapping[str, Any]

_OPTIONAL: Final = re.compile(r"\[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Words:
    """How the rows of a result are named in sentences, and what the ledger says of them."""

    by: Sequence[str] = ()
    symbol: str = ""
    columns: Mapping[str, Column] = field(default_factory=dict)
    confidence: float = 0.95
    values: Mapping[str, Any] = field(default_factory=dict)
    estimand: str = ""
    population: str = ""
    table: str = ""

    def shown(self, row: Row, name: str, further: int = 0) -> str:
        """A value of a row, as its column shows it; floats with two digits unless the column says otherwise."""
        how, value = self.column(name), row[name] if name in row else self.values[name]
        if isinstance(value, float) and how.digits is None and not how.percent:
            how = Column(digits=2, signed=how.signed, chance=how.chance or name == "p" or name.startswith("p_"))
        return cell_text(replace(how, digits=(how.digits or 0) + further) if further else how, value)

    def column(self, name: str) -> Column:
        """How a column is shown; the ends of an interval as their estimate, where nothing else is said."""
        within = (one for one in self.columns.values() if name in (one.interval or ()))
        return self.columns.get(name) or next(within, Column())

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

    def result(self, row: Row, rule: Against | Extremes, claim: Claim) -> str:
        """The estimate of a claim with its interval, for brackets."""
        row = {**row, rule.low: claim.low, rule.high: claim.high}
        if rule.result:
            return self.filled(rule.result, row)
        text = self.number(self.shown(row, rule.value))
        if claim.low is not None and claim.high is not None:
            for further in range(_FURTHER):
                numbers = (claim.low, claim.high, claim.reference)
                low, high, other = (self.shown({rule.value: one}, rule.value, further) for one in numbers)
                # An end that is beyond the reference is not rounded onto it.
                if not claim.claims or other.lstrip("+") not in (low.lstrip("+"), high.lstrip("+")):
                    break
            return f"{text}, {self.confidence * 100:g} % CI {low} to {high}"
        if claim.p_family is None:
            return text
        p = show_p(claim.p_family)
        return f"{text}, p {p if p.startswith('<') else f'= {p}'}"

    def number(self, text: str) -> str:
        """A number with its symbol."""
        return f"{self.symbol} = {text}" if self.symbol else text

    def limits(self, name: str) -> tuple[float, float] | None:
        """Between which numbers a column lies, as far as its symbol says so or it is a share."""
        how = self.columns.get(name, Column())
        return (0.0, 1.0) if how.percent and not how.signed else BOUNDS.get(self.symbol)

    def listed(self, rows: Sequence[str]) -> str:
        """Names as a list: a, b and c; of many the first three and a count."""
        if len(rows) > LISTED:
            rows = [*rows[: LISTED - 1], f"{len(rows) - LISTED + 1} others"]
        return rows[0] if len(rows) == 1 else f"{', '.join(rows[:-1])} and {rows[-1]}"


@dataclass(frozen=True, slots=True)
class Statement:
    """What a rule has to say of a result: its claims before they are settled, and how settled ones are said."""

    claims: Sequence[Claim]
    write: Callable[[Sequence[Claim]], list[Finding]]


def decide(statements: Sequence[Statement]) -> list[list[Finding]]:
    """The sentences of each statement, with the claims of all of them settled together."""
    settled = settle([one.claims for one in statements])
    return [one.write(claims) for one, claims in zip(statements, settled, strict=True)]


def settled(rule: Against, frame: pl.DataFrame, family: str = "") -> list[Claim]:
    """What the ledger says of each row of a frame; a fact without a number where there is nothing to say."""
    [claims] = settle([statement(rule, frame, Words(), family=family).claims])
    of = {claim.row: claim for claim in claims}
    return [of.get(row, Claim("fact")) for row in range(len(frame))]


def statement(
    rule: Rule,
    frame: pl.DataFrame,
    words: Words,
    *,
    family: str = "",
    exploratory: bool = False,
    after: str = "",
) -> Statement:
    """What a rule has to say of a frame, as an answer to a research question, which may come after one."""
    rows = frame.to_dicts()
    if isinstance(rule, Fact):
        facts = [replace(claim, table=words.table) for one in _facts(rule, rows, words) for claim in one.evidence]
        return Statement(facts, lambda _: _facts(rule, rows, words))
    # Which row is the highest is another question than whether rows lie above a reference.
    family = f"{family} (ranking)".strip() if isinstance(rule, Extremes) else family
    drafts = _against(rule, rows, words) if isinstance(rule, Against) else _extremes(rule, rows, words)
    claims = [
        replace(
            claim,
            **judged,
            estimand=words.estimand,
            population=words.population,
            table=words.table,
            question=str(row.get("question") or ""),
            family=_asked(family, row, words),
            after=_asked(after, row, words),
            exploratory=exploratory,
            confidence=words.confidence,
            columns=(rule.value, rule.low, rule.high),
            limits=words.limits(rule.value),
            low_alone=claim.low,
            high_alone=claim.high,
        )
        for claim in drafts
        for row in [rows[claim.row or 0]]
        for judged in [{name: row[name] for name in JUDGED if row.get(name) is not None}]
    ]
    write = partial(_compared if isinstance(rule, Against) else _ranked, rule, rows, words)  # type: ignore[arg-type]
    return Statement(claims, write)


def _against(rule: Against, rows: Sequence[Row], words: Words) -> list[Claim]:
    claims = []
    stated = {name for _, name, _, _ in Formatter().parse(rule.result) if name} - words.values.keys()
    for place, row in enumerate(rows):
        named, value = rule.reference, row.get(rule.value)
        reference = row.get(named, words.values.get(named)) if isinstance(named, str) else named
        if value is None or reference is None or not stated <= row.keys():
            continue
        low, high, units = row.get(rule.low), row.get(rule.high), _units(row)
        of_interval = p_value(value, low, high, reference, words.confidence, units)
        # A test of its own and the interval must agree: the one that is less sure decides.
        known = [p for p in (row.get(rule.p) if rule.p else None, of_interval) if p is not None]
        low, high = (low, high) if of_interval is not None else (None, None)
        p = max(known, default=None)
        claims.append(Claim("against", value, low, high, reference, p, words.name(row), units=units, row=place))
    return claims


def _compared(rule: Against, rows: Sequence[Row], words: Words, claims: Sequence[Claim]) -> list[Finding]:
    """One sentence each for the rows above the reference, below it, not told apart from it, and not tested."""
    findings = []
    for side in ("above", "below", "within"):
        phrase = getattr(rule, side)
        # Rows that a phrase names in other words, such as two groups that were compared, have sentences of their own.
        apart: dict[str, list[Claim]] = {}
        mine = [claim for claim in claims if claim.verdict == side and phrase]
        for claim in sorted(mine, key=lambda one: -abs((one.estimate or 0.0) - (one.reference or 0.0))):
            apart.setdefault(words.filled(phrase, rows[claim.row or 0], rows="…"), []).append(claim)
        findings += [_sentence(phrase, part, rows, words, rule) for part in apart.values()]
    untested = [claim for claim in claims if claim.verdict == "untested"]
    if untested and rule.within:
        named = [(words.name(row := rows[one.row or 0], rule.label), words.shown(row, rule.value)) for one in untested]
        listed = words.listed([f"{name} ({value})" if name else value for name, value in named])
        findings.append(_finding(f"Not tested, since there is no interval: {listed}", *untested))
    return findings


def _extremes(rule: Extremes, rows: Sequence[Row], words: Words) -> list[Claim]:
    parts: dict[tuple[Any, ...], list[int]] = {}
    for place, row in enumerate(rows):
        if row.get(rule.value) is not None:
            parts.setdefault(tuple(row.get(name) for name in rule.among), []).append(place)
    claims = []
    for part, places in parts.items():
        ranked = sorted(places, key=lambda place: -rows[place][rule.value])
        # Of two rows the higher one is also the only one above the lowest: one test says both.
        ends = {"most": ranked, **({"least": ranked[::-1]} if rule.least and len(ranked) > 2 else {})}
        for end, order in ends.items() if len(ranked) > 1 else ():
            first = rows[order[0]]
            p, error = _first([rows[place] for place in order], rule, words)
            low, high = (None, None) if p is None else (first.get(rule.low), first.get(rule.high))
            reference, of = rows[order[1]][rule.value], (*part, len(order))
            how: dict[str, Any] = {"error": error, "row": order[0], "part": of}
            claims.append(Claim(f"extreme:{end}", first[rule.value], low, high, reference, p, words.name(first), **how))
    return claims


def _ranked(rule: Extremes, rows: Sequence[Row], words: Words, claims: Sequence[Claim]) -> list[Finding]:
    findings: list[Finding] = []
    parts: dict[tuple[Any, ...], list[Claim]] = {}
    for claim in claims:
        parts.setdefault(tuple(claim.part), []).append(claim)
    for ends in parts.values():
        for claim in (claim for claim in ends if claim.claims):
            row, phrase = rows[claim.row or 0], rule.most if claim.verdict == "most" else rule.least
            named = f"{words.name(row, rule.label)} ({words.result(row, rule, claim)})"
            findings.append(_finding(words.filled(_OPTIONAL.sub(r"\1", phrase), row, rows=named), claim))
        if any(claim.claims for claim in ends):
            continue
        first = ends[0]
        row = rows[first.row or 0]
        among = [one for one in rows if all(one.get(name) == row.get(name) for name in rule.among)]
        known = [one for one in among if one.get(rule.value) is not None]
        if first.verdict == "alike" and rule.alike:
            ends_of = (min(float(one[rule.value]) for one in known), row[rule.value])
            shown = dict.fromkeys(words.shown({rule.value: end}, rule.value) for end in ends_of)
            span = " to ".join(shown) if len(shown) > 1 else f"{next(iter(shown))} each"
            text = words.filled(_OPTIONAL.sub(r"\1", rule.alike), row, range=span)
            lead = "" if first.seen is None else f"; a lead of {_size(first.seen, rule, words)} would have been seen"
            findings.append(_finding(f"{text.removesuffix('.')}{lead}", *ends))
        elif first.verdict == "untested":
            # These keep the ranking open.
            bare = [words.name(one, rule.label) for one in known if None in (one.get(rule.low), one.get(rule.high))]
            whose = "any of them" if len(bare) == len(among) else words.listed(bare)
            text = f"Highest is {words.name(row, rule.label)} ({words.number(words.shown(row, rule.value))})"
            text += f", but no ranking can be tested, since there is no interval for {whose}"
            findings.append(_finding(text, *ends))
    return findings


def _first(order: Sequence[Row], rule: Extremes, words: Words) -> tuple[float | None, float | None]:
    """The p value that the first row lies beyond all others, the largest against any, and the error of that lead.

    The error of a difference is that of the two sides of the intervals that face each other (Zou and Donner 2008).
    """
    if any(None in (row.get(rule.low), row.get(rule.high)) for row in order):
        return None, None
    facing, away = (rule.low, rule.high) if order[0][rule.value] >= order[-1][rule.value] else (rule.high, rule.low)
    scale = quantile((1 + words.confidence) / 2)
    first, *others = order
    own, largest = abs(first[rule.value] - first[facing]) / scale, (0.0, 0.0)
    for row in others:
        spread = (own**2 + (abs(row[away] - row[rule.value]) / scale) ** 2) ** 0.5
        apart = abs(first[rule.value] - row[rule.value])
        reach = spread * scale
        p = p_value(apart, apart - reach, apart + reach, 0.0) if spread > 0 else 0.0 if apart else 1.0
        largest = max(largest, (p or 0.0, spread))
    return largest


def _facts(rule: Fact, rows: Sequence[Row], words: Words) -> list[Finding]:
    if rule.where:
        decided = [row for row in rows if row.get(rule.where) is not None]
        rows = [row for row in decided if row[rule.where]]
        if decided and not rows:
            return [Finding(rule.none, (Claim("fact", numbers={rule.where: False}),))] if rule.none else []
    stated = Formatter().parse(rule.text + _OPTIONAL.sub("", rule.row))
    names = [name for _, name, _, _ in stated if name and name != "rows"]
    known = []
    for row in rows if rule.each or rule.row else rows[:1]:
        used = {name: row[name] if name in row else words.values.get(name) for name in names}
        if all(value is not None for value in used.values()):
            known.append((row, Claim("fact", name=words.name(row), numbers=used)))
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


def _sentence(phrase: str, claims: Sequence[Claim], rows: Sequence[Row], words: Words, rule: Against) -> Finding:
    named = [(words.name(row := rows[one.row or 0], rule.label), words.result(row, rule, one)) for one in claims]
    row = rows[claims[0].row or 0]
    if any(name for name, _ in named):
        listed = words.listed([f"{name} ({result})" for name, result in named])
        text = words.filled(_OPTIONAL.sub(r"\1", phrase), row, rows=listed)
    else:
        text = f"{words.filled(_OPTIONAL.sub('', phrase), row)} ({named[0][1]})"
    seen = _visible(claims, words, rule) if claims[0].verdict == "within" else ""
    return _finding(f"{text.removesuffix('.')}{seen}", *claims)


def _visible(claims: Sequence[Claim], words: Words, rule: Against) -> str:
    """What would have been found in rows that cannot be told apart from the reference."""
    sizes = [(claim.reference or 0.0, claim.seen) for claim in claims if claim.seen is not None]
    if not sizes:
        return ""
    top = (claims[0].limits or (-inf, inf))[1]
    if all(reference + seen > top for reference, seen in sizes):
        return "; not even the largest possible value would have been seen"
    ends = sorted(min(reference + seen, top) for reference, seen in sizes)
    text = " to ".join(dict.fromkeys(_size(end, rule, words) for end in (ends[0], ends[-1])))
    return f"; {words.number(text) if words.symbol else f'an effect of {text}'} would have been seen"


def _size(number: float, rule: Against | Extremes, words: Words) -> str:
    return words.shown({rule.value: number}, rule.value).removeprefix("+")


def _finding(text: str, *evidence: Claim) -> Finding:
    text = text if text.endswith((".", "?", "!")) else f"{text}."
    return Finding(f"{EXPLORATORY}{text}" if evidence and evidence[0].exploratory else text, evidence)


def _asked(family: str, row: Row, words: Words) -> str:
    """The research question, with the columns of the row that it names."""
    names = [name for _, name, _, _ in Formatter().parse(family) if name]
    return family.format_map({name: str(row.get(name, words.values.get(name, ""))) for name in names})


def _units(row: Row) -> float | None:
    """How many units an interval rests on: by its degrees of freedom, or the fewer ones of what it is over."""
    if row.get("df"):
        return float(row["df"]) + 1
    raters = [row.get("raters")] if speaks_of_raters(row.get("over")) else []
    return min((one for one in (row.get("units") or row.get("items"), *raters) if one), default=None)
