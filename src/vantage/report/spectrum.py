"""The Spectrum: every text is one column of people's answers as shares, sorted from one end of the scale to the other.

It shows at a glance how many texts people agree on, and where they do not; models stand below in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.instruments import Question
from vantage.report.cells import shortened
from vantage.report.distributions import AnswerCounts, answers_of
from vantage.report.engine import Analysis
from vantage.report.parts import Figure, Part

COLUMNS: Final = 400
"""More texts than this are drawn in so many columns of neighbours."""
QUESTIONS: Final = 4
"""So many questions are drawn."""
MODELS: Final = 3
"""So many raters stand below people."""
PINNED: Final = 3
"""So many of the most divisive texts are named."""
NEAR: Final = 0.04
"""Named texts are at least this share of the width apart."""
WIDE: Final = 0.25
"""Two people who are a quarter of a scale of several steps apart, on average, are divided strongly."""
ALIKE: Final = 2 / 3
"""Where answers are two, or have no order: if fewer than this share give the same one."""


def divisions(analysis: Analysis) -> pl.DataFrame | None:
    """How many texts people are unanimous about, and how many divide them strongly, by question."""
    rows = []
    for question, counts in _counted(analysis):
        several = counts.n[:, 0] > 1
        texts = int(several.sum())
        largest = counts.shares[several, 0].max(axis=1)
        unanimous, strongly = int((largest >= 1).sum()), int(_strongly(counts)[several].sum())
        shares = {"unanimous": unanimous / texts, "strongly": strongly / texts}
        rows.append({"question": question.id, "texts": texts, **shares, "none": None if unanimous else texts})
    return pl.DataFrame(rows, infer_schema_length=None) if rows else None


def spectrum(analysis: Analysis) -> list[Part]:
    """The Spectrum of the first questions."""
    texts = analysis.corpus.with_texts().items
    said = dict(texts.select("item", "text").iter_rows()) if "text" in texts.columns else {}
    parts: list[Part] = []
    for question, counts in _counted(analysis):
        if len(parts) == QUESTIONS:
            break
        order = _order(counts)
        names = answers_of(question)[1]
        pins = _pinned(counts, order)
        options: dict[str, Any] = {"order": list(names), "ordered": question.scale.ordered}
        options["bipolar"] = question.scale.ordered and min(question.scale.ends) < 0 < max(question.scale.ends)
        options["pins"] = [[place, shortened(said.get(item) or item, 90)] for place, item in pins]
        by = "their mean" if question.scale.ordered else f"the share of {names[0]}"
        caption = (
            f"Every text is a column: the answers to {question.title or question.id} as shares, sorted by {by}, and "
            "below how far two of its answers are apart, as a share of the scale."
        )
        if len(counts.groups) > 1:
            caption += " Other raters stand beneath in the same order."
        if len(order) > COLUMNS:
            caption += f" Each column is the mean of about {round(len(order) / COLUMNS)} neighbouring texts."
        name = "spectrum" if not parts else f"spectrum-{len(parts) + 1}"
        parts.append(Figure(name, caption, "", "spectrum", _columns(counts, order, names), options))
    return parts


def _counted(analysis: Analysis) -> Iterator[tuple[Question, AnswerCounts]]:
    """The questions that two raters or more answered about some text, with their answers by text."""
    for question in analysis.corpus.questions:
        if question.scale.codes or question.scale.slides:
            counts = AnswerCounts.of(analysis.corpus, question)
            if (counts.n[:, 0] > 1).any():
                yield question, counts


def _strongly(counts: AnswerCounts) -> Any:
    """Whether each text divides people strongly."""
    if counts.question.scale.ordered and len(counts.codes) > 2:
        return np.nan_to_num(counts.disagreement) >= WIDE - 1e-9
    return np.nan_to_num(counts.shares[:, 0], nan=1.0).max(axis=1) < ALIKE - 1e-9


def _order(counts: AnswerCounts) -> NDArray[np.int64]:
    """The texts that people judged, by their mean answer, or by the shares of the answers in their order."""
    judged = np.flatnonzero(counts.n[:, 0])
    shares = counts.shares[judged, 0]
    keys = [-shares[:, at] for at in reversed(range(shares.shape[1]))]
    if counts.question.scale.ordered:
        keys.append(counts.means[judged, 0])
    return np.asarray(judged[np.lexsort(keys)])


def _pinned(counts: AnswerCounts, order: NDArray[np.int64]) -> list[tuple[float, str]]:
    """The places, from 0 to 1, and ids of the texts that most people are divided about most."""
    n = counts.n[order, 0]
    # Two people who differ are no more divided than twenty of whom ten do.
    evenly = np.nan_to_num(counts.disagreement[order]) * (n - 1) / np.maximum(n, 1)
    pins: list[int] = []
    for at in np.lexsort([-n, -evenly.round(9)]):
        # Neighbours would hide each other.
        if evenly[at] > 0 and all(abs(int(at) - other) >= NEAR * len(order) for other in pins):
            pins.append(int(at))
        if len(pins) == PINNED or evenly[at] <= 0:
            break
    return [((at + 0.5) / len(order), counts.items[int(order[at])]) for at in sorted(pins)]


def _columns(counts: AnswerCounts, order: NDArray[np.int64], names: tuple[str, ...]) -> pl.DataFrame:
    """One row for each column, rater and answer; of many texts a column holds neighbours."""
    column = np.arange(len(order)) * min(len(order), COLUMNS) // max(len(order), 1)
    rows: list[pl.DataFrame] = []
    width = int(column.max()) + 1
    for group, who in enumerate(counts.groups[: MODELS + 1]):
        there = ~np.isnan(counts.shares[order, group, 0])
        if not there.any():
            continue
        number = np.bincount(column[there], minlength=width)
        shares = _means(counts.shares[order[there], group], column[there], number)
        apart = _means(np.nan_to_num(counts.disagreement[order[there], None]), column[there], number)[:, 0]
        frame = {"column": np.arange(width), "texts": number, "apart": apart if not group else np.full(width, np.nan)}
        parts = [
            pl.DataFrame(frame).with_columns(answer=pl.lit(name), share=shares[:, at]) for at, name in enumerate(names)
        ]
        rows.append(pl.concat(parts).with_columns(who=pl.lit(who)))
    return pl.concat(rows).filter(pl.col("texts") > 0).with_columns(pl.col("apart").fill_nan(None))


def _means(values: NDArray[np.float64], column: NDArray[np.int64], number: NDArray[np.int64]) -> NDArray[np.float64]:
    sums = np.column_stack([np.bincount(column, part, minlength=len(number)) for part in values.T])
    return np.asarray(sums / np.maximum(number, 1)[:, None])
