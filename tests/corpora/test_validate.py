from __future__ import annotations

from pathlib import Path

import polars as pl

from vantage import demo_corpus
from vantage.corpora.describe import problems


def test_a_sound_corpus_has_no_problems(tmp_path: Path) -> None:
    assert problems(demo_corpus().write(tmp_path / "c")) == []


def test_every_kind_of_problem_is_reported(tmp_path: Path) -> None:
    folder = demo_corpus().write(tmp_path / "c")
    path = folder / "judgments.parquet"
    table = pl.read_parquet(path)
    first = table.row(0, named=True)
    extra = pl.DataFrame(
        [
            {**first, "value": 9.0},
            {**first, "item": "nowhere"},
            {**first, "rater": "nobody"},
            {**first, "question": "nothing"},
        ],
        schema=table.schema,
    )
    pl.concat([table, extra]).write_parquet(path)
    found = problems(folder)
    for part in (
        "9 is not on the scale",
        "no item 'nowhere'",
        "no rater 'nobody'",
        "no question 'nothing'",
        "judged already",
    ):
        assert any(part in problem for problem in found), found
    assert all("judgments.parquet, row" in problem for problem in found)


def test_a_folder_that_is_no_corpus_is_one_problem(tmp_path: Path) -> None:
    assert len(problems(tmp_path)) == 1
    assert "no corpus.yaml" in problems(tmp_path)[0]
