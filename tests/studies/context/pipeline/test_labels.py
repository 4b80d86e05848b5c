"""Original labels are found where data keep them, and one that is no answer of the instrument is named."""

from __future__ import annotations

import polars as pl
import pytest

from tests.studies.context.pipeline.conftest import statements
from vantage import Corpus, Instrument
from vantage.errors import InputError
from vantage.studies.context.pipeline.controls import original_labels

SARCASM = Instrument.load("sarcasm").questions[0]
SENTIMENT = Instrument.load("sentiment").questions[0]


def with_column(values: list[object], name: str = "label") -> Corpus:
    plain = statements()
    items = plain.items.with_columns(pl.Series(name, values, strict=False))
    return Corpus(items, plain.raters, plain.judgments.clear(), plain.instruments)


def test_the_author_says_what_was_meant(corpus: Corpus) -> None:
    assert dict(original_labels(corpus, SARCASM).iter_rows()) == {"s1": 1, "s2": 0, "s3": 1, "s4": 0}


@pytest.mark.parametrize("values", [[1, 0, None, 0], ["yes", "No", None, "no"], ["1", "0", None, "0"]])
def test_a_column_may_hold_codes_or_wordings(values: list[object]) -> None:
    assert original_labels(with_column(values), SARCASM).rows() == [("s1", 1.0), ("s2", 0.0), ("s4", 0.0)]
    assert len(original_labels(with_column(values, "gold"), SARCASM, "gold")) == 3


def test_labels_may_be_given_by_item_or_as_a_frame(corpus: Corpus) -> None:
    assert original_labels(corpus, SENTIMENT, {"s1": "negative", "s2": 1, "unknown": 0}).rows() == [
        ("s1", -1),
        ("s2", 1),
    ]
    frame = pl.DataFrame({"item": ["s1", "s1"], "question": ["sarcasm", "other"], "value": [0, 1]})
    assert original_labels(corpus, SARCASM, frame).rows() == [("s1", 0.0)]


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ({"s1": "sarcastic"}, "the label 'sarcastic' of item 's1' is no answer of question 'sarcasm'; its answers are"),
        ({"s2": 3}, "the label '3' of item 's2' is no answer"),
        ("gold", "the items have no column 'gold'"),
        (pl.DataFrame({"item": ["s1"]}), "the labels have no column 'value'"),
        (pl.DataFrame({"item": ["s1", "s1"], "value": [0, 1]}), "item 's1' has more than one label"),
    ],
)
def test_labels_that_do_not_fit_are_named(corpus: Corpus, labels: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        original_labels(corpus, SARCASM, labels)  # type: ignore[arg-type]


def test_a_corpus_without_labels_says_so() -> None:
    plain = statements({"a": ("I wait.", None)})
    with pytest.raises(InputError, match="no original label for question 'sarcasm'; pass labels="):
        original_labels(plain, SARCASM)
