from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from vantage import ChatRater, Corpus, InputError, Instrument, demo_corpus
from vantage.raters.asked import CUT, fitted
from vantage.raters.models.base import Unopened

INSTRUMENT = Instrument.load("warmth-competence")


def call(text: str, **rater: Any) -> Any:
    items = pl.DataFrame({"item": ["a"], "text": [text], "target": ["Bo"]})
    corpus = Corpus(items, demo_corpus().raters, demo_corpus().judgments.clear(), INSTRUMENT)
    return next(ChatRater("openai:x", **rater).plan(corpus, INSTRUMENT, questions=["trust"]))


def test_what_fits_is_left_alone() -> None:
    short = call("Short.")
    assert fitted(short, Unopened("openai:x", {})) is short
    assert fitted(short, Unopened("openai:x", {"window": 2000})) is short


def test_the_text_is_cut_and_the_instructions_are_not() -> None:
    model = Unopened("openai:x", {"window": 1500})
    long = call("word " * 5000, max_tokens=100)
    cut = fitted(long, model)
    assert CUT in cut.request.messages[-1].content
    assert cut.request.messages[0] == long.request.messages[0]
    assert sum(model.count_tokens(message.content) for message in cut.request.messages) < 1400
    assert (cut.request.tag, cut.request.sampling) == (long.request.tag, long.request.sampling)
    with pytest.raises(InputError, match="the instructions alone"):
        fitted(long, Unopened("openai:x", {"window": 200}))


def test_a_model_that_was_not_opened_answers_nothing() -> None:
    for ask in (lambda m: m.complete([]), lambda m: m.score([], ["1"])):
        with pytest.raises(Exception, match="was not opened"):
            ask(Unopened("openai:x", {}))  # type: ignore[no-untyped-call]
