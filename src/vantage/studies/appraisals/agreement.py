"""Do two experts agree? The same ratings under every formula that the draft's numbers might stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from vantage.measures.alpha import alpha
from vantage.measures.opt_outs import opt_outs
from vantage.measures.ratings import Floats
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.report.published import Published
from vantage.studies.appraisals.analysis import SPARSE, Analysis
from vantage.studies.appraisals.coding import (
    agreed_blanks,
    bootstrap,
    correlation,
    delta,
    known_mean,
    quick_correlation,
)


def agreement(analysis: Analysis) -> tuple[Section, list[Finding], list[Published]]:
    """The section on agreement, its findings, and the draft's figures beside ours."""
    parts: list[Table | Figure] = []
    if not analysis.shared:
        return Section("Do people agree?", ["No post was rated by two people."]), [], []
    coded, plain = analysis.annotators(0.0), analysis.annotators(None)
    overall = _overall(analysis, coded, plain)
    parts.append(
        Table(
            "agreement",
            f"Agreement of the two annotators on {len(analysis.shared)} posts, with 95 % intervals over posts.",
            overall,
            {"estimate": Column(digits=3), "p": Column("mean p", digits=3), "defined": "coefficients"},
            keys=("statistic", "blanks"),
            notes=[
                "A correlation per question asks who is higher on which post; one per post asks which questions are "
                "higher, and is mostly the profile of the questions' means."
            ],
        )
    )
    kappas = opt_outs(analysis.double, resamples=analysis.resamples, seed=analysis.seed)
    parts.append(
        Table(
            "agreement-blanks",
            'Agreement on "not mentioned".',
            kappas,
            {"estimate": Column(digits=3)},
            ("coefficient", "estimate", "items", "judgments"),
            ("coefficient",),
            ["Randolph's kappa takes half of all agreement for chance, whatever the share of blanks; Fleiss' uses it."],
        )
    )
    alphas = _alphas(analysis)
    parts.append(
        Table(
            "agreement-alpha",
            "Krippendorff's alpha, with 95 % intervals over posts.",
            alphas,
            {"estimate": Column("alpha", digits=3)},
            ("blanks", "level", "estimate", "items", "judgments"),
            ("blanks", "level"),
        )
    )
    groups = pl.DataFrame([_row(name, analysis.places(of), coded, plain) for name, of in analysis.groups.items()])
    columns: dict[str, Column | str] = {"p": Column("mean p", digits=3), "blank_kappa": "kappa of blanks (Randolph)"}
    parts.append(Table("agreement-groups", "The same for groups of questions.", groups, columns, keys=("questions",)))
    single = pl.DataFrame([_question(analysis, place, coded, plain) for place in range(len(analysis.questions))])
    parts.append(
        Table(
            "agreement-questions",
            "The same per question; blanks left out where it says answers.",
            single,
            keys=("appraisal",),
        )
    )
    parts.append(
        Figure(
            "agreement-questions",
            "Mean absolute difference of the two annotators per question, answers only.",
            "One bar per question; the table has the numbers.",
            "bars",
            single.select("appraisal", pl.col("delta_answers").alias("estimate")).drop_nulls(),
            {"category": "appraisal", "label": "mean absolute difference"},
        )
    )
    findings = [
        Finding(
            "Two experts differ by {delta:.2f} points on average; per question over posts their ratings correlate "
            "{dim:.2f} "
            "with blanks as 0 and {plain:.2f} with blanks left out.",
            {
                "delta": _value(overall, "mean absolute difference", "as 0"),
                "dim": _value(overall, "Pearson per question", "as 0"),
                "plain": _value(overall, "Pearson per question", "left out"),
            },
        )
    ]
    text = ["The draft writes 0 for blanks before every statistic. Both codings stand side by side here."]
    return Section("Do people agree?", text, parts), findings, _published(overall, kappas)


