"""Key phrases: masking, counting, and likeness by an encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures.texts.phrases import MASK, class_phrases, masked, phrases, similar_phrases


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Native Americans are proud.", ["native americans"]),
        ("The native-american is proud.", ["Native Americans"]),
        ("Middle class and middle-class people", ["Middle-class"]),
        ("A nurse's work; nurses' work", ["nurses"]),
        ("CEOs earn much, a CEO does", ["CEOs"]),
        ("Welfare recipients get help", ["Welfare Recipients", "welfare"]),
    ],
)
def test_names_are_masked_in_every_spelling(text: str, names: list[str]) -> None:
    found = masked(text, names)
    assert MASK in found
    for name in names:
        assert name.casefold() not in found.casefold()


def test_parts_of_words_are_not_names() -> None:
    assert masked("Women work; amends are made by menders.", ["men"]) == "Women work; amends are made by menders."
    assert masked("Nothing to mask", []) == "Nothing to mask"


def test_no_phrase_reaches_across_a_mask_or_a_clause() -> None:
    found = set(phrases(f"hard {MASK} work, good pay"))
    assert "hard work" not in found
    assert "work good" not in found
    assert {"hard", "work", "good pay"} <= found


def test_what_distinguishes_a_class_comes_first() -> None:
    texts = pl.DataFrame(
        {
            "cluster": ["low"] * 3 + ["high"] * 3,
            "text": [
                *("They face poverty and stigma every day.", "Poverty and stigma are common.", "People see poverty."),
                *("They earn high wages every day.", "High wages are common.", "People see high wages."),
            ],
        }
    )
    found = class_phrases(texts, of="cluster")
    firsts = dict(found.filter(pl.col("place") == 1).select("cluster", "phrase").iter_rows())
    assert firsts == {"low": "poverty", "high": "high wages"}
    assert "wages" not in found["phrase"].to_list()


def test_texts_that_occur_twice_count_once() -> None:
    texts = pl.DataFrame({"cluster": ["a"] * 5, "text": ["rare words here"] * 4 + ["other text"]})
    assert class_phrases(texts, of="cluster").is_empty()


def test_every_item_keeps_its_texts_whatever_the_case_of_its_name() -> None:
    names = {"asians": ["Asians", "Asian people"], "black": ["Black", "Black people"]}
    texts = pl.DataFrame(
        {
            "item": ["asians", "asians", "black", "black"],
            "cluster": ["a", "a", "b", "b"],
            "text": [
                "Asians study hard.",
                "And asian people study hard.",
                "BLACK people face barriers.",
                "Black workers face barriers.",
            ],
        }
    )
    found = class_phrases(texts, of="cluster", names=names)
    assert set(found["cluster"]) == {"a", "b"}
    assert dict(found.select("cluster", "phrase").iter_rows()) == {"a": "study hard", "b": "face barriers"}


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InputError, match="no column 'cluster'"):
        class_phrases(pl.DataFrame({"text": ["a"]}), of="cluster")


def bag(texts: Sequence[str]) -> np.ndarray:
    """A toy encoder: which of four words a text has."""
    return np.array(
        [[float(word in text.casefold()) for word in ("money", "school", "crime", "sun")] for text in texts]
    )


def test_likeness_by_an_encoder_uses_every_text_also_the_last() -> None:
    early = ["Money talks at work."] * 1 + [f"Money talks again {n}." for n in range(3)]
    late = [f"A long tale {'of old days ' * 60} crime pays {n}." for n in range(8)]
    texts = pl.DataFrame({"cluster": ["a"] * 12, "text": early + late})
    found = similar_phrases(texts, bag, of="cluster", count=3)
    assert "crime" in " ".join(found["phrase"].to_list())
    assert found["weight"].is_between(-1, 1).all()


def test_diversity_spreads_the_choice() -> None:
    texts = pl.DataFrame(
        {
            "cluster": ["a"] * 6,
            "text": [
                "money counts",
                "money rules",
                "more money counts",
                "money rules all",
                "school helps",
                "school helps all",
            ],
        }
    )
    narrow = similar_phrases(texts, bag, of="cluster", count=2, diversity=0.0)["phrase"].to_list()
    wide = similar_phrases(texts, bag, of="cluster", count=2, diversity=0.9)["phrase"].to_list()
    assert all("money" in phrase for phrase in narrow)
    assert any("school" in phrase for phrase in wide)
    with pytest.raises(InputError, match="diversity"):
        similar_phrases(texts, bag, of="cluster", diversity=2)
