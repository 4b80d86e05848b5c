"""A multiverse as sentences, tables and the specification curve: a page of its own, or a section of a report."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.report import Column, Figure, Finding, Report, Result, Section, Table, cell_text, counted, made_at_once
from vantage.robust.conclusion import SAME, Conclusion
from vantage.robust.frozen import FrozenPlan
from vantage.robust.multiverse import Multiverse, robust
from vantage.robust.risk import ERRORS, MOST_ACCURATE, PEOPLE, Risks

CLAIMS: Final = 3
"""How many claims of a report have a specification curve."""
REPORT_SIZE: Final = 200
"""How many specifications each of them has at most."""
SIDES: Final = {
    "above": "above {:g}",
    "below": "below {:g}",
    "within": "not told apart from {:g}",
    "untested": "not tested against {:g}",
    "holds": "which the measure takes for yes",
    "fails": "which the measure takes for no",
}
NOT_VARIED: Final = "Claims without a specification curve"
PLANNED: Final = "planned"
SPECIFICATIONS: Final = "specifications"
SHARE: Final = Column(percent=True, digits=0)
REFERENCES: Final = ("simonsohn2020", "steegen2016", "canay2017")
OF_RISKS: Final = ("baumann2025", "gelman2014", "angelopoulos2023b")
COLUMNS: Final = {
    "estimate": Column(digits=2),
    "p": Column(digits=3),
    "same": Column("same verdict"),
    "changes": Column("choices changed"),
    "share": Column("share of the variation", percent=True, digits=0, interval=("share_low", "share_high")),
    "accuracy": Column(digits=2),
    "risk": Column("risk of a wrong conclusion", percent=True, digits=0, interval=("risk_low", "risk_high")),
    **dict.fromkeys(ERRORS, SHARE),
    "powered": Column("powered estimate", digits=2, interval=("powered_low", "powered_high")),
    "powered_verdict": Column("its verdict"),
    "powered_risk": Column("its risk", percent=True, digits=0),
    "more": Column("people's items needed, times", digits=1),
}
_number: Final = partial(cell_text, COLUMNS["estimate"])
_share: Final = partial(cell_text, SHARE)


def _ends(row: Mapping[str, Any], name: str, how: Callable[[Any], str], before: str = "") -> str:
    """The interval of a number of a row, where it has one."""
    low, high = ("low", "high") if name == "estimate" else (f"{name}_low", f"{name}_high")
    return "" if row[low] is None else f"{before}{how(row[low])} to {how(row[high])}"


def sentences(made: Multiverse) -> list[str]:
    """What the specifications say, most important first."""
    claimed, joint, reference = made.claimed, made.joint, made.conclusion.reference
    ends = _ends(claimed, "estimate", _number, ", 95 % CI ")
    said = [
        f"The claim ({_number(claimed['estimate'])}{ends}; {SIDES[claimed['verdict']].format(reference)}) has the same "
        f"verdict in {int(made.specifications['same'].sum()):,} of "
        f"{counted(len(made.specifications), 'specification')} ({_share(made.same)}).",
        "The specifications were not tested together: there are too few units, or the measure has no groups.",
    ]
    if joint is not None:
        p = cell_text(Column(chance=True), joint.p)
        unlikely = "a curve as far from it is unlikely" if joint.p < 0.05 else "such a curve is nothing unusual"
        said[1] = (
            f"If no specification differed from {reference:g}, {unlikely} (joint p "
            f"{p if p.startswith('<') else f'= {p}'}, {joint.blocks} blocks of {joint.unit}). Some specification would "
            f"then be significant in {_share(joint.any_null)} of corpora, and in 5 % of corpora at least "
            f"{_share(joint.share_null)} of them; here {_share(joint.share)} are, by blocks."
        )
    rows = made.overturned.to_dicts()
    examples, changes = "; ".join(map(made.changed, rows[:3])), rows[0]["changes"] if rows else 0
    more = f"; and {len(rows) - 3} more" if len(rows) > 3 else ""
    what = "A single change overturns" if changes == 1 else f"{changes} changes together overturn"
    said.append(f"{what} it: {examples}{more}." if rows else "No specification overturns it.")
    top = made.importance.row(0, named=True)
    if top["share"] > 0:
        ends = _ends(top, "share", _share, "95 % CI ")
        said.append(
            f"Most of the variation of estimates goes with {top['decision']}: {_share(top['share'])}"
            f"{f' ({ends})' if ends else ''}."
        )
    if (wanted := made.conclusion.said) is not None and abs(wanted - claimed["estimate"]) > SAME:
        said.append(
            f"The report says {_number(wanted)} and this corpus gives {_number(claimed['estimate'])}: "
            "the report used other judgments."
        )
    return said


def risk_sentences(made: Risks) -> list[str]:
    """What model labels would lead to."""
    known = made.table.filter(pl.col("risk").is_not_null()).sort("risk").to_dicts()
    said = {row["configuration"]: f"{_share(row['risk'])} ({_ends(row, 'risk', _share)})" for row in known}
    usual, models = said.pop(MOST_ACCURATE, None), [f"{name} {risk}" for name, risk in said.items()]
    lines = [
        f"People judged {made.items:,} of {made.of:,} items.",
        "Risk of another conclusion than people's labels of all items would give: "
        f"{', '.join(dict.fromkeys([models[0], models[-1]]))}.",
        *([f"Risk of {MOST_ACCURATE} {usual}."] if usual else []),
    ]
    powered = [row for row in known if row["powered_low"] is not None and made.items < made.of]
    if not powered:
        return lines
    best = min(powered, key=lambda row: float(row["powered_high"] - row["powered_low"]))
    name, limit, further = best["configuration"], _share(made.limit), 0
    if best["more"] is not None and best["more"] > 1.0:
        further = made.needed().filter(who=f"{PEOPLE} and {name}")["further"].item()
    when = "already" if best["more"] is not None else "only when people judge nearly all items"
    then = f"about {further:,} more items judged by people bring its risk below {limit}"
    lines.append(
        f"Powered by {name}, people's estimate is {_number(best['powered'])} ({_ends(best, 'powered', _number)}); "
        f"{then if further else f'its risk is below {limit} {when}'}."
    )
    return lines


def curve(made: Multiverse, name: str = "specification-curve") -> Figure:
    """The specification curve of a multiverse."""
    about, frame = made.conclusion, made.specifications.drop("command", "specification")
    caption = (
        f"Specification curve of {about.sentence()}: every estimate with its 95 % interval, and below it the "
        "choices that it rests on. Blue lies above the reference (or holds), orange below (or fails)."
    )
    varied = [one for one in made.decisions if frame[one].n_unique() > 1]
    options = {"decisions": varied, "reference": about.reference, "label": about.measure}
    return Figure(name, caption, "", "specifications", frame, options)


def section(made: Multiverse, title: str, name: str, *, whole: bool = True) -> Section:
    """The multiverse as a section: sentences, the curve and its tables."""
    parts: list[Figure | Table] = [curve(made, f"{name}-curve")]
    if whole:
        caption = (
            "Every specification; its command reproduces the row, and vantage view FOLDER#NUMBER, with the folder of "
            "this page and the number of the specification, opens its judgments."
        )
        shown = ["specification", *made.decisions, "estimate", "p", "verdict", "same", "changes", "command"]
        parts += [
            _table(f"{name}-choices", "How much each choice matters.", made.importance, ["decision", "share"]),
            _table(f"{name}-{SPECIFICATIONS}", caption, made.specifications, shown, made.decisions),
        ]
        parts += [_table(f"{name}-rules", "Combinations that rules exclude.", made.rules)] if len(made.rules) else []
    return Section(title, [made.conclusion.sentence()], parts, [Finding(text) for text in sentences(made)])


def _table(name: str, caption: str, frame: pl.DataFrame, shown: Sequence[str] = (), keys: Sequence[str] = ()) -> Table:
    columns = {column: how for column, how in COLUMNS.items() if column in frame.columns}
    return Table(name, caption, frame, columns, shown, keys or frame.columns[:1])


def specification_at(folder: Path, number: int) -> tuple[Path, list[str]]:
    """The corpus of a specification in the folder of a page, and the conditions (`--where`) on its judgments."""
    tables = [one.frame for one in Report.read(folder).result.tables if one.name.endswith(f"-{SPECIFICATIONS}")]
    if not tables:
        raise InputError("the page has no specifications", file=folder, remedy="make one with: vantage robust --to")
    chosen = tables[-1].filter(pl.col("specification") == number)
    if chosen.is_empty():
        raise InputError(f"there is no specification {number}", file=folder, remedy=f"1 to {len(tables[-1])} are there")
    _, _, _, corpus, *words = shlex.split(chosen["command"].item())
    return Path(corpus), [value for name, value in pairwise(words) if name == "--where"]


def robust_report(
    made: Multiverse, corpus: Corpus, risk: Risks | None = None, plan: FrozenPlan | None = None, seed: int = 0
) -> Report:
    """A page of one multiverse, with the risk of model labels where people judged a part."""
    sections = [section(made, "Does the conclusion survive other choices?", "robust")]
    findings = [*map(Finding, () if plan is None else plan.deviations(made, corpus)), *sections[0].findings]
    if risk is not None:
        said = [*map(Finding, risk_sentences(risk))]
        caption = "What each configuration leads to, beside people, and how often it leads to another conclusion."
        title, table = "When models labelled and people checked a part", _table("robust-risk", caption, risk.table)
        sections.append(Section(title, [], [table], said))
        findings += said[1:]
    record = made_at_once("robust", f"The multiverse of a conclusion: {made.conclusion.measure}", corpus, seed=seed)
    methods = (
        "Specifications were tested together by turning round the signs of blocks of units; the statistic is the "
        "median of studentised estimates.",
    )
    references = (*REFERENCES, *(() if risk is None else OF_RISKS))
    return Report(record, Result(sections, findings, (), methods, references))


def with_robust(report: Report, corpus: Corpus, *, seed: int = 0) -> Report:
    """A report with a specification curve for the clearest comparison of each declared research question."""
    ledger, sections, skipped = report.result.ledger, list[Section](), list[str]()
    compared = [(one.p, n) for n, one in enumerate(ledger) if one.rule.startswith("against") and not one.exploratory]
    clearest = {ledger[n].family: n for p, n in sorted(one for one in compared if one[0] is not None)[::-1]}
    for number in sorted(clearest.values()):
        if len(sections) == CLAIMS:
            break
        claim = ledger[number]
        try:
            made = robust(corpus, Conclusion.of_ledger(report, number + 1, corpus), most=REPORT_SIZE, seed=seed)
        except InputError as error:
            skipped.append(f"{claim.name or claim.table}: {error}")
            continue
        title = f"{claim.family or claim.estimand} The same by other choices{f': {claim.name}' if claim.name else ''}"
        sections.append(section(made, title, f"robust-{len(sections) + 1}", whole=False))
    sections += [Section(NOT_VARIED, skipped[:CLAIMS])] if skipped else []
    references = [*dict.fromkeys([*report.result.references, *REFERENCES])]
    return _added(report, "robust", sections, references=references)


def with_plan(report: Report, corpus: Corpus, plan: FrozenPlan, *, seed: int = 0) -> Report:
    """A report that begins with what is as planned and what is not, and has the curve of the planned claim."""
    made = robust(corpus, plan.claim, plan.universe, seed=seed)
    said = [*plan.deviations(made, corpus), *sentences(made)[:2]]
    findings = [*map(Finding, said), *(one for one in report.result.findings if one.text not in said)]
    return _added(report, PLANNED, [section(made, f"As planned: {plan.question}", PLANNED)], findings=findings)


def _added(report: Report, name: str, sections: Sequence[Section], **changed: Any) -> Report:
    """A report with further sections, in place of those that were added before, so that it has each of them once."""

    def ours(one: Section) -> bool:
        return one.title == NOT_VARIED or any(part.name.startswith(f"{name}-") for part in one.parts)

    kept = [one for one in report.result.sections if not ours(one)]
    return replace(report, result=replace(report.result, sections=[*kept, *sections], **changed))
