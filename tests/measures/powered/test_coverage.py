"""The calibration bench of powered estimates in small, with fixed seeds, and the facts of the politeness data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import vantage
from benchmarks import calibration_powered as bench
from tests.measures.powered.simulated import judgments
from vantage.measures import alpha, mean, prevalence


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.5, 1000.0])
def test_intervals_of_both_cover_with_a_good_and_with_a_useless_model(noise: float) -> None:
    held, width = {"alpha": 0, "mean": 0}, []
    whole = judgments(items=4000, judged=4000, people=60, samples=0, seed=99).drop("sample")
    truth = {"alpha": alpha(whole, level="interval", ci="none")["estimate"][0], "mean": 2.0}
    for seed in range(20):
        frame = judgments(items=400, judged=60, people=15, samples=5, noise=noise, seed=seed)
        found = {
            "alpha": alpha(frame, level="interval", powered_by="bot", resamples=100, seed=seed),
            "mean": mean(frame, powered_by="bot", resamples=100, seed=seed),
        }
        for name, rows in found.items():
            people, _, both = rows.iter_rows(named=True)
            held[name] += both["low"] <= truth[name] <= both["high"]
            width.append((both["high"] - both["low"]) / (people["high"] - people["low"]))
    # An interval that covers in 95 % of the cases misses more than four of twenty less than once in 300 times.
    assert min(held.values()) >= 16
    assert np.mean(width) < (0.97 if noise < 1 else 1.01)


@pytest.mark.slow
@pytest.mark.data
def test_the_share_of_polite_requests_and_the_misleading_feature(data_dir: Path) -> None:
    if not (data_dir / "cdi").exists():
        pytest.skip("the politeness data are not in the folder VANTAGE_DATA")
    whole = bench.politeness()
    truth = float(whole["human"].to_numpy().mean())
    assert bench.misleading() == "Feature_2"
    held, labels = {"model": 0, "both": 0}, []
    for draw in range(30):
        table = bench.judged(whole, np.random.default_rng(draw).permutation(len(whole))[:500])
        rows = prevalence(table, powered_by=bench.MODEL)
        for name in held:
            row = rows.row(by_predicate=pl.col("judged_by") == name, named=True)
            held[name] += row["low"] <= truth <= row["high"]
        labels.append(500 + rows["labels_gained"][2])
    assert held["model"] == 0
    assert held["both"] >= 26
    assert np.median(labels) == pytest.approx(611, abs=20)
    rows = vantage.measures.regress(table, on="Feature_2", powered_by=bench.MODEL).filter(term="Feature_2")
    p = dict(rows.select("judged_by", "p").iter_rows())
    assert p["model"] < 0.01
    assert p["both"] > 0.05


@pytest.mark.data
@pytest.mark.slow
def test_subsamples_of_dices_cover(data_dir: Path) -> None:
    if not (data_dir / "dices").exists():
        pytest.skip("DICES is not in the folder VANTAGE_DATA")
    for name, row in bench.dices_350(8, seed=5).items():
        assert row["both"] >= 5, name
        assert row["width"] / row["draws"] < 1.05, name
