"""Components of variance."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.variance.reliability import reliability
from vantage.scales import Scale

components = partial(reliability, show="components")


def variances(frame: pl.DataFrame) -> dict[str, float]:
    return dict(frame.select("component", "variance").rows())


def simulated(
    seed: int, *, items: int = 300, raters: int = 60, each: int = 6, noise: float = 1.0, samples: int = 1
) -> pl.DataFrame:
    """Answers with planted variances: item 2, rater 0.5, group 0.8 (eight groups), item × group 0.6."""
    rng = np.random.default_rng(seed)
    group = np.arange(raters) % 8
    effects = {
        "item": rng.normal(0, np.sqrt(2.0), items),
        "rater": rng.normal(0, np.sqrt(0.5), raters),
        "group": rng.normal(0, np.sqrt(0.8), 8),
        "both": rng.normal(0, np.sqrt(0.6), (items, 8)),
        "pair": rng.normal(0, np.sqrt(0.7), (items, raters)) if samples > 1 else np.zeros((items, raters)),
    }
    rows = []
    for i in range(items):
        for j in rng.choice(raters, rng.integers(2, 2 * each - 1), replace=False):
            g = group[j]
            mean = effects["item"][i] + effects["rater"][j] + effects["group"][g]
            mean += effects["both"][i, g] + effects["pair"][i, j]
            rows += [
                (f"i{i}", f"r{j}", s, f"g{g}", float(mean + rng.normal(0, np.sqrt(noise)))) for s in range(samples)
            ]
    return pl.DataFrame(rows, schema=["item", "rater", "sample", "group", "value"], orient="row")


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(2, 6))
def test_balanced_tables_give_the_analysis_of_variance(seed: int, raters: int, items: int) -> None:
    table = np.random.default_rng(seed).integers(0, 7, (raters, items)).astype(float)
    rows, columns, grand = table.mean(axis=1), table.mean(axis=0), table.mean()
    between_raters = items * ((rows - grand) ** 2).sum() / (raters - 1)
    between_items = raters * ((columns - grand) ** 2).sum() / (items - 1)
    rest = table - rows[:, None] - columns[None] + grand
    residual = (rest**2).sum() / ((raters - 1) * (items - 1))
    found = variances(components(table, ci="none"))
    expected = {
        "item": (between_items - residual) / raters,
        "rater": (between_raters - residual) / items,
        "residual": residual,
    }
    if np.ptp(table) == 0:
        assert set(found.values()) <= {None}
    elif min(expected.values()) > 0:
        assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.slow
def test_planted_components_are_recovered_from_unbalanced_tables() -> None:
    planted = {"item": 2.0, "rater": 0.5, "group": 0.8, "item × group": 0.6, "residual": 1.0}
    runs = [variances(components(simulated(seed), trait="group", ci="none")) for seed in range(12)]
    for name, value in planted.items():
        estimates = np.array([run[name] for run in runs])
        error = estimates.std(ddof=1) / np.sqrt(len(estimates))
        assert abs(estimates.mean() - value) < 3 * error + 0.02, name


def test_repeated_answers_separate_noise_from_item_by_rater() -> None:
    data = simulated(1, items=200, raters=40, noise=0.4, samples=3)
    found = variances(components(data, trait="group", interaction=False, ci="none"))
    # Without the item × group component its variance goes to items and to item × rater.
    assert found["residual"] == pytest.approx(0.4, abs=0.05)
    assert found["item × rater"] == pytest.approx(0.7 + 0.6, abs=0.25)


def test_shares_have_intervals_around_them_and_add_up() -> None:
    rows = components(simulated(0, items=80), trait="group")
    assert rows["estimate"].sum() == pytest.approx(1.0)
    for row in rows.iter_rows(named=True):
        assert 0 <= row["low"] <= row["estimate"] <= row["high"] <= 1
    assert components(simulated(0, items=80), trait="group").rows() == rows.rows()
    assert components(simulated(0, items=80), ci="none")["low"].is_null().all()


def test_row_order_names_and_units_do_not_matter() -> None:
    data = simulated(2, items=30)
    changed = data.sample(fraction=1, shuffle=True, seed=0).with_columns(
        pl.col("value") * 3 + 1, rater="q" + pl.col("rater")
    )
    plain, other = components(data, trait="group"), components(changed, trait="group")
    for column in ("estimate", "low", "high"):
        assert plain[column].to_list() == pytest.approx(other[column].to_list())
    assert other["variance"].to_list() == pytest.approx([9 * v for v in plain["variance"]])


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[1.0, 2.0, 3.0]], "fewer than two levels of rater"),
        ([[1.0], [2.0]], "fewer than two levels of item"),
        ([[1.0, np.nan], [np.nan, 2.0]], "cannot tell the components apart"),
        ([[2.0, 2.0], [2.0, 2.0]], "do not vary"),
    ],
)
def test_degenerate_designs_are_null_with_a_reason(table: Any, reason: str) -> None:
    rows = components(table)
    assert rows["estimate"].is_null().all()
    assert all(reason in said for said in rows["reason"])


def test_answers_of_raters_without_the_trait_are_left_out() -> None:
    data = simulated(0, items=40).with_columns(group=pl.when(pl.col("rater") == "r0").then(None).otherwise("group"))
    row = components(data, trait="group", ci="none").row(0, named=True)
    assert row["left_out"]["no_trait"] == data.filter(pl.col("rater") == "r0").height


def test_a_nominal_question_is_refused() -> None:
    data = Corpus(
        items=pl.DataFrame({"item": ["a"], "text": ["a"]}),
        raters=pl.DataFrame({"rater": ["r"]}),
        judgments=pl.DataFrame({"item": ["a"], "rater": ["r"], "question": ["kind"], "value": [0.0]}),
        instruments=Instrument.of_questions("test", "Test", {"kind": Scale.labels("x", "y", "z")}),
    )
    with pytest.raises(InputError, match="question 'kind' has a nominal scale"):
        components(data)


def test_the_interval_says_whom_it_is_over() -> None:
    data = simulated(0, items=60)
    rows = {ci: components(data, trait="group", ci=ci) for ci in ("auto", "both", "items", "raters")}
    assert rows["auto"].drop("options").equals(rows["both"].drop("options"))
    for ci in ("both", "items", "raters"):
        assert rows[ci]["over"].to_list() == [ci] * 5

    def length(ci: str, component: str) -> float:
        row = rows[ci].row(by_predicate=pl.col("component") == component, named=True)
        return float(row["high"] - row["low"])

    # With these raters and other items, only the items' share is uncertain beyond the noise, and vice versa.
    assert length("items", "rater") < length("raters", "rater") <= length("both", "rater") * 1.1
    assert length("raters", "item") < length("both", "item")


@pytest.mark.slow
@pytest.mark.parametrize(("raters", "each"), [(5, 5), (30, 4)])
def test_intervals_hold_the_planted_shares(raters: int, each: int) -> None:
    truth = np.array([1.0, 0.25, 1.0]) / 2.25
    held = np.zeros(3)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        item = np.repeat(np.arange(60), each)
        rater = np.argsort(rng.random((60, raters)), axis=1)[:, :each].ravel()
        value = rng.normal(size=60)[item] + 0.5 * rng.normal(size=raters)[rater] + rng.normal(size=len(item))
        rows = components(pl.DataFrame({"item": item, "rater": rater, "value": value}), seed=seed)
        held += (rows["low"].to_numpy() <= truth) & (truth <= rows["high"].to_numpy())
    assert (held / 40 >= 0.85).all()


def test_a_permuted_trait_has_an_interval_from_zero_on() -> None:
    above = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = rng.normal(size=60)[None] + 0.6 * rng.normal(size=(24, 1)) + rng.normal(size=(24, 60))
        rater, item = (grid.ravel() for grid in np.indices(table.shape))
        race = rng.permutation(24)[rater] % 4
        data = pl.DataFrame({"item": item, "rater": rater, "race": race, "value": table.ravel()})
        rows = components(data, trait="race", interaction=seed % 2 == 0, seed=seed)
        above += (rows.row(by_predicate=pl.col("component") == "race", named=True)["low"] or 0.0) > 1e-9
    assert above <= 3


def test_the_variance_of_raters_says_that_severities_are_taken_for_normal() -> None:
    data = simulated(0, items=40, raters=16, each=5)
    for ci, said in (("both", True), ("raters", True), ("items", False), ("none", False)):
        reasons = dict(components(data, ci=ci).select("component", "reason").rows())
        assert ("taken for normal" in (reasons["rater"] or "")) is said
        assert "taken for normal" not in (reasons["residual"] or "")
