"""How alike rationales are, beside what chance gives: people with each other, and models with people.

Likeness alone says little, since all reasons for one question share its words and all reasons about one post share the
post's. Two baselines tell how much: reasons for the same question about other items, and reasons for other questions
about the same item. Their candidates are drawn with a seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.intervals import IntervalOptions
from vantage.measures.parts import names, parts
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import By, Floats, Judgments, has_column
from vantage.measures.rationale.overlap import Smoothing, Tokens
from vantage.measures.rationale.semantic import OVERLAP, Likeness, Score
from vantage.measures.resampling import Resampling, difference_with_interval, mean_with_interval, named
from vantage.measures.scoring.references import sides_of
from vantage.measures.texts.phrases import Encode

Direction: TypeAlias = Literal["both", "ordered"]
"""Whether each of two texts is compared with the other, or the later one in the table with the earlier."""
Writer: TypeAlias = Literal["alike", "any", "same", "other"]
"""Whose texts chance draws from: the candidate's own writer (`alike`, so that only what is compared changes), anybody,
the reference's writer, or anybody but them."""
ACTUAL: Final = "actual"
SAME_QUESTION: Final = "same question, other item"
SAME_ITEM: Final = "same item, other question"
KINDS: Final = (ACTUAL, SAME_QUESTION, SAME_ITEM)


class Compared(NamedTuple):
    """A text with its references: what it is about, and who wrote it and them."""

    item: str
    question: str
    candidate: str
    references: tuple[str, ...]
    writer: str = ""
    authors: tuple[str, ...] = ()


def peer_pairs(rationales: pl.DataFrame, direction: Direction = "both") -> list[Compared]:
    """Every two raters' rationales for the same item and question.

    `rationales` has the columns `item`, `question`, `rater` and `rationale`.

    >>> table = pl.DataFrame({"item": ["a", "a"], "question": "q", "rater": ["x", "y"], "rationale": ["one", "two"]})
    >>> [(pair.candidate, pair.references) for pair in peer_pairs(table, "ordered")]
    [('two', ('one',))]
    """
    pairs = []
    for (item, question), rows in _by_unit(rationales).items():
        for later, (writer, text) in enumerate(rows):
            for earlier, (author, reference) in enumerate(rows):
                if author != writer and (direction == "both" or earlier < later):
                    pairs.append(Compared(item, question, text, (reference,), writer, (author,)))
    return pairs


def model_pairs(candidates: pl.DataFrame, references: pl.DataFrame) -> list[Compared]:
    """Every candidate rationale with all reference rationales for the same item and question."""
    known = _by_unit(references)
    pairs = []
    for item, question, writer, text in _rows(candidates):
        if reasons := known.get((item, question)):
            texts, authors = tuple(text for _, text in reasons), tuple(author for author, _ in reasons)
            pairs.append(Compared(item, question, text, texts, writer, authors))
    return pairs


