"""Two corpora or two runs of a study side by side: their Spectra, the claims of both ledgers row by row, their options.

A difference has an interval where both numbers have one (Zou and Donner 2008, as if the runs were independent, which is
too wide where the same items are judged alike), and an effect size: the difference in standard deviations of what one
item adds to the number, which for means is Cohen's d over items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import hypot
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.storage import is_corpus
from vantage.measures import Against, View
from vantage.report.cells import counted
from vantage.report.engine import Written, decided
from vantage.report.folder import Report, is_report
from vantage.report.ledger import Claim
from vantage.report.overview import corpus_report
from vantage.report.page import value_text
from vantage.report.parts import Column, Result, Table, cell_text
from vantage.report.record import Record, made_at_once
from vantage.report.references import ALWAYS
from vantage.report.spectrum import beside
from vantage.report.views import present

_REACH: Final = NormalDist().inv_cdf(0.975)
"""Standard errors from the middle of a 95 % interval to its end."""


def compare(first: str | Path, second: str | Path, *, seed: int = 0) -> Report:
    """Two folders side by side, ready to be written: `compare("a", "b").write("folder")`."""
    folders = [Path(first), Path(second)]
    names = [folder.resolve().name for folder in folders]
    labels = names if names[0] != names[1] else [f"{name} ({side})" for name, side in zip(names, "AB", strict=True)]
    corpora, reports = zip(*(_opened(folder, seed) for folder in folders), strict=True)
    sections = []
    if all(corpora) and (drawn := beside(dict(zip(labels, corpora, strict=True)))):
        sections.append(Written("The same texts", [], [*drawn]))
    sections.append(_claims([report.result for report in reports], labels))
    settings = _settings([report.record for report in reports], labels)
    sections.append(Written("Options", ["Options that differ come first."], [settings]))
    written, findings, ledger = decided(sections)
    warnings = list(dict.fromkeys(warning for report in reports for warning in report.result.warnings))
    record = made_at_once("comparison", f"{labels[0]} beside {labels[1]}", options={"folders": [*map(str, folders)]})
    return Report(record, Result(written, findings, warnings, references=ALWAYS, ledger=ledger))


def _opened(folder: Path, seed: int) -> tuple[Corpus | None, Report]:
    """The corpus of a folder, where it has one, and its report: the one that is stored, or one made for a corpus."""
    if is_corpus(folder):
        corpus = Corpus.read(folder)
        return corpus, corpus_report(corpus, seed=seed)
    report = Report.read(folder)
    inside = next((place for place in (folder / "corpus", folder.parent) if is_corpus(place)), None)
    return None if inside is None or not is_report(folder) else Corpus.read(inside), report


def _claims(results: Sequence[Result], labels: Sequence[str]) -> Written:
    """The rows that both ledgers have, with their differences; sentences are about those that open either report."""
    said = {_key(claim) for result in results for finding in result.findings for claim in finding.evidence}
    first, second = ({_key(one): one for one in result.ledger} for result in results)
    joined = {key: _row(claim, second[key]) for key, claim in first.items() if key in second}
    rows = {key: row for key, row in joined.items() if row is not None}
    rows = dict(sorted(rows.items(), key=lambda one: one[0] not in said))  # those with a sentence first
    title = "How the claims differ"
    text = [f"The ledgers have {counted(len(joined), 'row')} in common."]
    if not rows:
        return Written(title, text)
    opening = pl.when(pl.int_range(pl.len()) < len(rows.keys() & said)).then(0.0).alias("alike")
    frame = pl.DataFrame(list(rows.values()), infer_schema_length=None).with_columns(opening)
    columns = {
        "first": Column(labels[0], digits=2, interval=("first_low", "first_high")),
        "second": Column(labels[1], digits=2, interval=("second_low", "second_high")),
        "estimate": Column("difference", digits=2, signed=True, interval=("low", "high")),
        "effect": Column("effect size", digits=2, signed=True),
    }
    shown = ["estimand", "name", *columns]
    caption = f"Every number that is in both ledgers, and the difference ({labels[1]} minus {labels[0]})."
    # Brackets and braces have a meaning in phrases.
    one, other = (label.translate(str.maketrans("[]{}", "()()")) for label in labels)
    rule = Against(
        "alike",
        label="{of}",
        above=f"{other} is higher than {one} in {{rows}}",
        below=f"{one} is higher than {other} in {{rows}}",
        within=f"{one} and {other} cannot be told apart in {{rows}}",
        result="{estimate}, 95 % CI {low} to {high}{size}",
    )
    view = View(caption, columns=columns, show=shown, says=(rule,))
    family = ("Do the two differ?", False, "")
    table = present(frame, view, name="claims", caption=caption, keys=("estimand", "name"), families=[family])
    return Written(title, text, [table], [(statement, 1) for statement in table.statements])


def _key(claim: Claim) -> tuple[str, ...]:
    return claim.table, claim.estimand, claim.name, *claim.columns[:1]


def _row(one: Claim, other: Claim) -> dict[str, Any] | None:
    """One difference, with its interval and its size, where both numbers have intervals of their own."""
    ends = [(claim.estimate, claim.low_alone, claim.high_alone) for claim in (one, other)]
    if any(None in three for three in ends):
        return None
    (a, a_low, a_high), (b, b_low, b_high) = ((float(x or 0), float(y or 0), float(z or 0)) for x, y, z in ends)
    effect = None
    if one.units is not None and other.units is not None:
        sums = ((a_high - a_low) ** 2 * one.units + (b_high - b_low) ** 2 * other.units) / 2
        effect = (b - a) / (sums**0.5 / (2 * _REACH)) if sums > 0 else None
    size = cell_text(Column(digits=2, signed=True), effect)
    return {
        "of": f"{one.estimand} of {one.name}" if one.name else one.estimand,
        "estimand": one.estimand,
        "name": one.name,
        "first": a,
        "first_low": a_low,
        "first_high": a_high,
        "second": b,
        "second_low": b_low,
        "second_high": b_high,
        "estimate": b - a,
        "low": b - a - hypot(b - b_low, a_high - a),
        "high": b - a + hypot(b_high - b, a - a_low),
        "effect": effect,
        "size": "" if effect is None else f", effect size {size}",
    }


def _settings(records: Sequence[Record], labels: Sequence[str]) -> Table:
    """Every option of the two, those that differ first."""
    sides = [_recorded(record) for record in records]
    rows = []
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        values = [value_text(side.get(name)) for side in sides]
        rows.append({"option": name, "first": values[0], "second": values[1], "differs": values[0] != values[1]})
    frame = pl.DataFrame(rows).sort("differs", descending=True, maintain_order=True)
    columns = {"first": Column(labels[0]), "second": Column(labels[1])}
    return Table("options", "The options of both.", frame, columns, ("option", *columns, "differs"), ("option",))


def _recorded(record: Record) -> Mapping[str, Any]:
    known = {name: getattr(record, name) for name in ("study", "data", "models", "seed", "state")} | record.options
    known |= {f"instrument {one['id']}": f"version {one['version']}" for one in record.instruments}
    return known | {f"version of {name}": version for name, version in record.versions.items()}
