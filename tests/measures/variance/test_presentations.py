"""`reliability` with presentations: textbook examples, and lme4 (golden values by tools/g_study_golden.R)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from benchmarks.audit import PRESENTATIONS, SCALE
from benchmarks.biased import BiasedRater
from tests.measures.variance.test_reml import draws
from vantage.errors import InputError
from vantage.measures import reliability

GOLDEN = json.loads((Path(__file__).parent / "g_study_golden.json").read_text(encoding="utf-8"))
GLESER = """
    0 0 2 1 2 0 2 1 1 1 1 2   0 0 2 1 2 0 1 2 2 1 2 1   0 0 1 1 3 3 2 1 2 1 1 2   2 0 2 1 2 2 2 1 2 1 4 1
    0 0 1 2 2 0 2 3 3 3 3 3   2 0 2 1 2 0 4 1 3 3 3 1   0 1 3 1 3 1 3 4 2 2 2 3   0 0 0 1 4 3 3 4 2 3 3 3
    1 2 2 1 3 6 1 3 2 3 2 1   0 1 2 4 3 3 2 2 3 5 3 1   3 4 2 2 3 2 4 5 3 3 5 5   1 1 2 4 4 4 3 3 4 6 6 6
"""
"""Gleser, Cronbach and Rajaratnam (1965), table 3: 12 patients, 6 symptoms, 2 judges (symptom by judge in a row)."""
BRENNAN = """
    101000000000 111001000000 111110000000 110110010000 111110100000
    111011100000 111111100000 111101111100 111111111110 111111111111
