"""`vantage.measures.explain`: planted effects are found, bad input is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures.models.crossed import Crossed
from vantage.measures.models.cumulative import Cumulative, CumulativeFit
from vantage.measures.models.explain import explain


def planted(
    seed: int = 0, *, items: int = 60, raters: int = 40, each: int = 8, effect: float = 0.8, points: int = 0
) -> pl.DataFrame:
    """Ratings in which women are `effect` higher, age does nothing, items have variance 1 and raters 0.25."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), each)
    rater = np.argsort(rng.random((items, raters)), axis=1)[:, :each].ravel()
    woman, age = np.arange(raters) % 2, rng.permutation(np.arange(raters) + 20)
    value = rng.normal(size=items)[item] + 0.5 * rng.normal(size=raters)[rater] + effect * woman[rater]
    value = value + (rng.logistic(size=len(item)) if points else rng.normal(size=len(item)))
    if points:
        value = np.digitize(value, np.linspace(-2, 2, points - 1)).astype(float)
    names = {"item": item, "rater": rater, "value": value, "gender": np.where(woman[rater] == 1, "woman", "man")}
    return pl.DataFrame({**names, "age": age[rater]})


def one(rows: pl.DataFrame, **key: Any) -> dict[str, Any]:
    return rows.filter(**key).row(0, named=True)


@pytest.mark.parametrize(("family", "points"), [("gaussian", 0), ("ordinal", 5), ("binary", 2)])
def test_a_planted_effect_is_found_and_its_absence_bounded(family: Any, points: int) -> None:
    rows = explain(planted(effect=1.2, points=points), traits=["gender", "age"], family=family)
    gender, age = (one(rows, term=term, versus="clearest difference") for term in ("gender", "age"))
    assert (gender["higher"], gender["lower"]) == ("woman", "man")
    assert gender["p"] < 0.02
    assert gender["low"] < 1.2 < gender["high"]
    assert gender["difference_low"] > 0
    assert age["p"] > 0.05
    assert age["excluded"] == max(abs(age["difference_low"]), abs(age["difference_high"]))
    against = one(rows, term="gender", level="woman", versus="man")
    assert against["estimate"] == pytest.approx(gender["estimate"])
    if family == "gaussian":
        assert against["p"] == gender["p"]
        return
    assert gender["p_lr"] < 0.01
    woman = one(rows, term="gender", level="woman", versus="mean of levels")
    assert against["estimate"] == pytest.approx(2 * woman["estimate"])


def test_shrunken_estimates_follow_what_was_planted() -> None:
    data = planted()
    shown: tuple[tuple[Any, str], ...] = (("raters", "rater"), ("items", "item"))
    for show, column in shown:
        rows = explain(data, traits="gender", show=show)
        assert len(rows) == data[column].n_unique()
        assert ((rows["high"] - rows["low"]) > 0).all()
    assert (
        np.corrcoef(rows["estimate"], data.group_by("item").agg(pl.col("value").mean()).sort("item")["value"])[0, 1]
        > 0.9
    )


def test_an_interaction_has_a_variance_and_an_estimate_per_item_and_group() -> None:
    rng = np.random.default_rng(0)
    data = planted(items=120)
    shift = rng.normal(size=(120, 2))
    extra = shift[data["item"].to_numpy(), (data["gender"] == "woman").to_numpy().astype(int)]
    data = data.with_columns(value=pl.col("value") + extra)
    options: Any = {"traits": "gender", "interactions": "item:gender"}
    rows = explain(data, show="variance", **options)
    found = one(rows, component="item × gender")
    assert found["low"] < 1.0 < found["high"]
    levels = explain(data, show="interactions", **options)
    assert set(levels["level"]) == {"woman", "man"}


