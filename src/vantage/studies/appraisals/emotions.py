"""Appraisals and emotions: the profile of each emotion, and how well 24 ratings tell it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.special import expit

from vantage.corpora.readers.appraisals import EMOTIONS
from vantage.measures import SHARES, Floats, Ints, adjusted, midranks, ratio, several_with_intervals
from vantage.report.engine import Data, there
from vantage.report.ledger import p_value
from vantage.studies.appraisals.analysis import Appraised
from vantage.studies.appraisals.coding import known_means

LEAST: Final = 10
"""Posts with and without an emotion that its prediction needs."""


def emotion_profiles(analysis: Appraised) -> pl.DataFrame:
    """The mean appraisal of posts with an emotion, and how it differs from that of all posts."""
    everyone, frames = known_means(analysis.gold_answers.T), []
    for emotion, present in _seen(analysis).items():
        mean = known_means(analysis.gold_answers[present == 1].T)
        columns = {
            "appraisal": [*analysis.titles.values()],
            "mean": mean,
            "difference": mean - everyone,
            "all": everyone,
        }
        frames.append(pl.DataFrame(columns, nan_to_null=True).insert_column(0, pl.lit(emotion).alias("emotion")))
    return pl.concat(there(frames or None))


def emotion_prediction(analysis: Appraised) -> Data:
    """Cross-validated scores by emotion."""
    rows: list[dict[str, Any]] = []
    for emotion, target in _seen(analysis).items():
        row: dict[str, Any] = {"emotion": emotion, "posts": int(target.sum())}
        if np.bincount(target, minlength=2).min() >= LEAST:
            row |= _scores(analysis, target)
        else:
            row["reason"] = f"seen in {target.sum()} of {len(target)} posts; {LEAST} with and without it are needed"
        rows.append(row)
    numbers = ("auc", "auc_low", "auc_high", "p", "balanced_accuracy", "f1", "f1_always")
    kinds = {"emotion": pl.String, "posts": pl.Int64, **dict.fromkeys(numbers, pl.Float64), "reason": pl.String}
    predicted = pl.DataFrame(rows, schema=kinds)
    return Data(predicted, {"mean_auc": predicted["auc"].mean()})


def emotion_weights(analysis: Appraised) -> Data:
    """The weights of standardised appraisals (blank as 0) for every emotion, with intervals, and p after Holm."""
    from sklearn.preprocessing import StandardScaler

    seen, rows = there(_seen(analysis) or None), list[dict[str, Any]]()
    scaled = StandardScaler().fit_transform(np.nan_to_num(analysis.gold))
    for emotion, target in seen.items():
        if np.bincount(target, minlength=2).min() < LEAST:
            continue

        def weights(counts: Floats, target: Ints = target) -> Floats:
            return fitted_weights(scaled, target, counts)[:, :-1]

        fitted = several_with_intervals(analysis.questions, len(target), weights, analysis.how)
        for question, title in analysis.titles.items():
            weight, low, high = (fitted[f"{question}{end}"] for end in ("", "_low", "_high"))
            row = {"emotion": emotion, "appraisal": title, "estimate": weight, "low": low, "high": high}
            rows.append({**row, "p": None if weight is None else p_value(weight, low, high, 0.0)})
    for row, p in zip(there(rows or None), adjusted([row["p"] for row in rows], "holm"), strict=True):
        row["p_adjusted"] = p
    clear = [row for row in rows if row["low"] is not None and not row["low"] <= 0 <= row["high"]]
    corrected = [row for row in rows if (row["p_adjusted"] or 1.0) < 0.05]
    facts = {"weights": len(rows), "weights_clear": len(clear), "weights_corrected": len(corrected)}
    return Data(pl.DataFrame(rows, infer_schema_length=None), facts)


def area(target: Ints, chance: Floats) -> Callable[[Floats], Floats]:
    """The AUC under weights of posts: the share of pairs in which the post with the emotion has the higher chance.

    >>> area(np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.8, 0.9]))(np.ones((1, 4))).tolist()
    [1.0]
    """

    def under(weight: Floats) -> Floats:
        with_it = weight * target
        count = with_it.sum(axis=1)
        won = (with_it * midranks(chance, weight)).sum(axis=1) - count * (count + 1) / 2
        return ratio(np.column_stack([won, count * (weight.sum(axis=1) - count)]))

    return under


def _seen(analysis: Appraised) -> dict[str, Ints]:
    """For each emotion, in which posts at least one annotator saw it; nothing where the corpus does not say."""
    items = analysis.corpus.items
    if "emotion_anger" not in items.columns or not analysis.posts:
        return {}
    table = pl.DataFrame({"item": analysis.posts}).join(items, on="item", how="left", maintain_order="left")
    return {name: (table[f"emotion_{name}"].fill_null(0) > 0).to_numpy().astype(np.int64) for name in EMOTIONS}


def _scores(analysis: Appraised, target: Ints) -> dict[str, float | None]:
    """Scores of predictions for posts of other folds, and the p value of an AUC of 0.5 (Mann and Whitney 1947)."""
    from scipy.stats import mannwhitneyu
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import balanced_accuracy_score, f1_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folds = StratifiedKFold(analysis.options.folds, shuffle=True, random_state=analysis.seed)
    regression = LogisticRegression(class_weight="balanced", solver="newton-cholesky", tol=1e-8)
    model, ratings = make_pipeline(StandardScaler(), regression), np.nan_to_num(analysis.gold)
    chance = cross_val_predict(model, ratings, target, cv=folds, method="predict_proba")[:, 1]
    said, under = (chance >= 0.5).astype(np.int64), area(target, chance)
    return {
        **several_with_intervals(["auc"], len(target), lambda weight: under(weight)[:, None], analysis.how, [SHARES]),
        "p": float(mannwhitneyu(chance[target == 1], chance[target == 0]).pvalue),
        "balanced_accuracy": float(balanced_accuracy_score(target, said)),
        "f1": float(f1_score(target, said, zero_division=0)),
        "f1_always": float(f1_score(target, np.ones_like(target))),
    }


def fitted_weights(features: Floats, target: Ints, counts: Floats) -> Floats:
    """Weights and, last, the intercept of logistic regressions on many resamples at once, by Newton's method.

    Weights are held back (ridge, strength 1), and classes are balanced. Resamples of one class have none (NaN).
    `features` are posts × features, `counts` resamples × posts.
    """
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
        chance = expit(weights @ inputs.T)
        slope = ((chance - target) * balanced) @ inputs + weights * penalty
        bend = ((chance * (1 - chance) * balanced) @ squares).reshape(-1, width, width) + np.diag(penalty)
        step = np.linalg.solve(bend, slope[:, :, None])[:, :, 0]
        weights -= step
        if not len(step) or np.abs(step).max() < 1e-8:
            break
    every = np.full((len(both), width), np.nan)
    every[both] = weights
    return every
