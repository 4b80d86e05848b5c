"""Whether a sentence is true to its numbers: what every finding of every report is checked by.

The check looks at the words of a sentence and at the evidence it carries, independently of the rules that wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.report.ledger import Claim
from vantage.report.parts import Finding, Result

COMPARING = re.compile(
    r"\b(most|least|more|less|better|worse|best|worst|higher|lower|highest|lowest|stronger|weaker|fewer|further|closer|"
    r"significant(ly)?|outperforms?|exceeds?|recovers?|settles?|agrees? with)\b",
    re.IGNORECASE,
)
"""Words that compare; a sentence with one of them needs a test."""
ENDS = {"value": "estimate", "low": "low", "high": "high"}
"""The options of a chart that name its columns, and the columns that it uses without them."""
UNDECIDED = re.compile(
    r"can(not)? be told apart|do(es)? not tell|no better than|no more than|not shown|no correlation|is not clear|"
    r"no ranking can be tested|Not tested|found no difference|no clear|about as (often|much|differently)",
    re.IGNORECASE,
)


KINDS: Final = ("random", "perfect", "constant", "tied", "steady", "follower", "text-blind", "user-blind")
"""Raters of every kind: those who cannot judge, those who judge as people do, and those who do so for some alone."""


def of_every_kind(people: Any, codes: Any, side: Any, rng: np.random.Generator) -> dict[str, Any]:
    """What raters of every kind answer to each item, given people's answers (people × items, NaN where there is none).

    `side` says which people the follower follows.
    """
    codes, items = np.asarray(codes, dtype=float), people.shape[1]

    def nearest(values: Any) -> Any:
        return codes[np.abs(np.asarray(values)[:, None] - codes).argmin(axis=1)]

    mean = np.nanmean(people, axis=0)
    followed = np.where(np.isfinite(people[side]).any(axis=0), np.nan_to_num(people[side]).sum(axis=0), np.nan)
    followed = followed / np.maximum(np.isfinite(people[side]).sum(axis=0), 1)
    others = [np.nanmedian(np.delete(people, n, axis=1)) for n in range(items)]
    return {
        "random": rng.choice(codes, items),
        "perfect": nearest(np.nanmedian(people, axis=0)),
        "constant": np.full(items, codes[len(codes) // 2]),
        "tied": np.where(np.arange(items) % 2, codes[0], codes[-1]),
        "steady": nearest(mean + rng.normal(0, 0.1 * np.ptp(codes), items)),
        "follower": nearest(np.where(np.isnan(followed), mean, followed)),
        "text-blind": nearest(others),
        "user-blind": nearest(mean),
    }


def findings(result: Result) -> Iterator[Finding]:
    """Every finding of a report, wherever it stands."""
    yield from result.findings
    for section in result.sections:
        yield from section.findings


def claims(result: Result) -> list[str]:
    """The sentences that claim a difference, a direction or a ranking."""
    told = [one for one in findings(result) if any(map(_claims, one.evidence)) and not UNDECIDED.search(one.text)]
    return list(dict.fromkeys(finding.text for finding in told))


def check(finding: Finding) -> None:
    """Fails where a sentence says what its numbers do not."""
    text = finding.text
    assert text, "an empty sentence"
    assert text[-1] in ".?!", text
    assert finding.evidence, f"nothing stands behind: {text}"
    assert not re.search(r"\bNone\b|\bnan\b|\{|\}|–––|\[\]|\(\)", text), text
    assert not re.search(r"\b1 (raters|items|people|texts|models|questions|figures|runs|rows)\b", text), text
    assert not re.search(r"\bp = \.?0\.?0*\b(?!\d)", text), text
    for evidence in finding.evidence:
        _check(evidence, text)
    tested = [one for one in finding.evidence if one.rule != "fact"]
    if COMPARING.search(text):
        assert tested, f"a comparison without a test: {text}"
    if UNDECIDED.search(text):
        assert not any(one.rule.endswith((":above", ":most", ":least")) for one in tested), text
    elif tested:
        assert any(map(_claims, tested)), f"a claim that no test supports: {text}"


def check_all(result: Result) -> None:
    """Checks every finding of a report, and that paragraphs and captions have no gap or slip in them."""
    for finding in findings(result):
        check(finding)
    check_ledger(result)
    for section in result.sections:
        words = [section.title, *section.text]
        for part in section.parts:
            words += [part.caption, *getattr(part, "notes", ())]
        for text in [*words, *result.warnings, *result.methods]:
            assert not re.search(r"\bNone\b|\bnan\b|\{\w*\}|–––", text), text
            assert not re.search(r"\b1 (raters|items|people|texts|models|questions|figures|runs|rows)\b", text), text


def check_ledger(result: Result) -> None:
    """Fails where sentence, ledger, table and figure of a report disagree."""
    ledger = {id(claim) for claim in result.ledger}
    known = {table.name: table for table in result.tables}
    for finding in findings(result) if result.ledger else ():
        for claim in finding.evidence:
            known_claim = id(claim) in ledger or claim in result.ledger  # a report that was read has copies
            assert known_claim or claim.rule == "fact", f"not in the ledger: {finding.text}"
            if claim.claims and finding in result.findings:
                assert claim.opens, f"may not open the report: {finding.text}"
    for claim in result.ledger:
        if not claim.columns or (table := known.get(claim.table)) is None or claim.row is None:
            continue
        value, *ends = claim.columns
        assert table.frame[value][claim.row] == claim.estimate, claim
        if claim.low is not None and set(ends) <= set(table.frame.columns):
            shown = [table.frame[name][claim.row] for name in ends]
            assert shown == [claim.low, claim.high], (claim.table, claim.name, shown, claim)
        if claim.verdict in ("most", "least"):
            best = table.frame[value].max() if claim.verdict == "most" else table.frame[value].min()
            assert len(claim.part) > 1 or best == claim.estimate, f"not the {claim.verdict} of all rows: {claim}"
        for figure in result.figures:
            same = figure.data.columns if figure.options.get("value", "estimate") == value else []
            if figure.name.startswith(claim.table) and set(ends) <= set(same) and value in same:
                drawn = figure.data.filter(pl.col(value) == claim.estimate, pl.col(ends[0]).is_not_null())
                pairs = set(drawn.select(ends).iter_rows())
                assert not pairs or claim.low is None or (claim.low, claim.high) in pairs, (figure.name, claim)


def check_intervals(result: Result) -> None:
    """Fails where a figure draws an interval around a value that lies outside it."""
    for figure in result.figures:
        value, low, high = (figure.options.get(name, column) for name, column in ENDS.items())
        if figure.chart in ("points", "curve") and {value, low, high} <= set(figure.data.columns):
            known = figure.data.select(pl.col(name).cast(pl.Float64) for name in (value, low, high)).drop_nulls()
            for estimate, bottom, top in known.iter_rows():
                assert bottom - 1e-6 <= estimate <= top + 1e-6, (figure.name, estimate, bottom, top)


def _claims(evidence: Claim) -> bool:
    return evidence.rule.endswith((":above", ":below", ":most", ":least"))


def _check(evidence: Claim, text: str) -> None:
    kind, _, side = evidence.rule.partition(":")
    if kind == "fact":
        assert all(value is not None for value in evidence.numbers.values()), text
        return
    assert text.startswith("Exploratory: ") == evidence.exploratory, text
    assert evidence.estimate is not None, text
    assert evidence.reference is not None, text
    if side == "untested":
        assert evidence.p is None, text
        return
    assert evidence.p is not None, text
    assert evidence.p_family is not None, text
    assert evidence.p_family >= evidence.p, text
    if side in ("above", "most"):
        assert evidence.estimate > evidence.reference, text
    if side in ("below", "least"):
        assert evidence.estimate < evidence.reference, text
    claimed = evidence.p_family < evidence.level
    assert claimed == (side in ("above", "below", "most", "least")), text
    if kind == "against" and evidence.low is not None and evidence.high is not None:
        assert evidence.low - 1e-9 <= evidence.estimate <= evidence.high + 1e-9, text
        # Interval and sentence cannot disagree.
        beyond = not evidence.low - 1e-9 <= evidence.reference <= evidence.high + 1e-9
        assert beyond == claimed, text
    if side == "within" and evidence.error is not None:
        assert "would have been seen" in text, text
    if evidence.name and kind == "extreme" and side != "alike":
        assert evidence.name.split(" (")[0] in text, text


def flipped(values: Any, low: float, high: float) -> Any:
    """Answers turned round on their scale."""
    return low + high - values
