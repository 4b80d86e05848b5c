"""Intervals from raters left out in turn, against the measures themselves on tables without each rater."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

import vantage
from vantage.errors import InputError
from vantage.measures.intervals import OVER, SHARES, Spread, interval
from vantage.measures.rater_variance import FEW_RATERS, spread_and_noise

N = float("nan")
Estimate = Callable[..., pl.DataFrame]


def crowd(seed: int = 0) -> pl.DataFrame:
    """Ten people of two ages and two models on 25 items and two questions."""
    rng = np.random.default_rng(seed)
    question, rater, item = (grid.ravel() for grid in np.indices((2, 12, 25)))
    shift = rng.normal(0, 0.7, 12)
    value = np.clip(np.rint(rng.normal(size=(2, 25))[question, item] + shift[rater] + rng.normal(size=600)), -2, 2)
    frame = pl.DataFrame(
        {
            "item": item,
            "rater": pl.Series(rater).cast(pl.String).str.zfill(2),
            "question": pl.Series(question).cast(pl.String),
            "value": value,
            "age": np.where(rater % 2 == 0, "old", "young"),
            "kind": np.where(rater < 10, "person", "model"),
        }
    )
    return frame.filter(pl.Series(rng.random(600) < 0.8))


def one(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(question="0", kind="person")


def doubtful(frame: pl.DataFrame) -> pl.DataFrame:
    status = pl.when(pl.col("value") == 1).then(pl.lit("ambiguous")).otherwise(pl.lit("answered"))
    return frame.with_columns(pl.when(pl.col("value") != 1).then("value"), status=status)


def in_twos() -> pl.DataFrame:
    """Items that two of twelve raters judged, so that leaving out one of them leaves nothing to compare."""
    rng = np.random.default_rng(1)
    rater = np.concatenate([rng.choice(12, 2, replace=False) for _ in range(40)])
    value = rng.integers(0, 3, 40).repeat(2) + rng.integers(0, 2, 80)
    return pl.DataFrame({"item": np.arange(40).repeat(2), "rater": rater, "value": value.astype(float)})


POINTS = (-2, -1, 0, 1, 2)
APART = POINTS, np.sqrt(np.abs(np.subtract.outer(POINTS, POINTS)))
COEFFICIENTS: dict[str, tuple[Estimate, pl.DataFrame, dict[str, Any], int]] = {
    "alpha, nominal": (vantage.measures.alpha, one(crowd()), {"level": "nominal"}, 0),
    "alpha, ordinal": (vantage.measures.alpha, one(crowd()), {"level": "ordinal"}, 0),
    "alpha, interval, in twos": (vantage.measures.alpha, in_twos(), {"level": "interval"}, 0),
    "alpha, ordinal, in twos": (vantage.measures.alpha, in_twos(), {"level": "ordinal"}, 0),
    "alpha, ratio": (vantage.measures.alpha, one(crowd()).with_columns(pl.col("value") + 3), {"level": "ratio"}, 0),
    "alpha, own distance": (vantage.measures.alpha, one(crowd()), {"distance": APART}, 0),
    "fleiss": (vantage.measures.fleiss, one(crowd()), {}, 0),
    "fleiss, weighted": (vantage.measures.fleiss, one(crowd()), {"agreement_weights": "linear"}, 0),
    "fleiss, in twos": (vantage.measures.fleiss, in_twos(), {}, 0),
    "randolph": (vantage.measures.randolph, in_twos(), {"categories": (0, 1, 2, 3, 4)}, 0),
    "ac1": (vantage.measures.ac1, one(crowd()), {"categories": POINTS, "agreement_weights": "quadratic"}, 0),
    "pairwise, in twos": (vantage.measures.pairwise, in_twos(), {}, 0),
    "pairwise, sign": (vantage.measures.pairwise, one(crowd()), {"coarse": "sign", "over": "pairs"}, 0),
    "difference": (vantage.measures.difference, one(crowd()), {}, 0),
    "difference, pairs": (vantage.measures.difference, one(crowd()), {"over": "pairs"}, 0),
    "deviation": (vantage.measures.difference, one(crowd()), {}, 1),
    "deviation, population": (vantage.measures.difference, in_twos(), {"sd": "population"}, 1),
    "cohen": (vantage.measures.cohen, one(crowd()), {}, 0),
    "cohen, weighted": (vantage.measures.cohen, one(crowd()), {"agreement_weights": "quadratic"}, 0),
    "entropy": (vantage.measures.entropy, one(crowd()), {"base": "bits"}, 0),
    "entropy, in twos": (vantage.measures.entropy, in_twos(), {}, 0),
    "entropy, opt-outs": (vantage.measures.entropy, doubtful(one(crowd())), {"opt_outs": True}, 0),
    "entropy, two questions": (vantage.measures.entropy, crowd().filter(kind="person"), {"normalise": True}, 0),
    "ambiguity": (vantage.measures.ambiguity, doubtful(one(crowd())), {}, 0),
    "unanimity": (vantage.measures.unanimity, one(crowd()), {"coarse": "sign"}, 0),
    "unanimity on one value": (vantage.measures.unanimity, one(crowd()), {"coarse": "sign"}, 3),
}
GOLD = {"item": list(range(25)), "value": [float(n % 3) for n in range(25)]}
CASES: dict[str, tuple[Estimate, pl.DataFrame, dict[str, Any], int]] = {
    **COEFFICIENTS,
    "split items": (vantage.measures.split_items, one(crowd()), {}, 0),
    "opposed items": (vantage.measures.split_items, crowd().filter(kind="person"), {"between": "questions"}, 0),
    "distance": (vantage.measures.distance, one(crowd()), {"between": "age", "relabellings": 0}, 0),
    "accuracy": (vantage.measures.accuracy, one(crowd()), {"reference": GOLD, "metric": "accuracy", "by": ()}, 0),
    "accuracy, people": (
        vantage.measures.accuracy,
        crowd().filter(question="0"),
        {"reference": "majority", "metric": ["f1_macro", "mae"]},
        1,
    ),
    "accuracy, each": (
        vantage.measures.accuracy,
        crowd().filter(question="0"),
        {"reference": "each", "metric": "mae"},
        0,
    ),
    "alternative annotator test": (
        vantage.measures.alt_test,
        crowd().filter(question="0"),
        {"alignment": "mae", "min_items": 5},
        0,
    ),
}


UNLIMITED = (-np.inf, np.inf)
LIMITS_OF: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("pairwise", "unanimity", "unanimity on one value", "ambiguity", "split items"), SHARES),
    **dict.fromkeys(("opposed items", "alternative annotator test", "accuracy"), SHARES),
    "alpha": (-np.inf, 1.0),
    **dict.fromkeys(("fleiss", "randolph", "ac1", "cohen"), (-1.0, 1.0)),
    **dict.fromkeys(("difference", "deviation", "entropy"), (0.0, np.inf)),
}


@pytest.mark.parametrize("name", CASES)
def test_over_raters_equals_the_jackknife_of_the_measure(name: str) -> None:
    function, frame, options, row = CASES[name]
    column = "advantage" if function is vantage.measures.alt_test else "estimate"
    low, high = ("low", "high") if column == "estimate" else ("advantage_low", "advantage_high")
    found = function(frame, ci="raters", **options).row(row, named=True)
    people = (frame.filter(kind="person") if "kind" in frame.columns else frame)["rater"].unique().sort()
    rest = [frame.filter(pl.col("rater") != person) for person in people]
    estimates = np.array([function(table, ci="none", **options).row(row, named=True)[column] for table in rest])
    limits = (
        UNLIMITED if "mae" in str(options.get("metric")) else LIMITS_OF.get(name.split(",", maxsplit=1)[0], UNLIMITED)
    )
    spread = Spread.without_raters(estimates, limits)
    assert spread is not None
    assert spread.variance > 0
    expected = interval(found[column], spread, 0.95, limits)
    assert (found[low], found[high]) == pytest.approx(expected, abs=1e-9)


KERNEL = [name for name in COEFFICIENTS if name.split(",")[0] not in ("cohen", "entropy", "ambiguity")]


def left_out(frame: pl.DataFrame, columns: list[str]) -> list[pl.DataFrame]:
    """The table without each value of some columns in turn."""
    return [frame.join(one, on=columns, how="anti") for one in frame.select(columns).unique().iter_slices(1)]


@pytest.mark.parametrize("source", [None, "source"])
@pytest.mark.parametrize("name", KERNEL)
def test_over_both_equals_what_is_left_without_items_raters_and_answers(name: str, source: str | None) -> None:
    function, whole, options, row = COEFFICIENTS[name]
    few = whole.filter(pl.col("item") < 9, pl.col("rater").rank("dense") < 9) if "kind" in whole.columns else whole
    few = few.with_columns(source=pl.col("item") // 2).filter(pl.len().over("item") > 1)
    found = function(few, ci="both", sources=source, **options).row(row, named=True)
    limits = LIMITS_OF.get(name.split(",", maxsplit=1)[0], UNLIMITED)

    def without(columns: list[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        tables = (function(rest, ci="none", **options).row(row, named=True) for rest in left_out(few, columns))
        return np.array([np.nan if one["estimate"] is None else one["estimate"] for one in tables], dtype=float)

    unit = source or "item"
    items, raters = Spread.without(without([unit]), limits), Spread.without_raters(without(["rater"]), limits)
    assert items is not None
    assert raters is not None
    cells = without([unit, "rater"]) - found["estimate"]
    noise = float(np.nansum(cells**2)) * (items.units - 1) / items.units * (raters.units - 1) / raters.units
    expected = interval(found["estimate"], items.plus(replace(raters, noise=noise)), 0.95, limits)
    assert (found["low"], found["high"]) == pytest.approx(expected, abs=1e-9)
    assert found["over"] == ("both" if source is None else "sources and raters")


@pytest.mark.parametrize("name", list(CASES))
def test_over_both_is_not_shorter_than_over_items_and_auto_says_what_it_took(name: str) -> None:
    function, frame, options, row = CASES[name]
    of = "advantage_" if function is vantage.measures.alt_test else ""
    rows = {
        ci: function(frame, ci=ci, resamples=200, **options).row(row, named=True) for ci in ("items", "both", "auto")
    }
    width = {ci: found[f"{of}high"] - found[f"{of}low"] for ci, found in rows.items()}
    assert width["both"] >= 0.9 * width["items"]
    assert [rows[ci][f"{of}over"] for ci in ("items", "both")] == ["items", "both"]
    assert rows["auto"][f"{of}over"] == "both"


def test_two_raters_have_no_interval_over_raters_and_say_so() -> None:
    frame = one(crowd()).filter(pl.col("rater").is_in(["00", "01"]))
    for found in (
        vantage.measures.split_items(frame, ci="both"),
        vantage.measures.distance(frame, between="age", ci="raters"),
        vantage.measures.accuracy(frame, by=(), reference=GOLD, metric="accuracy", ci="both"),
    ):
        assert found["low"].to_list() == [None]
        assert "fewer than three raters" in found["reason"][0]


def test_two_raters_say_nothing_about_others() -> None:
    found = vantage.measures.pairwise([[1, 2, 3, 1], [1, 2, 1, 1]], ci="both").row(0, named=True)
    assert (found["estimate"], found["low"], found["over"], found["reason"]) == (0.75, None, None, FEW_RATERS)


def measure(name: str) -> Estimate:
    function: Estimate = getattr(vantage.measures, name.replace("-", "_"))
    return function


MEASURES = ("fleiss", "randolph", "ac1", "pairwise", "difference", "cohen", "opt-outs", "entropy", "ambiguity")


def several_people(seed: int = 0, raters: int = 6, items: int = 30) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rater, item = (grid.ravel() for grid in np.indices((raters, items)))
    keen = rng.integers(0, 3, raters)  # raters differ, so that it matters who is drawn
    value = np.clip(rng.integers(0, 5, items)[item] + keen[rater] + rng.integers(-1, 2, len(item)), 0, 4)
    status = rng.choice(["answered", "ambiguous", "not_mentioned"], len(item), p=[0.7, 0.15, 0.15])
    frame = pl.DataFrame({"item": item, "rater": rater, "value": value.astype(float), "status": status})
    value_of = pl.when(pl.col("status") == "answered").then("value")
    return frame.with_columns(value_of.alias("value")).filter(pl.Series(rng.random(len(item)) < 0.8))


@pytest.mark.parametrize("ci", ["raters", "both"])
@pytest.mark.parametrize("name", MEASURES)
def test_order_of_rows_and_names_do_not_matter(name: str, ci: str) -> None:
    frame = several_people()
    function = partial(measure(name), ci=ci, resamples=25)
    found = function(frame).select("estimate", "low", "high")
    shuffled = function(frame.sample(fraction=1, shuffle=True, seed=3)).select("estimate", "low", "high")
    assert shuffled.equals(found)
    # Draws go by the order of the names: other names in the same order are drawn alike.
    renamed = frame.with_columns(
        pl.format("item {}", pl.col("item") + 100), pl.format("rater {}", pl.col("rater") * 7 + 10)
    )
    assert function(renamed).select("estimate", "low", "high").equals(found)


@pytest.mark.parametrize("name", MEASURES)
def test_few_raters_make_wide_intervals(name: str) -> None:
    widths = {}
    for ci in ("items", "raters", "both"):
        found = measure(name)(several_people(raters=4), ci=ci, resamples=200)
        assert (found["high"] > found["low"]).all()
        # The pairs of four raters share too few items for a mean of kappas, and the result says so.
        assert all(reason is None or "share fewer than" in reason for reason in found["reason"])
        widths[ci] = float((found["high"] - found["low"]).to_numpy().mean())
    assert widths["raters"] > 0.02
    assert widths["items"] < 1.1 * widths["both"]
    many = measure(name)(several_people(raters=40), ci="raters", resamples=200)
    assert (many["high"] - many["low"]).to_numpy().mean() < 0.6 * widths["raters"]


@pytest.mark.parametrize("name", MEASURES)
def test_there_is_no_interval_over_anything_else(name: str) -> None:
    with pytest.raises(InputError, match="no interval over 'people'"):
        measure(name)(several_people(raters=12), ci="people")


@pytest.mark.parametrize("ci", ["raters", "both"])
@pytest.mark.parametrize("name", MEASURES)
def test_one_rater_is_null_with_a_reason(name: str, ci: str) -> None:
    alone = several_people().filter(pl.col("rater") == 0)
    found = measure(name)(alone, ci=ci, resamples=20)
    assert found["low"].null_count() == found["high"].null_count() == len(found)
    assert found["reason"].null_count() == 0
    if name == "ambiguity":
        assert found["estimate"].null_count() == 0
        assert found["reason"].to_list() == [FEW_RATERS]


def test_samples_of_one_rater_pair_but_cannot_be_resampled() -> None:
    runs = {"item": [1, 1, 2, 2], "rater": ["m"] * 4, "sample": [0, 1, 0, 1], "value": [1, 1, 1, 2]}
    found = vantage.measures.pairwise(runs, ci="raters", resamples=20).row(0, named=True)
    assert (found["estimate"], found["low"], found["high"]) == (0.5, None, None)
    assert found["reason"] == FEW_RATERS


def test_samples_of_a_rater_are_left_out_together() -> None:
    twice = pl.concat([in_twos().with_columns(sample=pl.lit(sample)) for sample in (0, 1)])
    row = vantage.measures.pairwise(twice, ci="raters").row(0, named=True)
    rest = [twice.filter(pl.col("rater") != rater) for rater in range(12)]
    estimates = np.array([[vantage.measures.pairwise(table, ci="none")["estimate"][0] for table in rest]])
    spread = spread_and_noise(np.tile(estimates, (2, 1)))
    assert spread is not None
    assert (row["low"], row["high"]) == pytest.approx(interval(row["estimate"], spread, 0.95, SHARES))


def test_groups_are_resampled_as_if_alone() -> None:
    rng = np.random.default_rng(4)
    table = rng.integers(-2, 3, (5, 12)).astype(float)
    rater, item = (grid.ravel() for grid in np.indices(table.shape))
    frame = pl.DataFrame({"item": item, "rater": rater, "value": table.ravel(), "half": item % 2})
    grouped = vantage.measures.pairwise(frame, by="half", coarse="sign", ci="both", resamples=30)
    for half, low, high in grouped.select("half", "low", "high").rows():
        alone = vantage.measures.pairwise(frame.filter(pl.col("half") == half), coarse="sign", ci="both", resamples=30)
        assert alone.select("low", "high").row(0) == (low, high)


@pytest.mark.parametrize("name", MEASURES)
def test_items_and_none_stay_as_they_were(name: str) -> None:
    assert set(OVER) == {"auto", "items", "raters", "both", "none"}
    none = measure(name)(several_people(), ci="none")
    assert none["low"].null_count() == len(none)
    items = measure(name)(several_people(), ci="items", resamples=50)
    assert items["estimate"].to_list() == none["estimate"].to_list()
    assert (items["high"] >= items["low"]).all()


@pytest.mark.parametrize("name", [*(name for name in MEASURES if name != "opt-outs"), "alpha"])
def test_left_to_itself_a_measure_is_resampled_over_both_from_four_raters_on(name: str) -> None:
    rng = np.random.default_rng(0)
    few = rng.integers(1, 4, (3, 32)).astype(float)  # Scott's pi of fewer items has no interval of its own accord
    options: dict[str, Any] = {"resamples": 30, **({"level": "ordinal"} if name == "alpha" else {})}
    ten = np.vstack([few, rng.integers(1, 4, 32)])
    one_item_each = np.vstack([few, [2, *[N] * 31], [3, *[N] * 31]])
    rows = {over: measure(name)(ten, ci=over, **options) for over in ("auto", "both", "items")}
    assert rows["auto"]["over"].to_list() == ["both"] * len(rows["auto"])
    assert rows["auto"].select("low", "high").equals(rows["both"].select("low", "high"))
    assert rows["items"]["over"].to_list() == ["items"] * len(rows["items"])
    # Means over pairs of raters have no interval of their own accord where half of the pairs share one item.
    for table in (few,) if name == "cohen" else (few, one_item_each):
        left = measure(name)(table, **options)
        assert left["over"].to_list() == ["items"] * len(left)
    assert measure(name)(ten, ci="none", **{k: v for k, v in options.items() if k != "resamples"})["over"].null_count()


def test_a_lazy_frame_stays_with_items() -> None:
    item, rater = (grid.ravel() for grid in np.indices((30, 12)))
    frame = pl.DataFrame({"item": item, "rater": rater, "value": np.random.default_rng(0).integers(0, 3, 360)})
    assert vantage.measures.alpha(frame, level="nominal", resamples=20)["over"].to_list() == ["both"]
    assert vantage.measures.alpha(frame.lazy(), level="nominal", resamples=20)["over"].to_list() == ["items"]
    by_group = frame.with_columns(group=pl.col("rater") < 10)
    assert vantage.measures.pairwise(by_group, by="group", resamples=20)["over"].to_list() == ["items", "both"]
    declined = frame.with_columns(
        value=pl.when(pl.col("value") > 0).then("value"),
        status=pl.when(pl.col("value") > 0).then(pl.lit("answered")).otherwise(pl.lit("not_mentioned")),
    )
    assert vantage.measures.opt_outs(declined, resamples=20)["over"].to_list() == ["both"] * 5


def test_the_interval_of_a_mean_kappa_holds_it_where_pairs_share_few_items() -> None:
    rng = np.random.default_rng(1)
    item = np.repeat(np.arange(150), 4)
    rater = np.concatenate([rng.choice(25, 4, replace=False) for _ in range(150)])
    value = np.digitize(rng.normal(size=150)[item] + rng.normal(size=600), [-1, 0, 1])
    frame = pl.DataFrame({"item": item, "rater": rater, "value": value})
    row = vantage.measures.cohen(frame, ci="both").row(0, named=True)
    assert row["low"] < row["estimate"] < row["high"]
    assert "half of the pairs of raters share fewer than" in row["reason"]
    left = vantage.measures.cohen(frame).row(0, named=True)
    assert (left["low"], left["over"], left["estimate"]) == (None, None, row["estimate"])
    assert "so there is none unless ci asks for it" in left["reason"]
