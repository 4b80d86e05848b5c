"""Powered estimates: the three rows, their agreement with the plain measures and with PPI++, and what they warn of."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.measures.powered.peer import ppi_python
from tests.measures.powered.simulated import judgments
from vantage import measures
from vantage.errors import InputError
from vantage.measures import registry
from vantage.measures.parts import parts
from vantage.measures.powered.estimate import ALIKE, ALL_JUDGED, hidden_odds, sentences

Measure = Callable[..., pl.DataFrame]
CASES: dict[str, tuple[Measure, dict[str, Any]]] = {
    "mean": (measures.mean, {}),
    "prevalence": (measures.prevalence, {"value": 3}),
    "entropy": (measures.entropy, {}),
    "bits": (measures.entropy, {"base": "bits"}),
    "split items": (measures.split_items, {"neutral": 2}),
    "pairwise": (measures.pairwise, {}),
    "pooled pairs": (measures.pairwise, {"over": "pairs", "coarse": "sign"}),
    "nominal": (measures.alpha, {"level": "nominal"}),
    "ordinal": (measures.alpha, {"level": "ordinal"}),
    "interval": (measures.alpha, {"level": "interval"}),
    "ratio": (measures.alpha, {"level": "ratio"}),
    "distance": (measures.alpha, {"distance": {(a, b): abs(a - b) for a in range(5) for b in range(a)}}),
}
FRAME = judgments()
PEOPLE = FRAME.filter(kind="person")
USELESS = FRAME.with_columns(value=pl.when(kind="model").then(2.0).otherwise("value"))


def of(result: pl.DataFrame, who: str) -> dict[str, Any]:
    return result.row(by_predicate=pl.col("judged_by") == who, named=True)


@pytest.mark.parametrize("case", CASES)
def test_people_have_the_plain_measure_and_both_is_shorter(case: str) -> None:
    function, options = CASES[case]
    plain = function(PEOPLE, resamples=200, **options).row(0, named=True)
    result = function(FRAME, powered_by="bot", resamples=200, **options)
    assert result["judged_by"].to_list() == ["people", "model", "both"]
    people, both = of(result, "people"), of(result, "both")
    assert {name: people[name] for name in ("estimate", "low", "high", "over")} == {
        name: plain[name] for name in ("estimate", "low", "high", "over")
    }
    assert 0 < both["lambda"] <= 1
    assert both["labels_gained"] > 0
    assert both["high"] - both["low"] < people["high"] - people["low"]
    assert both["low"] <= both["estimate"] <= both["high"]
    assert (both["items"], both["raters"], both["judgments"]) == (240, 12, 960)
    assert of(result, "model")["items"] == 240


@pytest.mark.parametrize("case", CASES)
def test_with_a_weight_of_0_both_is_the_plain_measure_exactly(case: str) -> None:
    function, options = CASES[case]
    plain = function(PEOPLE, resamples=50, **options).row(0, named=True)
    both = of(function(USELESS, powered_by="bot", resamples=50, **options), "both")
    assert both["lambda"] == 0
    assert both["labels_gained"] == 0
    assert (both["estimate"], both["low"], both["high"]) == (plain["estimate"], plain["low"], plain["high"])
    assert both["reason"].endswith(ALIKE)


@pytest.mark.parametrize("case", CASES)
def test_contributions_give_the_measure_and_influences_its_jackknife(case: str) -> None:
    function, options = CASES[case]
    name = json.loads(json.dumps(function(PEOPLE, ci="none", **options)["measure"][0]))
    declared = registry()[name]
    asked = {key: options.get(key, p.default) for key, p in declared.options.items()}
    part = next(iter(parts(PEOPLE)))
    powered = next(
        cell.cell_contents
        for cell in declared.function.__closure__ or ()
        if type(cell.cell_contents).__name__ == "Powered"
    )
    found = next(iter(powered.contributions(part, asked)))
    estimate = function(PEOPLE, ci="none", **options)["estimate"][0]
    assert found.estimate == pytest.approx(estimate, abs=1e-9)
    for place in (0, 17, 63):
        rest = PEOPLE.filter(pl.col("item") != found.items[place])
        without = function(rest, ci="none", **options)["estimate"][0]
        n = len(found.items)
        # Leaving out an item moves the measure by its influence over n − 1, up to terms of the order 1/n².
        assert (estimate - without) * (n - 1) == pytest.approx(found.influence[place], abs=0.15 * found.influence.std())


def test_means_and_shares_are_those_of_ppi_python() -> None:
    ppi = ppi_python()
    for noise in (0.5, 3.0):
        frame = judgments(items=700, judged=150, people=1, samples=1, noise=noise).with_columns(
            value=(pl.col("value") > 2).cast(pl.Float64)
        )
        both = of(measures.mean(frame, powered_by="bot"), "both")
        share = of(measures.prevalence(frame, powered_by="bot"), "both")
        y = frame.filter(kind="person").sort("item")["value"].to_numpy()
        said = frame.filter(kind="model").sort("item")["value"].to_numpy()
        inputs = (y, said[:150], said[150:])
        estimate = float(ppi.ppi_mean_pointestimate(*inputs)[0])
        low, high = (float(end[0]) for end in ppi.ppi_mean_ci(*inputs, alpha=0.05))
        assert both["estimate"] == pytest.approx(estimate, abs=1e-9)
        assert share["estimate"] == pytest.approx(estimate, abs=1e-9)
        # Theirs are normal intervals, ours Wilson's, since a mean of 0 and 1 is a share.
        for row in (both, share):
            assert row["high"] - row["low"] == pytest.approx(high - low, rel=0.02)


def test_a_distribution_says_more_than_one_answer() -> None:
    gained = [
        of(measures.entropy(judgments(samples=samples), powered_by="bot"), "both")["labels_gained"]
        for samples in (1, 20)
    ]
    assert gained[1] > 1.2 * gained[0]


def test_stored_probabilities_are_the_distribution() -> None:
    from vantage import demo_corpus
    from vantage.measures.powered.contributions import ModelAnswers

    scale = demo_corpus().questions[0].scale
    chances = [0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0]
    frame = pl.DataFrame({"item": ["a", "b"], "question": ["trust"] * 2, "value": [1.0, -3.0]}).with_columns(
        probabilities=pl.Series([chances, None], dtype=pl.List(pl.Float64))
    )
    said = ModelAnswers(frame, {"trust": scale})
    assert said.mean.tolist() == [0.5, -3.0]
    assert said.shares.sum(axis=1).tolist() == [1.0, 1.0]


def test_several_raters_are_a_panel_and_a_model_names_its_personas() -> None:
    panel = FRAME.with_columns(
        rater=pl.when(kind="model").then(pl.format("bot/{}", "sample")).otherwise("rater"),
        model=pl.when(kind="model").then(pl.lit("bot")),
    )
    names = [f"bot/{n}" for n in range(4)]
    one = of(measures.entropy(FRAME, powered_by="bot", resamples=50), "both")
    for asked in (names, "bot"):
        both = of(measures.entropy(panel, powered_by=asked, resamples=50), "both")
        assert (both["estimate"], both["lambda"]) == (one["estimate"], one["lambda"])


def test_groups_of_people_and_of_items() -> None:
    frame = FRAME.with_columns(
        gender=pl.col("rater").replace_strict({f"p{n}": "fm"[n % 2] for n in range(12)}, default=None)
    )
    by_items = measures.mean(frame, by="long", powered_by="bot")
    assert by_items.filter(judged_by="both")["items"].to_list() == [80, 80, 80]
    by_people = measures.mean(frame, by="gender", powered_by="bot")
    assert by_people.filter(judged_by="both")["items"].to_list() == [240, 240]
    assert by_people.filter(judged_by="model")["estimate"].n_unique() == 1
    apart = measures.mean(frame, between="gender", powered_by="bot")
    means = dict(by_people.filter(judged_by="people").select("gender", "estimate").iter_rows())
    assert of(apart, "people")["estimate"] == pytest.approx(means["f"] - means["m"])
    assert of(apart, "both")["between"] == "f − m"
    assert of(apart, "model")["estimate"] is None


def test_two_questions_are_correlated_with_the_help_of_a_model() -> None:
    second = FRAME.with_columns(question=pl.lit("b"), value=pl.col("value") + (pl.col("item").hash() % 3))
    frame = pl.concat([FRAME.with_columns(question=pl.lit("a")), second], how="vertical_relaxed")
    plain = measures.correlate(frame.filter(kind="person"), resamples=200).row(0, named=True)
    result = measures.correlate(frame, powered_by="bot", resamples=200)
    people, both = of(result, "people"), of(result, "both")
    assert (people["estimate"], people["low"]) == (plain["estimate"], plain["low"])
    assert both["high"] - both["low"] < people["high"] - people["low"]
    outside = measures.correlate(FRAME, outside="long", powered_by="bot", resamples=50)
    assert of(outside, "both")["second"] == "long"
    with pytest.raises(InputError, match="only Pearson's correlation of means"):
        measures.correlate(frame, correlation="spearman", powered_by="bot")


def test_items_that_are_not_a_random_sample_contradict_it() -> None:
    low = FRAME.filter(kind="model").group_by("item").agg(pl.col("value").mean()).sort("value", "item")["item"][:60]
    frame = FRAME.filter((pl.col("kind") == "model") | pl.col("item").is_in(low.implode()))
    result = measures.mean(frame, powered_by="bot")
    both = of(result, "both")
    assert both["random_sample"] == "contradicted"
    assert both["p_random"] < 0.001
    assert "people's items are not a random sample" in both["reason"]
    assert "the estimate does not hold for all items" in sentences(result, "bot")[1]
    assert of(measures.mean(FRAME, powered_by="bot"), "both")["random_sample"] == "not contradicted"


def test_a_selection_that_the_model_cannot_see_is_not_contradicted_but_its_strength_is_said() -> None:
    whole = judgments(items=1500, judged=1500, people=1, samples=5, seed=4)
    people = whole.filter(kind="person").sort("item")
    said = whole.filter(kind="model").group_by("item").agg(pl.col("value").mean()).sort("item")["value"].to_numpy()
    beyond = people["value"].to_numpy() - np.polyval(np.polyfit(said, people["value"].to_numpy(), 1), said)
    truth = float(people["value"].mean())  # type: ignore[arg-type]
    outside, odds = 0, []
    for seed in range(12):
        # Where people say more than the model does, an item is twice as likely to be judged.
        rng = np.random.default_rng(seed)
        drawn = people["item"].filter(pl.Series(rng.random(1500) < np.where(beyond > np.median(beyond), 0.2, 0.1)))
        frame = whole.filter((pl.col("kind") == "model") | pl.col("item").is_in(drawn.implode()))
        both = of(measures.mean(frame, powered_by="bot", ci="items"), "both")
        outside += not both["low"] <= truth <= both["high"]
        odds.append(both["hidden_odds"])
        assert both["random_sample"] == "not contradicted"
    assert outside >= 10
    # What is twice as likely is enough, and the row says that less would be.
    assert 1 < max(odds) < 2
    sentence = sentences(measures.mean(frame, powered_by="bot", ci="items"), "bot")[-1]
    assert sentence.startswith("If some items were 1.")
    assert "of which bot says the same, the true value could lie outside the interval." in sentence


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=12), st.floats(0.05, 2))
def test_hidden_odds_are_those_of_the_worst_weights(beyond: list[float], reach: float) -> None:
    centred = np.array(beyond) - np.mean(beyond)
    odds = hidden_odds(np.array(beyond), reach)

    def worst(weight: float) -> float:
        orders = (np.sort(centred), np.sort(-centred))
        return max(
            float(np.average(one, weights=np.where(np.arange(len(one)) >= k, weight, 1.0)))
            for one in orders
            for k in range(len(one))
        )

    if odds is None:
        assert worst(100.0) <= reach + 1e-9
    else:
        assert worst(odds) == pytest.approx(reach, rel=1e-6, abs=1e-9)


def test_known_probabilities_mend_what_chosen_items_bias() -> None:
    rng = np.random.default_rng(0)
    whole = judgments(items=2000, judged=2000, people=1, samples=1, seed=3)
    truth = whole.filter(kind="person")["value"].mean()
    said = whole.filter(kind="model").sort("item")["value"].to_numpy()
    chance = np.where(said >= 3, 0.4, 0.08)
    items = whole["item"].unique().sort()
    drawn = items.filter(pl.Series(rng.random(2000) < chance))
    frame = whole.join(pl.DataFrame({"item": items, "chance": chance}), on="item").filter(
        (pl.col("kind") == "model") | pl.col("item").is_in(drawn.implode())
    )
    biased = of(measures.mean(frame, powered_by="bot"), "both")
    mended = measures.mean(frame, powered_by="bot", probability="chance")
    assert biased["random_sample"] == "contradicted"
    assert of(mended, "both")["random_sample"] == "not contradicted"
    for who in ("people", "both"):
        assert of(mended, who)["low"] < truth < of(mended, who)["high"]
    assert of(mended, "both")["labels_gained"] > 0
    with pytest.raises(InputError, match="no probability above 0"):
        measures.mean(frame.with_columns(chance=pl.lit(0.0)), probability="chance", powered_by="bot")


def test_items_that_the_model_did_not_judge_are_left_out_and_counted() -> None:
    silent = pl.col("item").is_in(["i0000", "i0001", "i0002"]) & (pl.col("kind") == "model")
    result = measures.mean(FRAME.filter(~silent), powered_by="bot")
    assert of(result, "people")["items"] == 77
    assert of(result, "both")["left_out"]["without_model"] == 3
    assert of(result, "both")["reason"] is None
    means = PEOPLE.group_by("item").agg(pl.col("value").mean()).sort("value", "item")["item"]
    refused = pl.col("item").is_in(means[-25:].implode()) & (pl.col("kind") == "model")
    reason = of(measures.mean(FRAME.filter(~refused), powered_by="bot"), "both")["reason"]
    assert "judge the 25 items without the model's answer differently" in reason


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(InputError, match="there is no rater 'bott'; did you mean 'bot'"):
        measures.mean(FRAME, powered_by="bott")
    apart = FRAME.filter((pl.col("kind") == "person") | (pl.col("item") > "i0100"))
    with pytest.raises(InputError, match="no item was judged both by people and by 'bot'"):
        measures.mean(apart, powered_by="bot")
    with pytest.raises(InputError, match="measure 'fleiss' cannot be powered by a model; use one of mean,"):
        registry()["fleiss"].function(FRAME, powered_by="bot")
    with pytest.raises(InputError, match="cannot be grouped by rater or kind"):
        measures.mean(FRAME, by="rater", powered_by="bot")
    with pytest.raises(InputError, match="use ci both"):
        measures.mean(FRAME, ci="raters", powered_by="bot")
    with pytest.raises(InputError, match="leave per out"):
        measures.entropy(FRAME, per="item", powered_by="bot")
    with pytest.raises(InputError, match="an array has no names of raters"):
        measures.mean([[1, 2], [2, 2]], powered_by="bot")
    judged = PEOPLE["item"].unique().implode()
    every = of(measures.mean(FRAME.filter(pl.col("item").is_in(judged)), powered_by="bot"), "both")
    assert (every["lambda"], every["reason"]) == (0.0, ALL_JUDGED)


def test_the_measures_that_can_be_powered_are_those_that_errors_name() -> None:
    able = [name for name, known in registry().items() if "powered_by" in known.options and known.built_in]
    with pytest.raises(InputError) as refused:
        registry()["fleiss"].function(FRAME, powered_by="bot")
    assert set(str(refused.value).split("one of ")[1].rstrip(".").replace(" and ", ", ").split(", ")) == set(able)


def test_options_record_the_model() -> None:
    assert json.loads(measures.mean(FRAME, powered_by="bot")["options"][0])["powered_by"] == "bot"
