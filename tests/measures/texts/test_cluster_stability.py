"""How sure clusters are, and how they compare with others."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from vantage.measures.texts.clusters import (
    kmeans,
    mean_over_runs,
    nearest_centroid,
    overlaps,
    rand_by_chance,
    run_replicates,
    stability,
)

CENTRES = np.array([[4.4, 2.4], [2.2, 4.2], [1.8, 1.8], [4.4, 4.4], [3.1, 3.0]])
LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


@given(LABELS)
def test_adjusted_rand_is_that_of_the_peer(pairs: list[tuple[int, int]]) -> None:
    one, two = zip(*pairs, strict=True)
    assert rand_by_chance(one, two, permutations=9)[0] == pytest.approx(adjusted_rand_score(one, two))


def test_firm_clusters_hold_and_loose_ones_do_not() -> None:
    rng = np.random.default_rng(0)
    points = np.repeat(CENTRES, 6, axis=0) + rng.normal(0, 0.05, (30, 2))
    found = kmeans([str(i) for i in range(30)], points)
    firm = stability(found, points[None] + rng.normal(0, 0.05, (60, 30, 2)))
    loose = stability(found, points[None] + rng.normal(0, 1.5, (60, 30, 2)))
    assert firm.summary()["agreement"] == pytest.approx(1.0)
    assert (firm.held == 1).all()
    agreement = loose.summary()["agreement"]
    assert agreement is not None
    assert agreement < 0.5


def test_resampled_runs_keep_what_is_known_and_centre_on_the_mean() -> None:
    rng = np.random.default_rng(1)
    cube = rng.normal(3, 0.5, (5, 2, 10))
    cube[0, 0, :9] = np.nan
    cube[1, 1, :] = np.nan
    means = mean_over_runs(cube)
    assert means[0, 0] == cube[0, 0, 9]
    assert np.isnan(means[1, 1])
    drawn = run_replicates(cube, resamples=500)
    assert drawn.mean(axis=0) == pytest.approx(means, abs=0.06, nan_ok=True)
    assert (drawn[:, 0, 0] == cube[0, 0, 9]).all()
    assert np.array_equal(drawn, run_replicates(cube, resamples=500), equal_nan=True)


def test_the_nearest_centroid_and_the_best_overlap() -> None:
    assert nearest_centroid(np.array([[4.0, 2.5], [2.0, 2.0]]), CENTRES).tolist() == [0, 2]
    first = {"a": "x", "b": "x", "c": "y", "only": "x"}
    found = overlaps(first, {"a": "1", "b": "2", "c": "2", "other": "1"})
    assert found.select("first", "items", "shared").rows() == [("x", 2, 1), ("y", 1, 1)]
    assert found["jaccard"].to_list() == [0.5, 0.5]


def test_the_permutation_test_of_the_rand_index_is_the_exhaustive_one() -> None:
    one, two = [0, 0, 0, 1, 1, 2], ["a", "a", "b", "b", "c", "c"]
    every = [adjusted_rand_score(one, order) for order in permutations(two)]
    found = adjusted_rand_score(one, two)
    exact = 2 * min(np.mean(np.array(every) >= found - 1e-9), np.mean(np.array(every) <= found + 1e-9))
    _, p, high = rand_by_chance(one, two, permutations=20_000, seed=1)
    assert p == pytest.approx(min(exact, 1.0), abs=0.02)
    assert high == pytest.approx(np.quantile(every, 0.95), abs=1e-9)


def test_clusters_without_pairs_are_no_surprise() -> None:
    assert rand_by_chance([0, 0, 0], ["a", "a", "a"])[1] == 1.0
    assert rand_by_chance([0, 1, 2], ["a", "b", "c"])[1] == 1.0


def test_the_permutation_test_has_its_size() -> None:
    rng = np.random.default_rng(0)
    p = [rand_by_chance(rng.integers(0, 5, 24), rng.integers(0, 5, 24), permutations=499)[1] for _ in range(300)]
    assert np.mean(np.array(p) < 0.05) < 0.08