def chance_pairs(
    actual: Sequence[Compared],
    pool: pl.DataFrame,
    kind: str,
    *,
    draws: int = 3,
    writer: Writer = "alike",
    with_itself: bool = False,
    seed: int = 0,
) -> list[Compared]:
    """The references of actual pairs, each with `draws` candidates that were written about something else.

    `pool` has the rationales to draw from, by which `writer`; `kind` is `SAME_QUESTION` or `SAME_ITEM`. Draws do not
    depend on the order of the pool. With `with_itself` the asked question's own texts may be drawn too: a mistake that
    at least one paper seems to have made.
    """
    if kind not in (SAME_QUESTION, SAME_ITEM):
        raise InputError(f"there is no baseline '{kind}'", remedy=nearest(kind, (SAME_QUESTION, SAME_ITEM)))
    if draws < 1:
        raise InputError(f"{draws} candidates cannot be drawn", remedy="draw at least one")
    shelves: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for row in sorted(_rows(pool)):
        shelves[row[1] if kind == SAME_QUESTION else row[0]].append(row)
    # What a pair excludes stands together on its shelf, so that drawing around it takes no search.
    fitting: dict[Hashable, tuple[list[tuple[str, str, str, str]], dict[tuple[str, str], tuple[int, int]]]] = {}
    rng = np.random.default_rng(seed)
    itself = with_itself and kind == SAME_ITEM
    pairs = []
    for pair in actual:
        shelf = pair.question if kind == SAME_QUESTION else pair.item
        whose = {"alike": pair.writer, "any": None}.get(writer, pair.authors)
        if (shelf, whose) not in fitting:
            rows = [row for row in shelves[shelf] if _fits(row[2], pair, writer)]
            units = groupby(enumerate(rows), key=lambda numbered: numbered[1][:2])
            places = {unit: [place for place, _ in numbered] for unit, numbered in units}
            fitting[shelf, whose] = rows, {unit: (at[0], len(at)) for unit, at in places.items()}
        rows, own = fitting[shelf, whose]
        first, count = (0, 0) if itself else own.get((pair.item, pair.question), (0, 0))
        for place in rng.permutation(len(rows) - count)[:draws].tolist():
            _, _, who, text = rows[place if place < first else place + count]
            pairs.append(Compared(pair.item, pair.question, text, pair.references, who, pair.authors))
    return pairs


def texts_of(pairs: Sequence[Compared]) -> list[tuple[str, tuple[str, ...]]]:
    """The texts alone, as likenesses take them."""
    return [(pair.candidate, pair.references) for pair in pairs]


def _fits(who: str, pair: Compared, writer: Writer) -> bool:
    if writer == "alike":
        return who == pair.writer
    return writer == "any" or (who in pair.authors) == (writer == "same")


def _rows(frame: pl.DataFrame) -> list[tuple[str, str, str, str]]:
    rows = frame.select("item", "question", "rater", pl.col("rationale").str.strip_chars())
    return rows.filter(pl.col("rationale").str.len_chars() > 0).rows()


def _by_unit(frame: pl.DataFrame) -> Mapping[tuple[str, str], list[tuple[str, str]]]:
    units: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for item, question, rater, text in _rows(frame):
        units[item, question].append((rater, text))
    return units


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


@measure(
    "rationale-agreement",
    family="rationales",
    view=RATIONALE_AGREEMENT_VIEW,
    pools_questions=True,
    interval=("sources",),
)
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
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """How alike the reasons are that two raters give for the same thing, beside two chance baselines.

    One row per group, `metric` (docs/rationales.md) and `pairs`: the `actual` pairs (two raters, same item and
    question), and the same references with rationales for the `same question, other item` and for the `same item, other
    question`, of which `draws` are drawn for each pair (by which `writer`: see `Writer`). `beyond` is the likeness of
    the actual pairs less that of a baseline, with an interval of its own. `smoothing` and `tokens` are those of BLEU
    (see `Smoothing` and `Tokens`), `weights` those of its n-grams, by n; `encode` and `bertscore` compute what needs an
    encoder. `direction` compares both texts of a pair with the other, or the later with the earlier; `with_itself` lets
    the baseline within items draw texts on the asked question. Intervals resample items. A metric that cannot be
    computed has a reason.

    >>> table = pl.DataFrame({"item": ["a", "a", "b", "b"], "rater": [*"xyxy"], "value": [1, 2, 1, 2], "rationale": [
    ...     "he blames the office", "the office is blamed", "she hopes for rain", "rain is hoped for"]})
    >>> result = rationale_agreement(table, metric="rouge-1", ci="none")
    >>> result.select("pairs", "compared", pl.col("estimate").round(2)).rows()
    [('actual', 4, 0.5), ('same question, other item', 4, 0.0), ('same item, other question', 0, None)]
    """
    likeness = Likeness(names(metric), smoothing, tokens, weights or {}, encode, bertscore)
    how = Resampling(**resampling)
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=rationale_column(data)):
        reasons = with_rationales(part.frame)
        chance: dict[str, Any] = {"draws": draws, "writer": writer, "with_itself": with_itself}
        without = len(part.frame) - len(reasons)
        rows += _scored(part.key, peer_pairs(reasons, direction), reasons, likeness, how, without, **chance)
    return table(rows, names(by))


