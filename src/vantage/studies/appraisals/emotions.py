"""Appraisals and emotions: the profile of each emotion, and how well 24 ratings, or the words, tell it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora.readers.appraisals import EMOTIONS
from vantage.measures.intervals import percentile
from vantage.measures.multiplicity import adjusted
from vantage.measures.ratings import Floats, Ints
from vantage.measures.resampling import ratio
from vantage.report.engine import Data, there
from vantage.report.sentences import p_value
from vantage.studies.appraisals.analysis import Appraised
from vantage.studies.appraisals.coding import p_over_posts

LEAST: Final = 10
"""Posts with and without an emotion that its prediction needs."""
FEATURES: Final = {"appraisals": None, "words": "appraisals", "appraisals and words": "words"}
"""What emotions are predicted from, and what each is compared with."""
_SCORES: Final = ("balanced_accuracy", "f1", "f1_always")


@lru_cache(maxsize=1)
def emotion_profiles(analysis: Appraised) -> pl.DataFrame:
    """How the mean appraisal of posts with an emotion differs from that of all posts."""
    rows = []
    for emotion, present in _seen(analysis).items():
        for place, title in enumerate(analysis.titles.values()):
            column = analysis.gold_answers[:, place]
            mean, everyone = _mean(column[present == 1]), _mean(column)
            apart = None if mean is None or everyone is None else mean - everyone
            rows.append({"emotion": emotion, "appraisal": title, "mean": mean, "difference": apart, "all": everyone})
    return there(pl.DataFrame(rows, infer_schema_length=None))


def emotion_means(analysis: Appraised) -> pl.DataFrame:
    """Mean appraisals with one row per question, emotions side by side."""
    profiles = emotion_profiles(analysis)
    everyone = profiles.unique("appraisal", maintain_order=True).select("appraisal", pl.col("all").cast(pl.Float64))
    wide = profiles.pivot(on="emotion", index="appraisal", values="mean")
    return everyone.join(wide.cast({pl.Null: pl.Float64}), on="appraisal", maintain_order="left")


def emotion_prediction(analysis: Appraised) -> Data | None:
    """Cross-validated scores by emotion and features; `gain` is the AUC less that of the features named in `than`."""
    rows: list[dict[str, Any]] = []
    for emotion, target in _seen(analysis).items():
        head: dict[str, Any] = {"emotion": emotion, "posts": int(target.sum())}
        if not _enough(target):
            reason = f"seen in {target.sum()} of {len(target)} posts; {LEAST} with and without it are needed"
            rows.append({**head, "features": None, "reason": reason})
            continue
        chance = {features: _predicted(analysis, target, features) for features in FEATURES}
        scores = {features: _scores(target, draws) for features, draws in chance.items()}
        for features, than in FEATURES.items():
            row = {**head, "features": features, **scores[features]}
            row |= _named("auc", analysis, target, area(target, chance[features]))
            if than:
                gain = _named("gain", analysis, target, _gain(target, chance[features], chance[than]))
                p = p_over_posts(gain.values(), len(target))
                # What is not better than chance is not better than anything: folds of noise lie on either side of it.
                better = scores[features if (gain["gain"] or 0.0) > 0 else than]
                p_gain = None if p is None else max(p, better["p"] if better["above"] else 1.0)
                row |= {"than": than, **gain, "p_gain": p_gain}
            rows.append({name: value for name, value in row.items() if name != "above"})
    if not rows:
        return None
    words = ("emotion", "features", "than", "reason")
    numbers = ("auc", "auc_low", "auc_high", "p", "gain", "gain_low", "gain_high", "p_gain", *_SCORES)
    kinds = {**dict.fromkeys(words, pl.String), "posts": pl.Int64, **dict.fromkeys(numbers, pl.Float64)}
    predicted = pl.DataFrame(rows, schema=kinds)
    means = dict(predicted.drop_nulls("auc").group_by("features").agg(pl.col("auc").mean()).iter_rows())
    facts = {f"auc_of_{name.replace(' ', '_')}": means.get(name) for name in FEATURES}
    return Data(predicted, facts)


def emotion_weights(analysis: Appraised) -> pl.DataFrame:
    """The weights whose interval does not hold 0, the largest first."""
    weights = _all_weights(analysis)
    return weights.filter((pl.col("low") > 0) | (pl.col("high") < 0)).sort(pl.col("estimate").abs(), descending=True)


def emotion_weight_map(analysis: Appraised) -> Data:
    """All weights, and how many of them have an interval without 0, before and after correction."""
    weights = _all_weights(analysis)
    clear = weights.filter((pl.col("low") > 0) | (pl.col("high") < 0)).height
    corrected = weights.filter(pl.col("p_adjusted") < 0.05).height
    return Data(weights, {"weights": len(weights), "weights_clear": clear, "weights_corrected": corrected})


def area(target: Ints, chance: Floats) -> Callable[[Floats], Floats]:
    """The AUC under weights of posts: the share of pairs in which the post with the emotion has the higher chance.

    >>> area(np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.8, 0.9]))(np.ones((1, 4))).tolist()
    [1.0]
    """
    present = target == 1
    above = chance[present][:, None] - chance[~present][None, :]
    won = (above > 0) + 0.5 * (above == 0)

    def under(weight: Floats) -> Floats:
        with_it, without = weight[:, present], weight[:, ~present]
        pairs = with_it.sum(axis=1) * without.sum(axis=1)
        return ratio(np.column_stack([((with_it @ won) * without).sum(axis=1), pairs]))

    return under


def _gain(target: Ints, mine: Floats, other: Floats) -> Callable[[Floats], Floats]:
    one, two = area(target, mine), area(target, other)
    return lambda weight: one(weight) - two(weight)


def _named(
    name: str, analysis: Appraised, target: Ints, statistic: Callable[[Floats], Floats]
) -> dict[str, float | None]:
    """A statistic of posts with its interval, under a name."""
    low, high = analysis.how.intervals(len(target), lambda weight: statistic(weight)[:, None])[0]
    return {name: float(statistic(np.ones((1, len(target))))[0]), f"{name}_low": low, f"{name}_high": high}


def _seen(analysis: Appraised) -> dict[str, Ints]:
    """For each emotion, in which posts at least one annotator saw it; nothing where the corpus does not say."""
    items = analysis.corpus.items
    if "emotion_anger" not in items.columns or not analysis.posts:
        return {}
    table = pl.DataFrame({"item": analysis.posts}).join(items, on="item", how="left", maintain_order="left")
    return {name: (table[f"emotion_{name}"].fill_null(0) > 0).to_numpy().astype(np.int64) for name in EMOTIONS}


def _enough(target: Ints) -> bool:
    return min(int(target.sum()), len(target) - int(target.sum())) >= LEAST


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _scores(target: Ints, chance: Floats) -> dict[str, float]:
    """Scores of predictions, and the p value of an AUC of 0.5 by Mann and Whitney's test (1947)."""
    from scipy.stats import mannwhitneyu
    from sklearn.metrics import balanced_accuracy_score, f1_score

    said = (chance >= 0.5).astype(np.int64)
    return {
        "balanced_accuracy": float(balanced_accuracy_score(target, said)),
        "f1": float(f1_score(target, said, zero_division=0)),
        "f1_always": float(f1_score(target, np.ones_like(target))),
        "p": float(mannwhitneyu(chance[target == 1], chance[target == 0]).pvalue),
        "above": float(area(target, chance)(np.ones((1, len(target))))[0] > 0.5),
    }


