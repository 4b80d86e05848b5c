"""People's evaluation of rationales, and whether any automatic measure agrees with it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.alpha import alpha
from vantage.measures.chance_corrected import fleiss, randolph
from vantage.measures.correlations import coefficient, p_value
from vantage.measures.multiplicity import adjusted
from vantage.measures.ratings import Floats
from vantage.measures.rationale.form import PROPERTIES
from vantage.measures.resampling import Resampling, mean_with_interval
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.report.published import Published
from vantage.studies.appraisals.analysis import Analysis
from vantage.studies.appraisals.coding import bootstrap

CRITERIA: Final = ("factuality", "relevance", "consistency", "usefulness")
MAIN: Final = ("gold", "chatgpt", "alpaca-7B", "flan-t5-xxl")
"""The four sources that both files have."""
NOTEBOOK: Final = {
    "gold": ("0.729", "0.877", "0.954", "0.722"),
    "chatgpt": ("0.839", "0.875", "0.931", "0.846"),
    "alpaca-7B": ("0.546", "0.817", "0.815", "0.508"),
    "flan-t5-xxl": ("0.404", "0.294", "0.238", "0.127"),
}
"""Means in the authors' released notebooks, by source and criterion; the draft prints none."""


def evaluation(analysis: Analysis) -> tuple[Section, list[Finding], list[Published]]:
    """The section on human evaluation, its findings, and the authors' figures beside ours."""
    title = "Which reasons convince people?"
    corpus = analysis.evaluation
    if corpus is None:
        return Section(title, ["The corpus has no judgments of rationales."]), [], []
    sources = corpus.items.select("item", "source")
    judged = corpus.judgments.filter(pl.col("question").is_in(CRITERIA)).join(sources, on="item", how="left")
    # One scale for all criteria: relevance is asked from 1 to 5.
    value = pl.when(pl.col("question") == "relevance").then((pl.col("value") - 1) / 4).otherwise("value")
    judged = judged.with_columns(value.alias("value"))
    means = _means(analysis, judged)
    agreed = _agreement(analysis, judged)
    related = relations(analysis, judged)
    parts: list[Table | Figure] = [
        Table(
            "evaluation",
            "Human scores of rationales from 0 to 1 by who wrote them, with 95 % intervals over rationales.",
            means,
            {"estimate": Column("mean", digits=2)},
            ("criterion", "source", "estimate", "rationales", "judgments"),
            ("criterion", "source"),
        ),
        Figure(
            "evaluation",
            "Human scores of rationales by criterion and source, with 95 % intervals over rationales.",
            "Bars per criterion and source; the table has the numbers.",
            "bars",
            means.select("criterion", "source", "estimate", "low", "high"),
            {"category": "criterion", "series": "source", "label": "mean score", "limits": (0, 1)},
        ),
        Table(
            "evaluation-agreement",
            "Agreement of the evaluators of a rationale, the four sources that both files have.",
            agreed,
            {"estimate": Column(digits=3)},
            ("criterion", "coefficient", "estimate", "items", "raters"),
            ("criterion", "coefficient"),
            [
                "Unit: the rationale. The authors' notebook counts by HIT and averages alphas over workers, so that "
                "two workers "
                "with 5 and 16 HITs weigh as much as two with 266 and 271."
            ],
        ),
    ]
    if len(related):
        parts += [
            Table(
                "evaluation-automatic",
                "Rank correlation (Spearman) of automatic measures with human scores, over rationales of models: "
                "over all of them, "
                "and within models, after taking off each model's mean ranks. 95 % intervals over posts; p after Holm.",
                related,
                {"estimate": Column("correlation", digits=2, signed=True), "p_adjusted": Column("p", digits=3)},
                ("measure_of_text", "criterion", "over", "estimate", "p_adjusted", "rationales"),
                ("measure_of_text", "criterion", "over"),
            ),
            Figure(
                "evaluation-automatic",
                "The same correlations within models.",
                "A map of automatic measures by criteria; the table has the numbers.",
                "heat",
                related.filter(pl.col("over") == "within models").drop_nulls("estimate"),
                {"row": "measure_of_text", "column": "criterion", "diverging": True, "limits": (-1, 1)},
            ),
        ]
    text = [
        "Four people judged whether a rationale agrees with the post (factuality), is about the question "
        "(relevance), justifies "
        "the rating (consistency) and helps (usefulness). The draft leaves open whether automatic measures can stand "
        "in for them: "
        "the last table answers it for these rationales."
    ]
    return Section(title, text, parts), _findings(means, related), _published(means)


