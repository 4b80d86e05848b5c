"""What people's ratings give: the data, agreement by target, labels under several rules, and single annotators."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Final

import polars as pl

from vantage.measures.aggregation.labels import aggregate, bands
from vantage.measures.agreement.unanimity import unanimity
from vantage.measures.relations.compare import compare
from vantage.measures.reliability.rater_quality import rater_quality
from vantage.measures.variation.spread import opposed_items
from vantage.report.engine import Analysis, Data
from vantage.report.parts import Part
from vantage.report.ruler import wright_maps
from vantage.studies.wcsent.learning import QUESTIONS

RULES: Final[dict[str, dict[str, Any]]] = {
    "votes (Table 2)": {"method": "signs", "ties": "neutral"},
    "means (released)": {"method": "mean", "rounding": "half_up"},
    "medians": {"method": "median", "rounding": "half_even"},
    "majority (App. F.1)": {"method": "majority", "coarse": True, "ties": "neutral"},
}
OPPOSED: Final[dict[str, dict[str, Any]]] = {
    "released scores": {"aggregate": "mean", "rounding": "half_up"},
    "means beyond ½": {"aggregate": "mean", "beyond": 0.5},
    "medians, rounded": {"aggregate": "median", "rounding": "half_even"},
    "medians": {"aggregate": "median"},
    "votes": {"aggregate": "votes"},
    "means": {"aggregate": "mean"},
}


def targets(analysis: Analysis) -> Data:
    """Pairs by target."""
    items, judgments = analysis.people.items, analysis.people.judgments
    counts = items.group_by("target").agg(pl.len().alias("pairs")).sort("pairs", descending=True)
    frame = counts.with_columns((pl.col("pairs") / len(items)).alias("share"))
    facts = {"ratings": len(judgments), "annotators": analysis.people.raters.height, "pairs": len(items)}
    return Data(frame, {**facts, "sentences": items["text"].n_unique()})


def annotation_counts(analysis: Analysis) -> pl.DataFrame:
    """Annotators and annotations of each question, and how many items have how many annotations."""
    judgments = analysis.people.judgments
    per_item = judgments.group_by("item", "question").len("annotations")
    spread = per_item.group_by("question", "annotations").len("items").sort("annotations")
    wide = spread.with_columns(pl.format("with {}", "annotations").alias("n")).pivot(
        on="n", index="question", values="items"
    )
    raters = judgments.group_by("question").agg(
        pl.col("rater").n_unique().alias("annotators"), pl.len().alias("annotations"), pl.col("item").n_unique()
    )
    return raters.join(wide.fill_null(0), on="question")


def split(analysis: Analysis) -> Data | None:
    """The official split."""
    items = analysis.people.items
    if "split" not in items.columns:
        return None
    finals = [f"final_{q}" for q in QUESTIONS if f"final_{q}" in items.columns]
    frame = items.group_by("split").agg(
        pl.len().alias("pairs"),
        pl.col("text").n_unique().alias("texts"),
        *(pl.col(name).mean().alias(f"mean {name.removeprefix('final_')}") for name in finals),
    )
    order = {"train": 0, "validation": 1, "test": 2}
    frame = frame.sort(pl.col("split").replace_strict(order, default=3))
    shared = items.group_by("text").agg(pl.col("split").n_unique()).filter(pl.col("split") > 1).height
    return Data(frame, {"shared": shared})


def unanimous(analysis: Analysis) -> pl.DataFrame:
    """Items on which all annotators agree, on the point and on the side, by question and target."""
    return _unanimous(analysis, ["question", "target"])


def unanimous_items(analysis: Analysis) -> pl.DataFrame:
    """The same by question, with each question's share of all such items."""
    shares_of = _unanimous(analysis, ["question"])
    total = pl.DataFrame(
        {"question": ["all"], "strict": [shares_of["strict"].sum()], "soft": [shares_of["soft"].sum()]},
        schema_overrides={"strict": pl.Int64, "soft": pl.Int64},
    )
    shares = (pl.col("strict") / max(int(shares_of["strict"].sum()), 1)).alias("of_strict")
    return pl.concat([shares_of.select("question", "strict", "soft"), total]).with_columns(shares)


def _unanimous(analysis: Analysis, by: list[str]) -> pl.DataFrame:
    strict, soft = (
        unanimity(analysis.people, by=by, coarse=coarse, ci="none")
        .filter(on="any")
        .select(
            *by,
            pl.col("unanimous").cast(pl.Int64).alias(name),
            pl.col("estimate").cast(pl.Float64).alias(f"{name}_share"),
        )
        for name, coarse in (("strict", False), ("soft", True))
    )
    return strict.join(soft, on=by, maintain_order="left")


