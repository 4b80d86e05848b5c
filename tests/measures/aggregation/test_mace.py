from __future__ import annotations

import math
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from vantage.measures.aggregation import latent_classes as module
from vantage.measures.aggregation.latent_classes import Mace, Responses, mace
from vantage.measures.ratings import Ratings


def random_ratings(seed: int, items: int = 60, raters: int = 8, classes: int = 4) -> Ratings:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, items)
    skill = rng.uniform(0.2, 0.95, raters)
    rows = [
        (i, r, truth[i] if rng.random() < skill[r] else rng.integers(0, classes))
        for i in range(items)
        for r in rng.choice(raters, rng.integers(1, min(6, raters + 1)), replace=False)
    ]
    unit, rater, value = np.array(rows).T
    return Ratings.of(unit, rater, value.astype(np.float64))


def shuffled(ratings: Ratings, seed: int) -> Ratings:
    order = np.random.default_rng(seed).permutation(len(ratings))
    return Ratings(ratings.unit[order], ratings.coder[order], ratings.value[order], ratings.units, ratings.coders)


def likelihood_by_hand(
    ratings: Ratings, model: Mace
) -> tuple[float, np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """The definition: for every unit the sum over true classes of the product over its answers."""
    classes = model.classes.tolist()
    strategy = {
        (r, a): s
        for r, a, s in zip(model.pair_rater.tolist(), model.pair_answer.tolist(), model.strategy.tolist(), strict=True)
    }
    posterior = np.zeros((ratings.units, len(classes)))
    total = 0.0
    for unit in range(ratings.units):
        for k in range(len(classes)):
            probability = 1 / len(classes)
            for i in np.flatnonzero(ratings.unit == unit):
                rater, answer = int(ratings.coder[i]), classes.index(ratings.value[i])
                know = float(model.competence[rater])
                probability *= know * (answer == k) + (1 - know) * strategy[rater, answer]
            posterior[unit, k] = probability
        total += math.log(posterior[unit].sum())
        posterior[unit] /= posterior[unit].sum()
    return total, posterior


@pytest.mark.parametrize("seed", range(3))
def test_likelihood_and_posterior_are_those_of_the_definition(seed: int) -> None:
    ratings = random_ratings(seed, items=15, raters=5, classes=3)
    model = mace(ratings, restarts=2, iterations=7)
    total, posterior = likelihood_by_hand(ratings, model)
    assert model.log_likelihood[-1] == pytest.approx(total, abs=1e-8)
    np.testing.assert_allclose(model.posterior, posterior, atol=1e-9)
    np.testing.assert_allclose(model.confidence, posterior.max(axis=1), atol=1e-9)
    np.testing.assert_array_equal(model.labels, model.classes[model.posterior.argmax(axis=1)])


@pytest.mark.parametrize("seed", range(2))
def test_crowd_kit_climbs_to_the_same_place_where_it_is_right(seed: int) -> None:
    ratings = random_ratings(seed)
    # Its update mixes up raters, and classes, unless both first appear in the order of their names.
    order = np.lexsort((ratings.unit, ratings.coder))
    unit, rater, value = ratings.unit[order], ratings.coder[order], ratings.value[order]
    value = pd.factorize(value)[0].astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer: Any = import_module("crowdkit.aggregation").MACE(n_restarts=1, n_iter=10, method="em")
        peer.fit(pd.DataFrame({"task": unit, "worker": rater, "label": value}))
    data = Responses.of(Ratings.of(unit, rater, value))
    # One random state for both draws, as in the peer.
    knowing = stats.uniform(1, 1.5).rvs(size=(data.raters, 2), random_state=0)
    strategy = stats.uniform(1, 1.5).rvs(size=(data.raters, len(data.classes)), random_state=0)
    knowing /= knowing.sum(axis=1, keepdims=True)
    strategy /= strategy.sum(axis=1, keepdims=True)
    start = (knowing[:, 1], knowing[:, 0], strategy[data.pair_rater, data.pair_answer])
    cells = module._Cells.of(data)
    (know, guess, _), probability, _ = module.climb(cells, start, 10, 0.0)
    np.testing.assert_allclose(know, peer.spamming_[:, 1], atol=1e-8)
    np.testing.assert_allclose(guess, peer.spamming_[:, 0], atol=1e-8)
    theirs = peer.probas_.sort_index().sort_index(axis=1).to_numpy()
    np.testing.assert_allclose(probability, theirs[cells.unit, cells.answer], atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_answers_makes_no_difference(seed: int) -> None:
    ratings = random_ratings(seed)
    first, second = mace(ratings), mace(shuffled(ratings, seed))
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.competence, second.competence)
    assert first.restarts == second.restarts


def test_restarts_differ_and_the_likeliest_is_kept() -> None:
    ratings = random_ratings(3, items=25, raters=9, classes=5)
    model = mace(ratings, restarts=8, iterations=40)
    assert len(set(model.restarts)) == 8
    assert np.ptp(model.restarts) > 1e-3
    assert model.log_likelihood[-1] == max(model.restarts)
    one = mace(ratings, restarts=1, iterations=40)
    assert model.log_likelihood[-1] >= one.log_likelihood[-1]
    assert mace(ratings, seed=1).restarts != mace(ratings, seed=2).restarts
    assert mace(ratings, seed=1).restarts == mace(ratings, seed=1).restarts


def test_em_climbs() -> None:
    model = mace(random_ratings(4, items=200), restarts=3)
    # The smoothing of counts makes it climb a slightly different hill than the likelihood.
    assert np.all(np.diff(model.log_likelihood) > -0.05)
    assert model.log_likelihood[-1] > model.log_likelihood[0]


def test_who_guesses_is_found_out() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, 250)
    answers = [np.where(rng.random(250) < p, truth, rng.integers(0, 4, 250)) for p in (0.9, 0.7, 0.5, 0.0)]
    ratings = Ratings.of(
        np.tile(np.arange(250), 4), np.repeat(np.arange(4), 250), np.concatenate(answers).astype(float)
    )
    model = mace(ratings)
    assert np.all(np.diff(model.competence) < 0)
    np.testing.assert_allclose(model.competence, [0.9, 0.7, 0.5, 0.0], atol=0.15)
    assert (model.labels == truth).mean() > 0.85


def test_a_slider_of_101_points_keeps_only_what_was_chosen() -> None:
    rng = np.random.default_rng(0)
    ratings = Ratings.of(np.repeat(np.arange(50), 4), np.tile(np.arange(4), 50), rng.integers(0, 101, 200) / 1.0)
    model = mace(ratings, restarts=2)
    assert len(model.cell_probability) <= 200
    np.testing.assert_allclose(model.posterior.sum(axis=1), 1)


def test_one_rater_is_believed_and_one_class_is_certain() -> None:
    alone = mace(Ratings.of(np.arange(3), np.zeros(3, dtype=np.int64), np.array([2.0, 5.0, 2.0])))
    assert alone.labels.tolist() == [2.0, 5.0, 2.0]
    same = mace(Ratings.of(np.array([0, 0, 1]), np.array([0, 1, 0]), np.full(3, 4.0)))
    assert same.labels.tolist() == [4.0, 4.0]
    np.testing.assert_allclose(same.confidence, 1)
