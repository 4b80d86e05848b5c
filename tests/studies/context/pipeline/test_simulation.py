"""Simulated readers: planted ambiguity is found, methods come out in the expected order, and nothing is asked twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.studies.context.pipeline.planted import Planted, planted_corpus
from vantage import Instrument
from vantage.context import Judging, Simulator, compare, detected, simulate, votes
from vantage.errors import InputError
from vantage.raters.personas import Personas
from vantage.studies.context.pipeline.simulation import METHOD, NONE_RELEVANT

KINDS = ["clear"] * 12 + ["ambiguous"] * 12
INSTRUMENT = Instrument.load("sarcasm")
SCALE = INSTRUMENT.questions[0].scale


def simulator(answers: str, model: Planted | None = None, count: int = 10) -> Simulator:
    return Simulator(model or Planted(), count=count, answers=answers, samples=2, stop=0)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("answers", ["sampling", "scoring"])
def test_planted_ambiguity_is_found_by_personas_who_know_the_statement_best(answers: str) -> None:
    corpus = planted_corpus(KINDS)
    told = votes(corpus, INSTRUMENT.questions[0])
    found = []
    for method in ("direct", "persona", "selective"):
        simulation = simulate(corpus, "sarcasm", simulator(answers), method)
        found.append(detected(simulation))
    table = compare(found, told, SCALE, Judging(resamples=50))
    auc = dict(table.select("method", "auc").iter_rows())
    assert auc["selective"] > auc["persona"] > auc["direct"]
    assert auc["selective"] > 0.95
    row = table.filter(method="selective").row(0, named=True)
    assert row["precision"] > 0.8
    assert row["recall"] > 0.8
    assert row["jsd"] == table["jsd"].min()
    calls = dict(table.select("method", "calls").iter_rows())
    assert calls["direct"] == 24 * (1 if answers == "scoring" else 2)
    assert calls["persona"] == 10 * calls["direct"]


def test_reasons_are_sampled_whatever_the_answers(tmp_path: Path) -> None:
    corpus = planted_corpus(["clear", "ambiguous"])
    found = simulate(corpus, "sarcasm", simulator("scoring", count=4), "selective-reasoning")
    mine = found.corpus.judgments.filter(pl.col("rater").is_in(list(found.raters)))
    assert set(mine["question"]) == {"sarcasm", "sarcasm-relevance"}
    gate = mine.filter(question="sarcasm-relevance")
    assert gate["rationale"].null_count() == 0
    assert set(gate["value"]) <= {2.0, 9.0}
    assert found.cost.prompt_tokens == 100 * found.cost.calls


def test_an_item_that_is_relevant_to_nobody_is_reported_and_never_flagged() -> None:
    corpus = planted_corpus(["foreign", "ambiguous", "clear"])
    found = detected(simulate(corpus, "sarcasm", simulator("sampling", count=6), "selective"))
    row = found.table.row(0, named=True)
    assert (row["score"], row["reason"], row["relevant"], row["asked"]) == (None, NONE_RELEVANT, 0, 6)
    assert found.unscored == {NONE_RELEVANT: 1}


def test_no_persona_at_all_is_relevant_anywhere() -> None:
    corpus = planted_corpus(["foreign", "foreign"])
    found = detected(simulate(corpus, "sarcasm", simulator("scoring", count=3), "selective"))
    assert found.table["score"].null_count() == 2
    table = compare([found], votes(corpus, INSTRUMENT.questions[0]), SCALE)
    assert table["auc"][0] is None
    assert "score" in table["reason"][0]


def test_a_stored_simulation_asks_nothing_again_and_costs_the_same(tmp_path: Path) -> None:
    corpus, store = planted_corpus(["clear", "ambiguous", "ambiguous"]), tmp_path / "runs.sqlite"
    model = Planted()
    first = simulate(corpus, "sarcasm", simulator("sampling", model, 3), "selective", store=store)
    asked = model.asked
    again = simulate(corpus, "sarcasm", simulator("sampling", model, 3), "selective", store=store)
    assert model.asked == asked
    assert again.cost == first.cost
    assert again.cost.calls == asked
    assert again.corpus.judgments.equals(first.corpus.judgments)


def test_what_another_run_had_asked_for_counts_as_cost_too(tmp_path: Path) -> None:
    corpus, store, model = planted_corpus(["clear", "ambiguous"]), tmp_path / "runs.sqlite", Planted()
    first = simulate(corpus.filter(item="s000"), "sarcasm", simulator("scoring", model, 3), "persona", store=store)
    found = simulate(corpus, "sarcasm", simulator("scoring", model, 3), "persona", store=store)
    assert (first.cost.calls, found.cost.calls, model.asked) == (3, 6, 6)


def test_readers_of_two_methods_stand_in_one_corpus_and_say_whose_they_are() -> None:
    corpus = planted_corpus(["clear", "ambiguous"])
    one = simulate(corpus, "sarcasm", simulator("scoring", count=2), "persona")
    two = simulate(one.corpus, "sarcasm", simulator("scoring", count=2), "direct")
    methods = dict(two.corpus.raters.select("rater", METHOD).iter_rows())
    assert [methods[rater] for rater in one.raters] == ["persona"] * 2
    assert [methods[rater] for rater in two.raters] == ["direct"]
    assert methods["p0"] is None
    assert (
        detected(one).table["score"].to_list()
        == detected(type(one)(one.method, two.corpus, one.question, one.raters, one.cost)).table["score"].to_list()
    )


def test_fewer_personas_can_be_looked_at_afterwards() -> None:
    found = simulate(planted_corpus(["clear", "ambiguous"]), "sarcasm", simulator("scoring", count=4), "persona")
    some = detected(replace(found, raters=found.raters[:1]))
    assert some.table["answers"].to_list() == [1, 1]


def test_bad_personas_and_methods_are_named(tmp_path: Path) -> None:
    corpus = planted_corpus(["clear"])
    with pytest.raises(InputError, match="no method of detection 'personas'; did you mean 'persona'"):
        simulate(corpus, "sarcasm", Planted(), "personas")
    file = tmp_path / "mine.yaml"
    file.write_text("personas:\n  - {id: ann, name: Ann Lee}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"(?s)mine\.yaml.*age: this is missing"):
        simulate(corpus, "sarcasm", Simulator(Planted(), personas=file), "persona")
    with pytest.raises(InputError, match="no personas"):
        simulate(corpus, "sarcasm", Simulator(Planted(), personas=()), "persona")
    with pytest.raises(InputError, match="99 personas"):
        Simulator(Planted(), personas=Personas.load("pool"), count=99).people()
