"""What a researcher checks first: how much there is, who judged what how often, what looks odd, and what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import schema
from vantage.corpora.corpus import Corpus
from vantage.corpora.design import undeclared
from vantage.errors import InputError
from vantage.instruments import Question
from vantage.scales import show_code

SHOWN: Final = 12
"""How many values of a trait or a column are listed; the rest is counted."""
PART: Final = ["question", "kind"]
NO_ANSWERS: Final = {"value": pl.Float64, "status": pl.String, "len": pl.Int64}


def describe(corpus: Corpus) -> dict[str, Any]:
    """Counts of a corpus as plain data.

    >>> from vantage import demo_corpus
    >>> result = describe(demo_corpus())
    >>> result["items"], result["raters"], result["questions"][0]["question"]
    (30, 9, 'trust')
    """
    corpus.check()
    items, raters, judgments = corpus.items, corpus.raters, corpus.scan()
    judged = _with_kinds(judgments, raters)
    answers, of_items = (_numbers(judged, *PART, *columns) for columns in (("value", "status"), ("item",)))
    of_item, of_status = (_together(counted, by) for counted, by in ((of_items, "item"), (answers, "status")))
    of_rater, of_condition = _numbers(judgments, "rater"), _numbers(judgments, "condition")
    rows, samples, rationales = (
        judgments.select(pl.len(), pl.col("sample").n_unique(), pl.col("rationale").count().alias("given"))
        .collect(engine="streaming")
        .row(0)
    )
    description: dict[str, Any] = {
        "name": corpus.about.name,
        "title": corpus.about.title,
        "source": corpus.about.source,
        "licence": corpus.about.licence,
        "instruments": [{"instrument": i.id, "version": i.version} for i in corpus.instruments],
        "items": len(items),
        "raters": len(raters),
        "judgments": rows,
    }
    if "target" in items.columns:
        description["targets"] = items["target"].drop_nulls().n_unique()
    return description | {
        "judgments_per_item": _spread(of_item["len"], len(items)),
        "judgments_per_rater": _spread(of_rater["len"], len(raters)),
        "items_without_judgments": len(items) - len(of_item),
        "raters_without_judgments": len(raters) - len(of_rater),
        "statuses": _listed(of_status, "status"),
        "conditions": _listed(of_condition, "condition"),
        "samples": samples,
        "rationales": rationales,
        "kinds": _counts(raters["kind"]),
        "questions": _questions(corpus, judged, answers, of_items),
        "traits": {
            trait: {"scale": scale.level, "order": list(scale.order), **_column(raters[trait])}
            for trait, scale in corpus.trait_scales.items()
        },
        "item_columns": {name: _column(items[name]) for name in items.columns if name not in ("item", "text")},
        "design": {"sources": corpus.design.sources, "groups": corpus.design.groups},
        "undeclared": undeclared(corpus),
        "repeated_texts": _repeated_texts(items),
        "notes": list(corpus.about.notes),
    }


def _with_kinds(judgments: pl.LazyFrame, raters: pl.DataFrame) -> pl.LazyFrame:
    kinds = raters.select("rater", pl.col("kind").cast(pl.String))
    if kinds["kind"].n_unique() > 1:
        return judgments.join(kinds.lazy(), on="rater")
    return judgments.with_columns(kind=pl.lit(kinds["kind"][0] if len(kinds) else None, pl.String))


def _questions(
    corpus: Corpus, judged: pl.LazyFrame, answers: pl.DataFrame, of_items: pl.DataFrame
) -> list[dict[str, Any]]:
    """What each kind of rater answered: people, models and aggregates are never counted together."""
    given, items = answers.partition_by(PART, as_dict=True), of_items.partition_by(PART, as_dict=True)
    of_raters = judged.group_by(PART).agg(pl.col("rater").n_unique()).collect(engine="streaming")
    raters = {(question, kind): number for question, kind, number in of_raters.iter_rows()}
    return [
        _question(question, kind, given.get(part), items.get(part), raters.get(part, 0))
        for question in corpus.questions
        for kind in sorted(kind for name, kind in given if name == question.id) or [None]
        for part in [(question.id, kind)]
    ]


def _question(
    question: Question, kind: str | None, answers: pl.DataFrame | None, of_items: pl.DataFrame | None, raters: int
) -> dict[str, Any]:
    scale = question.scale
    answers = pl.DataFrame(schema=NO_ANSWERS) if answers is None else answers
    per_item = pl.Series("len", [], pl.Int64) if of_items is None else of_items["len"]
    values = _together(answers.filter(pl.col("value").is_not_null()), "value").sort("value")
    number = int(values["len"].sum())
    counted = dict(values.iter_rows())
    return {
        "question": question.id,
        "kind": kind,
        "scale": scale.describe(),
        "items": len(per_item),
        "raters": raters,
        "judgments": answers["len"].sum(),
        "judgments_per_item": _spread(per_item, len(per_item)),
        "mean": values.select(pl.col("value").dot("len")).item() / number if scale.ordered and number else None,
        "values": {show_code(code): counted.get(code, 0) for code in scale.codes} if scale.options else None,
        "labels": {show_code(option.code): option.label for option in scale.options if option.label},
        "statuses": _listed(_together(answers, "status"), "status"),
    }


def _numbers(judgments: pl.LazyFrame, *columns: str) -> pl.DataFrame:
    """How many judgments have each combination of values."""
    return judgments.group_by(columns).agg(pl.len().cast(pl.Int64).alias("len")).collect(engine="streaming")


def _together(numbers: pl.DataFrame, column: str) -> pl.DataFrame:
    return numbers.group_by(column).agg(pl.col("len").sum())


def _spread(counts: pl.Series, total: int) -> dict[str, float | None]:
    """Fewest, median, mean and most judgments; those who have none count as zero."""
    counts = counts.extend_constant(0, max(total - len(counts), 0))
    if not len(counts):
        return {"min": None, "median": None, "mean": None, "max": None}
    spread = pl.select(min=counts.min(), median=counts.median(), mean=counts.cast(pl.Float64).mean(), max=counts.max())
    return spread.row(0, named=True)


def _listed(numbers: pl.DataFrame, column: str) -> dict[str, int]:
    """Values with how often they occur, the most frequent first."""
    rows = numbers.select(pl.col(column).cast(pl.String), "len").sort("len", column, descending=[True, False])
    return {str(value): count for value, count in rows.iter_rows()}


def _counts(column: pl.Series) -> dict[str, int]:
    return _listed(column.alias("value").value_counts(name="len"), "value")


def _column(column: pl.Series) -> dict[str, Any]:
    summary: dict[str, Any] = {"missing": column.null_count()}
    if column.dtype.is_nested():
        return summary
    known = column.drop_nulls()
    summary["distinct"] = known.n_unique()
    if column.dtype.is_numeric() and summary["distinct"] > SHOWN:
        return summary | {"min": known.min(), "median": known.median(), "max": known.max()}
    if column.dtype.is_numeric():
        counted = known.cast(pl.Float64).alias("value").value_counts().sort("value")
        return summary | {"counts": {show_code(value): count for value, count in counted.iter_rows()}}
    counts = _counts(known)
    summary["counts"] = dict(list(counts.items())[:SHOWN])
    if len(counts) > SHOWN:
        summary["others"] = sum(list(counts.values())[SHOWN:])
    return summary


def _repeated_texts(items: pl.DataFrame) -> dict[str, Any]:
    """Texts that occur in several items: the same text with another target, or a true repetition."""
    if "text" not in items.columns:
        return {"texts": 0, "items": 0, "examples": []}
    repeated = (
        items.filter(pl.col("text").is_not_null())
        .group_by("text", maintain_order=True)
        .agg(pl.col("item"))
        .filter(pl.col("item").list.len() > 1)
    )
    return {
        "texts": len(repeated),
        "items": repeated["item"].list.len().sum(),
        "examples": [ids[:5] for ids in repeated["item"].head(3).to_list()],
    }


def problems(folder: str | Path) -> list[str]:
    """One sentence for each kind of problem; an empty list means that the corpus is sound."""
    folder = Path(folder)
    try:
        corpus = Corpus.read(folder)
        items, raters, judgments = (schema.conform(name, corpus.scan(name).collect()) for name in schema.TABLES)
    except InputError as error:
        return [str(error)]

    faults = schema.faults(items, raters, judgments, corpus.questions, place=corpus._place)
    return [str(fault) for fault in faults]