def _means(analysis: Analysis, judged: pl.DataFrame) -> pl.DataFrame:
    how = Resampling(resamples=analysis.resamples, seed=analysis.seed)
    rows: list[dict[str, Any]] = []
    for (criterion, source), part in judged.group_by(["question", "source"], maintain_order=True):
        told = part.drop_nulls("value")
        if len(told):
            found = mean_with_interval(told["item"], told["value"].to_numpy(), how)
            count = {"rationales": told["item"].n_unique(), "judgments": len(told)}
            rows.append({"criterion": criterion, "source": source, **found, **count})
    order = {name: place for place, name in enumerate((*CRITERIA, *MAIN))}
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.sort(
        pl.col("criterion").replace_strict(order), pl.col("source").replace_strict(order, default=99), "source"
    )


def _agreement(analysis: Analysis, judged: pl.DataFrame) -> pl.DataFrame:
    main = judged.filter(pl.col("source").is_in(MAIN))
    options: dict[str, Any] = {"by": "question", "resamples": analysis.resamples, "seed": analysis.seed}
    found = {
        "Randolph's kappa": randolph(main, **options),
        "Fleiss' kappa": fleiss(main, **options),
        "alpha, interval": alpha(main, level="interval", **options),
        "alpha, ordinal": alpha(main, level="ordinal", **options),
    }
    told = [frame.with_columns(pl.lit(name).alias("coefficient")) for name, frame in found.items()]
    return (
        pl.concat(told, how="diagonal_relaxed").rename({"question": "criterion"}).sort("criterion", maintain_order=True)
    )


def relations(analysis: Analysis, judged: pl.DataFrame) -> pl.DataFrame:
    """How each automatic measure of a model's rationale goes with the human scores."""
    corpus = analysis.evaluation
    assert corpus is not None  # noqa: S101 - asked only where there is one
    people = analysis.people.select("item", "question", "rationale").drop_nulls()
    known = people.group_by("item", "question", maintain_order=True).agg("rationale")
    references = {(item, question): tuple(texts) for item, question, texts in known.iter_rows()}
    written = corpus.items.filter((pl.col("source") != "gold") & pl.col("rationale").is_not_null())
    rows = [row for row in written.iter_rows(named=True) if (row["reddit_id"], row["appraisal"]) in references]
    if not rows:
        return pl.DataFrame()
    pairs = [(row["rationale"], references[row["reddit_id"], row["appraisal"]]) for row in rows]
    scores, _ = analysis.likeness.scores(pairs)
    for name, compute in PROPERTIES.items():
        told = [compute(row["rationale"], row["post"]) for row in rows]
        scores[name] = np.array([np.nan if value is None else value for value in told])
    human = judged.group_by("item", "question").agg(pl.col("value").mean())
    by_item = {(item, criterion): value for item, criterion, value in human.iter_rows()}
    source = np.array([row["source"] for row in rows])
    posts = np.array([row["reddit_id"] for row in rows])
    found: list[dict[str, Any]] = []
    for name, mine in scores.items():
        for criterion in CRITERIA:
            theirs = np.array([by_item.get((row["item"], criterion), np.nan) for row in rows], dtype=np.float64)
            usable = ~(np.isnan(mine) | np.isnan(theirs))
            for over in ("all models", "within models"):
                one, two = _ranks(mine[usable]), _ranks(theirs[usable])
                if over == "within models":
                    one, two = _centred(one, source[usable]), _centred(two, source[usable])
                row: dict[str, Any] = {
                    "measure_of_text": name,
                    "criterion": criterion,
                    "over": over,
                    "rationales": int(usable.sum()),
                }
                found.append({**row, **_correlated(one, two, posts[usable], analysis)})
    for row, p in zip(found, adjusted([row["p"] for row in found], "holm"), strict=True):
        row["p_adjusted"] = p
    return pl.DataFrame(found, infer_schema_length=None)


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), dtype=np.float64)


