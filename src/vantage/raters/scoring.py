"""From the scores of options to judgments: a distribution, the most probable answer, and the expected value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.instruments import Question
from vantage.raters.answers import choices
from vantage.raters.models.calibration import calibrated, distribution
from vantage.scales import Scale

CHANCES: Final[dict[str, Any]] = {"probabilities": pl.List(pl.Float64), "expected": pl.Float64}


def with_distributions(rows: pl.DataFrame, questions: Mapping[str, Question], *, calibrate: bool) -> pl.DataFrame:
    """Rows with a column `scores` as judgments with `probabilities` and `expected`.

    Calibration compares items, so all of a question are needed at once; a single one stays as it is. What could
    not be scored has failed. Rows without scores only get empty columns.
    """
    if rows["scores"].null_count() == len(rows):
        return rows.drop("scores").with_columns(
            pl.lit(None, dtype=dtype).alias(name) for name, dtype in CHANCES.items()
        )
    parts = [
        _judged(part, questions[str(question)].scale, calibrate)
        for (question,), part in rows.with_row_index("__row").group_by("question", maintain_order=True)
    ]
    return pl.concat(parts).sort("__row").drop("__row", "scores")


def _judged(rows: pl.DataFrame, scale: Scale, calibrate: bool) -> pl.DataFrame:
    options = choices(scale)
    empty = [float("nan")] * len(options)
    scores = np.array([empty if told is None else told for told in rows["scores"].to_list()], dtype=np.float64)
    known = np.asarray(~np.isnan(scores).any(axis=1), dtype=np.bool_)
    chances = np.full(scores.shape, np.nan)
    if known.any():
        comparable = calibrate and np.count_nonzero(known) > 1
        chances[known] = np.exp(calibrated(scores[known])) if comparable else distribution(scores[known])
    best = np.where(known, np.argmax(np.where(np.isnan(chances), -1.0, chances), axis=1), -1)
    values = [options[n].value if n >= 0 else None for n in best]
    statuses = [options[n].status if n >= 0 else "failed" for n in best]
    expected = _expected(chances, [option.value for option in options]) if scale.ordered else np.full(len(rows), np.nan)
    return rows.with_columns(
        pl.Series("value", values, dtype=pl.Float64),
        pl.Series("status", statuses, dtype=rows.schema["status"]),
        pl.Series("rule", ["scoring" if n >= 0 else "failed" for n in best], dtype=pl.String),
        pl.Series("probabilities", [row.tolist() if k else None for row, k in zip(chances, known, strict=True)],
                  dtype=CHANCES["probabilities"]),
        pl.Series("expected", expected).fill_nan(None),
    )  # fmt: skip


def _expected(chances: NDArray[np.float64], values: list[float | None]) -> NDArray[np.float64]:
    """The mean of the scale's values, given that one of them is the answer."""
    numbered = [n for n, value in enumerate(values) if value is not None]
    codes = np.array([values[n] for n in numbered], dtype=np.float64)
    share = chances[:, numbered]
    return np.asarray(share @ codes / share.sum(axis=1), dtype=np.float64)
