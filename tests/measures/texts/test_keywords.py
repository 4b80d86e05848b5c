"""Keywords through a dictionary: coverage, prevalence, direction and chance."""

from __future__ import annotations

import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures.texts.dictionary import Dictionary
from vantage.measures.texts.keywords import coverage, matched, profile

SMALL = Dictionary.of(
    {
        "Warmth": {"high": ["kind", "good-natured"], "low": ["cold"]},
        "Feeling": ["sad"],
        "Both": {"high": ["kind"]},
    }
)


def given(cluster_words: dict[str, list[list[str]]]) -> pl.DataFrame:
    """One item per list of words."""
    rows = [
        (f"{cluster}{n}", cluster, "m", word)
        for cluster, items in cluster_words.items()
        for n, words in enumerate(items)
        for word in words
    ]
    return pl.DataFrame(rows, schema=["item", "cluster", "rater", "keyword"], orient="row")


def row(table: pl.DataFrame, cluster: str, dimension: str) -> dict[str, object]:
    return table.filter(pl.col("cluster") == cluster, pl.col("dimension") == dimension).row(0, named=True)


def test_an_occurrence_has_a_row_for_each_of_its_dimensions() -> None:
    found = matched(pl.DataFrame({"keyword": ["Kind", "tall"]}), SMALL)
    assert found.select("occurrence", "stage", "dimension").rows() == [
        (0, "exact", "Warmth"),
        (0, "exact", "Both"),
        (1, None, None),
    ]
    with pytest.raises(InputError, match="no column 'keyword'"):
        matched(pl.DataFrame({"word": ["kind"]}), SMALL)


def test_coverage_counts_occurrences_and_different_words() -> None:
    found = coverage(matched(pl.DataFrame({"keyword": ["kind", "Kind", "good natured", "tall"]}), SMALL))
    assert found["found"].to_list() == [2, 1, 0, 0]
    assert found["covered"].to_list() == [0.5, 0.75, 0.75, 0.75]
    assert found["covered_words"].to_list() == pytest.approx([1 / 3, 2 / 3, 2 / 3, 2 / 3])


def test_planted_directions_and_prevalences_are_found() -> None:
    words = given({"warm": [["kind", "tall"]] * 10, "cool": [["cold", "tall"]] * 10})
    found = profile(matched(words, SMALL), SMALL, resamples=300)
    warm, cool = row(found, "warm", "Warmth"), row(found, "cool", "Warmth")
    assert (warm["direction"], cool["direction"]) == (1.0, -1.0)
    assert (warm["prevalence"], cool["prevalence"]) == (0.5, 0.5)
    assert warm["direction_chance"] == pytest.approx(0.0, abs=0.05)
    assert float(str(warm["direction_p"])) < 0.01
    # Both clusters use the dimension equally often, as chance would have it.
    assert warm["prevalence_chance"] == pytest.approx(0.5)
    assert warm["dictionary_direction"] == pytest.approx(1 / 3)


def test_a_word_that_is_given_often_counts_often() -> None:
    words = given({"one": [["kind", "kind", "kind", "cold"]], "two": [["tall"]]})
    assert row(profile(matched(words, SMALL), SMALL, resamples=50), "one", "Warmth")["direction"] == 0.5


def test_a_dimension_without_direction_never_looks_positive() -> None:
    words = given({"one": [["sad", "sad"]], "two": [["tall"]]})
    found = row(profile(matched(words, SMALL), SMALL, resamples=50), "one", "Feeling")
    assert found["direction"] is None
    assert found["reason"] == "the dictionary gives this dimension no direction"
    assert found["prevalence"] == 1.0


def test_a_word_without_direction_leaves_the_others_their_mean() -> None:
    # The published dictionary has `consistent` in Morality without a direction.
    mixed = Dictionary(
        "mixed",
        {**SMALL.words, "consistent": (type(SMALL.words["kind"][0])("Warmth", None),)},
    )
    words = given({"one": [["kind", "consistent"]], "two": [["tall"]]})
    found = row(profile(matched(words, mixed), mixed, resamples=50), "one", "Warmth")
    assert (found["direction"], found["prevalence"]) == (1.0, 1.0)


def test_intervals_and_seeds() -> None:
    words = given({"a": [["kind"], ["cold"], ["kind"], ["tall"]], "b": [["cold"], ["cold"], ["kind"], ["tall"]]})
    one, two = (profile(matched(words, SMALL), SMALL, resamples=200, seed=3) for _ in range(2))
    assert one.equals(two)
    found = row(one, "a", "Warmth")
    assert float(str(found["direction_low"])) <= float(str(found["direction"])) <= float(str(found["direction_high"]))


def test_an_item_in_two_classes_is_refused() -> None:
    words = pl.DataFrame({"item": ["a", "a"], "cluster": ["x", "y"], "keyword": ["kind", "cold"]})
    with pytest.raises(InputError, match="several values of 'cluster'"):
        profile(matched(words, SMALL), SMALL)


def test_raters_are_kept_apart() -> None:
    words = pl.concat(
        [
            given({"x": [["kind"]], "y": [["cold"]]}),
            given({"x": [["cold"]], "y": [["kind"]]}).with_columns(pl.lit("n").alias("rater")),
        ]
    )
    found = profile(matched(words, SMALL), SMALL, by="rater", resamples=50)
    signs = found.filter(pl.col("dimension") == "Warmth").select("rater", "cluster", "direction").rows()
    assert signs == [("m", "x", 1.0), ("m", "y", -1.0), ("n", "x", -1.0), ("n", "y", 1.0)]