def _overall(analysis: Analysis, coded: tuple[Floats, Floats], plain: tuple[Floats, Floats]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for name, (one, two) in (("as 0", coded), ("left out", plain)):
        posts = len(one)

        def interval(statistic: Any, posts: int = posts) -> dict[str, float | None]:
            low, high = bootstrap(posts, statistic, analysis.resamples, analysis.seed)
            return {"low": low, "high": high}

        apart = np.abs(one - two)
        rows.append(
            {
                "statistic": "mean absolute difference",
                "blanks": name,
                "estimate": delta(one, two),
                **interval(lambda rows, apart=apart: known_mean(apart[rows])),
            }
        )
        for ddof, kind in ((0, "population"), (1, "sample")):
            scale = 0.5 if ddof == 0 else np.sqrt(0.5)
            told = known_mean(apart) * scale
            rows.append({"statistic": f"standard deviation ({kind})", "blanks": name, "estimate": told})
        for along, axis in (("questions", 0), ("posts", 1)):
            found = correlation(one, two, along)  # type: ignore[arg-type]
            rows.append(
                {
                    "statistic": f"Pearson per {along.removesuffix('s')}",
                    "blanks": name,
                    "estimate": found.r,
                    "p": found.p,
                    "defined": found.defined,
                    **interval(lambda rows, one=one, two=two, axis=axis: quick_correlation(one[rows], two[rows], axis)),
                }
            )
            rank = correlation(one, two, along, "spearman")  # type: ignore[arg-type]
            rows.append(
                {
                    "statistic": f"Spearman per {along.removesuffix('s')}",
                    "blanks": name,
                    "estimate": rank.r,
                    "p": rank.p,
                    "defined": rank.defined,
                }
            )
        pooled = correlation(one, two, "all")
        rows.append(
            {"statistic": "Pearson over all cells", "blanks": name, "estimate": pooled.r, "p": pooled.p, "defined": 1}
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _alphas(analysis: Analysis) -> pl.DataFrame:
    zeroed = analysis.double.with_columns(
        pl.when(pl.col("status").cast(pl.String) == "not_mentioned").then(0.0).otherwise("value").alias("value"),
        pl.lit("answered").alias("status"),
    )
    kept = analysis.double.filter(~pl.col("question").is_in(SPARSE))
    return pl.concat(
        [
            alpha(frame, level=level, resamples=analysis.resamples, seed=analysis.seed).with_columns(
                pl.lit(name).alias("blanks"), pl.lit(level).alias("level")
            )
            for name, frame in (("as 0", zeroed), ("left out", analysis.double), ("left out, 21 questions", kept))
            for level in ("interval", "ordinal")
        ],
        how="diagonal_relaxed",
    )


def _row(name: str, places: list[int], coded: tuple[Floats, Floats], plain: tuple[Floats, Floats]) -> dict[str, Any]:
    one, two = coded[0][:, places], coded[1][:, places]
    first, second = plain[0][:, places], plain[1][:, places]
    per_question = correlation(one, two, "questions")
    return {
        "questions": name,
        "delta": delta(one, two),
        "delta_answers": delta(first, second),
        "pearson_per_question": per_question.r,
        "p": per_question.p,
        "pearson_per_post": correlation(one, two, "posts").r,
        "pearson_all_cells": correlation(one, two, "all").r,
        "spearman_answers": correlation(first, second, "questions", "spearman").r,
        "blank_kappa": agreed_blanks(one == 0, two == 0)[0],
    }


def _question(
    analysis: Analysis, place: int, coded: tuple[Floats, Floats], plain: tuple[Floats, Floats]
) -> dict[str, Any]:
    one, two = coded[0][:, [place]], coded[1][:, [place]]
    first, second = plain[0][:, [place]], plain[1][:, [place]]
    randolph, fleiss = agreed_blanks(one == 0, two == 0)
    return {
        "appraisal": analysis.titles[analysis.questions[place]],
        "delta": delta(one, two),
        "delta_answers": delta(first, second),
        "pearson": correlation(one, two, "questions").r,
        "pearson_answers": correlation(first, second, "questions").r,
        "spearman_answers": correlation(first, second, "questions", "spearman").r,
        "blank_randolph": randolph,
        "blank_fleiss": fleiss,
        "pairs_answered": int((~np.isnan(first + second)).sum()),
    }


def _value(overall: pl.DataFrame, statistic: str, blanks: str, column: str = "estimate") -> float | None:
    found = overall.filter((pl.col("statistic") == statistic) & (pl.col("blanks") == blanks))[column]
    return found[0] if len(found) else None


def _published(overall: pl.DataFrame, kappas: pl.DataFrame) -> list[Published]:
    kappa = {row["coefficient"]: row["estimate"] for row in kappas.iter_rows(named=True)}
    where = "Table 2"
    per_question, per_post = "Pearson per question", "Pearson per post"
    rows = [
        ("mean absolute delta", where, "1.905", _value(overall, "mean absolute difference", "as 0"), "blank as 0"),
        (
            "standard deviation",
            where,
            "0.953",
            _value(overall, "standard deviation (population)", "as 0"),
            "population SD of two ratings, which is half their difference; the sample SD is 1.347",
        ),
        ("Pearson", where, "0.370", _value(overall, per_question, "as 0"), "mean over 24 questions, blank as 0"),
        ("p of Pearson", where, "0.122", _value(overall, per_question, "as 0", "p"), "mean of 24 p values"),
        ("Pearson", "Section 4.1", "0.627", _value(overall, per_post, "as 0"), "mean over 40 posts, blank as 0"),
        (
            '"NA" kappa',
            where,
            "0.769",
            kappa.get("randolph"),
            "Randolph's kappa; the draft says Fleiss' and cites both. Fleiss' is 0.501",
        ),
    ]
    return [Published(what, place, printed, ours, how) for what, place, printed, ours, how in rows]
