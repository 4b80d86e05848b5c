"""Relations and thresholds that were planted come out, whatever annotators add."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from vantage import Corpus, Instrument
from vantage.report.engine import Analysis
from vantage.studies.base import find
from vantage.studies.wcsent.latent import latent_relations, not_expressed, scale_points
from vantage.studies.wcsent.people import divergent, properties
from vantage.studies.wcsent.predictions import WarmthAnalysis

TWO = ("trust", "competence")


def planted(rho: float, shared: float, *, items: int = 400, raters: int = 12, seed: int = 1) -> Corpus:
    """Ratings of two questions that correlate by `rho`, with errors of a rater that the questions share."""
    rng = np.random.default_rng(seed)
    where = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], items)
    rows = []
    for item in range(items):
        for rater in rng.choice(raters, 4, replace=False):
            mood = rng.normal()
            for n, question in enumerate(TWO):
                error = np.sqrt(shared) * mood + np.sqrt(1 - shared) * rng.normal()
                value = float(np.clip(np.round(where[item, n] + 1.2 * error), -3, 3))
                rows.append((f"i{item}", question, f"r{rater}", value))
    judged = pl.DataFrame(rows, schema=["item", "question", "rater", "value"], orient="row")
    texts = pl.DataFrame({"item": [f"i{n}" for n in range(items)], "text": "x", "target": "y"})
    people = pl.DataFrame({"rater": [f"r{n}" for n in range(raters)], "kind": "person"})
    return Corpus(texts, people, judged, Instrument.load("warmth-competence"))


@pytest.mark.parametrize(("rho", "shared"), [(0.8, 0.0), (0.3, 0.8)])
def test_a_planted_correlation_is_met_whatever_errors_raters_share(rho: float, shared: float) -> None:
    (row,) = latent_relations(Analysis(planted(rho, shared))).iter_rows(named=True)
    assert row["low"] < rho < row["high"]
    assert row["estimate"] == pytest.approx(rho, abs=0.12)
    # Errors that nobody shares hide a relation, and errors that both questions share feign one.
    assert row["plain"] < rho - 0.1 if shared == 0 else row["plain"] > rho + 0.1
    assert (row["first"], row["second"], row["items"], row["raters"]) == ("trust", "competence", 400, 12)


def test_a_point_that_hardly_anybody_gives_is_never_the_likeliest() -> None:
    corpus = planted(0.5, 0.0, items=250)
    avoided = pl.when((pl.col("value") == 1) & (pl.int_range(pl.len()) // 2 % 20 > 0)).then(2.0).otherwise("value")
    judged = corpus.judgments.with_columns(avoided.alias("value"))
    points = scale_points(Analysis(Corpus(corpus.items, corpus.raters, judged, corpus.instruments)))
    never = points.filter("never").select("question", "point").rows()
    assert ("trust", "1") in never
    assert ("competence", "1") in never
    assert not {(question, "0") for question in TWO} & set(never)


def test_zeros_that_say_not_expressed_are_told_from_the_middle_of_the_scale() -> None:
    rng, steps = np.random.default_rng(3), np.array([0, -1.6, -2.5, -2.8, -2.5, -1.6, 0])
    item, who = (grid.ravel() for grid in np.indices((200, 5)))
    frames, silent = [], rng.random(1000) < np.repeat(rng.beta(1, 4, 200), 5)
    for question in TWO:
        place = np.repeat(rng.normal(0, 1.5, 200), 5)[:, None] * np.arange(7) - steps
        rated = (place + rng.gumbel(size=place.shape)).argmax(axis=1) - 3.0
        value = np.where(silent, 0.0, rated) if question == "competence" else rated
        frames.append(
            pl.DataFrame({"item": item, "rater": who, "value": value}).with_columns(question=pl.lit(question))
        )
    names = pl.format("i{}", "item").alias("item"), pl.format("r{}", "rater").alias("rater")
    corpus, judged = planted(0.5, 0.0, items=200), pl.concat(frames).with_columns(*names)
    rows = not_expressed(Analysis(Corpus(corpus.items, corpus.raters, judged, corpus.instruments)))
    trust, competence = (rows.filter(question=question).row(0, named=True) for question in TWO)
    assert competence["clear"]
    assert not trust["clear"]
    meant = silent.sum() / judged.filter(pl.col("question") == "competence", pl.col("value") == 0).height
    assert competence["low"] < meant < competence["high"]
    assert trust["estimate"] < competence["low"]


def test_kinds_of_targets_and_opposed_questions_are_found() -> None:
    corpus = planted(0.2, 0.0, items=80)
    person = pl.int_range(pl.len()) % 2 == 0
    items = corpus.items.with_columns(target=pl.when(person).then(pl.lit("Donald Trump")).otherwise(pl.lit("Women")))
    lower = (pl.col("question") == "trust") & (pl.col("item").str.slice(1).cast(pl.Int64) % 2 == 0)
    moved = pl.when(lower).then((pl.col("value") - 2).clip(-3, 3)).otherwise("value")
    judged = corpus.judgments.with_columns(value=moved)
    analysis = WarmthAnalysis(Corpus(items, corpus.raters, judged, corpus.instruments), find("wcsent").options())
    rows = properties(analysis).filter(versus="clearest difference")
    trust, competence = (rows.filter(question=question).row(0, named=True) for question in TWO)
    assert (trust["term"], trust["higher"], trust["lower"]) == ("kind of target", "groups", "persons")
    assert trust["difference_low"] > 1
    assert competence["p"] > 0.01
    opposed = divergent(analysis)
    assert (opposed["trust"] * opposed["competence"] < 0).all()
    assert opposed["apart"].is_sorted(descending=True)
