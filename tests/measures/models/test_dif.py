"""`vantage.measures.dif`: what a group reads differently is found, how it uses the scale is not mistaken for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.measures.models.test_facets import planted
from vantage.errors import InputError
from vantage.measures.models.dif import dif
from vantage.measures.models.explain import explain
from vantage.measures.models.facets import facets
from vantage.measures.ratings import SAMPLED


def grouped(
    seed: int = 0, *, effect: float = 0.0, items: int = 120, shift: float = 0.0, each: int = 12
) -> pl.DataFrame:
    """Two groups of raters; the first ones' locations of every twelfth item are `effect` higher, all others alike."""
    rng = np.random.default_rng(seed)
    raters = max(30, each)
    item = np.repeat(np.arange(items), each)
    rater = np.argsort(rng.random((items, raters)), axis=1)[:, :each].ravel()
    woman = rater % 2 == 0
    location = rng.normal(size=items)[item] - 0.5 * rng.normal(size=raters)[rater] + shift * woman
    location = location + effect * (woman & (item % 12 == 0))
    value = np.digitize(location + rng.logistic(size=len(item)), [-1.5, 0.0, 1.5])
    names = {"item": item, "rater": rater, "value": value.astype(float), "gender": np.where(woman, "woman", "man")}
    return pl.DataFrame(names)


def test_planted_items_are_found_and_others_are_not() -> None:
    rows = dif(grouped(effect=3.0, items=60, each=50), between="gender", values=["woman", "man"])
    found = rows.filter(pl.col("p_adjusted") < 0.05)
    assert len(found.filter(pl.col("item") % 12 == 0)) >= 4
    assert len(found.filter(pl.col("item") % 12 != 0)) <= 2
    assert (found.filter(pl.col("item") % 12 == 0)["estimate"] > 0).all()
    inside = (rows["low"] <= rows["estimate"]) & (rows["estimate"] <= rows["high"])
    assert inside.all()


def test_a_group_that_uses_the_scale_differently_reads_no_item_differently() -> None:
    rows = dif(grouped(shift=1.5), between="gender", values=["woman", "man"])
    assert (rows["p_adjusted"] < 0.05).sum() <= 1
    assert rows["shift"][0] > 0.5  # a cumulative logit of 1.5 is about 0.8 between neighbouring answers


def test_invariance_is_refused_where_items_differ_and_kept_where_only_severity_does() -> None:
    options: Any = {"between": "gender", "values": ["woman", "man"], "show": "invariance"}
    alike = dif(grouped(shift=1.5), **options).row(0, named=True)
    assert alike["p"] > 0.05
    assert alike["reason"] is None
    assert alike["shift"] > 0.5
    assert alike["df"] == alike["tested"] - 2 > 100
    apart = dif(grouped(effect=3.0, items=60, each=50), **options).row(0, named=True)
    assert apart["p"] < 0.001
    assert apart["estimate"] == apart["differ"] / apart["tested"] > 0.05


def test_raters_without_common_items_are_compared_within_their_items() -> None:
    data = grouped(effect=3.0, items=60, each=50)
    apart = data.with_columns(rater=pl.col("rater") + 1000 * (pl.col("item") % 2))
    rows = dif(apart, between="gender", values=["woman", "man"])
    assert rows["shift"].is_null().all()
    both = rows.join(dif(data, between="gender", values=["woman", "man"]), on="item")
    assert np.corrcoef(both["logits"], both["logits_right"])[0, 1] > 0.95


def test_the_test_has_its_size() -> None:
    p = np.concatenate([dif(grouped(seed), between="gender")["p"].drop_nulls().to_numpy() for seed in range(4)])
    assert 0.02 < np.mean(p < 0.05) < 0.08


