"""Stance and sentiment of the sentences, from SemEval-2016 Task 6, which most of them come from.

The release spells sentences otherwise than SemEval does (entities, names, the closing #SemST, white space), so that
they are joined by their letters and digits without names.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.readers.files import read_table, text_of
from vantage.errors import InputError
from vantage.measures.aggregation.labels import aggregate
from vantage.measures.relations.correlate import correlate
from vantage.report.engine import Absent, Data
from vantage.studies.wcsent.predictions import WarmthAnalysis

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
