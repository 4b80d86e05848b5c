"""k-means, names from positions, and the number of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from tests.often import times
from vantage.errors import InputError
from vantage.measures.texts.clusters import described, k_table, kmeans, position_names

CENTRES = np.array([[4.4, 2.4], [2.2, 4.2], [1.8, 1.8], [4.4, 4.4], [3.1, 3.0]])


def planted(each: int = 8, spread: float = 0.1, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.repeat(CENTRES, each, axis=0) + rng.normal(0, spread, (5 * each, 2))


def names(n: int) -> list[str]:
    return [f"g{i:02}" for i in range(n)]


def test_planted_clusters_are_found_and_named_by_position() -> None:
    points = planted()
    found = kmeans(names(len(points)), points)
    assert set(found.names) == {"HC-LW", "LC-HW", "LC-LW", "HC-HW", "MC-MW"}
    truth = np.repeat(["HC-LW", "LC-HW", "LC-LW", "HC-HW", "MC-MW"], 8)
    assert [found.of(item) for item in found.items] == truth.tolist()


def test_a_centroid_is_the_mean_of_its_members_on_every_axis() -> None:
    points = np.random.default_rng(1).uniform(1, 5, (60, 2))
    found = kmeans(names(60), points)
    table = found.table()
    for row in table.iter_rows(named=True):
        inside = np.array([found.of(item) == row["cluster"] for item in found.items])
        assert [row["competence"], row["warmth"]] == pytest.approx(points[inside].mean(axis=0).tolist())
        assert row["items"] == inside.sum()


@settings(max_examples=8)
@given(st.integers(0, 10_000), st.integers(2, 7))
def test_as_good_as_the_peer_and_no_cluster_is_lost(seed: int, k: int) -> None:
    points = np.random.default_rng(seed).uniform(1, 5, (50, 2))
    found = kmeans(names(50), points, k=k)
    peer = KMeans(n_clusters=k, n_init=10, random_state=0).fit(points)
    inertia = np.square(found.points - found.centroids[found.labels]).sum()
    assert inertia <= peer.inertia_ * 1.002
    assert len(set(found.names)) == k
    assert set(found.labels.tolist()) == set(range(k))


def test_the_same_seed_gives_the_same_clusters_in_any_order_of_items() -> None:
    points = np.random.default_rng(3).uniform(1, 5, (40, 2))
    found = kmeans(names(40), points)
    order = np.random.default_rng(4).permutation(40)
    again = kmeans([names(40)[i] for i in order], points[order])
    assert {item: found.of(item) for item in found.items} == {item: again.of(item) for item in again.items}


def test_clusters_that_would_share_a_name_are_numbered() -> None:
    points = np.array([[4.9, 2.0], [5.0, 2.1], [3.8, 1.5], [3.7, 1.4], [1.0, 1.0], [1.1, 1.1]])
    found = kmeans(names(6), points, k=3)
    assert sorted(found.names) == ["HC-LW 1", "HC-LW 2", "LC-LW"]
    assert described("HC-LW 2") == "high competence, low warmth (2)"


def test_the_level_comes_first_and_then_the_difference() -> None:
    # Homeless and poor people are seen as neither able nor warm, whatever the model says of others.
    assert position_names(np.array([[2.08, 2.68], [1.2, 2.4]]), scale=(1, 5)) == ("LC-MW", "LC<LW")
    # Beside a score that is much higher, one in the middle is low, and the other way round.
    assert position_names(np.array([[3.86, 3.08], [2.2, 3.0]]), scale=(1, 5)) == ("HC-LW", "LC-HW")
    assert described("LC<LW") == "low competence, low warmth, warmth above competence"
    assert position_names(np.array([[3.5, 3.0], [3.4, 3.0]]), scale=(1, 5)) == ("MC>MW", "MC-MW")
    assert position_names(np.array([[3.51, 3.0]]), scale=(1, 5)) == ("HC-MW",)


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_names_follow_from_the_place_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    centroids = rng.uniform(1, 5, (5, 2))
    for centroid, name in zip(centroids, position_names(centroids, scale=(1, 5)), strict=True):
        (alone,) = position_names(centroid[None], scale=(1, 5))
        assert name.split()[0] == alone
        beside = centroid[0] < 2.5 <= centroid[1] and centroid[1] - centroid[0] >= 0.75
        assert ("H" in alone.split("W")[0][-2:]) == (centroid[1] > 3.5 or beside)


def test_three_axes_have_a_letter_each() -> None:
    axes = ("agency", "beliefs", "communion")
    assert position_names(np.array([[6.0, 4.0, 1.0]]), axes=axes, scale=(1, 7)) == ("HA-MB-LC",)
    assert described("HA-MB-LC", axes) == "high agency, middle beliefs, low communion"


def test_the_silhouette_is_largest_at_the_planted_number() -> None:
    table = k_table(planted(12, 0.05), most=7)
    assert table["silhouette"][0] is None
    assert table.sort("silhouette", descending=True, nulls_last=True)["k"][0] == 5


def chosen(points: Any, **options: Any) -> int:
    return int(k_table(points, **options).filter("chosen")["k"].item())


def test_two_far_clusters_are_two() -> None:
    rng = np.random.default_rng(0)
    points = np.repeat(np.array([[1.0, 1.0], [5.0, 5.0]]), 20, axis=0) + rng.normal(0, 0.1, (40, 2))
    assert chosen(points, most=4) == 2


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.15])
def test_five_perfect_clusters_are_five(spread: float) -> None:
    assert chosen(planted(6, spread)) == 5


def test_how_sure_the_number_is_stands_beside_it() -> None:
    clear, blurred = k_table(planted(6, 0.05)), k_table(planted(6, 0.7))
    assert clear.filter(k=5)["again"].to_list() == [1.0]
    assert blurred["again"].max() < 0.9  # type: ignore[operator]
    for table in (clear, blurred):
        assert table["again"].sum() == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["uniform", "normal"])
def test_a_cloud_without_clusters_has_one_in_nearly_all_of_many_seeds(shape: str) -> None:
    ones = 0
    for seed in range(seeds := times(40, 16)):
        rng = np.random.default_rng(seed)
        cloud = rng.uniform(1, 5, (24, 2)) if shape == "uniform" else rng.normal(3, [0.5, 0.8], (24, 2))
        ones += chosen(cloud, most=6) == 1
    assert ones >= seeds - 2


@pytest.mark.slow
def test_clusters_like_those_of_people_are_found() -> None:
    """Five clusters at the means of Fiske et al. (2002), of 24 groups that are 0.1 points off on each score."""
    means = np.array([[4.29, 3.23], [2.28, 3.73], [1.97, 2.42], [3.78, 3.79], [3.16, 3.14]])
    found = [chosen(means[np.arange(24) % 5] + np.random.default_rng(n).normal(0, 0.1, (24, 2))) for n in range(8)]
    assert found.count(5) >= 7


def test_the_table_ends_before_every_item_is_alone() -> None:
    assert k_table(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 1.0]]))["k"].to_list() == [1, 2]


@pytest.mark.parametrize(
    ("points", "k", "says"),
    [
        (np.ones((3, 2)), 5, "3 items cannot make 5 clusters"),
        (np.ones((9, 2)), 2, "only 1 different"),
        (np.array([[1.0, np.nan]] * 6), 2, "without a score"),
        (np.ones((3, 2)), 0, "0 clusters"),
    ],
)
def test_what_cannot_be_clustered_is_refused(points: np.ndarray, k: int, says: str) -> None:
    with pytest.raises(InputError, match=says):
        kmeans(names(len(points)), points, k=k)
