"""Cohen's and Scott's kappa and the matrix of raters, against definitions and peers."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from irrCAC.raw import CAC
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from vantage.errors import InputError
from vantage.measures.agreement.chance_corrected import fleiss
from vantage.measures.agreement.rater_pairs import cohen, rater_matrix

N = float("nan")
Table = NDArray[np.float64]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    shape = draw(st.integers(2, 4)), draw(st.integers(2, 8))
    table: Table = draw(arrays(np.float64, shape, elements=st.sampled_from([1.0, 2.0, 3.0, N])))
    return table


def random_table(seed: int, raters: int, items: int, gaps: float) -> Table:
    rng = np.random.default_rng(seed)
    table: Table = np.clip(rng.integers(1, 6, items) + rng.integers(-1, 2, (raters, items)), 1, 5) * 1.0
    table[rng.random(table.shape) < gaps] = N
    return table


def test_cohen_1960() -> None:
    # Cohen (1960), table 1: proportions of 200 joint classifications, κ = 0.492.
    joint = np.array([[0.44, 0.07, 0.09], [0.05, 0.20, 0.05], [0.01, 0.03, 0.06]])
    first, second = np.repeat(np.argwhere(joint > 0), np.round(joint[joint > 0] * 200).astype(int), axis=0).T
    row = cohen([first.tolist(), second.tolist()]).row(0, named=True)
    assert row["estimate"] == pytest.approx(0.492, abs=1e-3)
    assert row["low"] < 0.492 < row["high"]
    assert (row["pairs"], row["pairs_undefined"]) == (1, 0)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_cohen_equals_the_peer_for_two_raters(weights: Any) -> None:
    table = random_table(1, 2, 60, 0.2)
    both = table[:, ~np.isnan(table).any(axis=0)]
    peer = cohen_kappa_score(*both, weights=weights)
    assert cohen(table, agreement_weights=weights, ci="none")["estimate"][0] == pytest.approx(peer, abs=1e-12)


def test_fleiss_of_two_raters_is_scotts_pi() -> None:
    table = random_table(2, 2, 60, 0.0)
    peer = CAC(pd.DataFrame(table.T), digits=12).fleiss()["est"]["coefficient_value"]
    assert fleiss(table, ci="none")["estimate"][0] == pytest.approx(peer, abs=1e-9)


@given(table=tables())
@settings(max_examples=40, deadline=None)
def test_kappa_equals_the_definition(table: Table) -> None:
    kappas, undefined = [], 0
    for a, b in combinations(table, 2):
        shared = ~np.isnan(a) & ~np.isnan(b)
        if not shared.any():
            continue
        x, y = a[shared], b[shared]
        expected = sum(np.mean(x == c) * np.mean(y == c) for c in (1, 2, 3))
        if expected == 1:
            undefined += 1
        else:
            kappas.append((np.mean(x == y) - expected) / (1 - expected))
    row = cohen(table).row(0, named=True)
    assert (row["pairs"], row["pairs_undefined"]) == (len(kappas), undefined)
    if kappas:
        assert row["estimate"] == pytest.approx(np.mean(kappas), abs=1e-9)
    else:
        assert row["estimate"] is None
        assert row["reason"] is not None


@given(table=tables(), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_order_of_rows_does_not_matter(table: Table, seed: int) -> None:
    rater, item = np.nonzero(~np.isnan(table))
    frame = pl.DataFrame({"item": item, "rater": rater, "value": table[rater, item]})
    moved = frame.sample(fraction=1, shuffle=True, seed=seed)
    for measure in (cohen,):
        first, second = (measure(f).row(0, named=True) for f in (frame, moved))
        for bound in ("estimate", "low", "high"):
            assert first[bound] == pytest.approx(second[bound], abs=1e-12)


def test_rater_matrix_equals_the_peers() -> None:
    table = random_table(3, 5, 80, 0.3)
    peers: dict[str, Any] = {
        "agreement": lambda x, y: np.mean(x == y),
        "kappa": cohen_kappa_score,
        "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
        "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
        "difference": lambda x, y: np.mean(np.abs(x - y)),
    }
    for name, peer in peers.items():
        rows = rater_matrix(table, statistic=name, ci="items").rows(named=True)  # type: ignore[call-overload]
        assert [(row["rater_a"], row["rater_b"]) for row in rows] == list(combinations(range(5), 2))
        for row in rows:
            x, y = table[row["rater_a"]], table[row["rater_b"]]
            shared = ~np.isnan(x) & ~np.isnan(y)
            assert row["items"] == shared.sum()
            assert row["estimate"] == pytest.approx(peer(x[shared], y[shared]), abs=1e-9)
            assert row["low"] < row["estimate"] < row["high"]


def test_spearman_of_a_resample_counts_repeated_items_twice() -> None:
    from vantage.measures.agreement.rater_pairs import Pairs, _pair_statistic
    from vantage.measures.ratings import judgments_frame

    table = random_table(4, 2, 30, 0.0)
    drawn = np.random.default_rng(0).integers(0, 4, 30)
    pairs, _ = Pairs.of(judgments_frame(table).drop_nulls("value"))
    found = _pair_statistic(pairs, "spearman", None)(drawn.astype(float))[0]
    repeated = np.repeat(table, drawn, axis=1)
    assert found == pytest.approx(stats.spearmanr(*repeated).statistic, abs=1e-12)


def test_samples_of_one_rater_are_no_pair() -> None:
    rows = {"item": [1, 1, 1, 2, 2], "rater": [*"aabab"], "sample": [0, 1, 0, 0, 0], "value": [1, 1, 2, 2, 2]}
    found = rater_matrix(rows).row(0, named=True)
    assert (found["rater_a"], found["rater_b"], found["estimate"]) == ("a", "b", pytest.approx(1 / 3))


def test_undefined_cases() -> None:
    for alone in ([[1, 2, 3]], [[1, N], [N, 2]], [[N, N], [N, N]]):
        row = cohen(alone).row(0, named=True)
        assert (row["estimate"], row["reason"]) == (None, "no two raters answered the same item")
        assert len(rater_matrix(alone)) == 0
    same = cohen([[1, 1], [1, 1]]).row(0, named=True)
    assert same["estimate"] is None
    assert same["reason"].startswith("chance alone")
    constant = rater_matrix([[1, 1], [1, 2]], statistic="pearson").row(0, named=True)
    assert (constant["estimate"], constant["reason"]) == (None, "a rater gave one answer throughout")
    with pytest.raises(InputError, match="did you mean 'spearman'"):
        rater_matrix([[1, 1], [1, 2]], statistic="spearmen")  # type: ignore[call-overload]


def test_a_mean_over_pairs_that_share_few_items_gives_the_reason_of_its_bias() -> None:
    answers = np.random.default_rng(0).integers(1, 4, (4, 40)).astype(float)
    sparse = answers.copy()
    sparse[:2, 6:] = sparse[2:, :6] = N  # two pairs, each with six items
    sparse[:, 12:] = N
    for coefficient, least in ((cohen, 10),):
        assert coefficient(answers, ci="none")["reason"][0] is None
        row = coefficient(sparse, ci="items").row(0, named=True)
        assert row["low"] <= row["estimate"] <= row["high"]
        assert row["reason"].startswith(f"half of the pairs of raters share fewer than {least} items")
        assert coefficient(sparse[:2], ci="none")["reason"][0] is None, "two raters are no mean over pairs"


def test_an_item_that_raters_answered_twice_is_one_item() -> None:
    once = pl.DataFrame({"item": [1, 2, 3, 1, 2], "rater": [*"aaabb"], "value": [1, 2, 2, 1, 1]})
    found = rater_matrix(pl.concat([once, once.filter(rater="a"), once])).row(0, named=True)
    assert (found["items"], found["judgments"]) == (2, 10)
    assert found["estimate"] == rater_matrix(once)["estimate"][0]
