from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from vantage import Corpus, InputError, Instrument, Scale
from vantage.measures.aggregation.labels import aggregate, competence, soft_labels
from vantage.measures.base import RESULT
from vantage.scales import Band, OptOut

WARMTH = Scale.points(
    -3,
    3,
    bands=[Band("low", at_most=-0.5), Band("neutral", above=-0.5, below=0.5), Band("high", at_least=0.5)],
    opt_outs=[OptOut("not_mentioned", "not mentioned")],
)
ROWS = [
    # item, question, rater, value, status
    ("a", "trust", "x", -2.0, "answered"),
    ("a", "trust", "y", 1.0, "answered"),
    ("a", "trust", "z", -1.0, "answered"),
    ("a", "stance", "x", 2.0, "answered"),
    ("a", "stance", "y", 2.0, "answered"),
    ("a", "stance", "z", 0.0, "answered"),
    ("b", "trust", "x", 1.0, "answered"),
    ("b", "trust", "y", -1.0, "answered"),
    ("b", "trust", "z", None, "not_mentioned"),
    ("b", "stance", "x", None, "refused"),
    ("b", "stance", "y", None, "refused"),
    ("c", "trust", "x", 0.0, "answered"),
    ("c", "trust", "y", 0.0, "answered"),
    ("c", "trust", "z", 3.0, "answered"),
]
FRAME = pl.DataFrame(ROWS, schema=["item", "question", "rater", "value", "status"], orient="row")
TRUST = FRAME.filter(question="trust")


@pytest.fixture
def corpus() -> Corpus:
    scales = {"trust": WARMTH, "stance": Scale.labels("against", "none", "favour")}
    return Corpus(
        items=pl.DataFrame({"item": ["a", "b", "c"], "target": ["T", "T", "U"]}),
        raters=pl.DataFrame({"rater": ["x", "y", "z"], "side": ["l", "r", "r"]}),
        judgments=FRAME,
        instruments=Instrument.of_questions("i", "I", scales),
    )


def values(frame: pl.DataFrame) -> list[Any]:
    return frame["value"].to_list()


def test_the_result_has_the_columns_of_judgments_and_of_results(corpus: Corpus) -> None:
    found = aggregate(corpus, method="majority", ties="lowest")
    assert found.columns == [
        "item", "question", "condition", "value", "band", "share", *RESULT, "measure", "options",
    ]  # fmt: skip
    assert found.select("item", "question", "value").rows() == [
        ("a", "stance", 2.0),
        ("a", "trust", -2.0),
        ("b", "stance", None),
        ("b", "trust", -1.0),
        ("c", "trust", 0.0),
    ]
    silent = found.row(2, named=True)
    assert silent["reason"] == "nobody gave an answer"
    assert silent["judgments"] == 0
    assert silent["left_out"] == {"not_mentioned": 0, "refused": 2}


def test_means_medians_and_their_rounding() -> None:
    assert values(aggregate(TRUST)) == pytest.approx([-2 / 3, 0.0, 1.0])
    assert values(aggregate(TRUST, method="median")) == [-1.0, 0.0, 0.0]
    halves = {"item": list("aabbcc"), "rater": [1, 2] * 3, "value": [-1, 0, 0, 1, 1, 2]}
    assert values(aggregate(halves)) == [-0.5, 0.5, 1.5]
    assert values(aggregate(halves, rounding="half_up")) == [0.0, 1.0, 2.0]
    assert values(aggregate(halves, rounding="half_even")) == [0.0, 0.0, 2.0]


def test_majorities_and_their_ties() -> None:
    assert values(aggregate(TRUST, method="majority")) == [None, None, 0.0]
    assert aggregate(TRUST, method="majority")["reason"].to_list() == ["several answers lead"] * 2 + [None]
    assert values(aggregate(TRUST, method="majority", ties="neutral")) == [0.0, 0.0, 0.0]
    assert values(aggregate(TRUST, method="majority", ties="lowest")) == [-2.0, -1.0, 0.0]
    drawn = values(aggregate(TRUST, method="majority", ties="random", seed=4))
    assert drawn[0] in {-2.0, 1.0, -1.0}
    assert drawn == values(aggregate(TRUST, method="majority", ties="random", seed=4))
    votes = {"item": ["a"] * 5, "rater": range(5), "value": [1, 1, 2, 3, 4]}
    assert values(aggregate(votes, method="majority")) == [1.0]
    assert aggregate(votes, method="majority")["share"].to_list() == [0.4]
    strict = aggregate(votes, method="strict-majority").row(0, named=True)
    assert (strict["value"], strict["reason"]) == (None, "no answer has more than half")