def rulers(analysis: Analysis) -> list[Part | str] | None:
    """The Wright map of each question: annotators, whoever else judged, and pairs on one scale."""
    asked = set(analysis.corpus.judgments.drop_nulls("value")["question"])
    return wright_maps(analysis.corpus, [question for question in QUESTIONS if question in asked])


def score_counts(analysis: Analysis) -> pl.DataFrame:
    """How many pairs have which score: means rounded half up, as released, and medians rounded half to even."""
    rules: dict[str, dict[str, Any]] = {
        "mean rounded half up (the released scores)": {"method": "mean", "rounding": "half_up"},
        "rounded median": {"method": "median", "rounding": "half_even"},
    }
    frames = []
    for rule, how in rules.items():
        scores = aggregate(analysis.people, **how)
        counts = scores.group_by("question", pl.col("value").cast(pl.Int64)).len("pairs").sort("value", "question")
        label = pl.col("value").cast(pl.String).str.replace("-", "−").alias("score")
        frames.append(counts.select(pl.lit(rule).alias("rule"), label, "question", "pairs"))
    return pl.concat(frames)


def labels(analysis: Analysis) -> pl.DataFrame:
    """Shares of the coarse labels under each rule."""
    frames = [
        bands(analysis.people, by="question", **how).select(
            pl.lit(rule).alias("rule"),
            "question",
            pl.col("band").cast(pl.String),
            "count",
            pl.col("estimate").alias("share"),
        )
        for rule, how in RULES.items()
    ]
    return pl.concat(frames).with_columns(pl.concat_str("question", pl.lit(": "), "rule").alias("label"))


def label_counts(analysis: Analysis) -> pl.DataFrame:
    """Items by coarse label under each rule, side by side, and items with as many high as low votes."""
    wide = labels(analysis).pivot(on="band", index=["rule", "question"], values="count")
    ties = bands(analysis.people, by="question", method="signs", ties="none").unique("question")
    tied = ties.select("question", pl.lit("votes (Table 2)").alias("rule"), pl.col("undecided").alias("tied"))
    return wide.join(tied, on=["question", "rule"], how="left", maintain_order="left")


def opposed(analysis: Analysis) -> pl.DataFrame:
    """Pairs whose questions point in opposite directions, by rule."""
    return pl.DataFrame(
        [
            {"rule": rule, "pairs": opposed_items(analysis.people, ci="none", **how)["opposed"][0]}
            for rule, how in OPPOSED.items()
        ]
    )


def together(analysis: Analysis) -> pl.DataFrame | None:
    """How often every two questions have which pair of released scores."""
    final = aggregate(analysis.people, method="mean", rounding="half_up").select("item", "question", "value")
    wide = final.pivot(on="question", index="item", values="value").drop_nulls()
    codes = [str(code) for code in range(-3, 4)]
    grid = pl.DataFrame({"first": codes[::-1]}).join(pl.DataFrame({"second": codes}), how="cross")
    grids = []
    for one, other in combinations([question for question in QUESTIONS if question in wide.columns], 2):
        scores = wide.select(first=pl.col(one).cast(pl.Int64), second=pl.col(other).cast(pl.Int64)).cast(pl.String)
        counts = scores.group_by("first", "second").len("pairs")
        data = grid.join(counts, on=["first", "second"], how="left", maintain_order="left").fill_null(0)
        names = {"rows": pl.lit(one), "columns": pl.lit(other), "two": pl.lit(f"{one} and {other}")}
        grids.append(data.with_columns(**names))
    return pl.concat(grids) if grids else None


def conspicuous(analysis: Analysis) -> pl.DataFrame:
    """The twelve annotators of each question to look at first."""
    quality = rater_quality(analysis.people, by="question")
    return quality.group_by("question", maintain_order=True).head(12)


def who_sees_whom(analysis: Analysis) -> pl.DataFrame:
    """How differently annotators see the same target, from those with five ratings of it."""
    seen = rater_quality(analysis.people, by=["question", "target"]).filter(pl.col("units") >= 5)
    bias = pl.col("bias")
    spread = (bias.std().alias("spread"), bias.min().alias("coldest"), bias.max().alias("warmest"))
    return seen.group_by("question", "target").agg(pl.len().alias("annotators"), *spread).sort("target")


def traits(analysis: Analysis) -> pl.DataFrame | None:
    """Groups of annotators compared, one person being one unit; none where nobody's traits are known."""
    people = analysis.people
    how: dict[str, Any] = {"by": "question", "unit": "rater", "paired": False, "seed": analysis.seed}
    frames = [
        compare(people, between=trait, **how).select(pl.lit(trait).alias("trait"), pl.all())
        for trait in people.traits
        if trait not in ("model", "style") and people.raters[trait].drop_nulls().n_unique() > 1
    ]
    return pl.concat(frames, how="diagonal_relaxed") if frames else None
