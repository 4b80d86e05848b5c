"""Intraclass correlations against the published table, their definition and a peer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from vantage.errors import InputError
from vantage.measures.agreement.intraclass import FORMS, icc
from vantage.measures.variance.reliability import reliability

N = float("nan")
SHROUT_FLEISS = [  # Shrout and Fleiss (1979), table 2: four judges, six targets
    [9, 6, 8, 7, 10, 6],
    [2, 1, 4, 1, 5, 2],
    [5, 3, 6, 2, 6, 4],
    [8, 2, 8, 6, 9, 7],
]


def test_shrout_fleiss_1979() -> None:
    found = icc(SHROUT_FLEISS)
    assert found["form"].to_list() == list(FORMS)
    assert found["estimate"].round(2).to_list() == [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]


def peer(table: NDArray[np.float64]) -> pd.DataFrame:
    import pingouin

    raters, items = table.shape
    long = pd.DataFrame(
        {
            "item": np.tile(np.arange(items), raters),
            "rater": np.repeat(np.arange(raters), items),
            "value": table.ravel(),
        }
    )
    found: pd.DataFrame = pingouin.intraclass_corr(long, targets="item", raters="rater", ratings="value")
    return found


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equals_the_peer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(0, 1, 12) + rng.normal(0, 1, (5, 1)) + rng.normal(0, 0.7, (5, 12))
    theirs = peer(table)
    ours = icc(table)
    assert ours["estimate"].to_list() == pytest.approx(theirs["ICC"].to_list(), abs=1e-9)
    bounds = np.array(theirs[next(c for c in theirs.columns if str(c).startswith("CI"))].to_list())
    assert ours.select("low", "high").to_numpy() == pytest.approx(bounds, abs=6e-3)  # rounded by the peer


@example(table=np.array([[0.0, 1.0, 9.0], [0.0, 0.0, -8.0]]), shift=0)
@given(
    table=arrays(
        np.float64,
        st.tuples(st.integers(2, 4), st.integers(2, 6)),
        elements=st.integers(-20, 20).map(float),
    ),
    shift=st.integers(-50, 50),
)
@settings(max_examples=40, deadline=None)
def test_affine_change_and_order_do_not_matter(table: NDArray[np.float64], shift: int) -> None:
    first, second = icc(table), icc(table[::-1, ::-1] * 3 + shift)
    for column in ("estimate", "low", "high"):
        for one, other in zip(first[column], second[column], strict=True):
            same = None if other is None else pytest.approx(other, rel=1e-6, abs=1e-6)
            assert one == same
    assert not first["estimate"].is_nan().any()


def test_one_way_forms_allow_gaps() -> None:
    table = np.array([[1.0, 4, 7, 2, 9], [2, 4, 8, 3, N], [1, 5, N, N, N]])
    rows = {row["form"]: row for row in icc(table).iter_rows(named=True)}
    items = [[v for v in column if not np.isnan(v)] for column in table.T]
    sizes = np.array([len(item) for item in items])
    total, grand = sizes.sum(), np.mean([v for item in items for v in item])
    between = sum(len(item) * (np.mean(item) - grand) ** 2 for item in items) / (len(items) - 1)
    within = sum(np.var(item) * len(item) for item in items) / (total - len(items))
    k = (total - (sizes**2).sum() / total) / (len(items) - 1)
    assert rows["ICC(1,1)"]["estimate"] == pytest.approx((between - within) / (between + (k - 1) * within))
    assert rows["ICC(1,k)"]["estimate"] == pytest.approx((between - within) / between)
    assert rows["ICC(1,1)"]["low"] < rows["ICC(1,1)"]["estimate"] < rows["ICC(1,1)"]["high"]
    item, rater, error = reliability(table, show="components", ci="none")["variance"].to_list()
    assert rows["ICC(2,1)"]["estimate"] == pytest.approx(item / (item + rater + error), rel=1e-6)
    assert rows["ICC(3,1)"]["estimate"] == pytest.approx(item / (item + error), rel=1e-6)
    assert rows["ICC(2,k)"]["estimate"] == pytest.approx(item / (item + (rater + error) / k), rel=1e-6)
    assert [rows[form]["over"] for form in ("ICC(1,1)", "ICC(2,1)", "ICC(3,k)")] == ["both", "both", "items"]
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in rows.values())


def test_few_gaps_hardly_move_the_two_way_forms() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=80) + 0.5 * rng.normal(size=(12, 1)) + rng.normal(size=(12, 80))
    full = icc(table)
    table[3, 5] = N
    gaps = icc(table)
    for column in ("estimate", "low", "high"):
        assert gaps[column].to_list() == pytest.approx(full[column].to_list(), abs=0.02)


def test_raters_who_share_no_item_cannot_be_told_from_items() -> None:
    rows = pl.DataFrame({"item": [1, 1, 2, 2], "rater": [*"abcd"], "value": [1, 2, 3, 5]})
    assert set(icc(rows).filter(pl.col("form").str.contains(r"[23],"))["reason"]) == {
        "the raters share too few items to tell raters, items and error apart"
    }


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[1.0], [2.0]], "fewer than two items have answers"),
        ([[1.0, 2.0, 3.0]], "no item has two answers"),
        ([[N, N], [N, N]], "fewer than two items have answers"),
        ([[2.0, 2.0], [2.0, 2.0]], "all answers are the same, so there is no variance"),
    ],
)
def test_undefined_is_null_with_a_reason(table: list[list[float]], reason: str) -> None:
    found = icc(table)
    assert found["estimate"].null_count() == 6
    assert set(found["reason"]) == {reason}


def test_perfect_agreement_has_no_interval() -> None:
    row = icc([[1, 2, 3], [1, 2, 3]]).row(0, named=True)
    assert (row["estimate"], row["low"]) == (1, None)
    assert row["reason"].startswith("no interval")


def test_repeated_answers_of_a_rater_are_error_of_the_two_way_forms() -> None:
    rng = np.random.default_rng(1)
    item, rater, sample = (grid.ravel() for grid in np.indices((60, 8, 2)))
    value = rng.normal(size=60)[item] + 0.5 * rng.normal(size=8)[rater] + rng.normal(size=len(item))
    rows = pl.DataFrame({"item": item, "rater": rater, "sample": sample, "value": value}).filter(pl.col("value") > -9)
    assert icc(rows).row(1, named=True)["estimate"] == pytest.approx(1 / 2.25, abs=0.12)
    with pytest.raises(InputError, match="between 0 and 1"):
        icc(rows, confidence=1.0)


def test_the_interval_is_over_what_is_asked_for() -> None:
    rng = np.random.default_rng(3)
    full = rng.normal(size=60) + 0.8 * rng.normal(size=(12, 1)) + rng.normal(size=(12, 60))
    gaps = np.where(rng.random(full.shape) < 0.3, np.nan, full)
    for table in (full, gaps):
        found = {ci: icc(table, ci=ci) for ci in ("auto", "items", "raters", "both", "none")}
        for rows in found.values():
            assert rows["estimate"].to_list() == found["auto"]["estimate"].to_list()
        assert found["none"]["low"].null_count() == 6
        assert found["auto"]["over"].to_list() == ["both", "both", "items"] * 2
        for ci in ("items", "raters", "both"):
            two_way = found[ci].filter(pl.col("form").str.contains("ICC\\([23]"))
            assert two_way["over"].to_list() == [ci] * 4
            one_way = found[ci].filter(pl.col("form").str.contains("ICC\\(1"))
            assert one_way["over"].to_list() == ([ci] * 2 if ci == "both" else [None] * 2)
        width = {ci: rows["high"][1] - rows["low"][1] for ci, rows in found.items() if ci != "none"}
        assert width["both"] == pytest.approx(width["auto"], rel=0.25)
        assert max(width["items"], width["raters"]) < width["both"] < width["items"] + width["raters"]


@pytest.mark.slow
def test_intervals_cover_where_some_raters_do_not_follow_the_items() -> None:
    rng = np.random.default_rng(5)
    careless, covered = 0.15, 0
    truth = (1 - careless) ** 2 / ((1 - careless) + 0.09 + careless * 2.25 + (1 - careless) * 0.64)
    for seed in range(40):
        item, severity, ignores = rng.normal(0, 1, 60), rng.normal(0, 0.3, 30), rng.random(30) < careless
        rater = np.concatenate([rng.choice(30, 6, replace=False) for _ in range(60)])
        text = np.repeat(np.arange(60), 6)
        noise = np.where(ignores, 1.5, 0.8)[rater] * rng.normal(0, 1, 360)
        value = np.where(ignores[rater], 0.0, item[text]) + severity[rater] + noise
        row = icc({"item": text, "rater": rater, "value": value}, seed=seed).row(1, named=True)
        covered += row["low"] <= truth <= row["high"]
    assert covered >= 34  # draws that take all raters for equally good ones hold it in 32
