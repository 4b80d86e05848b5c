"""Length, hedging, silence and copying."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.errors import InputError
from vantage.measures import rationale_form
from vantage.measures.rationale.form import copied, coverage, density, fragments, hedging, novelty, says_nothing
from vantage.measures.texts.diversity import words

TEXT = st.lists(st.sampled_from([*"abcd"]), min_size=1, max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        ("The text does not mention fairness.", True),
        ("The narrator doesn't really talk about blame.", True),
        ("There is no indication that they expected it.", True),
        ("It is not explicitly stated.", True),
        ("The post fails to address this.", True),
        ("The narrator never mentions other people.", True),
        ("They did not expect the news.", False),
        ("They do not care about the rules.", False),
        ("No one is to blame.", False),
    ],
)
def test_what_says_that_the_text_does_not_tell(text: str, silent: bool) -> None:
    assert says_nothing(text) is silent


def test_hedges_are_whole_words() -> None:
    assert hedging("Perhaps it possibly rains") == pytest.approx(0.5)
    assert hedging("impossible couldbe") == 0.0
    assert hedging("…") is None


@settings(max_examples=60, deadline=None)
@given(TEXT, TEXT)
def test_fragments_are_runs_of_the_source(text: str, source: str) -> None:
    found = fragments(text, source)
    shared = [word in words(source) for word in words(text)]
    assert sum(found) == sum(shared)
    assert coverage(text, source) == pytest.approx(sum(shared) / len(shared))
    assert (copied(text, source) or 0) <= (coverage(text, source) or 0)
    assert (density(text, source) or 0) >= (coverage(text, source) or 0)


def test_a_copy_is_all_copied_and_nothing_new() -> None:
    text = "I cannot sleep any more"
    assert (copied(text, text), coverage(text, text), density(text, text), novelty(text, text)) == (1, 1, 5, 0)
    assert novelty("alone", text) is None
    assert copied("", text) is None


def test_the_measure_counts_what_it_leaves_out() -> None:
    table = pl.DataFrame(
        {
            "item": ["a", "b", "c"],
            "rater": ["x"] * 3,
            "value": [1.0, 2.0, 3.0],
            "rationale": ["It does not say", None, "It seems so"],
            "text": ["one", "two", "it seems so to me"],
        }
    )
    told = {row["property"]: row for row in rationale_form(table, ci="none").iter_rows(named=True)}
    assert told["words"]["estimate"] == pytest.approx(3.5)
    assert told["says nothing"]["estimate"] == pytest.approx(0.5)
    assert told["longest copy"]["estimate"] == pytest.approx(0.5)
    assert told["words"]["left_out"] == {"no rationale": 1}
    without = rationale_form(table.drop("text"), ci="none")
    assert without.filter(pl.col("property") == "coverage")["reason"][0] == "the items have no column 'text'"
    assert without.filter(pl.col("property") == "words")["estimate"][0] == pytest.approx(3.5)


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="no property 'wrds'; did you mean 'words'"):
        rationale_form({"item": ["a"], "rater": ["x"], "value": [1], "rationale": ["b"]}, properties=["wrds"])
    with pytest.raises(InputError, match="no column 'rationale'"):
        rationale_form({"item": ["a"], "rater": ["x"], "value": [1]})
