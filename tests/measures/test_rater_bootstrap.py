"""Intervals over raters and over both, against tables in which copies are written out or raters left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from math import log
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import vantage
from vantage.errors import InputError
from vantage.measures.intervals import OVER, percentile, wilson
from vantage.measures.rater_bootstrap import ONE_RATER, Answers, Resamples
from vantage.measures.rater_variance import FEW_RATERS, LEFT_OUT, RaterVariance
from vantage.measures.ratings import ALONE, judgments_frame

N = float("nan")
Table = NDArray[np.float64]
Unit = list[tuple[int, float]]
"""The drawn answers to a unit, each with the number of the rater whose answer it is a copy of."""
CATEGORIES = (0.0, 1.0, 2.0, 4.0)


@st.composite
def tables(draw: st.DrawFn, raters: tuple[int, int] = (2, 5), items: tuple[int, int] = (2, 5)) -> Table:
    shape = draw(st.tuples(st.integers(*raters), st.integers(*items)))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    table = rng.choice([*CATEGORIES, N], shape, p=[0.3, 0.2, 0.15, 0.15, 0.2])
    table = table[~np.isnan(table).all(axis=1)][:, ~np.isnan(table).all(axis=0)]
    return np.asarray(table) if table.size else np.array([[0.0], [1.0]])


def measure(name: str) -> Callable[..., pl.DataFrame]:
    function: Callable[..., pl.DataFrame] = getattr(vantage.measures, name.replace("-", "_"))
    return function


def written_out(table: Table, copies: NDArray[Any], drawn: NDArray[Any]) -> list[Unit]:
    answers = [[(r, v) for r, v in enumerate(item.tolist()) if not np.isnan(v)] for item in table.T]
    units = [[answer for answer in unit for _ in range(copies[answer[0]])] for unit in answers]
    return [unit for unit, times in zip(units, drawn, strict=True) for _ in range(times) if unit]


def partners(unit: Unit) -> list[tuple[float, float]]:
    """Every two answers of the unit, but for copies of one and the same answer."""
    return [(v, w) for (r, v), (s, w) in combinations(unit, 2) if r != s]


def mean(values: Any) -> float:
    values = list(values)
    return sum(values) / len(values) if values else N


def averaged(units: list[Unit], amount: Callable[[float, float], float], over: str = "items") -> float:
    paired = [[amount(v, w) for v, w in partners(unit)] for unit in units if partners(unit)]
    return mean(amount for unit in paired for amount in unit) if over == "pairs" else mean(map(mean, paired))


def deviation(units: list[Unit], sd: str) -> float:
    found = []
    for unit in units:
        if pairs := partners(unit):
            variance = mean((v - w) ** 2 / 2 for v, w in pairs)
            found.append((variance * (1 if sd == "sample" else (len(unit) - 1) / len(unit))) ** 0.5)
    return mean(found)


def corrected(units: list[Unit], coefficient: str, weights: str | None) -> float:
    def weight(v: float, w: float) -> float:
        return float(v == w) if weights is None else 1 - abs(v - w) / 4

    shares = [[mean(v == c for _, v in unit) for c in CATEGORIES] for unit in units]
    pi = [mean(share[i] for share in shares) for i in range(4)]
    w = [[weight(c, d) for d in CATEGORIES] for c in CATEGORIES]
    expected = {
        "fleiss": sum(w[i][j] * pi[i] * pi[j] for i in range(4) for j in range(4)),
        "randolph": np.mean(w),
        "ac1": np.sum(w) / 12 * sum(p * (1 - p) for p in pi),
    }[coefficient]
    return float((averaged(units, weight) - expected) / (1 - expected)) if 1 - expected > 1e-12 else N


def kappa_of_pairs(table: Table, copies: NDArray[Any], drawn: NDArray[Any], own: bool, weights: str | None) -> float:
    rows = np.repeat(np.arange(len(table)), copies)
    columns = np.repeat(np.arange(table.shape[1]), drawn)
    # The range of the codes is that of the answers that have a partner in the sample.
    codes = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    span = float(np.nanmax(codes) - np.nanmin(codes)) if codes.size else 0.0
    found = []
    for r, s in combinations(rows.tolist(), 2):
        if r == s:
            continue
        a, b = table[r, columns], table[s, columns]
        both = ~np.isnan(a) & ~np.isnan(b)
        a, b = a[both], b[both]
        if not len(a):
            continue

        def weight(v: Any, w: Any) -> Any:
            if weights is None:
                return (v == w) * 1.0
            return 1 - (np.abs(v - w) / span) ** 2 if span else np.ones(np.broadcast(v, w).shape)

        observed = weight(a, b).mean()
        first, second = (a, b) if own else (np.r_[a, b], np.r_[a, b])
        expected = weight(first[:, None], second[None, :]).mean()
        if 1 - expected > 1e-9:
            found.append((observed - expected) / (1 - expected))
    return mean(found)


def entropy_of(units: list[Unit]) -> float:
    shares = [[n / len(unit) for n in Counter(v for _, v in unit).values()] for unit in units]
    return mean(-sum(p * log(p) for p in share) for share in shares)


def times(rng: np.random.Generator, n: int) -> NDArray[Any]:
    return np.bincount(rng.integers(0, n, n), minlength=n)


def draws(table: Table, resamples: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The draws of raters that a measure makes with seed 0, with all units."""
    rng = np.random.default_rng(0)
    for _ in range(resamples):
        yield times(rng, len(table)), np.ones(table.shape[1], dtype=int)


