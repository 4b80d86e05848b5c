from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.corpora.schema import CONVERSATION
from vantage.interop.answers import items_of


def test_kinds_of_columns() -> None:
    items = items_of(
        {
            "a": {
                "Text": "x",
                "n": 1,
                "flag": True,
                "turns": [{"role": "user", "content": "Hi"}],
                "big": 2**60,
            },
            "b": {"Text": None, "n": 2.5, "text": "y", "item": "z"},
        }
    )
    assert items.columns == ["item", "text", "n", "flag", "turns", "big", "text_2", "item_2"]
    assert items["n"].to_list() == [1, 2.5]
    assert items.schema["flag"] == pl.Boolean
    assert items.schema["turns"] == CONVERSATION
    assert items["big"].to_list() == [str(2**60), None]
    assert items["text_2"].to_list() == [None, "y"]


def test_no_data_at_all() -> None:
    assert items_of({"a": {}}).rows() == [("a",)]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["text", "speaker", "é"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=3), st.dictionaries(st.text(max_size=4), VALUES, max_size=4), min_size=1))
@settings(max_examples=60, deadline=None)
def test_any_data_make_a_table(tasks: dict[str, dict[str, Any]]) -> None:
    items = items_of(tasks)
    assert items["item"].to_list() == list(tasks)
    assert items.width == 1 + len({key for data in tasks.values() for key in data})
