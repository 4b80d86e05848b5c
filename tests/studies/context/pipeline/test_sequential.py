"""Readers who stop early: the order of items is that of the full plan at a fraction of the calls."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from benchmarks.readers import Readers, statements, stopped
from tests.raters.models.endpoint import Answer, Endpoint
from tests.studies.context.pipeline.planted import Planted, planted_corpus
from vantage import ChatRater
from vantage.context import Simulator, detected, simulate
from vantage.errors import InputError
from vantage.runs import RunPlan, RunStore, run
from vantage.runs.forecast import Forecast
from vantage.studies.context.pipeline.ambiguity import entropy, entropy_posterior, known_entropies
from vantage.studies.context.pipeline.simulation import simulation_plan

FULL = 40 * 20
"""Answers per item of the full plan of one method."""


@pytest.mark.slow
@pytest.mark.parametrize(("several", "least", "requests"), [(5, 0.95, 0.04 * FULL), (1, 0.88, 0.04 * FULL)])
def test_items_keep_the_order_of_the_full_plan_at_a_fraction_of_its_calls(
    several: int, least: float, requests: float
) -> None:
    rho, asked, answers = stopped(Readers(1.0, several), items=40)
    assert rho > least
    assert asked <= requests + 1e-9
    assert answers <= several * asked + 1e-9


@pytest.mark.slow
def test_readers_stop_about_some_items_and_go_on_about_others() -> None:
    corpus, model = planted_corpus(["clear"] * 8 + ["ambiguous"] * 8), Planted()
    found = simulate(corpus, "sarcasm", Simulator(model, answers="sampling", most=40), "persona")
    counts = detected(found).table.sort("item")["answers"].to_list()
    assert min(counts) < max(counts) == 40
    assert model.asked == sum(counts) == found.cost.calls
    everyone = simulate(corpus, "sarcasm", Simulator(Planted(), answers="sampling", samples=1, stop=0), "persona")
    assert set(detected(everyone).table["answers"]) == {40}


@pytest.mark.slow
def test_a_stopped_simulation_is_resumed_without_asking_again(tmp_path: Any) -> None:
    corpus, model = planted_corpus(["clear", "ambiguous"] * 4), Planted()
    how = Simulator(model, answers="sampling", count=12)
    first = simulate(corpus, "sarcasm", how, "selective", store=tmp_path / "runs.sqlite")
    asked = model.asked
    again = simulate(corpus, "sarcasm", how, "selective", store=tmp_path / "runs.sqlite")
    assert (model.asked, again.cost) == (asked, first.cost)
    assert first.cost.calls == asked
    gate = first.corpus.judgments.filter(pl.col("question") == "sarcasm-relevance")
    assert not gate.select("item", "rater").is_duplicated().any()


def test_no_reader_is_asked_twice_before_all_were_asked_once() -> None:
    how = Simulator(Readers(0.5), answers="sampling", count=10, stop=0.01, most=12)
    found = simulate(statements(4), "sarcasm", how, "persona")
    answers = found.corpus.judgments.group_by("item", "rater").len()
    assert answers["len"].max() == 2
    assert answers.group_by("item").len()["len"].to_list() == [10] * 4
    assert detected(found).table["answers"].to_list() == [12] * 4


@pytest.mark.slow
def test_the_estimate_is_the_most_that_can_be_asked_and_a_tenth_of_the_full_plan() -> None:
    corpus = statements(6)

    def calls(settings: dict[str, Any] | None = None, **options: Any) -> int:
        forecast = Forecast()
        for method in ("direct", "reasoning", "persona", "persona-reasoning", "selective", "selective-reasoning"):
            forecast.add(
                simulation_plan(
                    corpus, "sarcasm", Simulator(ChatRater("openai:x", settings=settings or {}), **options), method
                )
            )
        return forecast.total.calls

    full = 2 * 20 + 40 + 4 * 800
    assert calls(stop=0, settings={"several": 1}) == 6 * full
    assert calls() == 6 * (2 + 32 + 4 * 32)
    assert calls(settings={"several": 1}) == 6 * (2 * 20 + 32 + 4 * 32) < 6 * full / 10


def test_the_posterior_of_the_entropy_is_that_of_draws() -> None:
    counts = np.array([[8.0, 0.0, 0.0], [3.0, 4.0, 1.0], [30.0, 10.0, 2.0]])
    mean, sd = entropy_posterior(counts)
    rng = np.random.default_rng(0)
    for row, m, s in zip(counts, mean, sd, strict=True):
        drawn = entropy(rng.dirichlet(row + 1 / 3, 40_000))
        assert (m, s) == pytest.approx((drawn.mean(), drawn.std()), abs=4e-3)


def test_answers_of_one_reader_count_for_fewer_than_those_of_many() -> None:
    scale = statements(1).questions[0].scale
    rows = [("a", f"r{n}", "sarcasm", float(n % 2), "answered") for n in range(8)]
    columns = ["item", "rater", "question", "value", "status"]
    many = known_entropies(pl.DataFrame(rows, schema=columns, orient="row"), scale)
    few = known_entropies(pl.DataFrame(rows * 5, schema=columns, orient="row"), scale)
    assert few["sd"][0] == pytest.approx(many["sd"][0], abs=0.01)


def test_a_bad_stop_is_refused() -> None:
    with pytest.raises(InputError, match="readers cannot stop at"):
        Simulator("embedded", stop=1.5)
    with pytest.raises(InputError, match="at least once"):
        Simulator("embedded", most=0)


def several_replies(body: dict[str, Any]) -> Answer:
    """As many replies as were asked for, all different."""
    choices = [
        {"index": n, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes" if n % 2 else "no"}}
        for n in range(body.get("n", 1))
    ]
    usage = {"prompt_tokens": 100, "completion_tokens": len(choices)}
    return Answer(raw=json.dumps({"id": "x", "object": "chat.completion", "choices": choices, "usage": usage}))


def asked(endpoint: Endpoint, several: int) -> tuple[list[float], list[str], int]:
    settings = {"base_url": endpoint.url, "several": several}
    rater = ChatRater("openai:x", samples=6, temperature=1.0, settings=settings)
    with RunStore.temporary() as store:
        outcome = run(RunPlan.of(statements(3), rater, "sarcasm"), store)
    (judged,) = outcome.judged
    return judged.judgments["value"].to_list(), judged.notes, judged.prompt_tokens


def test_one_request_brings_several_samples_and_reads_the_prompt_once() -> None:
    with Endpoint(several_replies) as endpoint:
        values, notes, tokens = asked(endpoint, 20)
        assert [body["n"] for body in endpoint.requests] == [6] * 3
    assert values == [0.0, 1.0] * 9
    assert (notes, tokens) == ([], 300)


@pytest.mark.parametrize("rejects", [False, True])
def test_an_endpoint_that_gives_one_reply_is_asked_for_each_sample(rejects: bool) -> None:
    def reply(body: dict[str, Any]) -> Answer:
        if rejects and "n" in body:
            return Answer(status=400, error={"message": "Unsupported parameter: 'n'.", "param": "n"})
        return several_replies({})

    with Endpoint(reply) as endpoint:
        values, notes, _ = asked(endpoint, 20)
        assert sum("n" not in body or body["n"] > 1 for body in endpoint.requests) >= 18 - 8
    assert values == [0.0] * 18
    assert any("every sample takes a request of its own" in note for note in notes)


def test_readers_at_an_endpoint_without_several_replies_are_asked_once_each() -> None:
    def reply(body: dict[str, Any]) -> Answer:
        return several_replies({})

    with Endpoint(reply) as endpoint:
        how = Simulator(ChatRater("openai:x", settings={"base_url": endpoint.url}), count=8, most=16)
        found = simulate(statements(2), "sarcasm", how, "persona")
    # The first round asked for five answers at a time; what came later did not.
    assert found.cost.calls <= 2 * (8 * 5 + 8)
    assert any("a request of its own" in note for note in found.notes)


def test_a_request_that_brings_several_answers_is_counted_once() -> None:
    sent = count()

    def reply(body: dict[str, Any]) -> Answer:
        answer = several_replies(body)
        return Answer(raw=(answer.raw or "").replace('"id": "x"', f'"id": "x{next(sent)}"'))

    with Endpoint(reply) as endpoint:
        how = Simulator(ChatRater("openai:x", settings={"base_url": endpoint.url}), count=4, samples=5, stop=0)
        found = simulate(statements(2), "sarcasm", how, "persona")
        assert found.cost.calls == len(endpoint.requests) < len(found.corpus.judgments) == 40
        assert found.cost.prompt_tokens == 100 * len(endpoint.requests)


def test_two_full_plans_agree_more_than_a_stopped_one() -> None:
    model = Readers(1.0, 5)
    assert float(spearmanr(model.full(40), model.full(40, 1))[0]) > 0.98
