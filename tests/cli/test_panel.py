"""`vantage measure panel` and `vantage plan` on a corpus folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.cli.run import Done, run
from vantage import demo_corpus
from vantage.corpora.bundled import planted_corpus

Vantage = Callable[..., Done]


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = planted_corpus()
    # One person's answer to each item about competence, as a model's; that of model-b tells no items apart.
    about = corpus.people().judgments.filter(question="competence").sort("item", "rater")
    answers = about.group_by("item", "question", "condition", "sample", maintain_order=True).agg(
        pl.col("value").first()
    )
    like = corpus.add(
        answers.with_columns(rater=pl.lit("model-c")), pl.DataFrame({"rater": ["model-c"], "kind": ["model"]})
    )
    return like.write(tmp_path_factory.mktemp("corpora") / "rated")


@pytest.fixture
def vantage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Vantage:
    return lambda *words: run(capsys, monkeypatch, *words)


def test_panel_prints_votes_and_sentences_from_them(vantage: Vantage, rated: Path) -> None:
    words = ("measure", "panel", rated)
    result = vantage(*words)
    assert result.code == 0
    assert re.search(r"Effective votes: .*\d\.\d of 2 models about competence", result.out)
    assert re.search(r"The cheapest sufficient panel is .*model-a \+ model-c about competence", result.out)
    assert "since they do not tell items apart as people do: model-b about competence" in result.out
    assert {row["question"] for row in json.loads(vantage(*words, "--json").out)} == {"trust", "competence"}
    priced = ("--where", "question=competence", "--prices", "model-a=1,model-b=1,model-c=2", "--json")
    assert json.loads(vantage(*words, *priced).out)[0]["cost"] == 3


def test_panel_draws_the_matrix(vantage: Vantage, rated: Path, tmp_path: Path) -> None:
    figure = tmp_path / "matrix.svg"
    words = ("measure", "panel", rated, "--where", "question=trust", "--show", "matrix", "--figure", figure)
    assert vantage(*words).code == 0
    assert "model-b" in figure.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--raters", "model-a"), "at least two models"),
        (("--prices", "model-a"), "--prices takes NAME=VALUE"),
        (("--show", "raters", "--figure", "x.svg"), "pass --show matrix or --show votes"),
        (("--show", "matrix", "--figure", "x.svg"), "a chart shows one question"),
    ],
)
def test_panel_ends_bad_input_with_a_sentence(vantage: Vantage, rated: Path, words: tuple[str, ...], says: str) -> None:
    result = vantage("measure", "panel", rated, *words)
    assert result.code == 2
    assert says in result.err


@pytest.mark.slow
def test_plan_prints_the_frontier_the_choice_what_it_assumes_and_settings(vantage: Vantage, rated: Path) -> None:
    words = (
        "plan",
        rated,
        "--goal",
        "mean",
        "--question",
        "trust",
        "--target",
        "0.3",
        "--budget",
        "2000",
        "--price",
        "0.12",
    )
    out = vantage(*words).out
    assert "It is the cheapest design that reaches the target" in out
    assert "With model-a judging 10,000 items" in out
    assert "Assumes normal effects of items and raters that are crossed" in out
    settings = yaml.safe_load(vantage(*words, "--settings").out)
    assert set(settings) == {"raters", "batch"}
    data = json.loads(vantage(*words, "--json").out)
    assert sum(row["chosen"] for row in data["frontier"]) == 1
    assert data["choice"][0]["cost"] <= 2000


@pytest.mark.slow
def test_plan_writes_a_page_and_a_figure(vantage: Vantage, tmp_path: Path) -> None:
    words = (
        "plan",
        "--components",
        "0.5,0.2,0.8",
        "--goal",
        "groups",
        "--delta",
        "0.4",
        "--budget",
        "100",
        "--price",
        "0.12",
    )
    result = vantage(*words, "--to", tmp_path / "plan", "--figure", tmp_path / "frontier.svg")
    assert result.code == 0
    assert "does not reach the target" in result.out
    page = (tmp_path / "plan" / "report.html").read_text(encoding="utf-8")
    assert "The frontier" in page
    assert "power to find the difference between groups of raters" in page
    assert (tmp_path / "plan" / "settings.yaml").exists()
    assert (tmp_path / "frontier.svg").exists()


def test_plan_during_says_whether_to_stop(vantage: Vantage, rated: Path) -> None:
    words = ("plan", "--during", rated, "--question", "trust", "--goal", "reliability")
    assert "Stop: the target is reached." in vantage(*words).out
    more = vantage("plan", "--during", rated, "--question", "trust", "--goal", "mean", "--target", "0.1")
    assert "Continue: about" in more.out
    assert "covers a little less" in more.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--prevalence", "0.3", "--goal", "mean", "--target", "0.1", "--budget", "1"), "buys 1 answers"),
        (("--during",), "no corpus given"),
        (("--components", "a,b"), "--components takes a number, not 'a'"),
        ((), "a plan needs one of three things"),
    ],
)
def test_plan_ends_bad_input_with_a_sentence(vantage: Vantage, words: tuple[str, ...], says: str) -> None:
    result = vantage("plan", *words)
    assert result.code == 2
    assert says in result.err


def test_a_small_pilot_is_refused_with_what_is_missing(vantage: Vantage, tmp_path: Path) -> None:
    corpus = demo_corpus()
    corpus.filter(item=corpus.items["item"].head(5).to_list()).write(tmp_path / "small")
    result = vantage("plan", tmp_path / "small", "--question", "trust")
    assert result.code == 2
    assert "take 14 items or more" in result.err