def test_signs_name_their_bands(corpus: Corpus) -> None:
    for data in (TRUST, corpus.filter(question="trust")):
        found = aggregate(data, method="signs", ties="neutral")
        assert found.select("value", "band").rows() == [(-1.0, "low"), (0.0, "neutral"), (1.0, "high")]
        assert found["share"].to_list() == pytest.approx([2 / 3, 0.0, 1 / 3])
    assert values(aggregate(TRUST, method="signs")) == [-1.0, None, 1.0]
    assert values(aggregate(TRUST, method="signs", ties="lowest")) == [-1.0, -1.0, 1.0]
    shifted = TRUST.with_columns(pl.col("value") + 4)
    assert values(aggregate(shifted, method="signs", ties="neutral", neutral=4)) == [-1.0, 0.0, 1.0]


def test_bands_hold_means_and_coarse_votes(corpus: Corpus) -> None:
    trust = corpus.filter(question="trust")
    assert aggregate(trust)["band"].to_list() == ["low", "neutral", "high"]
    assert aggregate(TRUST)["band"].to_list() == ["low", "neutral", "high"]
    assert values(aggregate(trust, coarse=True)) == [-1.0, 0.0, 1.0]
    coarse = aggregate(trust, method="majority", coarse=True)
    assert values(coarse) == [-1.0, None, 0.0]
    assert coarse["band"].to_list() == ["low", None, "neutral"]
    assert coarse["share"].to_list() == pytest.approx([2 / 3, None, 2 / 3])
    # A mean of exactly −0.5 is low by the scale's bands, and neutral once it is rounded up.
    half = corpus.filter(pl.col("item") == "a", question="trust").filter(pl.col("rater") != "x")
    nudged = half.judgments.with_columns(value=pl.Series([0.0, -1.0]))
    again = Corpus(half.items, half.raters, nudged, half.instruments)
    assert aggregate(again)["band"].to_list() == ["low"]
    assert aggregate(again, rounding="half_up")["band"].to_list() == ["neutral"]


def test_a_scale_of_two_bands_has_places_on_both_sides_of_its_middle() -> None:
    scale = Scale.points(1, 4, bands=[Band("no", below=2.5), Band("yes", at_least=2.5)])
    judgments = pl.DataFrame({"item": ["a"] * 3, "question": "q", "rater": ["x", "y", "z"], "value": [1, 3, 4]})
    data = Corpus(
        pl.DataFrame({"item": ["a"]}),
        pl.DataFrame({"rater": ["x", "y", "z"]}),
        judgments,
        Instrument.of_questions("i", "I", {"q": scale}),
    )
    assert aggregate(data, method="majority", coarse=True).select("value", "band").row(0) == (0.5, "yes")
    assert aggregate(data, method="signs").select("value", "band").row(0) == (1.0, "high")
    assert aggregate(data, method="mean", per="band")["band"].to_list() == ["no", "yes"]
    with pytest.raises(InputError, match="no neutral answer"):
        aggregate(data, method="majority", ties="neutral")
    with pytest.raises(InputError, match="no neutral answer"):
        aggregate(data, method="majority", ties="neutral", coarse=True)


def test_groups_split_the_raters_of_a_unit(corpus: Corpus) -> None:
    found = aggregate(corpus.filter(question="trust"), by="side")
    assert found.select("side", "item", "value").rows() == [
        ("l", "a", -2.0),
        ("l", "b", 1.0),
        ("l", "c", 0.0),
        ("r", "a", 0.0),
        ("r", "b", -1.0),
        ("r", "c", 1.5),
    ]
    assert found["judgments"].to_list() == [1, 1, 1, 2, 1, 2]
    assert aggregate(corpus, by="question", method="majority", ties="lowest")["question"].to_list() == [
        "stance", "stance", "trust", "trust", "trust",
    ]  # fmt: skip


@pytest.mark.parametrize("method", ["mean", "median", "signs"])
def test_what_needs_an_order_refuses_a_nominal_question(corpus: Corpus, method: Any) -> None:
    with pytest.raises(InputError, match="'stance' has a nominal scale"):
        aggregate(corpus, method=method)


