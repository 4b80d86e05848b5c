"""Distributions over the options in a whole run: from log-probabilities and from samples, which agree."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from tests.runs.conftest import MakePlan, case
from vantage.runs import RunOptions, RunStore, run
from vantage.runs.records import SCORED, servings

LETTERS = dict(zip("BCDEFGH", (0.02, 0.03, 0.05, 0.1, 0.3, 0.4, 0.05), strict=True))
CODES = dict(zip(LETTERS, range(-3, 4), strict=True))


def both(body: dict[str, Any]) -> Answer:
    """A model that tells its probabilities, and draws its replies from them; 5 in 100 begin with another word."""
    if body.get("logprobs"):
        return Answer("G", logprobs={**{k: math.log(p) for k, p in LETTERS.items()}, "The": math.log(0.05)})
    draw = random.Random(body["seed"] * 7919 + case(body)).random()  # noqa: S311
    for letter, chance in LETTERS.items():
        draw -= chance
        if draw < 0:
            return Answer(str(CODES[letter]))
    return Answer("The picture is mixed.")


@pytest.mark.slow
def test_both_ways_to_a_distribution_agree(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> None:
    endpoint.reply = both
    scored = run(plan(1, "scoring"), store).judged[0].judgments.row(0, named=True)
    sampled = run(plan(1, "sampling:100"), store).judged[0].judgments.row(0, named=True)
    assert scored["value"] == sampled["value"] == 2
    assert scored["mass"] == pytest.approx(0.95)
    assert sampled["mass"] == pytest.approx(0.95, abs=3 * math.sqrt(0.05 * 0.95 / 100))
    # Three standard errors of the largest share.
    apart = np.abs(np.array(scored["probabilities"]) - np.array(sampled["probabilities"])).max()
    assert apart < 3 * math.sqrt(0.24 / 100)
    assert scored["expected"] == pytest.approx(sampled["expected"], abs=0.5)


def test_the_summary_tells_the_mass_and_what_failed_is_not_sent_again(
    endpoint: Endpoint, plan: MakePlan, store: RunStore
) -> None:
    def reply(body: dict[str, Any]) -> Answer:
        good = {"C": math.log(0.8), "D": math.log(0.1)}
        return Answer("C", logprobs=good if case(body) else {"The": -0.1, "I": -3.0})

    endpoint.reply = reply
    outcome = run(plan(4, "scoring"), store)
    judged = outcome.judged[0].judgments
    assert judged["status"].to_list() == ["failed", "answered", "answered", "answered"]
    assert judged["value"].to_list() == [None, -2, -2, -2]
    assert "would begin with 'The'" in judged["reply"][0]
    assert [outcome.tally.mass[0], outcome.tally.mass[-1]] == pytest.approx([0.0, 0.9])
    assert "1 of 4 had less than 50 % and counts as failed" in outcome.tally.notes[-1]
    # A first token is no reply, so there is none that could have broken off.
    assert not any("finish reason" in note for note in outcome.judged[0].notes)
    assert [(one.reason, one.calls) for one in servings(store, outcome.run)] == [(SCORED, 4)]
    again = run(plan(4, "scoring"), store)
    assert (again.tally.sent, len(endpoint.requests)) == (0, 4)
    lenient = run(plan(4, "scoring", min_mass=0.0), store, RunOptions())
    assert lenient.judged[0].judgments["status"][0] == "failed"


@pytest.mark.slow
def test_the_samples_of_an_item_are_drawn_side_by_side_and_counted_once(
    endpoint: Endpoint, plan: MakePlan, store: RunStore
) -> None:
    def reply(body: dict[str, Any]) -> Answer:
        # Later samples arrive first.
        return Answer(str(body["seed"] % 3), wait=0.2 + 0.02 * (8 - body["seed"] % 8))

    endpoint.reply = reply
    outcome = run(plan(1, "sampling:8"), store, RunOptions(concurrency=8))
    assert endpoint.busiest > 1  # how many requests meet depends on how busy the machine is
    assert (outcome.tally.sent, outcome.tally.stored, len(endpoint.requests)) == (8, 0, 8)
    row = outcome.judged[0].judgments.row(0, named=True)
    assert row["probabilities"] == pytest.approx([0, 0, 0, 3 / 8, 3 / 8, 2 / 8, 0])
    assert outcome.judged[0].calls == 8
    with_others = run(plan(2, "sampling:8"), store, RunOptions(concurrency=3))
    assert (with_others.tally.sent, with_others.tally.stored) == (8, 8)
    assert with_others.judged[0].judgments["probabilities"][0].to_list() == pytest.approx(row["probabilities"])
    again = run(plan(2, "sampling:8"), store)
    assert (again.tally.sent, again.tally.stored) == (0, 16)
