"""Appraisals and emotions: the profile of each emotion, and how well 24 ratings, or the words, tell it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora.readers.appraisals import EMOTIONS
from vantage.measures.intervals import Bounds, percentile
from vantage.measures.ratings import Floats, Ints
from vantage.measures.resampling import Resampling, ratio
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.studies.appraisals.analysis import Analysis

LEAST: Final = 10
"""Posts with and without an emotion that its prediction needs."""
FEATURES: Final = ("appraisals", "words", "both")


def emotions(analysis: Analysis) -> tuple[Section, list[Finding]]:
    """The section on emotions."""
    seen = _seen(analysis)
    if not seen:
        return Section(
            "Appraisals and emotions", ["The corpus does not say which emotions people saw in the posts."]
        ), []
    profiles = _profiles(analysis, seen)
    scores, weights = predictions(analysis, seen)
    parts: list[Table | Figure] = [
        Figure(
            "emotion-profiles",
            "How the mean appraisal of posts with an emotion differs from that of all posts, in rating points.",
            "A map of emotions by questions; the table has the numbers.",
            "heat",
            profiles,
            {"row": "appraisal", "column": "emotion", "value": "difference", "diverging": True, "digits": 1},
        ),
        _means(analysis, profiles, seen),
        Table(
            "emotion-prediction",
            "Predicting whether an emotion is seen in a post: class-weighted logistic regression, cross-validated. "
            "AUC 0.5 and a balanced accuracy of 0.5 are chance; F1 is that of the emotion, beside that of always "
            "predicting it.",
            scores,
            {
                "auc": Column("AUC", digits=2, interval=("auc_low", "auc_high")),
                "balanced_accuracy": Column(digits=2),
                "f1": Column("F1", digits=2),
                "f1_always": Column("F1 of always", digits=2),
            },
            keys=("emotion", "features"),
            notes=["Intervals of the AUC are over posts, the fits being what they are."],
        ),
    ]
    if len(weights):
        parts += [
            Figure(
                "emotion-weights",
                "Weights of the logistic regression on standardised appraisals (blank as 0), all posts: log odds per "
                "standard deviation.",
                "A map of emotions by questions; the data behind it have intervals.",
                "heat",
                weights,
                {"row": "appraisal", "column": "emotion", "value": "estimate", "diverging": True, "digits": 1},
            ),
            Table(
                "emotion-weights",
                "The weights whose 95 % interval over posts does not hold 0, the largest first; the data behind the "
                "figure have all.",
                weights.filter("clear").sort(pl.col("estimate").abs(), descending=True).drop("clear"),
                {"estimate": Column("weight", digits=2, signed=True)},
                keys=("emotion", "appraisal"),
            ),
        ]
    return Section("Appraisals and emotions", [_TEXT], parts), _findings(scores, weights)


def _means(analysis: Analysis, profiles: pl.DataFrame, seen: Sequence[tuple[str, Floats]]) -> Table:
    """Mean appraisals with one row per question, emotions side by side."""
    everyone = analysis.gold_answers
    known = [column[~np.isnan(column)] for column in everyone.T]
    wide = pl.DataFrame(
        {
            "appraisal": [analysis.titles[question] for question in analysis.questions],
            "all": [float(column.mean()) if len(column) else None for column in known],
            **{emotion: profiles.filter(pl.col("emotion") == emotion)["mean"] for emotion, _ in seen},
        }
    )
    counts = {emotion: int((present > 0).sum()) for emotion, present in seen}
    columns: dict[str, Column | str] = {"all": Column(f"all ({len(everyone)})", digits=2)}
    columns |= {emotion: Column(f"{emotion} ({count})", digits=2) for emotion, count in counts.items()}
    caption = (
        "Mean appraisal of the posts in which at least one of CovidET's two annotators saw the emotion, answers only; "
        "in brackets the posts."
    )
    return Table("emotion-profiles", caption, wide, columns, keys=("appraisal",))


_TEXT: Final = (
    "Emotions come from CovidET, whose two annotators marked all that they saw in a post, so a post can have several "
    "and "
    "each emotion is predicted by itself. The draft trains on validation and tests on test posts; all 241 posts of the "
    "release are in CovidET's test split, so this cannot be repeated, and cross-validation stands in its place. In the "
    "prediction a blank is 0, as in the draft."
)


def predictions(analysis: Analysis, seen: Sequence[tuple[str, Floats]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cross-validated scores by emotion and features, and the weights of the appraisals with their intervals."""
    ratings = np.nan_to_num(analysis.gold)
    texts = analysis.corpus.items.filter(pl.col("item").is_in(analysis.posts))
    by_post = dict(texts.select("item", "text").iter_rows())
    words = [str(by_post[post] or "") for post in analysis.posts]
    rows: list[dict[str, Any]] = []
    weights: list[dict[str, Any]] = []
    for emotion, present in seen:
        target = (present > 0).astype(np.int64)
        count = int(target.sum())
        head: dict[str, Any] = {"emotion": emotion, "posts": count}
        if min(count, len(target) - count) < LEAST:
            reason = f"seen in {count} of {len(target)} posts; {LEAST} with and without it are needed"
            rows.append({**head, "features": None, "reason": reason})
            continue
        rows += [
            {**head, "features": features, **_scores(ratings, words, target, features, analysis)}
            for features in FEATURES
        ]
        weights += [{"emotion": emotion, **row} for row in _weights(ratings, target, analysis)]
    numbers = dict.fromkeys(("auc", "auc_low", "auc_high", "balanced_accuracy", "f1", "f1_always"), pl.Float64)
    told = pl.DataFrame(rows, schema_overrides={"features": pl.String, "reason": pl.String}, infer_schema_length=None)
    told = told.with_columns([pl.lit(None, kind).alias(n) for n, kind in numbers.items() if n not in told.columns])
    return told, pl.DataFrame(weights)


