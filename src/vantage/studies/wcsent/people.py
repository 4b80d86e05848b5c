"""What people's ratings give: the data, agreement by target, labels under several rules, annotators, and stance.

Stance and sentiment come from SemEval-2016 Task 6, as most of the sentences do. The two releases spell sentences
differently (entities, names, the closing #SemST, white space), so they are joined by letters and digits without names.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.readers.files import read_table, text_of
from vantage.errors import InputError
from vantage.measures import aggregate, correlate, explain, split_items, unanimity
from vantage.report.engine import Absent, Analysis, Data, there
from vantage.report.parts import Part
from vantage.report.ruler import wright_maps
from vantage.studies.wcsent.predictions import QUESTIONS, SHOWN, WarmthAnalysis

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
    wide = spread.with_columns(n=pl.format("with {}", "annotations")).pivot("n", index="question", values="items")
    annotators, items = pl.col("rater").n_unique(), pl.col("item").n_unique()
    raters = judgments.group_by("question").agg(annotators=annotators, annotations=pl.len(), item=items)
    return raters.join(wide.fill_null(0), on="question")


def split(analysis: Analysis) -> Data | None:
    """The official split."""
    items = analysis.people.items
    if "split" not in items.columns:
        return None
    finals = {f"mean {q}": pl.col(name).mean() for q in QUESTIONS if (name := f"final_{q}") in items.columns}
    frame = items.group_by("split").agg(pairs=pl.len(), texts=pl.col("text").n_unique(), **finals)
    order = {"train": 0, "validation": 1, "test": 2}
    frame = frame.sort(pl.col("split").replace_strict(order, default=3))
    shared = items.group_by("text").agg(pl.col("split").n_unique()).filter(pl.col("split") > 1).height
    return Data(frame, {"shared": shared})


def unanimous(analysis: Analysis) -> pl.DataFrame:
    """Items on which all annotators agree, on the point and on the side, by question and target."""
    strict, soft = (
        unanimity(analysis.people, by=["question", "target"], coarse=coarse, ci="none")
        .filter(on="any")
        .select("question", "target", pl.col("unanimous").alias(name), pl.col("estimate").alias(f"{name}_share"))
        for name, coarse in (("strict", False), ("soft", True))
    )
    return strict.join(soft, on=["question", "target"], maintain_order="left")


def unanimous_items(analysis: Analysis) -> pl.DataFrame:
    """The same by question and in all, with each question's share of all items on one point."""
    by_question = unanimous(analysis).group_by("question", maintain_order=True).agg(pl.col("strict", "soft").sum())
    total = by_question.select(pl.lit("all").alias("question"), pl.col("strict", "soft").sum())
    share = (pl.col("strict") / max(int(total["strict"][0]), 1)).alias("of_strict")
    return pl.concat([by_question, total], how="vertical_relaxed").with_columns(share)


@lru_cache(maxsize=1)
def rulers(analysis: Analysis) -> list[Part | str] | None:
    """The Wright map of each question: annotators, whoever else judged, and pairs on one scale."""
    return wright_maps(analysis.corpus, judged_questions(analysis))


def judged_questions(analysis: Analysis) -> list[str]:
    """The questions that somebody answered."""
    answered = set(analysis.corpus.judgments.drop_nulls("value")["question"])
    return [question for question in QUESTIONS if question in answered]


def score_counts(analysis: Analysis) -> pl.DataFrame:
    """How many pairs have which score: means rounded half up, as released, and medians rounded half to even."""
    rules = {"mean rounded half up (the released scores)": "means (released)", "rounded median": "medians"}
    score = pl.col("value").cast(pl.Int64)
    counts = [
        aggregate(analysis.people, **RULES[how]).group_by(pl.lit(rule).alias("rule"), score, "question").len("pairs")
        for rule, how in rules.items()
    ]
    label = pl.col("value").cast(pl.String).str.replace("-", "−").alias("score")
    return pl.concat(counts).sort("rule", "value", "question").with_columns(label)


def labels(analysis: Analysis) -> pl.DataFrame:
    """Shares of the coarse labels under each rule."""
    band, share = pl.col("band").cast(pl.String), pl.col("estimate").alias("share")
    frames = [
        aggregate(analysis.people, per="band", **how).select("question", band, "count", share, rule=pl.lit(rule))
        for rule, how in RULES.items()
    ]
    return pl.concat(frames).with_columns(label=pl.format("{}: {}", "question", "rule"))


