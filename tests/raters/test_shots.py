from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from vantage import Corpus, InputError, Instrument, demo_corpus
from vantage.instruments import Field
from vantage.raters.prompts import Shot
from vantage.raters.shots import choose, corpus_shots, instrument_shots

INSTRUMENT = Instrument.load("warmth-competence")
TRUST = [INSTRUMENT.question("trust")]
FIELDS = INSTRUMENT.fields


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
            chosen = choose(pool, len(pool) - 1, "trust", item, 1, FIELDS)
            assert all(one.item["text"] != shot.item["text"] for one in chosen)


def test_examples_are_balanced_over_the_answers_and_drawn_by_seed() -> None:
    pool = corpus_shots(demo_corpus(), TRUST)
    answers = {shot.answers["trust"] for shot in pool}
    chosen = choose(pool, len(answers), "trust", {"item": "x", "text": "y"}, 3, FIELDS)
    assert {shot.answers["trust"] for shot in chosen} == answers
    assert chosen == choose(pool, len(answers), "trust", {"item": "x", "text": "y"}, 3, FIELDS)
    assert chosen != choose(pool, len(answers), "trust", {"item": "x", "text": "y"}, 4, FIELDS)


def test_too_few_examples_are_told() -> None:
    with pytest.raises(InputError, match="there are 4 worked examples for question 'trust', 9 were asked for"):
        choose(instrument_shots(INSTRUMENT, TRUST), 9, "trust", {"text": "x"}, 0, FIELDS)


def test_a_person_counts_once_and_excluded_people_not_at_all() -> None:
    codes = [(rater, value, n) for rater, values in {"a": [3] * 3, "b": [1], "c": [1], "d": [2] * 5}.items()
             for n, value in enumerate(values)]  # fmt: skip
    rows = [{"item": "i", "question": "trust", "rater": rater, "value": float(v), "sample": n} for rater, v, n in codes]
    raters = pl.DataFrame({"rater": list("abcd"), "kind": ["person"] * 4, "excluded": [False] * 3 + [True]})
    items = pl.DataFrame({"item": ["i"], "text": ["A"], "target": ["x"]})
    (shot,) = corpus_shots(Corpus(items, raters, pl.DataFrame(rows), INSTRUMENT), TRUST)
    assert shot.answers == {"trust": 1.0}


def test_people_asked_under_another_condition_give_no_examples() -> None:
    sarcasm = Instrument.load("sarcasm")
    items = pl.DataFrame({"item": ["i"], "text": ["Great."], "speaker": ["A"]})
    rows = [
        {"item": "i", "question": sarcasm.questions[0].id, "rater": who, "value": value, "condition": condition}
        for who, condition, value in (("a", "static", 0.0), ("b", "context", 1.0), ("c", "context", 1.0))
    ]
    raters = pl.DataFrame({"rater": list("abc"), "kind": ["person"] * 3})
    corpus = Corpus(items, raters, pl.DataFrame(rows), sarcasm)
    (shot,) = corpus_shots(corpus, sarcasm.questions[:1], "static")
    assert list(shot.answers.values()) == [0.0]


def test_items_of_other_fields_are_told_apart() -> None:
    fields = [Field("headline", "Headline")]
    pool = [Shot({"item": name, "headline": name}, {"trust": 1.0}) for name in ("one", "two")]
    chosen = choose(pool, 1, "trust", {"item": "x", "headline": "One!"}, 0, fields)
    assert [shot.item["item"] for shot in chosen] == ["two"]
