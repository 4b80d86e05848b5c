"""Agreement on sets: against the definition, pair by pair, and single options."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures import alpha, set_alpha


def votes(seed: int, options: int = 3, missing: float = 0.0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(25):
        likely = rng.random(options)
        for rater in range(4):
            for option in range(options):
                value = None if rng.random() < missing else float(rng.random() < likely[option])
                rows.append({"item": item, "rater": rater, "question": f"mood.{option}", "value": value})
    return pl.DataFrame(rows)


def distance(a: frozenset[str], b: frozenset[str], kind: str) -> float:
    if a == b:
        return 0.0
    jaccard = len(a & b) / len(a | b)
    if kind == "jaccard":
        return 1 - jaccard
    weight = 2 / 3 if a <= b or b <= a else 1 / 3 if a & b else 0.0
    return 1 - jaccard * weight


def brute_force(frame: pl.DataFrame, kind: str) -> float:
    units: list[list[frozenset[str]]] = []
    for _, item in frame.group_by("item", maintain_order=True):
        sets = []
        for _, rows in item.group_by("rater", maintain_order=True):
            if rows["value"].null_count() == 0:
                sets.append(frozenset(rows.filter(pl.col("value") == 1)["question"]))
        if len(sets) > 1:
            units.append(sets)
    every = [one for unit in units for one in unit]
    observed = sum(distance(a, b, kind) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2)) / len(
        every
    )
    expected = sum(distance(a, b, kind) for a, b in permutations(every, 2)) / (len(every) * (len(every) - 1))
    return 1 - observed / expected


@pytest.mark.parametrize("kind", ["masi", "jaccard"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_alpha_is_that_of_the_definition(kind: Any, missing: float) -> None:
    frame = votes(1, missing=missing)
    result = set_alpha(frame, distance=kind, resamples=50)
    row = result.row(0, named=True)
    assert row["estimate"] == pytest.approx(brute_force(frame, kind))
    assert row["low"] < row["estimate"] < row["high"]
    assert row["over"] == "both"
    if missing:
        assert row["left_out"]["missing"] == frame["value"].null_count()
        assert row["left_out"]["incomplete"] > 0


def test_two_options_of_which_one_applies_are_a_nominal_scale() -> None:
    """Where exactly one of two options applies, sets differ wholly or not at all."""
    rng = np.random.default_rng(4)
    rows = [
        {"item": item, "rater": rater, "question": f"mood.{option}", "value": float(option == chosen)}
        for item in range(30)
        for rater in range(3)
        for chosen in [int(rng.random() < 0.3 + 0.4 * (item % 2))]
        for option in range(2)
    ]
    frame = pl.DataFrame(rows)
    for ci in ("items", "raters", "both"):
        plain = alpha(frame.filter(pl.col("question") == "mood.0"), level="nominal", ci=ci, resamples=50)
        sets = set_alpha(frame, ci=ci, resamples=50)
        for end in ("estimate", "low", "high"):
            assert sets[end][0] == pytest.approx(plain[end][0])
        assert sets["over"].to_list() == [ci]


def test_questions_without_options_are_refused() -> None:
    with pytest.raises(InputError, match="no question has several options"):
        set_alpha({"item": [1, 1], "rater": [1, 2], "value": [0, 1], "question": ["a", "a"]})
