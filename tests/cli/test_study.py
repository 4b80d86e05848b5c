from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Vantage
from tests.studies.small import recorded
from vantage.studies import base, execution


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(base.STUDIES, "small", "tests.studies.small:STUDY")


def test_studies_are_listed_and_explained(vantage: Vantage) -> None:
    assert {"demo", "small"} <= {row["study"] for row in vantage("study", "--list", "--json").json}
    told = vantage("study", "small", "--help").out
    for part in (
        "A small study",
        "Does it run?",
        "--level",
        "level of measurement: ordinal|nominal (ordinal)",
        "--items",
    ):
        assert part in told
    assert "--max-cost" in vantage("study", "--help").out


def test_a_study_runs_from_the_command_line(vantage: Vantage, tmp_path: Path) -> None:
    model, out = recorded(tmp_path / "m.csv"), tmp_path / "out"
    words = ("--set", "level=nominal", "--items", "3", "--words=a,b", "--loud")
    done = vantage("study", "small", "--model", model, *words, "--to", out)
    assert done.code == 0, done.err
    assert "1. There are 3 rows." in done.out
    assert f"The report: {out / 'report.html'}" in done.out
    again = vantage("study", "small", "--model", model, *words, "--to", out, "--json")
    assert again.json["findings"] == [{"finding": "There are 3 rows.", "evidence": []}]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("smal",), "did you mean 'small'"),
        (("small",), "no folder for the results given"),
        (("small", "--item", "3", "--to", "x"), "no option --item; did you mean 'items'"),
        (("small", "--items", "many", "--to", "x"), "--items takes a whole number"),
        (("small", "--set", "items", "--to", "x"), "--set takes NAME=VALUE"),
        (("small", "--level", "odd", "--to", "x"), "--level is one of ordinal, nominal"),
        (("small", "--to", "x", "--items"), "--items needs a value"),
        (("small", "stray", "--to", "x"), "'stray' was not expected"),
    ],
)
def test_bad_words_end_with_a_sentence(
    vantage: Vantage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = vantage("study", *words)
    assert done.code == 2
    assert sentence in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [("study", "small"), ("demo",)])
def test_an_interrupted_run_says_how_it_goes_on(
    vantage: Vantage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(execution.Context, "rate", interrupted)
    done = vantage(*words, "--to", tmp_path / "out")
    assert done.code == 130
    assert "run the same command again to resume" in done.err
    assert vantage("report", tmp_path / "out").code == 0


def test_a_run_that_stops_ends_with_one(vantage: Vantage, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("item,question,reply\nx,trust,1\n")
    model = f"recorded:{tmp_path / 'm.csv'}"
    done = vantage("study", "small", "--model", model, "--to", tmp_path / "out", "--fail-on", "0")
    assert done.code == 1
    assert "run the same command again" in done.err
