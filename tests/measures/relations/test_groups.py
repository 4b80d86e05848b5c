"""One analysis of groups: by scale, with everyone described, and the same numbers wherever it is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.models.explain import explain
from vantage.measures.relations.compare import compare
from vantage.measures.relations.groups import groups
from vantage.scales import Option, Scale

BANDS = ["18-24", "25-34", "35-44", "45-54", "55+"]


def survey(seed: int = 0, *, people: int = 40, items: int = 15, slope: float = 0.0, home: float = 0.0) -> pl.DataFrame:
    """Everyone judged about half of the items; answers rise by `slope` per year and by `home` on the coast."""
    rng = np.random.default_rng(seed)
    item, rater = (grid.ravel() for grid in np.indices((items, people)))
    kept = rng.random(len(item)) < 0.5
    item, rater = item[kept], rater[kept]
    age = rng.permutation(people) % 50 + 18.0
    coast = np.arange(people) % 2 == 0
    value = rng.normal(size=items)[item] + rng.normal(0, 0.4, people)[rater] + rng.normal(0, 0.8, len(item))
    value += slope * age[rater] + home * coast[rater]
    band = np.array(BANDS)[np.clip((age - 15) // 10, 0, 4).astype(int)]
    town = np.array(["north", "south", "east", "west"])[np.where(np.arange(people) < 3, 3, np.arange(people) % 3)]
    columns = {"age": age, "home": np.where(coast, "coast", "hills"), "band": band, "town": town}
    return pl.DataFrame({"item": item, "rater": rater, "value": value, **{k: v[rater] for k, v in columns.items()}})


def one(rows: pl.DataFrame, **key: Any) -> dict[str, Any]:
    return rows.filter(**key).row(0, named=True)


@pytest.mark.parametrize("trait", ["home", "age", "band", "town"])
def test_one_question_has_one_answer_to_twelve_digits(trait: str) -> None:
    data = survey(slope=0.01, home=0.3)
    rows = groups(data, traits=trait)
    explained = explain(data, traits=trait).filter(term=trait, versus="clearest difference").row(0, named=True)
    asked = compare(data, between=trait)
    assert explained["p"] == pytest.approx(rows["p_trait"][0], rel=1e-12)
    tested = rows.filter(pl.col("p").is_not_null())
    for row in asked.filter(pl.col("p").is_not_null()).iter_rows(named=True):
        same = tested.filter((pl.col("estimate") - row["estimate"]).abs() < 1e-12).row(0, named=True)
        assert row["p"] == pytest.approx(same["p"], rel=1e-12)
        assert (row["low"], row["high"]) == (same["low"], same["high"])


def test_every_group_is_described_and_small_ones_are_not_tested() -> None:
    data = survey()
    rows = groups(data, traits="town")
    assert rows["group"].to_list() == ["east", "north", "south", "west"]
    small = one(rows, group="west")
    assert small["raters"] == 3
    assert small["mean"] is not None
    assert small["estimate"] is not None
    assert (small["p"], small["low"]) == (None, None)
    assert small["reason"] == "'west' has 3 raters; a test needs at least 5"
    tested = rows.filter(pl.col("p").is_not_null())
    assert len(tested) == 3
    assert tested["p_trait"][0] == pytest.approx(min(1.0, 3 * float(tested["p"].min())))  # type: ignore[arg-type]
    for row in tested.iter_rows(named=True):
        assert row["estimate"] == pytest.approx(row["mean"] - row["versus_mean"])
        assert (row["p"] < 0.05) == (not row["low"] <= 0 <= row["high"])


def test_two_groups_are_one_comparison() -> None:
    rows = groups(survey(home=1.0), traits="home")
    first, second = rows.iter_rows(named=True)
    assert first["estimate"] == pytest.approx(-second["estimate"])
    assert first["p"] == pytest.approx(second["p"]) == first["p_adjusted"] == first["p_trait"]
    assert first["low"] < 1.0 < first["high"]
    assert first["over"] == "both"
    assert 0.5 < first["d"] < 1.3


def test_a_number_has_a_slope_per_meaningful_unit() -> None:
    row = groups(survey(slope=0.05), traits="age").row(0, named=True)
    assert (row["row"], row["group"]) == ("slope", "per 10")
    assert row["low"] < 0.5 < row["high"]
    assert row["p"] < 0.01
    flat = groups(survey(3), traits="age").row(0, named=True)
    assert flat["p"] > 0.05


def test_an_ordered_trait_has_a_trend_and_a_shape() -> None:
    data = survey(slope=0.05, people=60)
    rows = groups(data, traits="band")
    assert rows["row"].to_list() == ["trend", "shape", *["group"] * 5]
    assert rows["group"].to_list()[2:] == BANDS
    trend, shape = rows.row(0, named=True), rows.row(1, named=True)
    assert trend["low"] < 0.5 < trend["high"]
    assert trend["p"] < 0.01
    assert shape["p"] > 0.01
    assert rows["p_trait"].to_list() == [trend["p"]] * 7
    assert rows.filter(row="group")["reason"].drop_nulls().unique().to_list() == ["tested by the trend"]
    bent = data.with_columns(value=pl.col("value") + 0.004 * (pl.col("age") - 43) ** 2)
    assert one(groups(bent, traits="band"), row="shape")["p"] < 0.01


def test_unknown_values_are_a_counted_row() -> None:
    data = survey().with_columns(home=pl.when(pl.col("rater") < 4).then(None).otherwise("home"))
    row = one(groups(data, traits="home"), row="missing")
    unknown = data.filter(pl.col("rater") < 4)
    assert (row["raters"], row["judgments"], row["p"]) == (4, len(unknown), None)
    assert row["mean"] == pytest.approx(unknown["value"].mean())
    assert compare(data, between="home")["left_out"][0]["no_value"] == len(unknown)


def test_a_question_without_an_order_has_rows_for_each_option() -> None:
    data = survey(home=1.5).with_columns(value=(pl.col("value") > 1).cast(pl.Float64), question=pl.lit("q"))
    data = data.with_columns(value=pl.when(pl.col("rater") == 7).then(2.0).otherwise("value"))
    data = data.with_columns(pl.col("item", "rater").cast(pl.String))
    corpus = Corpus(
        items=data.select("item").unique(),
        raters=data.select("rater", "home").unique(),
        judgments=data.select("item", "rater", "question", "value"),
        instruments=Instrument.of_questions("q", "Q", {"q": Scale.labels("no", "yes", "maybe")}),
    )
    rows = groups(corpus, traits="home")
    assert rows["option"].unique(maintain_order=True).to_list() == ["no", "yes", "maybe"]
    yes = one(rows, option="yes", group="coast")
    assert yes["estimate"] > 0.1
    assert yes["p"] < 0.05


@pytest.mark.parametrize("codes", [(0.0, 1.0), (1.0, 2.0), (1.0, 9.0)])
def test_of_two_options_means_are_the_share_of_the_second_whatever_the_codes(codes: tuple[float, float]) -> None:
    rng = np.random.default_rng(2)
    second = rng.random((30, 12)) < np.where(np.arange(12) % 2, 0.7, 0.3)
    item, rater = (grid.ravel() for grid in np.indices(second.shape))
    judged = pl.DataFrame({"item": item, "rater": rater, "value": np.where(second.ravel(), codes[1], codes[0])})
    judged = judged.cast({"item": pl.String, "rater": pl.String}).with_columns(question=pl.lit("q"))
    raters = pl.DataFrame({"rater": [str(n) for n in range(12)], "side": ["a", "b"] * 6})
    scale = Scale(level="nominal", options=tuple(Option(code, f"o{code:g}") for code in codes))
    corpus = Corpus(judged.select("item").unique(), raters, judged, [Instrument.of_questions("t", "T", {"q": scale})])
    row = groups(corpus, traits="side", by="question").filter(row="group", group="a").row(0, named=True)
    assert row["mean"] == pytest.approx(second[:, ::2].mean())
    assert row["estimate"] == pytest.approx(second[:, ::2].mean() - second[:, 1::2].mean())


def test_traits_are_held_constant() -> None:
    data = survey(home=1.0, people=60)
    rng = np.random.default_rng(3)
    noisy = pl.Series(np.where(rng.random(60) < 0.2, "hills", np.where(np.arange(60) % 2 == 0, "coast", "hills")))
    data = data.with_columns(echo=noisy.gather(data["rater"]))
    alone, held = (groups(data, traits="echo", given=given).row(0, named=True) for given in ((), "home"))
    assert alone["p"] < 0.05 < held["p"]
    row = explain(data, traits=["home", "echo"]).filter(term="echo", versus="clearest difference").row(0, named=True)
    assert row["p"] == pytest.approx(held["p_trait"], rel=1e-12)


def test_items_of_one_source_are_not_independent() -> None:
    rng = np.random.default_rng(5)
    item, rater = (grid.ravel() for grid in np.indices((40, 6)))
    source = item // 5
    value = rng.normal(0, 1.2, 8)[source] + rng.normal(0, 0.3, 40)[item] + rng.normal(0, 0.5, len(item))
    data = pl.DataFrame({"item": item, "rater": rater, "value": value, "source": source, "genre": source % 2})
    plain, clustered = (compare(data, between="genre", sources=name).row(0, named=True) for name in (None, "source"))
    assert clustered["estimate"] == pytest.approx(plain["estimate"], abs=0.05)
    assert clustered["high"] - clustered["low"] > 1.5 * (plain["high"] - plain["low"])
    assert clustered["over"] == "sources and raters"
    assert clustered["df"] < 8 < plain["df"]


def test_no_trait_is_refused() -> None:
    with pytest.raises(InputError, match="no trait was named"):
        groups(survey())