def left_out(
    table: Table, definition: Callable[..., float], clusters: NDArray[Any] | None = None
) -> RaterVariance | None:
    """The variance over raters from tables without each of them, under the weights of items drawn with seed 0."""
    rng = np.random.default_rng(0)
    raters, items = table.shape[0], table.shape[1] if clusters is None else int(clusters.max()) + 1
    weights = [np.ones(items, dtype=int), *(times(rng, items) for _ in range(-(-LEFT_OUT // raters)))]
    drawn = weights if clusters is None else [weight[clusters] for weight in weights]
    without = 1 - np.eye(raters, dtype=int)
    return RaterVariance.from_estimates(np.array([[definition(table, kept, w) for kept in without] for w in drawn]))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[RaterVariance, Any]]:
    """What each interval over both was made of: the variance over raters, and the resamples of items."""
    found: list[tuple[RaterVariance, Any]] = []
    widened = RaterVariance.widened

    def recorded(self: RaterVariance, replicates: Any, *args: Any, **options: Any) -> Any:
        found.append((self, replicates))
        return widened(self, replicates, *args, **options)

    monkeypatch.setattr(RaterVariance, "widened", recorded)
    return found


def of_units(definition: Callable[[list[Unit]], float]) -> Callable[..., float]:
    return lambda table, copies, drawn: definition(written_out(table, copies, drawn))


def same(v: float, w: float) -> float:
    return float(v == w)


def distance(v: float, w: float) -> float:
    return abs(v - w)


DEFINITIONS: list[tuple[str, dict[str, Any], int, Callable[..., float]]] = [
    ("pairwise", {}, 0, of_units(partial(averaged, amount=same))),
    ("pairwise", {"over": "pairs"}, 0, of_units(partial(averaged, amount=same, over="pairs"))),
    ("pairwise", {"coarse": "sign"}, 0, of_units(partial(averaged, amount=lambda v, w: same(v > 0, w > 0)))),
    ("difference", {}, 0, of_units(partial(averaged, amount=distance))),
    ("difference", {"over": "pairs"}, 0, of_units(partial(averaged, amount=distance, over="pairs"))),
    ("difference", {}, 1, of_units(partial(deviation, sd="sample"))),
    ("difference", {"sd": "population"}, 1, of_units(partial(deviation, sd="population"))),
    ("randolph", {"categories": CATEGORIES}, 0, of_units(partial(corrected, coefficient="randolph", weights=None))),
    ("ac1", {"categories": CATEGORIES}, 0, of_units(partial(corrected, coefficient="ac1", weights=None))),
    (
        "ac1",
        {"categories": CATEGORIES, "weights": "linear"},
        0,
        of_units(partial(corrected, coefficient="ac1", weights="linear")),
    ),
    ("fleiss", {}, 0, of_units(partial(corrected, coefficient="fleiss", weights=None))),
    ("cohen", {}, 0, partial(kappa_of_pairs, own=True, weights=None)),
    ("cohen", {"weights": "quadratic"}, 0, partial(kappa_of_pairs, own=True, weights="quadratic")),
    ("scott", {}, 0, partial(kappa_of_pairs, own=False, weights=None)),
]


@pytest.mark.parametrize(("name", "options", "row", "definition"), DEFINITIONS)
@given(table=tables())
@settings(max_examples=10, deadline=None)
def test_bounds_over_raters_equal_those_of_copies_written_out(
    name: str, options: dict[str, Any], row: int, definition: Callable[..., float], table: Table
) -> None:
    found = measure(name)(table, ci="raters", resamples=12, **options).row(row, named=True)
    replicates = np.array([definition(table, *drawn) for drawn in draws(table, 12)])
    everyone = definition(table, np.ones(len(table), dtype=int), np.ones(table.shape[1], dtype=int))
    if found["estimate"] is None:
        assert np.isnan(everyone)
        assert (found["low"], found["high"]) == (None, None)
        assert found["reason"]
        return
    assert found["estimate"] == pytest.approx(everyone, abs=1e-9)
    if name == "pairwise" and everyone in (0.0, 1.0) and found["over"] is not None:
        # No resample can show what did not happen: the interval is Wilson's.
        assert (found["low"], found["high"]) == pytest.approx(wilson(everyone * found["items"], found["items"], 0.95))
        return
    answered = np.isfinite(table)
    pairs = sum(bool((answered[a] & answered[b]).any()) for a in range(len(table)) for b in range(a))
    biased = row == 1 or (name in ("cohen", "scott") and pairs > 1)  # copies make them smaller
    if biased and np.isfinite(replicates).any():
        replicates += everyone - np.nanmean(replicates)
    expected = percentile(replicates, units=len(table)) if len(table) > 1 else (None, None)
    assert (found["low"], found["high"]) == pytest.approx(expected, abs=1e-9)


def some_table(seed: int, raters: int = 6, items: int = 9) -> Table:
    table = np.random.default_rng(seed).choice([*CATEGORIES, N], (raters, items), p=[0.3, 0.2, 0.15, 0.15, 0.2])
    return np.asarray(table)


def own_interval(replicates: Table, estimate: float, units: int, name: str) -> tuple[float, float]:
    """An interval over items: as long as Student's, moved by the bias of resamples, or Wilson's for a share."""
    z, t = stats.norm.ppf(0.975), stats.t.ppf(0.975, units - 1)
    longer = t / z * (units / (units - 1)) ** 0.5
    if name == "pairwise":
        n = estimate * (1 - estimate) / (longer**2 * replicates.var())
        centre = (estimate + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * (estimate * (1 - estimate) / n + z * z / (4 * n * n)) ** 0.5
        return centre - half, centre + half
    ordered, place = np.sort(replicates), 0.025 * (len(replicates) + 1) - 1  # the 0.025 (n + 1)th in order
    between = [np.interp(at, np.arange(len(ordered)), ordered) for at in (place, len(ordered) - 1 - place)]
    low, high = (2 * estimate - replicates.mean() + longer * (end - replicates.mean()) for end in between)
    least, most = (0.0, np.inf) if name == "difference" else (-1.0, 1.0)
    return max(least, min(low, estimate)), min(most, max(high, estimate))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("name", "options", "row", "definition"), DEFINITIONS)
def test_variances_over_raters_equal_those_of_raters_left_out(
    seen: list[Any], name: str, options: dict[str, Any], row: int, definition: Callable[..., float], seed: int
) -> None:
    table = some_table(seed)
    both = measure(name)(table, ci="both", resamples=40, **options).row(row, named=True)
    variance, replicates = seen[row]
    expected = left_out(table, definition)
    assert expected is not None
    assert (variance.total, variance.noise) == pytest.approx((expected.total, expected.noise), abs=1e-12)
    assert both["over"] == "both"
    assert both["low"] < both["estimate"] < both["high"]
    if name not in ("cohen", "scott"):  # their resamples of items alone leave out units without a pair
        items = measure(name)(table, ci="items", resamples=40, **options).row(row, named=True)
        limits = (items["low"], items["high"])
        assert own_interval(replicates, items["estimate"], table.shape[1], name) == pytest.approx(limits, abs=1e-8)


@pytest.mark.parametrize("weights", [None, "linear"])
def test_weighted_fleiss_with_categories_that_nobody_used(seen: list[Any], weights: Any) -> None:
    every = np.array([CATEGORIES, CATEGORIES])  # a unit for each category, so that all of them occur
    table = some_table(3)
    wide = np.hstack(
        [np.vstack([every, np.full((len(table), 4), N)]), np.vstack([np.full((2, len(table.T)), N), table])]
    )
    vantage.measures.fleiss(wide, ci="both", weights=weights, resamples=12)
    expected = left_out(wide, of_units(partial(corrected, coefficient="fleiss", weights=weights)))
    assert expected is not None
    assert (seen[0][0].total, seen[0][0].noise) == pytest.approx((expected.total, expected.noise), abs=1e-12)


@given(table=tables())
@settings(max_examples=10, deadline=None)
def test_entropy_keeps_the_spread_of_copies_written_out_and_the_place_of_the_estimate(table: Table) -> None:
    found = vantage.measures.entropy(table, base="bits", ci="raters", resamples=12).row(0, named=True)
    several = table[:, (~np.isnan(table)).sum(axis=0) > 1]  # one answer cannot differ
    several = several[~np.isnan(several).all(axis=1)]
    if not several.size:
        assert (found["estimate"], found["reason"]) == (None, ALONE)
        return
    replicates = [entropy_of(written_out(several, *drawn)) / log(2) for drawn in draws(several, 12)]
    moved = np.array(replicates) + found["estimate"] - np.nanmean(replicates)
    assert (found["low"], found["high"]) == pytest.approx(percentile(moved, units=len(several)), abs=1e-9)


def with_doubts(table: Table) -> pl.DataFrame:
    rater, item = np.nonzero(~np.isnan(table))
    doubt = table[rater, item] == 2
    value = pl.Series(table[rater, item]).set(pl.Series(doubt), None)
    status = np.where(doubt, "ambiguous", "answered")
    return pl.DataFrame({"item": item, "rater": rater, "value": value, "status": status})


def doubted(units: list[Unit]) -> float:
    return mean(mean(v == 2 for _, v in unit) for unit in units)


@given(table=tables())
@settings(max_examples=10, deadline=None)
def test_ambiguity_equals_copies_written_out(table: Table) -> None:
    found = vantage.measures.ambiguity(with_doubts(table), ci="raters", resamples=12).row(0, named=True)
    replicates = np.array([doubted(written_out(table, *drawn)) for drawn in draws(table, 12)])
    expected = percentile(replicates, units=len(table)) if len(table) > 1 else (None, None)
    assert (found["low"], found["high"]) == pytest.approx(expected, abs=1e-9)


def test_entropy_and_ambiguity_over_both_leave_raters_out(seen: list[Any]) -> None:
    table = some_table(5)
    vantage.measures.ambiguity(with_doubts(table), ci="both", resamples=12)
    vantage.measures.entropy(table, ci="both", resamples=12)
    for (variance, _), definition in zip(seen, (doubted, entropy_of), strict=True):
        expected = left_out(table, of_units(definition))
        assert expected is not None
        assert (variance.total, variance.noise) == pytest.approx((expected.total, expected.noise), abs=1e-12)


def test_opt_outs_are_categories_of_entropy_and_questions_have_their_own_base(seen: list[Any]) -> None:
    rows = pl.DataFrame(
        {
            "item": [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2],
            "question": ["p"] * 6 + ["q"] * 6,
            "rater": [*"abc"] * 4,
            "value": [1, None, None, 2, 2, None, 1, 1, 2, 2, 1, None],
            "status": [
                *("answered", "ambiguous", "not_mentioned", "answered", "answered", "ambiguous"),
                *("answered", "answered", "answered", "answered", "answered", "ambiguous"),
            ],
        }
    )
    codes = np.array([[1, 2, 1, 2], [-1, 2, 1, 1], [-2, -1, 2, -1]], dtype=float)  # raters × units, by question
    vantage.measures.entropy(rows, opt_outs=True, normalise=True, ci="both", resamples=30)
    definition = of_units(lambda units: entropy_of(units) / log(4))
    expected = left_out(codes, definition, np.array([0, 1, 0, 1]))
    assert expected is not None
    assert (seen[0][0].total, seen[0][0].noise) == pytest.approx((expected.total, expected.noise), abs=1e-12)


def test_two_raters_say_nothing_about_others() -> None:
    found = vantage.measures.pairwise([[1, 2, 3, 1], [1, 2, 1, 1]], ci="both").row(0, named=True)
    assert (found["estimate"], found["low"], found["over"], found["reason"]) == (0.75, None, None, FEW_RATERS)


MEASURES = ("fleiss", "randolph", "ac1", "pairwise", "difference", "cohen", "scott", "opt-outs", "entropy", "ambiguity")


def crowd(seed: int = 0, raters: int = 6, items: int = 30) -> pl.DataFrame:
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
    frame = crowd()
    function = partial(measure(name), ci=ci, resamples=25)
    found = function(frame).select("estimate", "low", "high")
    shuffled = function(frame.sample(fraction=1, shuffle=True, seed=3)).select("estimate", "low", "high")
    assert shuffled.equals(found)
    # Draws go by the order of the names: other names in the same order are drawn alike.
    renamed = frame.with_columns(
        pl.format("item {}", pl.col("item") + 100), pl.format("rater {}", pl.col("rater") * 7 + 10)
    )
    assert function(renamed).select("estimate", "low", "high").equals(found)
    assert not function(frame, seed=1).select("low", "high").equals(found.select("low", "high"))


@pytest.mark.parametrize("name", MEASURES)
def test_few_raters_make_wide_intervals(name: str) -> None:
    widths = {}
    for ci in ("items", "raters", "both"):
        found = measure(name)(crowd(raters=4), ci=ci, resamples=200)
        assert (found["high"] > found["low"]).all()
        # The pairs of four raters share too few items for a mean of kappas, and the result says so.
        assert all(reason is None or "share fewer than" in reason for reason in found["reason"])
        widths[ci] = float((found["high"] - found["low"]).to_numpy().mean())
    assert widths["raters"] > 0.02
    assert widths["items"] < 1.1 * widths["both"]
    many = measure(name)(crowd(raters=40), ci="raters", resamples=200)
    assert (many["high"] - many["low"]).to_numpy().mean() < 0.6 * widths["raters"]


@pytest.mark.parametrize("name", MEASURES)
def test_bca_over_raters_and_none_over_both(name: str) -> None:
    function = partial(measure(name), crowd(raters=12), resamples=200)
    found = function(ci="raters", interval="bca")
    plain = function(ci="raters")
    width = (plain["high"] - plain["low"]).to_numpy()
    assert (found["low"] < found["estimate"]).all()
    assert (found["high"] > found["estimate"]).all()
    assert (np.abs((found["low"] - plain["low"]).to_numpy()) < width).all()
    with pytest.raises(InputError, match="defined over items or over raters"):
        function(ci="both", interval="bca")
    with pytest.raises(InputError, match="no interval over 'people'"):
        function(ci="people")


@pytest.mark.parametrize("ci", ["raters", "both"])
@pytest.mark.parametrize("name", MEASURES)
def test_one_rater_is_null_with_a_reason(name: str, ci: str) -> None:
    alone = crowd().filter(pl.col("rater") == 0)
    found = measure(name)(alone, ci=ci, resamples=20)
    assert found["low"].null_count() == found["high"].null_count() == len(found)
    assert found["reason"].null_count() == 0
    if name == "ambiguity":
        assert found["estimate"].null_count() == 0
        assert found["reason"].to_list() == [ONE_RATER]


def test_samples_of_one_rater_pair_but_cannot_be_resampled() -> None:
    runs = {"item": [1, 1, 2, 2], "rater": ["m"] * 4, "sample": [0, 1, 0, 1], "value": [1, 1, 1, 2]}
    found = vantage.measures.pairwise(runs, ci="raters", resamples=20).row(0, named=True)
    assert (found["estimate"], found["low"], found["high"]) == (0.5, None, None)
    assert found["reason"] == ONE_RATER


def test_samples_of_a_rater_are_answers_of_their_own() -> None:
    rows = {"item": [1] * 4, "rater": [*"aabb"], "sample": [0, 1, 0, 1], "value": [1, 1, 1, 2]}
    answers = Answers.of(judgments_frame(rows))
    block = Resamples(answers, np.array([[1.0, 2.0], [1.0, 1.0]]), np.ones((1, 1)))
    # Twice a: 1 1 1 1 and once b: 1 2. Of the ordered pairs, those of an answer and its own copy do not count.
    assert block.size.tolist() == [[4, 6]]
    assert block.pairs.tolist() == [[12, 36 - (4 + 4 + 1 + 1)]]
    assert block.agreeing().tolist() == [[6, 25 - (4 + 4 + 1)]]


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
    none = measure(name)(crowd(), ci="none")
    assert none["low"].null_count() == len(none)
    items = measure(name)(crowd(), ci="items", resamples=50)
    assert items["estimate"].to_list() == none["estimate"].to_list()
    assert (items["high"] >= items["low"]).all()


@pytest.mark.parametrize("name", [*(name for name in MEASURES if name != "opt-outs"), "alpha"])
def test_left_to_itself_a_measure_is_resampled_over_both_from_ten_raters_on(name: str) -> None:
    rng = np.random.default_rng(0)
    few = rng.integers(1, 4, (9, 32)).astype(float)  # Scott's pi of fewer items has no interval of its own accord
    options: dict[str, Any] = {"resamples": 30, **({"level": "ordinal"} if name == "alpha" else {})}
    ten = np.vstack([few, rng.integers(1, 4, 32)])
    one_item_each = np.vstack([few, [2, *[N] * 31], [3, *[N] * 31]])
    rows = {over: measure(name)(ten, ci=over, **options) for over in ("auto", "both", "items")}
    assert rows["auto"]["over"].to_list() == ["both"] * len(rows["auto"])
    assert rows["auto"].select("low", "high").equals(rows["both"].select("low", "high"))
    assert rows["items"]["over"].to_list() == ["items"] * len(rows["items"])
    for table in (few, one_item_each):
        left = measure(name)(table, **options)
        assert left["over"].to_list() == ["items"] * len(left)
    assert measure(name)(ten, ci="none", **{k: v for k, v in options.items() if k != "resamples"})["over"].null_count()


def test_a_lazy_frame_and_bca_stay_with_items() -> None:
    item, rater = (grid.ravel() for grid in np.indices((30, 12)))
    frame = pl.DataFrame({"item": item, "rater": rater, "value": np.random.default_rng(0).integers(0, 3, 360)})
    assert vantage.measures.alpha(frame, level="nominal", resamples=20)["over"].to_list() == ["both"]
    assert vantage.measures.alpha(frame.lazy(), level="nominal", resamples=20)["over"].to_list() == ["items"]
    assert vantage.measures.alpha(frame, level="nominal", resamples=20, interval="bca")["over"].to_list() == ["items"]
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
    for kappa in (vantage.measures.cohen, vantage.measures.scott):
        frame = pl.DataFrame({"item": item, "rater": rater, "value": value})
        row = kappa(frame, ci="both", resamples=200).row(0, named=True)
        assert row["low"] < row["estimate"] < row["high"]
        assert "half of the pairs of raters share fewer than" in row["reason"]
        left = kappa(frame).row(0, named=True)
        assert (left["low"], left["over"], left["estimate"]) == (None, None, row["estimate"])
        assert "so there is none unless ci asks for it" in left["reason"]
