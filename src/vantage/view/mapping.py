"""Maps: items by their means on two questions, and raters by how alike they answer."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.measures.intervals import student
from vantage.report import RaterDistances

POINTS: Final = 4000
"""A map shows at most so many points; beyond, it says how many were left out."""
RATERS: Final = 400
"""Raters of a map by agreement at most, those with most answers."""
HEAT: Final = 120
"""The same of a heat map, which shows every two of them."""


def axes(corpus: Corpus) -> dict[str, str]:
    """What items can be placed by, with titles: scores that the instruments declare, then questions with an order."""
    judged = set(corpus.judgments["question"].unique())
    scores = {
        score.id: score.title
        for instrument in corpus.instruments
        for score in instrument.aggregates
        if judged.intersection(question.id for question in instrument.questions)
    }
    return scores | {one.id: one.title or one.id for one in corpus.questions if one.id in judged and one.scale.ordered}


def by_two(corpus: Corpus, x: str, y: str) -> dict[str, Any]:
    """Items by people's mean answers on two axes, with 95 % intervals; by all raters where nobody is a person."""
    known = axes(corpus)
    if len(known) < 2:
        raise InputError("a map of items needs two questions whose answers have an order", remedy="map the raters")
    names = list(known)
    first, second = x or names[0], y or next(name for name in names if name != (x or names[0]))
    for name in (first, second):
        if name not in known:
            raise InputError(f"items cannot be placed by '{name}'", remedy=nearest(name, names))
    people = corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(PEOPLE)).select("rater")
    rows, value = _with_scores(corpus).drop_nulls("value"), pl.col("value")
    own = rows.join(people, on="rater", how="semi")
    grouped = (own if len(own) else rows).group_by("item", "question")
    aggregated = grouped.agg(mean=value.mean(), sd=value.std(), n=value.len())
    sides = [aggregated.filter(question=name).drop("question") for name in (first, second)]
    both = sides[0].join(sides[1], on="item", suffix="_y").sort("item")
    texts = dict(corpus.items.select("item", "text").iter_rows()) if "text" in corpus.items.columns else {}
    points = []
    for row in both.head(POINTS).iter_rows(named=True):
        point = {"id": row["item"], "label": (texts.get(row["item"]) or row["item"])[:80], "group": "items", "note": ""}
        point |= _ends("x", row["mean"], row["sd"], row["n"]) | _ends("y", row["mean_y"], row["sd_y"], row["n_y"])
        points.append(point)
    return {
        "title": f"Items by {known[first]} and {known[second]}",
        "x": known[first],
        "y": known[second],
        "of": "item",
        "points": points,
        "left_out": len(both) - len(points),
    }


def by_agreement(corpus: Corpus, question: Question) -> dict[str, Any]:
    """Raters as far apart as their answers to the same items: classical scaling (Torgerson 1952) on two axes."""
    alike = _alike(corpus, question, RATERS)
    apart, own = alike.filled, np.eye(len(alike.apart), dtype=bool)
    centring = own - 1 / len(apart)
    values, vectors = np.linalg.eigh(-0.5 * centring @ apart**2 @ centring)
    largest = np.clip(values[::-1][:2], 0, None)
    place = vectors[:, ::-1][:, :2] * np.sqrt(largest)
    share = float(largest.sum() / np.clip(values, 0, None).sum().clip(1e-12))
    mean = np.nanmean(np.where(own, np.nan, apart), axis=1)
    points = [
        {**row, "label": row["id"], "x": float(x), "y": float(y), "note": f"two answers are {far:.2f} apart on average"}
        for row, (x, y), far in zip(_who(alike.raters, corpus), place, mean, strict=True)
    ]
    return {
        "title": f"Raters by agreement about {question.title or question.id}: near each other where their answers are",
        "x": f"Both axes show {100 * share:.0f} % of how raters differ",
        "y": "",
        "of": "rater",
        "points": points,
        "left_out": corpus.raters.height - len(points),
    }


def heat(corpus: Corpus, question: Question) -> dict[str, Any]:
    """The agreement of every two raters in per cent, those who answer alike beside each other."""
    alike = _alike(corpus, question, HEAT)
    order = alike.order
    agreement = 100 * (1 - alike.apart[np.ix_(order, order)])
    return {
        "title": f"Agreement of raters about {question.title or question.id}",
        "of": "rater",
        "points": _who(alike.raters[order.tolist()], corpus),
        "cells": [[None if np.isnan(one) else round(float(one)) for one in row] for row in agreement],
        "left_out": corpus.raters.height - len(order),
    }


def _alike(corpus: Corpus, question: Question, most: int) -> RaterDistances:
    alike = RaterDistances.of(corpus, question, most)
    if len(alike.raters) < 3:
        raise InputError("a map of raters needs three of them", remedy="look at the list of raters")
    return alike


def _who(raters: pl.DataFrame, corpus: Corpus) -> list[dict[str, Any]]:
    """Raters with their kind and traits, by which the page colours them."""
    return [
        {"id": row["rater"], "group": str(row["kind"]), "traits": {n: str(row[n]) for n in corpus.traits if row[n]}}
        for row in raters.iter_rows(named=True)
    ]


def _with_scores(corpus: Corpus) -> pl.DataFrame:
    """The answers of raters, and the scores that follow from them."""
    from vantage.measures.texts.composites import composites

    columns = ["item", "rater", "question", "value"]
    frames = [corpus.judgments.select(columns)]
    for instrument in corpus.instruments:
        asked = [question.id for question in instrument.questions]
        own = corpus.filter(pl.col("question").is_in(asked))
        if instrument.aggregates and len(own.judgments):
            frames.append(composites(own, instrument).select(columns))
    return pl.concat(frames)


def _ends(axis: str, mean: float, deviation: float | None, n: int) -> dict[str, float | None]:
    half = None if deviation is None else student(n - 1, 0.95) * deviation / n**0.5
    low, high = (None, None) if half is None else (mean - half, mean + half)
    return {axis: mean, f"{axis}_low": low, f"{axis}_high": high}
