"""The models in the report: static against context, what follows from flags and controls, and whether order changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import polars as pl

from vantage.context.controls import CONTEXT, STATIC
from vantage.corpora import Corpus
from vantage.measures.resampling import Resampling
from vantage.raters.style import Style
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.studies.context.model_ranks import people_rows
from vantage.studies.context.model_scores import ALL, SELECTIVE, Scoring, before_and_after, with_controls
from vantage.studies.context.order_part import Order, order_section

F1_NOTE: Final = (
    "F1 is the plain mean over the labels of the task; an answer “ambiguous”, and one that cannot be read, counts as "
    "wrong. A model's F1 is the mean over its runs; intervals are 95 % over items."
)
_SHOWN: Final = {STATIC: "static", CONTEXT: "context", SELECTIVE: "flagged only", "difference": "difference"}


def models_sections(
    corpus: Corpus,
    labels: pl.DataFrame,
    *,
    flagged: Collection[str] = (),
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[list[Section], list[Finding]]:
    """The sections on models: F1 static, with context and with context for `flagged` items only; controls; ranks.

    Args:
        corpus: Judgments of models (and of people, as a reference) under the conditions `static`, `context` and, where
            there are controls, `context-opposite`, `context-blind` and `context-turns`.
        labels: The original labels: `item`, `question` and `value`.
        flagged: The items that need context, as some method of detection says.
        resamples: How often items are resampled for intervals.
        seed: The seed of everything that is drawn by lot.
    """
    judged = _judged(corpus, "model").filter(pl.col("item").is_in(labels["item"].implode()))
    if judged.is_empty():
        return [], []
    flags = frozenset(flagged)
    scored: list[dict[str, Any]] = []
    controlled: list[dict[str, Any]] = []
    orders: list[Order] = []
    for question in [q for q in corpus.questions if q.id in set(judged["question"])]:
        mine = judged.filter(pl.col("question") == question.id)
        gold = labels.filter(pl.col("question") == question.id) if "question" in labels.columns else labels
        scoring = Scoring(question.scale, gold, Resampling("items", resamples=resamples, seed=seed))
        for (rater,), rows in scoring.beside_labels(mine).group_by("rater", maintain_order=True):
            named = {"task": question.id, **_named(corpus, str(rater))}
            scored += [{**named, **row} for row in before_and_after(scoring, rows, flags, seed)]
            kinds = sorted(c for c in rows["condition"].unique() if c.startswith(CONTEXT))
            if any(kind != CONTEXT for kind in kinds):
                controlled += [{**named, **row} for row in with_controls(scoring, rows, kinds)]
        people = people_rows(_judged(corpus, "person").filter(pl.col("question") == question.id), gold)
        names = {rater: _named(corpus, rater) for rater in mine["rater"].unique(maintain_order=True).to_list()}
        orders.append(Order.of(question, mine, names, people, gold, flags, resamples=resamples, seed=seed))
    table = pl.DataFrame(scored, infer_schema_length=None)
    sections = [_scores_section(table, flags)]
    if controlled:
        sections.append(_controls_section(pl.DataFrame(controlled, infer_schema_length=None)))
    ordered = order_section(orders)
    if ordered is not None:
        sections.append(ordered)
    return sections, [*_findings(table, controlled), *(finding for one in orders for finding in one.findings())]


def _judged(corpus: Corpus, kind: str) -> pl.DataFrame:
    """The judgments of raters of one kind, without and with context."""
    raters = corpus.raters.filter(pl.col("kind").cast(pl.String) == kind)
    wanted = (pl.col("condition") == STATIC) | pl.col("condition").str.starts_with(CONTEXT)
    return corpus.judgments.filter(wanted).join(raters, on="rater", how="semi", maintain_order="left")


def _named(corpus: Corpus, rater: str) -> dict[str, Any]:
    row = corpus.raters.filter(pl.col("rater") == rater).row(0, named=True)
    return {"model": row.get("model") or rater, "style": row.get("style") or "", "rater": rater}


def _scores_section(table: pl.DataFrame, flagged: Collection[str]) -> Section:
    shown = [name for name in _SHOWN if name in table.columns]
    columns: dict[str, Column | str] = {
        name: Column(_SHOWN[name], digits=2, signed=name == "difference", interval=(f"{name}_low", f"{name}_high"))
        for name in shown
    }
    if "random" in table.columns:
        columns["random"] = Column("as many by lot", digits=2)
    order = ["task", "part", "model", "style", *columns, "items"]
    text = [
        "Every model judges the statements standing alone and with the conversations that were written around them; "
        "both are scored on the same statements, those that have a context."
    ]
    if SELECTIVE in shown:
        text.append(
            f"“Flagged only” gives context to the {len(flagged)} statements that were found ambiguous and leaves the "
            "others alone; “as many by lot” is the mean when the same number is drawn at random."
        )
    parts: list[Table | Figure] = [
        Table(
            "models-f1",
            "F1 of models against the original labels, without and with context.",
            table,
            columns,
            shown=order,
            keys=("task", "part", "rater"),
            notes=[F1_NOTE],
        ),
        *(_before_after(rows, task) for task, rows in _tasks(table)),
        *(figure for task, rows in _tasks(table) for figure in _shots(rows, task)),
        _answers(table),
    ]
    return Section("Models without and with context", text, parts)


def _long(table: pl.DataFrame) -> pl.DataFrame:
    """One row per rater and condition, on all items."""
    whole = table.filter(pl.col("part") == ALL)
    found = [
        whole.select(
            "task",
            "model",
            "style",
            pl.lit(_SHOWN[name]).alias("condition"),
            estimate=name,
            low=f"{name}_low",
            high=f"{name}_high",
        )
        for name in (STATIC, CONTEXT, SELECTIVE)
        if name in table.columns
    ]
    return pl.concat(found).drop_nulls("estimate")


def _tasks(table: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(str(task), rows) for (task,), rows in table.group_by("task", maintain_order=True)]


def _answers(table: pl.DataFrame) -> Table:
    """How often models called a statement ambiguous, or gave no answer that can be read."""
    columns: dict[str, Column | str] = {}
    for name in (STATIC, CONTEXT):
        if f"ambiguous_{name}" in table.columns:
            columns[f"ambiguous_{name}"] = Column(f"ambiguous, {name}", percent=True)
            columns[f"unread_{name}"] = Column(f"no answer, {name}", percent=True)
    return Table(
        "models-answers",
        "Shares of the models' answers that are no label: “ambiguous”, and refused, failed or not readable ones.",
        table,
        columns,
        shown=["task", "part", "model", "style", *columns, "items"],
        keys=("task", "part", "rater"),
    )


def _before_after(table: pl.DataFrame, task: str) -> Figure:
    return Figure(
        f"models-before-after-{task}",
        f"{task}: F1 of models without context, with it, and with it for flagged statements only; 95 % intervals over "
        "items.",
        "One line for each model and style, with one point and interval for each condition.",
        "points",
        _long(table).with_columns(who=pl.format("{}, {}", "model", "style")),
        {"category": "who", "series": "condition", "label": f"F1, {task}"},
    )


def _shots(table: pl.DataFrame, task: str) -> list[Figure]:
    """F1 by the number of examples, where models were asked with several."""
    shots = {style: Style.parse(style).shots for style in table["style"].unique() if _plain(style)}
    if len(set(shots.values())) < 2:
        return []
    some = _long(table).filter(pl.col("style").is_in(list(shots)), pl.col("condition") != _SHOWN[SELECTIVE])
    data = some.with_columns(
        pl.col("style").replace_strict(shots, return_dtype=pl.Int64).alias("shots"),
        series=pl.format("{}, {}", "model", "condition"),
    )
    return [
        Figure(
            f"models-shots-{task}",
            f"{task}: F1 of models by the number of worked examples in the prompt; none of them is in the sample. "
            "Bands are 95 % intervals over items.",
            "One line for each model and condition over the number of examples.",
            "curve",
            data,
            {"x": "shots", "series": "series", "x_label": "worked examples in the prompt", "label": f"F1, {task}"},
        )
    ]


def _plain(style: str) -> bool:
    """Whether a style is nothing but a number of examples."""
    return style == "zero-shot" or (style.startswith("few-shot:") and "+" not in style)


def _controls_section(rows: pl.DataFrame) -> Section:
    columns: dict[str, Column | str] = {
        "written_for": "written for",
        STATIC: Column("static", digits=2, interval=("static_low", "static_high")),
        CONTEXT: Column("with this context", digits=2, interval=("context_low", "context_high")),
        "difference": Column(digits=2, signed=True, interval=("difference_low", "difference_high")),
        "follows_static": Column("its label, static", percent=True),
        "follows": Column("its label, with it", percent=True),
    }
    text = [
        "Contexts that are written from the label and kept only if they agree with it make agreement with the label "
        "easier, whatever they teach about the statement. A context for the opposite label shows how far answers "
        "follow any context; one that was written without a label shows what company alone does; real turns "
        "show what was there before anything was written.",
        "Context helps in its own right only as far as the gain with the label exceeds what the controls explain.",
    ]
    table = Table(
        "models-controls",
        "F1 against the original labels with each kind of context, on the statements that have one of that kind, and "
        "the share of answers that are the label it was written for.",
        rows,
        columns,
        shown=["task", "model", "style", *columns, "items"],
        keys=("task", "rater", "written_for"),
        notes=[F1_NOTE],
    )
    return Section("Is it the context, or the label written into it?", text, [table])


def _findings(table: pl.DataFrame, controlled: list[dict[str, Any]]) -> list[Finding]:
    findings = []
    if CONTEXT in table.columns:
        whole = table.filter(pl.col("part") == ALL).drop_nulls("difference")
        for (task,), rows in whole.group_by("task", maintain_order=True):
            best = rows.sort(CONTEXT, "rater", descending=[True, False]).row(0, named=True)
            numbers = {name: best[name] for name in (STATIC, CONTEXT, "difference_low", "difference_high", "items")}
            sure = best["difference_low"] is not None
            spread = "from {difference_low:+.2f} to {difference_high:+.2f}" if sure else "not to be had from so few"
            findings.append(
                Finding(
                    "{task}: with context, the best model ({model}, {style}) reaches an F1 of {context:.2f} instead of "
                    f"{{static:.2f}}; interval of the difference, over {{items}} items: {spread}.",
                    {"task": task, "model": best["model"], "style": best["style"], **numbers},
                )
            )
    opposite = {row["task"]: row for row in reversed(controlled) if row["written_for"] == "opposite"}
    findings += [_followed(row) for row in opposite.values()]
    return findings


def _followed(row: Mapping[str, Any]) -> Finding:
    return Finding(
        "{task}: with a context written for the opposite label, {share:.0f} % of the answers of {model} are that "
        "label, against {alone:.0f} % without context: so far do answers follow whatever a context was written for.",
        {
            "task": row["task"],
            "model": row["model"],
            "share": 100 * row["follows"],
            "alone": 100 * row["follows_static"],
        },
    )
