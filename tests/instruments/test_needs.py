"""Nothing is asked about an item that lacks what the question names."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import vantage
from vantage import ChatRater, Corpus, InputError, Instrument, Scale
from vantage.corpora import schema
from vantage.corpora.item_fields import check_items, named_fields
from vantage.interop.asked import Sheet

WARMTH = Instrument.load("warmth-competence")


def texts(**columns: list[Any]) -> Corpus:
    items = pl.DataFrame({"item": ["a", "b"], **columns})
    return Corpus(items, pl.DataFrame(schema=schema.RATERS), pl.DataFrame(schema=schema.JUDGMENTS), ())


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"text": ["x", "y"]}, r"question 'trust' asks about \{target\}, and the items have no column 'target'"),
        ({"text": ["x", "y"], "target": ["Ann", None]}, r"asks about \{target\}, which is empty for item 'b'"),
        ({"text": ["x", "y"], "target": ["  ", ""]}, r"which is empty for item 'a' \(2 items in all\)"),
        ({"text": ["x", None], "target": ["Ann", "Bob"]}, "item 'b' has nothing to judge: text is empty"),
    ],
)
def test_incomplete_items_are_refused_everywhere(columns: dict[str, list[Any]], sentence: str) -> None:
    corpus = texts(**columns)
    rater = ChatRater("recorded:none.csv")
    with pytest.raises(InputError, match=sentence):
        check_items(WARMTH, corpus.items)
    with pytest.raises(InputError, match=sentence):
        vantage.rate(corpus, rater, WARMTH)
    with pytest.raises(InputError, match=sentence):
        next(iter(rater.plan(corpus, WARMTH)))
    with pytest.raises(InputError, match=sentence):
        list(Sheet.of(corpus, instrument=WARMTH).asked())


def test_trained_raters_refuse_them_too() -> None:
    demo = vantage.demo_corpus()
    rater = vantage.raters.fit(demo, "trust", kind="mean")
    with pytest.raises(InputError, match=r"asks about \{target\}, and the items have no column 'target'"):
        rater.judge(demo.items.drop("target"))


def test_complete_items_pass() -> None:
    check_items(WARMTH, texts(text=["x", "y"], target=["Ann", "Bob"]).items)
    assert named_fields(Instrument.load("sarcasm")) == {}


def test_items_that_show_nothing_of_the_instrument() -> None:
    with pytest.raises(InputError, match="none of the columns that 'sarcasm' shows"):
        check_items(Instrument.load("sarcasm"), texts(body=["x", "y"]).items)


def test_the_same_question_on_another_scale_is_refused_before_the_first_call() -> None:
    mine = Instrument.of_questions("mine", "Mine", {"trust": Scale.points(1, 5)})
    items = pl.DataFrame({"item": ["a"], "text": ["x"], "target": ["Ann"]})
    corpus = Corpus(items, pl.DataFrame(schema=schema.RATERS), pl.DataFrame(schema=schema.JUDGMENTS), mine)
    with pytest.raises(InputError, match="two instruments have a question 'trust' with different scales"):
        vantage.rate(corpus, ChatRater("recorded:none.csv"), WARMTH)


@pytest.mark.filterwarnings("always")
def test_an_inferred_instrument_is_warned_of() -> None:
    mine = Instrument.of_questions("mine", "Mine", {"offensiveness": Scale.points(1, 5)})
    with pytest.warns(UserWarning, match=r"has no wording: .* names of its questions \(offensiveness\)"):
        texts(text=["x", "y"]).check_asked(mine)
