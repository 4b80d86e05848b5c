"""Each error of the published code and text, as listed in the documentation, cannot happen here."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.texts.clusters import kmeans
from vantage.raters.replies import parse_replies, parse_reply
from vantage.studies.base import find
from vantage.studies.stereomap.analysis import Stereomap, one_against_another, place
from vantage.studies.stereomap.groups import groups_corpus, published_groups, read_groups
from vantage.studies.stereomap.relations import correlation_pairs, correlations

EXTENDED = Instrument.load("stereotype-content:extended")
FRIENDLY = EXTENDED.question("friendly")
PAIR = [EXTENDED.question("friendly"), EXTENDED.question("sociable")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Overall rating: 3/5", 3),
        ("4 out of 5", 4),
        ("**Friendly:** 4/5", 4),
        ("The rating is 3 on a scale of 1 to 5", 3),
    ],
)
def test_a_number_out_of_five_is_not_read_as_five(text: str, value: float) -> None:
    assert parse_reply(text, FRIENDLY).value == value


@pytest.mark.parametrize("text", ["10", "Rating: 7", "3 or 4", "0"])
def test_a_number_off_the_scale_or_a_range_is_no_answer(text: str) -> None:
    assert parse_reply(text, FRIENDLY).value is None


def test_a_bullet_is_no_part_of_the_name_and_no_block_is_lost() -> None:
    replies = parse_replies("- Friendly: 4\n\n- Sociable: 2", PAIR)
    assert [replies[question.id].value for question in PAIR] == [4.0, 2.0]


def test_an_item_that_is_missing_is_noticed() -> None:
    assert parse_replies("- Friendly: 4", PAIR)["sociable"].rule == "missing"


def test_a_reply_without_the_expected_text_is_no_crash() -> None:
    assert parse_replies("Nothing of the kind.", PAIR)["friendly"].status == "unparsed"
    assert parse_replies(None, PAIR)["friendly"].status == "unparsed"


def test_an_answer_cannot_count_twice() -> None:
    corpus = groups_corpus(read_groups("nurses"), EXTENDED)
    twice = pl.DataFrame(
        {"item": ["nurses"] * 2, "question": "friendly", "rater": "m", "sample": 0, "value": [3.0, 3.0]}
    )
    with pytest.raises(InputError):
        corpus.add(twice, pl.DataFrame({"rater": ["m"], "kind": ["model"]}))


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_every_group_has_a_cluster_and_no_two_clusters_share_a_name(seed: int) -> None:
    items = [group.id for group in published_groups()]
    points = np.random.default_rng(seed).uniform(1, 5, (len(items), 2))
    found = kmeans(items, points, n_init=10)
    assert len(set(found.names)) == 5
    assert len(found.labels) == len(found.items) == len(items)


def runs(values: np.ndarray, n: int = 8, spread: float = 0.3, seed: int = 0) -> pl.DataFrame:
    """Answers of groups whose true competence and warmth are given, all other questions 3."""
    rng = np.random.default_rng(seed)
    of = {
        "competent": 0,
        "skilled": 0,
        "confident": 0,
        "assertive": 0,
        "friendly": 1,
        "sociable": 1,
        "trustworthy": 1,
        "honest": 1,
    }
    rows = [
        (f"g{item:02}", question, "m", "", sample, float(true[axis] + rng.normal(0, spread)), "answered")
        for item, true in enumerate(values)
        for question, axis in of.items()
        for sample in range(n)
    ]
    columns = ["item", "question", "rater", "condition", "sample", "value", "status"]
    return pl.DataFrame(rows, schema=columns, orient="row")


@pytest.mark.slow
def test_tests_are_not_made_on_the_runs_that_chose_the_groups() -> None:
    # All groups are alike: whatever clusters come out are made of noise. Tested on the very same means, most of them
    # would differ; with every group where the other runs put it, and counting that runs share these, few do.
    honest, circular = [], []
    for seed in range(30):
        (source,) = place(runs(np.full((30, 2), 3.0), spread=0.6, seed=seed, n=10), EXTENDED, k=5, resamples=10)
        assert source.clusters is not None
        honest += one_against_another(source)["p"].drop_nulls().to_list()
        points = source.points
        for label in range(5):
            inside = points[source.clusters.labels == label]
            if len(inside) > 2:
                circular.append(float(stats.ttest_rel(inside[:, 0], inside[:, 1]).pvalue))
    assert np.mean(np.array(circular) < 0.05) > 0.3
    assert np.mean(np.array(honest) < 0.05) < 0.07


def test_a_small_cluster_is_tested_over_runs_and_shows_its_effect() -> None:
    # Two groups: over groups p < .001 would need t > 636. Over eight runs the difference is plain.
    values = np.array([[4.2, 3.2], [4.3, 3.3]] + [[2.0, 2.0]] * 4 + [[3.0, 3.0]] * 4)
    (source,) = place(
        runs(values + np.random.default_rng(0).normal(0, 0.02, values.shape)), EXTENDED, k=3, resamples=10
    )
    row = one_against_another(source).filter(pl.col("cluster") == "HC-LW").row(0, named=True)
    assert row["relation"] == ">"
    assert row["p"] < 0.001
    assert row["dz"] > 2


def test_correlations_are_over_groups_with_their_number() -> None:
    values = np.random.default_rng(0).uniform(1, 5, (20, 2))
    corpus = groups_corpus(read_groups(", ".join(f"g{n:02}" for n in range(20))), EXTENDED)
    told = runs(values).with_columns(pl.col("value").round().clip(1, 5))
    extra = told.filter(question="friendly").with_columns(pl.lit("fight").alias("question"))
    extra = pl.concat([extra, extra.with_columns(pl.lit("attack").alias("question"))])
    corpus = corpus.add(pl.concat([told, extra]), pl.DataFrame({"rater": ["m"], "kind": ["model"]}))
    found = correlations(Stereomap(corpus, find("stereomap").options(k=3, resamples=10)))
    assert found is not None
    row = found.frame.filter(first="warmth", second="active-harm").row(0, named=True)
    assert (row["items"], row["estimate"] > 0.8) == (20, True)
    assert correlation_pairs(["competence", "warmth"]) == []
    assert ("competence", "passive-facilitation") in correlation_pairs(["competence", "passive-facilitation"])


def test_the_stars_of_table_8_do_not_fit_98_groups() -> None:
    def p(r: float, n: int = 98) -> float:
        return float(2 * stats.t.sf(abs(r) * np.sqrt((n - 2) / (1 - r * r)), n - 2))

    assert p(-0.21) > 0.01
    assert p(0.19) > 0.05
    assert p(0.32) > 0.001
    assert p(0.31) > 0.001
    assert p(0.51) < 0.001
    assert p(0.30) < 0.01


def test_significance_of_small_clusters_in_tables_2_and_5() -> None:
    # p < .001 in a paired t-test over the groups of a cluster: two groups need t > 636, five need t > 8.6.
    assert float(stats.t.ppf(1 - 0.0005, 1)) == pytest.approx(636.6, abs=0.1)
    assert float(stats.t.ppf(1 - 0.0005, 4)) == pytest.approx(8.61, abs=0.01)


def test_every_published_group_keeps_its_judgments_whatever_the_case_of_its_name() -> None:
    corpus = groups_corpus(published_groups(), EXTENDED)
    assert isinstance(corpus, Corpus)
    rows = pl.DataFrame({"item": corpus.items["item"], "question": "friendly", "rater": "m", "value": 3.0})
    joined = corpus.add(rows, pl.DataFrame({"rater": ["m"], "kind": ["model"]})).with_columns_of(["label"])
    assert joined["label"].null_count() == 0
    assert len(joined) == 99