RATIONALE_SIMILARITY_VIEW: Final = View(
    "How alike a model's reasons are to people's, beside chance",
    columns=_COLUMNS,
    show=("model", "metric", "pairs", "estimate", "beyond", "compared", "reason"),
)


@measure(
    "rationale-similarity",
    family="rationales",
    view=RATIONALE_SIMILARITY_VIEW,
    pools=False,
    pools_questions=True,
    interval=("sources",),
)
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
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """How alike a model's reasons are to those of people, with all people's reasons as references.

    One row per group, `model`, `metric` and `pairs` (see `rationale_agreement`); the baselines draw from the model's
    own rationales. BLEU counts matches with any reference; the other metrics take the most similar one.

    >>> table = pl.DataFrame({"item": ["a", "a", "b", "b"], "rater": ["p", "m"] * 2, "value": [1, 2, 1, 2],
    ...                       "rationale": ["he blames the office", "the office", "she hopes for rain", "rain"]})
    >>> result = rationale_similarity(table, models=["m"], people=["p"], metric="rouge-1", ci="none")
    >>> result.select("model", "pairs", pl.col("estimate").round(2)).rows()[:2]
    [('m', 'actual', 0.53), ('m', 'same question, other item', 0.0)]
    """
    likeness = Likeness(names(metric), smoothing, tokens, weights or {}, encode, bertscore)
    how = Resampling(**resampling)
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=[*rationale_column(data), *(["kind"] if has_column(data, "kind") else [])]):
        known, chosen = (with_rationales(side) for side in sides_of(part.frame, models, people))
        for model in chosen["rater"].unique().sort():
            mine = chosen.filter(pl.col("rater") == model)
            left = part.frame.filter(pl.col("rater") == model)
            key, without = {**part.key, "model": str(model)}, len(left) - len(mine)
            rows += _scored(key, model_pairs(mine, known), mine, likeness, how, without, draws=draws)
    return table(rows, names(by))


def rationale_column(data: Judgments) -> list[str]:
    """The column that these measures need beside those of every measure."""
    if not has_column(data, "rationale"):
        raise InputError("the judgments have no column 'rationale'", remedy="these measures look at written reasons")
    return ["rationale"]


def with_rationales(frame: pl.DataFrame) -> pl.DataFrame:
    """The judgments that have a rationale, whatever their status."""
    return frame.filter(pl.col("rationale").cast(pl.String).str.strip_chars().str.len_chars() > 0)


def _scored(
    key: Mapping[str, Any],
    pairs: Sequence[Compared],
    pool: pl.DataFrame,
    likeness: Likeness,
    how: Resampling,
    without: int,
    **chance: Any,
) -> Iterator[dict[str, Any]]:
    """One row per metric and kind of pairs: the actual ones, then baselines that draw from the pool."""
    kinds = {kind: chance_pairs(pairs, pool, kind, seed=how.seed, **chance) for kind in KINDS[1:]}
    several = {ACTUAL: pairs, **kinds}
    by_metric: dict[str, list[dict[str, Any]]] = {name: [] for name in likeness.metric}
    actual: dict[str, tuple[pl.Series, Floats]] = {}
    # All kinds at once, since they compare the same texts.
    every = [pair for compared in several.values() for pair in compared]
    all_scores, reasons = likeness.scores(texts_of(every)) if every else ({}, {})
    end = 0
    for kind, compared in several.items():
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
    both = pl.concat([items, others]), np.concatenate([actual, chance])
    return named("beyond", difference_with_interval(*both, first, how))
