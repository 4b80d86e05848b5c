"""Whether a reason fits the rating beside it: the rating is read off the words, and compared with the one given."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from vantage.measures.ratings import Floats
from vantage.measures.rationale.form import says_nothing
from vantage.studies.appraisals.analysis import Analysis


def fit_of_reasons(analysis: Analysis) -> pl.DataFrame:
    """How well each rater's ratings can be read off their rationales.

    The reader is a ridge regression on words and questions that learns from people. People's own rationales are read by
    one that has not seen their posts.
    """
    told = analysis.judged.filter(pl.col("value").is_not_null() & pl.col("rationale").is_not_null())
    people = told.filter(pl.col("kind") == "person")
    schema = {"rater": pl.String, "rationales": pl.Int64}
    schema |= dict.fromkeys(("r", "error", "silent_rated"), pl.Float64)
    if people["item"].n_unique() < analysis.folds:
        return pl.DataFrame(schema=schema)
    posts = {post: place % analysis.folds for place, post in enumerate(sorted(people["item"].unique()))}
    fold = people["item"].replace_strict(posts, return_dtype=pl.Int64)
    is_person = told["kind"] == "person"
    read = np.zeros(len(told))
    # Every reader is trained once and reads for all raters.
    for number in range(analysis.folds):
        here = is_person & told["item"].replace_strict(posts, default=None, return_dtype=pl.Int64).eq_missing(number)
        if here.any():
            read[here.to_numpy()] = _Reader(people.filter(fold != number)).read(told.filter(here))
    if not is_person.all():
        read[~is_person.to_numpy()] = _Reader(people).read(told.filter(~is_person))
    rows = []
    for (rater,), mine in told.with_columns(pl.Series("read", read)).group_by(["rater"], maintain_order=True):
        own, told_of = mine["value"].to_numpy(), mine["read"].to_numpy()
        silent = np.array([says_nothing(text) for text in mine["rationale"]])
        error = float(np.abs(own - told_of).mean())
        rows.append((rater, len(mine), _within(mine["question"], own, told_of), error, float(silent.mean())))
    return pl.DataFrame(rows, schema=schema, orient="row").sort("rater")


class _Reader:
    """Reads ratings off rationales, as it has learnt from some."""

    def __init__(self, known: pl.DataFrame) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import Ridge
        from sklearn.preprocessing import OneHotEncoder

        self.terms = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True).fit(known["rationale"].to_list())
        self.asked = OneHotEncoder(handle_unknown="ignore").fit(known.select("question").to_numpy())
        self.model = Ridge(alpha=1.0, solver="lsqr").fit(self._features(known), known["value"].to_numpy())

    def read(self, rationales: pl.DataFrame) -> Floats:
        """One rating from 1 to 9 for each."""
        return np.clip(np.asarray(self.model.predict(self._features(rationales)), dtype=np.float64), 1, 9)

    def _features(self, rationales: pl.DataFrame) -> Any:
        from scipy.sparse import hstack

        words = self.terms.transform(rationales["rationale"].to_list())
        return hstack([words, self.asked.transform(rationales.select("question").to_numpy())]).tocsr()


def _within(question: pl.Series, one: Floats, two: Floats) -> float | None:
    """The correlation after taking off each question's means, so that questions' profiles do not count."""
    frame = pl.DataFrame({"q": question, "one": one, "two": two})
    centred = frame.with_columns((pl.col(c) - pl.col(c).mean().over("q")).alias(c) for c in ("one", "two"))
    if centred["one"].std() in (None, 0.0) or centred["two"].std() in (None, 0.0):
        return None
    return float(np.corrcoef(centred["one"].to_numpy(), centred["two"].to_numpy())[0, 1])