def test_refusals_name_the_remedy() -> None:
    with pytest.raises(InputError, match="did you mean 'majority'"):
        aggregate(TRUST, method="majorty")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="ties 'first' is not known"):
        aggregate(TRUST, ties="first")  # type: ignore[call-overload]
    one_to_five = {"item": ["a", "a"], "rater": [1, 2], "value": [2, 4]}
    with pytest.raises(InputError, match="give the option neutral"):
        aggregate(one_to_five, method="majority", ties="neutral")
    assert values(aggregate(one_to_five, method="majority", ties="neutral", neutral=3)) == [3.0]


def random_votes(seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 80)
    rows = [
        (f"i{i}", f"r{r}", float(truth[i] if rng.random() < 0.5 + r / 20 else rng.integers(0, 3)))
        for i in range(80)
        for r in rng.choice(9, 5, replace=False)
    ]
    return pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")


@pytest.mark.parametrize("method", ["mean", "median", "majority", "strict-majority", "signs", "dawid-skene", "mace"])
@pytest.mark.parametrize("ties", ["random", "none"])
def test_the_order_of_rows_makes_no_difference(method: Any, ties: Any) -> None:
    frame = random_votes()
    shuffled = frame.sample(fraction=1, shuffle=True, seed=9)
    assert aggregate(frame, method=method, ties=ties).equals(aggregate(shuffled, method=method, ties=ties))


