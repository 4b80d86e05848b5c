"""Tables whose columns have two names, in two header rows: of raters or items, and of questions."""

from __future__ import annotations

import csv
import itertools
import random
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

import vantage
from tests.cli.run import run
from vantage import Corpus, InputError
from vantage.corpora.preview import attempts, preview
from vantage.corpora.readers import files

Cells = list[list[Any]]
ITEMS = [f"text-{n}" for n in range(1, 9)]


def table(firsts: Sequence[str], seconds: Sequence[str], rows: Sequence[str], style: str, first: str = "item") -> Cells:
    """Answers under two header rows: the upper names merged, written out, or as pandas writes two levels."""
    draw = random.Random(f"{firsts}{rows}")  # noqa: S311 - reproducible
    body: Cells = [[row, *(draw.randint(1, 5) for _ in firsts for _ in seconds)] for row in rows]
    lower = [second for _ in firsts for second in seconds]
    upper = [one if style != "merged" or not place else "" for one in firsts for place in range(len(seconds))]
    if style == "pandas":
        return [["rater", *upper], ["question", *lower], [first, *[""] * len(lower)], *body]
    head: Cells = [[first, *upper], ["", *lower]] if style == "written out" else [["", *upper], [first, *lower]]
    return [*head, *body]


def as_csv(cells: Cells, folder: Path) -> Path:
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(cells)
    return folder / "t.csv"


def as_excel(cells: Cells, folder: Path) -> Path:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in cells:
        book.active.append([cell if cell != "" else None for cell in row])
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def said(corpus: Corpus) -> set[tuple[str, str, str, float]]:
    return set(corpus.judgments.select("item", "question", "rater", "value").iter_rows())


def meant(
    cells: Cells, firsts: Sequence[str], seconds: Sequence[str], *, order: str
) -> set[tuple[str, str, str, float]]:
    made = set()
    for row, *answers in cells[-len(ITEMS) :]:
        for (one, other), answer in zip(itertools.product(firsts, seconds), answers, strict=True):
            named = dict(zip(order.split(","), (one, other), strict=True))
            left = "rater" if "item" in named else "item"
            named[left] = row
            made.add((named["item"], named["question"], named["rater"], float(answer)))
    return made


@pytest.mark.parametrize("write", [as_csv, as_excel])
@pytest.mark.parametrize("style", ["merged", "written out", "pandas"])
@pytest.mark.parametrize("above", ["rater", "question"])
def test_two_rows_of_raters_and_questions(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Cells, Path], Path],
    style: str,
    above: str,
) -> None:
    raters, questions = ["rater 1", "rater 2", "rater 3"], ["trust", "warmth"]
    firsts, seconds = (raters, questions) if above == "rater" else (questions, raters)
    cells = table(firsts, seconds, ITEMS, style)
    if style == "pandas" and above == "question":
        cells[0][0], cells[1][0] = "question", "rater"
    order = "rater,question" if above == "rater" else "question,rater"
    path = write(cells, tmp_path)
    seen = preview(path)
    assert (seen["items"], seen["raters"], seen["judgments"]) == (8, 3, 48)
    assert f"--columns {order}" in seen["command"]
    done = run(capsys, monkeypatch, *shlex.split(seen["command"])[1:-1], tmp_path / "c")
    assert done.code == 0, done.err
    wanted = meant(cells, firsts, seconds, order=order)
    assert said(Corpus.read(tmp_path / "c")) == wanted
    assert said(vantage.read(path, item="item", columns=order)) == wanted


@pytest.mark.parametrize("write", [as_csv, as_excel])
def test_rows_that_nothing_tells_apart_end_in_both_commands(
    write: Callable[[Cells, Path], Path], tmp_path: Path
) -> None:
    cells = table(["ann", "bob"], ["trust", "warmth"], ITEMS, "merged")
    path = write(cells, tmp_path)
    seen, tried = attempts(path)
    assert seen["doubt"] == "it is unclear which of the two header rows names the questions"
    assert [reading["command"].split("--columns ")[1].split()[0] for reading in seen["readings"]] == [
        "rater,question",
        "question,rater",
    ]
    for attempt, order in zip(tried, ("rater,question", "question,rater"), strict=True):
        assert attempt.corpus is not None
        assert said(attempt.corpus) == meant(cells, ["ann", "bob"], ["trust", "warmth"], order=order)
    with pytest.raises(InputError, match=r"columns=\"rater,question\"\) OR vantage\.read"):
        vantage.read(path)


def test_rows_of_respondents_have_items_and_questions_above(tmp_path: Path) -> None:
    cells = table(["text 1", "text 2"], ["trust", "warmth"], [f"p{n}" for n in range(8)], "merged", "respondent")
    seen, (one,) = attempts(as_csv(cells, tmp_path))
    assert "--map rater=respondent --columns item,question" in seen["command"]
    assert one.corpus is not None
    assert said(one.corpus) == meant(cells, ["text 1", "text 2"], ["trust", "warmth"], order="item,question")


def test_questions_with_answers_of_their_own_are_recognised_without_names(tmp_path: Path) -> None:
    cells = table(["a", "b", "c"], ["x", "y"], ITEMS, "merged")
    for row in cells[2:]:
        row[2::2] = ["yes" if answer > 2 else "no" for answer in row[2::2]]
    seen = preview(as_csv(cells, tmp_path))
    assert "--columns rater,question" in seen["command"]
    assert [question["scale"] for question in seen["questions"]] != []
    assert {question["question"] for question in seen["questions"]} == {"x", "y"}


def test_traits_stand_beside(tmp_path: Path) -> None:
    cells = table(["text 1", "text 2"], ["trust", "warmth"], [f"p{n}" for n in range(8)], "written out", "participant")
    for n, row in enumerate(cells):
        row.insert(1, ["gender", ""][n] if n < 2 else "fm"[n % 2])
    corpus = vantage.read(as_csv(cells, tmp_path))
    assert corpus.traits == ["gender"]
    assert corpus.sizes == {"items": 2, "raters": 8, "judgments": 32}


def test_a_large_file_is_streamed_with_two_header_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = as_csv(table(["rater 1", "rater 2"], ["trust", "warmth"], ITEMS, "merged"), tmp_path)
    whole = vantage.read(path)
    monkeypatch.setattr(files, "LARGE", 0)
    assert vantage.read(path) == whole


def test_one_header_row_stays_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("item,ann,bob\na,1,2\nb,1,2\nc,4,4\nd,2,1\n")
    assert vantage.read(tmp_path / "t.csv", item="item", columns="rater").sizes["raters"] == 2


@pytest.mark.filterwarnings("ignore::vantage.corpora.reading.UnreadColumnsWarning")
def test_a_column_without_two_names_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"item": ["a", "b"], "ann [x]": [1, 2], "bob [x]": [2, 2], "when": [3, 4]}).write_csv(
        tmp_path / "t.csv"
    )
    with pytest.raises(InputError, match=r"column 'when' does not have two names.*values"):
        vantage.read(tmp_path / "t.csv", item="item", columns="rater,question")
    made = vantage.read(tmp_path / "t.csv", item="item", columns="rater,question", values=["*]"])
    assert made.sizes == {"items": 2, "raters": 2, "judgments": 4}
