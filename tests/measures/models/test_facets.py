"""`vantage.measures.facets`: planted parameters are recovered, and agree with raschpy; degenerate designs are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tools.models_golden import rasch
from vantage.errors import InputError
from vantage.measures.models import rasch as rasch_model
from vantage.measures.models.facets import facets
from vantage.measures.models.rasch import Rasch, RaschAnswers
from vantage.measures.ratings import SPREAD_OUT

TAU = np.array([-1.3, -0.2, 0.3, 1.2])


def planted(
    seed: int = 0, *, items: int = 300, raters: int = 20, each: int = 8, sigma: float = 1.2
) -> tuple[pl.DataFrame, Any, Any]:
    """Answers of a rating scale model, with their severities and locations."""
    rng = np.random.default_rng(seed)
    severity, location = np.linspace(-1, 1, raters), rng.normal(0, sigma, items)
    item = np.repeat(np.arange(items), each)
    rater = np.argsort(rng.random((items, raters)), axis=1)[:, :each].ravel()
    raw = (location[item] - severity[rater])[:, None] * np.arange(5) - np.concatenate([[0], np.cumsum(TAU)])
    p = np.exp(raw)
    value = ((p / p.sum(axis=1, keepdims=True)).cumsum(axis=1) < rng.random((len(item), 1))).sum(axis=1)
    return pl.DataFrame({"item": item, "rater": rater, "value": value.astype(float)}), severity, location


def test_planted_parameters_are_recovered() -> None:
    data, severity, location = planted()
    rows = facets(data).sort("rater")
    error = rows["estimate"].to_numpy() - severity
    assert np.abs(error).max() < 0.35
    assert np.sqrt(np.mean(error**2)) < 1.5 * rows["se"].mean()  # type: ignore[operator]
    assert rows["infit"].mean() == pytest.approx(1.0, abs=0.05)
    assert rows["outfit"].mean() == pytest.approx(1.0, abs=0.05)
    assert rows["range_use"].mean() == pytest.approx(1.0, abs=0.05)
    assert facets(data, show="thresholds")["estimate"].to_list() == pytest.approx(list(TAU), abs=0.2)
    items = facets(data, show="items").sort("item")
    truth, low, high = location - location.mean(), items["low"].to_numpy(), items["high"].to_numpy()
    assert np.mean((low < truth) & (truth < high)) > 0.9
    summary = facets(data, show="summary")
    assert summary["sd"][1] == pytest.approx(1.2, abs=0.15)
    assert summary["estimate"].min() > 0.7  # type: ignore[operator]


def test_errors_rest_on_the_whole_information(monkeypatch: pytest.MonkeyPatch) -> None:
    """What thresholds add to errors; three raters an item held severities in 88 to 92 % without it."""
    data, severity, location = planted(2, items=60, raters=8, each=3)
    full, items = facets(data).sort("rater"), facets(data, show="items").sort("item")
    monkeypatch.setattr(rasch_model, "FULL", 0)
    known, bare = facets(data).sort("rater"), facets(data, show="items").sort("item")
    assert full["estimate"].to_list() == known["estimate"].to_list()
    assert (full["se"] > known["se"]).all()
    assert (items["se"] > bare["se"]).all()
    assert np.mean((full["low"].to_numpy() < severity) & (severity < full["high"].to_numpy())) >= 0.75
    truth = location - severity.mean()
    assert np.mean((items["low"].to_numpy() < truth) & (truth < items["high"].to_numpy())) > 0.88


@pytest.mark.slow
def test_estimates_are_those_of_raschpy() -> None:
    # Pairwise and marginal likelihood are two consistent estimators, whose distance falls with the square root of the
    # number of items: 0.012 at 2,500 items, 0.007 at 10,000. This many are needed to compare to 0.01.
    pandas, raschpy = pytest.importorskip("pandas"), pytest.importorskip("raschpy.rsm")
    data, _, _ = planted(3, items=8000, raters=6, each=6)
    wide = data.pivot(on="rater", index="item", values="value", sort_columns=True).drop("item").cast(pl.Int64)
    peer = raschpy.RSM(pandas.DataFrame(wide.to_dict(as_series=False)), max_score=4)
    peer.calibrate()
    severity = np.asarray(peer.items, dtype=float)
    ruler = facets(data, show="ruler")
    np.testing.assert_allclose(ruler.filter(facet="person")["estimate"], severity - severity.mean(), atol=0.01)
    np.testing.assert_allclose(
        ruler.filter(facet="threshold")["estimate"], np.asarray(peer.thresholds, dtype=float), atol=0.01
    )
    # The same formulas to the last digit, at the same parameters.
    category = np.array([float(peer.cat_prob(0.7, 0.2, k, TAU)) for k in range(5)])
    model = Rasch(
        RaschAnswers(np.array([4]), np.array([0]), [np.array([0])], np.array([0])),
        np.concatenate([[0.0], TAU, [0.2]]), np.zeros(1), np.ones(1),
    )  # fmt: skip
    np.testing.assert_allclose(model.probabilities(np.array([[0.5]]))[0, 0], category, atol=1e-12)


def test_the_gradient_is_exact() -> None:
    data, _, _ = planted(items=40, raters=6, each=4)
    code = data["rater"].to_numpy().astype(np.int64)
    answers = RaschAnswers(data["value"].to_numpy().astype(np.int64), data["item"].to_numpy(), [code], code, 1.0)
    start = Rasch.start(answers)
    at = start.parameters + 0.1 * np.random.default_rng(0).normal(size=len(start.parameters))

    def value(shift: Any) -> float:
        return Rasch(answers, at + shift, start.centre, start.spread).objective

    slopes = [(value(1e-4 * e) - value(-1e-4 * e)) / 2e-4 for e in np.eye(len(at))]
    found = Rasch(answers, at, start.centre, start.spread).gradient
    np.testing.assert_allclose(found, slopes, rtol=1e-5, atol=1e-5)


def test_fair_averages_do_not_depend_on_who_rated() -> None:
    data, _, _ = planted(items=200)
    # The first half of the items was rated by the strict half of the raters, and a few by everyone.
    kept = ((data["item"] < 100) == (data["rater"] >= 10)) | (data["item"] % 10 == 0)
    rows = facets(data.filter(kept), show="items").sort("item")
    truth = facets(data, show="items").sort("item")
    halves = [rows.filter((pl.col("item") < 100) == first) for first in (True, False)]
    assert halves[0]["observed"].mean() < halves[1]["observed"].mean() - 0.3  # type: ignore[operator]
    both = rows.join(truth, on="item", suffix="_all")
    gap = (both["fair"] - both["fair_all"]).to_numpy()
    assert abs(gap[both["item"].to_numpy() < 100].mean() - gap[both["item"].to_numpy() >= 100].mean()) < 0.2


def test_models_are_raters_beside_people_who_have_severity_zero() -> None:
    data, _, location = planted(items=150)
    people = data.with_columns(pl.col("rater").cast(pl.String), kind=pl.lit("person"))
    strict = np.clip(np.rint(2 + location - 1.5), 0, 4)
    model = pl.DataFrame({"item": range(150), "rater": "gpt", "value": strict, "kind": "model"})
    rows = facets(pl.concat([people, model], how="diagonal_relaxed"))
    assert rows.filter(kind="person")["estimate"].mean() == pytest.approx(0.0, abs=1e-9)
    gpt = rows.filter(rater="gpt").row(0, named=True)
    assert gpt["low"] > 0
    assert gpt["infit"] < 1
    ruler = facets(pl.concat([people, model], how="diagonal_relaxed"), show="ruler")
    assert dict(ruler["facet"].value_counts().iter_rows()) == {"person": 20, "model": 1, "item": 150, "threshold": 4}


@pytest.mark.parametrize(("answer", "end"), [(0.0, "lowest"), (4.0, "highest")])
def test_a_rater_who_gives_one_end_of_the_scale_has_a_bound(answer: float, end: str) -> None:
    data, _, _ = planted(items=80)
    single = pl.DataFrame({"item": range(80), "rater": 99, "value": answer})
    rows = facets(pl.concat([data, single], how="diagonal_relaxed"))
    row = rows.filter(rater=99).row(0, named=True)
    assert end in row["reason"]
    assert (row["estimate"] > 2) == (answer == 0)
    others = rows.filter(pl.col("rater") < 99)["estimate"]
    np.testing.assert_allclose(others, facets(data)["estimate"], atol=1e-6)


def test_a_rater_who_gives_one_answer_in_the_middle_uses_no_range() -> None:
    data, _, _ = planted(items=80)
    single = pl.DataFrame({"item": range(80), "rater": 99, "value": 2.0})
    row = facets(pl.concat([data, single], how="diagonal_relaxed")).filter(rater=99).row(0, named=True)
    assert row["range_use"] == pytest.approx(0.0, abs=1e-9)
    assert row["infit"] < 1


def test_an_unused_answer_is_named_and_questions_are_a_facet() -> None:
    from vantage import demo_corpus

    corpus = demo_corpus()
    kept = corpus.filter(pl.col("value") != 2)
    rows = facets(kept, question="trust", show="thresholds")
    assert "nobody gave this answer" in rows.filter(threshold="2")["reason"].to_list()
    both = facets(corpus, thresholds="question")
    assert set(both["question"].drop_nulls()) == {"trust", "sociability", "competence"}
    own = facets(corpus, thresholds="question", show="thresholds")
    assert own["group"].n_unique() == 4


def test_two_answers_are_the_model_of_glmer() -> None:
    """Raters fixed, items random, adaptive quadrature on both sides: the same likelihood (tools/models_golden.R)."""
    golden = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))["rasch"]
    rows = facets(rasch())
    easiness = np.array(list(golden["fixed"].values()))
    np.testing.assert_allclose(rows["estimate"], easiness.mean() - easiness, atol=2e-3)
    summary = facets(rasch(), show="summary")
    assert summary.filter(facet="item")["sd"][0] ** 2 == pytest.approx(golden["variance"]["item"], rel=5e-3)
    assert summary["log_likelihood"][0] == pytest.approx(golden["log_likelihood"], abs=0.02)


def test_questions_and_conditions_are_on_the_ruler() -> None:
    data, _, _ = planted(items=120)
    # Every other answer was given under a stricter condition.
    strict = np.arange(len(data)) % 2 == 1
    lowered = pl.when(pl.Series(strict)).then((pl.col("value") - 1).clip(0)).otherwise("value")
    varied = data.with_columns(value=lowered, condition=np.where(strict, "strict", "plain"))
    ruler = facets(varied, show="ruler").filter(facet="condition")
    severity = dict(ruler.select("name", "estimate").iter_rows())
    assert severity["strict"] > 0.3
    assert severity["plain"] == pytest.approx(-severity["strict"])


def test_use_of_categories_and_curves_of_groups() -> None:
    data, _, _ = planted(items=200)
    # One rater says 0 or 4 only.
    third = pl.col("rater") == 3
    low = pl.when(third & (pl.col("value") < 2)).then(0.0)
    extreme = low.when(third & (pl.col("value") > 1)).then(4.0).otherwise("value")
    data = data.with_columns(value=extreme)
    use = facets(data, show="categories").filter(rater=3).sort("answer")
    assert use["estimate"].to_list()[1:4] == [0.0, 0.0, 0.0]
    assert use["expected"].sum() == pytest.approx(1.0)
    assert use["expected"].min() > 0.02  # type: ignore[operator]
    curves = facets(data, thresholds="rater", show="curve")
    steepest = curves.group_by("group").agg(pl.col("estimate").diff().max()).sort("estimate")["group"].to_list()
    assert steepest[-1] == "3"
    assert len(curves) == 61 * 21


def test_unconnected_raters_can_be_assumed_to_have_alike_items() -> None:
    data, severity, _ = planted(items=400)
    half = (data["item"] < 200) == (data["rater"] < 10)
    apart = data.filter(half)
    together = facets(apart, unconnected="assume").sort("rater")
    assert np.abs(together["estimate"].to_numpy() - severity).max() < 0.5
    assert set(together["part"]) == {1, 2}
    assert together.group_by("part").agg(pl.col("rater").is_between(0, 9).n_unique())["rater"].to_list() == [1, 1]
    largest = facets(apart, unconnected="largest")
    assert len(largest) == 10
    assert largest["left_out"][0]["unconnected"] == len(apart) - largest["judgments"].sum()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": pl.lit(1.0)}, "needs 2 to 20 different answers, and there are 1"),
        ({"value": pl.int_range(pl.len()).cast(pl.Float64)}, "use vantage.measures.explain with family gaussian"),
        (
            {"rater": pl.col("rater") + 100 * (pl.col("item") % 2), "item": pl.col("item")},
            "2 parts that share no items, so they have no common scale: 0, 1, 2, 3 …; 100, 101, 102, 103 …; pass unco",
        ),
        ({"rater": pl.lit("ann")}, "needs two raters"),
    ],
)
def test_bad_input_is_one_sentence(change: dict[str, pl.Expr], message: str) -> None:
    data, _, _ = planted(items=60)
    with pytest.raises(InputError, match=message):
        facets(data.with_columns(**change))


def test_a_model_that_does_not_converge_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vantage.measures.models.rasch.ROUNDS", 0)
    data, _, _ = planted(items=60)
    with pytest.raises(InputError, match=r"did not converge after 0 rounds of L-BFGS-B \(largest derivative"):
        facets(data)


def test_people_are_the_anchor_and_others_move_nothing() -> None:
    data, _, _ = planted(items=120)
    people = data.with_columns(pl.format("r{}", "rater").alias("rater"), kind=pl.lit("person"))
    plain = facets(people, show="items").select("item", "estimate")
    first = people["rater"][0]
    copied = people.filter(rater=first).with_columns(rater=pl.lit("model"), kind=pl.lit("model"))
    middle = people.unique("item").with_columns(
        rater=pl.lit("constant"), kind=pl.lit("trained"), value=pl.lit(2).cast(people.schema["value"])
    )
    both = pl.concat([people, copied, middle])
    anchored = facets(both, show="items", kinds="all", anchored=True).select("item", "estimate")
    assert anchored.equals(plain)
    moved = facets(both, show="items", kinds="all").select("item", "estimate")
    assert moved["estimate"].to_numpy().std() < 0.99 * plain["estimate"].to_numpy().std()
    raters = facets(both, kinds="all", anchored=True)
    of = {row["rater"]: row for row in raters.iter_rows(named=True)}
    assert of["model"]["estimate"] == pytest.approx(of[first]["estimate"], abs=0.1)
    assert of["model"]["infit"] == pytest.approx(of[first]["infit"], abs=0.25)
    assert of["model"]["low"] < of[first]["estimate"] < of["model"]["high"]
    assert of["constant"]["range_use"] == pytest.approx(0, abs=0.05)
    assert facets(people, anchored=True).drop("options").equals(facets(people).drop("options"))


@pytest.mark.parametrize(("raters", "told"), [(24, True), (5, False)])
def test_few_answers_for_each_parameter_are_told(raters: int, told: bool) -> None:
    rng = np.random.default_rng(0)
    item = np.repeat(np.arange(80), 3)
    rater = np.concatenate([rng.permutation(raters)[:3] for _ in range(80)])
    latent = rng.normal(size=80)[item] - rng.normal(size=raters)[rater] + rng.logistic(size=240)
    rows = facets({"item": item, "rater": rater, "value": np.digitize(latent, [-1.0, 0.0, 1.0])})
    assert set(rows["reason"]) == {SPREAD_OUT if told else None}
