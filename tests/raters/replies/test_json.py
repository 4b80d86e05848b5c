from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.raters.replies.json_answers import answer_fields, reason_of
from vantage.raters.replies.loose_json import Cut, find_json

SIMPLE = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999).map(float) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.text(max_size=5), inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), SIMPLE, min_size=1, max_size=4))
def test_proper_json_is_read_as_it_is(data: dict[str, Any]) -> None:
    found = find_json(json.dumps(data, ensure_ascii=False))
    assert found[0].data == data
    assert not found[0].cut


@pytest.mark.parametrize(
    "text",
    [
        "{'a': 1, 'b': 'x'}",
        '{"a": 1, "b": "x",}',
        "{a: 1, b: x}",
        '{"a": 1; "b": "x"}',
        '{"a": 1 "b": "x"}',
        '{"a": 1,, "b": "x"}',
        'well {"a": 1, "b": "x"} so',
        '{\n  "a"  :  1.0,\n "b": "x"\n}',
    ],
)
def test_careless_json_is_read_as_meant(text: str) -> None:
    assert [found.data for found in find_json(text)] == [{"a": 1.0, "b": "x"}]


def test_python_words_and_quotes_inside_words() -> None:
    assert find_json("{'a': True, 'b': None, 'c': 'it's'}")[0].data == {"a": True, "b": None, "c": "it's"}


def test_quotation_marks_inside_a_string() -> None:
    text = '{"best": {"reason": "It says ("never") too often.", "answer": "A"}}'
    assert find_json(text)[0].data == {"best": {"reason": 'It says ("never") too often.', "answer": "A"}}
    assert find_json('{"a": "it is "x": y, "b": 1}') == []


def test_a_cut_value_is_known_as_such() -> None:
    found = find_json('{"a": {"b": 1')[0]
    assert found.cut
    assert found.data == {"a": {"b": Cut("1")}}
    assert find_json('{"a": "x", "b": ')[0].data == {"a": "x"}


@pytest.mark.parametrize("text", ["", "{", "{}", "}{", "{x}", "no braces", "{" * 500, "[" * 500, "{1: 2: 3}"])
def test_no_json(text: str) -> None:
    assert find_json(text) == []


@pytest.mark.parametrize(
    ("data", "values"),
    [
        ({"answer": 1, "reason": "r"}, [1]),
        ({"answer": {"label": "x", "confidence": 1}}, ["x"]),
        ({"irony": 1, "answer": 2}, [1]),
        ({"irony": {"rating": 1, "why": "w"}}, [1]),
        ([{"rating": 3}], [3]),
        ({"level of irony": 3, "reasoning": "r"}, [3]),
        ({"number_of_sentences": 4}, []),
        ({"ironic sentences": 4, "reasoning": "r"}, []),
        ({"words of irony": 4}, []),
        ({"a": 1, "b": 2}, []),
        ({"reason": "r"}, []),
        ({"rating": 1, "max rating": 9}, [1]),
    ],
)
def test_the_key_tells_the_answer(data: Any, values: list[Any]) -> None:
    assert [field.value for field in answer_fields(data, frozenset({"irony"}))] == values


def test_reasons() -> None:
    assert reason_of({"rating": 1, "nested": {"why": " so "}}) == "so"
    assert reason_of({"explanation": ["one.", "two."]}) == "one. two."
    assert reason_of({"rating": 1}) is None
