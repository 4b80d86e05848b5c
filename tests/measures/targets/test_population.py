"""Poststratification with partial pooling: against lme4, and on planted populations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from tests.measures.targets.designs import sample
from tests.measures.targets.test_weights import JOINT, corpus_of
from tests.often import times
from vantage.errors import InputError
from vantage.measures import population, prevalence
from vantage.measures.targets.cells import CellModel

R: dict[str, Any] = json.loads((Path(__file__).parent / "references.json").read_text())
HOME = {"home": {"town": 0.5, "country": 0.5}}


def planted(
    seed: int, people: tuple[int, int] = (60, 6), items: int = 12, delta: float = 1.0, *, values: int = 2
) -> tuple[float, pl.DataFrame]:
    """Two groups that differ by so much, of whom so many came, and the mean answer of people half of each."""
    rng = np.random.default_rng([7, seed])
    z, weight = np.polynomial.hermite_e.hermegauss(31)
    level = rng.normal(0, 1, items) + np.array([[0.0], [delta]]) + rng.normal(0, 0.3, (2, items))
    cuts = np.linspace(-1, 1, values - 1) if values > 2 else np.zeros(1)
    above = expit(level[..., None, None] + 0.6 * z[:, None] - cuts).sum(axis=-1) @ (weight / weight.sum())
    group = np.repeat([0, 1], people)
    hidden = level[group] + rng.normal(0, 0.6, (len(group), 1)) + rng.logistic(size=(len(group), items))
    rater, item = (grid.ravel() for grid in np.indices(hidden.shape))
    answers = {"item": item, "rater": rater, "value": (hidden[..., None] > cuts).sum(axis=-1).ravel() * 1.0}
    return float(above.mean()), pl.DataFrame(answers | {"home": np.array(["town", "country"])[group[rater]]})


def test_estimates_with_one_trait_are_those_of_lme4() -> None:
    table = sample(seed=3, raters=80, items=30).filter(~((pl.col("gender") == "f") & (pl.col("age") == "old")))
    model = CellModel.of(table, ["gender"], table["value"].to_numpy())
    shares = model.shares([("f",), ("m",)])[..., 1] @ [0.52, 0.48]
    assert shares.tolist() == pytest.approx([R["one_trait"]["items"][item] for item in model.items], abs=2e-5)
    assert shares.mean() == pytest.approx(R["one_trait"]["mean"], abs=1e-5)
    named = dict(zip(model.factors, model.fit.theta, strict=True))
    assert named["item × gender"] == pytest.approx(R["one_trait"]["sd"]["item:gender"], abs=1e-3)
    assert model.fit.theta[1] == pytest.approx(R["one_trait"]["sd"]["rater"], abs=1e-3)


@pytest.mark.slow
def test_estimates_with_two_traits_are_those_of_lme4() -> None:
    table = sample(seed=3, raters=80, items=30)
    corpus = corpus_of(table)
    rows = population(corpus, target=JOINT, per="item").filter(answer="yes")
    expected = [R["population"]["items"][item] for item in rows["item"]]
    assert rows["estimate"].to_list() == pytest.approx(expected, abs=2e-5)
    assert rows["modelled"].to_list() == [0.0] * 30
    assert (rows["low"] < rows["estimate"]).all()
    assert (rows["estimate"] < rows["high"]).all()


def test_a_skewed_sample_is_moved_towards_the_population() -> None:
    truth, table = planted(1, delta=2.0)
    row = population(table, target=HOME).filter(answer="1").row(0, named=True)
    assert abs(row["estimate"] - truth) < abs(row["raw"] - truth) / 2
    assert row["low"] <= truth <= row["high"]
    assert not row["low"] <= row["raw"] <= row["high"]
    assert row["modelled_variance"] == 0
    assert "few raters have home 'country'" in row["reason"]


def test_cells_without_raters_are_named_and_make_the_interval_long() -> None:
    _, table = planted(2, people=(30, 0), items=6)
    row = population(table, target=HOME).filter(answer="1").row(0, named=True)
    assert row["reason"].startswith("no rater is country (50.0% of the target)")
    assert row["modelled"] == pytest.approx(0.5)
    assert row["modelled_variance"] > 0.9
    assert "all raters have the same home, which the model therefore leaves out; how far others are" in row["reason"]


def test_a_trait_of_one_value_is_said_to_be_left_out_of_the_model_although_no_cell_is_empty() -> None:
    _, table = planted(2, people=(30, 12), items=6)
    target = {("home", "hand"): {("town", "left"): 0.5, ("country", "left"): 0.5}}
    reasons = population(table.with_columns(hand=pl.lit("left")), target=target)["reason"]
    assert "all raters have the same hand, which the model therefore leaves out" in reasons[0]
    assert "left to its prior" not in reasons[0]


def test_of_people_whom_nobody_stands_for_little_is_claimed() -> None:
    """Groups two logits apart: the interval knows the half that was asked, and next to nothing of the other."""
    for seed in range(4):
        truth, table = planted(20 + seed, people=(30, 0), items=6, delta=2.0)
        row = population(table, target=HOME, seed=seed).filter(answer="1").row(0, named=True)
        assert row["low"] <= truth <= row["high"]
        assert 0.4 < row["high"] - row["low"] < 0.65


def test_traits_that_are_missing_are_said() -> None:
    _, table = planted(6, people=(20, 12), items=5)
    lost = pl.when(pl.col("rater") < 3).then(None).otherwise("home").alias("home")
    assert population(table.with_columns(lost), target=HOME)["reason"][0].startswith("3 raters have no home, which is")


def test_ordered_answers_have_a_mean_and_shares_that_add_up() -> None:
    truth, table = planted(3, people=(30, 12), items=8, values=4)
    rows = population(table, target=HOME)
    assert rows["answer"].to_list() == ["mean", "0", "1", "2", "3"]
    assert rows["estimate"][1:].sum() == pytest.approx(1)
    assert rows["estimate"][0] == pytest.approx(float(rows["estimate"][1:].to_numpy() @ np.arange(4)))
    assert rows["low"][0] <= truth <= rows["high"][0]


@pytest.mark.slow
def test_answers_without_an_order_have_a_model_each() -> None:
    from vantage import Corpus, Instrument, Scale

    rng, (_, table) = np.random.default_rng(0), planted(4, people=(20, 8), items=5)
    table = table.with_columns(pl.col("item", "rater").cast(pl.String), value=pl.Series(rng.integers(0, 3, len(table))))
    corpus = Corpus(
        table.select("item").unique(maintain_order=True),
        table.select("rater", "home").unique("rater", maintain_order=True),
        table.select("item", "rater", pl.col("value").cast(pl.Float64), question=pl.lit("q")),
        Instrument.of_questions("q", "Q", {"q": Scale.labels("a", "b", "c")}),
    )
    rows = population(corpus, target=HOME)
    assert rows["answer"].to_list() == ["a", "b", "c"]
    assert rows["estimate"].sum() == pytest.approx(1)
    assert ((rows["low"] < rows["estimate"]) & (rows["estimate"] < rows["high"])).all()


def test_few_raters_and_answers_that_are_alike_are_said() -> None:
    _, table = planted(5, people=(8, 4), items=5)
    assert "fewer than twenty raters" in population(table, target=HOME)["reason"][0]
    alike = population(table.with_columns(value=pl.lit(1.0)), target=HOME)
    assert (alike["estimate"][0], alike["reason"][0]) == (None, "all answers are the same")
    with pytest.raises(InputError, match="not between 0 and 1"):
        population(table, target=HOME, confidence=1.5)


def lost(table: pl.DataFrame, how: str, seed: int) -> pl.DataFrame:
    """The table with a trait that 15 % of the people leave out, or half of those who say yes most often."""
    rng = np.random.default_rng([8, seed])
    yes = table.group_by("rater", maintain_order=True).agg(pl.col("value").mean())
    often = (yes["value"] > 0.7).to_numpy() if how == "who says yes" else np.ones(len(yes), dtype=bool)
    gone = yes["rater"].filter(pl.Series(often & (rng.random(len(yes)) < (0.5 if how == "who says yes" else 0.15))))
    kept = pl.when(pl.col("rater").is_in(gone.implode())).then(None).otherwise("home").alias("home")
    return table if how == "none" else table.with_columns(kept)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "delta", "missing", "warned"),
    [
        ((150, 15), 1.0, "none", False),
        ((100, 10), 1.0, "none", True),
        ((100, 10), 0.0, "none", True),
        ((60, 30), 1.0, "at random", True),
        ((60, 30), 1.0, "who says yes", True),
        ((60, 0), 1.0, "none", True),
    ],
)
def test_planted_populations_are_covered_or_doubted(
    people: tuple[int, int], delta: float, missing: str, *, warned: bool
) -> None:
    """The table of docs/population.md: where coverage is not as asked, the row says what it rests on."""
    hits, rows = [], times(80, 3)
    for seed in range(rows):
        truth, table = planted(100 + seed, people=people, items=10, delta=delta)
        row = population(lost(table, missing, seed), target=HOME, seed=seed).filter(answer="1").row(0, named=True)
        hits.append(row["low"] <= truth <= row["high"])
        assert (row["reason"] is not None) == warned
    assert warned or np.mean(hits) >= (0.93 if rows >= 80 else 0.6)


def test_weighted_intervals_cover_and_unweighted_ones_do_not() -> None:
    covered = {"weighted": 0, "raw": 0}
    for seed in range(40):
        truth, table = planted(seed, people=(60, 6), delta=1.5)
        share = pl.when(home="town").then(0.5 / 60).otherwise(0.5 / 6)
        for name, column in (("weighted", "w"), ("raw", None)):
            row = prevalence(table.with_columns(w=share), ci="raters", value=1, weights=column).row(0, named=True)
            covered[name] += row["low"] <= truth <= row["high"]
    assert covered["weighted"] >= 34
    assert covered["raw"] <= 10


def test_a_trait_of_the_target_is_no_group() -> None:
    table = pl.DataFrame({"item": [1, 1, 2, 2], "rater": [1, 2, 1, 2], "value": [0, 1, 1, 1], "home": ["a", "b"] * 2})
    with pytest.raises(InputError, match="'home' says whom to ask, so that it cannot also say how to group"):
        population(table, target={"home": {"a": 0.5, "b": 0.5}}, by="home")
