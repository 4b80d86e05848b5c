"""The part of a report on agreement and reliability, for any corpus in which several raters judged the same items."""

from __future__ import annotations

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.measures.alpha import alpha
from vantage.measures.rater_quality import raters
from vantage.measures.split_half import split_half
from vantage.report.parts import Column, Figure, Finding, Section, Table


def agreement(corpus: Corpus, *, seed: int = 0, who: str = "") -> tuple[Section, list[Finding]]:
    """Agreement beyond chance and split-half reliability per question, and what to remember of them.

    Where there are people among the raters, theirs is measured; otherwise that of all raters. `who` says in the
    text whose agreement it is.
    """
    part, found = _judges(corpus)
    who = who or found
    order = {question.id: n for n, question in enumerate(part.questions)}
    chance = _in_order(alpha(part, by="question", seed=seed, kinds="all"), order)
    parts: list[Table | Figure] = [
        Table(
            "alpha",
            f"Krippendorff's alpha of {who}, with 95 % intervals (bootstrap over items).",
            chance,
            {"estimate": Column("alpha", digits=2)},
            keys=("question",),
            notes=["1 is perfect agreement, 0 what chance would give; the level of measurement is that of the scale."],
        )
    ]
    if chance["estimate"].null_count() < len(chance):
        parts.append(_drawn(chance, who))
    ordered = [question.id for question in part.questions if question.scale.ordered]
    if set(ordered) & set(part.judgments["question"]):
        parts.append(_halves(part.filter(question=ordered), order, seed))
    return Section("Do raters agree?", [], parts), _agreed(chance, who)


def conspicuous(corpus: Corpus) -> tuple[Section, list[Finding]]:
    """Raters, those to look at first; flags say in words what stands out. Nominal questions have no such measure."""
    ordered = corpus.filter(question=[question.id for question in corpus.questions if question.scale.ordered])
    # Where there are no people, raters of other kinds are compared with each other.
    kinds = None if ordered.people().raters.height else "all"
    try:
        found = raters(ordered, kinds=kinds)
    except InputError:
        # Questions with different scales cannot be pooled.
        found = raters(ordered, by="question", kinds=kinds)
    by = [name for name in ("question",) if name in found.columns]
    flagged = found.filter(pl.col("flags").list.len() > 0)
    table = Table(
        "raters",
        "Raters, the most conspicuous first: how well each follows the mean of the others.",
        found,
        {
            "estimate": Column("correlation with the others", digits=2),
            "bias": Column("mean minus the others'", digits=2, signed=True),
            "agreement": Column("same answer as others", percent=True, digits=0),
            "flags": Column("what stands out"),
        },
        (*by, "rater", "estimate", "bias", "agreement", "judgments", "flags"),
        (*by, "rater"),
        ["To stand out is no fault: look at the answers before you leave anyone out."],
    )
    findings = []
    if len(flagged):
        worst = flagged.row(0, named=True)
        numbers = {"count": flagged["rater"].n_unique(), "all": found["rater"].n_unique(), "rater": worst["rater"]}
        sentence = "{count} of {all} raters should be looked at, first {rater}: {flag}."
        findings.append(Finding(sentence, {**numbers, "flag": worst["flags"][0]}))
    return Section("Raters to look at", [], [table]), findings


def _drawn(chance: pl.DataFrame, who: str) -> Figure:
    known = chance.drop_nulls("estimate").select("question", "estimate")
    in_words = ", ".join(f"{question} {estimate:.2f}" for question, estimate in known.iter_rows())
    return Figure(
        "alpha",
        f"Krippendorff's alpha of {who}, with 95 % intervals (bootstrap over items).",
        f"Points with intervals, one per question: {in_words}.",
        "points",
        chance.select("question", "estimate", "low", "high"),
        {"category": "question", "label": "Krippendorff's alpha", "reference": 0, "reference_label": "chance"},
    )


def _halves(part: Corpus, order: dict[str, int], seed: int) -> Table:
    halves = _in_order(split_half(part, by="question", seed=seed, kinds="all"), order)
    return Table(
        "split-half",
        "Split-half reliability of the mean rating of an item: how well one half of the ratings predicts the other.",
        halves,
        {"estimate": Column("reliability", digits=2), "sd": Column(digits=3)},
        keys=("question",),
        notes=[
            "Pearson correlation of the two halves' means, averaged over random halves; not stepped up to all raters. "
            "The interval holds the middle 95 % of the halves."
        ],
    )


def _agreed(chance: pl.DataFrame, who: str) -> list[Finding]:
    known = chance.drop_nulls("estimate").sort("estimate", descending=True)
    if known.is_empty():
        return []
    first, last = known.row(0, named=True), known.row(-1, named=True)
    numbers = {"question": first["question"], "alpha": first["estimate"], "low": first["low"], "high": first["high"]}
    interval = " (alpha {alpha:.2f}, 95 % interval {low:.2f} to {high:.2f})"
    if len(known) == 1:
        return [Finding(f"The agreement of {who} about {{question}} is as follows{interval}.", numbers)]
    least = {"least": last["question"], "least_alpha": last["estimate"]}
    sentence = f"The answers of {who} agree most about {{question}}{interval}"
    return [Finding(sentence + " and least about {least} ({least_alpha:.2f}).", numbers | least)]


def _judges(corpus: Corpus) -> tuple[Corpus, str]:
    people = corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(["person", "slot"]))
    if 1 < len(people) < len(corpus.raters):
        return corpus.filter(rater=people["rater"].to_list()), "the people among the raters"
    return corpus, "all raters"


def _in_order(frame: pl.DataFrame, order: dict[str, int]) -> pl.DataFrame:
    """Rows in the order in which the instrument asks."""
    return frame.sort(pl.col("question").replace_strict(order, default=len(order)), maintain_order=True)
