"""Raters of which groups a target needs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.measures.targets.designs import sample
from tests.measures.targets.test_population import planted
from tests.measures.targets.test_weights import TARGET, corpus_of
from vantage.errors import InputError
from vantage.measures import prevalence
from vantage.planning.target import plan_target


def test_groups_have_their_share_and_quotas_add_up_by_trait() -> None:
    made = plan_target(corpus_of(sample()), TARGET, width=0.05)
    groups = made.groups
    assert groups["share"].sum() == pytest.approx(1)
    needed = groups["needed"].to_numpy()
    assert np.abs(needed / needed.sum() - groups["share"].to_numpy()).max() < 0.02
    assert (groups["missing"] == (groups["needed"] - groups["there"]).clip(0)).all()
    total = made.summary["people"][0]
    import yaml

    quotas = yaml.safe_load(made.settings)["quotas"]
    assert set(quotas) == {"gender", "age"}
    assert {sum(values.values()) for values in quotas.values()} == {total}
    assert made.summary["as_they_come"][0] >= 0.98 * total * made.summary["effect"][0] * 0.9


def test_a_narrower_interval_needs_four_times_as_many() -> None:
    few, many = (plan_target(corpus_of(sample()), TARGET, width=w).summary["people"][0] for w in (0.1, 0.05))
    assert many / few == pytest.approx(4, rel=0.15)


def test_the_width_comes_true() -> None:
    pilot = corpus_of(sample(seed=9, raters=80, items=12))
    made = plan_target(pilot, {"gender": {"f": 0.5, "m": 0.5}}, width=0.08)
    needed = dict(made.groups.select("group", "needed").iter_rows())
    widths = []
    for seed in range(3):
        _, table = planted(seed, people=(needed["f"], needed["m"]), items=12, delta=1.2)
        row = prevalence(table.with_columns(w=pl.lit(1.0)), weights="w", ci="raters", value=1)
        widths.append((row["high"] - row["low"])[0])
    assert np.mean(widths) == pytest.approx(0.08, rel=0.3)


def test_what_cannot_be_planned_is_refused() -> None:
    with pytest.raises(InputError, match="a width of 0 cannot be reached"):
        plan_target(corpus_of(sample()), TARGET, width=0)
    with pytest.raises(InputError, match="does not say how much"):
        plan_target(corpus_of(sample()), TARGET, question="nothing")


def test_the_plan_on_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from vantage.cli.app import app

    corpus_of(sample()).with_weights("census", TARGET).write(tmp_path / "c")
    run = CliRunner().invoke
    asked = ["plan", str(tmp_path / "c"), "--population", "census", "--target", "0.1"]
    shown = run(app, asked)
    assert shown.exit_code == 0, shown.output
    assert "quotas:" in shown.output
    assert "design effect" in shown.output
    data = json.loads(run(app, [*asked, "--json"]).stdout)
    assert {row["group"] for row in data["groups"]} >= {"f × young", "m × old"}
    assert run(app, [*asked, "--settings"]).stdout.startswith("quotas:")
    refused = run(app, ["plan", "--population", "census"])
    assert refused.exit_code != 0
