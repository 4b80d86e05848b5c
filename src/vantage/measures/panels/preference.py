"""Does a model favour texts that it, or a model of its family, has written?"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from vantage.errors import InputError
from vantage.measures.panels.answers import PanelAnswers
from vantage.measures.ratings import Floats


def family(name: str) -> str:
    """The family of a model: the first word of its name, without the provider.

    >>> [family(name) for name in ("openai/gpt-4o", "gpt-3.5-turbo", "meta-llama/Llama-3.1-8B", "claude-opus+persona")]
    ['gpt', 'gpt', 'llama', 'claude']
    """
    match = re.match(r"[a-z]+", name.rsplit("/", 1)[-1].casefold())
    return match.group() if match else name.casefold()


def self_preference(answers: PanelAnswers, writer: pl.DataFrame, confidence: float) -> list[dict[str, Any]]:
    """One row per member: how much higher it rates its family's texts than others', beyond what people do.

    `writer` has the columns `item` and `writer`. The errors of a member are its answers less the mean of people, so
    that better texts are no preference; those on the family's texts and on all others are compared by Welch's t test.
    """
    by_item = dict(writer.iter_rows())
    wrote = np.array([family(str(by_item[item])) if by_item.get(item) else "" for item in answers.units["item"]])
    if np.isnan(answers.values).all():
        raise InputError(
            "self-preference needs an order of the options", remedy="choose a question on an ordered scale"
        )
    rows = []
    for number, rater in enumerate(answers.raters):
        own, known = wrote == family(rater), wrote != ""
        row: dict[str, Any] = {"rater": rater, "family": family(rater), "own_items": int(own.sum())}
        first, second = answers.values[number, own], answers.values[number, known & ~own]
        if min(len(first), len(second)) < 2:
            rows.append({**row, "reason": "fewer than two items of its family, or of others"})
            continue
        rows.append({**row, **_welch(first, second, confidence)})
    return rows


def _welch(first: Floats, second: Floats, confidence: float) -> dict[str, Any]:
    parts = [one.var(ddof=1) / len(one) for one in (first, second)]
    difference, variance = float(first.mean() - second.mean()), float(sum(parts))
    if variance == 0:
        return {"estimate": difference, "p": None, "reason": "the errors do not vary"}
    freedom = variance**2 / sum(part**2 / (len(one) - 1) for part, one in zip(parts, (first, second), strict=True))
    reach = float(stdtrit(freedom, (1 + confidence) / 2)) * variance**0.5
    p = 2 * float(stdtr(freedom, -abs(difference) / variance**0.5))
    return {"estimate": difference, "low": difference - reach, "high": difference + reach, "over": "items", "p": p}