def _scores(
    ratings: Floats, words: list[str], target: Ints, features: str, analysis: Analysis
) -> dict[str, float | None]:
    from sklearn.metrics import balanced_accuracy_score, f1_score, roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(analysis.folds, shuffle=True, random_state=analysis.seed)
    chance = np.zeros(len(target))
    for train, test in folds.split(ratings, target):
        known, unknown = _features(ratings, words, train, test, features)
        chance[test] = _fitted(known, target[train]).predict_proba(unknown)[:, 1]
    said = (chance >= 0.5).astype(np.int64)
    low, high = how_sure(target, chance, analysis.how)
    return {
        "auc": float(roc_auc_score(target, chance)),
        "auc_low": low,
        "auc_high": high,
        "balanced_accuracy": float(balanced_accuracy_score(target, said)),
        "f1": float(f1_score(target, said, zero_division=0)),
        "f1_always": float(f1_score(target, np.ones_like(target))),
    }


def how_sure(target: Ints, chance: Floats, how: Resampling) -> Bounds:
    """The interval of an AUC over posts: the share of pairs in which the post with the emotion has the higher chance.

    >>> how_sure(np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.8, 0.9]), Resampling(resamples=20))
    (1.0, 1.0)
    """
    present = target == 1
    above = chance[present][:, None] - chance[~present][None, :]
    won = (above > 0) + 0.5 * (above == 0)

    def area(weight: Floats) -> Floats:
        with_it, without = weight[:, present], weight[:, ~present]
        pairs = with_it.sum(axis=1) * without.sum(axis=1)
        return ratio(np.column_stack([((with_it @ won) * without).sum(axis=1), pairs]))[:, None]

    return how.intervals(len(target), area)[0]


