"""Maps: items by their means on two questions, and items, people and models on one scale."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
import polars as pl
from scipy.stats import t as student

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.errors import InputError
from vantage.instruments import Question
from vantage.measures.models.facets import facets

POINTS: Final = 4000
"""A map shows at most so many points; beyond, it says how many were left out."""
LARGEST: Final = 200_000
"""Judgments from which on raters and items are not fitted while somebody waits."""


def by_two(corpus: Corpus, first: Question, second: Question) -> dict[str, Any]:
    """Items by people's mean answers to two questions, with 95 % intervals; by all raters where nobody is a person."""
    people = corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(PEOPLE)).select("rater")
    rows = corpus.judgments.drop_nulls("value")
    own = rows.join(people, on="rater", how="semi")
    rows = own if len(own) else rows
    value = pl.col("value")
    aggregated = rows.group_by("item", "question").agg(
        value.mean().alias("mean"), value.std().alias("sd"), value.len().alias("n")
    )
    sides = [aggregated.filter(pl.col("question") == question.id).drop("question") for question in (first, second)]
    both = sides[0].join(sides[1], on="item", suffix="_y").sort("item")
    texts = dict(corpus.items.select("item", "text").iter_rows()) if "text" in corpus.items.columns else {}
    points = []
    for row in both.head(POINTS).iter_rows(named=True):
        point = {"id": row["item"], "label": (texts.get(row["item"]) or row["item"])[:80], "group": "items", "note": ""}
        point |= _ends("x", row["mean"], row["sd"], row["n"]) | _ends("y", row["mean_y"], row["sd_y"], row["n_y"])
        points.append(point)
    return {
        "title": "Items by two questions",
        "x": first.title or first.id,
        "y": second.title or second.id,
        "of": "item",
        "points": points,
        "left_out": len(both) - len(points),
    }


def one_scale(corpus: Corpus, question: Question) -> dict[str, Any]:
    """Severity of raters and location of items in logits: the Wright map."""
    own = corpus.filter(question=question.id)
    if len(own.judgments) > LARGEST:
        command = f"vantage facets FOLDER --question {question.id}"
        raise InputError(f"{len(own.judgments):,} judgments take long to fit", remedy=f"run: {command}")
    points: list[dict[str, Any]] = []
    left_out = 0
    shown: tuple[tuple[Literal["raters", "items"], str, float], ...] = (
        ("raters", "rater", 0.0),
        ("items", "item", 1.0),
    )
    for show, side, place in shown:
        fitted = facets(own, question=question.id, show=show)
        known = fitted.drop_nulls("estimate")
        left_out += len(fitted) - len(known)
        points += [
            {
                "id": row[side],
                "label": row[side],
                "group": row.get("kind") or "item",
                "of": side,
                "x": place,
                "y": row["estimate"],
                "y_low": row["low"],
                "y_high": row["high"],
                "note": row["reason"] or "",
            }
            for row in known.head(POINTS).iter_rows(named=True)
        ]
    return {
        "title": f"Raters and items on one scale: {question.title or question.id}",
        "x": "",
        "y": "Logits: severe raters and high items are above",
        "of": "",
        "columns": ["raters", "items"],
        "points": points,
        "left_out": left_out,
    }


def _ends(axis: str, mean: float, deviation: float | None, n: int) -> dict[str, float | None]:
    half = float(student.ppf(0.975, n - 1) * deviation / np.sqrt(n)) if n > 1 and deviation is not None else None
    low, high = (None, None) if half is None else (mean - half, mean + half)
    return {axis: mean, f"{axis}_low": low, f"{axis}_high": high}
