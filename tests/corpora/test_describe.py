from __future__ import annotations

import json

import polars as pl

import vantage
from tests.corpora.test_corpus import small
from vantage import demo_corpus
from vantage.corpora.describe import describe
from vantage.report.overview import overview
from vantage.report.parts import Table


def test_counts_of_a_small_corpus() -> None:
    told = describe(small())
    assert (told["items"], told["raters"], told["judgments"], told["targets"]) == (2, 2, 3, 2)
    assert told["judgments_per_item"] == {"min": 1, "median": 1.5, "mean": 1.5, "max": 2}
    rating = told["questions"][0]
    assert rating["values"] == {"-3": 0, "-2": 0, "-1": 0, "0": 0, "1": 1, "2": 1, "3": 1}
    assert rating["statuses"] == {"answered": 3}
    assert told["questions"][2]["values"] is None
    assert told["traits"]["age"]["counts"] == {"30": 1, "40": 1}
    json.dumps(told)


def test_people_and_models_are_described_apart() -> None:
    judged = {"item": ["a", "b"] * 2, "rater": ["ann"] * 2 + ["bot"] * 2, "value": [1, 2, 5, None]}
    kind = {"kind": ["person"] * 2 + ["model"] * 2}
    corpus = vantage.read(pl.DataFrame(judged | kind), map={"kind": "kind"}, question="trust", empty="refused")
    questions = [(q["kind"], q["raters"], q["mean"], q["statuses"]) for q in describe(corpus)["questions"]]
    assert questions == [("model", 1, 5.0, {"answered": 1, "refused": 1}), ("person", 1, 1.5, {"answered": 2})]
    told = next(section for section in overview(corpus).sections if section.title == "The answers")
    (statuses,) = told.parts
    assert isinstance(statuses, Table)
    assert set(statuses.frame["question"]) == {"trust (model)", "trust (person)"}


def test_texts_that_occur_in_several_items_are_named() -> None:
    items = pl.DataFrame({"item": ["a", "b", "c"], "text": ["x", "x", "z"]})
    told = describe(small(items=items))
    assert told["repeated_texts"] == {"texts": 1, "items": 2, "examples": [["a", "b"]]}
    assert told["items_without_judgments"] == 1
    assert told["judgments_per_item"]["min"] == 0


def test_a_corpus_without_judgments_can_be_described() -> None:
    empty = small(judgments=small().judgments.clear())
    told = describe(empty)
    assert told["judgments"] == 0
    assert told["judgments_per_rater"]["max"] == 0


def test_many_values_are_cut_and_counted() -> None:
    items = pl.DataFrame({"item": [f"i{n}" for n in range(40)], "tag": [f"t{n}" for n in range(40)]})
    told = describe(small(items=pl.concat([small().items, items], how="diagonal")))
    assert len(told["item_columns"]["tag"]["counts"]) == 12
    assert told["item_columns"]["tag"]["others"] == 28
    assert told["item_columns"]["tag"]["missing"] == 2


def test_the_demo_corpus_says_that_it_is_synthetic() -> None:
    assert "synthetic" in describe(demo_corpus())["title"]