def label_counts(analysis: Analysis) -> pl.DataFrame:
    """Items by coarse label under each rule, side by side, and items with as many high as low votes."""
    wide = labels(analysis).pivot(on="band", index=["rule", "question"], values="count")
    ties = aggregate(analysis.people, method="signs", ties="none", per="band").unique("question")
    tied = ties.select("question", pl.lit("votes (Table 2)").alias("rule"), pl.col("undecided").alias("tied"))
    return wide.join(tied, on=["question", "rule"], how="left", maintain_order="left")


def opposed(analysis: Analysis) -> pl.DataFrame:
    """Pairs whose questions point in opposite directions, by rule."""
    rules = OPPOSED.values()
    pairs = [split_items(analysis.people, between="questions", ci="none", **how)["opposed"][0] for how in rules]
    return pl.DataFrame({"rule": list(OPPOSED), "pairs": pairs})


def together(analysis: Analysis) -> pl.DataFrame | None:
    """How often every two questions have which pair of rounded median scores (Figure 7)."""
    final = aggregate(analysis.people, method="median", rounding="half_even").select("item", "question", "value")
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


def divergent(analysis: Analysis) -> pl.DataFrame:
    """Pairs whose questions point in opposite directions, the furthest apart first (Table 8), with their medians."""
    medians = aggregate(analysis.people, method="median").pivot("question", index="item", values="value")
    asked = [question for question in QUESTIONS if question in medians.columns]
    low, high = pl.min_horizontal(asked), pl.max_horizontal(asked)
    apart = there(medians.drop_nulls(asked).filter(low < 0, high > 0)).with_columns(apart=high - low)
    texts = apart.join(analysis.people.items.select("item", "text", "target"), on="item", maintain_order="left")
    return texts.sort("apart", "item", descending=[True, False]).head(SHOWN)


PERSONS: Final = ("Barack Obama", "Donald Trump", "Hillary Clinton")


def properties(analysis: WarmthAnalysis) -> pl.DataFrame:
    """Ratings by kind of target and stance: mixed models with random pairs and annotators.

    Stance is known of pairs whose target is that of SemEval; there the target is held constant.
    """
    people, kind = analysis.people, pl.when(pl.col("target").is_in(PERSONS)).then(pl.lit("persons"))
    items = people.items.with_columns(kind.otherwise(pl.lit("groups")).alias("target_type"))
    models = {"target_type": ["target_type"]}
    if analysis.options.stance:
        items = items.drop("stance", strict=False).join(joined(analysis).select("item", "stance"), on="item")
        models["stance"] = ["stance", "target"]
    described = Corpus(items, people.raters, people.judgments, people.instruments)
    there(described.judgments.group_by("item", "question").len().filter(pl.col("len") > 1))
    frames = [
        explain(described, by="question", traits=traits).filter(term=term)
        for term, traits in models.items()
        if items.drop_nulls(term)[term].n_unique() > 1
    ]
    both = there(pl.concat(frames, how="diagonal_relaxed") if frames else None)
    return both.with_columns(pl.col("term").replace({"target_type": "kind of target"}))


COLUMNS: Final = ("id", "target", "text", "stance", "opinion", "sentiment")
"""The columns of SemEval's files, of which one has no head."""
ORDERS: Final = {"stance": ["AGAINST", "NONE", "FAVOR"], "sentiment": ["NEGATIVE", "POSITIVE"]}
"""Labels in their order; sentences whose sentiment is NEITHER are left out, as in the paper."""


def letters(text: str) -> str:
    """A sentence without what the two releases spell differently.

    >>> letters("Thanks,  @you &amp; all! #SemST") == letters("thanks, @user & all!")
    True
    """
    plain = re.sub(r"#SemST\b", "", html.unescape(html.unescape(text)), flags=re.IGNORECASE)
    return re.sub(r"[\W_]+", "", re.sub(r"@\w+", "", plain)).lower()


def read_stances(path: Path) -> pl.DataFrame:
    """Text, target, stance and, where there is one, sentiment: of SemEval's folder or one of its files, or of a CSV."""
    if not path.exists():
        raise InputError("there is no such file or folder", file=path, remedy="name SemEval's folder, or a CSV file")
    files = sorted(path.glob("*annotations*.txt")) if path.is_dir() else [path]
    if not files:
        raise InputError("the folder has no *annotations*.txt", file=path, remedy="name SemEval's folder")
    return pl.concat([_read(file) for file in files], how="diagonal")


