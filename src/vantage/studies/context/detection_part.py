"""Ambiguity in the report: which items people find ambiguous, which methods find them, and at what cost."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.context.detection import calibration, ceiling, compare
from vantage.context.thresholds import LEAST, remaining
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.studies.context.detecting import TITLES, Detection
from vantage.studies.context.tasks import LABEL

SHOWN: Final = 12
"""How many of the most ambiguous statements are listed."""


def detection_sections(found: Detection) -> tuple[list[Section], list[Finding]]:
    """The sections of one task: its most ambiguous statements, methods side by side, curves, and calibration."""
    task = found.task.name
    findings = [_finding(found)]
    if not found.methods:
        nothing = "Nobody has judged these statements, and no model was asked about them; name one with --model."
        return [Section(f"Ambiguous statements: {found.task.title}", [nothing])], findings
    sections = [_items_section(found)]
    parts: list[Table | Figure] = []
    text = []
    if found.judged:
        table = compare(found.methods, found.votes, found.question.scale, found.judging)
        text += _explained(found, table)
        parts += [_methods_table(task, table, found), _curves(found), *_remaining(found), *_calibration(found)]
        findings.append(_best(task, table))
    else:
        text.append(
            f"Only {len(found.votes)} items have votes, and {LEAST} are needed to choose and judge a threshold: the "
            "scores are shown, and nothing is said about how good they are."
        )
        parts.append(_costs_table(found))
    parts.append(_spreads(found))
    if (persons := _relevance(found)) is not None:
        parts.append(persons)
    return [*sections, Section(f"Which method finds them: {found.task.title}", text, parts)], findings


def _items_section(found: Detection) -> Section:
    """The statements that people, or the selecting method, find most ambiguous."""
    chosen = found.selector()
    flags = set(found.flagged())
    frame = found.items.select("item", "text", LABEL).join(
        found.votes.select("item", "shares", "votes", "doubt"), on="item", how="left", maintain_order="left"
    )
    if chosen is not None:
        frame = frame.join(chosen.table.select("item", "score"), on="item", how="left", maintain_order="left")
        frame = frame.with_columns(pl.col("item").is_in(list(flags)).alias("flagged"))
    answers = [option.name for option in found.question.scale.options]
    told = [pl.col("shares").list.get(n, null_on_oob=True).alias(f"share of {name}") for n, name in enumerate(answers)]
    order = ["doubt", "score"] if chosen is not None else ["doubt"]
    frame = frame.with_columns(*told).drop("shares").sort(*order, descending=True, nulls_last=True)
    columns: dict[str, Column | str] = {
        LABEL: "original label",
        "doubt": Column("people's doubt", digits=2),
        **{f"share of {name}": Column(percent=True, digits=0) for name in answers},
    }
    if chosen is not None:
        columns["score"] = Column(f"score: {chosen.method}", digits=2)
    shown = [name for name in frame.columns if name != "votes"]
    text = [
        "People's doubt is the share of answers that are not the most frequent option. Statements with the most "
        "doubt come first; a score that says nothing about it is no sign of a bad statement but of a weak method."
        if len(found.votes)
        else "Nobody has judged these statements, so that only the score of the method tells how ambiguous they are."
    ]
    table = Table(
        f"{found.task.name}-items",
        f"The {min(SHOWN, len(frame))} most ambiguous of {len(frame)} statements; all of them are in the corpus.",
        frame.head(SHOWN),
        columns,
        shown,
        ("item",),
    )
    return Section(f"Ambiguous statements: {found.task.title}", text, [table])


def _finding(found: Detection) -> Finding:
    n, column, mark = len(found.votes), found.judging.target.column, found.judging.target.mark
    if not n:
        return Finding(
            "{task}: nobody has judged the {items} statements, so no method can be checked against people.",
            {"task": found.task.name, "items": len(found.items)},
        )
    marked = found.votes.filter(pl.col(column) >= mark - 1e-9)
    numbers: dict[str, Any] = {
        "task": found.task.name,
        "k": len(marked),
        "n": n,
        "share": len(marked) / n,
        "mark": mark,
    }
    return Finding(
        "{task}: people find {k} of {n} statements ambiguous ({share:.0%}; "
        f"{column} of at least {{mark:.1f}}), standing alone.",
        numbers,
    )


def _explained(found: Detection, table: pl.DataFrame) -> list[str]:
    limit = ceiling(found.votes, found.question.scale, seed=found.judging.seed)
    base = table["base"][0]
    text = [
        f"An item is ambiguous when people's {found.judging.target.column} is at least {found.judging.target.mark:g}; "
        f"{base:.0%} of the items are. Random flags have that precision, an AUC of 0.5, and no correlation. Thresholds "
        f"are chosen by {found.judging.criterion} on other items than those that they flag.",
        "A method that needs no model and no votes is free; one that learns from votes needs what detection is "
        "meant to save, and shows how much of people's doubt can be seen in the words at all.",
    ]
    if limit is not None:
        text.append(
            "Votes are few: the entropy of one half of the readers correlates with that of the other half by "
            f"{limit:.2f} only, so that no method can correlate with it perfectly."
        )
    lost = {one.method: one.unscored for one in found.methods if one.unscored}
    text += [
        f"{method}: {count} items have no score ({reason}); they are never flagged."
        for method, reasons in lost.items()
        for reason, count in reasons.items()
    ]
    return text


def _methods_table(task: str, table: pl.DataFrame, found: Detection) -> Table:
    def ends(title: str, name: str, best: Any = "max") -> Column:
        return Column(title, digits=2, interval=(f"{name}_low", f"{name}_high"), best=best)

    return Table(
        f"{task}-methods",
        "Methods of detection side by side, with 95 % intervals over items, and what each took.",
        table,
        {
            "auc": ends("AUC", "auc"),
            "rho": ends("rank correlation", "rho"),
            "rho_shares": Column("of shares", digits=2),
            "jsd": ends("divergence", "jsd", "min"),
            "calibration": Column("calibration error", digits=2),
            "precision": ends("precision", "precision"),
            "recall": ends("recall", "recall", None),
            "at_budget": Column(f"precision at {found.judging.budget:.0%}", digits=2, best="max"),
            "flagged": "flagged",
            "unscored": "without score",
            "prompt_tokens": "tokens read",
            "completion_tokens": "tokens written",
        },
        (
            *("method", "items", "unscored", "auc", "rho", "rho_shares", "jsd", "calibration"),
            *("flagged", "precision", "recall", "at_budget", "calls", "prompt_tokens", "completion_tokens"),
        ),
        ("method",),
        [
            "AUC: how often an ambiguous item has the higher score of two. Rank correlation: Spearman's, of scores "
            "with the entropy of votes. Divergence: Jensen–Shannon, in nats, of simulated from human shares (lower is "
            "better). A dash in tokens: the model does not count them when it scores options.",
        ],
    )


def _curves(found: Detection) -> Figure:
    rows = []
    for one in found.methods:
        if one.method == TITLES["constant"] and len(found.methods) > 1:
            continue
        told = found.judging.curve(one, found.votes)
        rows.append(
            told.select(
                pl.lit(one.method).alias("method"),
                "share",
                "captured",
                pl.lit(None, dtype=pl.Float64).alias("low"),
                pl.lit(None, dtype=pl.Float64).alias("high"),
            )
        )
        chance = told.select(
            pl.lit("at random").alias("method"),
            "share",
            pl.col("random").alias("captured"),
            pl.col("random_low").alias("low"),
            pl.col("random_high").alias("high"),
        )
    best = max(rows, key=lambda frame: float(frame["captured"].mean() or 0.0))  # type: ignore[arg-type]
    return Figure(
        f"{found.task.name}-curve",
        "How much of people's doubt lies in the items that are flagged first, by the share of items that are flagged; "
        "the band is the middle 95 % of random flags.",
        "Curves from nothing to everything; one that lies above the band flags better than chance. On average the "
        f"highest is “{best['method'][0]}”.",
        "curve",
        pl.concat([*rows, chance]),
        {
            "x": "share",
            "y": "captured",
            "series": "method",
            "x_label": "share of items flagged",
            "label": "share of people's doubt captured",
            "height": 3.4,
        },
    )


def _remaining(found: Detection) -> list[Table | Figure]:
    """What people's ambiguity would be if only flagged items had context; needs people's votes in both conditions."""
    if found.after.is_empty():
        return []
    column = found.judging.target.column
    before = found.votes.select("item", pl.col(column).alias("before"))
    after = found.after.select("item", pl.col(column).alias("after"))
    rows, chance = [], None
    for one in found.methods:
        table = one.table.select("item", "score").join(before, on="item").join(after, on="item")
        told = remaining(table)
        rows.append(told.select(pl.lit(one.method).alias("method"), "share", "left"))
        chance = told.select(pl.lit("at random").alias("method"), "share", pl.col("random").alias("left"))
    assert chance is not None  # noqa: S101 - there is a method
    return [
        Figure(
            f"{found.task.name}-remaining",
            f"People's {column} when only the items that are flagged first get context, by their share.",
            "Curves from the value without context to that with context for all; the lower, the better the choice.",
            "curve",
            pl.concat([*rows, chance]),
            {"x": "share", "y": "left", "series": "method", "x_label": "share of items with context", "label": column},
        )
    ]


def _calibration(found: Detection) -> list[Table | Figure]:
    rows = [
        told.with_columns(pl.lit(one.method).alias("method"))
        for one in found.methods
        if len(told := calibration(one, found.votes, found.question.scale))
    ]
    if not rows:
        return []
    return [
        Table(
            f"{found.task.name}-calibration",
            "Calibration: simulated shares of answers in bins of 0.1, and people's mean share in the same bin.",
            pl.concat(rows).select("method", "simulated", "human", "shares"),
            {"simulated": Column(digits=2), "human": Column("people", digits=2), "shares": "answers in the bin"},
            keys=("method", "simulated"),
        )
    ]


def _spreads(found: Detection) -> Figure:
    rows = [
        one.table.drop_nulls("score").select(pl.lit(one.method).alias("method"), pl.col("score").alias("value"))
        for one in found.methods
        if one.table["shares"].count()
    ]
    if len(found.votes):
        rows.append(found.votes.select(pl.lit("people").alias("method"), pl.col("entropy").alias("value")))
    frame = pl.concat(rows) if rows else pl.DataFrame(schema={"method": pl.String, "value": pl.Float64})
    return Figure(
        f"{found.task.name}-entropy",
        "How ambiguous items are to each method and to people: the score of single items (0 is unanimity, 1 an even "
        "spread where it is normalised).",
        "One box per method and one for people's votes.",
        "distribution",
        frame,
        {"category": "method", "kind": "box", "label": "score of an item"},
    )


def _costs_table(found: Detection) -> Table:
    rows = [
        {
            "method": one.method,
            "items": len(one.table),
            "unscored": sum(one.unscored.values()),
            "calls": one.cost.calls if one.cost else 0,
            "prompt_tokens": one.cost.prompt_tokens if one.cost else 0,
            "completion_tokens": one.cost.completion_tokens if one.cost else 0,
        }
        for one in found.methods
    ]
    titles: dict[str, Column | str] = {
        "unscored": "without score",
        "prompt_tokens": "tokens read",
        "completion_tokens": "tokens written",
    }
    return Table(f"{found.task.name}-costs", "What each method took.", pl.DataFrame(rows), titles, keys=("method",))


def _relevance(found: Detection) -> Table | None:
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
        for one in found.methods
        if "relevant" in one.table.columns and one.table["relevant"].count()
    ]
    if not rows:
        return None
    return Table(
        f"{found.task.name}-relevance",
        "To how many personas a statement was relevant (5 or more of 10); statements relevant to none have no score.",
        pl.concat(rows),
        {
            "asked": "personas asked",
            "mean": Column("relevant on average", digits=1),
            "none": "statements relevant to none",
        },
        keys=("method",),
    )


def _best(task: str, table: pl.DataFrame) -> Finding:
    known = table.drop_nulls("auc").sort("auc", descending=True)
    if known.is_empty():
        return Finding("{task}: no method could be judged.", {"task": task})
    top = known.row(0, named=True)
    sure = top["auc_low"] is not None and top["auc_low"] > 0.5
    numbers = {"task": task, "method": top["method"], "auc": top["auc"], "low": top["auc_low"], "high": top["auc_high"]}
    verdict = "better than chance" if sure else "which is not shown to be better than chance"
    return Finding(
        "{task}: “{method}” ranks ambiguous statements best (AUC {auc:.2f} [{low:.2f}, {high:.2f}]), " + verdict + ".",
        numbers,
    )
