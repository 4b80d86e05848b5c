"""Which statements are ambiguous, and which methods find them at what cost: functions of the statements of a task."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures import accuracy, named
from vantage.report.cells import counted, show
from vantage.report.recipe import Data, there
from vantage.studies.context.analysis import TITLES, ContextAnalysis, Statements
from vantage.studies.context.pipeline.controls import CONTEXT, STATIC
from vantage.studies.context.pipeline.detection import LEAST, ceiling, compare, curve
from vantage.studies.context.pipeline.simulation import Cost
from vantage.studies.context.tasks import LABEL, TASK

COUNTS: Final = (5, 10, 20, 30)
"""Numbers of personas beside all of them."""
DRAWS: Final = 10
SHOWN: Final = 12
"""The number of statements listed."""
RANDOM: Final = "at random"


def tasks(analysis: ContextAnalysis) -> Mapping[str, Statements]:
    """The statements of each task that anyone or any method has judged."""
    return {title: part for title, part in analysis.parts.items() if part.methods or len(part.votes)}


def statements(part: Statements) -> Data:
    """The statements that people, or else the selecting method, find most ambiguous."""
    frame, order = part.corpus.items.select("item", "text", LABEL), ["doubt"]
    frame = frame.join(part.votes.select("item", "shares", "doubt"), on="item", how="left", maintain_order="left")
    if part.selector is not None:
        scores = part.selector.table.select("item", "score")
        frame = frame.join(scores, on="item", how="left", maintain_order="left")
        frame = frame.with_columns(pl.col("item").is_in(part.flagged).alias("flagged"))
        order.append("score")
    percent = (100 * pl.element()).round().cast(pl.Int64).cast(pl.String)
    shares = pl.col("shares").list.eval(percent)
    names = [option.name for option in part.question.scale.options]
    parts = [pl.format(f"{name} {{}} %", shares.list.get(n, null_on_oob=True)) for n, name in enumerate(names)]
    answers = pl.when(pl.col("shares").is_not_null()).then(pl.concat_str(parts, separator=", ")).alias("answers")
    frame = frame.with_columns(answers).drop("shares").sort(*order, descending=True, nulls_last=True)
    orders = {"doubt": "people's doubt", "score": "the score"}
    by = [orders[name] for name in order if frame[name].count()]
    facts = {"listed": min(SHOWN, len(frame)), "of_all": len(frame), "sorted_by": " and then by ".join(by)}
    facts |= {"doubt": "People's doubt" if orders["doubt"] in by else None}
    return Data(frame.head(SHOWN), {**facts, "selector": part.selector.method if part.selector else None})


def methods(part: Statements) -> Data:
    """Methods side by side, each with what it took; only that where there are too few votes to judge them by."""
    lost = [
        f"{one.method}: {counted(count, 'item')} without a score ({reason}), never flagged"
        for one in part.methods
        for reason, count in one.unscored.items()
    ]
    facts: dict[str, Any] = dict.fromkeys(("marked", "voted", "few_votes", "ceiling", "ceiling_at_budget"))
    facts["unscored_items"] = "; ".join(lost) or None
    facts["intervals"] = ", with 95 % intervals over items" if part.judged else ""
    frame = compare(part.methods, part.votes if part.judged else part.votes.clear(), part.question.scale, part.judging)
    if part.judged:
        facts |= {"voted": len(part.votes), "marked": int(part.judging.marked(part.votes).sum())}
        highest = ceiling(part.votes, part.question.scale, part.judging)
        facts |= {name: show(value, 2) for name, value in highest.items()}
    else:
        facts |= {"few_votes": f"{counted(len(part.votes), 'item')} of the task", "needed": LEAST}
    return Data(frame.with_columns(pl.lit(part.task.name).alias(TASK)), facts)


def curves(part: Statements) -> pl.DataFrame | None:
    """How much of people's doubt lies in the items that each method flags first, and in as many at random."""
    tables = []
    for model, methods in part.by_model.items() if part.judged else ():
        # A method that finds all items alike is that of random flags.
        telling = [one for one in methods if one.method != TITLES["constant"] or len(part.methods) == 1]
        lines = {one.method: curve(part.judging.joined(one, part.votes), seed=part.seed) for one in telling}
        used = pl.lit(f"that use {model or 'no model'}").alias("used")
        ends = {"estimate": "random", "low": "random_low", "high": "random_high"}
        tables += [one.select("share", used, estimate="captured", method=pl.lit(name)) for name, one in lines.items()]
        tables += [one.select("share", used, **ends, method=pl.lit(RANDOM)) for one in [*lines.values()][-1:]]
    return pl.concat(tables, how="diagonal") if tables else None


