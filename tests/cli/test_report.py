from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Vantage
from tests.report.reports import report as some_report
from tests.studies.small import STUDY, recorded
from vantage.studies import run


@pytest.fixture
def study(tmp_path: Path) -> Path:
    run(STUDY, out=tmp_path / "study", models=[recorded(tmp_path / "m.csv")])
    return tmp_path / "study"


def test_a_study_is_drawn_again_as_it_was(vantage: Vantage, study: Path) -> None:
    page = (study / "report.html").read_bytes()
    (study / "report.html").unlink()
    done = vantage("report", study)
    assert done.code == 0, done.err
    assert "There are 3 rows." in done.out
    assert (study / "report.html").read_bytes() == page


@pytest.mark.slow
def test_a_corpus_gets_a_first_report(vantage: Vantage, demo: Path) -> None:
    done = vantage("report", demo)
    assert done.code == 0, done.err
    assert "r9" in done.out
    assert (demo / "report" / "report.html").is_file()
    assert not (demo / "report" / "explorer.html").exists(), "all judgments leave only where that is asked for"
    tables = vantage("report", demo, "--json").json["tables"]
    assert set(tables) >= {"alpha", "split-half", "divided", "agreed", "raters", "questions"}


@pytest.mark.slow
def test_numbers_lead_to_the_judgments_where_that_is_asked_for(vantage: Vantage, demo: Path) -> None:
    done = vantage("report", demo, "--explorer", "--to", demo / "with")
    assert done.code == 0, done.err
    assert (demo / "with" / "explorer.html").is_file()
    assert 'href="explorer.html#' in (demo / "with" / "report.html").read_text()


def test_numbers_of_a_study_lead_to_its_judgments(vantage: Vantage, study: Path) -> None:
    done = vantage("report", study, "--explorer")
    assert done.code == 0, done.err
    assert (study / "explorer.html").is_file()
    assert 'href="explorer.html#/' in (study / "report.html").read_text()


def test_pdfs_are_made_from_what_is_stored(vantage: Vantage, tmp_path: Path) -> None:
    stored = some_report().write(tmp_path / "out").parent
    assert {path.name for path in stored.glob("figures/*.*g")} == {"alpha.svg"}
    done = vantage("report", stored, "--pdf")
    assert done.code == 0, done.err
    assert (stored / "figures" / "alpha.pdf").read_bytes().startswith(b"%PDF")


def test_two_runs_stand_side_by_side(vantage: Vantage, study: Path, tmp_path: Path) -> None:
    run(STUDY, out=tmp_path / "other", models=[recorded(tmp_path / "m.csv")], level="nominal")
    done = vantage("report", "--compare", study, tmp_path / "other", "--to", tmp_path / "both")
    assert done.code == 0, done.err
    page = (tmp_path / "both" / "report.html").read_text()
    assert "How the claims differ" in page
    assert "The same texts" in page


def test_bad_folders_are_named(vantage: Vantage, study: Path, tmp_path: Path) -> None:
    assert "there is no such folder" in vantage("report", tmp_path / "nowhere").err
    (tmp_path / "empty").mkdir()
    assert "neither a study nor a corpus" in vantage("report", tmp_path / "empty").err
    assert "no folder given" in vantage("report").err
    assert "takes exactly two folders" in vantage("report", study, "--compare", study, study).err
    data = json.loads((study / "study.json").read_text())
    (study / "study.json").write_text(json.dumps({**data, "format": 2}))
    done = vantage("report", study)
    assert (done.code, "update Vantage" in done.err) == (2, True)
