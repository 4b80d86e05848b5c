from __future__ import annotations

from pathlib import Path

import pytest

from vantage import InputError, Instrument
from vantage.corpora.readers import load
from vantage.scaffold.writing import PROJECT, new_instrument, new_project, new_study
from vantage.studies.recipes import load as load_study


def test_names_become_ids_and_titles(tmp_path: Path) -> None:
    (path,) = new_instrument(tmp_path / "My Scale")
    assert path.name == "My Scale.yaml"
    instrument = Instrument.load(path)
    assert (instrument.id, instrument.title) == ("my-scale", "My scale")
    assert f"vantage instruments check {path.name}" in path.read_text()
    assert new_study(tmp_path / "a.yaml") == [tmp_path / "a.yaml"]


def test_what_exists_is_never_replaced(tmp_path: Path) -> None:
    for make, name in ((new_instrument, "x.yaml"), (new_study, "y.yaml"), (new_project, "folder")):
        path = tmp_path / name
        make(path)
        before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
        with pytest.raises(InputError, match="the file or folder exists already; choose another name"):
            make(path)
        assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    assert [file.name for file in new_project(tmp_path / "new")] == list(PROJECT)


@pytest.mark.parametrize("name", ["12", "...", "反讽", "-"])
def test_names_that_cannot_be_ids_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name"):
        new_study(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_hostile_names_become_no_code(tmp_path: Path) -> None:
    (path,) = new_study(tmp_path / "a: {x} # & *y")
    assert load_study(path).title == "A x y"


def test_the_ratings_fit_the_instrument(tmp_path: Path) -> None:
    new_project(tmp_path / "p")
    corpus = load("table", tmp_path / "p/ratings.csv", instrument=str(tmp_path / "p/instrument.yaml"), traits=["age"])
    assert (len(corpus.items), len(corpus.raters), len(corpus.judgments)) == (6, 4, 48)
    assert corpus.judgments["status"].value_counts().height == 2
