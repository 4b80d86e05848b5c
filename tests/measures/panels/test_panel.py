"""Panels: known error correlations, copies, independent members, the choice without hindsight, and bad input."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures.panels.answers import PanelAnswers, choose, effective_votes, equal_votes, losses
from vantage.measures.panels.panel import panel, self_preference
from vantage.measures.parts import parts


def rated(
    rng: np.random.Generator, errors: np.ndarray[Any, Any], people: int = 20, points: tuple[float, ...] = ()
) -> pl.DataFrame:
    """Models whose answers are the truth and these errors (items × members), beside people around the same truth."""
    truth = rng.normal(size=(len(errors), 1))
    value = np.hstack([truth + errors, truth + rng.normal(size=(len(errors), people))])
    item, rater = (grid.ravel() for grid in np.indices(value.shape))
    names = np.array([*(f"m{n}" for n in range(errors.shape[1])), *(f"p{n}" for n in range(people))])
    kind = np.where(rater < errors.shape[1], "model", "person")
    answers = np.digitize(value.ravel(), points).astype(float) if points else value.ravel().round(1)
    return pl.DataFrame({"item": item, "rater": names[rater], "kind": kind, "value": answers})


def votes_of(frame: pl.DataFrame, **options: Any) -> float:
    return float(panel(frame, level="ordinal", ci="none", **options)["estimate"][0])


def test_independent_members_add_one_vote_each() -> None:
    rng = np.random.default_rng(0)
    frame = rated(rng, rng.normal(size=(3000, 4)))
    rows = panel(frame, level="ordinal", ci="none", show="votes")
    assert rows["estimate"].to_list() == pytest.approx([1, 2, 3, 4], abs=0.15)
    assert rows["gain"].to_list() == pytest.approx([1, 1, 1, 1], abs=0.1)


def test_a_copy_adds_no_vote_wherever_it_comes() -> None:
    rng = np.random.default_rng(1)
    errors = rng.normal(size=(400, 3))
    without = votes_of(rated(np.random.default_rng(2), errors))
    with_copy = votes_of(rated(np.random.default_rng(2), errors[:, [0, 1, 2, 1]]))
    # The seed gives the people other answers where there is one more model: only the copy may differ by nothing.
    assert with_copy == pytest.approx(without, abs=0.1)
    frame = rated(np.random.default_rng(2), errors)
    copy = frame.filter(rater="m1").with_columns(rater=pl.lit("m9"))
    assert votes_of(pl.concat([frame, copy])) == pytest.approx(without, abs=1e-4)
    gain = panel(pl.concat([frame, copy]), level="ordinal", ci="none", show="votes")["gain"].to_list()
    assert min(abs(one) for one in gain) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.8])
def test_known_error_correlations_are_found_beside_few_people(correlation: float) -> None:
    """The error of the mean of five people is in every model's error; it is taken out."""
    rng = np.random.default_rng(3)
    shared, own = rng.normal(size=(6000, 1)), rng.normal(size=(6000, 2))
    errors = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    few, many = (
        panel(rated(np.random.default_rng(4), errors, people), level="ordinal", ci="none", show="matrix")
        for people in (4, 40)
    )
    assert few["estimate"][1] == pytest.approx(many["estimate"][1], abs=0.03)
    answers = PanelAnswers.of(
        next(parts(rated(np.random.default_rng(4), errors, 4), extra=["kind"])), None, None, "interval"
    )
    numbers = answers.values - 0.0
    naive = np.asarray(np.corrcoef(numbers))[0, 1]
    covariance = np.cov(numbers) - 1 / 4  # the variance of the mean of four people
    right = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert right == pytest.approx(correlation, abs=0.04)
    assert naive > right + 0.02


def test_votes_are_kishs_for_equal_correlations_and_never_fewer_with_more_members() -> None:
    for m, rho in ((2, 0.3), (6, 0.5), (9, 0.45)):
        matrix = np.full((m, m), rho) + (1 - rho) * np.eye(m)
        assert effective_votes(matrix) == pytest.approx(m / (1 + (m - 1) * rho))
        assert equal_votes(matrix) == pytest.approx(m / (1 + (m - 1) * rho))
    rng = np.random.default_rng(5)
    for _ in range(20):
        drawn = np.asarray(np.corrcoef(rng.normal(size=(5, 8)) + rng.normal(size=8)))
        grown = [effective_votes(drawn[:k, :k]) for k in range(1, 6)]
        assert all(b >= a - 1e-6 for a, b in pairwise(grown))
        weights = rng.dirichlet(np.ones(5), 4000)
        brute = 1 / np.einsum("wi,ij,wj->w", weights, drawn, weights).min()
        assert grown[-1] >= brute - 1e-9
        assert grown[-1] == pytest.approx(brute, rel=0.1)


