"""From the scores of options to judgments: a distribution, the most probable answer, and the expected value.

The options must have most of the probability together. Where they do not, the model would rather say something else,
and the likeliest option is not its answer: the judgment is `failed`, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from vantage.errors import InputError
from vantage.instruments import Question
from vantage.raters.answers import choices
from vantage.raters.models.base import LogProbs
from vantage.scales import Scale

CHANCES: Final[dict[str, Any]] = {"probabilities": pl.List(pl.Float64), "expected": pl.Float64, "mass": pl.Float64}
"""The distribution over the options, its mean, and the probability that the reply is one of them at all."""
_ASKED_ALIKE: Final = pl.col("presentation").str.replace(r" ?seen=\S+", "").alias("__alike")
"""Answers are calibrated among those of one presentation, whichever random order it came to."""
_LOWEST: Final = -30.0
"""The log-probability that calibration takes for an option that was not among the tokens told."""


def with_distributions(
    rows: pl.DataFrame, questions: Mapping[str, Question], *, calibrate: bool, least_mass: float = 0.5
) -> pl.DataFrame:
    """Rows with a column `scores` as judgments with `probabilities`, `expected` and `mass`.

    Calibration compares items, so all of a question that were asked alike are needed at once; a single one stays as it
    is. Rows without scores keep their status and only get empty columns.
    """
    if rows["scores"].null_count() == len(rows):
        return rows.drop("scores").with_columns(
            pl.lit(None, dtype=dtype).alias(name) for name, dtype in CHANCES.items()
        )
    grouped = (
        rows.with_row_index("__row").with_columns(_ASKED_ALIKE).group_by("question", "__alike", maintain_order=True)
    )
    parts = [_judged(part, questions[str(key[0])].scale.meaning, calibrate, least_mass) for key, part in grouped]
    return pl.concat(parts).sort("__row").drop("__row", "__alike", "scores")


def calibrated(logprobs: LogProbs) -> LogProbs:
    """Log-probabilities without what an option is given whatever the item, renormalised row by row.

    Language models prefer some options in every context (Zhao et al. 2021, contextual calibration); that preference is
    estimated by the mean log-probability of each option over the batch (Zhou et al. 2024, batch calibration), and
    subtracted. What is left tells items apart, but no longer how high they are on average. Rows that could not be
    scored (not a number) stay so and do not count.

    >>> np.exp(calibrated(np.log([[0.9, 0.1], [0.6, 0.4]]))).round(2)
    array([[0.71, 0.29],
           [0.29, 0.71]])
    """
    logprobs = np.asarray(logprobs, dtype=np.float64)
    scored = ~np.isnan(logprobs).any(axis=1)
    if np.count_nonzero(scored) < 2:
        raise InputError(
            "calibration compares items, and fewer than two were scored",
            remedy="score more items or use the probabilities as they are",
        )
    return np.asarray(log_softmax(logprobs - logprobs[scored].mean(axis=0), axis=1), dtype=np.float64)


def _judged(rows: pl.DataFrame, scale: Scale, calibrate: bool, least_mass: float) -> pl.DataFrame:
    options = choices(scale)
    empty = [float("nan")] * len(options)
    scores = np.array([empty if judged is None else judged for judged in rows["scores"].to_list()], dtype=np.float64)
    known = np.asarray(~np.isnan(scores).any(axis=1), dtype=np.bool_)
    mass = np.minimum(np.exp(scores).sum(axis=1), 1.0)
    enough = known & (mass > 0) & (np.nan_to_num(mass) >= least_mass)
    chances = np.full(scores.shape, np.nan)
    if enough.any():
        # Shares that a reply gives are what the model says, and stay so.
        fair = calibrate and np.count_nonzero(enough) > 1 and rows["rule"].is_in(["scoring", "sampling"]).any()
        chances[enough] = (
            np.exp(calibrated(np.maximum(scores[enough], _LOWEST))) if fair else softmax(scores[enough], axis=1)
        )
    best = np.where(enough, np.argmax(np.where(np.isnan(chances), -1.0, chances), axis=1), -1)
    expected = _expected(chances, [option.value for option in options]) if scale.ordered else np.full(len(rows), np.nan)
    judged = list(zip(rows.iter_rows(named=True), known, enough, best, mass, strict=True))

    def column(name: str, answer: Any, failure: Any) -> list[Any]:
        """What stands in a column: of an answer, of one with too little mass, and of a row without scores."""
        return [
            answer(row, options[n]) if fine else failure(row, share) if scored else row[name]
            for row, scored, fine, n, share in judged
        ]

    return rows.with_columns(
        pl.Series("value", column("value", lambda _, o: o.value, lambda *_: None), dtype=pl.Float64),
        pl.Series("status", column("status", lambda _, o: o.status, lambda *_: "failed"), dtype=rows.schema["status"]),
        pl.Series("rule", column("rule", lambda row, _: row["rule"], lambda *_: "low-mass"), dtype=pl.String),
        pl.Series("reply", column("reply", _said, lambda row, share: _reason(row["reply"], share, least_mass)),
                  dtype=pl.String),
        pl.Series("probabilities", [row.tolist() if k else None for row, k in zip(chances, enough, strict=True)],
                  dtype=CHANCES["probabilities"]),
        pl.Series("expected", expected).fill_nan(None),
        pl.Series("mass", mass).fill_nan(None),
    )  # fmt: skip


def mass_note(masses: pl.Series, least_mass: float) -> str:
    """What share of the probability the options had, in a sentence for the run's summary; nothing without scores.

    >>> print(mass_note(pl.Series([0.9, 0.2, 0.99, 0.95]), 0.5))
    The options had 92 % of the probability in the median answer (lowest 20 %, tenth percentile 41 %); 1 of 4 had less
    than 50 % and counts as failed.
    """
    known = masses.drop_nulls()
    if known.is_empty():
        return ""
    values = known.to_numpy()
    tenth, median = np.quantile(values, [0.1, 0.5])
    low = int((values < least_mass).sum())
    under = f"; {low:,} of {len(values):,} had less than {least_mass:.0%} and counts as failed" if low else ""
    sentence = (
        f"The options had {median:.0%} of the probability in the median answer "
        f"(lowest {values.min():.0%}, tenth percentile {tenth:.0%}){under}."
    )
    return sentence.replace("%", " %")


def _said(row: Mapping[str, Any], _: Any) -> str | None:
    """The reply that a distribution was read or drawn from; the first token, where options were scored, is none."""
    return None if row["rule"] == "scoring" else row["reply"]


def _reason(first: str | None, mass: float, least: float) -> str:
    rather = f" (it would begin with '{first.strip()[:40]}')" if first and first.strip() else ""
    share = f"{mass:.1%}".replace("%", " %")
    return (
        f"The options have {share} of the probability together, less than {least:g}: the model would rather say "
        f"something else{rather}."
    )


def _expected(chances: NDArray[np.float64], values: list[float | None]) -> NDArray[np.float64]:
    """The mean of the scale's values, given that one of them is the answer."""
    numbered = [n for n, value in enumerate(values) if value is not None]
    codes = np.array([values[n] for n in numbered], dtype=np.float64)
    share = chances[:, numbered]
    total = share.sum(axis=1)
    return np.asarray(share @ codes / np.where(total > 0, total, np.nan), dtype=np.float64)