def people_selective(part: Statements) -> pl.DataFrame | None:
    """F1 and "ambiguous" answers of people if only the statements that a method flags have context, or none, or all."""
    items = part.votes.join(part.after, on="item", how="semi")["item"]
    both = part.said("person", "slot").filter(pl.col("item").is_in(items.implode()))
    if both.filter(condition=CONTEXT).is_empty() or not part.judged:
        return None
    flags = {one.method: part.judging.flags(one, part.votes) for one in part.methods}
    chosen = {"none": [], **{method: flagged for method, (flagged, reason) in flags.items() if not reason}}
    how: dict[str, Any] = {"metric": "f1_macro", "zero_division": None, "opt_outs": "wrong", "missing": "wrong"}
    rows = []
    for method, flagged in {**chosen, "all": items.to_list()}.items():
        given = pl.when(pl.col("item").is_in(flagged)).then(pl.lit(CONTEXT)).otherwise(pl.lit(STATIC))
        said = both.filter(pl.col("condition") == given)
        f1 = accuracy(said, by=(), reference=part.labels, resamples=part.options.resamples, seed=part.seed, **how)
        unclear = int((said["status"].cast(pl.String) == "ambiguous").sum()) / len(said)
        row = {"method": method, "flagged": len(flagged), **named("f1", f1.row(0, named=True))}
        rows.append({**row, "ambiguous": unclear, "items": len(items)})
    return pl.DataFrame(rows, infer_schema_length=None)


@lru_cache(maxsize=8)
def by_personas(part: Statements) -> pl.DataFrame:
    """How the scores of a method depend on the number of personas, drawn at random.

    `rho_all` is the rank correlation with the scores of all of them, `rho` that with the entropy of people's votes.
    Where people judged both ways, `ambiguous` is the share of "ambiguous" answers if the `flagged` statements have
    context.
    """
    rows: list[dict[str, Any]] = []
    both = part.votes.join(part.after.select("item", after="ambiguity"), on="item")
    for one in part.methods:
        readers, rng = one.readers, np.random.default_rng(part.seed)
        known = one.table.select("item", rho_all="score")
        known = known.join(part.votes.select("item", rho="entropy"), on="item", how="left", maintain_order="left")
        fewer = [count for count in COUNTS if count < len(readers)]
        for count in [*fewer, len(readers)] if fewer else ():
            for _ in range(DRAWS if count < len(readers) else 1):
                some = [readers[n] for n in rng.permutation(len(readers))[:count]]
                chosen = part.detected(one.method, some, Cost())
                table = chosen.table.select("item", "score").join(known, on="item")
                row: dict[str, Any] = {"method": one.method, "personas": count}
                row |= {name: _rank(table, name) for name in ("rho_all", "rho")}
                if len(both) >= LEAST:
                    flagged = pl.col("item").is_in(part.judging.flags(chosen, both)[0])
                    unclear = pl.when(flagged).then("after").otherwise("ambiguity").mean()
                    row |= both.select(flagged=flagged.sum().cast(pl.Float64), ambiguous=unclear).row(0, named=True)
                rows.append(row)
    frame = pl.DataFrame(there(rows or None), infer_schema_length=None)
    return frame.group_by("method", "personas", maintain_order=True).mean()


def ambiguity_by_personas(part: Statements) -> pl.DataFrame:
    """The rows of `by_personas` that know what people say in context, which the manuscript draws (Figure 12)."""
    rows = by_personas(part)
    return rows.drop_nulls("ambiguous") if "ambiguous" in rows.columns else rows.clear()


def _rank(table: pl.DataFrame, column: str) -> float | None:
    both = table.drop_nulls(["score", column])
    value = both.select(pl.corr("score", column, method="spearman")).item() if len(both) >= LEAST else None
    return None if value is None or np.isnan(value) else float(value)


def spreads(part: Statements) -> pl.DataFrame:
    """The scores of single items by each method that has a distribution of answers, and the entropy of votes."""
    scores = {one.method: one.table["score"].drop_nulls() for one in part.methods if one.table["shares"].count()}
    if len(part.votes):
        scores["people"] = part.votes["entropy"]
    rows = [pl.DataFrame({"value": values}).with_columns(method=pl.lit(name)) for name, values in scores.items()]
    return pl.concat(there(rows or None))
