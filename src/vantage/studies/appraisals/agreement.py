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
from vantage.studies.appraisals.coding import Along, Method, agreed_blanks, correlation, delta
from vantage.studies.appraisals.intervals import correlation_interval, mean_interval


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
    columns: dict[str, Column | str] = {
        "delta": Column("difference, blanks as 0", digits=2),
        "delta_answers": Column("difference", digits=2),
        "pearson_per_question": Column("r per question, blanks as 0", digits=2),
        "p": Column("mean p", digits=3),
        "pearson_per_post": Column("r per post, blanks as 0", digits=2),
        "pearson_all_cells": Column("r over all cells, blanks as 0", digits=2),
        "spearman_answers": Column("rho per question", digits=2),
        "blank_kappa": Column("kappa of blanks (Randolph)", digits=2),
    }
    parts.append(
        Table(
            "agreement-groups",
            "Agreement by group of six questions; blanks left out unless said otherwise.",
            groups,
            columns,
            keys=("questions",),
        )
    )
    single = pl.DataFrame([_question(analysis, place, coded, plain) for place in range(len(analysis.questions))])
    shown: dict[str, Column | str] = {
        "delta_answers": Column("difference", digits=2, interval=("delta_low", "delta_high")),
        "pearson_answers": Column("r", digits=2),
        "spearman_answers": Column("rho", digits=2),
        "pairs_answered": "posts both answer",
        "delta": Column("difference, blanks as 0", digits=2),
        "pearson": Column("r, blanks as 0", digits=2),
        "blank_randolph": Column("blanks, Randolph", digits=2),
        "blank_fleiss": Column("blanks, Fleiss", digits=2),
    }
    parts.append(
        Table(
            "agreement-questions",
            "Agreement by question, with 95 % intervals over posts; blanks left out unless said otherwise, and kappas "
            "of blanks.",
            single,
            shown,
            ("appraisal", *shown),
            ("appraisal",),
        )
    )
    drawn = single.select(
        "appraisal",
        *(
            pl.col(column).alias(name)
            for column, name in (("delta_answers", "estimate"), ("delta_low", "low"), ("delta_high", "high"))
        ),
    ).drop_nulls("estimate")
    # What a reader looks for first, the questions on which experts part, stands before the tables.
    parts.insert(
        1,
        Figure(
            "agreement-questions",
            "Where the two annotators part: mean absolute difference by question, answers only, with 95 % intervals "
            "over posts.",
            "One point per question with its interval, the largest difference at the top; a table below has the "
            "numbers.",
            "points",
            drawn.sort("estimate", descending=True),
            {"category": "appraisal", "label": "mean absolute difference"},
        ),
    )
    findings = [
        Finding(
            "Two experts differ by {delta:.2f} [{low:.2f}, {high:.2f}] points of nine on average. Krippendorff's alpha "
            "is {alpha:.2f} [{alpha_low:.2f}, {alpha_high:.2f}]; question by question their ratings correlate "
            "{plain:.2f} [{plain_low:.2f}, {plain_high:.2f}] over posts ({dim:.2f} when a blank counts as 0). They "
            "part most on {most} and least on {least}.",
            {
                **_told(overall, "mean absolute difference", "as 0", "delta", "low", "high"),
                **_told(overall, "Pearson per question", "left out", "plain", "plain_low", "plain_high"),
                "dim": _value(overall, "Pearson per question", "as 0"),
                **_first(alphas.filter(pl.col("blanks") == "left out"), "alpha", "alpha_low", "alpha_high"),
                "most": drawn.sort("estimate")["appraisal"].last() if len(drawn) else None,
                "least": drawn.sort("estimate")["appraisal"].first() if len(drawn) else None,
            },
        )
    ]
    text = [
        "The draft writes 0 for a blank before every statistic, which mixes whether a post tells something with how "
        "much of it there is. Both codings stand side by side here; the second leaves blanks out."
    ]
    return Section("Do people agree?", text, parts), findings, _published(overall, kappas)


def _overall(analysis: Analysis, coded: tuple[Floats, Floats], plain: tuple[Floats, Floats]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for name, (one, two) in (("as 0", coded), ("left out", plain)):
        low, high = mean_interval(np.abs(one - two), analysis.how)
        # Of two ratings both standard deviations are a multiple of their distance.
        for statistic, scale in (
            ("mean absolute difference", 1.0),
            ("standard deviation (population)", 0.5),
            ("standard deviation (sample)", 0.5**0.5),
        ):
            told = [None if value is None else value * scale for value in (delta(one, two), low, high)]
            rows.append({"statistic": statistic, "blanks": name, "estimate": told[0], "low": told[1], "high": told[2]})
        ways: tuple[tuple[str, Along, Method], ...] = (
            ("Pearson per question", "questions", "pearson"),
            ("Spearman per question", "questions", "spearman"),
            ("Pearson per post", "posts", "pearson"),
            ("Spearman per post", "posts", "spearman"),
            ("Pearson over all cells", "all", "pearson"),
        )
        for statistic, along, method in ways:
            found = correlation(one, two, along, method)
            low, high = correlation_interval([one], two, along, analysis.how, method)
            told_of = {"estimate": found.r, "low": low, "high": high, "p": found.p, "defined": found.defined}
            rows.append({"statistic": statistic, "blanks": name, **told_of})
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
    low, high = mean_interval(np.abs(first - second), analysis.how)
    return {
        "appraisal": analysis.titles[analysis.questions[place]],
        "delta": delta(one, two),
        "delta_answers": delta(first, second),
        "delta_low": low,
        "delta_high": high,
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


def _told(overall: pl.DataFrame, statistic: str, blanks: str, *names: str) -> dict[str, float | None]:
    """An estimate and its bounds under the names that a sentence has for them."""
    return _first(overall.filter((pl.col("statistic") == statistic) & (pl.col("blanks") == blanks)), *names)


def _first(frame: pl.DataFrame, *names: str) -> dict[str, float | None]:
    told = frame.select("estimate", "low", "high").row(0) if len(frame) else (None, None, None)
    return dict(zip(names, told, strict=True))


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
