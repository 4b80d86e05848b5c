"""Relations and thresholds that were planted come out, whatever annotators add."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from vantage import Corpus, Instrument
from vantage.report.engine import Analysis
from vantage.studies.wcsent.latent import latent_relations, scale_points

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
