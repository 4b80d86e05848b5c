"""`vantage explain`, `facets` and `dif` on a corpus folder."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import Done, run
from vantage import demo_corpus
from vantage.corpora.bundled import planted_corpus


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_corpus().write(tmp_path_factory.mktemp("corpora") / "demo")


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty-four people, enough to test their traits."""
    return planted_corpus().write(tmp_path_factory.mktemp("corpora") / "planted")


Vantage = Callable[..., Done]


@pytest.fixture
def vantage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Vantage:
    return lambda *words: run(capsys, monkeypatch, *words)


def test_explain_prints_effects_variances_and_a_sentence_per_trait(vantage: Vantage, planted: Path) -> None:
    result = vantage("explain", planted, "--question", "trust", "--traits", "home,hand")
    assert result.code == 0
    assert "clearest difference" in result.out
    assert "residual" in result.out
    assert "home: coast give higher answers than hills" in result.out
    assert "hand: no evidence of a difference; more than" in result.out


def test_explain_gives_clean_data(vantage: Vantage, folder: Path) -> None:
    result = vantage("explain", folder, "--question", "trust", "--traits", "gender", "--json")
    data = json.loads(result.out)
    assert set(data) == {"effects", "variance", "sentences"}
    assert data["sentences"] == []  # nine people are too few to test
    assert "'man' has 4 raters" in data["effects"][1]["reason"]
    rows = list(csv.DictReader(io.StringIO(vantage("explain", folder, "--show", "raters", "--csv").out)))
    assert {row["question"] for row in rows} == {"trust", "sociability", "competence"}
    assert {row["rater"] for row in rows} == {f"r{n}" for n in range(1, 10)}


def test_facets_writes_the_wright_map(vantage: Vantage, folder: Path, tmp_path: Path) -> None:
    result = vantage("facets", folder, "--question", "trust", "--figure", tmp_path / "map.svg", "--json")
    assert {row["rater"] for row in json.loads(result.out)} == {f"r{n}" for n in range(1, 10)}
    assert "r9" in (tmp_path / "map.svg").read_text(encoding="utf-8")


def test_questions_can_be_put_on_one_scale(vantage: Vantage, folder: Path, tmp_path: Path) -> None:
    where = tmp_path / "map.svg"
    result = vantage("facets", folder, "--together", "--thresholds", "question", "--figure", where, "--csv")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert {row["question"] for row in rows} == {"", "trust", "sociability", "competence"}
    assert "3 questions" in where.read_text(encoding="utf-8")


def test_dif_counts_what_differs(vantage: Vantage, folder: Path) -> None:
    arguments = ("measure", "dif", folder, "--between", "gender", "--values", "woman,man", "--question", "trust")
    assert len(json.loads(vantage(*arguments, "--json").out)) == 30
    (row,) = json.loads(vantage(*arguments, "--show", "invariance", "--json").out)
    assert (row["tested"], row["differ"]) == (30, 0)
    assert vantage("measure", "dif", folder, "--between", "gender").err.count("has 3 values") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explain", "--question", "trst"), "no question 'trst'"),
        (("explain", "--question", "trust", "--traits", "height"), "no column 'height'"),
        (("explain", "--question", "trust", "--base", "gender"), "write --base TRAIT=LEVEL"),
        (("explain", "--question", "trust", "--family", "poisson"), "family 'poisson' is not known"),
        (("facets", "--show", "people"), "--show is one of"),
        (("facets", "--figure", "map.svg"), "a Wright map is of one question"),
        (("facets", "--question", "trust", "--figure", "map.gif"), "end the name in .svg, .pdf or .png"),
    ],
)
def test_bad_input_is_one_sentence(vantage: Vantage, folder: Path, arguments: tuple[str, ...], message: str) -> None:
    result = vantage(arguments[0], folder, *arguments[1:])
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
