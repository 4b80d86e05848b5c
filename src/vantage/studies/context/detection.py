"""Which statements are ambiguous, and which methods find them at what cost: functions of the statements of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl

from vantage.report.cells import counted
from vantage.report.recipe import Data
from vantage.studies.context.analysis import TITLES, ContextAnalysis, Statements
from vantage.studies.context.pipeline.ambiguity import Detected
from vantage.studies.context.pipeline.detection import calibration, ceiling, compare
from vantage.studies.context.pipeline.simulation import Cost
from vantage.studies.context.pipeline.thresholds import LEAST, remaining
from vantage.studies.context.tasks import LABEL, TASK

SHOWN: Final = 12
"""How many of the most ambiguous statements are listed."""
RANDOM: Final = "at random"
_ENDS: Final = {"random": "estimate", "random_low": "low", "random_high": "high"}


def tasks(analysis: ContextAnalysis) -> Mapping[str, Statements]:
    """The statements of each task that anyone or any method has judged."""
    return {title: part for title, part in analysis.parts.items() if part.methods or len(part.votes)}


def statements(part: Statements) -> Data:
    """The statements that people, or else the selecting method, find most ambiguous."""
    frame = part.corpus.items.select("item", "text", LABEL).join(
        part.votes.select("item", "shares", "doubt"), on="item", how="left", maintain_order="left"
    )
    order = ["doubt"]
    if part.selector is not None:
        scores = part.selector.table.select("item", "score")
        frame = frame.join(scores, on="item", how="left", maintain_order="left")
        frame = frame.with_columns(pl.col("item").is_in(part.flagged).alias("flagged"))
        order.append("score")
    shares = [
        pl.format(
            f"{option.name} {{}} %", (100 * pl.col("shares").list.get(n, null_on_oob=True)).round().cast(pl.Int64)
        )
        for n, option in enumerate(part.question.scale.options)
    ]
    answers = pl.when(pl.col("shares").is_not_null()).then(pl.concat_str(shares, separator=", ")).alias("answers")
    frame = frame.with_columns(answers).drop("shares").sort(*order, descending=True, nulls_last=True)
    facts = {"listed": min(SHOWN, len(frame)), "of_all": len(frame)}
    return Data(frame.head(SHOWN), {**facts, "selector": part.selector.method if part.selector else None})


def methods(part: Statements) -> Data:
    """Methods side by side, each with what it took; only that where there are too few votes to judge them by."""
    facts: dict[str, Any] = dict.fromkeys(("marked", "voted", "ceiling", "few_votes", "unscored_items"))
    lost = [
        f"{one.method}: {counted(count, 'item')} without a score ({reason}), never flagged"
        for one in part.methods
        for reason, count in one.unscored.items()
    ]
    facts["unscored_items"] = "; ".join(lost) or None
    if part.judged:
        frame = compare(part.methods, part.votes, part.question.scale, part.judging)
        limit = ceiling(part.votes, part.question.scale, seed=part.seed)
        facts |= {"voted": len(part.votes), "marked": int(part.judging.target.marked(part.votes).sum())}
        facts["ceiling"] = None if limit is None else f"{limit:.2f}"
    else:
        facts |= {"few_votes": f"{counted(len(part.votes), 'item')} of the task", "needed": LEAST}
        frame = pl.DataFrame(
            {
                "method": one.method,
                "items": len(one.table),
                "unscored": sum(one.unscored.values()),
                **(one.cost or Cost()).counted,
            }
            for one in part.methods
        )
    return Data(frame.with_columns(pl.lit(part.task.name).alias(TASK)), facts)


def curves(part: Statements) -> pl.DataFrame | None:
    """How much of people's doubt lies in the items that each method flags first."""

    def captured(one: Detected) -> pl.DataFrame | None:
        if one.method == TITLES["constant"] and len(part.methods) > 1:
            return None
        curve = part.judging.curve(one, part.votes).select("share", "captured", "random", "random_low", "random_high")
        return curve.rename({"captured": "estimate"})

    return _by_model(part, captured) if part.judged else None


def remaining_doubt(part: Statements) -> pl.DataFrame | None:
    """What people's ambiguity would be if only flagged items had context; needs people's votes in both conditions."""
    if part.after.is_empty() or not part.judged:
        return None
    column = part.judging.target.column
    both = part.votes.select("item", before=column).join(part.after.select("item", after=column), on="item")

    def left(one: Detected) -> pl.DataFrame:
        doubt = remaining(one.table.select("item", "score").join(both, on="item"))
        return doubt.select("share", "random", estimate="left")

    return _by_model(part, left)


def _by_model(part: Statements, curve: Callable[[Detected], pl.DataFrame | None]) -> pl.DataFrame | None:
    """The curves of the methods without a model and of those of each model, both beside random flags."""
    found = []
    for model, methods in part.by_model.items():
        rows = {one.method: line for one in methods if (line := curve(one)) is not None}
        if rows:
            chance = [*rows.values()][-1].drop("estimate").rename(_ENDS, strict=False)
            lines = {method: line.select("share", "estimate") for method, line in rows.items()} | {RANDOM: chance}
            used = pl.lit(f"that use {model or 'no model'}").alias("used")
            found += [line.with_columns(used, method=pl.lit(method)) for method, line in lines.items()]
    return pl.concat(found, how="diagonal") if found else None


def calibrated(part: Statements) -> pl.DataFrame | None:
    """Simulated shares of answers in bins, beside people's mean share in the same bin."""
    rows = [
        curve.select(pl.lit(one.method).alias("method"), "simulated", "human", "shares")
        for one in (part.methods if part.judged else ())
        if len(curve := calibration(one, part.votes, part.question.scale))
    ]
    return pl.concat(rows) if rows else None


def spreads(part: Statements) -> pl.DataFrame | None:
    """The scores of single items by each method that has a distribution of answers, and the entropy of votes."""
    rows = [
        one.table.drop_nulls("score").select(pl.lit(one.method).alias("method"), pl.col("score").alias("value"))
        for one in part.methods
        if one.table["shares"].count()
    ]
    if len(part.votes):
        rows.append(part.votes.select(pl.lit("people").alias("method"), pl.col("entropy").alias("value")))
    return pl.concat(rows) if rows else None


def relevance(part: Statements) -> pl.DataFrame | None:
    """To how many personas items were relevant, where they were asked."""
    rows = [
        one.table.select(
            pl.lit(one.method).alias("method"),
            pl.col("asked").max(),
            pl.col("relevant").mean().alias("mean"),
            pl.col("relevant").min().alias("fewest"),
            pl.col("relevant").max().alias("most"),
            (pl.col("relevant") == 0).sum().alias("none"),
        )
        for one in part.methods
        if "relevant" in one.table.columns and one.table["relevant"].count()
    ]
    return pl.concat(rows) if rows else None
