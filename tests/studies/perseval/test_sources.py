from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.studies.perseval.made import corpus, write
from vantage import Corpus
from vantage.studies.base import find
from vantage.studies.perseval.cells import planned
from vantage.studies.perseval.sources import read, tasks


def test_ages_become_generations_and_rare_values_unknown(tmp_path: Path) -> None:
    made = corpus()
    ages = pl.DataFrame({"rater": made.raters["rater"], "age": [20, 30, 45, 60] * 4})
    odd = pl.DataFrame({"rater": made.raters["rater"], "gender": ["f"] * 8 + ["m"] * 7 + ["x"]})
    raters = made.raters.drop("gender").join(ages, on="rater").join(odd, on="rater")
    path = Corpus(made.items, raters, made.judgments, made.instruments, made.about).write(tmp_path / "aged")
    (task,) = tasks(read(path, ["made"]), ["made"])
    people = task.people.raters
    assert task.traits == ["group", "gender", "generation"]
    assert people.filter(pl.col("generation") == "Boomer").height == 4
    assert people["gender"].null_count() == 1


def test_what_is_told_of_users_and_what_is_left_out_is_said(tmp_path: Path) -> None:
    made = corpus()
    ids = made.raters["rater"]
    further = pl.DataFrame({"rater": ids, "age": ["18-29", "30-49"] * 8, "occupation": ["a", "b", "c", "d"] * 4})
    further = further.with_columns(pl.lit("here").alias("country"), (pl.lit("only ") + ids).alias("nationality"))
    raters = made.raters.join(further, on="rater")
    path = Corpus(made.items, raters, made.judgments, made.instruments, made.about).write(tmp_path / "aged")
    said: list[str] = []
    (task,) = tasks(read(path, ["made"], warn=said.append), ["made"])
    assert set(task.traits) == {"group", "gender", "age", "occupation"}
    assert said == [
        "made: traits that are not told of users: country (everybody has the same value); nationality (fewer than two "
        "values that 3 people share)."
    ]
    said.clear()
    (task,) = tasks(read(path, ["made"], traits="occupation,hair,country", warn=said.append), ["made"])
    assert task.traits == ["occupation"]
    assert said == [
        "made: traits that are not told of users: hair (the corpus does not have them); country (everybody has the "
        "same value)."
    ]


def test_several_corpora_are_joined_and_taken_apart_again(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "made").rename(tmp_path / "one")
    write(tmp_path, seed=1)
    (tmp_path / "made").rename(tmp_path / "two")
    joined = read(tmp_path, ["one", "two"])
    assert joined.items["item"].str.starts_with("one:").sum() == 60
    first, second = tasks(joined, ["one", "two"])
    alone = next(tasks(read(tmp_path, ["one"]), ["one"]))
    assert {rater.removeprefix("one:") for rater in first.split().test_users} == alone.split().test_users
    assert first.split().test["value"].to_list() == alone.split().test["value"].to_list()
    assert set(second.people.items["corpus"]) == {"two"}


def test_a_corpus_without_traits_has_no_named_cells(tmp_path: Path) -> None:
    made = corpus()
    bare = Corpus(made.items, made.raters.select("rater"), made.judgments, made.instruments, made.about)
    (task,) = tasks(read(bare.write(tmp_path / "bare"), ["made"]), ["made"])
    cells = planned(task, find("perseval").options(methods="tfidf-users"))
    assert [cell.variant for cell in cells if not cell.reason] == [
        "unnamed/train/strict",
        "unnamed/test/strict",
        "unnamed/train/extended",
        "unnamed/test/extended",
    ]
    assert "the corpus tells no traits of its people" in {cell.reason for cell in cells}


def test_quick_trains_two_encoders_on_the_strict_split(tmp_path: Path) -> None:
    (task,) = tasks(read(write(tmp_path), ["made"]), ["made"])
    cells = [c for c in planned(task, find("perseval").options(quick=True, methods="baseline,tokens")) if not c.reason]
    assert [c.name for c in cells] == [
        "baseline (strict)",
        "tokens (named, none, strict)",
        "tokens (named, test, strict)",
    ]


@pytest.mark.data
def test_brexit_and_md_are_split_as_by_the_library(data_dir: Path) -> None:
    names = ["hs-brexit", "md-agreement"]
    joined = read(data_dir / "lewidi", names)
    brexit, md = tasks(joined, names)
    assert brexit.split().test_users == {"hs-brexit:Ann3", "hs-brexit:Ann4"}
    assert len(brexit.split().test) == 640
    assert brexit.split().test["value"].sum() == 99
    assert len(md.split().test) == 10_283
    assert md.split().test["value"].sum() == 3_650
    assert md.traits == []
    assert brexit.label == "yes"
