"""A multiverse as sentences, tables and the specification curve: a page of its own, or a section of a report."""

from __future__ import annotations

import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.report import (
    Claim,
    Column,
    Figure,
    Finding,
    Report,
    Result,
    Section,
    Table,
    cell_text,
    counted,
    made_at_once,
    printable,
)
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
NUMBER: Final = Column(digits=2)
SHARE: Final = Column(percent=True, digits=0)
CHANCE: Final = Column(chance=True)
REFERENCES: Final = ("simonsohn2020", "steegen2016", "canay2017")
OF_RISKS: Final = ("baumann2025", "gelman2014", "angelopoulos2023b")
SPECIFICATION_COLUMNS: Final = {
    "estimate": Column(digits=2, interval=("low", "high")),
    "p": Column(chance=True, digits=3),
    "same": Column("same verdict"),
    "changes": Column("choices changed"),
}
IMPORTANCE_COLUMNS: Final = {
    "share": Column("share of the variation", percent=True, digits=0, interval=("share_low", "share_high")),
    "share_low": SHARE,
    "share_high": SHARE,
    "overturns": Column("overturn it alone"),
    "alone": Column("of"),
}
RISK_COLUMNS: Final = {
    "estimate": Column(digits=2, interval=("low", "high")),
    "accuracy": Column(digits=2),
    "risk": Column("risk of a wrong conclusion", percent=True, digits=0, interval=("risk_low", "risk_high")),
    **dict.fromkeys(("risk_low", "risk_high", *ERRORS), SHARE),
    "powered": Column("powered estimate", digits=2, interval=("powered_low", "powered_high")),
    "powered_verdict": Column("its verdict"),
    "powered_risk": Column("its risk", percent=True, digits=0),
    "more": Column("people's items needed, times", digits=1),
}


def _number(value: Any) -> str:
    return cell_text(NUMBER, value)


def sentences(made: Multiverse) -> list[str]:
    """What the specifications say, most important first."""
    claimed, all_ = made.claimed, made.specifications
    ends = "" if claimed["low"] is None else f", 95 % CI {_number(claimed['low'])} to {_number(claimed['high'])}"
    side = SIDES[claimed["verdict"]].format(made.conclusion.reference)
    said = [
        f"The claim ({_number(claimed['estimate'])}{ends}; {side}) has the same verdict in "
        f"{int(all_['same'].sum()):,} of {counted(len(all_), 'specification')} ({cell_text(SHARE, made.same)})."
    ]
    joint = made.joint
    if joint is None:
        said.append(
            "The specifications were not tested together: there are too few units, or the measure has no groups."
        )
    else:
        unlikely = "a curve as far from it is unlikely" if joint.p < 0.05 else "such a curve is nothing unusual"
        said.append(
            f"If no specification differed from {made.conclusion.reference:g}, {unlikely} (joint p {_chance(joint.p)}, "
            f"{joint.blocks} blocks of {joint.unit}). Some specification would then be significant in "
            f"{cell_text(SHARE, joint.any_null)} of corpora, and in 5 % of corpora more than "
            f"{cell_text(SHARE, joint.share_null)} of them; here {cell_text(SHARE, joint.share)} are, by blocks."
        )
    if len(made.overturned):
        rows = made.overturned.to_dicts()
        examples = "; ".join(made.changed(row) for row in rows[:3])
        changes = rows[0]["changes"]
        what = "A single change overturns" if changes == 1 else f"{changes} changes together overturn"
        more = f"; and {len(rows) - 3} more" if len(rows) > 3 else ""
        said.append(f"{what} it: {examples}{more}.")
    else:
        said.append("No specification overturns it.")
    top = made.importance.row(0, named=True)
    if top["share"] > 0:
        low, high = (cell_text(SHARE, top[name]) for name in ("share_low", "share_high"))
        interval = "" if top["share_low"] is None else f" (95 % CI {low} to {high})"
        share = cell_text(SHARE, top["share"])
        said.append(f"Most of the variation of estimates goes with {top['decision']}: {share}{interval}.")
    if (wanted := made.conclusion.said.get("estimate")) is not None and abs(wanted - claimed["estimate"]) > SAME:
        said.append(
            f"The report says {_number(wanted)} and this corpus gives {_number(claimed['estimate'])}: "
            "the report used other judgments."
        )
    return said


