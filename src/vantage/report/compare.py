"""Two runs side by side: the options that differ, the same tables joined row by row, the same figures in pairs.

A difference has an interval where both numbers have one (Zou and Donner 2008, as if the runs were independent, which is
too wide where the same items are judged alike), and an effect size: the difference in standard deviations of what one
item adds to the number, which for means is Cohen's d over items.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

import polars as pl

from vantage.measures import Against
from vantage.report.cells import counted
from vantage.report.charts import palette
from vantage.report.folder import Report
from vantage.report.ledger import Claim
from vantage.report.page import ROWS, caveats, figure_view, furniture, outcomes, table_view, template, value_text
from vantage.report.parts import ALONE, HIDDEN, Column, Table, cell_text
from vantage.report.record import Record
from vantage.report.sentences import Words, decide, statement
from vantage.report.style import drawn

_UNNAMED: Final = {"reason", "left_out", *HIDDEN}
_REACH: Final = NormalDist().inv_cdf(0.975)
"""Standard errors from the middle of a 95 % interval to its end."""


@dataclass(frozen=True)
class Joined:
    """The same table of two runs: joined where its rows have names, otherwise one after the other."""

    name: str
    tables: Sequence[Table]
    note: str = ""


def compare(first: str | Path, second: str | Path, out: str | Path = "comparison.html") -> tuple[str, list[str]]:
    """A page with two runs side by side, and what differs in a few sentences.

    Args:
        first: The folder of one run.
        second: The folder of the other.
        out: Where the page will stand, so that its links lead to the files of both.
    """
    folders = [Path(first), Path(second)]
    reports = [Report.read(folder) for folder in folders]
    names = [folder.resolve().name for folder in folders]
    labels = names if names[0] != names[1] else [f"{name} ({side})" for name, side in zip(names, "AB", strict=True)]
    tables = [_joined(*pair, labels) for pair in _both(reports[0].result.tables, reports[1].result.tables)]
    figures = _both(reports[0].result.figures, reports[1].result.figures)
    colours = palette(figure for report in reports for figure in report.result.figures)
    bases = [_base(folder, Path(out)) for folder in folders]
    changed = _settings(reports[0].record, reports[1].record)
    alone = _alone(reports, labels)
    effects = _effects(reports, labels)
    page: str = template("compare.html").render(
        **furniture(),
        title=f"{labels[0]} beside {labels[1]}",
        labels=labels,
        records=[report.record for report in reports],
        settings=changed,
        outcomes=[outcomes(report.record) for report in reports],
        findings=[[one.text for one in report.result.findings] for report in reports],
        effects=effects,
        caveats=caveats(list(dict.fromkeys(w for report in reports for w in report.result.warnings))),
        tables=[
            {
                "name": one.name,
                "note": one.note,
                "views": [table_view(table, ROWS, files=False) | {"number": place} for table in one.tables],
            }
            for place, one in enumerate(tables, 1)
        ],
        figures=[
            [
                figure_view(figure, drawn(figure.draw, colours).svg, f"{side}-", base)
                | {"number": place, "label": label}
                for side, figure, base, label in zip("ab", pair, bases, labels, strict=True)
            ]
            for place, pair in enumerate(figures, 1)
        ],
        alone=alone,
    )
    differing = [row["name"] for row in changed if row["differs"]]
    summary = f"The runs differ in {', '.join(differing)}." if differing else "The two runs have the same options."
    return page, [
        summary,
        f"In both runs: {counted(len(tables), 'table')} and {counted(len(figures), 'figure')}.",
        *effects,
        *alone,
    ]


def _both(first: Sequence[Any], second: Sequence[Any]) -> list[tuple[Any, Any]]:
    named = {part.name: part for part in second}
    return [(part, named[part.name]) for part in first if part.name in named]


def _joined(one: Table, other: Table, labels: Sequence[str]) -> Joined:
    """Two tables as one, row by row, with the difference of every number; what is equal throughout is named."""
    keys = [key for key in _keys(one) if key in other.frame.columns]
    values = [head.column for head in one.heads() if _numeric(one, head.column) and _numeric(other, head.column)]
    if not keys or not values or not (_unique(one.frame, keys) and _unique(other.frame, keys)):
        both = [
            replace(table, caption=f"{label}: {table.caption}")
            for table, label in zip((one, other), labels, strict=True)
        ]
        return Joined(one.name, both, "The rows have no names by which they could be joined.")
    # Intervals of single rows, where those shown hold for a family of comparisons.
    intervals = {name: _alone_ends(one, interval) for name in values if (interval := one.column(name).interval)}
    ends = {name: pair for name, pair in intervals.items() if all(_numeric(other, end) for end in pair)}
    counts = ["items"] if all("items" in table.frame.columns for table in (one, other)) else []
    kept = list(dict.fromkeys([*values, *(end for pair in ends.values() for end in pair), *counts]))
    sides = [
        table.frame.select(
            pl.col(keys).cast(pl.String), *(pl.col(name).cast(pl.Float64).alias(f"{side} {name}") for name in kept)
        )
        for side, table in zip("ab", (one, other), strict=True)
    ]
    frame = sides[0].join(sides[1], on=keys, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right")
    frame = frame.with_columns((pl.col(f"b {n}") - pl.col(f"a {n}")).alias(f"difference {n}") for n in values)
    frame = frame.with_columns(one for name, pair in ends.items() for one in _spread(name, pair, sized="items" in kept))
    same = [name for name in values if frame[f"a {name}"].equals(frame[f"b {name}"], null_equal=True)]
    columns = {key: Column(one.column(key).title) for key in keys}
    shown = list(keys)
    for name in values if len(same) == len(values) else [name for name in values if name not in same]:
        how, title = one.column(name), _title(one, name)
        for side, label in zip("ab", labels, strict=True):
            low, high = ends.get(name) or ("", "")
            interval = (f"{side} {low}", f"{side} {high}") if low else None
            columns[f"{side} {name}"] = replace(how, title=f"{title}: {label}", interval=interval, best=None)
        between = (f"difference {low}", f"difference {high}") if low else None
        columns[f"difference {name}"] = Column(
            f"{title}: difference", how.digits, how.percent, signed=True, interval=between
        )
        sized = [f"effect {name}"] if f"effect {name}" in frame.columns else []
        columns |= {effect: Column(f"{title}: effect size", 2, signed=True) for effect in sized}
        shown += [f"a {name}", f"b {name}", f"difference {name}", *sized]
    equal = [f"The same in both, row by row: {', '.join(_title(one, name) for name in same)}."] if same else []
    return Joined(one.name, [Table(one.name, one.caption, frame, columns, shown, keys, [*one.notes, *equal])])


def _alone_ends(table: Table, interval: tuple[str, str]) -> tuple[str, str]:
    low, high = (f"{end}{ALONE}" for end in interval)
    return (low, high) if {low, high} <= set(table.frame.columns) else interval


def _spread(name: str, ends: tuple[str, str], *, sized: bool) -> list[pl.Expr]:
    """The interval of a difference from those of two numbers, and its size in standard deviations over items."""
    low, high = ends
    below, above = ({s: (pl.col(f"{s} {name}") - pl.col(f"{s} {end}")) for s in "ab"} for end in (low, high))
    difference = pl.col(f"b {name}") - pl.col(f"a {name}")
    columns = [
        (difference - (below["b"] ** 2 + above["a"] ** 2).sqrt()).alias(f"difference {low}"),
        (difference + (above["b"] ** 2 + below["a"] ** 2).sqrt()).alias(f"difference {high}"),
    ]
    if sized:
        error = {s: (pl.col(f"{s} {high}") - pl.col(f"{s} {low}")) / (2 * _REACH) for s in "ab"}
        pooled = (sum((error[s] ** 2 * pl.col(f"{s} items") for s in "ab"), start=pl.lit(0.0)) / 2).sqrt()
        columns.append(pl.when(pooled > 0).then(difference / pooled).alias(f"effect {name}"))
    return columns


def _effects(reports: Sequence[Report], labels: Sequence[str]) -> list[str]:
    """What the runs differ in, in sentences: every row of both ledgers that a finding of either run rests on."""
    said = {_key(claim) for report in reports for one in report.result.findings for claim in one.evidence}
    first, second = ({_key(one): one for one in report.result.ledger if _key(one) in said} for report in reports)
    rows = [row for key, claim in first.items() if key in second and (row := _effect(claim, second[key])) is not None]
    if not rows:
        return []
    # Brackets and braces have a meaning in phrases.
    one, other = (label.translate(str.maketrans("[]{}", "()()")) for label in labels)
    rule = Against(
        0.0,
        above=f"{other} is higher than {one} in {{rows}}",
        below=f"{one} is higher than {other} in {{rows}}",
        within=f"{one} and {other} cannot be told apart in {{rows}}",
        result="{estimate}, 95 % CI {low} to {high}{size}",
    )
    words = Words(by=("of",))
    return [finding.text for finding in decide([statement(rule, pl.DataFrame(rows), words)])[0]]


def _key(claim: Claim) -> tuple[str, ...]:
    return claim.table, claim.estimand, claim.name, *claim.columns[:1]


def _effect(one: Claim, other: Claim) -> dict[str, Any] | None:
    """One difference between two runs, with its interval (Zou and Donner 2008) and its size."""
    if None in (one.estimate, other.estimate, one.low_alone, other.low_alone, one.high_alone, other.high_alone):
        return None
    sides = {
        f"{side} {name}": getattr(claim, column)
        for side, claim in (("a", one), ("b", other))
        for name, column in {"": "estimate", "low": "low_alone", "high": "high_alone", "items": "units"}.items()
    }
    sized = one.units is not None and other.units is not None
    row = pl.DataFrame([sides]).select(_spread("", ("low", "high"), sized=sized)).row(0, named=True)
    size = cell_text(Column(digits=2, signed=True), row.get("effect "))
    return {
        "of": f"{one.estimand} of {one.name}" if one.name else one.estimand,
        "estimate": (other.estimate or 0.0) - (one.estimate or 0.0),
        "low": row["difference low"],
        "high": row["difference high"],
        "size": f", effect size {size}" if row.get("effect ") is not None else "",
    }


def _numeric(table: Table, name: str) -> bool:
    return name in table.frame.columns and name not in table.keys and table.frame[name].dtype.is_numeric()


def _title(table: Table, name: str) -> str:
    return table.column(name).title or name.replace("_", " ")


def _keys(table: Table) -> list[str]:
    if table.keys:
        return list(table.keys)
    texts = (pl.String, pl.Categorical, pl.Enum, pl.Boolean)
    return [
        head.column for head in table.heads() if head.column not in _UNNAMED and table.frame[head.column].dtype in texts
    ]


def _unique(frame: pl.DataFrame, keys: Sequence[str]) -> bool:
    return frame.select(keys).n_unique() == len(frame)


def _settings(first: Record, second: Record) -> list[dict[str, Any]]:
    """Every option of the two runs, and whether it differs."""
    sides = [_recorded(first), _recorded(second)]
    rows = []
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        values = [value_text(side.get(name)) for side in sides]
        rows.append({"name": name, "values": values, "differs": values[0] != values[1]})
    return rows


def _recorded(record: Record) -> dict[str, Any]:
    known = {name: getattr(record, name) for name in ("study", "data", "models", "seed")}
    known |= {} if record.state == "complete" else {"state": record.state}
    known |= record.options
    known |= {f"instrument {one['id']}": f"version {one['version']}" for one in record.instruments}
    return known | {f"version of {name}": version for name, version in record.versions.items()}


def _alone(reports: Sequence[Report], labels: Sequence[str]) -> list[str]:
    """What only one of the two runs has."""
    notes = []
    for kind in ("tables", "figures"):
        names = [{part.name for part in getattr(report.result, kind)} for report in reports]
        only = [sorted(names[0] - names[1]), sorted(names[1] - names[0])]
        notes += [f"Only {labels[side]} has the {kind} {', '.join(only[side])}." for side in (0, 1) if only[side]]
    return notes


def _base(folder: Path, page: Path) -> str:
    """The way from the page to a folder, for links."""
    from urllib.parse import quote

    try:
        way = os.path.relpath(folder.resolve(), page.resolve().parent)
    except ValueError:
        # On Windows there is no way from one drive to another.
        return folder.resolve().as_uri() + "/"
    return quote(way.replace(os.sep, "/")) + "/"