def _centred(values: Floats, source: Any) -> Floats:
    return np.asarray(values - np.array([values[source == name].mean() for name in source]), dtype=np.float64)


def _correlated(one: Floats, two: Floats, posts: Any, analysis: Analysis) -> dict[str, float | None]:
    """Pearson's correlation of ranks, with an interval over posts."""
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return dict.fromkeys(("estimate", "low", "high", "p"))
    rows_of = [np.flatnonzero(posts == post) for post in dict.fromkeys(posts)]

    def statistic(drawn: Any) -> float:
        rows = np.concatenate([rows_of[post] for post in drawn])
        x, y = one[rows], two[rows]
        return float(np.corrcoef(x, y)[0, 1]) if np.ptp(x) and np.ptp(y) else float("nan")

    low, high = bootstrap(len(rows_of), statistic, analysis.resamples, analysis.seed)
    return {"estimate": coefficient(one, two, "pearson"), "low": low, "high": high, "p": p_value(one, two, "pearson")}


def _findings(means: pl.DataFrame, related: pl.DataFrame) -> list[Finding]:
    told = {(row["criterion"], row["source"]): row["estimate"] for row in means.iter_rows(named=True)}
    findings = []
    if ("factuality", "gold") in told and ("factuality", "chatgpt") in told:
        findings.append(
            Finding(
                "People find ChatGPT's reasons more factual ({model:.2f}) and more useful ({useful:.2f}) than the "
                "experts' "
                "({gold:.2f} and {gold_useful:.2f})."
                if told["factuality", "chatgpt"] > told["factuality", "gold"]
                else "People find ChatGPT's reasons no more factual ({model:.2f}; useful: {useful:.2f}) than the "
                "experts' "
                "({gold:.2f}; {gold_useful:.2f}).",
                {
                    "model": told["factuality", "chatgpt"],
                    "gold": told["factuality", "gold"],
                    "useful": told["usefulness", "chatgpt"],
                    "gold_useful": told["usefulness", "gold"],
                },
            )
        )
    known = related.filter(pl.col("over") == "within models").drop_nulls("estimate") if len(related) else related
    if len(known):
        best = known.sort(pl.col("estimate").abs(), descending=True).row(0, named=True)
        clear = known.filter(pl.col("p_adjusted") < 0.05)
        findings.append(
            Finding(
                "Within models, the automatic measure nearest to a human score is {measure} with {criterion} (rank "
                "correlation "
                "{r:.2f}); {clear} of {all} such correlations are clear after Holm's correction.",
                {
                    "measure": best["measure_of_text"],
                    "criterion": best["criterion"],
                    "r": best["estimate"],
                    "clear": len(clear),
                    "all": len(known),
                },
            )
        )
    return findings


def _published(means: pl.DataFrame) -> list[Published]:
    told = {(row["criterion"], row["source"]): row["estimate"] for row in means.iter_rows(named=True)}
    rows = []
    for source, values in NOTEBOOK.items():
        for criterion, value in zip(CRITERIA, values, strict=True):
            if (criterion, source) in told:
                twice = (criterion, source) == ("factuality", "chatgpt")
                how = "both files, mean of rows" + (
                    "; 0.83846, which seems to have been rounded twice" if twice else ""
                )
                what = f"{source}: {criterion}"
                rows.append(Published(what, "authors' notebook", value, told[criterion, source], how))
    return rows
