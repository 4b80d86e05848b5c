"""`vantage.measures.audit`: planted biases are found, absent ones are not, and a simple design is the paired t test."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from benchmarks.audit import EFFECTS, PLANTED, PRESENTATIONS, SCALE, crowd, table, true_effects
from benchmarks.biased import BiasedRater
from vantage import Corpus, Instrument
from vantage.errors import InputError
from vantage.measures.audits.effects import VIEW, audit
from vantage.measures.audits.regression import shifts
from vantage.measures.intervals import Contrast
from vantage.report.sentences import decide
from vantage.report.views import present
from vantage.scales import Scale


def row(frame: pl.DataFrame, effect: str, **where: Any) -> dict[str, Any]:
    found = audit(frame, **where).filter(effect=effect)
    assert len(found) == 1
    return found.row(0, named=True)


def test_two_presentations_of_one_rater_are_a_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=25), rng.normal(size=25) + 0.4
    item = np.concatenate([np.arange(25)] * 2)
    shown = ["order=up"] * 25 + ["order=down"] * 25
    columns = {"item": item, "rater": "model", "sample": range(50), "value": np.concatenate([first, second])}
    found = row(pl.DataFrame({**columns, "presentation": shown}), "order")
    known = stats.ttest_rel(second, first)
    assert found["t"] == pytest.approx(known.statistic)
    assert found["p"] == pytest.approx(known.pvalue)
    assert [found["low"], found["high"]] == pytest.approx(list(known.confidence_interval()))
    assert found["limit"] == pytest.approx(max(abs(found["low"]), abs(found["high"])))


def test_several_factors_are_the_least_squares_of_a_full_design() -> None:
    rng = np.random.default_rng(1)
    unit, x = np.repeat(np.arange(12), 5), rng.normal(size=(60, 3))
    y = x @ [1.0, -2.0, 0.5] + rng.normal(size=12)[unit] + rng.normal(size=60)
    known = np.linalg.lstsq(np.column_stack([x, np.eye(12)[unit]]), y, rcond=None)[0][:3]
    found = shifts(y, x, unit, unit)
    assert [one.estimate for one in found if isinstance(one, Contrast)] == pytest.approx(known)
    # The jackknife, by leaving out each item and fitting again.
    again = []
    for out in range(12):
        kept = unit != out
        design = np.column_stack([x[kept], np.eye(12)[unit[kept]]])
        again.append(np.linalg.lstsq(design, y[kept], rcond=None)[0][:3])
    errors = np.sqrt(11 / 12 * np.square(np.array(again) - known).sum(axis=0))
    assert [one.error for one in found if isinstance(one, Contrast)] == pytest.approx(errors)


def test_columns_that_are_one_cannot_be_told_apart() -> None:
    unit = np.repeat(np.arange(6), 2)
    x = np.tile([0.0, 1.0], 6)
    found = shifts(np.arange(12.0), np.column_stack([x, x, np.zeros(12)]), unit, unit)
    assert [one.split(" apart")[0] for one in found[:2] if isinstance(one, str)] == ["the design cannot tell it"] * 2
    assert found[2] == "no item was answered in two ways that differ in this"


@pytest.mark.parametrize(("effect", "bias"), EFFECTS.items())
def test_a_planted_bias_is_found_and_its_interval_holds_it(effect: str, bias: str) -> None:
    truth = true_effects(PLANTED[bias])[effect]
    rows = [row(table(seed, PLANTED[bias]), effect, rater="model") for seed in range(4)]
    assert sum(one["low"] <= truth <= one["high"] for one in rows) >= 3
    assert all(one["p_adjusted"] < 0.05 for one in rows)
    assert np.mean([one["estimate"] for one in rows]) == pytest.approx(truth, abs=0.08)


def test_absent_biases_are_hardly_ever_found() -> None:
    frames = [audit(table(seed, {}), rater="model") for seed in range(100, 112)]
    p = pl.concat(frames).filter(pl.col("effect").is_in(list(EFFECTS)))
    assert (p["p"] < 0.05).to_numpy().mean() < 0.15
    assert (p["p_adjusted"] < 0.05).sum() <= 2


@pytest.mark.slow
def test_intervals_cover_and_tests_have_their_size() -> None:
    """The bench in small; `python -m benchmarks audit` has 200 seeds."""
    truth, rows = true_effects(PLANTED["primacy"]), []
    for seed in range(60):
        found = audit(table(seed, PLANTED["primacy"]), rater="model").filter(pl.col("effect").is_in(list(EFFECTS)))
        rows += [(one["low"] <= truth[one["effect"]] <= one["high"]) for one in found.iter_rows(named=True)]
    assert 0.92 <= np.mean(rows) <= 0.98


def test_people_who_each_see_one_order_are_compared_between_persons() -> None:
    found = row(crowd(3, 0.4), "order")
    assert found["rater"] == "people"
    assert found["low"] < 0.4 < found["high"]
    within = row(crowd(3, 0.4).with_columns(rater=pl.lit("one")), "order")
    # Persons differ, so that the interval over persons is longer than one that takes answers for independent.
    assert found["high"] - found["low"] > 1.5 * (within["high"] - within["low"])


def test_a_random_order_counts_by_how_far_it_falls() -> None:
    rng = np.random.default_rng(2)
    places = [".".join(map(str, rng.permutation(7) + 1)) for _ in range(8)]
    truth = {f"i{n}": float(value) for n, value in enumerate(rng.uniform(-1, 1, 60))}
    shown = [f"order=random seen={one}" for one in places]
    frame = BiasedRater("model", primacy=1.0).judgments(truth, SCALE, shown, seed=4)
    found = row(frame, "order")
    assert found["low"] < 1.0 < found["high"]
    assert found["p"] < 0.001


def test_acquiescence_is_the_same_from_a_reversed_twin_and_from_a_choice() -> None:
    truth = {f"i{n}": float(value) for n, value in enumerate(np.random.default_rng(5).uniform(-1, 1, 80))}
    rater = BiasedRater("model", acquiescence=0.5)
    for other in ("reversed", "choice"):
        shown = ["direction=plain", f"direction={other}"]
        found = row(rater.judgments(truth, SCALE, shown, samples=4, seed=6), "acquiescence")
        assert found["low"] < 0.5 < found["high"]
        assert found["contrast"] == f"plain − {other}"


def test_a_reversed_twin_turns_the_order_of_its_options() -> None:
    truth = {f"i{n}": float(value) for n, value in enumerate(np.random.default_rng(7).uniform(-1, 1, 60))}
    frame = BiasedRater("model", primacy=0.8).judgments(truth, SCALE, PRESENTATIONS, seed=8)
    assert row(frame, "order")["estimate"] == pytest.approx(0.8, abs=0.15)
    assert row(frame.filter(pl.col("presentation").str.contains("reversed")), "order")["estimate"] > 0.5


def test_hiding_the_middle_moves_answers_beside_it() -> None:
    truth = {f"i{n}": 0.0 for n in range(30)}
    frame = BiasedRater("model", noise=0.5).judgments(
        truth, SCALE, ["middle=shown", "middle=hidden"], samples=5, seed=1
    )
    found = row(frame, "middle option")
    assert found["unit"] == "percentage points"
    assert found["estimate"] == pytest.approx(50, abs=8)


def test_wordings_and_formats_are_compared_with_the_first() -> None:
    truth = {f"i{n}": float(n % 5 - 2) for n in range(40)}
    shown = [f"format={f} wording={w}" for f, w in product(("json", "line"), (1, 2, 3))]
    frame = BiasedRater("model", noise=0.2).judgments(truth, SCALE, shown, seed=3)
    up = pl.when(pl.col("presentation").str.contains("wording=3")).then(pl.col("value") + 1).otherwise(pl.col("value"))
    rows = audit(frame.with_columns(value=up))
    named = dict(rows.filter(pl.col("estimate").is_not_null()).select("contrast", "estimate").rows())
    assert named["3 − 1"] == pytest.approx(1, abs=0.25)
    assert abs(named["2 − 1"]) < 0.25
    assert abs(named["json − line"]) < 0.25


def test_answers_to_several_questions_are_compared_with_those_of_people() -> None:
    rng = np.random.default_rng(9)
    question, rater, item = (grid.ravel() for grid in np.indices((3, 6, 40)))
    level = rng.integers(1, 6, size=(3, 40))
    value = np.where(rater == 0, level[0, item], level[question, item]).astype(float)
    columns = {"item": item, "rater": [f"r{one}" for one in rater], "question": [f"q{one}" for one in question]}
    kinds = np.where(rater == 0, "model", "person")
    found = row(pl.DataFrame({**columns, "value": value, "kind": kinds}), "across questions", rater="r0")
    assert found["contrast"] == "beyond people"
    assert found["high"] < 0  # the model answers every question alike


def test_without_presentations_the_card_says_so() -> None:
    frame = pl.DataFrame({"item": range(10), "rater": "model", "value": [1.0, 2.0] * 5})
    rows = audit(frame)
    assert rows["p"].null_count() == len(rows)
    assert "one unknown presentation" in rows.filter(effect="order")["reason"][0]
    one = audit(frame.with_columns(presentation=pl.lit("order=up")))
    assert one.filter(effect="order")["reason"][0] == "order has one level (up)"
    assert one.filter(effect="wording")["reason"][0] == "wording was not varied"


def test_a_wrong_presentation_is_named_with_its_row() -> None:
    frame = pl.DataFrame(
        {"item": [1, 2], "rater": "model", "value": [1.0, 2.0], "presentation": ["order=up", "ordr=up"]}
    )
    with pytest.raises(InputError, match=r"row 2, column 'presentation'.*there is no factor 'ordr'"):
        audit(frame)
    with pytest.raises(InputError, match="there is no rater 'mdel'"):
        audit(frame.with_columns(presentation=pl.lit(None, dtype=pl.String)), rater="mdel")


def test_sentences_follow_from_the_corrected_numbers() -> None:
    frame = audit(table(0, PLANTED["primacy"]), rater="model")
    shown = present(frame, VIEW, name="audit")
    texts = [finding.text for part in decide(shown.statements) for finding in part]
    assert any(text.startswith("Options that are listed first are favoured: model (+0.") for text in texts)
    assert any(
        text.startswith("No clear drift between dates: model (") and "would have been seen" in text for text in texts
    )


def test_nothing_is_said_of_people_where_there_are_none() -> None:
    rng = np.random.default_rng(0)
    asked = {"item": np.repeat(np.arange(30), 2), "rater": "bot", "sample": np.tile([0, 1], 30)}
    frame = pl.DataFrame({**asked, "value": rng.integers(1, 6, 60).astype(float)}).with_columns(
        presentation=pl.Series(["order=up", "order=down"] * 30)
    )
    shown = present(audit(frame), VIEW, name="audit")
    texts = [finding.text for part in decide(shown.statements) for finding in part]
    assert len(texts) == 1
    assert texts[0].startswith("The order of the options has no clear effect: bot")


def test_nominal_scales_count_the_first_option_and_scales_are_not_pooled() -> None:
    scales = {"colour": Scale.labels("red", "green", "blue"), "size": Scale.points(1, 5)}
    rng = np.random.default_rng(0)
    rows = [
        {"item": f"i{n}", "question": question, "rater": "model", "sample": sample, "presentation": f"order={order}"}
        | {"value": float(rng.integers(1, 3)) if question == "size" else float(order == "up" and n % 2 == 0)}
        for n, question, (sample, order) in product(range(20), scales, enumerate(("up", "down")))
    ]
    items = pl.DataFrame({"item": [f"i{n}" for n in range(20)]})
    raters = pl.DataFrame({"rater": ["model"], "kind": ["model"]})
    corpus = Corpus(items, raters, pl.DataFrame(rows), Instrument.of_questions("two", "Two", scales))
    found = audit(corpus).filter(effect="order")
    assert dict(found.select("scale", "unit").rows()) == {"nominal": "percentage points", "1 to 5": "points"}
    other = Instrument.of_questions("two", "Two", {**scales, "colour": _moved(scales["colour"])})
    shifted = pl.when(pl.col("question") == "colour").then(pl.col("value") + 4).otherwise(pl.col("value"))
    again = audit(Corpus(items, raters, pl.DataFrame(rows).with_columns(shifted), other)).filter(effect="order")
    assert again["estimate"].to_list() == found["estimate"].to_list()  # codes of a nominal scale are only names
    # Red is chosen in all but the even items of the rising order, so that it is avoided where it is listed first.
    assert found.filter(scale="nominal")["estimate"][0] == pytest.approx(-50)


def _moved(scale: Scale) -> Scale:
    return Scale(tuple(replace(option, code=option.code + 4) for option in scale.options), scale.level)
