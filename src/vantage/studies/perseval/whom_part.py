"""The first screen: for whom each rater works, in a line, in bars per trait value, and user by user."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.perspective import against_majority, below
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.studies.perseval.cells import Cell
from vantage.studies.perseval.evaluated import Evaluated
from vantage.studies.perseval.fairness_part import widest

SHOWN: Final = ("corpus", "rater", "user", "best", "worst", "gap", "chance", "below", "against", "with")
FEW: Final = 12
"""Up to how many users a figure shows each of them."""


def for_whom(found: list[Evaluated], threshold: float) -> tuple[Section, list[Finding]]:
    """The first screen: one line per rater that matters, bars per trait value, and the users one by one."""
    rows, bars, users, findings = [], [], [], []
    alone = len(found) == 1
    for one in found:
        for cell in one.focus:
            rows.append(_line(one, cell, threshold))
            bars.append(_values(one, cell, alone=alone))
            users.append(_users(one, cell, alone=alone))
        findings += _findings(one, threshold)
    columns: dict[str, Column | str] = {
        "user": Column("average user", digits=2),
        "best": "best served",
        "worst": "worst served",
        "gap": Column("gap", digits=2, interval=("low", "high")),
        "chance": Column("gap by chance", digits=2),
        "below": f"users below {threshold:g}",
        "against": Column("right against most", percent=True, digits=0),
        "with": Column("right with most", percent=True, digits=0),
    }
    text = (
        "One line per rater: the best of those that know who answers, the best of those that do not, and every "
        "prompted model. The gap is the distance in F1 between the trait value that is served best and the one "
        "served worst, in the trait where it is largest; beside it stands the gap that dealing the same users out at "
        "random would give."
    )
    parts: list[Table | Figure] = [
        Table(
            "for-whom",
            "For whom each rater works.",
            pl.DataFrame(rows, infer_schema_length=None)
            if rows
            else pl.DataFrame(schema=dict.fromkeys(("corpus", "rater", *columns, "low", "high"), pl.Float64)),
            columns,
            SHOWN if rows else (),
            ("corpus", "rater"),
            [
                "Raters were chosen by the score they are shown with, which flatters the best a little. A dash under "
                "gap: the users do not differ in any trait."
            ],
        )
    ]
    values = pl.concat([frame for frame in bars if len(frame)]) if any(len(frame) for frame in bars) else None
    if values is not None:
        parts.append(
            Figure(
                "trait-values",
                "F1 for the users of each trait value, with 95 % intervals.",
                "One group of bars per trait value, one bar per rater; the text names the best and the worst served "
                "value.",
                "points" if values["category"].n_unique() > 8 else "bars",
                values,
                {"category": "category", "series": "rater", "label": "F1", "limits": (0, 1)},
            )
        )
    every = pl.concat(users) if users else None
    if every is not None and len(every):
        parts.append(_spread(every))
    return Section("For whom does it work?", [text], parts), findings


def _line(one: Evaluated, cell: Cell, threshold: float) -> dict[str, Any]:
    evaluation, label = one.evaluations[cell], one.task.label
    stances = dict(
        against_majority(evaluation, one.task.people, one.task.question).select("stance", "accuracy").iter_rows()
    )
    gap = widest(one, cell) or {}
    served = evaluation.users.filter(pl.col("class") == label).drop_nulls("f1")
    few = len(below(evaluation, threshold, label))
    trait = str(gap.get("trait", "")).replace("_", " ")
    return {
        "corpus": one.task.name,
        "rater": cell.name,
        "user": evaluation.f1("user", label),
        "best": f"{trait} {gap['best']} {gap['best_f1']:.2f}" if gap else None,
        "best_f1": gap.get("best_f1"),
        "worst": f"{trait} {gap['worst']} {gap['worst_f1']:.2f}" if gap else None,
        "worst_f1": gap.get("worst_f1"),
        "gap": gap.get("gap"),
        "low": gap.get("low"),
        "high": gap.get("high"),
        "chance": gap.get("chance"),
        "below": f"{few} of {len(served)}",
        "against": stances.get("against most"),
        "with": stances.get("with most"),
    }


def _values(one: Evaluated, cell: Cell, *, alone: bool) -> pl.DataFrame:
    evaluation = one.evaluations[cell]
    schema = dict.fromkeys(("category", "rater"), pl.String) | dict.fromkeys(("estimate", "low", "high"), pl.Float64)
    if not evaluation.traits:
        return pl.DataFrame(schema=schema)
    place = [] if alone else [pl.lit(one.task.name)]
    if len(evaluation.traits) > 1:
        place.append(pl.col("trait").str.replace_all("_", " "))
    return evaluation.trait_values.filter(pl.col("class") == one.task.label).select(
        pl.concat_str([*place, pl.col("value")], separator=" ").alias("category"),
        pl.lit(_short(cell)).alias("rater"),
        pl.col("f1").alias("estimate"),
        "low",
        "high",
    )


def _users(one: Evaluated, cell: Cell, *, alone: bool) -> pl.DataFrame:
    rows = one.evaluations[cell].users.filter(pl.col("class") == one.task.label).drop_nulls("f1")
    place = "" if alone else f"{one.task.name}: "
    return rows.select(
        (pl.lit(place) + pl.col("rater")).alias("user"),
        pl.lit(place + _short(cell)).alias("rater"),
        pl.lit(_short(cell)).alias("series"),
        "f1",
    )


def _short(cell: Cell) -> str:
    """A cell in few words, for the legend of a figure."""
    if cell.kind == "trained":
        return "trained, knows who answers" if cell.knows_users else "trained, does not know"
    way = cell.rater.rpartition(": ")[2]
    return f"prompted, {way}" + (f", {cell.users}" if way == "history" else "")


def _spread(every: pl.DataFrame) -> Figure:
    """Users one by one where there are few, else how they are spread."""
    caption = "F1 of every user, by rater: whoever is to the left is not served."
    if every["user"].n_unique() <= FEW:
        told = every.select("user", "series", pl.col("f1").alias("estimate")).sort("user", maintain_order=True)
        options: dict[str, Any] = {
            "category": "user",
            "series": "series",
            "label": "F1 of a user",
            "limits": (-0.02, 1.02),
        }
        return Figure("users", caption, "One line per user, one point per rater, from 0 to 1.", "points", told, options)
    options = {"value": "f1", "category": "rater", "kind": "violin", "label": "F1 of a user"}
    alt = "One shape per rater from 0 to 1, showing how F1 is spread over users."
    return Figure("users", caption, alt, "distribution", every.select("rater", "f1"), options)


def _findings(one: Evaluated, threshold: float) -> list[Finding]:
    cell = one.headline
    if cell is None:
        return [Finding("{corpus}: nothing was run, so nothing can be said.", {"corpus": one.task.name})]
    evaluation, label = one.evaluations[cell], one.task.label
    told = []
    gap = widest(one, cell)
    if gap and gap["gap"]:
        numbers = {**gap, "corpus": one.task.name, "rater": cell.name, "trait": str(gap["trait"]).replace("_", " ")}
        sentence = (
            "{corpus}: {rater} works best for {trait} {best} (F1 {best_f1:.2f}) and worst for {trait} {worst} "
            "({worst_f1:.2f}): a gap of {gap:.2f}"
        )
        if gap["low"] is not None:
            sentence += " [{low:.2f}, {high:.2f}]"
        if gap["chance"] is not None:
            sentence += ", where {chance:.2f} would come by chance"
        told.append(Finding(f"{sentence}.", numbers))
    blind = one.best(c for c in one.done if not c.knows_users and c.kind == cell.kind)
    numbers = {"corpus": one.task.name, "rater": cell.name, "user": evaluation.f1("user", label)}
    among = "of the raters that know who answers" if cell.knows_users else "of all raters"
    sentence = f"{{corpus}}: {among}, {{rater}} meets the average user best (F1 {{user:.2f}})"
    if blind is not None and blind != cell:
        numbers |= {"blind": blind.name, "other": one.score(blind, "user")}
        better = (numbers["other"] or 0.0) > (numbers["user"] or 0.0)
        sentence += f"; {{blind}}, which does not know it, {'is better with' if better else 'reaches'} {{other:.2f}}"
    told.append(Finding(f"{sentence}.", numbers))
    users = evaluation.users.filter(pl.col("class") == label).drop_nulls("f1")
    few = len(below(evaluation, threshold, label))
    stances = dict(
        against_majority(evaluation, one.task.people, one.task.question).select("stance", "accuracy").iter_rows()
    )
    sentence = "{corpus}: for {few} of {users} users the F1 of {rater} is below {threshold:g}"
    numbers = {"corpus": one.task.name, "rater": cell.name, "few": few, "users": len(users), "threshold": threshold}
    if stances.get("against most") is not None and stances.get("with most") is not None:
        numbers |= {"against": 100 * stances["against most"], "with": 100 * stances["with most"]}
        sentence += (
            "; it meets {against:.0f} % of the answers that oppose most people's, and {with:.0f} % of the others"
        )
    return [*told, Finding(f"{sentence}.", numbers)]
