"""`MODEL+balanced`: averages over presentations as a rater of their own, and how much closer to people they are."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from benchmarks.biased import BiasedRater
from vantage import Corpus, Instrument
from vantage.errors import InputError
from vantage.measures.aggregation.balanced import balanced
from vantage.measures.audits.balanced_gain import balanced_gain
from vantage.measures.audits.effects import audit
from vantage.scales import Scale

SCALE = Scale.points(-3, 3)
INSTRUMENT = Instrument.of_questions("mine", "Mine", {"rating": SCALE})


def corpus(primacy: float, shown: list[str], people: int = 8, items: int = 60) -> Corpus:
    """A model with primacy, and people without."""
    rng = np.random.default_rng(0)
    truth = {f"i{n:02}": float(value) for n, value in enumerate(rng.uniform(-1.5, 1.5, items))}
    model = BiasedRater("model", primacy=primacy, noise=0.2).judgments(truth, SCALE, shown, seed=1)
    others = [BiasedRater(f"p{n}", noise=0.2).judgments(truth, SCALE, ["order=up"], seed=n + 2) for n in range(people)]
    raters = pl.DataFrame(
        {"rater": ["model", *(f"p{n}" for n in range(people))], "kind": ["model", *["person"] * people]}
    )
    return Corpus(pl.DataFrame({"item": list(truth)}), raters, pl.concat([model, *others]), INSTRUMENT)


def test_the_average_is_a_rater_on_the_scale_and_closer_to_people() -> None:
    data = corpus(2.0, ["order=up", "order=down"])
    added = balanced(data)
    mine = added.judgments.filter(rater="model+balanced")
    assert len(mine) == 60
    assert set(mine["value"]) <= set(SCALE.codes)
    assert added.raters.filter(rater="model+balanced")["kind"].to_list() == ["model"]
    row = balanced_gain(added).row(0, named=True)
    assert row["single"] - row["balanced"] == pytest.approx(row["estimate"])
    assert row["low"] > 0.3  # a shift of one point up or down is gone
    people = (
        data.judgments.filter(pl.col("rater") != "model").group_by("item").agg(pl.col("value").mean().alias("mean"))
    )
    near = mine.join(people, on="item").select((pl.col("value") - pl.col("mean")).abs().mean()).item()
    assert near == pytest.approx(row["balanced"])


def test_presentations_that_were_used_more_often_do_not_count_more() -> None:
    # Three answers in the rising order and one in the falling one; the plain mean would lie half a point low.
    data = corpus(2.0, ["order=up", "order=up", "order=up", "order=down"], items=200)
    truth = data.judgments.filter(pl.col("rater") != "model")["value"].to_numpy().mean()
    mine = balanced(data).judgments.filter(rater="model+balanced")["value"].to_numpy().mean()
    plain = data.judgments.filter(rater="model")["value"].to_numpy().mean()
    assert abs(mine - truth) < 0.12
    assert plain - truth < -0.4


def test_nominal_answers_are_the_most_frequent_ones() -> None:
    frame = pl.DataFrame(
        {"item": "a", "question": "q", "rater": "bot", "sample": range(4), "value": [0.0, 0.0, 2.0, 2.0]}
    ).with_columns(presentation=pl.Series(["order=up", "order=up", "order=down", "labels=letters order=up"]))
    instrument = Instrument.of_questions("n", "N", {"q": Scale.labels("red", "green", "blue")})
    data = Corpus(pl.DataFrame({"item": ["a"]}), pl.DataFrame({"rater": ["bot"], "kind": ["model"]}), frame, instrument)
    assert balanced(data).judgments.filter(rater="bot+balanced")["value"].to_list() == [2.0]


def test_the_balanced_rater_has_no_order_effect_and_one_presentation_cannot_be_balanced() -> None:
    added = balanced(corpus(2.0, ["order=up", "order=down"]))
    rows = audit(added, rater="model+balanced")
    assert "one unknown presentation" in rows.filter(effect="order")["reason"][0]
    assert audit(added)["rater"].unique().sort().to_list() == ["model", "people"]
    plain = corpus(0.0, ["order=up"])
    with pytest.raises(InputError, match="every rater was asked in one presentation"):
        balanced(plain)
    assert balanced_gain(plain).is_empty()
    assert "there is no rater 'model+balanced'" in balanced_gain(plain, rater="model")["reason"][0]