def _features(ratings: Floats, words: list[str], train: Ints, test: Ints, features: str) -> tuple[Any, Any]:
    """Standardised ratings, TF-IDF of the words, or both side by side; all learnt from the training posts only."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import StandardScaler

    made: list[tuple[Any, Any]] = []
    if features == "appraisals":
        scale = StandardScaler().fit(ratings[train])
        return scale.transform(ratings[train]), scale.transform(ratings[test])
    if features == "both":
        scale = StandardScaler().fit(ratings[train])
        made.append((csr_matrix(scale.transform(ratings[train])), csr_matrix(scale.transform(ratings[test]))))
    terms = TfidfVectorizer(min_df=2, sublinear_tf=True, stop_words="english")
    made.append((terms.fit_transform([words[i] for i in train]), terms.transform([words[i] for i in test])))
    return hstack([one for one, _ in made]).tocsr(), hstack([two for _, two in made]).tocsr()


def _fitted(features: Any, target: Ints) -> Any:
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    # Few features and many small fits: threads would wait for each other longer than they compute.
    solver = "newton-cholesky" if isinstance(features, np.ndarray) else "liblinear"
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return LogisticRegression(class_weight="balanced", max_iter=1000, solver=solver).fit(features, target)


def _weights(ratings: Floats, target: Ints, analysis: Analysis) -> list[dict[str, Any]]:
    spread = ratings.std(axis=0)
    scaled = (ratings - ratings.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    estimate = _fitted(scaled, target).coef_[0]
    rng = np.random.default_rng(analysis.seed)
    drawn = []
    for _ in range(analysis.resamples):
        rows = rng.integers(0, len(target), len(target))
        if 0 < target[rows].sum() < len(rows):
            drawn.append(_fitted(scaled[rows], target[rows]).coef_[0])
    replicates = np.array(drawn)
    found = []
    for place, question in enumerate(analysis.questions):
        low, high = percentile(replicates[:, place]) if len(drawn) > 1 else (None, None)
        clear = low is not None and high is not None and (low > 0 or high < 0)
        weight = {"estimate": float(estimate[place]), "low": low, "high": high, "clear": clear}
        found.append({"appraisal": analysis.titles[question], **weight})
    return found


def _seen(analysis: Analysis) -> list[tuple[str, Floats]]:
    """For each emotion, how many annotators saw it in each post."""
    items = analysis.corpus.items
    if "emotion_anger" not in items.columns:
        return []
    table = pl.DataFrame({"item": analysis.posts}).join(items, on="item", how="left", maintain_order="left")
    return [(name, table[f"emotion_{name}"].fill_null(0).to_numpy().astype(np.float64)) for name in EMOTIONS]


def _profiles(analysis: Analysis, seen: Sequence[tuple[str, Floats]]) -> pl.DataFrame:
    ratings = analysis.gold_answers
    rows = []
    for emotion, present in seen:
        for place, question in enumerate(analysis.questions):
            column = ratings[:, place]
            mine = column[(present > 0) & ~np.isnan(column)]
            mean = float(mine.mean()) if len(mine) else None
            everyone = float(np.nanmean(column)) if not np.isnan(column).all() else None
            apart = None if mean is None or everyone is None else mean - everyone
            rows.append(
                {
                    "emotion": emotion,
                    "appraisal": analysis.titles[question],
                    "posts": len(mine),
                    "mean": mean,
                    "difference": apart,
                }
            )
    return pl.DataFrame(rows, schema_overrides={"mean": pl.Float64, "difference": pl.Float64})


def _findings(scores: pl.DataFrame, weights: pl.DataFrame) -> list[Finding]:
    known = scores.drop_nulls("auc")
    if known.is_empty():
        return []
    means = {f: known.filter(pl.col("features") == f)["auc"].mean() for f in FEATURES}
    mine = known.filter(pl.col("features") == "appraisals").sort("auc")
    best, worst = mine.row(-1, named=True), mine.row(0, named=True)
    clear, by_chance = int(weights["clear"].sum()), 0.05 * len(weights)
    return [
        Finding(
            "The 24 appraisals tell {best} best (AUC {high:.2f} [{high_low:.2f}, {high_high:.2f}]) and {worst} least "
            "({low:.2f} [{low_low:.2f}, {low_high:.2f}]); on average over emotions {appraisals:.2f}, the post's words "
            "alone {words:.2f}, both together {both:.2f} (0.5 is chance). {clear} of {all} weights have an interval "
            "without 0, where about {chance:.0f} would by chance.",
            {
                **means,
                **_named(best, "best", "high"),
                **_named(worst, "worst", "low"),
                "clear": clear,
                "all": len(weights),
                "chance": by_chance,
            },
        )
    ]


def _named(row: dict[str, Any], emotion: str, auc: str) -> dict[str, Any]:
    names = {"emotion": emotion, "auc": auc, "auc_low": f"{auc}_low", "auc_high": f"{auc}_high"}
    return {name: row[column] for column, name in names.items()}
