"""Reading the release: answers in words, ranges and out of range, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from tests.studies.appraisals.release import write
from vantage.errors import InputError
from vantage.studies.appraisals.coding import first_integer
from vantage.studies.appraisals.study import asked, read_release


def test_recorded_answers_are_read_with_the_words_of_the_release(tmp_path: Path) -> None:
    odd = {
        (0, 1): "Completely thing0",
        (1, 1): "between 3 and 4",
        (2, 1): "12",
        (3, 1): "NA",
        (4, 1): "I rate it 7.</s>",
    }
    corpus = read_release(write(tmp_path / "release", odd))
    told = corpus.judgments.filter((pl.col("rater") == "chatgpt") & (pl.col("question") == corpus.questions[0].id))
    read = {item: (value, status) for item, value, status in told.select("item", "value", "status").iter_rows()}
    assert read["p0"] == (9.0, "answered")
    assert read["p1"] == (None, "unparsed")
    assert read["p2"] == (None, "unparsed")
    assert read["p3"] == (None, "not_mentioned")
    assert read["p4"] == (7.0, "answered")


def test_the_questions_have_the_wording_of_the_release(tmp_path: Path) -> None:
    instrument = asked(write(tmp_path / "release"))
    question = instrument.questions[4]
    assert question.ask == "To what extent was it so 4?"
    assert [option.label for option in question.scale.options if option.label] == [
        "Not at all thing4",
        "Completely thing4",
    ]
    assert [q.id for q in asked(tmp_path / "nothing").questions] == [q.id for q in instrument.questions]


def test_prompts_that_do_not_fit_are_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "release")
    (folder / "prompts" / "prompt_scale.txt").write_text("one\ntwo", "utf-8")
    with pytest.raises(InputError, match="2 prompts for 24 questions"):
        asked(folder)


def test_a_post_rated_twice_by_one_person_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"p0.*twice|twice.*p0"):
        read_release(write(tmp_path / "release", twice=True))


def test_a_corpus_folder_is_taken_as_it_is_and_another_one_is_refused(tmp_path: Path) -> None:
    from vantage import demo_corpus

    corpus = read_release(write(tmp_path / "release"))
    corpus.write(tmp_path / "corpus")
    assert read_release(tmp_path / "corpus") == corpus
    demo_corpus().write(tmp_path / "demo")
    with pytest.raises(InputError, match="no judgments of appraisals"):
        read_release(tmp_path / "demo")


@pytest.mark.slow
@pytest.mark.data
def test_where_the_rule_of_the_release_reads_other_answers(data_dir: Path) -> None:
    replied = read_release(data_dir / "appraisals").judgments.drop_nulls("reply")
    first = replied.with_columns(first=pl.col("reply").map_elements(first_integer, pl.Float64))
    counts = first.group_by("rater").agg(
        invented=((pl.col("first") > 0) & pl.col("value").is_null()).sum(),
        lost=((pl.col("first") == 0) & pl.col("value").is_not_null()).sum(),
    )
    dolly, flan = (counts.filter(rater=name).row(0, named=True) for name in ("dolly-v2-7B", "flan-t5-xxl"))
    page = (Path(__file__).parents[3] / "docs" / "appraisals.md").read_text("utf-8")
    invented = re.search(r"in (\d+) Dolly-7B and (\d+) FLAN-T5 cells", page)
    lost = re.search(r"in (\d+) of Dolly-7B it has 0", page)
    assert invented
    assert lost
    assert [int(one) for one in (*invented.groups(), lost[1])] == [dolly["invented"], flan["invented"], dolly["lost"]]
    assert flan["lost"] == 0
