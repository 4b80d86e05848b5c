from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from tests.report.truth import check_all
from vantage import InputError, demo_corpus
from vantage.measures import alpha
from vantage.scaffold.writing import new_study
from vantage.studies import run
from vantage.studies.recipes import load

ORDER = {"trust": 0, "sociability": 1, "competence": 2}
CODE = """
import vantage
from beside_the_study import TITLE
from vantage.report import Result
from vantage.studies import Study


def options():
    return None


STUDY = Study("mine", TITLE, (), options, lambda context: vantage.demo_corpus(), lambda corpus, context: Result([]))
"""


def test_a_new_recipe_runs_and_says_what_its_measures_give(tmp_path: Path) -> None:
    (path,) = new_study(tmp_path / "mine")
    assert len(path.read_text().splitlines()) <= 25
    study = load(path)
    assert study.name == "mine"
    report = run(study, confidence=0.9)
    check_all(report.result)
    assert "No --data given" in report.result.warnings[0]
    frame = next(table.frame for table in report.result.tables if table.name == "alpha")
    expected = alpha(demo_corpus(), by="question", confidence=0.9)
    assert sorted(frame["estimate"]) == sorted(expected["estimate"])
    assert frame["low_alone"].to_list() == expected.sort(pl.col("question").replace_strict(ORDER))["low"].to_list()
    assert "90 % intervals" in report.result.tables[0].caption
    said = " ".join(finding.text for finding in report.result.sections[0].findings)
    assert all(f"{value:.2f}" in said for value in expected["estimate"])


def test_a_recipe_calls_the_functions_of_the_file_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("title: T\nsections: [{title: S, show: [{function: longest, say: [{fact: 'Longest: {n}.'}]}]}]\n")
    (tmp_path / "mine.py").write_text(
        "import polars as pl\n\ndef longest(analysis):\n"
        "    return pl.DataFrame({'n': [analysis.corpus.items['text'].str.len_chars().max()]})\n"
    )
    result = run(load(path)).result
    longest = max(map(len, demo_corpus().items["text"]))
    assert result.sections[0].findings[0].text == f"Longest: {longest}."


def test_every_problem_of_a_recipe_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "title: T\n"
        "sections:\n"
        "  - title: S\n"
        "    show:\n"
        "      - {measure: alhpa}\n"
        "      - {measure: alpha, options: {levl: nominal}}\n"
        "      - {measure: alpha, figure: pionts}\n"
        "      - {function: nowhere}\n"
        "      - {measure: alpha, say: [{aganst: {}}]}\n"
        "      - {}\n"
    )
    with pytest.raises(InputError) as caught:
        load(path)
    told = str(caught.value)
    for line, words in (
        (5, "there is no measure 'alhpa'; did you mean 'alpha'?"),
        (6, "measure 'alpha' has no option 'levl'; did you mean 'level'?"),
        (7, "there is no chart 'pionts'; did you mean 'points'?"),
        (8, "there is no function 'nowhere'; there are none"),
        (9, "aganst: there is no such key"),
        (10, "an entry needs one of measure, side_by_side and function"),
    ):
        assert any(f"line {line}, " in row and words in row for row in told.splitlines()), (line, told)


def test_models_are_asked_only_what_the_recipe_says(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("title: T\nsections: []\n")
    with pytest.raises(InputError, match="asks no models"):
        run(load(path), models=["embedded"])


def test_a_python_file_with_a_study_runs_and_imports_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_the_study.py").write_text("TITLE = 'From beside'\n")
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    before = list(sys.path)
    assert load(path).title == "From beside"
    assert sys.path == before


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("x = 1\ny = 1 / 0\n", r"row 2: the file cannot be run \(ZeroDivisionError"),
        ("x = (\n", r"row 1: the file cannot be run \(SyntaxError"),
        ("STUDY = 1\n", "the file has no STUDY"),
        ("import nowhere_at_all\n", "row 1: .*nowhere_at_all"),
    ],
)
def test_bad_files_end_with_a_sentence(tmp_path: Path, code: str, sentence: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(code)
    with pytest.raises(InputError, match=sentence):
        load(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file; begin one with: vantage new study"):
        load(tmp_path / "none.yaml")
