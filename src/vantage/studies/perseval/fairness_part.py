"""Fairness: gaps between groups, users who are not served, and those who think otherwise than most."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import polars as pl

from vantage.perspective import Evaluation, against_majority, below, gaps
from vantage.report.parts import Column, Figure, Section, Table
from vantage.studies.perseval.cells import Cell
from vantage.studies.perseval.evaluated import Evaluated

LISTED: Final = 40
"""How many users are listed one by one."""


def fairness(found: list[Evaluated], threshold: float) -> Section:
    """Gaps in every trait, every trait value, and the users below the threshold."""
    gap_rows, value_rows, user_rows = [], [], []
    for one in found:
        for cell in one.focus:
            evaluation = one.evaluations[cell]
            key = {"corpus": one.task.name, "rater": cell.name}
            if evaluation.traits:
                gap_rows += [{**key, **row} for row in gaps(_large(evaluation), one.task.label).iter_rows(named=True)]
                rows = evaluation.trait_values.filter(pl.col("class") == one.task.label)
                value_rows += [{**key, **row} for row in rows.drop("class").iter_rows(named=True)]
        cell_ = one.headline
        if cell_ is not None:
            worst = below(one.evaluations[cell_], threshold, one.task.label).head(LISTED)
            told = [t for t in one.evaluations[cell_].traits if t in worst.columns]
            user_rows += [
                {
                    "corpus": one.task.name,
                    "rater": cell_.name,
                    "user": row["rater"],
                    "f1": row["f1"],
                    "precision": row["precision"],
                    "recall": row["recall"],
                    "support": row["support"],
                    "predicted": row["predicted"],
                    "traits": ", ".join(str(row[t]) for t in told if row[t] is not None),
                }
                for row in worst.iter_rows(named=True)
            ]
    text = (
        "A gap is never negative, so it must be compared with the gap by chance. Values that only one user of the test "
        "set has are left out of gaps where enough others have two; intervals are over users, or over texts where "
        "there are fewer than ten users."
    )
    parts: list[Table | Figure] = []
    if gap_rows:
        parts.append(
            Table(
                "gaps",
                "Distance in F1 between the best and the worst served value of each trait, with its interval.",
                pl.DataFrame(gap_rows, infer_schema_length=None).drop("class"),
                {
                    "gap": Column(digits=2, interval=("low", "high")),
                    "best_f1": Column("F1", digits=2),
                    "worst_f1": Column("F1", digits=2),
                    "chance": Column("gap by chance", digits=2),
                },
                keys=("corpus", "rater", "trait"),
            )
        )
        parts.append(
            Table(
                "values",
                "Scores for the users of each trait value, pooled.",
                pl.DataFrame(value_rows, infer_schema_length=None),
                {"f1": Column("F1", digits=2, interval=("low", "high"))},
                (
                    "corpus",
                    "rater",
                    "trait",
                    "value",
                    "f1",
                    "precision",
                    "recall",
                    "users",
                    "texts",
                    "support",
                    "predicted",
                ),
                ("corpus", "rater", "trait", "value"),
            )
        )
    else:
        text += " The users of these corpora do not differ in any trait that is known."
    schema = {"corpus": pl.String, "rater": pl.String, "user": pl.String, "f1": pl.Float64}
    parts.append(
        Table(
            "not-served",
            f"Users whose F1 is below {threshold:g} with the best rater of each corpus, the worst first.",
            pl.DataFrame(user_rows, infer_schema_length=None) if user_rows else pl.DataFrame(schema=schema),
            {"f1": Column("F1", digits=2)},
            keys=("corpus", "user"),
            notes=[
                f"At most {LISTED} users per corpus; the file of every user can be computed with perspective.evaluate."
            ],
        )
    )
    return Section("Fairness", [text], parts)


def minority(found: list[Evaluated]) -> Section:
    """Scores apart for those who agree with most others on a text and those who do not."""
    rows = [
        {"corpus": one.task.name, "rater": cell.name, **row}
        for one in found
        for cell in one.focus
        for row in against_majority(one.evaluations[cell], one.task.people, one.task.question).iter_rows(named=True)
    ]
    text = (
        "The majority is that of the other people who judged the text, so that nobody votes for themselves. A rater "
        "that gives everyone the majority's label is right with most and wrong against them; taking a perspective "
        "shows in the second number."
    )
    if not rows:
        return Section("Minority against majority", [text])
    frame = pl.DataFrame(rows, infer_schema_length=None)
    who = pl.col("rater") if len(found) == 1 else pl.concat_str("corpus", pl.lit(": "), "rater")
    drawn = frame.filter(pl.col("accuracy").is_not_null(), pl.col("stance") != "tied")
    drawn = drawn.with_columns(who.alias("who"))
    return Section(
        "Minority against majority",
        [text],
        [
            Figure(
                "stances",
                "Share of answers that are met where the person agrees with most others and where not.",
                "Two points per rater; the one for people against the majority lies to the left in nearly every row.",
                "points",
                drawn.select("who", "stance", "accuracy", "low", "high"),
                {"category": "who", "series": "stance", "value": "accuracy", "label": "accuracy", "limits": (0, 1)},
            ),
            Table(
                "stances",
                "Accuracy by stance, with 95 % intervals over users, or over texts where there are fewer than ten.",
                frame,
                {
                    "accuracy": Column(digits=2, interval=("low", "high")),
                    "alone": "annotations nobody else judged",
                },
                keys=("corpus", "rater", "stance"),
            ),
        ],
    )


def _large(evaluation: Evaluation) -> Evaluation:
    """The evaluation without trait values that one user has, in traits that keep two values so."""
    pairs, traits = evaluation.pairs, []
    for trait in evaluation.traits:
        users = pairs.select("rater", trait).drop_nulls().unique().group_by(trait).len()
        kept = users.filter(pl.col("len") > 1)[trait].to_list()
        if len(kept) > 1:
            pairs = pairs.with_columns(pl.when(pl.col(trait).is_in(kept)).then(pl.col(trait)).alias(trait))
        traits.append(trait)
    return replace(evaluation, pairs=pairs, traits=tuple(traits))


def widest(one: Evaluated, cell: Cell) -> dict[str, Any] | None:
    """The trait in which a rater's gap is largest beyond chance; null where users do not differ in any."""
    evaluation = one.evaluations[cell]
    if not evaluation.traits:
        return None
    found = gaps(_large(evaluation), one.task.label)
    beyond = pl.col("gap") - pl.col("chance").fill_null(0.0)
    return found.sort(beyond, descending=True, maintain_order=True).row(0, named=True)
