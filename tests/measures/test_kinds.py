"""People and others are never pooled unasked, and excluded raters stay out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vantage
from vantage import Corpus, InputError, Instrument, Scale
from vantage.measures import registry
from vantage.measures.kinds import selected


def mixed(*, excluded: bool = False, seed: int = 0) -> Corpus:
    """Ten people who disagree and six models that agree, about two questions."""
    draw = np.random.default_rng(seed)
    raters = [f"p{n}" for n in range(10)] + [f"m{n}" for n in range(6)]
    rows = [
        (f"i{item}", question, rater, float(item % 5 + 1 if rater[0] == "m" else draw.integers(1, 6)))
        for item in range(20)
        for question in ("warm", "kind")
        for rater in raters
    ]
    table = pl.DataFrame({"rater": raters, "kind": ["person"] * 10 + ["model"] * 6})
    if excluded:
        table = table.with_columns(pl.col("rater").is_in(["p0", "p1"]).alias("excluded"))
    judgments = pl.DataFrame(rows, schema=["item", "question", "rater", "value"], orient="row")
    scale = Scale.points(1, 5)
    instrument = Instrument.of_questions("two", "Two", {"warm": scale, "kind": scale})
    return Corpus(pl.DataFrame({"item": [f"i{n}" for n in range(20)]}), table, judgments, instrument)


def test_people_are_measured_unless_others_are_asked_for() -> None:
    corpus = mixed()
    people = corpus.filter(kind="person")
    found = vantage.measures.alpha(corpus, by="question", ci="none")
    assert found["estimate"].to_list() == vantage.measures.alpha(people, by="question", ci="none")["estimate"].to_list()
    assert found["left_out"].to_list() == [{"model": 120}, {"model": 120}]
    pooled = vantage.measures.alpha(corpus, by="question", ci="none", kinds="all")
    assert pooled["estimate"][0] > found["estimate"][0] + 0.1
    assert pooled["left_out"].to_list() == [{}, {}]
    assert json.loads(pooled["options"][0])["kinds"] == "all"
    models = vantage.measures.alpha(corpus, by="question", ci="none", kinds=["model"])
    assert models["estimate"].to_list() == [1.0, 1.0]
    assert models["left_out"][0] == {"person": 200}


@pytest.mark.parametrize("frame", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.table, dict])
def test_a_frame_that_says_who_is_a_person_is_treated_like_a_corpus(frame: Any) -> None:
    corpus = mixed().filter(question="warm")
    columns = corpus.with_columns_of(["kind"]).select("item", "rater", "value", pl.col("kind").cast(pl.String))
    found = vantage.measures.alpha(frame(columns.to_dict(as_series=False)), level="ordinal", ci="none")
    assert found["estimate"][0] == pytest.approx(vantage.measures.alpha(corpus, ci="none")["estimate"][0], abs=1e-12)
    assert found["left_out"][0] == {"model": 120}


def test_measures_that_keep_raters_apart_see_all_of_them() -> None:
    corpus = mixed()
    assert set(vantage.measures.alpha(corpus, by=["question", "kind"], ci="none")["kind"]) == {"person", "model"}
    assert vantage.measures.refusals(corpus, by=["rater"])["rater"].n_unique() == 16
    assert len(vantage.measures.rater_matrix(corpus.filter(question="warm"))) == 16 * 15 / 2
    tested = vantage.measures.accuracy(corpus.filter(question="warm"), by="rater", reference="mean", metric="mae")
    assert set(tested["rater"]) == {f"m{n}" for n in range(6)}
    between = vantage.measures.distance(corpus.filter(question="warm"), between="kind")
    assert between["estimate"][0] > 0
    # The kind is a trait of raters, who are the units: ten people and six models.
    assert vantage.measures.compare(corpus.filter(question="warm"), between="kind")["units"].to_list() == [16]


def test_several_kinds_without_people_are_not_pooled() -> None:
    kinds = pl.when(pl.col("rater").str.starts_with("p")).then(pl.lit("persona")).otherwise(pl.lit("model"))
    corpus = mixed()
    corpus = Corpus(corpus.items, corpus.raters.with_columns(kinds.alias("kind")), corpus.judgments, corpus.instruments)
    with pytest.raises(InputError, match=r"several kinds \(model, persona\) and none are people; say whose"):
        vantage.measures.alpha(corpus, by="question")
    assert len(vantage.measures.alpha(corpus, by=["question", "kind"], ci="none")) == 4


def test_excluded_raters_stay_out_of_every_measure() -> None:
    corpus = mixed(excluded=True)
    kept = [f"p{n}" for n in range(2, 10)]
    found = vantage.measures.alpha(corpus, by="question", ci="none")
    without = vantage.measures.alpha(corpus.filter(rater=kept), by="question", ci="none")
    assert found["estimate"].to_list() == without["estimate"].to_list()
    assert found["left_out"][0] == {"excluded": 40, "model": 120}
    everyone = vantage.measures.alpha(corpus, by="question", ci="none", include_excluded=True)
    assert everyone["raters"].to_list() == [10, 10]
    # Also where raters are compared: an excluded person is no reference.
    mean = vantage.measures.accuracy(
        corpus.filter(question="warm"), by="rater", reference="mean", metric="mae", raters=["m0"]
    )
    same = vantage.measures.accuracy(
        corpus.filter(question="warm", rater=[*kept, "m0"]), by="rater", reference="mean", metric="mae", raters=["m0"]
    )
    assert mean["estimate"].to_list() == same["estimate"].to_list()
    words = corpus.raters.with_columns(pl.col("excluded").cast(pl.String))
    again = Corpus(corpus.items, words, corpus.judgments, corpus.instruments)
    assert vantage.measures.alpha(again, by="question", ci="none")["raters"].to_list() == [8, 8]
    assert "p0" not in corpus.included().raters["rater"].to_list()


def test_left_out_is_counted_unit_by_unit() -> None:
    found = vantage.measures.aggregate(mixed(), by="question")
    assert found["left_out"].struct.field("model").unique().to_list() == [6]
    assert found["raters"].unique().to_list() == [10]


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        ("people", "'people' is not a kind of rater"),
        ("trained", "there is no rater of kind 'trained'; there are: model, person"),
    ],
)
def test_kinds_that_are_not_there(kinds: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        vantage.measures.alpha(mixed(), by="question", kinds=kinds)


def test_the_sentence_names_who_was_left_out() -> None:
    told = selected(mixed(excluded=True), None, include_excluded=False).sentence
    assert told == "Left out: 2 excluded raters, 6 models; to use them too, pass --kinds all --include-excluded."


def test_every_measure_takes_the_two_options() -> None:
    for measure in registry().values():
        assert {"kinds", "include_excluded"} <= set(measure.options), measure.name
        assert measure.types["include_excluded"] is bool


@given(st.lists(st.sampled_from(["person", "model"]), min_size=4, max_size=8).filter(lambda k: k.count("person") > 1))
def test_the_default_is_the_measure_of_people_alone(kinds: list[str]) -> None:
    draw = np.random.default_rng(len(kinds))
    rows = pl.DataFrame(
        [
            {"item": i, "rater": f"r{n}", "value": int(draw.integers(0, 3)), "kind": kind}
            for i in range(6)
            for n, kind in enumerate(kinds)
        ]
    )
    people = rows.filter(pl.col("kind") == "person").drop("kind")
    options: dict[str, Any] = {"level": "nominal", "ci": "none"}
    assert (
        vantage.measures.alpha(rows, **options)["estimate"][0]
        == vantage.measures.alpha(people, **options)["estimate"][0]
    )


def test_a_frame_is_never_taken_for_a_matrix() -> None:
    draw = np.random.default_rng(1)
    frame = pd.DataFrame(
        [(i, r, int(draw.integers(1, 6))) for i in range(30) for r in range(4)], columns=["item", "rater", "value"]
    )
    matrix = frame.pivot_table(index="rater", columns="item", values="value").to_numpy()
    for level in ("nominal", "ordinal", "interval"):
        wanted = vantage.measures.alpha(matrix, level=level, ci="none")["estimate"][0]
        for data in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.set_index(["item", "rater"])):
            assert vantage.measures.alpha(data, level=level, ci="none")["estimate"][0] == pytest.approx(
                wanted, abs=1e-12
            )
    halves = vantage.measures.split_half(frame)["estimate"][0]
    assert halves == pytest.approx(vantage.measures.split_half(pl.from_pandas(frame))["estimate"][0])
    with pytest.raises(InputError, match=r"no column 'item'; it has id, who, stars; rename one, say vantage.read"):
        vantage.measures.alpha(frame.set_axis(["id", "who", "stars"], axis=1), level="ordinal")
    with pytest.raises(InputError, match="holds words, not numbers"):
        vantage.measures.alpha(frame.assign(value="good"), level="nominal")
    with pytest.raises(InputError, match="neither a corpus, nor a frame"):
        vantage.measures.alpha([["a", "b"], ["b", "b"]], level="nominal")  # type: ignore[list-item]


def test_seats_are_not_people() -> None:
    answers = [(f"i{n}", f"annotator_{k}", float((n + k * (n % 3 == 0)) % 4)) for n in range(12) for k in (1, 2, 3)]
    wide = pl.DataFrame(answers, ["item", "rater", "value"], orient="row").pivot("rater", index="item", values="value")
    people = vantage.read(wide, "table", map={"item": "item"}, columns="rater")
    assert people.questions[0].id == "value"
    assert "are read as 3 people, each the same person in every row" in people.about.notes[-1]
    slots = {f"annotator_{k}": "slot" for k in (1, 2, 3)}
    seats = vantage.read(wide, "table", map={"item": "item"}, columns="rater", kinds=slots)
    assert not any("are read as 3 people" in note for note in seats.about.notes)
    for measure in ("cohen", "rater-quality"):
        by_people, by_seats = (registry()[measure].function(corpus) for corpus in (people, seats))
        assert by_people["estimate"].is_not_null().all()
        assert by_seats["estimate"].is_null().all()
        assert by_seats["reason"].str.contains("one seat is not one person").all()
    assert "seat" not in str(vantage.measures.alpha(seats, ci="none")["reason"][0])


@pytest.mark.parametrize("measure", ["alpha", "mean", "entropy", "pairwise", "split-half", "unanimity"])
def test_nobody_leaves_out_a_seat(measure: str) -> None:
    demo = vantage.demo_corpus()
    seats = demo.raters.with_columns(kind=pl.lit("slot"))
    corpus = vantage.Corpus(demo.items, seats, demo.judgments, demo.instruments)
    known = registry()[measure].function
    row, people = known(corpus, by="question").row(0, named=True), known(demo, by="question", ci="items")
    assert (row["over"], row["low"], row["high"]) == ("items", people["low"][0], people["high"][0])
    assert "raters are seats" in row["reason"]
    with pytest.raises(InputError, match=r"none can be left out as one person; use ci items"):
        known(corpus, by="question", ci="both")
    # One seat among people is enough: nobody knows whose answers would be left out.
    mixed = demo.raters.with_columns(kind=pl.when(pl.col("rater") == "r1").then(pl.lit("slot")).otherwise("kind"))
    mixed_corpus = vantage.Corpus(demo.items, mixed, demo.judgments, demo.instruments)
    assert known(mixed_corpus, by="question")["over"][0] == "items"


def test_questions_are_not_pooled_unless_asked() -> None:
    """Two questions with different means and no agreement at all look reliable together."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        [
            (f"i{item}", question, f"r{rater}", float(base + rng.integers(0, 2)))
            for question, base in (("warm", 0), ("able", 3))
            for item in range(40)
            for rater in range(4)
        ],
        schema=["item", "question", "rater", "value"],
        orient="row",
    )
    apart = vantage.measures.alpha(table, level="interval", ci="none")
    assert apart["question"].to_list() == ["able", "warm"]
    assert apart["estimate"].to_list() == pytest.approx([0.0, 0.0], abs=0.1)
    assert '"by": ["question"]' in apart["options"][0]
    assert vantage.measures.alpha(table, by=(), level="interval", ci="none")["estimate"].item() > 0.8
    one = table.filter(question="warm")
    assert "question" not in vantage.measures.alpha(one, level="interval", ci="none").columns


