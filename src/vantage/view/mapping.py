"""Maps: items by their means on two questions, and items, people and models on one scale."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.measures.intervals import student
from vantage.measures.ratings import Floats

POINTS: Final = 4000
"""A map shows at most so many points; beyond, it says how many were left out."""
RATERS: Final = 400
"""Raters of a map by agreement at most, those with most answers."""
LARGEST: Final = 200_000
"""Judgments from which on raters and items are not fitted while somebody waits."""


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
    rows = _with_scores(corpus).drop_nulls("value")
    own = rows.join(people, on="rater", how="semi")
    rows = own if len(own) else rows
    value = pl.col("value")
    aggregated = rows.group_by("item", "question").agg(mean=value.mean(), sd=value.std(), n=value.len())
    sides = [aggregated.filter(pl.col("question") == name).drop("question") for name in (first, second)]
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


def by_agreement(corpus: Corpus, question: Question, trait: str) -> dict[str, Any]:
    """Raters as far apart as their answers to the same items: classical scaling (Torgerson 1952) on two axes."""
    given = corpus.judgments.filter(question=question.id).drop_nulls("value")
    most = given["rater"].value_counts(sort=True).head(RATERS)
    raters = corpus.raters.join(most, on="rater", how="semi", maintain_order="left")
    given = given.join(raters, on="rater", how="semi").unique(["item", "rater"], keep="first", maintain_order=True)
    names = given["rater"].unique().sort()
    if len(names) < 3:
        raise InputError("a map of raters needs three of them", remedy="look at the list of raters")
    apart = _apart(given, question)
    place, share = _scaled(apart)
    kind = dict(raters.select("rater", pl.col("kind").cast(pl.String)).iter_rows())
    known = dict(raters.select("rater", pl.col(trait).cast(pl.String)).iter_rows()) if trait else {}
    mean = np.nanmean(np.where(np.eye(len(apart), dtype=bool), np.nan, apart), axis=1)
    points = [
        {
            "id": rater,
            "label": rater,
            "group": known.get(rater) or kind[rater],
            "x": float(x),
            "y": float(y),
            "note": f"two answers are {far:.2f} apart on average",
        }
        for rater, (x, y), far in zip(names, place, mean, strict=True)
    ]
    return {
        "title": f"Raters by agreement about {question.title or question.id}: near each other where their answers are",
        "x": f"Both axes show {100 * share:.0f} % of how raters differ",
        "y": "",
        "of": "rater",
        "points": points,
        "left_out": corpus.raters.height - len(points),
    }


def _apart(given: pl.DataFrame, question: Question) -> Floats:
    """The mean distance of two raters' answers to the same items, as a share of the scale; without any, that of all."""
    from scipy.sparse import csr_array

    place = (given["rater"].rank("dense").to_numpy() - 1, given["item"].rank("dense").to_numpy() - 1)
    values = given["value"].to_numpy()
    there = csr_array((np.ones(len(values)), place))
    answers = np.unique(values)
    ordered = question.scale.ordered
    # On an ordered scale the steps that lie between two answers; without an order, whether they differ.
    steps = np.diff(answers) / np.ptp(question.scale.ends) if ordered else np.full(len(answers), 0.5)
    sums = np.zeros((there.shape[0], there.shape[0]))
    for answer, step in zip(answers[:-1] if ordered else answers, steps, strict=True):
        beyond = csr_array(((values > answer if ordered else values == answer).astype(np.float64), place), there.shape)
        one_side = (beyond @ (there - beyond).T).toarray()
        sums += step * (one_side + one_side.T)
    shared = (there @ there.T).toarray()
    apart = np.divide(sums, shared, out=np.full_like(sums, np.nan), where=shared > 0)
    return np.asarray(np.where(np.isnan(apart), np.nanmean(apart), apart))


def _scaled(apart: Floats) -> tuple[Floats, float]:
    """Two coordinates of each rater, and the share of the squared distances that they show."""
    centring = np.eye(len(apart)) - 1 / len(apart)
    values, vectors = np.linalg.eigh(-0.5 * centring @ apart**2 @ centring)
    largest = np.clip(values[::-1][:2], 0, None)
    return vectors[:, ::-1][:, :2] * np.sqrt(largest), float(largest.sum() / np.clip(values, 0, None).sum().clip(1e-12))


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


def one_scale(corpus: Corpus, question: Question) -> dict[str, Any]:
    """Severity of raters and location of items in logits: the Wright map."""
    from vantage.measures.models.facets import facets

    own = corpus.filter(question=question.id)
    if len(own.judgments) > LARGEST:
        command = f"vantage measure facets FOLDER --question {question.id}"
        raise InputError(f"{len(own.judgments):,} judgments take long to fit", remedy=f"run: {command}")
    fitted = facets(own, show="ruler", kinds="all", unconnected="assume").filter(pl.col("facet") != "threshold")
    known = fitted.drop_nulls("estimate")
    groups = known["part"].drop_nulls().n_unique() if "part" in known.columns else 1
    is_item = pl.col("facet") == "item"
    shown = pl.concat([known.filter(~is_item).head(POINTS), known.filter(is_item).head(POINTS)])
    columns = {"id": "name", "label": "name", "group": "facet", "y": "estimate", "y_low": "low", "y_high": "high"}
    of = pl.when(is_item).then(pl.lit("item")).otherwise(pl.lit("rater"))
    note = pl.col("reason").fill_null("")
    points = shown.select(**columns, of=of, x=is_item.cast(pl.Float64), note=note).to_dicts()
    apart = f"; {groups} groups of raters share no items, which are taken to be alike" if groups > 1 else ""
    return {
        "title": f"Raters and items on one scale: {question.title or question.id}{apart}",
        "x": "",
        "y": "Logits: severe raters and high items are above",
        "of": "",
        "columns": ["raters", "items"],
        "points": points,
        "left_out": len(fitted) - len(known),
    }


def _ends(axis: str, mean: float, deviation: float | None, n: int) -> dict[str, float | None]:
    half = None if deviation is None else student(n - 1, 0.95) * deviation / n**0.5
    low, high = (None, None) if half is None else (mean - half, mean + half)
    return {axis: mean, f"{axis}_low": low, f"{axis}_high": high}
