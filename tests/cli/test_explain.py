"""`vantage measure explain`, `facets` and `dif` on a corpus folder."""

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


def test_explain_prints_effects_and_a_sentence_per_trait(vantage: Vantage, planted: Path) -> None:
    words = ("measure", "explain", planted, "--question", "trust", "--traits", "home,hand")
    result = vantage(*words)
    assert result.code == 0
    assert "clearest difference" in result.out
    assert "statistic" not in result.out.split("\n")[0]  # only what a report shows, and what it rests on
    assert "home: coast give higher answers than hills" in result.out
    assert "hand: no evidence of a difference; more than" in result.out
    assert "comparisons of the same research question" not in result.out  # each row has its own interval
    assert "residual" in vantage(*words, "--show", "variance").out
    based = json.loads(vantage(*words, "--base", "home=hills,hand=left", "--permutations", "9", "--json").out)
    assert {(row["level"], row["versus"]) for row in based} >= {("coast", "hills"), ("right", "left")}
    assert ("left", "right") not in {(row["level"], row["versus"]) for row in based}


def test_explain_gives_clean_data(vantage: Vantage, folder: Path) -> None:
    rows = json.loads(vantage("measure", "explain", folder, "--question", "trust", "--traits", "gender", "--json").out)
    assert "'man' has 4 raters" in rows[1]["reason"]
    words = ("measure", "explain", folder, "--by", "question", "--show", "raters", "--csv")
    table = list(csv.DictReader(io.StringIO(vantage(*words).out)))
    assert {row["question"] for row in table} == {"trust", "sociability", "competence"}
    assert {row["rater"] for row in table} == {f"r{n}" for n in range(1, 10)}


def test_facets_writes_the_wright_map(vantage: Vantage, folder: Path, tmp_path: Path) -> None:
    where = tmp_path / "map.svg"
    words = ("measure", "facets", folder, "--question", "trust", "--show", "ruler", "--figure", where, "--json")
    assert {f"r{n}" for n in range(1, 10)} < {row["name"] for row in json.loads(vantage(*words).out)}
    assert "r9" in where.read_text(encoding="utf-8")


def test_questions_can_be_put_on_one_scale(vantage: Vantage, folder: Path) -> None:
    result = vantage("measure", "facets", folder, "--thresholds", "question", "--csv")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert {row["question"] for row in rows} == {"", "trust", "sociability", "competence"}


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
        (("explain", "--question", "trust", "--base", "gender"), "--base takes NAME=VALUE"),
        (("explain", "--question", "trust", "--family", "poisson"), "--family is one of"),
        (("facets", "--show", "people"), "--show is one of"),
        (("facets", "--question", "trust", "--figure", "map.svg"), "pass --show ruler"),
        (("facets", "--show", "ruler", "--figure", "map.gif"), "end the name in .svg, .pdf or .png"),
    ],
)
def test_bad_input_is_one_sentence(vantage: Vantage, folder: Path, arguments: tuple[str, ...], message: str) -> None:
    result = vantage("measure", arguments[0], folder, *arguments[1:])
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_a_measure_is_no_verb_and_says_so(vantage: Vantage, folder: Path) -> None:
    result = vantage("explain", folder, "--question", "trust")
    assert (result.code, f"run: vantage measure explain {folder}" in result.err) == (2, True)
