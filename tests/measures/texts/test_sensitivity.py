"""Spread over runs and agreement between variants of the prompt."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures.texts.composites import condition_agreement, run_spread


def runs(condition: str = "", n: int = 10, spread: float = 0.3, shift: float = 0.0, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        ("m", condition, f"g{g:02}", s, 1 + 3 * g / 19 + shift + rng.normal(0, spread))
        for g in range(20)
        for s in range(n)
    ]
    frame = pl.DataFrame(rows, schema=["rater", "condition", "item", "sample", "value"], orient="row")
    return frame.with_columns(pl.lit("warmth").alias("question"))


def test_the_coefficient_of_variation_is_that_of_numpy() -> None:
    frame = runs()
    row = run_spread(frame).row(0, named=True)
    by_hand = {
        str(key[0]): float(part["value"].to_numpy().std(ddof=1) / part["value"].to_numpy().mean())
        for key, part in frame.group_by("item")
    }
    assert row["estimate"] == pytest.approx(np.mean(list(by_hand.values())))
    assert row["largest"] == pytest.approx(max(by_hand.values()))
    assert row["item"] == max(by_hand, key=lambda item: by_hand[item])
    assert row["low"] < row["estimate"] < row["high"]


def test_variants_are_compared_on_equally_many_runs() -> None:
    both = pl.concat([runs(), runs("bare", 5)])
    found = run_spread(both, runs=5)
    assert found["runs"].to_list() == [5, 5]
    with pytest.raises(InputError, match="no spread"):
        run_spread(both, runs=1)


def test_one_run_has_no_spread() -> None:
    assert run_spread(runs(n=1)).row(0, named=True)["reason"] == "no item has two runs"


def test_a_shifted_variant_agrees_in_rank_and_not_in_level() -> None:
    both = pl.concat([runs(spread=0.05), runs("bare", spread=0.05, shift=0.5, seed=1)])
    row = condition_agreement(both).row(0, named=True)
    assert row["estimate"] > 0.98
    assert row["difference"] == pytest.approx(0.5, abs=0.05)
    assert row["condition"] == "bare"


def test_an_unrelated_variant_does_not_agree() -> None:
    other = runs("bare", seed=1).with_columns(pl.col("item").shuffle(seed=3))
    row = condition_agreement(pl.concat([runs(), other])).row(0, named=True)
    assert row["estimate"] < 0.6


def test_an_unknown_base_is_named_and_a_constant_variant_is_undefined() -> None:
    with pytest.raises(InputError, match="no condition 'plain'"):
        condition_agreement(runs(), base="plain")
    flat = runs("bare").with_columns(pl.lit(3.0).alias("value"))
    row = condition_agreement(pl.concat([runs(), flat])).row(0, named=True)
    assert row["estimate"] is None
    assert "do not vary" in row["reason"]