def test_models_are_levels_beside_people() -> None:
    data = planted(effect=0.0).with_columns(kind=pl.lit("person"), rater=pl.col("rater").cast(pl.String))
    rng = np.random.default_rng(5)
    truth = data.group_by("item").agg(pl.col("value").mean()).sort("item")["value"]
    model = pl.DataFrame(
        {"item": range(60), "rater": "gpt", "value": truth + 1.5 + rng.normal(size=60), "kind": "model"}
    )
    both = pl.concat([data, model], how="diagonal_relaxed")
    rows = explain(both, traits="gender", kinds="all")
    gpt = one(rows, term="kind", level="gpt", versus="person")
    assert gpt["low"] < 1.5 < gpt["high"]
    assert gpt["low"] > 0.5
    people = explain(both, traits="gender")
    assert "kind" not in set(people["term"])
    assert people["left_out"][0]["model"] == 60


def test_conditions_are_a_term() -> None:
    data = planted(effect=0.0)
    condition = np.where(np.arange(len(data)) % 2, "plain", "context")
    data = data.with_columns(condition=condition, value=pl.col("value") + 0.6 * (condition == "context"))
    row = one(explain(data), term="condition", versus="clearest difference")
    assert row["higher"] == "context"
    assert row["difference_low"] < 0.6 < row["difference_high"]
    assert row["p"] < 0.05


