from __future__ import annotations

import polars as pl

from vantage.report import Table
from vantage.report.doors import door, doors


def test_a_row_leads_to_the_closest_thing_that_it_names() -> None:
    assert door({"item": "a", "question": "warm", "rater": "ann"}) == "/item?item=a&question=warm&rater=ann"
    assert (
        door({"question": "warm", "rater": None, "condition": "static"}) == "/spectrum?condition=static&question=warm"
    )
    assert door({"question": "warm", "trait": "first language"}) == "/spectrum?question=warm&trait=first+language"
    assert door({"item": "#/?<&"}) == "/item?item=%23%2F%3F%3C%26"
    assert door({"topic": "tea", "item": 3}) == ""
    assert door({"condition": "static"}) == ""


def test_a_verdict_on_a_model_leads_to_the_model() -> None:
    frame = pl.DataFrame({"model": ["gpt", "bert"], "question": "warm", "can": ["yes", "no"]})
    assert doors(Table("a", "A.", frame), 1) == (0, ["/rater?question=warm&rater=gpt"])
    assert doors(Table("a", "A.", frame.with_columns(passes=0.5)), 1) == (3, ["/rater?question=warm&rater=gpt"])
    # One of several styles of a model is no rater of its own.
    assert door({"model": "gpt", "style": "few-shot", "question": "warm"}) == "/spectrum?question=warm"


def test_the_estimate_of_a_table_is_its_door() -> None:
    frame = pl.DataFrame({"items": [3, 4], "question": ["warm", ""], "estimate": [0.1, 0.2]})
    assert doors(Table("a", "A.", frame), 10) == (2, ["/spectrum?question=warm", ""])
    assert doors(Table("a", "A.", frame.drop("question")), 10) == (None, [])
    assert doors(Table("a", "A.", frame.select("question")), 10)[0] is None


def test_a_notebook_names_the_call_behind_a_number() -> None:
    frame = pl.DataFrame({"rater": ['a"<b>'], "estimate": [0.25]})
    text = Table("a", "A.", frame)._repr_html_()
    call = "corpus.view(&quot;#/rater?rater=a%22%3Cb%3E&quot;)"
    assert f'<span title="{call}">0.250</span>' in text
    assert f"Behind a number: {call}" in text