def risk_sentences(made: Risks) -> list[str]:
    """What model labels would lead to."""
    rows = {row["configuration"]: row for row in made.table.to_dicts()}
    said = [f"People judged {made.items:,} of {made.of:,} items."]
    known = [row for row in rows.values() if row["risk"] is not None]

    def shown(row: dict[str, Any]) -> str:
        ends = [cell_text(SHARE, row[name]) for name in ("risk_low", "risk_high")]
        return f"{row['configuration']} {cell_text(SHARE, row['risk'])} ({ends[0]} to {ends[1]})"

    models = sorted((row for row in known if row["configuration"] != MOST_ACCURATE), key=lambda row: float(row["risk"]))
    ends = [models[0], models[-1]] if len(models) > 1 else models
    said.append(
        f"Risk of another conclusion than people's labels of all items would give: {', '.join(map(shown, ends))}."
    )
    if MOST_ACCURATE in rows:
        said.append(f"Risk of {shown(rows[MOST_ACCURATE])}.")
    powered = [row for row in models if row.get("powered") is not None and made.items < made.of]
    if powered:
        best = min(powered, key=lambda row: float(row["powered_high"] - row["powered_low"]))
        text = (
            f"Powered by {best['configuration']}, people's estimate is {_number(best['powered'])} "
            f"({_number(best['powered_low'])} to {_number(best['powered_high'])})"
        )
        limit = cell_text(SHARE, made.limit)
        if best["more"] is None:
            said.append(f"{text}; its risk is below {limit} only when people judge nearly all items.")
        elif best["more"] <= 1.0:
            said.append(f"{text}; its risk is below {limit} already.")
        else:
            further = made.needed().filter(who=f"{PEOPLE} and {best['configuration']}")["further"].item()
            said.append(f"{text}; about {further:,} more items judged by people bring its risk below {limit}.")
    return said


def _chance(p: float) -> str:
    text = cell_text(CHANCE, p)
    return text if text.startswith("<") else f"= {text}"


def curve(made: Multiverse, name: str = "specification-curve") -> Figure:
    """The specification curve of a multiverse."""
    caption = (
        f"Specification curve of {made.conclusion.sentence()}: every estimate with its 95 % interval, and below it the "
        "choices that it rests on. Blue lies above the reference (or holds), orange below (or fails)."
    )
    options = {
        "decisions": list(made.decisions),
        "reference": made.conclusion.reference,
        "label": made.conclusion.measure,
    }
    return Figure(
        name, caption, "", "specifications", made.specifications.drop("reason", "command", "specification"), options
    )


