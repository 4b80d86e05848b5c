"""Soft scores: how far predicted labels lie from those of the same people, and the scores of the shared task."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.errors import InputError
from vantage.measures.distances import distance
from vantage.perspective import alignment, shared_task
from vantage.report.parts import Column, Finding, Section, Table
from vantage.studies.perseval.evaluated import Evaluated

DISTANCES: Final = ("jsd", "manhattan", "euclidean")


def soft(found: list[Evaluated]) -> tuple[Section | None, list[Finding]]:
    """Label distributions of raters beside those of the users of each trait value, text by text."""
    rows: list[dict[str, Any]] = []
    for one in found:
        for cell in one.focus:
            frame = one.predictions[cell.rater, cell.variant]
            for trait in one.evaluations[cell].traits:
                try:
                    close = alignment(frame, one.task.people, trait, one.task.question)
                except InputError:
                    # No text was judged by users of two values.
                    continue
                key = {"corpus": one.task.name, "rater": cell.name}
                other = _distances(one, frame, trait)
                rows += [{**key, **row, **other.get(row["value"], {})} for row in close.iter_rows(named=True)]
    if not rows:
        return None, []
    text = (
        "For each text, the labels that are predicted for the users of a trait value are compared with those that the "
        "same users gave. All are distances: lower is closer. The paper calls larger values of the Jensen–Shannon "
        "divergence a higher alignment, which is the wrong way round. With one user per value and text they tell no "
        "more than the error rate beside them."
    )
    table = Table(
        "soft",
        "Distances between predicted and given labels by trait value, over texts judged by users of two or more "
        "values.",
        pl.DataFrame(rows, infer_schema_length=None),
        {
            "divergence_bits": Column("Jensen–Shannon, bits", digits=3),
            "distance_nats": Column("its root, nats (the paper's)", digits=3),
            "manhattan": Column("Manhattan", digits=3),
            "euclidean": Column("Euclidean", digits=3),
            "wasserstein": Column("Wasserstein", digits=3),
            "error_rate": Column("error rate", digits=3),
            "users_per_text": Column("users per text", digits=2),
        },
        (
            *("corpus", "rater", "trait", "value", "divergence_bits", "distance_nats", "manhattan", "euclidean"),
            *("wasserstein", "error_rate", "users", "texts", "users_per_text"),
        ),
        ("corpus", "rater", "trait", "value"),
    )
    return Section("Soft scores against the same group", [text], [table]), []


def shared_tasks(found: list[Evaluated]) -> tuple[Section | None, list[Finding]]:
    """The scores of Learning With Disagreements, on the test sets of the study."""
    rows = []
    for one in found:
        for cell in one.focus:
            people = one.split(cell).part("test")
            told = shared_task(
                one.predictions[cell.rater, cell.variant], people, question=one.task.question, resamples=one.resamples
            )
            rows += [{"corpus": one.task.name, "rater": cell.name, **row} for row in told.iter_rows(named=True)]
    if not rows:
        return None, []
    frame = pl.DataFrame(rows, infer_schema_length=None)
    text = (
        "Error rate and normalised absolute distance compare what is predicted for each annotator with what the "
        "annotator said; Manhattan and Wasserstein distance compare the distributions of labels of a text. Lower is "
        "better. The test sets are those of this study, whose users are new to the raters, and not those of the "
        "shared task."
    )
    columns = ("corpus", "rater", "kind", "score", "estimate", "items", "annotations", "unanswered")
    table = Table(
        "shared-task",
        "Scores of the shared task, with 95 % intervals over texts.",
        frame,
        {"estimate": Column("score", digits=3), "score": "measure"},
        [column for column in columns if column in frame.columns],
        ("corpus", "rater", "score"),
    )
    return Section("Scores of the shared task", [text], [table]), []


def _distances(one: Evaluated, frame: pl.DataFrame, trait: str) -> dict[str, dict[str, float]]:
    """Further distances of the measures, by value of the trait."""
    people = one.task.people
    users = people.raters.select("rater", pl.col(trait).alias("value_of")).drop_nulls()
    judged = people.judgments.select("item", "rater", "value").join(frame, on=["item", "rater"], how="semi")
    sides = [judged.with_columns(pl.lit("people").alias("who")), frame.with_columns(pl.lit("model").alias("who"))]
    both = pl.concat([side.select("item", "rater", "value", "who") for side in sides]).join(users, on="rater")
    # Only texts of users of two values, as for the divergence.
    both = both.filter(pl.col("value_of").n_unique().over("item") > 1).with_columns(pl.lit("q").alias("question"))
    scale = people.question(one.task.question).scale
    metrics = [*DISTANCES[1:], *(["wasserstein"] if scale.ordered else [])]
    if both.is_empty() or both["who"].n_unique() < 2:
        return {}
    told = distance(both, between="who", by="value_of", metric=metrics, ci="none")  # type: ignore[call-overload]
    found: dict[str, dict[str, float]] = {}
    for row in told.iter_rows(named=True):
        found.setdefault(row["value_of"], {})[row["metric"]] = row["estimate"]
    return {value: {"wasserstein": None, **rest} for value, rest in found.items()}  # type: ignore[dict-item]
