"""The order of the models in the report: whether it is the same without and with context, and how sure that is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from vantage.context.controls import CONTEXT, STATIC
from vantage.instruments import Question
from vantage.raters.style import Style
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.studies.context.model_ranks import AVERAGE, BEST, BETWEEN, correlations, placed, swaps
from vantage.studies.context.model_scores import ALL


@dataclass(frozen=True)
class Order:
    """The order of models at one task: correlations, pairs that swap, and a chart for each style without examples."""

    related: list[dict[str, Any]]
    swapped: list[pl.DataFrame]
    figures: list[Figure]

    @classmethod
    def of(
        cls,
        question: Question,
        judged: pl.DataFrame,
        names: Mapping[str, Mapping[str, Any]],
        people: pl.DataFrame,
        labels: pl.DataFrame,
        flagged: Collection[str],
        *,
        resamples: int,
        seed: int,
    ) -> Order:
        """The order of the models that were asked in the same style under both conditions, style by style.

        Args:
            question: The task.
            judged: The models' judgments of it.
            names: For each rater its `model` and `style`.
            people: People's judgments as systems (see `model_ranks.people_rows`).
            labels: The original labels: `item` and `value`.
            flagged: The items that need context.
            resamples: How often items are resampled.
            seed: The seed of the resampling.
        """
        both = judged.filter(pl.col("condition").is_in([STATIC, CONTEXT]))
        paired = both.group_by("item").agg(pl.col("condition").n_unique()).filter(pl.col("condition") == 2)
        both = both.join(paired, on="item", how="semi")
        order = cls([], [], [])
        how: dict[str, Any] = {"resamples": resamples, "seed": seed}
        for style in dict.fromkeys(str(one["style"]) for one in names.values()):
            systems = {rater: one["model"] for rater, one in names.items() if one["style"] == style}
            some = both.filter(pl.col("rater").is_in(list(systems))).with_columns(
                pl.col("rater").replace_strict(systems, return_dtype=pl.String).alias("system"),
                pl.col("sample").n_unique().over("rater").alias("runs"),
            )
            if set(some["condition"]) != {STATIC, CONTEXT} or some["system"].n_unique() < 2:
                continue
            named = {"task": question.id, "style": style}
            whole = _beside(some, people)
            ranked = {"models": some} if whole is some else {"models": some, "models and people": whole}
            for told, frame in ranked.items():
                rows = correlations(frame, labels, flagged, **how)
                # People have no second run, so that these rows would only repeat those of the models.
                rows = rows if frame is some else [row for row in rows if row["between"] == BETWEEN]
                order.related.extend({**named, "systems_are": told, **row} for row in rows)
            pairs = swaps(some, labels, **how)
            order.swapped.append(pairs.with_columns(task=pl.lit(question.id), style=pl.lit(style)))
            if not Style.parse(style).shots or not order.figures:
                order.figures.append(_bump(placed(whole, labels), question, style))
        return order

    def findings(self) -> list[Finding]:
        """How the order with context is related to that without, in the first style."""
        for row in self.related:
            if row["part"] == ALL and row["between"] == BETWEEN and row.get("estimate") is not None:
                known = {name: row.get(name) for name in ("task", "estimate", "low", "high", "systems")}
                sentence = (
                    "{task}: the order of {systems} models without context correlates with their order with it at "
                    "{estimate:.2f} (from {low:.2f} to {high:.2f})."
                )
                return [Finding(sentence, known)]
        return []


def order_section(orders: Sequence[Order]) -> Section | None:
    """The section on the order of models; null where fewer than two were asked under both conditions."""
    rows = [row for order in orders for row in order.related]
    if not rows:
        return None
    related = pl.DataFrame(rows, infer_schema_length=None)
    swapped = [frame for order in orders for frame in order.swapped]
    bumps = [figure for order in orders for figure in order.figures]
    columns: dict[str, Column | str] = {
        "systems_are": "ranked",
        "estimate": Column("Spearman", digits=2, interval=("low", "high") if "low" in related.columns else None),
        "p": Column(digits=3),
        "systems": "number",
    }
    shown = ["task", "style", "systems_are", "part", "between", "estimate", "p", "systems", "items", "reason"]
    parts: list[Table | Figure] = [
        Table(
            "models-rank-correlation",
            "Rank correlation of models by F1 between the conditions, and between two runs of the same condition.",
            related,
            {name: how for name, how in columns.items() if name in related.columns},
            shown=[name for name in shown if name in related.columns],
            keys=("task", "style", "systems_are", "part", "between"),
            notes=[
                "Intervals are 95 % over items; p counts all orders of the systems. With few systems hardly any order "
                "is surprising, so read the interval and the rows for two runs before speaking of a shift.",
                "Where people are ranked too, they are two systems: all of them pooled, and the best of each "
                "condition, who is best by luck as well.",
            ],
        ),
        *bumps,
    ]
    differences = ["first_difference", "second_difference"]
    if swapped:
        parts.append(
            Table(
                "models-swaps",
                "Pairs of models: the difference of their F1 without and with context, and the share of resamples in "
                "which context turns their order round.",
                pl.concat(swapped, how="diagonal_relaxed"),
                {
                    "first_difference": Column("static", digits=2, signed=True),
                    "second_difference": Column("context", digits=2, signed=True),
                    "estimate": Column("swap probability", digits=2),
                },
                shown=["task", "style", "system", "other", *differences, "estimate", "swapped"],
                keys=("task", "style", "system", "other"),
            )
        )
    text = [
        "A benchmark is used to put models in order. If context changes what a statement means, it may change that "
        "order too; how much of a change is to be expected from chance alone is told by the interval over items and by "
        "two runs of the same models under the same condition."
    ]
    return Section("Do models keep their order?", text, parts)


def _beside(judged: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """Models and people as systems; models alone where people did not judge in both conditions."""
    mine = people.filter(pl.col("condition").is_in([STATIC, CONTEXT])).join(judged, on="item", how="semi")
    if set(mine["condition"]) != {STATIC, CONTEXT}:
        return judged
    return pl.concat([judged, mine.with_columns(pl.lit(1, dtype=pl.UInt32).alias("runs"))], how="diagonal_relaxed")


def _bump(places: pl.DataFrame, question: Question, style: str) -> Figure:
    slug = "-".join(word for word in f"{question.id} {style}".lower().replace(":", "-").replace("+", "-").split())
    people = [name for name in (AVERAGE, BEST) if name in places["system"]]
    return Figure(
        f"rank-shifts-{slug}",
        f"{question.title}, {style}: the order of the models by F1 without and with context, the best on top.",
        "One line for each model from its rank without context, on the left, to its rank with context, on the right.",
        "bump",
        places,
        {"name": "system", "stage": "condition", "label": f"rank by F1, {question.id}", "highlight": people},
    )
