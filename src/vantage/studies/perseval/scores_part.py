"""The task and its cells, and scores at four levels in the layout of the paper."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.perspective import evaluate
from vantage.report.parts import Column, Section, Table
from vantage.studies.perseval.cells import Cell, infeasible
from vantage.studies.perseval.evaluated import Evaluated

RULES: Final = {
    "gold": "people chose the class",
    "reference": "people or the rater chose it (the paper's library)",
    "zero": "everywhere, absent classes 0",
    "one": "everywhere, absent classes 1",
}


def setting(found: list[Evaluated]) -> Section:
    """Who trains, who is tested, what adaptation takes, and which cells cannot be run."""
    rows: list[dict[str, Any]] = []
    for one in found:
        for extended in (False, True):
            split = one.task.split(extended=extended)
            counts = {row["part"]: row for row in split.counts.iter_rows(named=True)}
            row: dict[str, Any] = {"corpus": one.task.name, "texts": "extended" if extended else "strict"}
            for part in ("train", "adaptation", "test"):
                row |= {f"{part} {what}": counts[part][what] for what in ("users", "texts", "annotations")}
            rows.append({**row, "without": counts["adaptation"]["without"], "given_away": split.given_away})
    cells = infeasible([(one.task.name, cell) for one in found for cell in one.cells])
    done = sum(len(one.done) for one in found)
    everything = sum(len(one.cells) for one in found)
    text = (
        f"Of {everything:,} combinations of rater and variant, {done:,} were run. Adaptation takes the share given "
        "away from the annotations of the test users; the column before it counts test users who have none of it."
    )
    return Section(
        "The task",
        [text],
        [
            Table(
                "splits",
                "Users, texts and annotations of each part, with adaptation kept apart. The test set is the same in "
                "all variants.",
                pl.DataFrame(rows),
                {
                    "without": "test users without adaptation",
                    "given_away": Column("given away", percent=True),
                },
                keys=("corpus", "texts"),
            ),
            Table("not-run", "Combinations that were not run, with the reason.", cells, keys=("corpus", "reason")),
        ],
    )


def scores(found: list[Evaluated]) -> list[Section]:
    """One table per corpus in the paper's layout, the same on the texts that models saw, and what the rule decides."""
    parts = [_table(one, one.done, f"scores-{one.slug}") for one in found]
    text = (
        "Global scores pool all annotations; user and text scores are computed for each user and each text and "
        "averaged; trait scores pool the annotations of each value of a trait and average over its values. Beside "
        "them stand the annotations, users and texts that each row rests on."
    )
    sections = [Section("Scores at four levels", [text], parts)]
    sampled = [one for one in found if one.asked is not None and not one.asked_all]
    if sampled:
        same = [_same_texts(one) for one in sampled]
        why = (
            "Models were asked about some texts only. Here every rater is scored on these alone, so that rows can be "
            "compared."
        )
        sections.append(Section("Models and trained raters on the same texts", [why], same))
    sections.append(_rules(found))
    return sections


def _row(one: Evaluated, cell: Cell) -> dict[str, Any]:
    found, label = one.evaluations[cell], one.task.label
    summary = found.summary.filter(pl.col("class") == label)
    overall = summary.filter(level="global").row(0, named=True)
    row: dict[str, Any] = {**cell.row(), "global": overall["f1"], "low": overall["low"], "high": overall["high"]}
    for level in ("user", "text"):
        told = summary.filter(level=level).row(0, named=True)
        row |= {level: told["f1"], f"{level}_low": told["low"], f"{level}_high": told["high"]}
        row[f"{level}s counted"] = told["groups"]
    row |= {trait: found.f1("trait", label, trait) for trait in found.traits}
    accuracy = found.summary.filter(pl.col("class") == "micro", level="global")["recall"][0]
    return {**row, "accuracy": accuracy, "annotations": len(found.pairs), "support": overall["support"]}


