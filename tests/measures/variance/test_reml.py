"""Restricted maximum likelihood, against golden values of lme4 (made by tools/components_golden.R)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from vantage.measures.ratings import Floats, judgments_frame
from vantage.measures.variance.reliability import reliability
from vantage.measures.variance.split_half import split_half
from vantage.measures.variance.variances import VarianceDesign

GOLDEN = json.loads((Path(__file__).parent / "reml_golden.json").read_text(encoding="utf-8"))


def draws(n: int, seed: int) -> np.ndarray[Any, Any]:
    """Uniform numbers of Park and Miller (1988), the same in R."""
    out, x = [], seed
    for _ in range(n):
        x = 16807 * x % 2147483647
        out.append(x / 2147483647)
    return np.array(out)


def made(items: int, raters: int, keep: float, repeats: int, seed: int) -> pl.DataFrame:
    """An incomplete table with planted effects, as the R script makes it."""
    item, rater, sample = (grid.ravel() for grid in np.indices((items, raters, repeats)))
    cell = item * raters + rater

    def normals(n: int, start: int) -> Any:
        return norm.ppf(draws(n, start))

    y = normals(items, seed + 1)[item] + 0.6 * normals(raters, seed + 2)[rater]
    y = y + (repeats > 1) * 0.5 * normals(items * raters, seed + 3)[cell] + 0.8 * normals(len(item), seed + 4)
    kept = draws(items * raters, seed)[cell] < keep
    return pl.DataFrame({"item": item, "rater": rater, "sample": sample, "value": np.round(2 * y)}).filter(kept)


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: str(golden["case"]))
def test_incomplete_tables_have_the_components_of_lme4(golden: dict[str, Any]) -> None:
    items, raters, keep, repeats, seed = golden["case"]
    table = made(items, raters, keep, repeats, seed)
    assert len(table) == golden["answers"]
    found = reliability(table, show="components", ci="none")
    assert dict(found.select("component", "variance").rows()) == pytest.approx(golden["variance"], rel=1e-4)


def test_a_component_that_is_not_there_is_zero() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(6, 40)) + rng.normal(size=40)
    table -= table.mean(axis=1, keepdims=True)
    item, rater, _ = VarianceDesign.of(judgments_frame(table)).variances
    assert rater == pytest.approx(0.0, abs=1e-9)
    assert item > 0.3


def test_measures_of_the_same_answers_share_one_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(17)
    fits: list[VarianceDesign] = []
    item, rater = (grid.ravel() for grid in np.indices((30, 12)))
    value = rng.normal(size=30)[item] + 0.5 * rng.normal(size=12)[rater] + rng.normal(size=360)
    seen = rng.random(360) < 0.6
    frame = pl.DataFrame({"item": item, "rater": rater, "value": value}).filter(pl.Series(seen))
    fitted = VarianceDesign._fitted

    def counted(design: VarianceDesign) -> Floats:
        fits.append(design)
        return fitted(design)

    monkeypatch.setattr(VarianceDesign, "_fitted", counted)
    share = reliability(frame, ci="both", up_to=1)["rater_share"][0]
    split_half(frame, ci="both", splits=5)
    assert len(fits) == 1
    changed = frame.with_columns(value=-pl.col("value") * (1 + 0.01 * pl.col("rater")))
    assert reliability(changed, ci="both", up_to=1)["rater_share"][0] != share
    assert len(fits) == 2
    assert reliability(frame, ci="both", up_to=1)["rater_share"][0] == share
    assert len(fits) == 2
