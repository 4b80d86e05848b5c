"""Models beside people: the recorded and new answers, read by our parser and by the rule of the release."""

from __future__ import annotations

import polars as pl

from vantage.measures.replaceability import alt_test
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.report.published import Published
from vantage.studies.appraisals.analysis import Analysis
from vantage.studies.appraisals.draft_models import published_models
from vantage.studies.appraisals.model_scores import PROFILE, by_group, by_question, by_run, summary


def models(analysis: Analysis) -> tuple[Section, list[Finding], list[Published]]:
    """The section on models, its findings, and the draft's figures beside ours."""
    title = "How do models compare with people?"
    if not analysis.model_names:
        return Section(title, ["There are no models in this corpus."]), [], []
    told = summary(analysis)
    single = by_question(analysis)
    parts: list[Table | Figure] = [
        _against(told),
        Figure(
            "models-ratings",
            "How models and people use the scale; answers only.",
            "One box per rater.",
            "distribution",
            analysis.judged.filter(pl.col("value").is_not_null()).sort("rater").select("rater", "value"),
            {"category": "rater", "kind": "box", "label": "rating"},
        ),
        Table(
            "models-replies",
            "What became of the replies.",
            _statuses(analysis),
            {"share": Column(percent=True, digits=1)},
            keys=("rater", "status"),
        ),
        Figure(
            "models-questions",
            "Mean absolute difference from people by question, answers only.",
            "A map of models by questions; the table has the numbers.",
            "heat",
            single.drop_nulls("delta"),
            {"row": "appraisal", "column": "rater", "value": "delta", "digits": 1},
        ),
        _by_question(analysis, single),
        Table(
            "models-groups",
            "Models against people by group of six questions, blanks as 0.",
            by_group(analysis),
            {**_ROWS, "questions": "questions"},
            keys=("rater", "questions"),
        ),
        Table("models-runs", "Every run by itself, blanks as 0.", by_run(analysis), _ROWS, keys=("rater", "run")),
    ]
    tested = _alternative(analysis)
    findings = _findings(told)
    if tested is not None:
        parts.insert(1, tested)
        passed = [row["model"] for row in tested.frame.iter_rows(named=True) if row["passes"]]
        said = f"{', '.join(passed)} may stand in for an expert" if passed else "no model may stand in for an expert"
        findings.append(
            Finding(
                f"By the alternative annotator test {said}, at a cost advantage of {analysis.epsilon:g}; with "
                f"{analysis.double['rater'].n_unique()} experts it is the weakest form of that test."
            )
        )
    text = [
        "Replies are read by Vantage's parser and, beside it, by the rule of the release (the first whole number). "
        "That rule takes years and numbers quoted from the post for ratings, and cannot tell NA from no answer.",
    ]
    return Section(title, text, parts), findings, published_models(analysis)


_ROWS: dict[str, Column | str] = {
    "delta": Column("difference", digits=3),
    "pearson_per_question": Column("r per question", digits=3),
    "pearson_per_post": Column("r per post", digits=3),
    "kappa_randolph": Column("NA kappa, Randolph", digits=3),
}


def _against(told: pl.DataFrame) -> Table:
    columns: dict[str, Column | str] = {
        "delta": Column("difference", digits=2, interval=("delta_low", "delta_high")),
        "per_question": Column("r per question", digits=2, interval=("question_low", "question_high")),
        "per_post": Column("r per post", digits=2),
        "spearman": Column("rho per question", digits=2),
        "kappa_randolph": Column("NA, Randolph", digits=2),
        "kappa_fleiss": Column("NA, Fleiss", digits=2),
    }
    return Table(
        "models",
        'Models against people\'s ratings: mean absolute difference, correlations, and kappas of "not mentioned"; '
        "means over runs, with 95 % intervals over posts. The last two rows take no reading at all.",
        told,
        columns,
        ("rater", "read_by", "blanks", "runs", "posts", *columns),
        ("rater", "read_by", "blanks"),
        [
            "Per post, a correlation is mostly the profile of the questions' means: the mean of each question over the "
            "other posts reaches more than any model.",
            "Randolph's kappa rewards a rater who never says NA as long as people seldom do.",
        ],
    )


def _by_question(analysis: Analysis, single: pl.DataFrame) -> Table:
    """One row per question, so that models stand side by side."""
    wide = pl.DataFrame({"appraisal": list(analysis.titles.values())})
    columns: dict[str, Column | str] = {}
    for place, model in enumerate(analysis.model_names):
        mine = single.filter(pl.col("rater") == model)
        names = {"delta": f"delta_{place}", "pearson": f"pearson_{place}"}
        wide = wide.join(mine.select("appraisal", "delta", "pearson").rename(names), on="appraisal", how="left")
        columns |= {names["delta"]: Column(model, digits=2), names["pearson"]: Column("r", digits=2)}
    caption = "Models against people by question, answers only: mean absolute difference and Pearson's r."
    return Table("models-questions", caption, wide, columns, keys=("appraisal",))


def _statuses(analysis: Analysis) -> pl.DataFrame:
    counted = analysis.models.group_by("rater", pl.col("status").cast(pl.String)).len("replies").sort("rater", "status")
    counted = counted.with_columns((pl.col("replies") / pl.col("replies").sum().over("rater")).alias("share"))
    return counted.with_columns(pl.col("status").str.replace("_", " "))


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


def _findings(told: pl.DataFrame) -> list[Finding]:
    known = told.filter((pl.col("read_by") == "parser") & (pl.col("blanks") == "as 0")).drop_nulls("delta")
    # A model that was asked about a few posts cannot be set beside one that was asked about all.
    known = known.filter(pl.col("posts") >= 0.9 * pl.col("posts").max())
    profile = told.filter(pl.col("rater") == PROFILE).row(0, named=True)
    if known.is_empty():
        return []
    best = known.sort("delta").row(0, named=True)
    numbers = {name: best[name] for name in ("rater", "delta", "delta_low", "delta_high", "posts")}
    numbers |= {"r": best["per_question"], "r_low": best["question_low"], "r_high": best["question_high"]}
    sentence = (
        "Of the models {rater} is nearest to people ({delta:.2f} [{delta_low:.2f}, {delta_high:.2f}] points off; r "
        "{r:.2f} [{r_low:.2f}, {r_high:.2f}] per question, {posts} posts)"
    )
    if best["posts"] != profile["posts"]:
        return [Finding(sentence + ".", numbers)]
    nearer = "but the mean of each question over other posts is nearer, without reading the post"
    if profile["delta"] >= best["delta"]:
        nearer = "nearer than the mean of each question over other posts"
    bounds = "({mean:.2f} [{mean_low:.2f}, {mean_high:.2f}])"
    numbers |= {"mean": profile["delta"], "mean_low": profile["delta_low"], "mean_high": profile["delta_high"]}
    return [Finding(f"{sentence}, {nearer} {bounds}.", numbers)]