def _table(one: Evaluated, cells: list[Cell], name: str) -> Table:
    rows = [_row(one, cell) for cell in cells]
    traits = list(dict.fromkeys(trait for cell in cells for trait in one.evaluations[cell].traits))
    frame = pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame(schema={"rater": pl.String})
    if frame.is_empty():
        return Table(name, f"{one.task.name}: nothing was run.", frame)
    label = "macro F1" if one.task.label == "macro" else f"F1 of '{one.task.label}'"
    over = "users" if one.over == "users" else "texts"
    columns: dict[str, Column | str] = {
        "global": Column("global F1", digits=3, interval=("low", "high"), best="max"),
        "user": Column("user F1", digits=3, interval=("user_low", "user_high"), best="max"),
        "text": Column("text F1", digits=3, interval=("text_low", "text_high"), best="max"),
        **{trait: Column(f"{trait.replace('_', ' ')} F1", digits=3) for trait in traits},
        "accuracy": Column(digits=3),
    }
    shown = ["rater", "users", "adaptation", "extended", "global", "user", "text", *traits, "accuracy"]
    rest = ["annotations", "support", "users counted", "texts counted"]
    return Table(
        name,
        f"{one.task.name}: {label}, with 95 % intervals over {over} (global), users and texts.",
        frame,
        columns,
        [*shown, *rest],
        ("rater", "users", "adaptation", "extended"),
        [
            "A dash under users: the rater is told nothing about who answers. Support is the number of annotations "
            "with the class; users and texts count where people chose it."
        ],
    )


def _same_texts(one: Evaluated) -> Table:
    assert one.asked is not None  # noqa: S101 - models were asked
    rows = []
    for cell in one.done:
        frame = one.predictions[cell.rater, cell.variant].join(one.asked.test, on=["item", "rater"], how="semi")
        told = evaluate(frame, one.asked, traits=(), resamples=one.resamples, seed=one.seed, over=one.over)
        overall = told.summary.filter(pl.col("class") == one.task.label, level="global").row(0, named=True)
        user = told.f1("user", one.task.label)
        score = {"global": overall["f1"], "low": overall["low"], "high": overall["high"], "user": user}
        rows.append({**cell.row(), **score, "annotations": len(frame), "support": overall["support"]})
    frame = pl.DataFrame(rows).sort("global", descending=True, nulls_last=True, maintain_order=True)
    return Table(
        f"same-texts-{one.slug}",
        f"{one.task.name}: every rater on the {one.asked.test['item'].n_unique()} texts that models were asked about.",
        frame,
        {
            "global": Column("global F1", digits=3, interval=("low", "high"), best="max"),
            "user": Column("user F1", digits=3),
        },
        keys=("rater", "users", "adaptation", "extended"),
    )


def _rules(found: list[Evaluated]) -> Section:
    rows = []
    for one in found:
        for cell in one.focus:
            row: dict[str, Any] = {"corpus": one.task.name, "rater": cell.name}
            for rule in RULES:
                told = one.under(cell, rule)  # type: ignore[arg-type]
                summary = told.summary.filter(pl.col("class") == one.task.label, level="text")
                row |= {rule: summary["f1"][0], f"{rule} texts": summary["groups"][0]}
            rows.append(row)
    text = (
        "A text that nobody finds hateful has no F1 of 'hateful'. Averages over users and texts therefore depend on "
        "where a class counts, and text-level scores depend on it most: with the rule of the paper's library, a rater "
        "that says yes more often is averaged over more texts."
    )
    columns: dict[str, Column | str] = {rule: Column(told, digits=3) for rule, told in RULES.items()}
    frame = pl.DataFrame(rows) if rows else pl.DataFrame(schema=dict.fromkeys(("corpus", "rater", *RULES), pl.String))
    return Section(
        "What the rule for absent classes decides",
        [text],
        [Table("rules", "Text-level F1 where a class counts by four rules, and over how many texts.", frame, columns)],
    )
