"""Do automatic measures of a rationale know what people think of it? The question that the draft leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.correlations import coefficient
from vantage.measures.multiplicity import adjusted
from vantage.measures.ratings import Floats
from vantage.measures.rationale.form import OF_SOURCE, PROPERTIES
from vantage.report.parts import Column, Figure, Finding, Table
from vantage.studies.appraisals.analysis import Analysis
from vantage.studies.appraisals.intervals import clustered

ALL: Final = "all models"
WITHIN: Final = "within models"
_FORM: Final = {"words": "length in words", "density": "density of copied runs", "coverage": "coverage by the post"}


def relations(analysis: Analysis, judged: pl.DataFrame, criteria: Sequence[str]) -> pl.DataFrame:
    """How each automatic measure of a model's rationale goes with the human scores: one row per measure and criterion.

    Correlations are of ranks, over all models and after taking off each model's mean ranks. Intervals and p values
    resample posts, since rationales about one post share what it tells; Holm's correction is over all of them.
    """
    corpus = analysis.evaluation
    assert corpus is not None  # noqa: S101 - asked only where there is one
    people = analysis.people.select("item", "question", "rationale").drop_nulls()
    known = people.group_by("item", "question", maintain_order=True).agg("rationale")
    references = {(item, question): tuple(texts) for item, question, texts in known.iter_rows()}
    written = corpus.items.filter((pl.col("source") != "gold") & pl.col("rationale").is_not_null())
    rows = [row for row in written.iter_rows(named=True) if (row["reddit_id"], row["appraisal"]) in references]
    if not rows:
        return pl.DataFrame()
    scores, _ = analysis.likeness.scores(
        [(row["rationale"], references[row["reddit_id"], row["appraisal"]]) for row in rows]
    )
    for name, compute in PROPERTIES.items():
        told = [compute(row["rationale"], row["post"]) for row in rows]
        scores[name] = np.array([np.nan if value is None else value for value in told])
    human = judged.group_by("item", "question").agg(pl.col("value").mean())
    by_item = {(item, criterion): value for item, criterion, value in human.iter_rows()}
    source = np.array([row["source"] for row in rows])
    posts = np.array([row["reddit_id"] for row in rows])
    found: list[dict[str, Any]] = []
    for name, mine in scores.items():
        kind = "copying" if name in OF_SOURCE else "form" if name in PROPERTIES else "likeness"
        for criterion in criteria:
            theirs = np.array([by_item.get((row["item"], criterion), np.nan) for row in rows], dtype=np.float64)
            usable = ~(np.isnan(mine) | np.isnan(theirs))
            one, two = _ranks(mine[usable]), _ranks(theirs[usable])
            head: dict[str, Any] = {"automatic": _FORM.get(name, name), "kind": kind, "criterion": criterion}
            head |= {"rationales": int(usable.sum()), "posts": len(set(posts[usable]))}
            inside = _centred(one, source[usable]), _centred(two, source[usable])
            for over, (x, y) in ((WITHIN, inside), (ALL, (one, two))):
                found.append({**head, "over": over, **_correlated(x, y, posts[usable], analysis)})
    for row, p in zip(found, adjusted([row["p"] for row in found], "holm"), strict=True):
        row["p_adjusted"] = p
    return pl.DataFrame(found, infer_schema_length=None)


def automatic_parts(related: pl.DataFrame) -> list[Table | Figure]:
    """The map of correlations, and the table behind it with one row per measure and criterion."""
    inside, over = (related.filter(pl.col("over") == name).drop("over") for name in (WITHIN, ALL))
    bounds = {name: f"all_{name}" for name in ("estimate", "low", "high", "p", "p_adjusted")}
    wide = inside.join(
        over.select("automatic", "criterion", *bounds).rename(bounds), on=["automatic", "criterion"], how="left"
    )
    return [
        Figure(
            "evaluation-automatic",
            "What goes with what people think of a rationale: rank correlations within models.",
            "A map of automatic measures by criteria; the table has the numbers.",
            "heat",
            inside.drop_nulls("estimate"),
            {"row": "automatic", "column": "criterion", "diverging": True, "limits": (-1, 1)},
        ),
        Table(
            "evaluation-automatic",
            "Rank correlation (Spearman) of automatic measures with human scores, over rationales of models: within "
            "models, after taking off each model's mean ranks, and over all of them. 95 % intervals over posts.",
            wide,
            {
                "automatic": "automatic measure",
                "estimate": Column(WITHIN, digits=2, signed=True),
                "p_adjusted": Column("p (Holm)", digits=3),
                "all_estimate": Column(f"over {ALL}", digits=2, signed=True, interval=("all_low", "all_high")),
                "all_p_adjusted": Column("p (Holm)", digits=3),
            },
            ("automatic", "criterion", "estimate", "p_adjusted", "all_estimate", "all_p_adjusted", "rationales"),
            ("automatic", "criterion"),
            [
                "Over all models a measure goes with human scores as soon as it tells good models from bad ones; "
                "within models it must tell a model's good rationales from its bad ones.",
                "p values rest on the spread between resamples of posts, and 0.000 is below 0.0005.",
            ],
        ),
    ]


def automatic_findings(related: pl.DataFrame) -> list[Finding]:
    """The best likeness to people's reasons, beside what copying from the post reaches."""
    known = related.filter(pl.col("over") == WITHIN).drop_nulls("estimate") if len(related) else related
    if known.is_empty():
        return []
    strongest = known.sort(pl.col("estimate").abs(), descending=True)
    numbers: dict[str, Any] = {"all": len(known), "clear": len(known.filter(pl.col("p_adjusted") < 0.05))}
    told = []
    for kind, what in (("likeness", "likeness to people's reasons"), ("copying", "copying from the post")):
        best = strongest.filter(pl.col("kind") == kind)
        if len(best):
            row = best.row(0, named=True)
            numbers |= {f"{kind}_{name}": row[name] for name in ("automatic", "criterion", "estimate", "low", "high")}
            told.append(
                f"of {what} {{{kind}_automatic}} with {{{kind}_criterion}} ({{{kind}_estimate:.2f}} "
                f"[{{{kind}_low:.2f}}, {{{kind}_high:.2f}}])"
            )
    return [
        Finding(
            "Within models the automatic measures that go most with a human score are, "
            + "; ".join(told)
            + ". {clear} of {all} such rank correlations are clear after Holm's correction.",
            numbers,
        )
    ]


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), dtype=np.float64)


def _centred(values: Floats, source: Any) -> Floats:
    return np.asarray(values - np.array([values[source == name].mean() for name in source]), dtype=np.float64)


def _correlated(one: Floats, two: Floats, posts: Any, analysis: Analysis) -> dict[str, float | None]:
    """Pearson's correlation of ranks, with interval and p value over posts."""
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return dict.fromkeys(("estimate", "low", "high", "p"))
    _, codes = np.unique(posts, return_inverse=True)
    (low, high), p = clustered(one, two, codes, analysis.how)
    return {"estimate": coefficient(one, two, "pearson"), "low": low, "high": high, "p": p}