def test_crowd_kit_counts_the_same_majorities() -> None:
    frame = random_votes(3)
    data = frame.to_dict(as_series=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = import_module("crowdkit.aggregation").MajorityVote()
        labels = peer.fit_predict(pd.DataFrame({"task": data["item"], "worker": data["rater"], "label": data["value"]}))
    ours = aggregate(frame, method="majority").drop_nulls("value")
    assert len(ours) > 60
    assert [labels[item] for item in ours["item"]] == values(ours)


def test_models_are_fitted_to_each_question_on_its_own() -> None:
    one, two = random_votes(1), random_votes(2)
    both = pl.concat([one.with_columns(question=pl.lit("p")), two.with_columns(question=pl.lit("q"))])
    pooled = aggregate(both, method="mace").filter(question="p").sort("item")
    alone = aggregate(one, method="mace").sort("item")
    assert pooled["value"].to_list() == alone["value"].to_list()
    assert pooled["share"].to_list() == alone["share"].to_list()
    assert alone["share"].min() > 1 / 3  # type: ignore[operator]


@pytest.mark.parametrize("method", ["mace", "dawid-skene"])
def test_competence_ranks_raters_by_skill(method: Any) -> None:
    found = competence(random_votes(5), method=method).sort("rater")
    assert found["rater"].to_list() == [f"r{i}" for i in range(9)]
    assert np.corrcoef(found["estimate"].to_numpy(), np.arange(9))[0, 1] > 0.5
    assert found["judgments"].sum() == 400
    with pytest.raises(InputError):
        competence(random_votes(), method="majority")  # type: ignore[call-overload]


def test_bands_count_units() -> None:
    found = aggregate(TRUST, method="signs", ties="neutral", per="band")
    assert found.select("band", "count", "undecided").rows() == [
        ("low", 1, 0),
        ("neutral", 1, 0),
        ("high", 1, 0),
    ]
    assert found["estimate"].to_list() == pytest.approx([1 / 3] * 3)
    open_ties = aggregate(TRUST, method="signs", per="band")
    assert open_ties["count"].to_list() == [1, 0, 1]
    assert open_ties["undecided"].to_list() == [1, 1, 1]
    by_mean = aggregate(TRUST, method="mean", ties="neutral", per="band")
    assert by_mean["count"].to_list() == [1, 1, 1]


def test_the_interval_of_a_share_is_wilsons() -> None:
    statsmodels = pytest.importorskip("statsmodels.stats.proportion")
    votes = {"item": range(40), "rater": ["x"] * 40, "value": [1] * 13 + [-1] * 27}
    high = aggregate(votes, method="signs", ties="neutral", per="band").row(2, named=True)
    low, up = statsmodels.proportion_confint(13, 40, method="wilson")
    assert (high["low"], high["high"]) == pytest.approx((low, up))
    with pytest.raises(InputError, match="confidence"):
        aggregate(votes, per="band", confidence=1.5)


def test_soft_labels_follow_the_scale(corpus: Corpus) -> None:
    found = soft_labels(corpus.filter(question="trust"), opt_outs=True)
    assert len(found) == 3 * 8
    b = found.filter(item="b")
    assert b["code"].to_list() == [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, None]
    assert b["answer"].to_list()[-1] == "not_mentioned"
    assert b["count"].to_list() == [0, 0, 1, 0, 1, 0, 0, 1]
    assert b["share"].to_list() == pytest.approx([0, 0, 1 / 3, 0, 1 / 3, 0, 0, 1 / 3])
    assert b["judgments"].to_list() == [3] * 8
    without = soft_labels(corpus.filter(question="trust")).filter(item="b")
    assert without["share"].to_list() == pytest.approx([0, 0, 0.5, 0, 0.5, 0, 0])
    assert without["left_out"][0] == {"not_mentioned": 1}


def test_soft_labels_of_every_question_at_once(corpus: Corpus) -> None:
    found = soft_labels(corpus)
    assert found.filter(question="stance", item="a")["answer"].to_list() == ["against", "none", "favour"]
    silent = found.filter(question="stance", item="b")
    assert silent["share"].to_list() == [None] * 3
    assert silent["reason"].to_list() == ["nobody gave an answer"] * 3
    totals = found.drop_nulls("share").group_by("item", "question").agg(pl.col("share").sum())
    assert totals["share"].to_list() == pytest.approx([1.0] * len(totals))


def test_smoothing_adds_to_every_count() -> None:
    votes = {"item": ["a", "a", "b"], "rater": [1, 2, 1], "value": [0, 0, 1]}
    assert soft_labels(votes, smoothing=1)["share"].to_list() == pytest.approx([3 / 4, 1 / 4, 1 / 3, 2 / 3])
    with pytest.raises(InputError, match="smoothing"):
        soft_labels(votes, smoothing=-1)


@pytest.mark.parametrize("measure", [aggregate, soft_labels, competence])
def test_nothing_but_missing_answers(measure: Any) -> None:
    nothing = pl.DataFrame(
        {"item": ["a", "b"], "rater": ["x", "x"], "value": pl.Series([None, None], dtype=pl.Float64)}
    )
    found = measure(nothing)
    assert found["estimate"].null_count() == len(found)
    assert found["reason"].null_count() == 0


@pytest.mark.parametrize("method", ["mean", "majority", "signs", "dawid-skene", "mace"])
def test_one_rater_one_item_and_everyone_identical(method: Any) -> None:
    alone = aggregate({"item": ["a"], "rater": ["x"], "value": [1.0]}, method=method, neutral=0)
    assert values(alone) == [1.0]
    same = aggregate([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], method=method, neutral=0)
    assert values(same) == [1.0, 1.0, 1.0]


def test_bands_of_a_plain_table_need_a_neutral_point() -> None:
    votes = [[1, 5, 3], [2, 4, 3]]
    assert aggregate(votes)["band"].to_list() == [None, None, None]
    assert aggregate(votes, neutral=3)["band"].to_list() == ["low", "high", "neutral"]
    for method in ("signs", "mean"):
        with pytest.raises(InputError, match="give the option neutral"):
            aggregate(votes, method=method, per="band")


@pytest.mark.parametrize("method", ["mace", "dawid-skene"])
def test_two_raters_do_not_tell_who_is_right(method: Any) -> None:
    for votes in ([[0, 1, 0, 1]], [[0, 1, 0, 1], [0, 0, 1, 1]]):
        found = aggregate(votes, method=method)
        apart = [] if len(votes) == 1 else [1, 2]
        assert found["value"].is_null().arg_true().to_list() == apart
        assert found["share"].null_count() == 4
        assert set(found["reason"]) == {"fewer than three raters: the answers alone do not tell which of them is right"}
        skill = competence(votes, method=method)
        assert skill["estimate"].null_count() == len(votes)
        assert skill["reason"].null_count() == 0


def test_who_always_gives_the_only_answer_may_know_it_or_guess() -> None:
    found = competence([[1] * 20] * 3 + [[1] * 19 + [2]])
    assert found["estimate"].null_count() == 4
    assert found["reason"][0].startswith("most raters gave one answer to all of these items")
    assert (competence([[1] * 20] * 3 + [[1] * 19 + [2]], method="dawid-skene")["estimate"] > 0.9).all()


def test_answers_that_are_equally_probable_leave_no_value() -> None:
    even = aggregate([[0, 1], [0, 1], [1, 0], [1, 0]], method="dawid-skene")
    assert even["value"].to_list() == [None, None]
    assert even["share"].to_list() == [None, None]
    assert set(even["reason"]) == {"two answers are equally probable"}