def section(made: Multiverse, title: str, name: str, *, whole: bool = True) -> Section:
    """The multiverse as a section: sentences, the curve and its tables."""
    parts: list[Any] = [curve(made, f"{name}-curve")]
    if whole:
        shown = ["specification", *made.decisions, "estimate", "p", "verdict", "same", "changes", "command"]
        frame = made.specifications
        parts.append(Table(f"{name}-choices", "How much each choice matters.", made.importance, IMPORTANCE_COLUMNS,
                           ("decision", "alternatives", "share", "overturns", "alone"), ("decision",)))  # fmt: skip
        caption = (
            "Every specification; its command reproduces the row, and vantage view FOLDER#NUMBER, with the folder of "
            "this page and the number of the specification, opens its judgments."
        )
        parts.append(Table(f"{name}-{SPECIFICATIONS}", caption, frame, SPECIFICATION_COLUMNS, shown, made.decisions))
        if len(made.rules):
            parts.append(
                Table(f"{name}-rules", "Combinations that were excluded, by rule.", made.rules, {}, (), ("rule",))
            )
    return Section(title, [made.conclusion.sentence()], parts, [Finding(text) for text in sentences(made)])


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
    findings = [Finding(text) for text in sentences(made)]
    if risk is not None:
        said = [Finding(text) for text in risk_sentences(risk)]
        shown = [name for name in ("configuration", *RISK_COLUMNS) if name in risk.table.columns]
        kept = {name: how for name, how in RISK_COLUMNS.items() if name in risk.table.columns}
        caption = "What each configuration leads to, beside people, and how often it leads to another conclusion."
        hidden = {end for how in kept.values() for end in how.folds}
        table = Table(
            "robust-risk", caption, risk.table, kept, [one for one in shown if one not in hidden], ("configuration",)
        )
        sections.append(Section("When models labelled and people checked a part", [], [table], said))
        findings += said[1:]
    if plan is not None:
        findings = [*(Finding(text) for text in plan.deviations(made, corpus)), *findings]
    record = made_at_once("robust", f"The multiverse of a conclusion: {made.conclusion.measure}", corpus, seed=seed)
    references = [*REFERENCES, *(OF_RISKS if risk is not None else ())]
    methods = (
        "Specifications were tested together by turning round the signs of blocks of units; the statistic is the "
        "median of studentised estimates.",
    )
    return Report(record, Result(sections, findings, (), methods, references))


def with_robust(report: Report, corpus: Corpus, *, seed: int = 0) -> Report:
    """A report with a specification curve for each research question that a measure answered."""
    sections: list[Section] = []
    skipped: list[str] = []
    before = [one for one in report.result.sections if not _is_ours(one, "robust")]
    for number, claim in _primary(report):
        if len(sections) == CLAIMS:
            break
        try:
            conclusion = Conclusion.of_ledger(report, number, corpus)
            made = robust(corpus, conclusion, most=REPORT_SIZE, seed=seed)
        except InputError as error:
            skipped.append(f"{claim.name or claim.table}: {error}")
            continue
        title = f"{claim.family or claim.estimand} The same by other choices{f': {claim.name}' if claim.name else ''}"
        sections.append(section(made, title, f"robust-{len(sections) + 1}", whole=False))
    if skipped:
        notes = [printable(one) for one in skipped[:CLAIMS]]
        sections.append(Section(NOT_VARIED, notes))
    result = replace(report.result, sections=[*before, *sections])
    return replace(report, result=replace(result, references=[*dict.fromkeys([*result.references, *REFERENCES])]))


def _primary(report: Report) -> list[tuple[int, Claim]]:
    """The clearest comparison of each declared research question, with its row of the ledger."""
    best: dict[str, tuple[int, Claim]] = {}
    for number, claim in enumerate(report.result.ledger, 1):
        if claim.exploratory or claim.p is None or not claim.rule.startswith("against"):
            continue
        known = best.get(claim.family)
        if known is None or claim.p < (known[1].p or 0.0):
            best[claim.family] = number, claim
    return list(best.values())


def with_plan(report: Report, corpus: Corpus, plan: FrozenPlan, *, seed: int = 0) -> Report:
    """A report that begins with what is as planned and what is not, and has the curve of the planned claim."""
    made = robust(corpus, plan.claim, plan.universe, seed=seed)
    findings = [Finding(text) for text in (*plan.deviations(made, corpus), *sentences(made)[:2])]
    kept = [one for one in report.result.sections if not _is_ours(one, PLANNED)]
    sections = [*kept, section(made, f"As planned: {plan.question}", PLANNED)]
    said = {one.text for one in findings}
    others = [one for one in report.result.findings if one.text not in said]
    return replace(report, result=replace(report.result, sections=sections, findings=[*findings, *others]))


def _is_ours(one: Section, name: str) -> bool:
    """Whether a section was added here before; a report that is drawn again has each of them once."""
    return any(part.name.startswith(f"{name}-") for part in one.parts) or one.title == NOT_VARIED


def risk_frame(risk: Risks) -> pl.DataFrame:
    """The table of risks without columns that say nothing."""
    return risk.table.select(name for name in risk.table.columns if risk.table[name].null_count() < len(risk.table))
