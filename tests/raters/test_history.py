from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from vantage import Instrument, demo_corpus
from vantage.instruments import Field
from vantage.raters.prompts import Shot
from vantage.raters.shots import History, tfidf

INSTRUMENT = Instrument.load("warmth-competence")
TRUST, FIELDS = INSTRUMENT.question("trust"), INSTRUMENT.fields


def test_the_most_similar_items_of_the_user_come_last() -> None:
    history = History.of(demo_corpus(), "r1", TRUST, FIELDS)
    item = {"item": "new", "text": "The baker burnt the rolls and blamed the oven.", "target": "the baker"}
    shots = history.similar(item, 3)
    assert len(shots) == 3
    assert all("baker" in shot.item["text"] for shot in shots[1:])
    judged = demo_corpus().judgments.filter(rater="r1", question="trust")
    for shot in shots:
        assert shot.answers["trust"] == judged.filter(item=shot.item["item"])["value"][0]


def test_the_item_itself_is_left_out_and_short_histories_are_short() -> None:
    history = History.of(demo_corpus(), "r1", TRUST, FIELDS)
    first = history.shots[0].item
    assert all(shot.item["item"] != first["item"] for shot in history.similar(first, 5))
    assert len(history.similar(first, 1000)) == len(history.shots) - 1
    assert History.of(demo_corpus(), "nobody", TRUST, FIELDS).similar(first, 5) == []


def test_the_same_text_under_another_id_is_never_shown() -> None:
    history = History.of(demo_corpus(), "r1", TRUST, FIELDS)
    first = history.shots[0].item
    again = {**first, "item": "another-id", "text": f"{first['text'].upper()} "}
    assert first["text"] not in [shot.item["text"] for shot in history.similar(again, 1000)]


def test_items_without_a_column_text_are_compared_by_what_is_shown() -> None:
    shots = tuple(
        Shot({"item": n, "headline": words}, {"trust": 1.0}) for n, words in enumerate(["tax law", "a red fox"])
    )
    history = History(shots, (Field("headline", "Headline"),))
    assert history.similar({"item": "x", "headline": "the fox"}, 1)[0].item["headline"] == "a red fox"


def test_another_encoder_can_be_used() -> None:
    def length(texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([[len(text), 100.0] for text in texts])

    assert History.of(demo_corpus(), "r1", TRUST, FIELDS, encode=length).similar({"item": "x", "text": "y"}, 2)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_vectors_have_length_one_or_nought(texts: list[str]) -> None:
    norms = np.linalg.norm(tfidf(texts), axis=1)
    assert np.all(np.isclose(norms, 1) | np.isclose(norms, 0))
