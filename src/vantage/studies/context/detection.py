"""Which statements are ambiguous, and which methods find them at what cost: functions of the statements of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.resampling import named
from vantage.measures.scoring.accuracy import accuracy
from vantage.report.cells import counted
from vantage.report.recipe import Data
from vantage.studies.context.analysis import TITLES, ContextAnalysis, Statements
from vantage.studies.context.pipeline.ambiguity import Detected
from vantage.studies.context.pipeline.controls import CONTEXT, STATIC
from vantage.studies.context.pipeline.detection import calibration, ceiling, compare
from vantage.studies.context.pipeline.simulation import Cost
from vantage.studies.context.pipeline.thresholds import LEAST, remaining
from vantage.studies.context.tasks import LABEL, TASK

COUNTS: Final = (5, 10, 20, 30)
"""Numbers of personas that are looked at besides all of them."""
DRAWS: Final = 10
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


def people_selective(part: Statements) -> pl.DataFrame | None:
    """What people say if only the statements that a method flags have context: F1 and "ambiguous" answers.

    Each method flags by thresholds that were chosen on other items; `none` and `all` are without and with context.
    """
    both = part.said("person", "slot")
    items = part.votes.join(part.after, on="item", how="semi")["item"]
    both = both.filter(pl.col("item").is_in(items.implode()))
    if both.filter(condition=CONTEXT).is_empty() or not part.judged:
        return None
    flags = {one.method: part.judging.flags(one, part.votes) for one in part.methods}
    chosen = {"none": [], **{method: one.flagged for method, one in flags.items() if not one.reason}}
    how: dict[str, Any] = {"metric": "f1_macro", "zero_division": None, "opt_outs": "wrong", "missing": "wrong"}
    rows = []
    for method, flagged in {**chosen, "all": items.to_list()}.items():
        given = pl.when(pl.col("item").is_in(flagged)).then(pl.lit(CONTEXT)).otherwise(pl.lit(STATIC))
        said = both.filter(pl.col("condition") == given)
        options = {"resamples": part.options.resamples, "seed": part.seed, **how}
        f1 = accuracy(said, reference=part.labels, **options).to_dicts()[0]
        unclear = int((said["status"].cast(pl.String) == "ambiguous").sum()) / len(said)
        row = {"method": method, "flagged": len(flagged), **named("f1", f1)}
        rows.append({**row, "ambiguous": unclear, "items": len(items)})
    return pl.DataFrame(rows, infer_schema_length=None)


def by_personas(part: Statements) -> pl.DataFrame | None:
    """How the scores of a method with personas depend on their number: read off some of them, drawn at random.

    `rho_all` is the rank correlation with the scores of all of them, `rho` that with the entropy of people's votes.
    """
    votes = part.votes.select("item", pl.col("entropy").alias("votes")) if len(part.votes) else None
    rows = []
    for one in part.methods:
        readers = one.readers
        rng = np.random.default_rng(part.seed)
        for count in [count for count in COUNTS if count < len(readers)] + [len(readers)] * (len(readers) > 1):
            draws = DRAWS if count < len(readers) else 1
            for _ in range(draws):
                some = [readers[n] for n in rng.permutation(len(readers))[:count]]
                table = part.rescored(one, some).table.select("item", "score")
                table = table.join(one.table.select("item", pl.col("score").alias("all")), on="item").drop_nulls()
                row = {"method": one.method, "personas": count, "rho_all": _rank(table, "all")}
                if votes is not None:
                    row["rho"] = _rank(table.join(votes, on="item"), "votes")
                rows.append(row)
    if not rows:
        return None
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.group_by("method", "personas", maintain_order=True).mean()


def _rank(table: pl.DataFrame, column: str) -> float | None:
    if len(table) < LEAST:
        return None
    value = table.select(pl.corr("score", column, method="spearman")).item()
    return None if value is None or np.isnan(value) else float(value)


def _by_model(part: Statements, curve: Callable[[Detected], pl.DataFrame | None]) -> pl.DataFrame | None:
    """The curves of the methods without a model and of those of each model, both beside random flags."""
    tables = []
    for model, methods in part.by_model.items():
        rows = {one.method: line for one in methods if (line := curve(one)) is not None}
        if rows:
            chance = [*rows.values()][-1].drop("estimate").rename(_ENDS, strict=False)
            lines = {method: line.select("share", "estimate") for method, line in rows.items()} | {RANDOM: chance}
            used = pl.lit(f"that use {model or 'no model'}").alias("used")
            tables += [line.with_columns(used, method=pl.lit(method)) for method, line in lines.items()]
    return pl.concat(tables, how="diagonal") if tables else None


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
