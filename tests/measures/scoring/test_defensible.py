"""The intervals of a second round, by simulation; its numbers are held against hand counts in tests/collect."""

from __future__ import annotations

import numpy as np

from vantage.measures import defensible


def test_the_interval_of_peer_validated_answers_covers() -> None:
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(60):
        rows: dict[str, list[object]] = {name: [] for name in ("item", "rater", "value", "first_item", "given_by")}
        for item in range(30):
            shared = rng.normal(0, 0.1)
            for answer in range(rng.integers(1, 4)):
                chance = np.clip(rng.uniform(0.3, 0.9) + shared, 0.05, 0.95)
                for rater in range(6):
                    given = {"item": f"{item}|{answer}", "rater": f"r{rater}", "value": int(rng.random() < chance)}
                    for name, value in {**given, "first_item": str(item), "given_by": ["a"]}.items():
                        rows[name].append(value)
        row = defensible({**rows, "first_question": ["q"] * len(rows["item"])}, resamples=200).row(0, named=True)
        assert row["score"] == "peer_validated"
        held += row["low"] <= 0.6 <= row["high"]
    # Of sixty intervals that cover 95 %, fewer than 52 hold the value less than once in a hundred cases.
    assert held >= 52
