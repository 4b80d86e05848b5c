"""People in the report: how ambiguous they find statements, how far they agree, and whether they meet the labels."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.context.simulation import STATIC
from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.measures.accuracy import accuracy
from vantage.measures.alpha import alpha
from vantage.measures.variation import ambiguity, entropy
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.studies.context.tasks import TASK

CONTEXT: Final = "context"
_MEASURES: Final = {
    "ambiguity": "ambiguity score",
    "alpha": "alpha",
    "f1": "F1, ambiguous is wrong",
    "f1_decided": "F1 of decided answers",
}


def people_of(corpus: Corpus) -> Corpus:
    """The judgments of people alone, seats that different people filled included."""
    return corpus.filter(kind=["person", "slot"])


def summary(people: Corpus, labels: pl.DataFrame, *, resamples: int, seed: int) -> pl.DataFrame:
    """One row per task and condition: ambiguity score, entropy, alpha and two kinds of F1, with intervals over items.

    F1 (macro) is that of single answers, all people taken together. "Ambiguous" is no label, so it is counted as
    wrong in the first kind, which makes fewer such answers look like better ones, and left out in the second.
    """
    by = [TASK, "condition"]
    how: dict[str, Any] = {"resamples": resamples, "seed": seed}
    exact: dict[str, Any] = {"by": by, "reference": labels, "metric": "f1_macro", **how}
    frames = {
        "ambiguity": ambiguity(people, by=by, **how),
        "entropy": entropy(people, by=by, base="k", opt_outs=True, **how),
        "alpha": alpha(people, by=by, level="nominal", **how),
        "f1": accuracy(people, **exact, opt_outs="wrong"),
        "f1_decided": accuracy(people, **exact),
    }
    found = frames["ambiguity"].select(*by, "items", "raters", "judgments")
    for name, frame in frames.items():
        ends = [pl.col("low").alias(f"{name}_low"), pl.col("high").alias(f"{name}_high")]
        told = frame.select(*by, pl.col("estimate").alias(name), *ends)
        found = found.join(told, on=by, how="left", maintain_order="left")
    return found.sort(TASK, pl.col("condition") != STATIC, "condition")


def per_annotator(people: Corpus, labels: pl.DataFrame, *, resamples: int, seed: int) -> pl.DataFrame | None:
    """F1 of every single annotator by task and condition; none where seats hide who said what."""
    persons = people.filter(kind="person")
    if persons.judgments.is_empty():
        return None
    return accuracy(
        persons,
        by=[TASK, "condition", "rater"],
        reference=labels,
        metric="f1_macro",
        opt_outs="wrong",
        resamples=resamples,
        seed=seed,
    ).sort(TASK, "condition", "estimate", descending=[False, False, True], nulls_last=True)


def people_sections(
    corpus: Corpus, labels: pl.DataFrame, *, resamples: int = 1000, seed: int = 0
) -> tuple[list[Section], list[Finding]]:
    """The section on people and what to remember of it; nothing where nobody was asked."""
    try:
        people = people_of(corpus)
    except InputError:
        return [], []
    if people.judgments.is_empty():
        return [], []
    found = summary(people, labels, resamples=resamples, seed=seed)
    ends = {
        name: Column(title, digits=2, interval=(f"{name}_low", f"{name}_high")) for name, title in _MEASURES.items()
    }
    parts: list[Table | Figure] = [
        Table(
            "people",
            "People by task and condition: the share of “ambiguous” answers, the entropy of answers (0 to 1), "
            "Krippendorff's alpha of the decided ones, and macro F1 of single answers against the original labels; "
            "95 % intervals over items.",
            found,
            {
                **ends,
                "entropy": Column("entropy", digits=2, interval=("entropy_low", "entropy_high")),
                "raters": "people or seats",
            },
            (TASK, "condition", "items", "raters", "ambiguity", "entropy", "alpha", "f1", "f1_decided"),
            (TASK, "condition"),
            ["Fewer “ambiguous” answers raise the first F1 by themselves; the second one is free of that."],
        ),
        _before_after(found),
    ]
    single = per_annotator(people, labels, resamples=resamples, seed=seed)
    text = [
        "Third-party readers judged the statements alone and could not say “ambiguous”; their seats are exchangeable, "
        "so that nothing is said about single readers."
        if single is None
        else "Every annotator is compared with the original labels; an “ambiguous” answer counts as wrong there."
    ]
    if single is not None:
        parts.append(
            Table(
                "annotators",
                "Macro F1 of single annotators against the original labels, with 95 % intervals over items.",
                single,
                {"estimate": Column("F1", digits=2, best="max"), "rater": "annotator"},
                (TASK, "condition", "rater", "estimate", "items"),
                (TASK, "condition", "rater"),
            )
        )
    return [Section("People, with and without context", text, parts)], _findings(found)


def _before_after(found: pl.DataFrame) -> Figure:
    rows = [
        {
            "measure": f"{row[TASK]}: {title}",
            "condition": row["condition"],
            "estimate": row[name],
            "low": row[f"{name}_low"],
            "high": row[f"{name}_high"],
        }
        for row in found.iter_rows(named=True)
        for name, title in _MEASURES.items()
    ]
    order = pl.DataFrame(rows).sort("measure", maintain_order=True)
    told = "; ".join(f"{row['measure']}, {row['condition']}: {row['estimate']:.2f}" for row in rows if row["estimate"])
    return Figure(
        "before-after",
        "Ambiguity score, agreement and F1 of people by condition, with 95 % intervals over items.",
        f"One line per task and measure, one colour per condition. {told}.",
        "points",
        order,
        {"category": "measure", "series": "condition", "label": "share or coefficient", "reference": 0},
    )


def _findings(found: pl.DataFrame) -> list[Finding]:
    findings = []
    for (task,), rows in found.group_by(TASK, maintain_order=True):
        told = {row["condition"]: row for row in rows.iter_rows(named=True)}
        static, context = told.get(STATIC), told.get(CONTEXT)
        if static is None:
            continue
        numbers = {"task": task, "alpha": static["alpha"], "ambiguity": static["ambiguity"], "f1": static["f1_decided"]}
        if context is None:
            findings.append(
                Finding(
                    "{task}: people agree with alpha {alpha:.2f} on statements that stand alone, and single answers "
                    "meet the original labels with F1 {f1:.2f}. Nobody has judged them with context.",
                    numbers,
                )
            )
            continue
        numbers |= {"alpha_c": context["alpha"], "ambiguity_c": context["ambiguity"], "f1_c": context["f1_decided"]}
        findings.append(
            Finding(
                "{task}: with context people's ambiguity score goes from {ambiguity:.2f} to {ambiguity_c:.2f}, alpha "
                "from {alpha:.2f} to {alpha_c:.2f}, and F1 of decided answers from {f1:.2f} to {f1_c:.2f}.",
                numbers,
            )
        )
    return findings
