"""Length, hedging, silence and copying."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vantage
from vantage.errors import InputError
from vantage.measures import rationale_form
from vantage.measures.rationale.form import form, says_nothing
from vantage.measures.texts.tokens import words

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
    assert says_nothing(pl.Series([text])).to_list() == [silent]


def test_hedges_are_whole_words() -> None:
    texts = ["Perhaps it possibly rains", "impossible couldbe", "…"]
    assert form(texts, [""] * 3)["hedging"].tolist() == pytest.approx([0.5, 0.0, np.nan], nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_copying_is_that_of_a_search_by_hand(pairs: list[tuple[str, str]]) -> None:
    shown = form(*(list(side) for side in zip(*pairs, strict=True)))
    for place, (text, source) in enumerate(pairs):
        mine, theirs = words(text), words(source)
        runs, here = [], 0
        while here < len(mine):
            ends = range(here + 1, len(mine) + 1)
            lengths = [end - here for end in ends if f" {' '.join(mine[here:end])} " in f" {source} "]
            runs += [max(lengths)] if lengths else []
            here += max(lengths, default=1)
        bigrams, known = list(pairwise(mine)), set(pairwise(theirs))
        new = np.mean([gram not in known for gram in bigrams]) if bigrams else np.nan
        size = len(mine)
        copied = [sum(runs) / size, sum(run**2 for run in runs) / size, max(runs, default=0) / size]
        values = [shown[name][place] for name in ("novel bigrams", "coverage", "density", "longest copy")]
        assert values == pytest.approx([new, *copied], nan_ok=True)


def test_a_copy_is_all_copied_and_nothing_new() -> None:
    text = "I cannot sleep any more"
    shown = form([text, "alone", ""], [text] * 3)
    assert [shown[name][0] for name in ("longest copy", "coverage", "density", "novel bigrams")] == [1, 1, 5, 0]
    assert np.isnan(shown["novel bigrams"][1])
    assert np.isnan(shown["longest copy"][2])


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
    corpus = vantage.read(table.drop("text"))
    assert rationale_form(corpus, ci="none")["reason"].to_list() == without["reason"].to_list()


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="no property 'wrds'; did you mean 'words'"):
        rationale_form({"item": ["a"], "rater": ["x"], "value": [1], "rationale": ["b"]}, properties=["wrds"])
    with pytest.raises(InputError, match="no column 'rationale'"):
        rationale_form({"item": ["a"], "rater": ["x"], "value": [1]})
