from pathlib import Path

import numpy as np
import polars as pl
import pytest

import vantage
from tests.perspective.conftest import made
from vantage import InputError
from vantage.perspective.splits import people_pairs, split
from vantage.perspective.traits import ablation, alignment, label_change, vote


def table(*values: float | None) -> pl.DataFrame:
    rows = [{"item": f"t{n}", "rater": "x", "value": value} for n, value in enumerate(values)]
    return pl.DataFrame(rows, schema={"item": pl.String, "rater": pl.String, "value": pl.Float64})


def test_most_traits_decide_and_the_rule_for_ties_is_kept_to() -> None:
    told = {"age": table(1, 0, None, None), "sex": table(0, 0, 1, None), "group": table(1, 1, 0, None)}
    assert vote(told)["value"].to_list() == [1, 0, 1, None]
    assert vote(told, ties="lowest")["value"].to_list() == [1, 0, 0, None]
    assert vote(told)["tied"].to_list() == [False, False, True, False]
    many = {"a": table(*[0.0] * 200), "b": table(*[1.0] * 200)}
    assert 60 < vote(many, ties="random")["value"].sum() < 140
    assert vote(many, ties="random", seed=1).equals(vote(many, ties="random", seed=1))
    with pytest.raises(InputError, match="'coin'"):
        vote(told, ties="coin")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no trait"):
        vote({})


def test_every_combination_of_traits_is_scored() -> None:
    corpus = made()
    gold = people_pairs(corpus, "seen").select("item", "rater", "value")
    told = {"side": gold, "country": gold.with_columns(value=1 - pl.col("value"))}
    found = ablation(told, corpus).filter(pl.col("class") == "macro")
    assert found["traits"].to_list() == ["side", "country", "side + country"]
    assert found["f1"].to_list() == [1.0, 0.0, 1.0]
    assert found["tied"].to_list() == [0.0, 0.0, 1.0]


def test_a_label_that_follows_the_trait_changes_between_its_values_only() -> None:
    corpus = made(10, 20, 20)
    pairs = people_pairs(corpus, "seen").select("item", "rater").join(corpus.raters, on="rater")
    told = pairs.select("item", "rater", (pl.col("side") == "left").cast(pl.Float64).alias("value"))
    model = label_change(told, corpus, "side", "seen").row(0, named=True)
    assert (model["between"], model["texts"]) == (1.0, 1.0)
    assert model["annotations"] == pytest.approx(20 / 200)
    same = label_change(told.with_columns(value=pl.lit(1.0)), corpus, "side", "seen")
    assert same["between"].to_list()[0] == 0.0
    assert 0 < same["between"].to_list()[1] < 1
    each = corpus.items.select("item").join(
        pl.DataFrame({"rater": ["left", "right"], "value": [1.0, 0.0]}), how="cross"
    )
    swapped = label_change(each, corpus, "side", "seen").row(0, named=True)
    assert (swapped["between"], swapped["texts"], swapped["compared_texts"]) == (1.0, 1.0, len(corpus.items))
    with pytest.raises(InputError, match="no trait 'age'"):
        label_change(told, corpus, "age", "seen")


def test_alignment_is_zero_for_people_themselves_and_one_bit_for_their_opposites() -> None:
    corpus = made(2, 10, 10)
    gold = people_pairs(corpus, "seen").select("item", "rater", "value")
    own = alignment(gold, corpus, "side", "seen")
    assert own["divergence_bits"].to_list() == [0.0, 0.0]
    other = alignment(gold.with_columns(value=1 - pl.col("value")), corpus, "side", "seen")
    assert other["divergence_bits"].to_list() == pytest.approx([1.0, 1.0])
    assert other["distance_nats"].to_list() == pytest.approx([np.sqrt(np.log(2))] * 2)
    assert other["error_rate"].to_list() == [1.0, 1.0]
    with pytest.raises(InputError, match="two values"):
        alignment(gold, corpus, "country", "seen")


@pytest.mark.data
def test_the_trait_model_of_brexit_equals_the_reference_values(data_dir: Path) -> None:
    corpus = vantage.read(data_dir / "lewidi/2023/HS-Brexit", "hs-brexit", groups="hub")
    found = split(corpus, question="hate-speech", method="perseval-dense", stratify="group", extended=True)
    groups = corpus.raters.select("rater", "group")
    majority = (
        found.train.join(groups, on="rater")
        .group_by("item", "group")
        .agg((pl.col("value").mean() > 0.5).cast(pl.Float64).alias("value"))
    )
    told = found.test.select("item", "rater").join(groups, on="rater").join(majority, on=["item", "group"])
    row = ablation({"group": told}, found).filter(pl.col("class") == "yes").row(0, named=True)
    assert (row["precision"], row["recall"], row["f1"]) == pytest.approx((0.875, 0.424242, 0.571429), abs=1e-6)
    model, people = label_change(told, corpus, "group", "hate-speech").rows(named=True)
    assert model["annotations"] == pytest.approx(0.059375)
    assert model["texts"] == model["between"] == pytest.approx(0.11875)
    assert people["annotations"] == pytest.approx(0.095312, abs=1e-6)
    control, target = alignment(told, corpus, "group", "hate-speech").rows(named=True)
    assert control["distance_nats"] == pytest.approx(0.046831, abs=1e-6)
    assert control["divergence_bits"] == pytest.approx(0.05625, abs=1e-6)
    assert target["divergence_nats"] == pytest.approx(0.097474, abs=1e-6)