def _predicted(analysis: Appraised, target: Ints, features: str) -> Floats:
    """The chance of the emotion in every post, as predicted from posts of other folds."""
    from sklearn.model_selection import StratifiedKFold

    ratings = np.nan_to_num(analysis.gold)
    by_post = dict(analysis.corpus.items.select("item", "text").iter_rows())
    words = [str(by_post[post] or "") for post in analysis.posts]
    folds = StratifiedKFold(analysis.options.folds, shuffle=True, random_state=analysis.seed)
    chance = np.zeros(len(target))
    for train, test in folds.split(ratings, target):
        known, unknown = _features(ratings, words, train, test, features)
        chance[test] = _fitted(known, target[train]).predict_proba(unknown)[:, 1]
    return chance


def _features(ratings: Floats, words: list[str], train: Ints, test: Ints, features: str) -> tuple[Any, Any]:
    """Standardised ratings, TF-IDF of the words, or both side by side; all learnt from the training posts only."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import StandardScaler

    scale = StandardScaler().fit(ratings[train])
    rated = [scale.transform(ratings[part]) for part in (train, test)]
    if features == "appraisals":
        return rated[0], rated[1]
    terms = TfidfVectorizer(min_df=2, sublinear_tf=True, stop_words="english")
    counts = [terms.fit_transform([words[i] for i in train]), terms.transform([words[i] for i in test])]
    if features == "words":
        return counts[0].tocsr(), counts[1].tocsr()
    both = [hstack([csr_matrix(one), two]).tocsr() for one, two in zip(rated, counts, strict=True)]
    return both[0], both[1]


def _fitted(features: Any, target: Ints) -> Any:
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    # Few features and many small fits: threads would wait for each other longer than they compute.
    solver = "newton-cholesky" if isinstance(features, np.ndarray) else "liblinear"
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return LogisticRegression(class_weight="balanced", max_iter=1000, solver=solver).fit(features, target)


def fitted_weights(features: Floats, target: Ints, counts: Floats) -> Floats:
    """The weights of `_fitted` on many resamples at once, by Newton's method; resamples of one class are left out.

    Args:
        features: Posts × features.
        target: Whether each post has the emotion.
        counts: Resamples × posts: how often each post was drawn.
    """
    counts = counts.reshape(-1, len(target))
    present, absent = counts @ (target == 1), counts @ (target == 0)
    both = (present > 0) & (absent > 0)
    counts, present, absent = counts[both], present[both], absent[both]
    drawn = counts.sum(axis=1)
    balanced = np.where(target == 1, (drawn / 2 / present)[:, None], (drawn / 2 / absent)[:, None]) * counts
    inputs = np.column_stack([features, np.ones(len(features))])
    width = inputs.shape[1]
    squares = (inputs[:, :, None] * inputs[:, None, :]).reshape(len(inputs), -1)
    # The intercept is not held back.
    penalty = np.append(np.ones(width - 1), 0.0)
    weights = np.zeros((len(counts), width))
    for _ in range(100):
        chance = 1 / (1 + np.exp(-weights @ inputs.T))
        slope = ((chance - target) * balanced) @ inputs + weights * penalty
        bend = ((chance * (1 - chance) * balanced) @ squares).reshape(-1, width, width) + np.diag(penalty)
        step = np.linalg.solve(bend, slope[:, :, None])[:, :, 0]
        weights -= step
        if not len(step) or np.abs(step).max() < 1e-8:
            break
    return weights[:, :-1]


@lru_cache(maxsize=1)
def _all_weights(analysis: Appraised) -> pl.DataFrame:
    """The weights of standardised appraisals (blank as 0) for every emotion, with intervals, and p after Holm."""
    seen = there({emotion: target for emotion, target in _seen(analysis).items() if _enough(target)} or None)
    ratings = np.nan_to_num(analysis.gold)
    spread = ratings.std(axis=0)
    scaled = (ratings - ratings.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    rows: list[dict[str, Any]] = []
    for emotion, target in seen.items():
        estimate = _fitted(scaled, target).coef_[0]
        rng = np.random.default_rng(analysis.seed)
        draws = [rng.integers(0, len(target), len(target)) for _ in range(analysis.options.resamples)]
        counts = np.array([np.bincount(posts, minlength=len(target)) for posts in draws], dtype=np.float64)
        drawn = fitted_weights(scaled, target, counts)
        for place, title in enumerate(analysis.titles.values()):
            low, high = percentile(drawn[:, place]) if len(drawn) > 1 else (None, None)
            weight = float(estimate[place])
            row = {"emotion": emotion, "appraisal": title, "estimate": weight, "low": low, "high": high}
            rows.append({**row, "p": p_value(weight, low, high, 0.0)})
    for row, p in zip(rows, adjusted([row["p"] for row in rows], "holm"), strict=True):
        row["p_adjusted"] = p
    return there(pl.DataFrame(rows, infer_schema_length=None))
