"""Models beside people: the recorded and new answers, read by our parser and by the rule of the release."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.ratings import Floats
from vantage.measures.replaceability import alt_test
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.report.published import Published
from vantage.studies.appraisals.analysis import Analysis
from vantage.studies.appraisals.coding import (
    agreed_blanks,
    bootstrap,
    correlation,
    delta,
    known_mean,
    quick_correlation,
)

DRAFT: Final = {
    "chatgpt": ("2.061", "0.500", "0.124", "0.723"),
    "alpaca-7B": ("2.808", "0.287", "0.242", "0.724"),
    "dolly-v2-7B": ("3.857", "-0.102", "0.494", "0.019"),
    "flan-t5-xxl": ("3.342", "0.108", "0.352", "0.555"),
}
"""The draft's Table 3: mean absolute delta, Pearson, its p, and the kappa of NA, means of five runs."""
PREFIX: Final = 141
"""How many posts, from the first, the draft's Table 3 seems to rest on."""


def models(analysis: Analysis) -> tuple[Section, list[Finding], list[Published]]:
    """The section on models, its findings, and the draft's figures beside ours."""
    title = "How do models compare with people?"
    if not analysis.model_names:
        return Section(title, ["There are no models in this corpus."]), [], []
    summary = _summary(analysis)
    columns: dict[str, Column | str] = {
        "delta": Column("mean absolute difference", digits=3, interval=("delta_low", "delta_high")),
        "per_question": Column("Pearson per question", digits=3, interval=("question_low", "question_high")),
        "per_post": Column("Pearson per post", digits=3),
        "spearman": Column("Spearman per question", digits=3),
        "kappa_randolph": Column("NA kappa, Randolph", digits=3),
        "kappa_fleiss": Column("NA kappa, Fleiss", digits=3),
    }
    parts: list[Table | Figure] = [
        Table(
            "models",
            "Models against people's ratings: means over runs, with 95 % intervals over posts. Rows with nobody's "
            "name are "
            "what it takes no reading to reach.",
            summary,
            columns,
            (
                "rater",
                "read_by",
                "blanks",
                "runs",
                "delta",
                "per_question",
                "per_post",
                "spearman",
                "kappa_randolph",
                "kappa_fleiss",
            ),
            ("rater", "read_by", "blanks"),
            [
                "Per post, a correlation is mostly the profile of the questions' means: the mean of each question "
                "over the "
                "other posts reaches more than any model.",
                "Randolph's kappa rewards a rater who never says NA as long as people seldom do.",
            ],
        )
    ]
    seeds = _seeds(analysis)
    parts.append(Table("models-runs", "The same for every run, blanks as 0.", seeds, keys=("rater", "run")))
    parts.append(
        Table(
            "models-replies",
            "What became of the replies.",
            _statuses(analysis),
            {"share": Column(percent=True, digits=1)},
            keys=("rater", "status"),
        )
    )
    single = _per_question(analysis)
    parts += [
        Table(
            "models-questions", "Models against people per question, answers only.", single, keys=("rater", "appraisal")
        ),
        Figure(
            "models-questions",
            "Mean absolute difference from people per question, answers only.",
            "A map of models by questions; the table has the numbers.",
            "heat",
            single.drop_nulls("delta"),
            {"row": "appraisal", "column": "rater", "value": "delta", "digits": 1},
        ),
        Table(
            "models-groups",
            "Models against people per group of six questions, blanks as 0.",
            _per_group(analysis),
            keys=("rater", "questions"),
        ),
        Figure(
            "models-ratings",
            "How models and people use the scale; answers only.",
            "One box per rater.",
            "distribution",
            analysis.judged.filter(pl.col("value").is_not_null()).sort("rater").select("rater", "value"),
            {"category": "rater", "kind": "box", "label": "rating"},
        ),
    ]
    tested = _alternative(analysis)
    findings = _findings(summary)
    if tested is not None:
        parts.append(tested)
        passed = [row["model"] for row in tested.frame.iter_rows(named=True) if row["passes"]]
        said = "may stand in for an expert" if passed else "no model may stand in for an expert"
        who = f"{', '.join(passed)} {said}" if passed else said
        findings.append(
            Finding(f"By the alternative annotator test {who}, at a cost advantage of {analysis.epsilon:g}.")
        )
    text = [
        "Replies are read by Vantage's parser and, beside it, by the rule of the release (the first whole number). "
        "That rule takes years and numbers quoted from the post for ratings, and cannot tell NA from no answer.",
    ]
    return Section(title, text, parts), findings, _published(analysis)


