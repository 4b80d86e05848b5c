"""Juries: what people of a chosen composition would decide, by prediction and by their own answers."""

from __future__ import annotations

from typing import Any

import polars as pl

from vantage.perspective import jury
from vantage.report.parts import Column, Finding, Section, Table
from vantage.studies.perseval.evaluated import Evaluated
from vantage.studies.perseval.learning import SEATS, composition


def juries(found: list[Evaluated]) -> tuple[Section | None, list[Finding]]:
    """Half of the seats for each of two groups, beside juries of one group alone."""
    rows: list[dict[str, Any]] = []
    findings: list[Finding] = []
    for one in found:
        known = [(rater, frame) for (rater, style), frame in one.predictions.items() if style == "jury"]
        if not known or not one.task.tested_traits:
            continue
        rater, frame = known[0]
        mine = _rows(one, rater, frame)
        rows += mine
        findings += _finding(one, mine)
    if not rows:
        return None, []
    text = (
        f"A jury has {2 * SEATS} seats. For every text, juries are drawn among the people of each group for whom "
        "there is a prediction, whether they judged the text or not, and decide by majority; a tie is no verdict. "
        "The same is done with people's own answers where enough of them judged the text. The share of juries that "
        "reach the verdict says how much it depends on who sits there."
    )
    table = Table(
        "juries",
        "Verdicts of juries by composition, predicted and by people themselves.",
        pl.DataFrame(rows, infer_schema_length=None),
        {
            "decided": Column("texts with a verdict", percent=True),
            "positive": Column("of these, highest answer", percent=True),
            "share": Column("juries behind the verdict", percent=True),
            "tied": Column("juries tied", percent=True),
            "agrees": Column("same verdict as people", percent=True),
        },
        keys=("corpus", "rater", "jury", "source"),
    )
    return Section("Juries", [text], [table]), findings


def _rows(one: Evaluated, rater: str, frame: pl.DataFrame) -> list[dict[str, Any]]:
    trait, values = composition(one.task)
    half = dict.fromkeys(values, SEATS)
    compositions = {" and ".join(f"{SEATS} {value}" for value in values): half}
    for value in values:
        compositions[f"{len(values) * SEATS} {value}"] = {value: len(values) * SEATS}
    people = one.task.people.judgments.select("item", "rater", "value").join(frame, on="item", how="semi")
    top = max(one.task.people.question(one.task.question).scale.codes)
    rows = []
    for name, seats in compositions.items():
        sources = {"predicted": frame, "people": people}
        told = {
            source: jury(given, one.task.people, trait, seats, juries=200, seed=one.seed)
            for source, given in sources.items()
        }
        for source, verdicts in told.items():
            filled = verdicts.filter(pl.col("reason").is_null())
            row: dict[str, Any] = {"corpus": one.task.name, "rater": rater, "trait": trait, "jury": name}
            row |= {"source": source, "texts": len(filled), "unfilled": len(verdicts) - len(filled)}
            if filled.is_empty():
                rows.append({**row, "reason": f"no text was judged by enough people of the {trait}"})
                continue
            decided = filled.drop_nulls("verdict")
            row |= {
                "decided": len(decided) / len(filled),
                "positive": (decided["verdict"] == top).mean() if len(decided) else None,
                "share": decided["share"].mean(),
                "tied": filled["tied"].mean(),
            }
            both = decided.join(told["people"].drop_nulls("verdict"), on="item")
            if source == "predicted" and len(both):
                row["agrees"] = (both["verdict"] == both["verdict_right"]).mean()
            rows.append({**row, "reason": None})
    return rows


def _finding(one: Evaluated, rows: list[dict[str, Any]]) -> list[Finding]:
    alone = [row for row in rows if row["source"] == "predicted" and " and " not in row["jury"]]
    if len(alone) < 2 or any(row.get("positive") is None for row in alone):
        return []
    first, second = alone[0], alone[1]
    numbers = {
        "corpus": one.task.name,
        "first": first["jury"],
        "one": 100 * first["positive"],
        "second": second["jury"],
        "other": 100 * second["positive"],
    }
    return [
        Finding(
            "{corpus}: predicted juries of {first} give the highest answer to {one:.0f} % of the texts, juries of "
            "{second} to {other:.0f} %.",
            numbers,
        )
    ]
