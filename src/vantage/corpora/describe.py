"""What a researcher checks first: how much there is, who judged what how often, what looks odd, and what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import schema
from vantage.corpora.corpus import Corpus
from vantage.corpora.design import undeclared
from vantage.errors import InputError
from vantage.scales import show_code

SHOWN: Final = 12
"""How many values of a trait or a column are listed; the rest is counted."""


def describe(corpus: Corpus) -> dict[str, Any]:
    """Counts of a corpus as plain data.

    >>> from vantage import demo_corpus
    >>> result = describe(demo_corpus())
    >>> result["items"], result["raters"], result["questions"][0]["question"]
    (30, 9, 'trust')
    """
    items, raters, judgments = corpus.items, corpus.raters, corpus.judgments
    description: dict[str, Any] = {
        "name": corpus.about.name,
        "title": corpus.about.title,
        "source": corpus.about.source,
        "licence": corpus.about.licence,
        "instruments": [{"instrument": i.id, "version": i.version} for i in corpus.instruments],
        "items": len(items),
        "raters": len(raters),
        "judgments": len(judgments),
    }
    if "target" in items.columns:
        description["targets"] = items["target"].drop_nulls().n_unique()
    return description | {
        "judgments_per_item": _spread(judgments, "item", len(items)),
        "judgments_per_rater": _spread(judgments, "rater", len(raters)),
        "items_without_judgments": len(items) - judgments["item"].n_unique(),
        "raters_without_judgments": len(raters) - judgments["rater"].n_unique(),
        "statuses": _counts(judgments["status"]),
        "conditions": _counts(judgments["condition"]),
        "samples": judgments["sample"].n_unique() if len(judgments) else 0,
        "rationales": len(judgments) - judgments["rationale"].null_count(),
        "kinds": _counts(raters["kind"]),
        "questions": [
            _question(corpus, part, question.id, kind)
            for question in corpus.questions
            for kind, part in _by_kind(raters, judgments.filter(pl.col("question") == question.id))
        ],
        "traits": {
            trait: {"scale": scale.level, "order": list(scale.order), **_column(raters[trait])}
            for trait, scale in corpus.trait_scales.items()
        },
        "item_columns": {name: _column(items[name]) for name in items.columns if name not in ("item", "text")},
        "design": {"sources": corpus.design.sources, "groups": corpus.design.groups},
        "undeclared": undeclared(corpus),
        "duplicates": len(judgments) - judgments.select(schema.KEY).n_unique(),
        "repeated_texts": _repeated_texts(items),
        "notes": list(corpus.about.notes),
    }


def _by_kind(raters: pl.DataFrame, judgments: pl.DataFrame) -> list[tuple[str | None, pl.DataFrame]]:
    """What each kind of rater answered: people, models and aggregates are never counted together."""
    kinds = raters["kind"].cast(pl.String)
    of_kind = {kind: raters.filter(kinds == kind)["rater"] for kind in kinds.unique().sort()}
    parts = [(kind, judgments.filter(pl.col("rater").is_in(names.implode()))) for kind, names in of_kind.items()]
    return [(kind, part) for kind, part in parts if len(part)] or [(None, judgments)]


def _question(corpus: Corpus, part: pl.DataFrame, question: str, kind: str | None) -> dict[str, Any]:
    scale = corpus.question(question).scale
    values = part["value"].drop_nulls()
    counts: dict[str, int] | None = None
    if scale.options:
        counted = dict(values.value_counts().iter_rows())
        counts = {show_code(code): counted.get(code, 0) for code in scale.codes}
    return {
        "question": question,
        "kind": kind,
        "scale": scale.describe(),
        "items": part["item"].n_unique(),
        "raters": part["rater"].n_unique(),
        "judgments": len(part),
        "judgments_per_item": _spread(part, "item", part["item"].n_unique()),
        "mean": values.mean() if scale.ordered else None,
        "values": counts,
        "labels": {show_code(option.code): option.label for option in scale.options if option.label},
        "statuses": _counts(part["status"]),
    }


def _spread(judgments: pl.DataFrame, key: str, total: int) -> dict[str, float | None]:
    """Fewest, median, mean and most judgments; those who have none count as zero."""
    counts = judgments.group_by(key).len()["len"].cast(pl.Int64)
    counts = counts.extend_constant(0, max(total - len(counts), 0))
    if not len(counts):
        return {"min": None, "median": None, "mean": None, "max": None}
    spread = pl.select(min=counts.min(), median=counts.median(), mean=counts.cast(pl.Float64).mean(), max=counts.max())
    return spread.row(0, named=True)


def _counts(column: pl.Series) -> dict[str, int]:
    counts = column.cast(pl.String).value_counts().sort("count", column.name, descending=[True, False])
    return {str(value): count for value, count in counts.iter_rows()}


def _column(column: pl.Series) -> dict[str, Any]:
    summary: dict[str, Any] = {"missing": column.null_count()}
    if column.dtype.is_nested():
        return summary
    known = column.drop_nulls()
    summary["distinct"] = known.n_unique()
    if column.dtype.is_numeric() and summary["distinct"] > SHOWN:
        return summary | {"min": known.min(), "median": known.median(), "max": known.max()}
    if column.dtype.is_numeric():
        counted = known.cast(pl.Float64).value_counts().sort(column.name)
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