"""
"""Brennan (2001), synthetic data set 1: 10 persons, 12 items."""
Variances = dict[str, float]
OPTIONS: Any = {"by": "rater", "presentations": True}


def asked(value: Any, item: Any, order: Any, wording: Any) -> pl.DataFrame:
    """Answers of one rater, whose presentations are the levels of two facets."""
    shown = [f"order={('up', 'down', 'random')[o]} wording={w + 1}" for o, w in zip(order, wording, strict=True)]
    columns = {"item": item, "rater": "model", "sample": range(len(item)), "value": value, "presentation": shown}
    return pl.DataFrame(columns)


def gleser() -> np.ndarray[Any, Any]:
    return np.array(GLESER.split(), dtype=float).reshape(12, 6, 2)


def variances(frame: pl.DataFrame) -> Variances:
    rows = reliability(frame, show="components", ci="none", **OPTIONS)
    return dict(rows.select("component", "variance").rows())


def by_hand(y: np.ndarray[Any, Any]) -> Variances:
    """Expected mean squares of the crossed design p × i × o (Brennan 2001, section 3.4), solved by hand."""
    p, i, o = y.shape
    grand = y.mean()
    means = {"p": y.mean((1, 2)), "i": y.mean((0, 2)), "o": y.mean((0, 1))}
    pi, po, io = y.mean(2), y.mean(1), y.mean(0)
    ms_p = i * o * ((means["p"] - grand) ** 2).sum() / (p - 1)
    ms_i = p * o * ((means["i"] - grand) ** 2).sum() / (i - 1)
    ms_o = p * i * ((means["o"] - grand) ** 2).sum() / (o - 1)
    d_pi = pi - means["p"][:, None] - means["i"] + grand
    d_po = po - means["p"][:, None] - means["o"] + grand
    d_io = io - means["i"][:, None] - means["o"] + grand
    ms_pi, ms_po = o * (d_pi**2).sum() / ((p - 1) * (i - 1)), i * (d_po**2).sum() / ((p - 1) * (o - 1))
    ms_io = p * (d_io**2).sum() / ((i - 1) * (o - 1))
    rest = (
        y - pi[:, :, None] - po[:, None, :] - io + means["p"][:, None, None] + means["i"][:, None] + means["o"] - grand
    )
    ms_r = (rest**2).sum() / ((p - 1) * (i - 1) * (o - 1))
    return {
        "item": (ms_p - ms_pi - ms_po + ms_r) / (i * o),
        "wording": (ms_i - ms_pi - ms_io + ms_r) / (p * o),
        "order": (ms_o - ms_po - ms_io + ms_r) / (p * i),
        "item × wording": (ms_pi - ms_r) / o,
        "item × order": (ms_po - ms_r) / i,
        "order × wording": (ms_io - ms_r) / p,
        "residual": ms_r,
    }


def test_the_textbook_example_with_two_facets() -> None:
    y = gleser()
    item, wording, order = (grid.ravel() for grid in np.indices(y.shape))
    # The variance of the judges is below zero in the analysis of variance, which moves the others a little.
    found, expected = variances(asked(y.ravel(), item, order, wording)), by_hand(y)
    assert expected.pop("order") == pytest.approx(-7 / 495)
    assert found.pop("order") == 0.0
    assert found == pytest.approx(expected, abs=0.02)


def test_the_textbook_example_with_one_facet() -> None:
    y = np.array([[int(mark) for mark in row] for row in BRENNAN.split()], dtype=float)
    item, wording = (grid.ravel() for grid in np.indices(y.shape))
    frame = asked(y.ravel(), item, np.zeros(len(item), dtype=int), wording).with_columns(
        pl.col("presentation").str.replace("order=up ", ""), pl.col("value") * 1.0
    )
    # On two options effects are in percentage points, so that variances are 100² times those of 0 and 1.
    found = {name: value / 1e4 for name, value in variances(frame).items()}
    assert {name: round(value, 4) for name, value in found.items()} == {
        "item": 0.0574,
        "wording": 0.0754,
        "residual": 0.1269,
    }
    row = reliability(frame, up_to=12, ci="none", **OPTIONS).row(11, named=True)
    assert (round(row["consistent"], 3), round(row["estimate"], 3)) == (0.844, 0.773)


def made(items: int, orders: int, wordings: int, keep: float, seed: int) -> pl.DataFrame:
    """An incomplete table with planted effects, as the R script makes it."""
    item, order, wording = (grid.ravel() for grid in np.indices((items, orders, wordings)))

    def normals(n: int, start: int) -> Any:
        return norm.ppf(draws(n, start))

    y = normals(items, seed + 1)[item] + 0.4 * normals(orders, seed + 2)[order]
    y = y + 0.3 * normals(wordings, seed + 3)[wording] + 0.6 * normals(items * orders, seed + 4)[item * orders + order]
    y = y + 0.5 * normals(items * wordings, seed + 5)[item * wordings + wording]
    y = y + 0.3 * normals(orders * wordings, seed + 6)[order * wordings + wording] + 0.7 * normals(len(item), seed + 7)
    return asked(y, item, order, wording).filter(draws(len(item), seed) < keep)


@pytest.mark.slow
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: str(golden["case"]))
def test_components_are_those_of_lme4(golden: dict[str, Any]) -> None:
    if golden["case"] == "gleser":
        y = gleser()
        item, wording, order = (grid.ravel() for grid in np.indices(y.shape))
        frame = asked(y.ravel(), item, order, wording)
    else:
        items, orders, wordings, keep, seed = golden["case"]
        frame = made(int(items), int(orders), int(wordings), keep, int(seed))
        assert len(frame) == golden["answers"]
    assert variances(frame) == pytest.approx(golden["variance"], rel=1e-3, abs=1e-4)


def test_needed_answers_reach_the_target_and_one_less_does_not() -> None:
    y = gleser()
    item, wording, order = (grid.ravel() for grid in np.indices(y.shape))
    frame = asked(y.ravel(), item, order, wording)
    first = reliability(frame, up_to=1, target=0.8, ci="none", **OPTIONS).row(0, named=True)
    for name, coefficient in (("needed_consistent", "consistent"), ("needed", "estimate")):
        rows = reliability(frame, up_to=first[name], ci="none", **OPTIONS)
        assert rows[coefficient][-2] < 0.8 <= rows[coefficient][-1]
    assert (rows["estimate"] < rows["consistent"]).all()


def test_a_factor_with_one_level_is_no_facet_and_is_not_invented() -> None:
    frame = asked(np.arange(20.0) % 7, np.repeat(np.arange(10), 2), [0] * 20, [0] * 20)
    rows = reliability(frame, show="components", ci="none", **OPTIONS)
    assert rows["component"].to_list() == ["item", "residual"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"presentation": pl.lit(None, dtype=pl.String)}, "one unknown presentation"),
        ({"presentation": pl.lit("order=up")}, "answered once"),
    ],
)
def test_what_cannot_be_estimated_has_a_reason(change: dict[str, pl.Expr], reason: str) -> None:
    frame = asked(np.arange(10.0), np.arange(10), [0] * 10, [0] * 10).with_columns(**change)
    row = reliability(frame, **OPTIONS).row(0, named=True)
    assert row["estimate"] is None
    assert reason in row["reason"]


def test_intervals_hold_the_share_and_a_wrong_target_is_refused() -> None:
    frame = made(40, 2, 3, 1.0, 11)
    rows = reliability(frame, show="components", **OPTIONS)
    assert ((rows["low"] <= rows["estimate"] + 1e-9) & (rows["estimate"] <= rows["high"] + 1e-9)).all()
    assert rows["estimate"].sum() == pytest.approx(1.0)
    with pytest.raises(InputError, match="the target 2 is not"):
        reliability(frame, target=2, **OPTIONS)
    with pytest.raises(InputError, match="compared within raters; use by rater"):
        reliability(frame, presentations=True)


def test_the_order_of_a_reversed_twin_is_that_of_the_question() -> None:
    truth = {f"i{n}": float(value) for n, value in enumerate(np.linspace(-1, 1, 40))}
    rater = BiasedRater("model", primacy=1.0)
    found = variances(rater.judgments(truth, SCALE, PRESENTATIONS, samples=2, seed=1))
    # Two levels half a point above and below their mean.
    assert found["order"] == pytest.approx(0.5, abs=0.15)
    assert found["direction"] < 0.05
