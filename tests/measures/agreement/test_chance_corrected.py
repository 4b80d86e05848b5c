"""Fleiss', Randolph's and Gwet's coefficients against published values, definitions and peers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
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
from statsmodels.stats.inter_rater import fleiss_kappa

from vantage.errors import InputError
from vantage.measures.agreement.chance_corrected import ac1, fleiss, randolph, weight_matrix

N = float("nan")
FLEISS_1971 = np.array(  # Fleiss (1971), table 1: 30 patients, 6 psychiatrists, 5 diagnoses
    [
        [*map(int, row)]
        for row in (
            "00060", "03003", "01401", "00006", "03030", "20400", "00402", "20310", "20040", "00006",
            "10050", "11040", "03300", "10050", "02031", "00501", "30012", "51000", "02040", "10203",
            "00006", "01050", "02013", "20040", "10041", "05010", "40002", "02040", "10500", "00006",
        )
    ]
)  # fmt: skip
GWET = [  # the four observers of Gwet (2014), twelve units with gaps, as in irrCAC
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]
Table = NDArray[np.float64]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    shape = draw(st.integers(2, 5)), draw(st.integers(2, 7))
    table: Table = draw(arrays(np.float64, shape, elements=st.sampled_from([0.0, 1.0, 2.0, 3.0, N])))
    return table


def one(frame: pl.DataFrame) -> Any:
    return frame["estimate"][0]


def raters_of(counts: NDArray[np.int_]) -> Table:
    """A table of raters × items with the given counts of categories."""
    return np.array([np.repeat(np.arange(len(row)), row) for row in counts], dtype=float).T


def test_fleiss_1971() -> None:
    found = fleiss(raters_of(FLEISS_1971)).row(0, named=True)
    assert found["estimate"] == pytest.approx(0.430, abs=5e-4)
    assert found["estimate"] == pytest.approx(fleiss_kappa(FLEISS_1971), abs=1e-12)
    assert found["low"] < 0.43 < found["high"]
    assert randolph(raters_of(FLEISS_1971), ci="none")["estimate"][0] == pytest.approx(
        fleiss_kappa(FLEISS_1971, method="randolph"), abs=1e-12
    )


def test_gwet_examples() -> None:
    assert one(fleiss(GWET, ci="none")) == pytest.approx(0.76117, abs=5e-5)
    assert one(ac1(GWET, ci="none")) == pytest.approx(0.77544, abs=5e-5)
    assert one(randolph(GWET, ci="none")) == pytest.approx(0.77273, abs=5e-5)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic", "ordinal"])
@pytest.mark.parametrize("seed", [1, 2])
def test_equal_the_peer(weights: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.clip(rng.integers(1, 6, 40) + rng.integers(-1, 2, (5, 40)), 1, 5).astype(float)
    table[rng.random(table.shape) < 0.3] = N
    cac = CAC(pd.DataFrame(table.T), weights=weights or "identity", digits=12)
    for ours, theirs in ((fleiss, cac.fleiss), (ac1, cac.gwet), (randolph, cac.bp)):
        assert one(ours(table, agreement_weights=weights, ci="none")) == pytest.approx(
            theirs()["est"]["coefficient_value"], abs=1e-9
        )


def by_definition(table: Table, chance: str, weights: Any) -> float | None:
    """The coefficient from pairs of raters, one item after the other."""
    items = [[int(v) for v in column if not np.isnan(v)] for column in table.T]
    items = [item for item in items if item]
    codes = sorted({v for item in items for v in item})
    weight = weight_matrix(weights, np.array(codes, dtype=float))
    paired = [item for item in items if len(item) > 1]
    if not paired:
        return None
    q = len(codes)

    def w(a: int, b: int) -> float:
        return float(weight[codes.index(a), codes.index(b)])

    observed = np.mean([np.mean([w(a, b) for a, b in permutations(item, 2)]) for item in paired])
    share = {c: float(np.mean([item.count(c) / len(item) for item in items])) for c in codes}
    if chance == "fleiss":
        expected = sum(w(a, b) * share[a] * share[b] for a in codes for b in codes)
    elif chance == "gwet":
        expected = weight.sum() / (q * (q - 1)) * sum(p * (1 - p) for p in share.values()) if q > 1 else 1.0
    else:
        used = sorted({v for item in paired for v in item})
        expected = weight_matrix(weights, np.array(used, dtype=float)).mean()
        if weights is not None:
            weight, codes = weight_matrix(weights, np.array(used, dtype=float)), used
            observed = np.mean([np.mean([w(a, b) for a, b in permutations(item, 2)]) for item in paired])
    return None if 1 - expected < 1e-12 else float((observed - expected) / (1 - expected))


@pytest.mark.parametrize(("measure", "chance"), [(fleiss, "fleiss"), (ac1, "gwet"), (randolph, "uniform")])
@pytest.mark.parametrize("weights", [None, "quadratic"])
@given(table=tables())
@settings(max_examples=25, deadline=None)
def test_equal_the_definition(measure: Callable[..., pl.DataFrame], chance: str, weights: Any, table: Table) -> None:
    if chance == "uniform":  # items with one answer take no part, not even in what categories there are
        table = np.where((~np.isnan(table)).sum(axis=0) > 1, table, N)
    expected = by_definition(table, chance, weights)
    found = one(measure(table, agreement_weights=weights, ci="none"))
    assert found is None if expected is None else found == pytest.approx(expected, abs=1e-9)


@given(table=tables(), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_rows_and_names_do_not_matter(table: Table, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rater, item = np.nonzero(~np.isnan(table))
    order = rng.permutation(len(item))
    names = rng.permutation(table.shape[1])
    moved = {"item": names[item][order], "rater": -rater[order], "value": table[rater, item][order]}
    for measure in (fleiss, ac1, randolph):
        first, second = (measure(data, resamples=20).row(0, named=True) for data in (table, moved))
        for bound in ("estimate", "low", "high"):
            assert first[bound] == pytest.approx(second[bound], abs=1e-12)


@pytest.mark.parametrize("measure", [fleiss, ac1, randolph])
def test_degenerate_tables(measure: Callable[..., pl.DataFrame]) -> None:
    for alone in ([[1, 2, 3]], [[1, N], [N, 2]], [[N, N], [N, N]]):
        row = measure(alone).row(0, named=True)
        assert row["estimate"] is None
        assert row["reason"] == "no item has answers from two raters"
    row = measure([[1, 1, 1], [1, 1, 1]]).row(0, named=True)
    assert row["estimate"] is None
    assert row["reason"].startswith("chance alone")


def test_categories_that_nobody_chose_count() -> None:
    same = [[1, 1, 1], [1, 1, 1]]
    assert one(ac1(same, categories=[1, 2], ci="none")) == 1
    assert one(randolph(same, categories=[1, 2], ci="none")) == 1
    with pytest.raises(InputError, match="3 is not one of the categories"):
        ac1([[1, 3], [1, 3]], categories=[1, 2])
    with pytest.raises(InputError, match="weights 'cubic' is not known"):
        fleiss([[1, 3], [1, 3]], agreement_weights="cubic")  # type: ignore[call-overload]


def test_single_answers_count_towards_prevalence_only() -> None:
    with_single: list[list[float]] = [[1, 2, 1, 2], [1, 2, 2, N]]
    frame = fleiss(with_single, ci="none").row(0, named=True)
    assert frame["judgments"] == 7
    assert frame["left_out"] == {}
    assert randolph(with_single, ci="none")["left_out"][0] == {"unpaired": 1}


def test_many_categories() -> None:
    rng = np.random.default_rng(4)
    table = np.where(rng.random((4, 80)) < 0.6, np.arange(80) % 40, rng.integers(0, 40, (4, 80)))
    counts = np.apply_along_axis(np.bincount, 0, table, minlength=40).T
    assert one(fleiss(table.astype(float), ci="none")) == pytest.approx(fleiss_kappa(counts), abs=1e-12)
