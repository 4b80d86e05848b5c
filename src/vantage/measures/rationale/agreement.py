"""How alike rationales are, beside what chance gives: people with each other, and models with people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.intervals import ItemIntervalOptions
from vantage.measures.parts import Part, names, parts
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import By, Floats, Judgments, has_column
from vantage.measures.rationale.overlap import Smoothing, Tokens
from vantage.measures.rationale.pairs import (
    ACTUAL,
    KINDS,
    Compared,
    Direction,
    Writer,
    chance_pairs,
    model_pairs,
    peer_pairs,
    texts_of,
)
from vantage.measures.rationale.scoring import OVERLAP, Likeness
from vantage.measures.rationale.semantic import Score
from vantage.measures.resampling import Resampling, difference_with_interval, mean_with_interval
from vantage.measures.texts.phrases import Encode

NO_PAIRS = "no two rationales can be compared"


_COLUMNS: Final = {
    "estimate": Column("likeness", digits=3),
    "beyond": Column("actual less this", digits=3, signed=True, interval=("beyond_low", "beyond_high")),
}
RATIONALE_AGREEMENT_VIEW: Final = View(
    "How alike the reasons of two raters are, beside chance",
    columns=_COLUMNS,
    show=("metric", "pairs", "estimate", "beyond", "compared", "reason"),
)


@measure("rationale-agreement", family="rationales", view=RATIONALE_AGREEMENT_VIEW)
def rationale_agreement(
    data: Judgments,
    *,
    by: By = (),
    metric: str | Sequence[str] = OVERLAP,
    smoothing: Smoothing = "floor",
    tokens: Tokens = "treebank",
    weights: Mapping[int, Sequence[float]] | None = None,
    encode: Encode | None = None,
    bertscore: Score | None = None,
    direction: Direction = "both",
    draws: int = 3,
    writer: Writer = "alike",
    with_itself: bool = False,
    **resampling: Unpack[ItemIntervalOptions],
) -> pl.DataFrame:
    """How alike the reasons are that two raters give for the same thing, beside two chance baselines.

    One row per group, `metric` and `pairs`: the `actual` pairs (two raters, same item and question); the same
    references with rationales for the `same question, other item`; and with those for the `same item, other question`.
    `draws` candidates are drawn for each actual pair, by default from the candidate's own writer, since two texts by
    one person are more alike than two by different people. Only items with two rationales count as references;
    baselines draw from all of the group. In the rows of a baseline, `beyond` is the likeness of the actual pairs less
    that of the baseline, with an interval of its own. Intervals resample items. A metric that cannot be computed has a
    reason.

    Args:
        data: A corpus or frame with a column `rationale`.
        by: Columns to group by.
        metric: `bleu-1` … `bleu-4`, `rouge-1`, `rouge-2`, `rouge-l`, `embedding`, `bertscore`.
        smoothing: Of BLEU (see `overlap.Smoothing`).
        tokens: Of BLEU.
        weights: Of BLEU's n-gram lengths, by n, where they are not alike.
        encode: Texts to vectors, for `embedding`.
        bertscore: Pairs to scores, for `bertscore` (see `semantic.BertScore`).
        direction: Whether both texts of a pair are compared with the other, or the later with the earlier.
        draws: Candidates per pair in the baselines.
        writer: Whose texts the baselines draw (see `pairs.Writer`).
        with_itself: Whether the baseline within items may draw texts on the asked question.
        resampling: `ci`, `interval`, `resamples`, `confidence` and `seed` (also of the draws), as for `alpha`.

    >>> table = pl.DataFrame({"item": ["a", "a", "b", "b"], "rater": [*"xyxy"], "value": [1, 2, 1, 2], "rationale": [
    ...     "he blames the office", "the office is blamed", "she hopes for rain", "rain is hoped for"]})
    >>> result = rationale_agreement(table, metric="rouge-1", ci="none")
    >>> result.select("pairs", "compared", pl.col("estimate").round(2)).rows()
    [('actual', 4, 0.5), ('same question, other item', 4, 0.0), ('same item, other question', 0, None)]
    """
    likeness = Likeness(names(metric), smoothing, tokens, weights or {}, encode, bertscore)
    how = Resampling(**resampling)
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=_needed(data)):
        reasons = _rationales(part)
        actual = peer_pairs(reasons, direction)
        kinds = _kinds(actual, reasons, draws, writer, with_itself, how.seed)
        rows += _scored(part.key, kinds, likeness, how, len(part.frame) - len(reasons))
    return table(rows, names(by))


RATIONALE_SIMILARITY_VIEW: Final = View(
    "How alike a model's reasons are to people's, beside chance",
    columns=_COLUMNS,
    show=("model", "metric", "pairs", "estimate", "beyond", "compared", "reason"),
)


@measure("rationale-similarity", family="rationales", view=RATIONALE_SIMILARITY_VIEW, pools=False)
def rationale_similarity(
    data: Judgments,
    *,
    by: By = (),
    metric: str | Sequence[str] = OVERLAP,
    models: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    smoothing: Smoothing = "floor",
    tokens: Tokens = "treebank",
    weights: Mapping[int, Sequence[float]] | None = None,
    encode: Encode | None = None,
    bertscore: Score | None = None,
    draws: int = 1,
    **resampling: Unpack[ItemIntervalOptions],
) -> pl.DataFrame:
    """How alike a model's reasons are to those of people, with all people's reasons as references.

    One row per group, `model`, `metric` and `pairs` (see `rationale_agreement`); the baselines draw from the model's
    own rationales. BLEU counts matches with any reference; the other metrics take the most similar one. Models are
    the raters of the kind `model` or `persona` unless named, people those of the kind `person`.

    >>> table = pl.DataFrame({"item": ["a", "a", "b", "b"], "rater": ["p", "m"] * 2, "value": [1, 2, 1, 2],
    ...                       "rationale": ["he blames the office", "the office", "she hopes for rain", "rain"]})
    >>> result = rationale_similarity(table, models=["m"], people=["p"], metric="rouge-1", ci="none")
    >>> result.select("model", "pairs", pl.col("estimate").round(2)).rows()[:2]
    [('m', 'actual', 0.53), ('m', 'same question, other item', 0.0)]
    """
    likeness = Likeness(names(metric), smoothing, tokens, weights or {}, encode, bertscore)
    how = Resampling(**resampling)
    with_kind = has_column(data, "kind")
    if not with_kind and (models is None or people is None):
        raise InputError("nothing says which raters are models", remedy="name them with the options models and people")
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=[*_needed(data), *(["kind"] if with_kind else [])]):
        reasons = _rationales(part)
        kind = pl.col("kind").cast(pl.String) if with_kind else pl.lit("")
        chosen = reasons.filter(
            pl.col("rater").is_in(models) if models is not None else kind.is_in(["model", "persona"])
        )
        known = reasons.filter(pl.col("rater").is_in(people) if people is not None else kind == "person")
        for model in chosen["rater"].unique().sort():
            mine = chosen.filter(pl.col("rater") == model)
            left = part.frame.filter(pl.col("rater") == model)
            kinds = _kinds(model_pairs(mine, known), mine, draws, "alike", False, how.seed)
            rows += _scored({**part.key, "model": str(model)}, kinds, likeness, how, len(left) - len(mine))
    return table(rows, names(by))


def _needed(data: Judgments) -> list[str]:
    if not has_column(data, "rationale"):
        raise InputError("the judgments have no column 'rationale'", remedy="these measures compare written reasons")
    return ["rationale"]


def _rationales(part: Part) -> pl.DataFrame:
    """The judgments of a group that have a rationale, whatever their status."""
    return part.frame.filter(pl.col("rationale").cast(pl.String).str.strip_chars().str.len_chars() > 0)


def _kinds(
    actual: Sequence[Compared], pool: pl.DataFrame, draws: int, writer: Writer, with_itself: bool, seed: int
) -> Iterator[tuple[str, Sequence[Compared]]]:
    yield ACTUAL, actual
    for kind in KINDS[1:]:
        yield kind, chance_pairs(actual, pool, kind, draws=draws, writer=writer, with_itself=with_itself, seed=seed)


def _scored(
    key: Mapping[str, Any],
    kinds: Iterator[tuple[str, Sequence[Compared]]],
    likeness: Likeness,
    how: Resampling,
    without: int,
) -> Iterator[dict[str, Any]]:
    """One row per metric and kind of pairs."""
    by_metric: dict[str, list[dict[str, Any]]] = {name: [] for name in likeness.metric}
    actual: dict[str, tuple[pl.Series, Floats]] = {}
    # All kinds at once, since they compare the same texts.
    several = list(kinds)
    every = [pair for _, compared in several for pair in compared]
    all_scores, reasons = likeness.scores(texts_of(every)) if every else ({}, {})
    end = 0
    for kind, compared in several:
        first, end = end, end + len(compared)
        scores = {name: values[first:end] for name, values in all_scores.items() if compared}
        about = pl.Series([pair.item for pair in compared], dtype=pl.String)
        counted = {
            "items": about.n_unique(),
            "raters": len({who for pair in compared for who in (pair.writer, *pair.authors)}),
            "judgments": len(compared),
            "left_out": {"no rationale": without} if without else {},
        }
        for metric in likeness.metric:
            row: dict[str, Any] = {**key, "metric": metric, "pairs": kind, "compared": len(compared)}
            if metric in scores:
                row |= mean_with_interval(about, scores[metric], how)
                if kind == ACTUAL:
                    actual[metric] = about, scores[metric]
                elif metric in actual:
                    row |= _beyond(*actual[metric], about, scores[metric], how)
            else:
                row["reason"] = reasons.get(metric, NO_PAIRS)
            by_metric[metric].append({**row, **counted})
    for rows in by_metric.values():
        yield from rows


def _beyond(items: pl.Series, actual: Floats, others: pl.Series, chance: Floats, how: Resampling) -> dict[str, Any]:
    """How much more alike actual pairs are than those of a baseline, with its interval over items."""
    first = np.concatenate([np.ones(len(actual)), np.zeros(len(chance))])
    difference = difference_with_interval(pl.concat([items, others]), np.concatenate([actual, chance]), first, how)
    return {"beyond": difference["estimate"], "beyond_low": difference["low"], "beyond_high": difference["high"]}
