"""The paper beside this study: sizes that its data give, and scores of its raters beside ours on the same test sets."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.perspective.splits import people_pairs
from vantage.report.parts import Column, Section, Table
from vantage.report.published import Published, published_table
from vantage.studies.perseval.cells import Cell
from vantage.studies.perseval.evaluated import Evaluated
from vantage.studies.perseval.printed import ROWS, SIZES, Printed

LEVELS: Final = ("global", "user", "text")


def published(found: list[Evaluated], groups: str) -> Section:
    """Sizes with a verdict; scores side by side, since the models are not the same."""
    sizes = [row for one in found for row in _sizes(one)]
    beside = [row for one in found for row in _beside(one, groups)]
    parts: list[Table] = []
    text = (
        "The paper's scores are those of RoBERTa, Llama-3.1-8B and Mixtral-8x7B, which do not come with Vantage; they "
        "stand beside the raters of the same variant here, on the same test set and by the rule of the paper's "
        "library. They are to be compared, not to be met."
    )
    if sizes:
        parts.append(published_table("published", "Sizes of the corpora as printed and as the data give them.", sizes))
    if beside:
        columns: dict[str, Column | str] = {
            f"{side}_{level}": Column(f"{level} F1, {'paper' if side == 'paper' else 'here'}", digits=3)
            for level in LEVELS
            for side in ("paper", "here")
        }
        parts.append(
            Table(
                "beside-the-paper",
                "F1 of the positive class: the paper's raters and the best of ours in the same variant.",
                pl.DataFrame(beside, infer_schema_length=None),
                columns,
                keys=("corpus", "where", "approach", "users", "adaptation", "extended"),
                notes=[
                    "Text F1 of Mixtral on MD-Agreement (.678, .643) cannot be right: the library splits classes by "
                    "correctness when predictions are stored as floats; see the errata of the study's documentation."
                ],
            )
        )
    if not parts:
        text = "None of the corpora is one whose figures the paper prints for the same test set."
    return Section("The paper beside this study", [text], parts)


def _sizes(one: Evaluated) -> list[Published]:
    if one.task.name not in SIZES:
        return []
    pairs = people_pairs(one.task.people, one.task.question)
    split = one.task.split("unnamed", "train")
    instances = len(pairs)
    why = ["people with an answer to the question", "texts with an answer", "⟨text, user⟩ pairs"]
    if one.task.name == "hs-brexit":
        instances = len(split.train) + len(split.test)
        why[2] = "training with adaptation and test of the strict split, not the corpus, which has 6,720"
    if one.task.name == "md-agreement":
        why[2] = "one annotation stands twice in the release and counts once here"
    ours = (pairs["rater"].n_unique(), pairs["item"].n_unique(), instances)
    names = ("annotators", "texts", "instances")
    return [
        Published(f"{one.task.name}: {name}", "Table 2", printed, mine, variant)
        for name, printed, mine, variant in zip(names, SIZES[one.task.name], ours, why, strict=True)
    ]


def _beside(one: Evaluated, groups: str) -> list[dict[str, Any]]:
    same = one.task.method != "balanced" and one.seed == 42 and (one.task.name != "hs-brexit" or groups == "hub")
    if not same:
        return []
    rows = []
    for printed in ROWS:
        if printed.corpus != one.task.name:
            continue
        row: dict[str, Any] = {
            "corpus": printed.corpus,
            "where": printed.where,
            "approach": printed.approach,
            "users": printed.users,
            "adaptation": printed.adaptation,
            "extended": printed.extended,
            **{f"paper_{level}": score for level, score in zip(LEVELS, printed.scores, strict=True)},
        }
        cell = _counterpart(one, printed)
        told = None if cell is None else one.under(cell, "reference")
        row |= {f"here_{level}": told and told.f1(level, one.task.label) for level in LEVELS}
        rows.append({**row, "here": cell.rater if cell else None, "annotations": len(told.pairs) if told else None})
    return rows


def _counterpart(one: Evaluated, printed: Printed) -> Cell | None:
    """Our rater in the variant of a printed row: an encoder where there is one, else the best that learned."""
    way = printed.approach.rpartition(", ")[2]
    fitting = []
    for cell in one.done:
        row = cell.row()
        variant = (row["users"], row["adaptation"], row["extended"])
        if variant != (printed.users, printed.adaptation, printed.extended):
            continue
        if printed.where == "Table 5" and cell.kind == "prompted" and cell.rater.endswith(f": {way}"):
            return cell
        if printed.where == "Table 3" and cell.kind == "trained":
            fitting.append(cell)
    encoders = [cell for cell in fitting if cell.rater in ("baseline", "tokens")]
    return encoders[0] if encoders else one.best(fitting)
