from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vantage import InputError
from vantage.scaffold.writing import new_study
from vantage.studies import run
from vantage.studies.own import load


def test_a_study_of_ones_own_runs(tmp_path: Path) -> None:
    (path,) = new_study(tmp_path / "mine")
    study = load(path)
    assert study.name == "mine"
    report = run(study, confidence=0.9)
    assert report.result.findings[0].text.startswith("Raters agree most about")
    assert {table.name for table in report.result.tables} == {"alpha", "entropy"}


def test_modules_beside_the_file_can_be_imported(tmp_path: Path) -> None:
    (path,) = new_study(tmp_path / "mine")
    (tmp_path / "beside_the_study.py").write_text("TITLE = 'From beside'\n")
    before = list(sys.path)
    path.write_text(f"from beside_the_study import TITLE\n{path.read_text()}".replace('title="Mine"', "title=TITLE"))
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
        load(tmp_path / "none.py")