def test_intervals_hold_the_votes_of_many_items() -> None:
    """A fast version of benchmarks/planning.py."""
    held = []
    for seed in range(20):
        rng = np.random.default_rng([seed, 7])
        row = panel(rated(rng, rng.normal(size=(120, 3))), level="ordinal", seed=seed).row(0, named=True)
        held.append(row["low"] <= 3.0 <= row["high"])
    assert np.mean(held) >= 0.85


def test_errors_are_from_the_distribution_and_not_from_its_most_frequent_answer() -> None:
    """Two models that both follow a majority of 65 % err alike; two that answer like single people do not."""
    rng = np.random.default_rng(6)
    items = 800
    share = np.where(np.arange(items) % 2, 0.65, 0.35)[:, None]
    people = (rng.random((items, 20)) < share).astype(float)
    majority = np.repeat(share > 0.5, 2, axis=1).astype(float)
    majority[rng.random(items) < 0.1] = 0.0  # both slip on the same items
    single = (rng.random((items, 2)) < share).astype(float)
    found = []
    for models in (majority, single):
        value = np.hstack([models, people])
        item, rater = (grid.ravel() for grid in np.indices(value.shape))
        kind = np.where(rater < 2, "model", "person")
        frame = pl.DataFrame({"item": item, "rater": rater, "kind": kind, "value": value.ravel()})
        found.append(float(panel(frame, level="nominal", ci="none")["estimate"][0]))
    assert found[0] == pytest.approx(1.0, abs=1e-3)
    assert found[1] == pytest.approx(2.0, abs=0.1)


def test_who_does_not_tell_items_apart_has_no_vote() -> None:
    rng = np.random.default_rng(9)
    frame = rated(rng, rng.normal(size=(300, 2)), points=(-1.0, 0.0, 1.0))
    answers = frame.filter(rater="m0").drop("rater", "value")
    people = frame.filter(kind="person")["value"].to_numpy()
    blind = [
        answers.with_columns(rater=pl.lit(name), value=pl.Series(value)).select(frame.columns)
        for name, value in {"constant": np.full(300, 2.0), "marginal": rng.choice(people, 300)}.items()
    ]
    alone = panel(frame, level="ordinal").row(0, named=True)
    together = panel(pl.concat([frame, *blind]), level="ordinal").row(0, named=True)
    assert together["no_vote"] == "constant, marginal"
    for name in ("members", "estimate", "low", "high", "equal", "chosen", "chosen_loss", "all_loss"):
        assert together[name] == alone[name]
    each = panel(pl.concat([frame, *blind]), level="ordinal", show="raters")
    assert dict(each.select("rater", "above_floor").iter_rows()) == {
        "m0": True,
        "m1": True,
        "constant": False,
        "marginal": False,
    }
    row = panel(pl.concat([frame.filter(pl.col("rater") != "m1"), *blind]), level="ordinal").row(0, named=True)
    assert row["reason"] == "a panel needs at least two models that tell items apart as people do, but 1 of 3 does"


@pytest.mark.slow
def test_the_panel_is_chosen_without_hindsight() -> None:
    """Of twelve useless members the best on the items at hand looks good; on other items it does not."""
    rng = np.random.default_rng(8)
    frame = rated(rng, 2 * rng.normal(size=(60, 10)), points=(-1.0, 0.0, 1.0))
    answers = PanelAnswers.of(next(parts(frame, extra=["kind"])), None, None, "ordinal")
    choice = choose(answers, [1.0] * 10, 0)
    at_hand = min(float(losses(answers.products, (member,)).mean()) for member in range(10))
    assert float(choice.by_size[0].mean()) > at_hand


def test_the_cheapest_sufficient_panel_leaves_out_copies_and_dear_members() -> None:
    rng = np.random.default_rng(9)
    errors = np.column_stack([0.5 * rng.normal(size=500), np.zeros(500), 3 * rng.normal(size=500)])
    errors[:, 1] = errors[:, 0]
    frame = rated(rng, errors)
    row = panel(frame, level="ordinal", ci="none").row(0, named=True)
    assert row["chosen"] in ("m0", "m1")
    assert (row["size"], row["cost"]) == (1, 1.0)
    assert row["chosen_loss"] == pytest.approx(row["all_loss"], rel=0.1)
    dear = panel(frame, level="ordinal", ci="none", prices={"m0": 5, "m1": 1, "m2": 1}).row(0, named=True)
    assert (dear["chosen"], dear["cost"]) == ("m1", 1.0)


