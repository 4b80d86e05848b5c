from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from vantage import Instrument, demo_corpus
from vantage.raters.history import History, tfidf

TRUST = Instrument.load("warmth-competence").question("trust")


def test_the_most_similar_items_of_the_user_come_last() -> None:
    history = History.of(demo_corpus(), "r1", TRUST)
    item = {"item": "new", "text": "The baker burnt the rolls and blamed the oven.", "target": "the baker"}
    shots = history.similar(item, 3)
    assert len(shots) == 3
    assert all("baker" in shot.item["text"] for shot in shots[1:])
    judged = demo_corpus().judgments.filter(rater="r1", question="trust")
    for shot in shots:
        assert shot.answers["trust"] == judged.filter(item=shot.item["item"])["value"][0]


def test_the_item_itself_is_left_out_and_short_histories_are_short() -> None:
    history = History.of(demo_corpus(), "r1", TRUST)
    first = history.shots[0].item
    assert all(shot.item["item"] != first["item"] for shot in history.similar(first, 5))
    assert len(history.similar(first, 1000)) == len(history.shots) - 1
    assert History.of(demo_corpus(), "nobody", TRUST).similar(first, 5) == []


def test_another_encoder_can_be_used() -> None:
    def length(texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([[len(text), 100.0] for text in texts])

    assert History.of(demo_corpus(), "r1", TRUST, length).similar({"item": "x", "text": "y"}, 2)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_vectors_have_length_one_or_nought(texts: list[str]) -> None:
    norms = np.linalg.norm(tfidf(texts), axis=1)
    assert np.all(np.isclose(norms, 1) | np.isclose(norms, 0))