@pytest.mark.parametrize("many", [False, True])
def test_a_group_that_scatters_more_reads_no_item_differently(many: bool) -> None:
    """Six noisy raters among 26; with one variance for both groups 15 to 20 % of items differed."""
    p: list[float] = []
    together: list[str] = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        item, rater = (grid.ravel() for grid in np.indices((40, 26)))
        noise = rng.logistic(size=len(item)) * np.where(rater < 6, 2.5, 1.0)
        value = rng.normal(size=40)[item] - 0.5 * rng.normal(size=26)[rater] + noise
        value = 10 * value if many else np.digitize(value, [-1.5, 0.0, 1.5]).astype(float)
        frame = pl.DataFrame({"item": item, "rater": rater, "value": value, "group": np.where(rater < 6, "a", "b")})
        p += dif(frame, between="group")["p"].to_list()
        together += dif(frame, between="group", show="invariance")["reason"].to_list()
    assert np.mean(np.array(p) < 0.05) <= 0.1
    assert all("times as much as the other" in reason for reason in together)


def test_a_model_is_compared_with_people_item_by_item() -> None:
    data, _, location = planted(items=100)
    people = data.with_columns(pl.col("rater").cast(pl.String), kind=pl.lit("person"))
    answers = np.clip(np.rint(2 + location), 0, 4)
    answers[:3] = np.where(location[:3] > 0, 0, 4)
    model = pl.DataFrame({"item": range(100), "rater": "gpt", "value": answers, "kind": "model"})
    rows = dif(pl.concat([people, model], how="diagonal_relaxed"), between="kind", values=["model", "person"])
    assert set(rows.sort("p")["item"][:3]) <= {*range(3), *rows.sort("p")["item"][:6]}
    assert rows.filter(pl.col("item") < 3)["p"].median() < rows["p"].median()  # type: ignore[operator]


def test_scales_of_many_points_have_a_linear_model() -> None:
    rng = np.random.default_rng(0)
    data = grouped(effect=0.0)
    item, woman = data["item"].to_numpy(), (data["gender"] == "woman").to_numpy()
    value = rng.normal(size=120)[item] * 10 + 50 + rng.normal(size=len(item)) * 5 + 20 * (woman & (item == 5))
    rows = dif(data.with_columns(value=value), between="gender", values=["woman", "man"])
    best = rows.sort("p").row(0, named=True)
    assert best["item"] == 5
    assert best["low"] < 20 < best["high"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"between": "rater"}, "has 30 values"),
        ({"between": "height"}, "no column 'height'"),
        ({"between": "gender", "show": "all"}, "show '.*' is not known"),
        ({"between": "gender", "values": ["woman", "child"]}, "no value 'child'"),
    ],
)
def test_bad_input_is_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dif(grouped(), **options)


def test_groups_without_common_items_are_refused() -> None:
    data = grouped(items=40)
    third = data.filter(pl.col("gender") == "man").with_columns(gender=pl.lit("third"))
    apart = pl.concat([data.filter((pl.col("item") % 2 == 0) == (pl.col("gender") == "man")), third])
    with pytest.raises(InputError, match="no item was rated by both"):
        dif(
            apart.with_columns(rater=pl.when(pl.col("gender") == "third").then(pl.col("rater") % 2).otherwise("rater")),
            between="gender",
            values=["woman", "man"],
        )


def test_answers_given_twice_are_named_in_models() -> None:
    rng = np.random.default_rng(0)
    item, rater = (grid.ravel() for grid in np.indices((8, 6)))
    once = pl.DataFrame({"item": item, "rater": rater, "value": rng.integers(1, 4, 48), "side": rater % 2})
    twice = pl.concat([once, once])
    for measured in (
        lambda frame: dif(frame, between="side"),
        lambda frame: dif(frame, between="side", show="invariance"),
        facets,
        lambda frame: explain(frame, traits="side", family="gaussian", permutations=0),
    ):
        assert SAMPLED not in str(measured(once)["reason"].to_list())
        assert SAMPLED in str(measured(twice)["reason"].to_list())
