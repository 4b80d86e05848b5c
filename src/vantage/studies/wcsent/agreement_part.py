"""Agreement and reliability: alpha, pairwise agreement, split halves, unanimity, overall and by target."""

from __future__ import annotations

import polars as pl

from vantage.corpora import Corpus
from vantage.measures.alpha import alpha
from vantage.measures.pairwise import pairwise
from vantage.measures.split_half import split_half
from vantage.measures.unanimity import unanimity
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.report.published import Published
from vantage.studies.wcsent.data_part import ordered
from vantage.studies.wcsent.printed import (
    ALPHA,
    PAIRWISE,
    QUESTIONS,
    SPLIT_HALF,
    STRICT_SHARES,
    TARGET_ALPHAS,
)


def agreement(people: Corpus, seed: int) -> tuple[Section, list[Published], list[Finding]]:
    """How far annotators agree, and how far their aggregated scores can be relied on."""
    chance = ordered(alpha(people, by="question", level="ordinal", seed=seed))
    targets = alpha(people, by=["question", "target"], level="ordinal", seed=seed)
    pairs = ordered(pairwise(people, by="question", coarse=True, seed=seed))
    medians = ordered(split_half(people, by="question", aggregate="median", correlation="spearman", seed=seed))
    means = ordered(split_half(people, by="question", spearman_brown=True, seed=seed))
    halves = split_half(people, by=["question", "target"], aggregate="median", correlation="spearman", seed=seed)
    by_target = ordered(
        targets.select("question", "target", "estimate", "low", "high", "items").join(
            halves.select("question", "target", pl.col("estimate").alias("halves")), on=["question", "target"]
        )
    )
    unanimous = _unanimous(people, seed)
    parts: list[Table | Figure] = [
        Table(
            "agreement",
            "Agreement and reliability by question, with 95 % intervals (alpha and pairs: bootstrap over items; split "
            "halves: the middle 95 % of 1,000 splits).",
            _side_by_side(chance, pairs, medians, means),
            {
                "alpha": Column("alpha (ordinal)", digits=2, interval=("alpha_low", "alpha_high")),
                "pairs": Column("same band, pairs", percent=True, interval=("pairs_low", "pairs_high")),
                "medians": Column("split-half, medians", digits=2, interval=("medians_low", "medians_high")),
                "means": Column("split-half, means, stepped up", digits=2, interval=("means_low", "means_high")),
            },
            keys=("question",),
            notes=[
                "Medians with Spearman's correlation are the paper's variant; means with the Spearman–Brown step "
                "say how reliable the released mean scores are."
            ],
        ),
        Figure(
            "alpha-by-target",
            "Krippendorff's alpha (ordinal) by target and question, with 95 % intervals over items.",
            "Points with intervals, one line per target and one colour per question. " + _in_words(by_target),
            "points",
            by_target.sort("target").select("target", "question", "estimate", "low", "high"),
            {"category": "target", "series": "question", "label": "Krippendorff's alpha", "reference": 0},
        ),
        Table(
            "by-target",
            "Agreement (ordinal alpha) and split-half reliability (Spearman of medians) by target.",
            by_target,
            {"estimate": Column("alpha", digits=2), "halves": Column("split-half", digits=2)},
            keys=("question", "target"),
        ),
        Table(
            "unanimity",
            "Items on which all annotators agree: the same point, or the same side of the scale.",
            unanimous,
            {"strict_share": Column("same point", percent=True), "soft_share": Column("same band", percent=True)},
            keys=("question", "target"),
            notes=["An item is a sentence, a target and a question: 4,899 in the whole release."],
        ),
    ]
    text = [
        "Annotators agree moderately about trust and sociability and little about competence. One rating says little, "
        "the mean of five says much more: the released scores are as reliable as the last column states."
    ]
    best, worst = (
        chance.sort("estimate", descending=True).row(0, named=True),
        chance.sort("estimate").row(0, named=True),
    )
    finding = Finding(
        "Annotators agree most about {best} (alpha {high:.2f}) and least about {worst} ({low:.2f}).",
        {"best": best["question"], "high": best["estimate"], "worst": worst["question"], "low": worst["estimate"]},
    )
    return Section("Agreement and reliability", text, parts), _rows(people, chance, pairs, medians, targets), [finding]


def _side_by_side(*frames: pl.DataFrame) -> pl.DataFrame:
    names = ("alpha", "pairs", "medians", "means")
    found = frames[0].select("question")
    for name, frame in zip(names, frames, strict=True):
        side = frame.select(
            "question",
            pl.col("estimate").alias(name),
            pl.col("low").alias(f"{name}_low"),
            pl.col("high").alias(f"{name}_high"),
        )
        found = found.join(side, on="question", maintain_order="left")
    return found


def _unanimous(people: Corpus, seed: int) -> pl.DataFrame:
    """Strict and soft unanimity by question and target."""
    found = []
    for name, coarse in (("strict", False), ("soft", True)):
        rows = unanimity(people, by=["question", "target"], coarse=coarse, ci="none", seed=seed).filter(on="any")
        found.append(
            rows.select(
                "question", "target", pl.col("unanimous").alias(name), pl.col("estimate").alias(f"{name}_share")
            )
        )
    return ordered(found[0].join(found[1], on=["question", "target"], maintain_order="left"))


def _rows(
    people: Corpus, chance: pl.DataFrame, pairs: pl.DataFrame, halves: pl.DataFrame, targets: pl.DataFrame
) -> list[Published]:
    rows = []
    for what, where, printed, frame, variant, percent in (
        ("alpha of {}", "Section 3.3", ALPHA, chance, "ordinal, seven points; printed with one decimal", False),
        ("pairwise agreement on {}", "Section 3.3", PAIRWISE, pairs, "bands, mean over items", True),
        (
            "split-half reliability of {}",
            "Section 3.3",
            SPLIT_HALF,
            halves,
            "Spearman of medians, not stepped up",
            False,
        ),
    ):
        known = dict(frame.select("question", "estimate").iter_rows())
        for question, figure in zip(QUESTIONS, printed, strict=True):
            # Random halves move the third digit, and competence lies on the edge of rounding.
            allowed = 0.006 if frame is halves else None
            rows.append(Published(what.format(question), where, figure, known.get(question), variant, percent, allowed))
    known_pairs = {(q, t): e for q, t, e in targets.select("question", "target", "estimate").iter_rows()}
    for question, target, figure in TARGET_ALPHAS:
        found = known_pairs.get((question, target))
        rows.append(
            Published(f"alpha of {question}, {target}", "Appendix I.1", figure, found, "ordinal, within target")
        )
    strict = unanimity(people, by="question", ci="none").filter(on="any")
    soft = unanimity(people, coarse=True, ci="none").filter(on="any").row(0, named=True)
    total = int(strict["unanimous"].sum())
    rows.append(Published("strictly unanimous items", "Section 3.3", "143", total, "of 4,899 items, not 1,633 pairs"))
    shares = dict(strict.select("question", pl.col("unanimous") / max(total, 1)).iter_rows())
    rows += [
        Published(f"of these, {q}", "Section 3.3", figure, shares.get(q), percent=True)
        for q, figure in zip(QUESTIONS, STRICT_SHARES, strict=True)
    ]
    rows.append(Published("softly unanimous items", "Section 3.3", "1,316", soft["unanimous"], "same band"))
    return rows


def _in_words(frame: pl.DataFrame) -> str:
    best = frame.sort("estimate", descending=True, nulls_last=True).row(0, named=True)
    if best["estimate"] is None:
        return "No target has enough ratings."
    return f"The highest is {best['question']} of {best['target']} with {best['estimate']:.2f}."
