"""Entropy, ambiguity and split items."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.variation.spread import ambiguity, entropy, split_items
from vantage.scales import Band, OptOut, Scale

STATUSES = ("answered", "ambiguous", "not_mentioned", "refused")


@st.composite
def judgments(draw: st.DrawFn) -> pl.DataFrame:
    """A small long table of one question, with opt-outs and refusals."""
    rows = [
        (f"i{item}", f"r{rater}", draw(st.sampled_from(STATUSES)), draw(st.integers(-1, 1)))
        for item in range(draw(st.integers(1, 5)))
        for rater in range(4)
    ]
    item, rater, status, value = zip(*rows, strict=True)
    values = [float(v) if s == "answered" else None for s, v in zip(status, value, strict=True)]
    return pl.DataFrame(
        {"item": item, "rater": rater, "status": status, "value": values},
        schema_overrides={"value": pl.Float64},
    )


def shannon(answers: list[Any]) -> float:
    shares = [n / len(answers) for n in Counter(answers).values()]
    return -sum(p * math.log(p) for p in shares)


def answers_of(table: pl.DataFrame, opt_outs: bool) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item, status, value in table.select("item", "status", "value").iter_rows():
        if value is not None or (opt_outs and status in {"ambiguous", "not_mentioned"}):
            found.setdefault(item, []).append(status if value is None else value)
    return found


@given(judgments(), st.booleans())
def test_entropy_is_the_mean_of_the_items_shannon_entropies(table: pl.DataFrame, opt_outs: bool) -> None:
    expected = [shannon(answers) for answers in answers_of(table, opt_outs).values() if len(answers) > 1]
    row = entropy(table, opt_outs=opt_outs, ci="none").row(0, named=True)
    if not expected:
        assert row["estimate"] is None
        assert row["reason"] == "no item has answers from two raters"
    else:
        assert row["estimate"] == pytest.approx(np.mean(expected), abs=1e-12)
        assert row["items"] == len(expected)
    assert row["judgments"] + sum((row["left_out"] or {}).values()) == len(table)


@given(judgments(), st.randoms(use_true_random=False))
def test_entropy_ignores_row_order_and_names(table: pl.DataFrame, random: Any) -> None:
    order = list(range(len(table)))
    random.shuffle(order)
    renamed = table[order].with_columns(
        pl.col("value") * 10 + 3, rater="r" + pl.col("rater"), item="x" + pl.col("item")
    )
    first, second = (entropy(t, resamples=50).drop("options") for t in (table, renamed))
    for column in ("estimate", "low", "high"):
        assert first[column].to_list() == pytest.approx(second[column].to_list(), abs=1e-12)


def test_entropy_agrees_with_scipy_in_bits() -> None:
    table = {"item": ["a"] * 6, "rater": list(range(6)), "value": [0, 0, 0, 1, 1, 2]}
    assert entropy(table, base="bits")["estimate"][0] == pytest.approx(stats.entropy([3, 2, 1], base=2))


def test_entropy_normalised_by_the_options_of_the_whole_table() -> None:
    table = {"item": ["a", "a", "b", "b"], "rater": [1, 2, 1, 2], "value": [0, 1, 2, 3]}
    # Two of four options: log 2 / log 4, also in a group that shows two of them only.
    by_item = entropy(table, by="item", normalise=True, ci="none")["estimate"].to_list()
    assert by_item == pytest.approx([0.5, 0.5])
    assert entropy(table, base="k", ci="none")["estimate"][0] == pytest.approx(0.5)


def corpus(scale: Scale, rows: Sequence[tuple[str, str, float | None, str]]) -> Corpus:
    item, rater, value, status = zip(*rows, strict=True)
    return Corpus(
        items=pl.DataFrame({"item": sorted(set(item)), "text": sorted(set(item))}),
        raters=pl.DataFrame({"rater": sorted(set(rater))}),
        judgments=pl.DataFrame(
            {"item": item, "rater": rater, "question": ["q"] * len(item), "value": value, "status": status},
            schema_overrides={"value": pl.Float64},
        ),
        instruments=Instrument.of_questions("test", "Test", {"q": scale}),
    )


def test_entropy_of_a_corpus_counts_the_scales_options_and_opt_outs() -> None:
    scale = Scale.labels("no", "yes", "maybe", opt_outs=[OptOut("ambiguous", "cannot tell")])
    data = corpus(scale, [("a", "r", 0.0, "answered"), ("a", "s", None, "ambiguous")])
    assert entropy(data, ci="none")["estimate"][0] is None
    row = entropy(data, opt_outs=True, normalise=True, ci="none").row(0, named=True)
    assert row["estimate"] == pytest.approx(math.log(2) / math.log(4))
    assert row["judgments"] == 2


def test_entropy_of_a_continuous_scale_is_undefined() -> None:
    data = corpus(Scale.continuous(0, 1), [("a", "r", 0.2, "answered"), ("a", "s", 0.7, "answered")])
    row = entropy(data).row(0, named=True)
    assert row["estimate"] is None
    assert "continuous" in row["reason"]


def test_item_rows_and_undefined_groups_stand_in_one_table() -> None:
    questions = {"q": Scale.points(1, 3), "slider": Scale.continuous(0, 1)}
    data = Corpus(
        items=pl.DataFrame({"item": ["a"], "text": ["a"]}),
        raters=pl.DataFrame({"rater": ["r", "s"]}),
        judgments=pl.DataFrame(
            {
                "item": ["a"] * 3,
                "rater": ["r", "s", "r"],
                "question": ["q", "q", "slider"],
                "value": [1.0, 2.0, 0.3],
            }
        ),
        instruments=Instrument.of_questions("test", "Test", questions),
    )
    rows = entropy(data, by="question", per="item").select("question", "item", "estimate").rows()
    assert rows == [("q", "a", pytest.approx(math.log(2))), ("slider", None, None)]


def test_item_rows_have_the_common_columns_and_average_to_the_estimate() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "item": np.repeat(np.arange(20), 5),
            "rater": np.tile(np.arange(5), 20),
            "value": rng.integers(0, 3, 100).astype(float),
            "topic": np.repeat(["x", "y"], 50),
        }
    )
    rows = entropy(table, by="topic", per="item")
    mean = entropy(table, by="topic", resamples=20)
    assert set(mean.columns) - set(rows.columns) == {"answers", "categories"}
    averaged = rows.group_by("topic").agg(pl.col("estimate").mean()).sort("topic")["estimate"]
    assert averaged.to_list() == pytest.approx(mean["estimate"].to_list())
    assert rows["judgments"].to_list() == [5] * 20


@given(judgments())
def test_ambiguity_is_the_mean_share_of_ambiguous(table: pl.DataFrame) -> None:
    shares = []
    for part in table.partition_by("item"):
        said = [s for s in part["status"] if s in {"answered", "ambiguous"}]
        if said:
            shares.append(said.count("ambiguous") / len(said))
    row = ambiguity(table, ci="none").row(0, named=True)
    assert row["estimate"] == (pytest.approx(np.mean(shares)) if shares else None)
    assert "ambiguous" not in (row["left_out"] or {})


def test_ambiguity_interval_is_that_of_a_mean() -> None:
    rng = np.random.default_rng(1)
    doubtful = rng.random((300, 4)) < 0.3
    table = pl.DataFrame(
        {
            "item": np.repeat(np.arange(300), 4),
            "rater": np.tile(np.arange(4), 300),
            "value": np.where(doubtful, np.nan, 1.0).ravel(),
            "status": np.where(doubtful, "ambiguous", "answered").ravel(),
        }
    ).with_columns(pl.col("value").fill_nan(None))
    row = ambiguity(table, ci="items").row(0, named=True)
    error = doubtful.mean(axis=1).std() / math.sqrt(300)
    assert row["low"] == pytest.approx(row["estimate"] - 1.96 * error, abs=0.006)
    assert row["high"] == pytest.approx(row["estimate"] + 1.96 * error, abs=0.006)


def test_split_items_uses_the_outer_bands() -> None:
    bands = [Band("low", at_most=2), Band("middle", above=2, below=4), Band("high", at_least=4)]
    scale = Scale.points(1, 5, bands=bands)
    rows = [("a", f"r{i}", float(v), "answered") for i, v in enumerate([1, 2, 4, 5])]
    rows += [("b", f"r{i}", float(v), "answered") for i, v in enumerate([3, 3, 4, 5])]
    table = split_items(corpus(scale, rows), per="item")
    assert table.select("item", "low_share", "high_share", "split").rows() == [
        ("a", 0.5, 0.5, True),
        ("b", 0.0, 0.5, False),
    ]
    assert split_items(corpus(scale, rows), ci="none")["estimate"][0] == 0.5
    # Around a point of one's own, the answer 3 of item b is neither.
    assert split_items(corpus(scale, rows), neutral=3.5, ci="none")["estimate"][0] == 1.0


def test_an_item_is_split_from_exactly_the_share_on() -> None:
    votes = {"item": ["a"] * 4, "rater": list("wxyz"), "value": [1, 3, 3, 5]}
    assert split_items(votes, neutral=3, share=0.25, ci="none")["estimate"].to_list() == [1.0]
    assert split_items(votes, neutral=3, share=0.26, ci="none")["estimate"].to_list() == [0.0]
    # One of three is more than a quarter, and one of five is less.
    for answers, split in (([1, 3, 5], 1.0), ([1, 3, 3, 3, 5], 0.0)):
        several = {"item": ["a"] * len(answers), "rater": list(range(len(answers))), "value": answers}
        assert split_items(several, neutral=3, ci="none")["estimate"].to_list() == [split]


def test_split_items_without_bands_splits_at_the_middle_of_a_positive_scale() -> None:
    data = corpus(Scale.points(1, 5), [("a", "r", 2.0, "answered"), ("a", "s", 4.0, "answered")])
    assert split_items(data, ci="none")["estimate"][0] == 1.0


@pytest.mark.parametrize(
    ("options", "opposed"),
    [
        ({"aggregate": "mean"}, 1),
        ({"aggregate": "median"}, 0),
        ({"aggregate": "votes"}, 1),
        ({"aggregate": "mean", "beyond": 0.5}, 0),
        ({"aggregate": "mean", "rounding": "half_up"}, 0),
    ],
)
def test_opposed_items_by_each_rule(options: dict[str, Any], opposed: int) -> None:
    # Trust is +3, warmth is (-1, 0, 0): mean -1/3, median 0, votes -1.
    table = {
        "item": ["a"] * 4,
        "question": ["trust", "warmth", "warmth", "warmth"],
        "rater": [1, 1, 2, 3],
        "value": [3, -1, 0, 0],
    }
    row = split_items(table, between="questions", ci="none", **options).row(0, named=True)
    assert (row["opposed"], row["estimate"]) == (opposed, float(opposed))


def test_opposed_items_need_two_questions() -> None:
    row = split_items({"item": ["a"], "rater": [1], "value": [0]}, between="questions").row(0, named=True)
    assert row["estimate"] is None
    assert row["left_out"] == {"incomplete": 1}
    assert row["reason"] == "no item has answers to two questions"


def test_one_answer_to_an_item_cannot_differ() -> None:
    votes = {"item": ["a", "a", "b", "c"], "rater": [1, 2, 1, 2], "value": [-1, 1, -1, 1]}
    for spread in (entropy(votes, base="bits", ci="none"), split_items(votes, ci="none")):
        row = spread.row(0, named=True)
        assert (row["estimate"], row["items"], row["left_out"]) == (1.0, 1, {"unpaired": 2})
    assert entropy(votes, by="rater")["reason"].to_list() == ["no item has answers from two raters"] * 2
    assert entropy(votes, per="item")["judgments"].to_list() == [2, 1, 1]


def test_answers_on_one_side_of_zero_do_not_say_which_are_low() -> None:
    votes = {"item": ["a"] * 4, "rater": [1, 2, 3, 4], "value": [1, 1, 5, 5]}
    between: Any
    for between in ("raters", "questions"):
        with pytest.raises(InputError, match="answers from 1 to 5 does not say which of them are low and high"):
            split_items(votes, between=between)
    assert split_items(votes, neutral=3)["estimate"].to_list() == [1.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: entropy([[1, 2]], base="digits"),  # type: ignore[call-overload]
        lambda: split_items([[1, 2]], share=0.7),
        lambda: split_items([[1, 2]], between="questions", aggregate="mode"),  # type: ignore[call-overload]
        lambda: ambiguity([[1, 2]], ci="magic"),  # type: ignore[call-overload]
        lambda: entropy([[1, 2]], by="nothing"),
    ],
)
def test_bad_options_are_told_in_one_sentence(call: Any) -> None:
    with pytest.raises(InputError):
        call()


@pytest.mark.data
def test_entropy_of_the_third_party_votes_of_isarcasmeval(data_dir: Path) -> None:
    """Five outside readers per text (SemEval-2022 task 6, English test set): 0.277 nats on average."""
    file = data_dir / "social-cognition" / "isarcasmeval" / "third-party" / "english_task_a.csv"
    if not file.exists():
        pytest.skip("the iSarcasmEval third-party votes are not in the folder VANTAGE_DATA")
    votes = pl.read_csv(file)["#humans_sarcasm"].to_numpy()
    answers = (np.arange(5)[:, None] < votes).astype(float)
    row = entropy(answers).row(0, named=True)
    assert row["estimate"] == pytest.approx(0.277, abs=5e-4)
    assert row["low"] < 0.277 < row["high"]
    assert row["items"] == 1400
    unanimous = entropy(answers, per="item").filter(pl.col("estimate") == 0).height
    assert 1 - unanimous / 1400 == pytest.approx(0.48, abs=0.005)
