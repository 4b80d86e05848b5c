from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vantage.measures.aggregation.latent_classes import SMALLEST, DawidSkene, dawid_skene
from vantage.measures.ratings import Ratings

DAWID_SKENE_1979 = [
    # Table 1 of Dawid and Skene (1979): 45 patients, five observers; the first saw each patient three times.
    "111 1 1 1 1", "333 4 3 3 4", "112 2 1 2 2", "222 3 1 2 1", "222 3 2 2 2", "222 3 3 2 2", "122 2 1 1 1",
    "333 3 4 3 3", "222 2 2 2 3", "232 2 2 2 3", "444 4 4 4 4", "222 3 3 4 3", "111 1 1 1 1", "222 3 2 1 2",
    "121 1 1 1 1", "111 2 1 1 1", "111 1 1 1 1", "111 1 1 1 1", "222 2 2 2 1", "222 1 3 2 2", "222 2 2 2 2",
    "222 2 2 2 1", "222 3 2 2 2", "221 2 2 2 2", "111 1 1 1 1", "111 1 1 1 1", "232 2 2 2 2", "111 1 1 1 1",
    "111 1 1 1 1", "112 1 1 2 1", "111 1 1 1 1", "333 3 2 3 3", "111 1 1 1 1", "222 2 2 2 2", "222 3 2 3 2",
    "433 4 3 4 3", "221 2 2 3 2", "232 3 2 3 3", "333 3 4 3 2", "111 1 1 1 1", "111 1 1 1 1", "121 2 1 1 1",
    "232 2 2 2 2", "121 1 1 1 1", "222 2 2 2 2",
]  # fmt: skip


def random_ratings(seed: int, items: int = 60, raters: int = 8, classes: int = 4) -> Ratings:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, items)
    skill = rng.uniform(0.3, 0.95, raters)
    rows = [
        (i, r, truth[i] if rng.random() < skill[r] else rng.integers(0, classes))
        for i in range(items)
        for r in rng.choice(raters, rng.integers(1, min(6, raters + 1)), replace=False)
    ]
    unit, rater, value = np.array(rows).T
    return Ratings.of(unit, rater, value.astype(np.float64))


def by_hand(ratings: Ratings, iterations: int) -> tuple[dict[int, list[float]], list[float]]:
    """The algorithm in plain loops."""
    classes = sorted(set(ratings.value.tolist()))
    rows = list(zip(ratings.unit.tolist(), ratings.coder.tolist(), ratings.value.tolist(), strict=True))
    units = sorted({u for u, _, _ in rows})
    posterior = {}
    for u in units:
        votes = [sum(1 for v, _, a in rows if v == u and a == c) for c in classes]
        posterior[u] = [v / sum(votes) for v in votes]
    history = []
    for _ in range(iterations):
        prior = [sum(posterior[u][k] for u in units) / len(units) for k in range(len(classes))]
        error: dict[tuple[int, float], list[float]] = {}
        for u, r, a in rows:
            counts = error.setdefault((r, a), [0.0] * len(classes))
            for k in range(len(classes)):
                counts[k] += posterior[u][k]
        for pair, counts in error.items():
            error[pair] = [max(c, SMALLEST) for c in counts]
        total = {
            r: [sum(e[k] for (s, _), e in error.items() if s == r) for k in range(len(classes))]
            for r in {r for _, r, _ in rows}
        }
        likelihood = 0.0
        for u in units:
            joint = [max(p, SMALLEST) for p in prior]
            for v, r, a in rows:
                if v == u:
                    joint = [j * error[r, a][k] / total[r][k] for k, j in enumerate(joint)]
            posterior[u] = [j / sum(joint) for j in joint]
            likelihood += float(np.log(sum(joint)))
        history.append(likelihood)
    return posterior, history


def assert_same(first: DawidSkene, second: DawidSkene) -> None:
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.posterior, second.posterior)
    np.testing.assert_array_equal(first.errors, second.errors)
    assert first.log_likelihood == second.log_likelihood