def _summary(analysis: Analysis) -> pl.DataFrame:
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
    for name, told in (("always 5", np.full_like(gold, 5.0)), ("mean of the question over other posts", others)):
        row = _row(name, "", "as 0", [told], gold, analysis)
        # A mean without its own post falls as the post rises: per question it correlates −1, whatever the data.
        nothing = dict.fromkeys(("runs", "per_question", "question_low", "question_high", "spearman"))
        rows.append({**row, **nothing})
    return pl.DataFrame(rows, infer_schema_length=None)


def _row(name: str, rule: str, blanks: str, runs: list[Floats], gold: Floats, analysis: Analysis) -> dict[str, Any]:
    def over_runs(statistic: Any) -> float | None:
        told = [value for run in runs if (value := statistic(run)) is not None]
        return float(np.mean(told)) if told else None

    # A model may have been asked about some posts only; intervals are over those.
    asked = ~np.isnan(np.array(runs)).all(axis=(0, 2))
    runs, gold = [run[asked] for run in runs], gold[asked]
    apart = np.abs(np.array(runs) - gold[None])
    low, high = bootstrap(len(gold), lambda rows: known_mean(apart[:, rows]), analysis.resamples, analysis.seed)
    r_low, r_high = bootstrap(
        len(gold),
        lambda rows: float(np.mean([quick_correlation(run[rows], gold[rows], 0) for run in runs])),
        analysis.resamples
        if any(np.ptp(run[~np.isnan(run)], axis=None) > 0 for run in runs if not np.isnan(run).all())
        else 0,
        analysis.seed,
    )
    kappas = [_kappas(run, gold) for run in runs] if blanks == "as 0" else []
    return {
        "rater": name,
        "read_by": rule,
        "blanks": blanks,
        "runs": len(runs),
        "delta": over_runs(lambda run: delta(run, gold)),
        "delta_low": low,
        "delta_high": high,
        "per_question": over_runs(lambda run: correlation(run, gold, "questions").r),
        "question_low": r_low,
        "question_high": r_high,
        "per_post": over_runs(lambda run: correlation(run, gold, "posts").r),
        "spearman": over_runs(lambda run: correlation(run, gold, "questions", "spearman").r),
        "kappa_randolph": _mean([one for one, _ in kappas]),
        "kappa_fleiss": _mean([two for _, two in kappas]),
    }


def _kappas(run: Floats, gold: Floats) -> tuple[float | None, float | None]:
    known = ~np.isnan(run) & ~np.isnan(gold)
    return agreed_blanks(run[known] == 0, gold[known] == 0)


