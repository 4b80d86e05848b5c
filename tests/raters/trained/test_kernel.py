from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vantage import Scale
from vantage.instruments import Question
from vantage.raters.trained.base import Floats, ItemTexts
from vantage.raters.trained.examples import Labels
from vantage.raters.trained.probe import KernelRegression

SCALE = Scale.points(0, 1)
QUESTION = Question("q", "q", "q", SCALE)
SLIDER = Question("q", "q", "q", Scale.continuous(0, 1))


def views(count: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(count, 2, 6))


def labels(score: Floats, question: Question = QUESTION) -> Labels:
    shares = np.stack([1 - score, score], axis=1) if question.scale.options else np.zeros((len(score), 0))
    return Labels(question, shares, score)


def brute(known: Floats, targets: list[str], score: Floats, new: Floats, about: list[str]) -> Floats:
    """Kernel ridge regression written out, one pair of texts at a time."""
    centre, spread = known.mean(axis=0), known.std(axis=0)

    def near(a: Floats, b: Floats, s: str, t: str) -> float:
        close = []
        for n in range(2):
            x, y = ((one[n] - centre[n]) / (spread[n] + 1e-6) for one in (a, b))
            close.append(np.exp(x @ y / np.linalg.norm(x) / np.linalg.norm(y) - 1))
        return float(np.mean(close)) * (1.5 if s == t else 0.5)

    both = list(zip(known, targets, strict=True))
    whole = np.array([[near(a, b, s, t) for b, t in both] for a, s in both]) + 0.3 * np.eye(len(known))
    added = np.linalg.solve(whole, score - score.mean())
    said = [[near(a, b, s, t) for b, t in both] for a, s in zip(new, about, strict=True)]
    return np.asarray(np.array(said) @ added + score.mean())


@pytest.mark.parametrize("question", [QUESTION, SLIDER])
def test_it_is_kernel_ridge_regression_in_which_the_same_target_weighs_more(question: Question) -> None:
    score = np.array([0.0, 1.0, 0.5, 1.0, 0.0])
    targets = ["a", "b", "a", "b", "b"]
    known = KernelRegression.fit(views(5), ItemTexts(("",) * 5, tuple(targets)), [labels(score, question)])
    new, about = views(3, 1), ["a", "b", "never met"]
    found = known.predict(new, ItemTexts(("",) * 3, tuple(about)), [question], {"q": 0.1})["q"]
    expected = brute(views(5), targets, score, new, about)
    assert found.mean == pytest.approx(np.clip(expected, 0, 1), abs=1e-5)


def test_items_without_an_answer_say_nothing() -> None:
    score = np.array([0.0, 1.0, np.nan, 0.2])
    some = KernelRegression.fit(views(4), ItemTexts(("",) * 4), [labels(score)])
    assert (some.parts["q"][2] == 0).all()
    assert some.base["q"][1] == pytest.approx(0.4)


def test_a_question_that_nobody_answered_has_even_shares() -> None:
    none = KernelRegression.fit(views(3), ItemTexts(("",) * 3), [labels(np.full(3, np.nan))])
    found = none.predict(views(1, 1), ItemTexts(("",)), [QUESTION], {})["q"]
    assert found.shares is not None
    assert found.shares.tolist() == [[0.5, 0.5]]


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    score = np.array([0.0, 1.0, 1.0, 0.5])
    known = KernelRegression.fit(views(4), ItemTexts(("",) * 4, ("a", "b", "a", "b")), [labels(score)])
    data = known.save(tmp_path / "probe.npz")
    again = KernelRegression.load(tmp_path / "probe.npz", data)
    one, two = (n.predict(views(2, 3), ItemTexts(("", ""), ("b", "c")), [QUESTION], {})["q"] for n in (known, again))
    assert one.shares is not None
    assert two.shares is not None
    assert np.array_equal(one.shares, two.shares)
