"""What single annotators contribute: who sees whom how, where variance comes from, and who could be replaced."""

from __future__ import annotations

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.measures.components import components
from vantage.measures.needed_raters import needed_raters
from vantage.measures.rater_quality import raters
from vantage.measures.replaceability import alt_test
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.studies.wcsent.data_part import ordered
from vantage.studies.wcsent.printed import QUESTIONS


def annotators(people: Corpus, seed: int) -> tuple[Section, list[Finding]]:
    """Differences between annotators, the components of variance, and how many annotators a score needs."""
    away = _deviations(people)
    quality = raters(people, by="question")
    variance = ordered(components(people, by="question", seed=seed))
    needed = ordered(needed_raters(people, by="question", target=0.9, up_to=20, seed=seed))
    by_target = (
        away.group_by("question", "target")
        .agg(
            pl.col("rater").n_unique().alias("annotators"),
            pl.col("deviation").std().alias("spread"),
            pl.col("deviation").min().alias("coldest"),
            pl.col("deviation").max().alias("warmest"),
        )
        .sort("question", "target")
    )
    parts: list[Table | Figure] = [
        Figure(
            "annotators",
            "How far the mean rating of each annotator lies from the mean of the others on the same pairs, by "
            "question.",
            "Three boxes around zero: most annotators are within half a point of the others, some more than "
            "one point away.",
            "distribution",
            ordered(quality.drop_nulls("bias")).select("question", pl.col("bias").alias("value")),
            {"category": "question", "kind": "box", "label": "mean minus the others'"},
        ),
        Table(
            "who-sees-whom",
            "How differently annotators see the same target: the spread over annotators of their mean "
            "deviation from the "
            "others (annotators with five ratings or more of the target).",
            ordered(by_target),
            {name: Column(digits=2, signed=name != "spread") for name in ("spread", "coldest", "warmest")},
            keys=("question", "target"),
        ),
        Table(
            "conspicuous",
            "The twelve most conspicuous annotators of each question: correlation with the mean of the others, and "
            "what stands out.",
            ordered(quality.group_by("question", maintain_order=True).head(12)),
            {
                "estimate": Column("correlation with the others", digits=2),
                "bias": Column("mean minus the others'", digits=2, signed=True),
                "flags": Column("what stands out"),
            },
            ("question", "rater", "estimate", "bias", "judgments", "flags"),
            ("question", "rater"),
            ["To stand out is no fault: a minority view is a view."],
        ),
        Table(
            "variance",
            "Where the variance of single ratings comes from, as shares.",
            variance,
            {"estimate": Column("share", percent=True, digits=0), "variance": Column(digits=2)},
            ("question", "component", "variance", "estimate"),
            ("question", "component"),
            ["The residual is what one annotator sees in one pair and nobody else does, together with mere noise."],
        ),
        Figure(
            "needed",
            "Reliability of the mean of so many annotators (Spearman–Brown from the reliability of one), with 95 % "
            "intervals; the line is 0.9.",
            "Curves that rise with the number of annotators, trust above sociability above competence.",
            "curve",
            needed.select("question", "k", "estimate", "low", "high"),
            {"x": "k", "series": "question", "x_label": "annotators", "label": "reliability", "reference": 0.9},
        ),
        Table(
            "needed",
            "How many annotators a reliability of 0.9 needs.",
            ordered(needed.unique("question", maintain_order=True)).select(
                "question", "needed", "needed_low", "needed_high"
            ),
            {"needed": Column("annotators", interval=("needed_low", "needed_high"))},
            keys=("question",),
        ),
    ]
    counts = dict(needed.unique("question").select("question", "needed").iter_rows())
    told = [f"{counts[q]} for {q}" for q in QUESTIONS if counts.get(q) is not None]
    findings = [Finding(f"Annotators that a pair needs for a reliability of 0.9: {', '.join(told)}.")] if told else []
    text = [
        "Items are nested in blocks of annotators, so that differences between annotators are measured against "
        "those who "
        "rated the same pairs."
    ]
    return Section("What single annotators contribute", text, parts), findings


