"""Thresholds: chosen on other items than those they flag, and always beside random flags."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.context import Detected, Judging, curve, held_out
from vantage.errors import InputError
from vantage.studies.context.pipeline.detection import LEAST, ONE_KIND, choose

SCORES = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.9]), st.booleans()), min_size=2, max_size=6)


def table(scores: list[float | None], ambiguous: list[bool]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "item": [f"i{n}" for n in range(len(scores))],
            "score": pl.Series(scores, dtype=pl.Float64),
            "degree": [0.4 if one else 0.0 for one in ambiguous],
            "ambiguous": ambiguous,
        }
    )


def youden(flagged: np.ndarray, ambiguous: np.ndarray) -> float:
    return float(flagged[ambiguous].mean() - flagged[~ambiguous].mean())


@settings(max_examples=40, deadline=None)
@given(SCORES)
def test_the_chosen_threshold_has_the_best_j_and_flags_least(rows: list[tuple[float, bool]]) -> None:
    score, ambiguous = np.array([s for s, _ in rows]), np.array([a for _, a in rows])
    if ambiguous.all() or not ambiguous.any():
        return
    found = choose(score, ambiguous)
    every = [cut for cut in (-1.0, 0.05, 0.3, 0.7) if (score > cut).any()]
    best = max(youden(score > cut, ambiguous) for cut in every)
    assert youden(score > found, ambiguous) == pytest.approx(best)
    least = min(int((score > cut).sum()) for cut in every if youden(score > cut, ambiguous) == pytest.approx(best))
    assert int((score > found).sum()) == least


@settings(max_examples=25, deadline=None)
@given(SCORES)
def test_the_curve_is_the_average_over_all_orders_of_ties(rows: list[tuple[float, bool]]) -> None:
    told = table([s for s, _ in rows], [a for _, a in rows])
    found = curve(told, draws=5)
    score, ambiguous = told["score"].to_numpy(), told["ambiguous"].to_numpy().astype(float)
    orders = [order for order in permutations(range(len(rows))) if (np.diff(score[list(order)]) <= 0).all()]
    hits = np.mean([np.cumsum(ambiguous[list(order)]) for order in orders], axis=0)
    assert found["precision"].to_list() == pytest.approx((hits / np.arange(1, len(rows) + 1)).tolist())
    if ambiguous.any():
        assert found["recall"].to_list() == pytest.approx((hits / ambiguous.sum()).tolist())
        assert found["captured"].to_list() == pytest.approx((hits / ambiguous.sum()).tolist())
        assert found["random"][-1] == pytest.approx(1.0)
    else:
        assert found["captured"].null_count() == found["random"].null_count() == len(rows)


def test_random_flags_stand_beside_the_curve_and_depend_on_the_seed_alone() -> None:
    told = table([n / 40 for n in range(40)], [n >= 30 for n in range(40)])
    found = curve(told, seed=3)
    assert (found["captured"] >= found["random"]).all()
    assert found["captured"][9] == 1.0
    assert (found["random_low"] <= found["random"] + 1e-9).all()
    assert found.equals(curve(told, seed=3))
    assert not found.equals(curve(told, seed=4))


def test_an_item_without_a_score_comes_last_and_is_never_flagged() -> None:
    told = table([None, *(n / 20 for n in range(20))], [True, *(n > 9 for n in range(20))])
    assert "i0" not in held_out(told)[0]
    assert curve(told)["recall"][-2] == pytest.approx(10 / 11)


def test_thresholds_of_noise_are_not_flattered() -> None:
    rng = np.random.default_rng(0)
    told = table(rng.random(400).tolist(), (rng.random(400) < 0.3).tolist())
    score, ambiguous = told["score"].to_numpy(), told["ambiguous"].to_numpy()

    apparent = youden(score > choose(score, ambiguous), ambiguous)
    honest = youden(told["item"].is_in(held_out(told)[0]).to_numpy(), ambiguous)
    assert apparent > 0.05
    assert honest < apparent


def test_a_budget_flags_about_its_share_of_the_items() -> None:
    told = table([n / 200 for n in range(200)], [False] * 200)
    flagged, reason = held_out(told, criterion="budget", budget=0.2)
    assert len(flagged) == pytest.approx(40, abs=4)
    assert reason == ""


def test_people_who_find_nothing_ambiguous_leave_no_threshold() -> None:
    assert held_out(table([n / 20 for n in range(20)], [False] * 20)) == ([], ONE_KIND)


def test_too_few_votes_and_other_bad_input_are_named() -> None:
    few = table([0.1] * (LEAST - 1), [True] * (LEAST - 1))
    assert held_out(few)[1].startswith("9 items with votes and a score are too few for a threshold")
    with pytest.raises(InputError, match="mark"):
        Judging(mark=0)
    with pytest.raises(InputError, match="budget"):
        Judging(budget=1)


def test_a_target_needs_its_column_and_a_mark_is_met_despite_rounding() -> None:
    detected = Detected("m", pl.DataFrame({"item": ["a", "b"], "score": [0.1, 0.2]}))
    nothing = pl.Series("ambiguity", [None, None], dtype=pl.Float64)
    votes = pl.DataFrame({"item": ["a", "b"], "doubt": [1 - 3 / 5, 0.2]}).with_columns(nothing)
    assert Judging().joined(detected, votes)["ambiguous"].to_list() == [True, False]
    with pytest.raises(InputError, match="no answer 'ambiguous'"):
        Judging("ambiguity").joined(detected, votes)
