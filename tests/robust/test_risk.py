"""The risk of a wrong conclusion from model labels, against labels whose biases are planted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Vantage
from tests.often import times
from tests.robust.planted import planted
from vantage.measures import mean
from vantage.robust import Conclusion, risks
from vantage.robust.risk import MOST_ACCURATE, PairedEstimates

DIFFERENCE = {"between": "era", "values": ["new", "old"]}


class Labels:
    """Yes and no by people and a model, of items in two groups: a model misses what people say by planted shares."""

    def __init__(self, people: tuple[float, float], misses: tuple[float, float], false: tuple[float, float]) -> None:
        self.people, self.misses, self.false = people, misses, false

    def drawn(self, rng: np.random.Generator, shape: tuple[int, ...], group: int) -> np.ndarray:
        """Labels of people and of the model."""
        people = rng.random(shape) < self.people[group]
        wrong = rng.random(shape) < np.where(people, self.misses[group], self.false[group])
        return np.stack([people, people ^ wrong]).astype(float)

    def blocks(self, rng: np.random.Generator, items: int, number: int = 20) -> np.ndarray:
        """Differences by block, of people and of the model."""
        first, second = (self.drawn(rng, (number, items // number // 2), group).mean(axis=2) for group in (0, 1))
        return np.asarray((first - second).T)

    def risk(self, items: int, corpora: int = 4000) -> float:
        """How often conclusions from so many items differ: Welch's test, by brute force."""
        rng, half = np.random.default_rng(99), items // 2
        verdicts = []
        for first, second in zip(self.drawn(rng, (corpora, half), 0), self.drawn(rng, (corpora, half), 1), strict=True):
            error = np.sqrt(first.var(axis=1, ddof=1) / half + second.var(axis=1, ddof=1) / half)
            apart = first.mean(axis=1) - second.mean(axis=1)
            verdicts.append(np.sign(apart) * (np.abs(apart) > 1.96 * error))
        return float((verdicts[0] != verdicts[1]).mean())


PLANTED = {
    "biased": Labels((0.5, 0.5), (0.1, 0.1), (0.25, 0.1)),
    "weak": Labels((0.55, 0.45), (0.3, 0.3), (0.3, 0.3)),
    "faithful": Labels((0.6, 0.4), (0.03, 0.03), (0.03, 0.03)),
}


@pytest.mark.slow
def test_risks_lie_within_their_intervals() -> None:
    """Of 200 simulations; people judged a quarter of the items."""
    rng = np.random.default_rng(1)
    held = []
    for labels in PLANTED.values():
        true = labels.risk(1600)
        for _ in range(67):
            pair = PairedEstimates(labels.blocks(rng, 400), 0.0, 4.0)
            _, low, high = pair.risk()
            held.append(low <= true <= high)
    assert np.mean(held) >= 0.93


def test_a_biased_model_has_a_higher_risk_than_a_faithful_one() -> None:
    rng = np.random.default_rng(0)
    biased, faithful = (PairedEstimates(PLANTED[name].blocks(rng, 1600), 0.0, 1.0) for name in ("biased", "faithful"))
    (often, _, high), (seldom, _, low) = biased.risk(), faithful.risk()
    assert often[:3].sum() > 0.4
    assert seldom[:3].sum() < 0.1
    assert high > 0.9
    assert low < 0.3


@pytest.mark.slow
def test_the_powered_estimate_seldom_finds_what_is_not_there() -> None:
    """A model whose bias alone would make a difference in nearly every corpus."""
    wrong, alone = [], []
    for seed in range(times(200, 60)):
        corpus = planted(items=120, people=2, judged=60, models={"m0": 1.5}, seed=seed)
        frame = mean(corpus, between="era", values=["new", "old"], powered_by="m0", ci="items")
        rows = frame.rows_by_key("judged_by", named=True, unique=True)
        wrong.append(not rows["both"]["low"] <= 0 <= rows["both"]["high"])
        alone.append(not rows["model"]["low"] <= 0 <= rows["model"]["high"])
    assert np.mean(wrong) <= 0.07
    assert np.mean(alone) > 0.9


def test_models_are_judged_by_the_items_that_people_judged(vantage: Vantage, tmp_path: Path) -> None:
    corpus = planted(items=160, people=2, judged=80, models={"good": 0.0, "loaded": 2.0})
    made = risks(corpus, Conclusion.of("mean", DIFFERENCE))
    assert made is not None
    assert (made.items, made.of) == (80, 160)
    rows = made.table.rows_by_key("configuration", named=True, unique=True)
    assert list(rows) == ["people", "good", "loaded", MOST_ACCURATE]
    assert rows["loaded"]["false_positive"] > 0.5 > rows["good"]["false_positive"]
    assert rows["loaded"]["verdict"] == "above"
    assert rows["loaded"]["powered_verdict"] == "within"
    assert rows["good"]["risk_low"] <= rows["good"]["risk"] <= rows["good"]["risk_high"]
    assert rows[MOST_ACCURATE]["risk"] < rows["loaded"]["risk"]
    assert rows["good"]["more"] is None or 1 <= rows["good"]["more"] <= 2
    corpus.write(tmp_path / "corpus")
    words = ("--between", "era", "--values", "new,old", "--vary", "ci=auto,items")
    done = vantage("robust", "mean", tmp_path / "corpus", *words)
    assert "People judged 80 of 160 items." in done.out


def test_a_risk_is_planned_for(vantage: Vantage, tmp_path: Path) -> None:
    folder = planted(items=400, people=2, judged=100, models={"good": 0.0}, effect=0.3, seed=2).write(tmp_path / "c")
    words = ("--between", "era", "--values", "new,old", "--price", "0.5")
    rows = {row["who"]: row for row in vantage("plan", "risk", "mean", folder, *words, "--json").json}
    assert set(rows) == {"people", "people and good"}
    helped, alone = rows["people and good"], rows["people"]
    assert 100 < helped["items"] < alone["items"] <= 400
    assert helped["risk"] > 0.05
    assert helped["answers"] == 2 * helped["further"] == 2 * (helped["items"] - 100)
    assert helped["cost"] == helped["answers"] / 2
    said = vantage("robust", "mean", folder, *words[:4], "--vary", "ci=auto,items", "--json").json["sentences"]
    assert any(f"about {helped['further']:,} more items judged by people" in line for line in said)
    lenient = vantage("plan", "risk", "mean", folder, *words, "--limit", "0.9", "--json").json
    assert [row["further"] for row in lenient] == [0, 0]
    refused = vantage("plan", "risk", "alpha", folder)
    assert refused.code == 2
    assert "nothing to plan" in refused.err or "cannot be estimated" in refused.err


def test_each_prompt_is_a_configuration() -> None:
    corpus = planted(items=120, people=2, prompts={"plain": 0.0, "loaded": 2.5})
    made = risks(corpus, Conclusion.of("mean", {**DIFFERENCE, "ci": "items"}))
    assert made is not None
    rows = made.table.rows_by_key("configuration", named=True, unique=True)
    assert list(rows) == ["people", "bot", "bot, loaded", "bot, plain"]
    assert rows["bot, loaded"]["false_positive"] > rows["bot, plain"]["false_positive"]


def test_without_models_or_people_there_is_no_risk_to_speak_of() -> None:
    assert risks(planted(items=60), Conclusion.of("mean", DIFFERENCE)) is None
    assert risks(planted(items=60, people=0, models={"m0": 0.0}), Conclusion.of("mean", DIFFERENCE)) is None