def traits(people: Corpus) -> Section | None:
    """Who sees whom how, by the traits of annotators; none where the corpus has no traits."""
    known = [name for name in people.traits if name not in ("model", "style")]
    if not known:
        return None
    away = _deviations(people, by_target=False)
    rows = []
    for trait in known:
        joined = away.join(people.raters.select("rater", pl.col(trait).cast(pl.String).alias("group")), on="rater")
        found = (
            joined.drop_nulls("group")
            .group_by("question", "group")
            .agg(pl.len().alias("annotators"), pl.col("deviation").mean(), pl.col("deviation").std().alias("sd"))
        )
        rows.append(found.select(pl.lit(trait).alias("trait"), "group", "question", "annotators", "deviation", "sd"))
    frame = ordered(pl.concat(rows).sort("trait", "group"))
    error = 1.96 * pl.col("sd") / pl.col("annotators").sqrt()
    frame = frame.with_columns((pl.col("deviation") - error).alias("low"), (pl.col("deviation") + error).alias("high"))
    table = Table(
        "traits",
        "Mean deviation of groups of annotators from others on the same pairs, with normal 95 % intervals over "
        "annotators.",
        frame,
        {"deviation": Column(digits=2, signed=True, interval=("low", "high"))},
        ("trait", "group", "question", "annotators", "deviation"),
        ("trait", "group", "question"),
    )
    return Section("Groups of annotators", ["From the file of demographics that was given."], [table])


def replaceable(corpus: Corpus, seed: int) -> Section | None:
    """The alternative annotator test for every rater that is not a person (Calderon, Reichart and Dror 2025)."""
    kinds = corpus.raters.select("rater", pl.col("kind").cast(pl.String))
    models = kinds.filter(pl.col("kind").is_in(["trained", "model"]))["rater"].to_list()
    answered = corpus.filter(question=list(QUESTIONS))
    there = set(answered.judgments["rater"])
    models = [name for name in models if name in there]
    if not models:
        return None
    items = answered.judgments.filter(pl.col("rater").is_in(models))["item"].unique().to_list()
    part = answered.filter(item=items)
    try:
        found = alt_test(part, by="question", models=models, min_items=10, seed=seed)
    except InputError as error:
        return Section("Could a model replace an annotator?", [f"The test cannot be made: {error}"], [])
    table = Table(
        "replaceable",
        "Alternative annotator test on the test part: the advantage probability of each rater over single "
        "annotators, and "
        "the share of annotators that it could replace (ε = 0.1, annotators with ten test items or more).",
        ordered(found),
        {
            "estimate": Column("annotators it could replace", percent=True, digits=0),
            "advantage": Column("advantage probability", digits=2, interval=("advantage_low", "advantage_high")),
            "tested": Column("annotators"),
        },
        ("question", "model", "estimate", "advantage", "tested", "passes"),
        ("question", "model"),
    )
    text = "A rater passes when it agrees with the others as well as an annotator does, for half of them or more."
    return Section("Could a model replace an annotator?", [text], [table])


def _deviations(people: Corpus, *, by_target: bool = True) -> pl.DataFrame:
    """Per annotator and question (and target) the mean difference from the others on the same items."""
    frame = people.judgments.filter(pl.col("value").is_not_null()).join(
        people.items.select("item", "target"), on="item"
    )
    item = ["item", "question"]
    total, count = pl.col("value").sum().over(item), pl.len().over(item)
    others = (total - pl.col("value")) / (count - 1)
    away = frame.with_columns((pl.col("value") - others).alias("deviation"), count.alias("n")).filter(pl.col("n") > 1)
    keys = ["question", "rater", *(["target"] if by_target else [])]
    return away.group_by(keys).agg(pl.col("deviation").mean(), pl.len().alias("ratings")).filter(pl.col("ratings") >= 5)
