"""Groups with all of their judgments."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.parts import constant_within, counts, parts, rounded, two_values
from vantage.measures.resampling import item_codes
from vantage.scales import Scale


def corpus() -> Corpus:
    questions = {"kind": Scale.labels("x", "y"), "trust": Scale.points(-3, 3)}
    return Corpus(
        items=pl.DataFrame({"item": ["a", "b"], "text": ["a", "b"], "topic": ["t", "u"]}),
        raters=pl.DataFrame({"rater": ["r"]}),
        judgments=pl.DataFrame(
            {
                "item": ["a", "a", "b"],
                "rater": ["r"] * 3,
                "question": ["kind", "trust", "trust"],
                "value": [1.0, -2.0, None],
                "status": ["answered", "answered", "refused"],
            }
        ),
        instruments=Instrument.of_questions("test", "Test", questions),
    )


def test_groups_come_in_order_with_answers_and_refusals() -> None:
    found = list(parts(corpus(), by="question", extra=["topic"]))
    assert [part.key for part in found] == [{"question": "kind"}, {"question": "trust"}]
    trust = found[1]
    assert (len(trust.frame), len(trust.answered), trust.statuses) == (2, 1, ("refused",))
    assert trust.frame["topic"].to_list() == ["t", "u"]
    assert trust.scale() == Scale.points(-3, 3)
    assert counts(trust.answered, trust.frame)["left_out"] == {"refused": 1}


def test_different_scales_cannot_be_pooled() -> None:
    (everything,) = parts(corpus())
    with pytest.raises(InputError, match="different scales"):
        everything.scale()


def test_the_two_values_of_a_column() -> None:
    table = pl.DataFrame({"age": ["young", "old", None, "middle"]})
    assert two_values(table, "age", ["young", "old"]) == ("young", "old")
    assert two_values(table.head(3), "age", None) == ("old", "young")
    with pytest.raises(InputError, match="3 values"):
        two_values(table, "age", None)
    with pytest.raises(InputError, match="no value 'odl'; did you mean 'old'"):
        two_values(table, "age", ["odl", "young"])


def test_a_trait_is_constant_within_each_rater_and_nothing_is_where_nobody_answered() -> None:
    frame = pl.DataFrame({"rater": ["r", "r", "s"], "age": [30, 30, 40], "mood": [1, 2, 1]})
    assert constant_within(frame, "age", ["rater"])
    assert not constant_within(frame, "mood", ["rater"])
    assert constant_within(frame.head(1), "mood", ["rater"])
    assert not constant_within(frame.clear(), "age", ["rater"])


def test_a_table_without_an_answer_has_neither_ends_nor_items() -> None:
    (part,) = parts({"item": [1, 2], "rater": [1, 1], "value": [None, None]})
    assert part.ends == (0.0, 0.0)
    assert item_codes(part.answered["item"])[1] == 0


def test_rounding_rules_differ_at_halves_only() -> None:
    halves = np.array([-1.5, -0.5, 0.5, 1.5])
    assert rounded(halves, "half_up").tolist() == [-1.0, 0.0, 1.0, 2.0]
    assert rounded(halves, "half_even").tolist() == [-2.0, 0.0, 0.0, 2.0]
    assert rounded(halves, "none").tolist() == halves.tolist()
