"""Reliability and aggregation of W&C-Sent (Ayesh, Mohammad and Ousidhoum 2026), recomputed from the release.

The paper's text names other formulas than its numbers follow: its split-half reliability is Spearman's
correlation of medians without the Spearman–Brown step, and its coarse labels are the sign of high votes minus
low votes, which ignores neutral ones. The tests name the variant by the measures' options.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vantage.measures.aggregation.labels import aggregate
from vantage.measures.variance.rater_quality import rater_quality
from vantage.measures.variance.reliability import reliability
from vantage.measures.variance.split_half import split_half

pytestmark = pytest.mark.data

DIMENSIONS = ("Trust", "Sociability", "Competence")


@pytest.fixture(scope="module")
def ratings(data_dir: Path) -> pl.DataFrame:
    file = data_dir / "wcsent" / "WC-Sent_Long_with_Individual_Scores_and_Annotator_ID.csv"
    return pl.read_csv(file).select(
        item=pl.col("Text") + "|" + pl.col("Target"),
        question="Dimension",
        rater="Annotator_ID",
        value="Score",
    )


@pytest.fixture(scope="module")
def released(data_dir: Path) -> pl.DataFrame:
    full = pl.read_csv(data_dir / "wcsent" / "WC-Sent_Full_Dataset_with_Final_Scores.csv")
    return full.select(pl.col("Text") + "|" + pl.col("Target"), *DIMENSIONS).unpivot(
        on=DIMENSIONS, index="Text", variable_name="question", value_name="final"
    )


def by_dimension(found: pl.DataFrame, column: str = "estimate") -> list[Any]:
    values = dict(found.select("question", column).iter_rows())
    return [values[dimension] for dimension in DIMENSIONS]


def show(what: str, published: list[Any], recomputed: list[Any]) -> None:
    for dimension, paper, ours in zip(DIMENSIONS, published, recomputed, strict=True):
        print(f"{what}, {dimension}: published {paper}, recomputed {ours:.4g}")  # noqa: T201


def test_split_half_reliability(ratings: pl.DataFrame) -> None:
    found = split_half(ratings, by="question", aggregate="median", correlation="spearman", splits=1000)
    ours = by_dimension(found)
    show("split-half, Spearman of medians", [0.76, 0.68, 0.56], ours)
    # The notes' own 1,000 splits gave .7635, .6842 and .5552; competence sits on the edge of rounding to .56.
    assert ours == pytest.approx([0.764, 0.684, 0.555], abs=0.002)
    assert ours == pytest.approx([0.76, 0.68, 0.56], abs=0.006)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"correlation": "spearman"}, [0.782, 0.721, 0.571]),
        ({}, [0.792, 0.732, 0.573]),
        ({"spearman_brown": True}, [0.887, 0.848, 0.733]),
    ],
)
def test_the_means_that_the_text_implies_do_not_give_the_published_values(
    ratings: pl.DataFrame, options: Any, expected: list[float]
) -> None:
    ours = by_dimension(split_half(ratings, by="question", splits=300, **options))
    assert ours == pytest.approx(expected, abs=0.003)
    assert ours != pytest.approx([0.76, 0.68, 0.56], abs=0.01)


@pytest.mark.parametrize(
    ("dimension", "published"),
    [("Trust", [945, 105, 583]), ("Sociability", [1012, 85, 536]), ("Competence", [773, 162, 698])],
)
def test_table_2_counts_votes_that_ignore_neutral(ratings: pl.DataFrame, dimension: str, published: list[int]) -> None:
    found = aggregate(ratings.filter(question=dimension), per="band", method="signs", ties="neutral")
    print(f"Table 2, {dimension}: published {published}, recomputed {found['count'].to_list()}")  # noqa: T201
    assert found["band"].to_list() == ["low", "neutral", "high"]
    assert found["count"].to_list() == published


def test_the_rule_that_the_appendix_describes_gives_other_counts(ratings: pl.DataFrame) -> None:
    found = aggregate(ratings, per="band", method="majority", coarse=True, ties="neutral")
    neutral = found.filter(pl.col("band") == "neutral")
    assert by_dimension(neutral, "count") == [354, 273, 407]


def test_final_scores_are_means_rounded_half_up(ratings: pl.DataFrame, released: pl.DataFrame) -> None:
    ours = aggregate(ratings, method="mean", rounding="half_up")
    joined = ours.join(released, left_on=["item", "question"], right_on=["Text", "question"])
    assert len(joined) == 4899
    assert (joined["value"] == joined["final"]).sum() == 4899
    even = aggregate(ratings, method="mean", rounding="half_even")
    other = even.join(released, left_on=["item", "question"], right_on=["Text", "question"])
    assert (other["value"] != other["final"]).sum() == 7 + 34 + 45


def test_signs_of_the_final_scores(ratings: pl.DataFrame) -> None:
    found = aggregate(ratings, per="band", method="mean", rounding="half_up")
    counts = {dimension: found.filter(question=dimension)["count"].to_list() for dimension in DIMENSIONS}
    assert counts == {"Trust": [874, 248, 511], "Sociability": [867, 309, 457], "Competence": [640, 424, 569]}
    assert found.group_by("band").agg(pl.col("count").sum()).sort("band").rows() == [
        ("high", 1537),
        ("low", 2381),
        ("neutral", 981),
    ]


def test_tied_votes_are_more_than_the_paper_says(ratings: pl.DataFrame) -> None:
    open_ties = aggregate(ratings, per="band", method="signs", ties="none")
    ties = by_dimension(open_ties, "undecided")
    show("tied votes", [63, 66, 122], ties)
    # Published: 251 in all. No documented variant reaches that from the released ratings; this one is pinned.
    assert ties == [82, 81, 151]


def test_how_many_raters_a_reliability_of_nine_tenths_needs(ratings: pl.DataFrame) -> None:
    found = reliability(ratings, by="question", target=0.9, up_to=20)
    # Items have 5.1 to 5.4 answers: stepped-up halves of them are about as reliable as five raters.
    at_five = by_dimension(found.filter(pl.col("k") == 5))
    assert at_five == pytest.approx([0.883, 0.845, 0.728], abs=0.01)
    reached = found.filter(pl.col("estimate") >= 0.9).group_by("question").agg(pl.col("k").min())
    assert by_dimension(found.unique(["question", "needed"]), "needed") == by_dimension(reached, "k")
    assert by_dimension(reached, "k") == [6, 9, 18]


def test_raters_to_look_at_first(ratings: pl.DataFrame) -> None:
    found = rater_quality(ratings, by="question")
    assert by_dimension(found.group_by("question").len("raters_found"), "raters_found") == [77, 73, 66]
    worst = found.filter(question="Competence").row(0, named=True)
    assert worst["flags"] == ["agrees little with the others (r = −0.15, typically 0.57)"]
    assert worst["low"] < worst["estimate"] < 0 < worst["high"], "that it runs against the others is not shown"