def test_answers_without_a_trait_are_left_out_and_counted() -> None:
    data = planted().with_columns(gender=pl.when(pl.col("rater") == 3).then(None).otherwise("gender"))
    row = explain(data, traits="gender", permutations=0).row(0, named=True)
    assert row["left_out"]["no_trait"] == data.filter(pl.col("rater") == 3).height


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"gender": pl.lit("woman")}, {"traits": "gender"}, "trait 'gender' has only one level"),
        ({"gender": pl.col("rater").cast(pl.String)}, {"traits": "gender"}, "belongs to a single rater"),
        ({"twin": pl.col("gender")}, {"traits": ["gender", "twin"]}, "'twin' cannot be told apart"),
        ({"value": pl.lit(1.0)}, {}, "all answers are the same"),
        ({}, {"family": "ordinal"}, "too many thresholds; use family gaussian"),
        (
            {"value": (pl.int_range(pl.len()) % 101).cast(pl.Float64)},
            {"family": "ordinal"},
            "an ordinal model of 101 points has too many thresholds; use family gaussian",
        ),
        ({}, {"family": "binary"}, "not two"),
        ({}, {"traits": "gender", "interactions": "item:age"}, "interaction 'item:age' is not possible"),
        ({}, {"traits": "gender", "base": {"gender": "nobody"}}, "no level 'nobody'"),
        ({"rater": pl.lit("ann")}, {}, "fewer than two raters"),
        ({}, {"traits": "height"}, "no column 'height'"),
        ({"item": pl.int_range(pl.len())}, {}, "no item has more than one answer"),
        ({"condition": pl.col("gender")}, {"traits": "gender"}, "choose one condition with where"),
    ],
)
def test_bad_input_is_one_sentence(change: dict[str, pl.Expr], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(planted().with_columns(**change), **options)


def test_perfect_separation_is_no_silent_estimate() -> None:
    data = planted(points=2).with_columns(value=(pl.col("gender") == "woman").cast(pl.Float64))
    with pytest.raises(InputError, match="did not converge"):
        explain(data, traits="gender", family="binary")


@pytest.mark.parametrize(("family", "points"), [("gaussian", 0), ("ordinal", 5)])
def test_a_variance_of_zero_has_an_upper_end(family: Any, points: int) -> None:
    """Raters who do not differ; the end is where the likelihood has fallen by half the 95 % quantile of χ²(1)."""
    rng = np.random.default_rng(3)
    item, rater = (grid.ravel() for grid in np.indices((60, 8)))
    noise = rng.logistic(size=480) if points else rng.normal(size=480)
    value = rng.normal(size=60)[item] + noise - 0.9 * (noise.reshape(60, 8).mean(axis=0))[rater]
    value = np.digitize(value, np.linspace(-2, 2, points - 1)).astype(float) if points else value
    row = one(explain(pl.DataFrame({"item": item, "rater": rater, "value": value}), family=family, show="variance"),
              component="rater")  # fmt: skip
    assert row["estimate"] == row["low"] == 0.0
    assert 0.001 < row["high"] < 0.2
    if points:
        model = Cumulative(value, np.ones((480, 1)), Crossed([item, rater]))
        fit = model.fit(np.array([1.0, 0.4]))
        at = np.append(fit.parameters[:-1], np.log(np.sqrt(row["high"])))
        fall = 2 * (fit.log_likelihood - CumulativeFit(model, at, fit.kept).log_likelihood)
        assert fall == pytest.approx(3.841, abs=0.05)


def test_a_model_that_always_gives_one_answer_is_a_level_like_others() -> None:
    data = planted(points=5).with_columns(kind=pl.lit("person"), rater=pl.col("rater").cast(pl.String))
    model = pl.DataFrame({"item": range(60), "rater": "gpt", "value": 4.0, "kind": "model"})
    rows = explain(pl.concat([data, model], how="diagonal_relaxed"), kinds="all", family="gaussian")
    gpt = one(rows, term="kind", level="gpt", versus="person")
    assert gpt["estimate"] == pytest.approx(4 - data["value"].mean(), abs=0.3)  # type: ignore[operator]


def test_raters_without_common_items_are_named() -> None:
    data = planted()
    other = data.with_columns(pl.col("item") + 1000, pl.col("rater") + 1000)
    rows = explain(pl.concat([data, other]), show="variance")
    assert "2 parts that share no items (0, 1, 10 …; 1000, 1001" in rows["reason"][0].replace("0, 1, 2 …", "0, 1, 10 …")


def test_several_questions_must_be_told_apart() -> None:
    data = pl.concat([planted().with_columns(question=pl.lit(name)) for name in ("trust", "skill")])
    with pytest.raises(InputError, match="a model is for one question, and there are 2"):
        explain(data, by=())
    assert explain(data, show="variance")["question"].to_list() == ["skill"] * 3 + ["trust"] * 3


def test_the_gradient_of_the_laplace_approximation_is_exact() -> None:
    data = planted(points=5, items=30, each=6)
    design = Crossed([data["item"].to_numpy(), data["rater"].to_numpy().astype(np.int64)])
    fixed = np.column_stack([np.ones(len(data)), np.random.default_rng(0).normal(size=len(data))])
    model = Cumulative(data["value"].to_numpy(), fixed, design)
    at, step = np.array([-1.5, 0.2, 0.1, 0.3, 0.4, 0.1, -0.6]), 1e-4

    def value(shift: Any) -> float:
        return CumulativeFit(model, at + shift, np.arange(1)).log_likelihood

    slopes = [(value(step * e) - value(-step * e)) / (2 * step) for e in np.eye(7)]
    np.testing.assert_allclose(CumulativeFit(model, at, np.arange(1)).gradient, slopes, rtol=1e-4, atol=1e-4)


def test_a_property_of_items_is_tested_over_items() -> None:
    rng = np.random.default_rng(4)
    kind, length = np.where(np.arange(60) % 2, "tweet", "news"), rng.normal(size=60).round(3)
    data = planted(effect=0.8).with_columns(
        genre=pl.col("item").replace_strict(dict(enumerate(kind))),
        length=pl.col("item").replace_strict(dict(enumerate(length))),
    )
    data = data.with_columns(value=pl.col("value") + 1.5 * (pl.col("genre") == "tweet"))
    rows = explain(data, traits=["genre", "length", "gender"])
    genre, length_row, gender = (
        one(rows, term=term, versus="clearest difference") for term in ("genre", "length", "gender")
    )
    assert (genre["higher"], genre["lower"]) == ("tweet", "news")
    assert genre["low"] < 1.5 < genre["high"]
    assert genre["p"] < 0.001
    assert length_row["p"] > 0.01
    assert length_row["higher"].startswith("items of")
    assert gender["p"] < 0.05
    assert one(rows, term="genre", level="tweet")["unit"] == "item"
