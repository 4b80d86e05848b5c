from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.errors import InputError
from vantage.raters.style import PARTS, Style


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("zero-shot", "zero-shot"),
        ("few-shot", "few-shot:4"),
        ("reasoning+few-shot:2", "few-shot:2+reasoning"),
        ("persona + scoring", "scoring+persona"),
        ("history:3", "history:3"),
        ("perspective:gender", "perspective:gender"),
        ("history:3+perspective:gender", "perspective:gender+history:3"),
        ("together+json+coarse", "together+json+coarse"),
        ("selective-persona+two-step", "two-step+selective-persona"),
        ("two-step+reasoning", "reasoning+two-step"),
        ("answer-first", "answer-first+json"),
    ],
)
def test_styles_have_one_name(text: str, name: str) -> None:
    style = Style.parse(text)
    assert style.name == name
    assert Style.parse(style.name) == style


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("few-shots", "there is no style 'few-shots'; did you mean 'few-shot'"),
        ("few-shot:many", "few-shot takes a number, not 'many'"),
        ("reasoning:3", "takes nothing after the colon"),
        ("persona+history", "both say who speaks"),
        ("two-step+together", "one question at a time"),
        ("scoring+sampling", "both give the distribution"),
        ("sampling:3+two-step", "not one answer to explain"),
        ("scoring+together", "one question at a time"),
        ("scoring+selective-persona", "relevant to it"),
        ("answer-first+two-step", "each say when the reason is asked for"),
        ("scoring+answer-first", "no JSON to read"),
        ("perspective", "names its trait"),
        ("history+perspective", "names its trait"),
        ("", "there is no style ''"),
    ],
)
def test_styles_that_make_no_sense_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Style.parse(text)
    assert sentence in str(caught.value)


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4, unique=True))
def test_the_order_of_parts_does_not_matter(parts: list[str]) -> None:
    named = [f"{part}:age" if part == "perspective" else part for part in parts]
    try:
        style = Style.parse("+".join(named))
    except InputError:
        with pytest.raises(InputError):
            Style.parse("+".join(reversed(named)))
    else:
        assert Style.parse("+".join(reversed(named))) == style