def _mean(values: list[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return float(np.mean(told)) if told else None


def _seeds(analysis: Analysis) -> pl.DataFrame:
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
                    "kappa_randolph": _kappas(run, analysis.gold)[0],
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def _statuses(analysis: Analysis) -> pl.DataFrame:
    counted = analysis.models.group_by("rater", pl.col("status").cast(pl.String)).len("replies").sort("rater", "status")
    return counted.with_columns((pl.col("replies") / pl.col("replies").sum().over("rater")).alias("share"))


def _per_question(analysis: Analysis) -> pl.DataFrame:
    rows = []
    for model in analysis.model_names:
        runs = [analysis.parsed(model, s, None) for s in analysis.samples(model)]
        for place, question in enumerate(analysis.questions):
            gold = analysis.gold_answers[:, [place]]
            rows.append(
                {
                    "rater": model,
                    "appraisal": analysis.titles[question],
                    "delta": _mean([delta(run[:, [place]], gold) for run in runs]),
                    "pearson": _mean([correlation(run[:, [place]], gold, "questions").r for run in runs]),
                    "spearman": _mean([correlation(run[:, [place]], gold, "questions", "spearman").r for run in runs]),
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def _per_group(analysis: Analysis) -> pl.DataFrame:
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
                    "delta": _mean([delta(run[:, places], gold) for run in runs]),
                    "pearson_per_question": _mean([correlation(run[:, places], gold, "questions").r for run in runs]),
                    "pearson_per_post": _mean([correlation(run[:, places], gold, "posts").r for run in runs]),
                    "kappa_randolph": _mean([_kappas(run[:, places], gold)[0] for run in runs]),
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def _alternative(analysis: Analysis) -> Table | None:
    if not analysis.shared:
        return None
    posts = [analysis.posts[place] for place in analysis.shared]
    frame = analysis.judged.filter(pl.col("item").is_in(posts))
    found = alt_test(frame, epsilon=analysis.epsilon, alignment="mae", resamples=analysis.resamples, seed=analysis.seed)
    return Table(
        "models-alternative",
        "The alternative annotator test (Calderon, Reichart and Dror 2025) on the doubly annotated posts: each "
        "expert is "
        "left out in turn, and model and expert are compared with the other expert.",
        found,
        {"estimate": Column("winning rate", digits=2), "advantage": Column("advantage probability", digits=2)},
        ("model", "estimate", "passes", "advantage", "items", "judgments"),
        ("model",),
        ["Two experts are the fewest with which the test can be made; its authors advise three or more."],
    )


def _findings(summary: pl.DataFrame) -> list[Finding]:
    known = summary.filter((pl.col("read_by") == "parser") & (pl.col("blanks") == "as 0")).drop_nulls("delta")
    if known.is_empty():
        return []
    best = known.sort("delta").row(0, named=True)
    mean = summary.filter(pl.col("rater").str.starts_with("mean of")).row(0, named=True)
    return [
        Finding(
            "Of the models {rater} is nearest to people ({delta:.2f} points off, r {r:.2f} per question), but the "
            "mean of each "
            "question over other posts is nearer ({mean:.2f}).",
            {"rater": best["rater"], "delta": best["delta"], "r": best["per_question"], "mean": mean["delta"]},
        )
    ]


def _published(analysis: Analysis) -> list[Published]:
    """Table 3 on the first 141 posts, where it fits best, by the rule of the release."""
    rows: list[Published] = []
    gold = analysis.gold[:PREFIX]
    for model, (apart, r, p, kappa) in DRAFT.items():
        if model not in analysis.model_names or len(analysis.posts) < PREFIX:
            continue
        runs = [analysis.released(model, s)[:PREFIX] for s in analysis.samples(model)]
        found = [correlation(run, gold, "posts") for run in runs]
        ours = (
            _mean([delta(run, gold) for run in runs]),
            _mean([one.r for one in found]),
            _mean([one.p for one in found]),
            _mean([_kappas(run, gold)[0] for run in runs]),
        )
        how = f"first {PREFIX} posts, first whole number, {len(runs)} of the five runs"
        names = ("mean absolute delta", "Pearson (per post)", "p of Pearson", '"NA" kappa (Randolph)')
        rows += [
            Published(f"{model}: {name}", "Table 3", printed, told, how)
            for name, printed, told in zip(names, (apart, r, p, kappa), ours, strict=True)
        ]
    for model, printed in (("alpaca-13B", "4.079"), ("dolly-v2-12B", "3.857")):
        if model not in analysis.model_names:
            why = "its answers are not in these data; the draft repeats another model's values in its row"
            rows.append(Published(f"{model}: mean absolute delta", "Table 3", printed, None, why))
    return rows
