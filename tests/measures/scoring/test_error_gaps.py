"""For whom a model works: its errors by the traits of people."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tests.often import times
from vantage.errors import InputError
from vantage.measures.presentation import Against
from vantage.measures.relations.groups import groups
from vantage.measures.scoring.error_gaps import VIEW, error_gaps
from vantage.measures.scoring.replaceability import alt_test
from vantage.report.sentences import settled


def rated(
    seed: int = 0, *, follows: bool = True, noisy: float = 0.0, people: int = 24, share: float = 1.0, few: int = 0
) -> pl.DataFrame:
    """People of two groups who see items differently, and a model that follows the larger one.

    `noisy` adds noise to the answers of the smaller group; with `follows` off both groups see items alike.
    """
    rng = np.random.default_rng(seed)
    items, third = 80, people // 3
    mean = 3 + rng.normal(size=items)
    theirs = 3 + rng.normal(size=items) if follows else mean
    group = np.arange(people) < third
    latent = np.where(group[:, None], theirs, mean) + rng.normal(size=(people, items)) * 0.6
    latent += rng.normal(size=(people, items)) * noisy * group[:, None]
    answers = np.clip(np.rint(np.vstack([latent, mean])), 1, 5)
    rater, item = (grid.ravel() for grid in np.indices(answers.shape))
    kept = (rng.random(len(item)) < share) | (rater == people)
    age = np.where(rater < people, 20 + 2 * (rater % people), np.nan)
    frame = {
        "item": item,
        "rater": [f"r{r:02}" for r in rater],
        "value": answers.ravel(),
        "group": np.where(rater < third, "small", "large"),
        "age": age,
        "rare": np.where(rater < few, "few", "many"),
        "kind": np.where(rater < people, "person", "model"),
    }
    return pl.DataFrame(frame).filter(pl.Series(kept))


def test_errors_are_distances_freed_from_items() -> None:
    data = rated()
    rows = {row["group"]: row for row in error_gaps(data, traits=["group"], level="ordinal").iter_rows(named=True)}
    model = data.filter(kind="model").select("item", reply="value")
    apart = (
        data.filter(kind="person").join(model, on="item").with_columns(error=(pl.col("value") - pl.col("reply")).abs())
    )
    plain = dict(apart.group_by("group").agg(pl.col("error").mean()).iter_rows())
    for group, row in rows.items():
        assert row["error"] == pytest.approx(plain[group]), "everyone judged every item"
        mine = data.filter(kind="person", group=group)
        pairs = mine.join(mine, on="item").filter(pl.col("rater") != pl.col("rater_right"))
        assert row["ceiling"] == pytest.approx((pairs["value"] - pairs["value_right"]).abs().mean())
        assert row["estimate"] == pytest.approx(plain[group] - plain["small" if group == "large" else "large"])
        assert row["low"] < row["estimate"] < row["high"]
    assert rows["small"]["worse"] is True
    assert rows["large"]["worse"] is False
    assert (rows["small"]["people"], rows["small"]["over"]) == (8, "raters")


def test_a_group_that_disagrees_within_itself_is_not_served_worse() -> None:
    row = (
        error_gaps(rated(follows=False, noisy=1.2), traits=["group"], level="ordinal")
        .filter(group="small")
        .row(0, named=True)
    )
    assert row["p"] < 0.01, "its people are further from the model"
    assert row["ceiling"] > row["error"], "and further from each other still"
    assert row["worse"] is False


def test_people_who_were_given_harder_items_are_not_served_worse() -> None:
    rng = np.random.default_rng(3)
    rows = []
    for item in range(60):
        hard = item < 30
        rows.append((item, "m", "model", "x", 0.0))
        for person in range(20):
            group = "first" if person < 10 else "second"
            if rng.random() < (0.8 if (group == "first") == hard else 0.2):
                rows.append((item, f"p{person:02}", "person", group, float(rng.random() < (0.5 if hard else 0.1))))
    data = pl.DataFrame(rows, schema=["item", "rater", "kind", "group", "value"], orient="row")
    row = error_gaps(data, traits=["group"], level="nominal").filter(group="first").row(0, named=True)
    plain = data.filter(kind="person").group_by("group").agg(pl.col("value").mean()).sort("group")["value"]
    assert plain[0] - plain[1] > 0.15
    assert abs(row["estimate"]) < 0.1
    assert row["p"] > 0.05


def test_numbers_have_a_slope_small_groups_a_description_and_unknown_traits_a_row() -> None:
    data = rated(few=3).with_columns(pl.when(pl.col("rater") == "r20").then(None).otherwise("rare").alias("rare"))
    found = error_gaps(data, traits=["age", "rare"], level="ordinal")
    slope = found.filter(trait="age").row(0, named=True)
    assert (slope["group"], slope["people"]) == ("per 20", 24)
    assert slope["estimate"] < 0, "the young ones are the group that the model does not follow"
    assert slope["p"] < 0.01
    few = found.filter(trait="rare", group="few").row(0, named=True)
    assert few["estimate"] is not None
    assert few["p"] is None
    assert few["reason"] == "'few' has 3 raters; a test needs at least 5"
    unknown = found.filter(pl.col("group").is_null()).row(0, named=True)
    assert (unknown["people"], unknown["reason"]) == (1, "'rare' is not known")


def test_gaps_are_those_of_the_one_analysis_of_groups_and_the_smallest_has_a_power_of_four_fifths() -> None:
    data = rated(follows=False)
    row = error_gaps(data, traits=["group"], level="ordinal").filter(group="small").row(0, named=True)
    model = data.filter(kind="model").select("item", reply="value")
    apart = data.filter(kind="person").join(model, on="item").with_columns((pl.col("value") - pl.col("reply")).abs())
    same = (
        groups(apart.drop("reply", "kind", "age", "rare"), traits="group", ci="raters")
        .filter(group="small")
        .row(0, named=True)
    )
    for mine, theirs in {
        "error": "mean",
        "rest": "versus_mean",
        **dict.fromkeys(("estimate", "low", "high", "p")),
    }.items():
        assert row[mine] == pytest.approx(same[theirs or mine], rel=1e-12)
    power = stats.nct.sf(stats.t.ppf(0.975, same["df"]), same["df"], row["detectable"] / same["se"])
    assert power == pytest.approx(0.8, abs=0.01)


def test_the_ledger_the_table_and_the_verdict_have_one_answer() -> None:
    for data in (rated(few=6), rated(follows=False, few=6), rated(follows=False, noisy=1.2, few=6)):
        frame = error_gaps(data, traits=["group", "age", "rare"], level="ordinal")
        (rule,) = VIEW.says
        assert isinstance(rule, Against)
        claims = settled(rule, frame, "{model}")
        for row, claim in zip(frame.iter_rows(named=True), claims, strict=True):
            assert claim.p_family == (None if row["p_worse"] is None else pytest.approx(row["p_adjusted"], rel=1e-12))
            assert bool(row["worse"]) == claim.claims or row["group"] != "per 20"
            if row["p_worse"] is not None and row["p_worse"] == row["p"]:
                assert claim.seen == pytest.approx(row["detectable"], rel=1e-6)
        served = alt_test(data, traits=["group", "age", "rare"], alignment="mae", epsilon=0.2, resamples=50)
        said = {name for row in frame.filter("worse").iter_rows(named=True) for name in (row["whom"], row["trait"])}
        assert set((served["worse_for"].item() or "").split(", ")) - {""} <= said | {"raters of lower age"}
        assert bool(served["worse_for"].item()) == (bool(frame["worse"].any()) and bool(served["above_floor"].item()))


def test_the_items_that_make_the_gap_come_first() -> None:
    data = rated()
    found = error_gaps(data, traits=["group"], level="ordinal", per="item").filter(group="small")
    assert found["estimate"].is_sorted(descending=True)
    item = found.row(0, named=True)
    model = data.filter(kind="model", item=item["item"])["value"][0]
    theirs = data.filter(kind="person", item=item["item"], group="small")["value"]
    assert item["error"] == pytest.approx((theirs - model).abs().mean())
    assert len(found) == 80


def test_a_model_that_is_worse_for_a_group_does_not_stand_in() -> None:
    options: dict[str, Any] = {"alignment": "mae", "epsilon": 0.2, "resamples": 200}
    row = alt_test(rated(), traits=["group"], **options).row(0, named=True)
    assert row["passes"]
    assert row["above_floor"]
    assert (row["worse_for"], row["stands_in"]) == ("small (group)", False)
    alike = alt_test(rated(follows=False), traits=["group"], **options).row(0, named=True)
    assert (alike["worse_for"], alike["stands_in"]) == (None, True)


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(InputError, match="there are no traits of people"):
        error_gaps(rated(), level="ordinal")
    with pytest.raises(InputError, match="no model"):
        error_gaps(rated().filter(kind="person"), traits=["group"], level="ordinal")


def test_a_model_whose_calls_all_failed_has_no_row_and_hides_no_other() -> None:
    data = rated().with_columns(pl.col("age").fill_nan(None))
    silent = data.filter(kind="model").with_columns(rater=pl.lit("silent"), value=pl.lit(None, dtype=pl.Float64))
    both = error_gaps(pl.concat([data, silent]), traits=["age"], level="ordinal")
    assert both["model"].unique().to_list() == error_gaps(data, traits=["age"], level="ordinal")["model"].to_list()
    with pytest.raises(InputError, match="no model whose errors could be compared"):
        error_gaps(pl.concat([data.filter(kind="person"), silent]), traits=["age"], level="ordinal")


@pytest.mark.slow
def test_on_noise_one_of_twenty_tables_claims_a_gap() -> None:
    worse, seeds = 0, times(200, 40)
    for seed in range(seeds):
        found = error_gaps(rated(seed, follows=False, share=0.4), traits=["group"], level="ordinal")
        worse += bool(found["worse"].any())
    assert worse <= seeds * 0.05 + 2 * (seeds * 0.05 * 0.95) ** 0.5
