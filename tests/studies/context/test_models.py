"""Models without and with context: scores are those of a plain computation; planted effects and orders are found."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score

from tests.report.truth import check_all, findings
from tests.studies.context.judged import analysed, judged_corpus, table
from vantage.report.parts import Result
from vantage.studies.base import find
from vantage.studies.context.analysis import ContextAnalysis, Statements
from vantage.studies.context.models import Rated, before_and_after, effects, rated

FLAGGED = [f"i{n:03}" for n in range(0, 60, 3)]


def one(**options: Any) -> Rated:
    corpus = judged_corpus(30, {"m": (0.7, 0.9)}, **options)
    part = ContextAnalysis(corpus, find("context").options(tasks="sarcasm", resamples=100)).parts["sarcasm"]
    return next(rated(part))


def by_hand(judged: pl.DataFrame) -> float:
    """Macro F1 over the two labels, the mean over runs; what is no label is a third class that is not averaged."""
    runs = [
        f1_score(run["gold"], run["value"].fill_null(9), labels=[0, 1], average="macro", zero_division=0)
        for (_,), run in judged.group_by("sample")
    ]
    return float(np.mean(runs))


def test_f1_is_the_mean_over_runs_with_ambiguous_counted_wrong() -> None:
    model = one()
    (row,) = before_and_after(model, ())
    assert row["static"] == pytest.approx(by_hand(model.under("static")))
    assert row["context"] == pytest.approx(by_hand(model.under("context")))
    assert row["difference_low"] <= row["difference"] <= row["difference_high"]
    assert model.under("static")["value"].null_count() > 0


def test_a_perfect_model_scores_one_on_every_part() -> None:
    judged = judged_corpus(30, {"m": (1.0, 1.0)}, luck=1.0)
    only = judged.items.filter(pl.col("label") == "yes")["item"].head(12).to_list()
    (model,) = rated(ContextAnalysis(judged, find("context").options(tasks="sarcasm", resamples=20)).parts["sarcasm"])
    for row in before_and_after(model, only):
        assert (row["static"], row["context"], row["difference"]) == (1.0, 1.0, 0.0)
        assert 0.7 < row["static_low"] < 1.0  # twelve or thirty right answers do not show that all are


def test_selective_answers_take_context_for_flagged_items_only() -> None:
    model = one()
    flagged = pl.col("item").is_in(["i000", "i001"])
    mixed = pl.concat([model.under("static").filter(~flagged), model.under("context").filter(flagged)])
    row = next(before_and_after(model, ["i000", "i001", "nowhere"]))
    assert row["selective"] == pytest.approx(by_hand(mixed))
    everything = next(before_and_after(model, model.judged["item"].unique().to_list()))
    assert everything["selective"] == everything["random"] == pytest.approx(everything["context"])


def test_an_item_without_a_context_is_not_scored() -> None:
    model = one()
    lost = Rated(
        model.part, model.named, model.judged.filter((pl.col("item") != "i000") | (pl.col("condition") != "context"))
    )
    row = next(before_and_after(lost, ["i000"]))
    assert row["items"] == 29
    others = model.under("static").filter(pl.col("item") != "i000")
    assert row["selective"] == row["static"] == pytest.approx(by_hand(others))


def test_the_p_value_of_a_difference_is_that_of_answers_that_change_places() -> None:
    """Against all 2^10 ways in which the answers to ten items can change places."""
    corpus = judged_corpus(10, {"m": (0.5, 0.9)}, runs=1, luck=0.5, seed=3)
    (model,) = rated(ContextAnalysis(corpus, find("context").options(tasks="sarcasm", resamples=20)).parts["sarcasm"])
    (row,) = before_and_after(model, ())
    one, two = (model.under(name).sort("item") for name in ("static", "context"))
    gold, before, after = (frame.to_numpy() for frame in (one["gold"], one["value"], two["value"]))

    def f1(said: Any) -> float:
        parts = [2 * ((said == c) & (gold == c)).sum() / ((said == c).sum() + (gold == c).sum()) for c in (0, 1)]
        return float(np.mean(parts))

    def apart(swap: Any) -> float:
        return abs(f1(np.where(swap, before, after)) - f1(np.where(swap, after, before)))

    ways = [apart(np.array(swap)) >= abs(row["difference"]) - 1e-12 for swap in product([False, True], repeat=10)]
    assert row["difference_p"] == pytest.approx(np.mean(ways), abs=0.02)


def test_a_part_without_items_says_why_it_has_no_score_and_a_small_one_has_no_interval() -> None:
    rows = list(before_and_after(one(), ["nowhere"]))
    assert rows[1]["items"] == 0
    assert rows[1]["reason"] == "no item of this part was judged under all conditions"
    assert "static" not in rows[1]
    few = list(before_and_after(one(), ["i000", "i001"]))[1]
    assert few["items"] == 2
    assert few["difference"] is not None
    assert few["difference_low"] is few["difference_high"] is None


def test_answers_follow_a_context_when_they_are_its_label() -> None:
    model = one(controls=True)
    found = effects(ContextAnalysis(model.part.corpus, model.part.options))
    rows = {row["written_for"]: row for row in found.iter_rows(named=True)}
    assert set(rows) == {"label", "opposite", "blind"}
    mine, alone = (model.under(name) for name in ("context-opposite", "static"))
    shares = [(part["value"] == 1 - part["gold"]).fill_null(value=False).mean() for part in (alone, mine)]
    assert rows["opposite"]["follows_static"] == pytest.approx(shares[0])
    assert rows["opposite"]["follows"] == pytest.approx(shares[1])
    assert rows["opposite"]["followed"] == pytest.approx(shares[1] - shares[0])  # type: ignore[operator]
    assert rows["blind"]["beyond"] == pytest.approx(rows["label"]["context"] - rows["blind"]["context"])


@pytest.fixture(scope="module")
def result() -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Statements, "flagged", FLAGGED)
        return analysed(judged_corpus(styles=("zero-shot", "few-shot:3"), people=4))


@pytest.mark.slow
def test_f1_goes_where_the_skills_say(result: Result) -> None:
    found = table(result, "models-f1").filter(part="all", style="zero-shot")
    by_model = {row["model"]: row for row in found.iter_rows(named=True)}
    assert by_model["m:a"]["difference_low"] > 0.1
    assert by_model["m:d"]["difference_high"] < 0
    for row in by_model.values():
        assert row["static_low"] <= row["static"] <= row["static_high"]
        assert row["difference"] == pytest.approx(row["context"] - row["static"])
        assert (
            min(row["static"], row["context"]) - 0.05 <= row["selective"] <= max(row["static"], row["context"]) + 0.05
        )
        assert abs(row["random"] - row["selective"]) < 0.1
        assert row["items"] == 60
    parts = table(result, "models-f1").filter(model="m:a", style="zero-shot")
    assert dict(parts.select("part", "items").iter_rows()) == {"all": 60, "context needed": 20, "the rest": 40}
    shares = table(result, "models-answers").filter(part="all", model="m:a", style="zero-shot").row(0, named=True)
    assert 0.03 < shares["ambiguous_static"] < 0.2
    assert shares["ambiguous_context"] == shares["unread_static"] == 0


@pytest.mark.slow
def test_what_controls_explain_is_shown(result: Result) -> None:
    found = table(result, "models-controls").filter(style="zero-shot", model="m:a")
    by_aim = {row["written_for"]: row for row in found.iter_rows(named=True)}
    assert set(by_aim) == {"label", "opposite", "blind"}
    assert by_aim["opposite"]["follows"] > 0.7 > by_aim["opposite"]["follows_static"]
    assert by_aim["opposite"]["difference_high"] < 0 < by_aim["label"]["difference_low"]
    assert by_aim["blind"]["follows"] is None
    assert by_aim["blind"]["beyond_low"] > 0


@pytest.mark.slow
def test_the_order_is_turned_round_and_two_runs_are_not(result: Result) -> None:
    found = table(result, "models-rank-correlation").filter(style="zero-shot", systems_are="models")
    rho = {(row["part"], row["between"]): row["estimate"] for row in found.iter_rows(named=True)}
    assert rho["all", "static and context"] < -0.5
    assert rho["all", "two runs, static"] > 0.5
    assert {part for part, _ in rho} == {"all", "context needed", "the rest"}
    ranked = table(result, "models-rank-correlation").filter(systems_are="models and people", part="all")
    assert ranked["systems"].unique().to_list() == [6]
    changes = table(result, "models-ranks").filter(style="zero-shot")
    change = {row["system"]: row for row in changes.iter_rows(named=True)}
    assert change["m:a"]["rank_change_high"] < 0 < change["m:d"]["rank_change_low"]


@pytest.mark.slow
def test_planted_effects_are_said(result: Result) -> None:
    check_all(result)
    told = [finding.text for finding in findings(result)]
    assert any(t.startswith("With contexts written for the original label, F1 is higher") and "m:a" in t for t in told)
    assert any(t.startswith("With contexts written for the original label, F1 is lower") and "m:d" in t for t in told)
    # Of the 24 orders of four models none is surprising, not even the exact reverse.
    assert not any("correlated with their order" in t for t in told)


@pytest.mark.slow
def test_people_stand_in_the_chart_of_ranks(result: Result) -> None:
    bump = next(one for one in result.figures if one.name.startswith("rank-shifts"))
    assert {"people, average", "people, best"} < set(bump.data["system"])
    assert sorted(bump.data.filter(condition="static")["rank"]) == [1, 2, 3, 4, 5, 6]
    for figure in result.figures:
        figure.draw()


def test_models_that_only_judged_statements_alone_are_told_of_too() -> None:
    corpus = judged_corpus(20, {"m:a": (0.8, 0.8)}, controls=False).filter(condition="static")
    found = analysed(corpus, resamples=50)
    assert "context" not in table(found, "models-f1").columns
    assert "models-controls" not in [one.name for one in found.tables]


def test_one_model_has_no_order_and_no_model_no_scores() -> None:
    corpus = judged_corpus(20, {"m:a": (0.8, 0.8)}, controls=False)
    assert "models-ranks" not in {one.name for one in analysed(corpus, resamples=50).tables}
    nobody = corpus.filter(pl.col("rater") == "nobody")
    assert [one.name for one in analysed(nobody).tables] == ["summary"]


def test_the_same_seed_gives_the_same_report() -> None:
    one, two = (analysed(judged_corpus(20, runs=1, controls=False), resamples=50) for _ in range(2))
    for first, second in zip(one.tables, two.tables, strict=True):
        assert first.frame.equals(second.frame)
