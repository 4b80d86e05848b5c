from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vantage import Scale
from vantage.instruments import Question
from vantage.raters.trained.base import Floats, Reading
from vantage.raters.trained.examples import Labels
from vantage.raters.trained.neighbours import Neighbours

SCALE = Scale.points(0, 1)
QUESTION = Question("q", "q", "q", SCALE)


def layers(count: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(count, 2, 6))


def labels(score: Floats) -> Labels:
    shares = np.stack([1 - score, score], axis=1)
    return Labels(QUESTION, shares, score)


def brute(vectors: Floats, targets: list[str], score: Floats, new: Floats, about: list[str]) -> Floats:
    """Kernel ridge regression written out, one pair of texts at a time."""
    centre = vectors.mean(axis=0)

    def flat(one: Floats) -> Floats:
        parts = [(one[n] - centre[n]) / np.linalg.norm(one[n] - centre[n]) for n in range(2)]
        return np.asarray(np.concatenate(parts) / np.sqrt(2))

    def near(a: Floats, b: Floats, s: str, t: str) -> float:
        return float(np.exp(-2.0 * (1 - flat(a) @ flat(b))) * (1.5 if s == t else 0.5))

    known = [
        near(a, b, s, t) for a, s in zip(vectors, targets, strict=True) for b, t in zip(vectors, targets, strict=True)
    ]
    whole = np.array(known).reshape(len(vectors), -1) + 0.3 * np.eye(len(vectors))
    added = np.linalg.solve(whole, score - score.mean())
    said = [[near(a, b, s, t) for b, t in zip(vectors, targets, strict=True)] for a, s in zip(new, about, strict=True)]
    return np.asarray(np.array(said) @ added + score.mean())


@pytest.mark.parametrize("number", [True, False])
def test_it_is_kernel_ridge_regression_in_which_the_same_target_weighs_more(number: bool) -> None:
    score = np.array([0.0, 1.0, 0.5, 1.0, 0.0])
    targets = ["a", "b", "a", "b", "b"]
    known = Neighbours.fit(layers(5), Reading(("",) * 5, tuple(targets)), [labels(score)], [number])
    new, about = layers(3, 1), ["a", "b", "never met"]
    found = known.predict(new, Reading(("",) * 3, tuple(about)), [QUESTION], {"q": 0.1})["q"]
    expected = brute(layers(5), targets, score, new, about)
    assert found.mean == pytest.approx(np.clip(expected, 0, 1), abs=1e-5)


def test_items_without_an_answer_say_nothing() -> None:
    score = np.array([0.0, 1.0, np.nan, 0.2])
    reading = Reading(("",) * 4)
    some = Neighbours.fit(layers(4), reading, [labels(score)], [True])
    assert some.parts["q"][2] == 0
    assert some.base["q"] == pytest.approx(0.4)


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is not installed: pip install vantage[local]")
    known = Neighbours.fit(
        layers(4), Reading(("",) * 4, ("a", "b", "a", "b")), [labels(np.array([0, 1, 1, 0.5]))], [False]
    )
    data = known.save(tmp_path / "file.safetensors")
    again = Neighbours.load(tmp_path / "file.safetensors", data)
    reading = Reading(("", ""), ("b", "c"))
    one, two = (n.predict(layers(2, 3), reading, [QUESTION], {})["q"] for n in (known, again))
    assert one.shares is not None
    assert two.shares is not None
    assert np.array_equal(one.shares, two.shares)