@pytest.mark.parametrize("seed", range(3))
def test_plain_loops_give_the_same_posterior_and_likelihood(seed: int) -> None:
    ratings = random_ratings(seed, items=12, raters=4, classes=3)
    ours = dawid_skene(ratings, iterations=4, tolerance=-np.inf)
    posterior, history = by_hand(ratings, 4)
    np.testing.assert_allclose(ours.posterior, [posterior[u] for u in range(ratings.units)], atol=1e-9)
    np.testing.assert_allclose(ours.log_likelihood, history, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_crowd_kit_gives_the_same_labels_from_the_same_start(seed: int) -> None:
    ratings = random_ratings(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer: Any = import_module("crowdkit.aggregation").DawidSkene(n_iter=30, tol=-1)
        peer.fit(pd.DataFrame({"task": ratings.unit, "worker": ratings.coder, "label": ratings.value}))
    ours = dawid_skene(ratings, iterations=30, tolerance=-np.inf)
    theirs = peer.probas_.sort_index().sort_index(axis=1).to_numpy()
    np.testing.assert_allclose(ours.posterior, theirs, atol=1e-6)
    clear = np.sort(ours.posterior)[:, -1] - np.sort(ours.posterior)[:, -2] > 1e-6
    assert clear.sum() > 50
    np.testing.assert_array_equal(ours.labels[clear], peer.labels_.sort_index().to_numpy()[clear])


def test_the_anaesthetists_example_of_the_paper() -> None:
    rows = [
        (patient, observer, float(answer))
        for patient, line in enumerate(DAWID_SKENE_1979)
        for observer, answers in enumerate(line.split())
        for answer in answers
    ]
    unit, rater, value = (np.array(column) for column in zip(*rows, strict=True))
    model = dawid_skene(Ratings.of(unit, rater, value), iterations=1000, tolerance=1e-9)
    # The paper's estimates of the marginal probabilities: .40, .42, .11 and .07.
    np.testing.assert_allclose(model.prior, [0.40, 0.42, 0.11, 0.07], atol=0.005)
    assert model.converged


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_answers_makes_no_difference(seed: int) -> None:
    ratings = random_ratings(seed)
    order = np.random.default_rng(seed).permutation(len(ratings))
    shuffled = Ratings(ratings.unit[order], ratings.coder[order], ratings.value[order], ratings.units, ratings.coders)
    assert_same(dawid_skene(ratings), dawid_skene(shuffled))


def test_the_likelihood_never_falls_and_the_fit_converges() -> None:
    model = dawid_skene(random_ratings(5, items=200), iterations=500)
    assert model.converged
    assert np.all(np.diff(model.log_likelihood) > -1e-6)
    np.testing.assert_allclose(model.posterior.sum(axis=1), 1)


def test_classes_may_have_any_codes() -> None:
    ratings = random_ratings(1)
    recoded = Ratings(ratings.unit, ratings.coder, ratings.value * 10 - 7, ratings.units, ratings.coders)
    np.testing.assert_array_equal(dawid_skene(recoded).labels, dawid_skene(ratings).labels * 10 - 7)


def test_the_skilled_are_more_competent() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    good = np.where(rng.random(300) < 0.9, truth, rng.integers(0, 3, 300))
    other = np.where(rng.random(300) < 0.8, truth, rng.integers(0, 3, 300))
    spam = rng.integers(0, 3, 300)
    unit = np.tile(np.arange(300), 3)
    ratings = Ratings.of(unit, np.repeat([0, 1, 2], 300), np.concatenate([good, other, spam]).astype(float))
    model = dawid_skene(ratings)
    assert model.competence[0] > model.competence[1] > model.competence[2]
    assert model.competence[2] == pytest.approx(1 / 3, abs=0.1)
    assert (model.labels == truth).mean() > 0.85


def test_one_rater_is_believed_and_one_class_is_certain() -> None:
    alone = dawid_skene(Ratings.of(np.arange(3), np.zeros(3, dtype=np.int64), np.array([2.0, 5.0, 2.0])))
    assert alone.labels.tolist() == [2.0, 5.0, 2.0]
    same = dawid_skene(Ratings.of(np.array([0, 0, 1]), np.array([0, 1, 0]), np.full(3, 4.0)))
    assert same.labels.tolist() == [4.0, 4.0]
    assert same.confidence.tolist() == [1.0, 1.0]
