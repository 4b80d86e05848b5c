from __future__ import annotations

from collections import Counter

import pytest

from vantage import InputError, Instrument, demo_corpus
from vantage.raters.shots import choose, corpus_shots, instrument_shots

INSTRUMENT = Instrument.load("warmth-competence")
TRUST = [INSTRUMENT.question("trust")]


def test_the_instrument_gives_its_worked_examples() -> None:
    shots = instrument_shots(INSTRUMENT, TRUST)
    assert len(shots) == len(INSTRUMENT.examples)
    assert shots[0].answers == {"trust": 3}
    assert shots[0].reasons["trust"]


def test_examples_of_another_condition_are_not_used() -> None:
    sarcasm = Instrument.load("sarcasm")
    static = instrument_shots(sarcasm, sarcasm.questions, "static")
    assert static
    assert all("conversation" not in shot.item for shot in static)


def test_a_corpus_gives_the_answer_of_most_people() -> None:
    corpus = demo_corpus()
    shots = {shot.item["item"]: shot for shot in corpus_shots(corpus, TRUST)}
    judged = corpus.judgments.filter(question="trust")
    for item, shot in list(shots.items())[:10]:
        counts = Counter(judged.filter(item=item)["value"].to_list())
        most = max(counts.values())
        assert shot.answers["trust"] == min(value for value, count in counts.items() if count == most)


def test_a_corpus_gives_bands_where_coarse_answers_are_asked_for() -> None:
    coarse = INSTRUMENT.coarse().question("trust-coarse")
    codes = {option.label: option.code for option in coarse.scale.options}
    corpus = demo_corpus()
    shots = {shot.item["item"]: shot for shot in corpus_shots(corpus, [coarse])}
    assert len(shots) == len(corpus.items)
    for item, shot in shots.items():
        values = corpus.judgments.filter(item=item, question="trust")["value"].drop_nulls().to_list()
        counts = Counter(codes[TRUST[0].scale.band(value) or ""] for value in values)
        most = max(counts.values())
        assert shot.answers["trust-coarse"] == min(code for code, count in counts.items() if count == most)


def test_the_item_itself_is_never_an_example() -> None:
    pool = corpus_shots(demo_corpus(), TRUST)
    for shot in pool[:8]:
        renamed = {**shot.item, "item": "another-id", "text": shot.item["text"].upper() + " "}
        for item in (shot.item, renamed):
            chosen = choose(pool, len(pool) - 1, "trust", item, seed=1)
            assert all(one.item["text"] != shot.item["text"] for one in chosen)


def test_examples_are_balanced_over_the_answers_and_drawn_by_seed() -> None:
    pool = corpus_shots(demo_corpus(), TRUST)
    answers = {shot.answers["trust"] for shot in pool}
    chosen = choose(pool, len(answers), "trust", {"item": "x", "text": "y"}, seed=3)
    assert {shot.answers["trust"] for shot in chosen} == answers
    assert chosen == choose(pool, len(answers), "trust", {"item": "x", "text": "y"}, seed=3)
    assert chosen != choose(pool, len(answers), "trust", {"item": "x", "text": "y"}, seed=4)


def test_too_few_examples_are_told() -> None:
    with pytest.raises(InputError, match="there are 4 worked examples for question 'trust', 9 were asked for"):
        choose(instrument_shots(INSTRUMENT, TRUST), 9, "trust", {"text": "x"}, seed=0)