def test_raters_are_scored_one_by_one_unless_asked() -> None:
    table = {"item": ["a", "b"] * 2, "rater": ["good", "good", "bad", "bad"], "value": [1, 0, 0, 1]}
    gold = {"item": ["a", "b"], "value": [1, 0]}
    rows = vantage.measures.accuracy(table, reference=gold, metric="accuracy")
    assert dict(rows.select("rater", "estimate").iter_rows()) == {"bad": 0.0, "good": 1.0}
    pooled = vantage.measures.accuracy(table, by=(), reference=gold, metric="accuracy")
    assert pooled.select("estimate", "reason").row(0) == (0.5, pooled["reason"][0])
    assert "scored together" in pooled["reason"][0]
    many = {"item": ["a", "b"] * 12, "rater": [f"m{n // 2:02}" for n in range(24)], "value": [0, 1] * 12}
    assert set(vantage.measures.accuracy(many, reference=gold, metric="accuracy")["over"]) == {"items"}


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("alpha", {"by": "value"}, "by cannot be 'value', which holds the answers"),
        ("mean", {"between": "value"}, "between cannot be 'value'"),
        ("ranks", {"between": "rater"}, "between and system are both 'rater'"),
        ("ranks", {"system": "item"}, "system cannot be 'item', which holds the items"),
        ("distance", {"between": "kind", "match": "kind"}, "between and match are both 'kind'"),
        ("accuracy", {"reference": "question"}, "reference cannot be 'question'"),
        ("explain", {"traits": "item"}, "traits cannot be 'item'"),
        ("regress", {"on": "item"}, "on cannot be 'item'"),
        ("regress", {"on": "genre", "question": "warm"}, "column 'genre' is the same for all items"),
        ("ranks", {"between": "empty", "system": "rater"}, "column 'empty' is empty here"),
    ],
)
def test_columns_that_make_no_sense_are_refused(name: str, options: dict[str, Any], problem: str) -> None:
    corpus = mixed()
    frame = corpus.with_columns_of(["kind"]).with_columns(genre=pl.lit("news"), empty=pl.lit(None, dtype=pl.String))
    with pytest.raises(InputError, match=problem):
        registry()[name].function(frame, **options)


def test_one_name_is_a_list_of_one() -> None:
    corpus = mixed().filter(question="warm")
    options: dict[str, Any] = {"reference": "majority", "metric": "accuracy", "ci": "none"}
    one, listed = (vantage.measures.accuracy(corpus, raters=raters, **options) for raters in ("m0", ["m0"]))
    assert one.equals(listed)
    twice = vantage.measures.alpha(corpus, by=["question", "question"], ci="none")
    assert twice["question"].to_list() == ["warm"]
    assert vantage.measures.calibration(corpus, by="rater", ci="none")["rater"].n_unique() == 6