def _read(file: Path) -> pl.DataFrame:
    if file.suffix == ".csv":
        table = read_table(file).frame
    else:
        rows = [line.split("\t") for line in text_of(file).splitlines()]
        rows = [row[: len(COLUMNS)] for row in rows if len(row) >= len(COLUMNS) and row[0] != "ID"]
        table = pl.DataFrame(rows, schema=list(COLUMNS), orient="row")
    for column in ("text", "target", "stance"):
        if column not in table.columns:
            raise InputError(f"the stance file has no column '{column}'", file=file, remedy="add it")
    if table.is_empty():
        raise InputError("the stance file has no rows", file=file, remedy="tab-separated: ID, Target, Tweet, Stance …")
    return table.select("text", "target", *(name for name in ORDERS if name in table.columns))


@lru_cache(maxsize=1)
def joined(analysis: WarmthAnalysis) -> pl.DataFrame:
    """Every pair with the target that its sentence had in SemEval, and its stance where the target is the same."""
    if not analysis.options.stance:
        raise Absent
    known = read_stances(Path(analysis.options.stance))
    key = pl.col("text").map_elements(letters, return_dtype=pl.String).alias("letters")
    known = known.with_columns(key).filter(pl.col("letters") != "")
    known = known.unique(["letters", "target"], keep="first", maintain_order=True)
    items = analysis.people.items.select("item", "target", key)
    same = items.join(known.drop("text"), on=["letters", "target"], how="left", maintain_order="left")
    first = known.unique("letters", keep="first", maintain_order=True).select("letters", original="target")
    pairs = same.join(first, on="letters", how="left", maintain_order="left")
    return pairs.with_columns(original=pl.when(pl.col("stance").is_not_null()).then("target").otherwise("original"))


def sources(analysis: WarmthAnalysis) -> Data:
    """Pairs by target and source (Table 1)."""
    pairs = joined(analysis)
    known = pl.col("original").is_not_null()
    counts = pairs.group_by("target").agg(semeval=known.sum(), other=(~known).sum(), pairs=pl.len())
    frame = counts.sort("semeval", descending=True)
    facts = {"found": int(pairs["original"].count()), "shared": int(pairs["stance"].count()), "pairs": len(pairs)}
    return Data(frame, facts)


def original_targets(analysis: WarmthAnalysis) -> pl.DataFrame:
    """Pairs by their target and by the target that the sentence had in SemEval (Table 11)."""
    pairs = joined(analysis)
    counts = pairs.drop_nulls("original").group_by("target", "original").len("count")
    grid = pairs.select("target").unique().join(counts.select("original").unique(), how="cross")
    whole = grid.join(counts, on=["target", "original"], how="left").with_columns(pl.col("count").fill_null(0))
    return whole.sort("target", "original")


def stance_scores(analysis: WarmthAnalysis) -> pl.DataFrame:
    """The scores of each stance (Table 5): medians of the items' medians, means and deviations of their means."""
    pairs = joined(analysis)
    known = pairs.drop_nulls("stance").select("item", "stance")
    means, medians = (
        aggregate(analysis.people, method=method).join(known, on="item").group_by("stance", "question")
        for method in ("mean", "median")
    )
    value = pl.col("value")
    spread = means.agg(pairs=value.len(), mean=value.mean(), deviation=value.std())
    both = spread.join(medians.agg(median=value.median()), on=["stance", "question"])
    return both.sort(pl.col("stance").replace_strict({"AGAINST": 0, "FAVOR": 1}, default=2), "question")


def stance(analysis: WarmthAnalysis) -> pl.DataFrame:
    """Rank correlations of the median scores with stance and sentiment (Table 6)."""
    pairs = joined(analysis)
    people, kinds = analysis.people, [name for name in ORDERS if name in pairs.columns]
    labels = [
        pl.when(pl.col(kind).is_in(order)).then(kind).alias(kind) for kind, order in ORDERS.items() if kind in kinds
    ]
    items = people.items.drop(kinds, strict=False).join(pairs.select("item", *labels), on="item", maintain_order="left")
    labelled = Corpus(items, people.raters, people.judgments, people.instruments)
    orders = {kind: ORDERS[kind] for kind in kinds}
    correlated = correlate(
        labelled, outside=kinds, order=orders, correlation="spearman", aggregate="median", seed=analysis.seed
    )
    # The outside column first, whichever way a pair came out.
    turned = pl.col("second").is_in(kinds)
    kind = pl.when(turned).then("second").otherwise("first").alias("kind")
    question = pl.when(turned).then("first").otherwise("second").alias("question")
    return correlated.filter(turned | pl.col("first").is_in(kinds)).with_columns(kind, question)
