"""Krippendorff's alpha against published values, its definition, its invariances and a peer."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any, get_args

import krippendorff
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from vantage.errors import InputError
from vantage.measures.agreement.alpha import alpha
from vantage.measures.counts import FEW
from vantage.scales import Level, Scale

N = float("nan")
TEXTBOOK = [  # Krippendorff (2011), section C: four observers, twelve units, gaps
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]
LEVELS: tuple[Level, ...] = get_args(Level)
Table = NDArray[np.float64]


@st.composite
def tables(draw: st.DrawFn, values: tuple[int, ...] = (0, 1, 2, 3, 4)) -> Table:
    """Small tables of raters × items with gaps."""
    shape = draw(st.integers(2, 5)), draw(st.integers(2, 7))
    return draw(arrays(np.float64, shape, elements=st.sampled_from([*map(float, values), N])))


def estimate(data: Any, level: Level | None, **options: Any) -> float | None:
    found: float | None = alpha(data, level=level, ci="none", **options)["estimate"][0]
    return found


def by_definition(table: Table, level: str) -> float | None:
    """Alpha from the pairs of values within units and among all pairable values, as the textbook has it."""
    units = [[v for v in column if not np.isnan(v)] for column in table.T]
    units = [unit for unit in units if len(unit) > 1]
    everything = [v for unit in units for v in unit]
    n = len(everything)

    @cache
    def delta(a: float, b: float) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        if level == "ratio":
            return ((a - b) / (a + b)) ** 2 if a + b else 0.0
        low, high = min(a, b), max(a, b)
        between = sum(low <= v <= high for v in everything)
        return (between - (everything.count(a) + everything.count(b)) / 2) ** 2 if a != b else 0.0

    observed = sum(sum(delta(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    expected = sum(delta(a, b) for a, b in permutations(everything, 2))
    return 1 - (n - 1) * observed / expected if expected else None


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_textbook_example(level: Level, published: float) -> None:
    found = alpha(TEXTBOOK, level=level, ci="none").row(0, named=True)
    assert found["estimate"] == pytest.approx(published, abs=5e-4)
    assert found["left_out"] == {"unpaired": 1}
    assert (found["items"], found["raters"], found["judgments"]) == (11, 4, 40)


def test_two_observers_binary_data() -> None:
    # Krippendorff (2011), section A: ten articles, two observers, α = 0.095.
    observers = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
    assert estimate(observers, "nominal") == pytest.approx(0.095, abs=5e-4)


@pytest.mark.parametrize("level", LEVELS)
@given(table=tables())
@settings(max_examples=40, deadline=None)
def test_equals_the_definition(level: Level, table: Table) -> None:
    expected = by_definition(table, level)
    found = estimate(table, level)
    assert found is None if expected is None else found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
@given(table=tables(tuple(range(FEW + 9))))
@settings(max_examples=25, deadline=None)
def test_many_scale_points_equal_the_definition(level: Level, table: Table) -> None:
    # Adds units that nobody disagrees on, so that there are more values than fit the dense route.
    agreed = np.tile(np.arange(FEW + 9.0), (len(table), 1))
    table = np.hstack([table, agreed])
    expected = by_definition(table, level)
    assert expected is not None
    assert estimate(table, level) == pytest.approx(expected, abs=1e-9)
    with_interval = alpha(table, level=level, resamples=20).row(0, named=True)
    assert with_interval["estimate"] == pytest.approx(expected, abs=1e-9)
    if expected < 1:
        assert with_interval["low"] <= with_interval["high"]
    else:
        assert (with_interval["low"], with_interval["over"]) == (None, None)
        assert "does not make the estimate certain" in with_interval["reason"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("points", [5, 101])
def test_equals_the_peer(level: Level, points: int) -> None:
    rng = np.random.default_rng(points)
    table = np.clip(np.round(rng.normal(0, 0.2, (9, 60)) * points + rng.integers(0, points, 60)), 0, points)
    table[rng.random(table.shape) < 0.5] = N
    peer = krippendorff.alpha(reliability_data=table, level_of_measurement=level)
    assert estimate(table, level) == pytest.approx(peer, abs=1e-9)


@pytest.mark.parametrize("ci", ["items", "raters", "both"])
@given(table=tables(), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_the_order_of_rows_does_not_matter(ci: Any, table: Table, seed: int) -> None:
    rater, item = np.nonzero(~np.isnan(table))
    frame = pl.DataFrame({"item": item, "rater": rater, "value": table[rater, item]})
    options: dict[str, Any] = {"level": "ordinal", "ci": ci, "resamples": 20}
    shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
    first, second = (alpha(f, **options).row(0, named=True) for f in (frame, shuffled))
    for bound in ("estimate", "low", "high"):
        assert first[bound] == pytest.approx(second[bound], abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@given(table=tables(), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_names_of_items_and_raters_do_not_matter(level: Level, table: Table, seed: int) -> None:
    rng = np.random.default_rng(seed)
    renamed = table[rng.permutation(len(table))][:, rng.permutation(table.shape[1])]
    one, other = (alpha(t, level=level, resamples=20).row(0, named=True) for t in (table, renamed))
    for bound in ("estimate", "low", "high"):  # resampling kinds of items makes the interval invariant too
        assert one[bound] == pytest.approx(other[bound], abs=1e-12)


@given(table=tables(), shift=st.integers(-1000, 1000), factor=st.sampled_from([-3.0, 0.1, 7.0]))
@settings(max_examples=25, deadline=None)
def test_affine_change_of_an_interval_scale(table: Table, shift: int, factor: float) -> None:
    original = estimate(table, "interval")
    changed = estimate(table * factor + shift, "interval")
    assert changed == (None if original is None else pytest.approx(original, abs=1e-8))


@given(table=tables())
@settings(max_examples=25, deadline=None)
def test_monotone_change_of_an_ordinal_scale(table: Table) -> None:
    original = estimate(table, "ordinal")
    assert estimate(np.exp(table), "ordinal") == (None if original is None else pytest.approx(original))


@given(table=tables(values=(1, 2, 3)))
@settings(max_examples=25, deadline=None)
def test_one_to_one_change_of_a_nominal_scale(table: Table) -> None:
    recoded = np.where(np.isnan(table), N, (table * 7) % 5)  # 1, 2, 3 → 2, 4, 1
    original = estimate(table, "nominal")
    assert estimate(recoded, "nominal") == (None if original is None else pytest.approx(original))


def test_custom_distances_reproduce_the_levels() -> None:
    codes = np.arange(1.0, 6.0)
    squares = np.subtract.outer(codes, codes) ** 2
    assert estimate(TEXTBOOK, None, distance=(codes, squares)) == pytest.approx(estimate(TEXTBOOK, "interval"))
    apart = {(a, b): float(a != b) for a in range(1, 6) for b in range(1, 6)}
    row = alpha(TEXTBOOK, distance=apart, resamples=50).row(0, named=True)
    assert row["estimate"] == pytest.approx(estimate(TEXTBOOK, "nominal"))
    assert row["level"] == "custom"
    assert row["low"] < row["estimate"] < row["high"]


def test_groups_are_independent() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "item": rng.integers(0, 20, 300).astype(str),
            "question": rng.choice(["b", "a"], 300),
            "rater": np.arange(300),
            "value": rng.integers(1, 6, 300),
        }
    )
    together = alpha(frame, by="question", level="ordinal", resamples=50)
    assert together["question"].to_list() == ["a", "b"]
    for row in together.iter_rows(named=True):
        alone = alpha(frame.filter(question=row["question"]), level="ordinal", resamples=50).row(0, named=True)
        assert {k: row[k] for k in ("estimate", "low", "high", "items", "raters")} == {
            k: alone[k] for k in ("estimate", "low", "high", "items", "raters")
        }


def test_units_are_items_under_a_question_and_a_condition() -> None:
    frame = pl.DataFrame(
        {
            "item": ["x"] * 4,
            "question": ["p", "p", "q", "q"],
            "condition": ["", "", None, None],
            "rater": [*"abab"],
            "value": [1, 1, 2, 2],
        }
    )
    row = alpha(frame, by=(), level="nominal", ci="none").row(0, named=True)
    assert (row["estimate"], row["items"], row["raters"]) == (1.0, 1, 2)


@pytest.mark.parametrize("points", [5, 101])
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_a_lazy_frame_is_streamed(tmp_path: Path, points: int, level: Level) -> None:
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "item": np.char.add("i", rng.integers(0, 300, 1000).astype(str)),
            "rater": rng.integers(0, 50, 1000),
            "value": rng.integers(0, points, 1000),
        }
    )
    frame.write_parquet(tmp_path / "j.parquet")
    streamed = alpha(pl.scan_parquet(tmp_path / "j.parquet"), level=level, ci="none")
    rows = alpha(frame, level=level, resamples=10)
    assert streamed["estimate"][0] == pytest.approx(rows["estimate"][0], abs=1e-9)
    assert streamed["left_out"].to_list() == rows["left_out"].to_list()
    for column in ("items", "raters", "judgments"):
        assert streamed[column][0] == rows[column][0]


def test_intervals_cover_and_widen() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(0, 1, 200)
    table = np.round(2 * (truth + rng.normal(0, 1, (8, 200))))
    rows = {ci: alpha(table, level="interval", ci=ci).row(0, named=True) for ci in ("items", "raters", "both")}
    width = {ci: row["high"] - row["low"] for ci, row in rows.items()}
    assert all(row["low"] < row["estimate"] < row["high"] for row in rows.values())
    assert width["both"] > max(width["items"], width["raters"])


def test_bootstrap_equals_recomputation_on_resampled_columns() -> None:
    rng = np.random.default_rng(8)
    table = np.clip(np.round(rng.normal(0, 1, 150) + rng.normal(0, 1, (5, 150))), -2, 2)
    row = alpha(table, level="ordinal", resamples=2000).row(0, named=True)
    again = [estimate(table[:, rng.integers(0, 150, 150)], "ordinal") for _ in range(200)]
    assert row["low"] == pytest.approx(np.quantile(np.array(again, dtype=float), 0.025), abs=0.02)
    assert row["high"] == pytest.approx(np.quantile(np.array(again, dtype=float), 0.975), abs=0.02)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("ci", ["items", "raters", "both", "none"])
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([[1, 2, 3]], "no item has answers from two raters"),
        ([[1, N], [N, 2]], "no item has answers from two raters"),
        ([[N, N], [N, N]], "no item has answers from two raters"),
        ([[0.1, 0.1, 0.1], [0.1, 0.1, 0.1]], "all answers are the same"),
    ],
)
def test_undefined_is_null_with_a_reason(level: Level, ci: Any, data: Any, reason: str) -> None:
    row = alpha(data, level=level, ci=ci, resamples=5).row(0, named=True)
    assert row["estimate"] is row["low"] is row["high"] is None
    assert row["reason"].startswith(reason)


def test_a_single_item_has_no_interval_over_items() -> None:
    row = alpha([[1, N], [2, N], [1, 3]], level="interval").row(0, named=True)
    assert row["estimate"] is not None
    assert row["low"] is row["high"] is None


def test_unanswered_judgments_are_counted_by_status() -> None:
    rows = {
        "item": [1, 1, 1, 2, 2],
        "rater": [*"abcab"],
        "value": [1, 2, None, None, None],
        "status": ["answered", "answered", "refused", "refused", "unparsed"],
        "group": [*"xxxyy"],
    }
    found = alpha(rows, by="group", level="nominal", ci="none")
    assert found["left_out"].to_list() == [{"refused": 1, "unparsed": 0}, {"refused": 1, "unparsed": 1}]
    assert found["reason"][1] == "no item has answers from two raters"


class OneQuestion:
    """What alpha needs of a corpus: questions with scales, and the judgments."""

    def __init__(self, scale: Scale, frame: pl.DataFrame) -> None:
        self.id, self.scale, self.frame = "mood", scale, frame
        self.questions = [self]

    def with_columns_of(self, by: Any) -> pl.DataFrame:
        return self.frame


def corpus(scale: Scale) -> Any:
    return OneQuestion(
        scale,
        pl.DataFrame(
            {
                "item": [1, 1, 2, 2],
                "rater": [*"abab"],
                "question": ["mood"] * 4,
                "value": [0.0, 1.0, 2.0, 2.0],
            }
        ),
    )


def test_the_scale_decides_the_level() -> None:
    assert alpha(corpus(Scale.labels("a", "b", "c")), ci="none")["level"][0] == "nominal"
    assert alpha(corpus(Scale.points(0, 2)), ci="none")["level"][0] == "ordinal"
    assert alpha(corpus(Scale.points(0, 2)), level="interval", ci="raters", resamples=5)["level"][0] == "interval"
    with pytest.raises(InputError, match="question 'mood' has a nominal scale"):
        alpha(corpus(Scale.labels("a", "b", "c")), level="ordinal")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "does not say its level"),
        ({"level": "ordinary"}, "did you mean 'ordinal'"),
        ({"level": "ratio", "data": [[-1, 2], [1, 2]]}, "-1 is negative"),
        ({"level": "nominal", "distance": {(1, 2): 1.0}}, "a level and a distance"),
        ({"distance": {(1, 2): 1.0}}, "has no entry for the value 3"),
        ({"level": "nominal", "ci": "item"}, "did you mean 'items'"),
        ({"level": "nominal", "resamples": 0}, "0 resamples"),
        ({"level": "nominal", "confidence": 95}, "between 0 and 1"),
        ({"level": "nominal", "data": [[1, float("inf")], [1, 2]]}, "the value is inf"),
        ({"level": "nominal", "by": "color"}, "no column 'color' to group by"),
    ],
)
def test_bad_input_is_told_in_one_sentence(options: dict[str, Any], message: str) -> None:
    data = options.pop("data", TEXTBOOK)
    with pytest.raises(InputError, match=message):
        alpha(data, **options)
