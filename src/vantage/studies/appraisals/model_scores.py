"""Models against people's ratings in numbers: over all, by run, by question and by group of questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from vantage.measures.ratings import Floats
from vantage.studies.appraisals.analysis import Analysis
from vantage.studies.appraisals.coding import agreed_blanks, correlation, delta
from vantage.studies.appraisals.intervals import correlation_interval, mean_interval

ALWAYS = "always 5"
PROFILE = "mean of the question over other posts"
"""What it takes no reading to reach."""


def summary(analysis: Analysis) -> pl.DataFrame:
    """Every model by each way of reading its replies, and what it takes no reading to reach."""
    rows: list[dict[str, Any]] = []
    for model in analysis.model_names:
        samples = analysis.samples(model)
        rows += [
            _row(model, "parser", "as 0", [analysis.parsed(model, s, 0.0) for s in samples], analysis.gold, analysis),
            _row(
                model,
                "parser",
                "left out",
                [analysis.parsed(model, s, None) for s in samples],
                analysis.gold_answers,
                analysis,
            ),
            _row(
                model,
                "first whole number",
                "as 0",
                [analysis.released(model, s) for s in samples],
                analysis.gold,
                analysis,
            ),
        ]
    gold = analysis.gold
    others = np.array([np.nanmean(np.delete(gold, post, axis=0), axis=0) for post in range(len(gold))])
    for name, told in ((ALWAYS, np.full_like(gold, 5.0)), (PROFILE, others)):
        row = _row(name, "", "as 0", [told], gold, analysis)
        # A mean without its own post falls as the post rises: per question it correlates −1, whatever the data.
        nothing = dict.fromkeys(("runs", "per_question", "question_low", "question_high", "spearman"))
        rows.append({**row, **nothing})
    return pl.DataFrame(rows, infer_schema_length=None)


def _row(name: str, rule: str, blanks: str, runs: list[Floats], gold: Floats, analysis: Analysis) -> dict[str, Any]:
    # A model may have been asked about some posts only; intervals are over those.
    asked = ~np.isnan(np.array(runs)).all(axis=(0, 2))
    runs, gold = [run[asked] for run in runs], gold[asked]

    def over_runs(statistic: Callable[[Floats], float | None]) -> float | None:
        return mean_of([statistic(run) for run in runs])

    low, high = mean_interval(np.stack([np.abs(run - gold) for run in runs], axis=1), analysis.how)
    r_low, r_high = correlation_interval(runs, gold, "questions", analysis.how)
    blank = [kappas(run, gold) for run in runs] if blanks == "as 0" else []
    return {
        "rater": name,
        "read_by": rule,
        "blanks": blanks,
        "runs": len(runs),
        "posts": len(gold),
        "delta": over_runs(lambda run: delta(run, gold)),
        "delta_low": low,
        "delta_high": high,
        "per_question": over_runs(lambda run: correlation(run, gold, "questions").r),
        "question_low": r_low,
        "question_high": r_high,
        "per_post": over_runs(lambda run: correlation(run, gold, "posts").r),
        "spearman": over_runs(lambda run: correlation(run, gold, "questions", "spearman").r),
        "kappa_randolph": mean_of([one for one, _ in blank]),
        "kappa_fleiss": mean_of([two for _, two in blank]),
    }


def kappas(run: Floats, gold: Floats) -> tuple[float | None, float | None]:
    """Randolph's and Fleiss' kappa of blanks, over the cells that both have."""
    known = ~np.isnan(run) & ~np.isnan(gold)
    return agreed_blanks(run[known] == 0, gold[known] == 0)


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean of what is known; null where nothing is."""
    told = [value for value in values if value is not None]
    return float(np.mean(told)) if told else None


def by_run(analysis: Analysis) -> pl.DataFrame:
    """Every run by itself, blanks as 0."""
    rows = []
    for model in analysis.model_names:
        for sample in analysis.samples(model):
            run = analysis.parsed(model, sample, 0.0)
            rows.append(
                {
                    "rater": model,
                    "run": sample,
                    "delta": delta(run, analysis.gold),
                    "pearson_per_question": correlation(run, analysis.gold, "questions").r,
                    "pearson_per_post": correlation(run, analysis.gold, "posts").r,
                    "kappa_randolph": kappas(run, analysis.gold)[0],
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def by_question(analysis: Analysis) -> pl.DataFrame:
    """Every model and question, answers only."""
    rows = []
    for model in analysis.model_names:
        runs = [analysis.parsed(model, s, None) for s in analysis.samples(model)]
        for place, question in enumerate(analysis.questions):
            gold = analysis.gold_answers[:, [place]]
            rows.append(
                {
                    "rater": model,
                    "appraisal": analysis.titles[question],
                    "delta": mean_of([delta(run[:, [place]], gold) for run in runs]),
                    "pearson": mean_of([correlation(run[:, [place]], gold, "questions").r for run in runs]),
                    "spearman": mean_of(
                        [correlation(run[:, [place]], gold, "questions", "spearman").r for run in runs]
                    ),
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def by_group(analysis: Analysis) -> pl.DataFrame:
    """Every model and group of questions, blanks as 0."""
    rows = []
    for model in analysis.model_names:
        runs = [analysis.parsed(model, s, 0.0) for s in analysis.samples(model)]
        for name, questions in analysis.groups.items():
            places = analysis.places(questions)
            gold = analysis.gold[:, places]
            rows.append(
                {
                    "rater": model,
                    "questions": name,
                    "delta": mean_of([delta(run[:, places], gold) for run in runs]),
                    "pearson_per_question": mean_of([correlation(run[:, places], gold, "questions").r for run in runs]),
                    "pearson_per_post": mean_of([correlation(run[:, places], gold, "posts").r for run in runs]),
                    "kappa_randolph": mean_of([kappas(run[:, places], gold)[0] for run in runs]),
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)