def test_one_member_is_worth_as_many_people_as_are_as_close() -> None:
    """The mean of k people has the loss s²/k, so that a model that is such a mean is worth k of them."""
    rng = np.random.default_rng(10)
    items, k = 4000, 3
    people = rng.integers(0, 2, size=(items, 12)).astype(float)
    rows = [
        pl.DataFrame({"item": range(items), "rater": f"p{n}", "kind": "person", "sample": 0, "value": people[:, n]})
        for n in range(12)
    ]
    for name in ("a", "b"):
        rows += [
            pl.DataFrame(
                {"item": range(items), "rater": name, "kind": "model", "sample": n, "value": rng.integers(0, 2, items)}
            ).cast({"value": pl.Float64})
            for n in range(k)
        ]
    found = panel(pl.concat(rows), level="nominal", show="raters")
    assert found["worth"].to_list() == pytest.approx([k, k], rel=0.1)


def test_self_preference_is_found_beyond_what_people_think_of_the_texts() -> None:
    rng = np.random.default_rng(11)
    items = 300
    wrote = np.array(["gpt-4o", "claude-3", "someone"])[np.arange(items) % 3]
    errors = 0.5 * rng.normal(size=(items, 2))
    errors[:, 0] += 0.8 * (wrote == "gpt-4o")
    frame = rated(rng, errors).with_columns(pl.col("rater").replace({"m0": "openai/gpt-4.1", "m1": "claude-2"}))
    # People like the texts of gpt as well: that is no preference of the model.
    better = pl.Series("better", 1.0 * (wrote == "gpt-4o"))
    frame = frame.with_columns(
        value=pl.col("value") + better.gather(frame["item"]), writer=pl.Series(wrote).gather(frame["item"])
    )
    rows = panel(frame, level="interval", show="preference", writer="writer")
    by_rater = {row["rater"]: row for row in rows.to_dicts()}
    assert by_rater["openai/gpt-4.1"]["estimate"] == pytest.approx(0.8, abs=0.25)
    assert by_rater["openai/gpt-4.1"]["low"] > 0.4
    assert by_rater["claude-2"]["p"] > 0.001
    assert by_rater["claude-2"]["own_items"] == 100


def test_a_question_that_no_two_models_answered_gets_a_reason() -> None:
    rng = np.random.default_rng(12)
    frame = rated(rng, rng.normal(size=(40, 2))).with_columns(question=pl.lit("a"))
    other = frame.filter(pl.col("rater") != "m1").with_columns(question=pl.lit("b"))
    rows = panel(pl.concat([frame, other]), by="question", level="ordinal", ci="none")
    assert rows["estimate"].null_count() == 1
    assert "at least two models" in rows.filter(question="b")["reason"][0]


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        (lambda f: f.filter(pl.col("rater") != "m1"), {}, "at least two models, and there is one"),
        (lambda f: f.filter(pl.col("kind") == "person"), {}, "there are none"),
        (lambda f: f.filter(pl.col("kind") == "model"), {}, "no people answered"),
        (lambda f: f.filter(~pl.col("rater").str.contains("p[1-9]")), {}, "no item has answers from two people"),
        (
            lambda f: f.filter((pl.col("kind") == "person") == (pl.col("item") < 20)),
            {},
            "'m0' answered 0 of those that people did",
        ),
        (lambda f: f, {"raters": ["m0", "m7"]}, "there is no rater 'm7'"),
        (lambda f: f.drop("kind"), {}, "which raters are models and which are people"),
        (lambda f: f, {"prices": {"m0": 1.0}}, "no price of m1"),
        (lambda f: f, {"show": "preference"}, "no column names who wrote"),
        (lambda f: f, {"show": "preference", "writer": "rater"}, "an item has several values of 'rater'"),
        (lambda f: f, {"show": "vote"}, "did you mean 'votes'"),
        (lambda f: f.with_columns(value=pl.lit(1.0)), {}, "all answers are the same"),
    ],
)
def test_bad_input_is_one_sentence(change: Any, options: dict[str, Any], says: str) -> None:
    rng = np.random.default_rng(13)
    frame = change(rated(rng, rng.normal(size=(40, 2))))
    with pytest.raises(InputError, match=says):
        panel(frame, level="ordinal", ci="none", **options)


def test_self_preference_needs_an_order() -> None:
    rng = np.random.default_rng(14)
    frame = rated(rng, rng.normal(size=(40, 2)), points=(-1.0, 0.0, 1.0))
    answers = PanelAnswers.of(next(parts(frame, extra=["kind"])), None, None, "nominal")
    with pytest.raises(InputError, match="needs an order"):
        self_preference(answers, dict.fromkeys(range(40), "a"), 0.95)
