"""Plans that are frozen before and checked after."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Vantage
from tests.robust.planted import planted
from vantage import Corpus
from vantage.report import Finding, Report, Result, made_at_once
from vantage.robust import Conclusion, FrozenPlan, Universe, robust, with_plan

WORDS = ("--between", "era", "--values", "new,old", "--question", "Did trust change?", "--stop", "items=60")


def frozen(vantage: Vantage, tmp_path: Path, *words: str) -> Path:
    """A plan for a corpus in `tmp_path`, whose intervals over items alone are the one alternative."""
    if not (tmp_path / "corpus").exists():
        planted(items=60, people=3, effect=1.0).write(tmp_path / "corpus")
    file = tmp_path / "plan.yaml"
    done = vantage(
        *("plan", "freeze", "mean", *WORDS, "--pilot", tmp_path / "corpus"),
        *("--vary", "ci=auto,items", *words, "--to", file),
    )
    assert done.code == 0, done.err
    assert "**Question.** Did trust change?" in done.out
    assert FrozenPlan.read(file).hash in done.out
    return file


def test_as_planned_and_every_deviation(vantage: Vantage, tmp_path: Path) -> None:
    file = frozen(vantage, tmp_path, "--estimand", "How much higher trust is in new texts")
    assert "estimand: How much higher trust is in new texts" in file.read_text("utf-8")
    folder = tmp_path / "corpus"
    lines = vantage("robust", file, folder, "--json").json["sentences"]
    assert lines[0].startswith("As planned (plan of ")
    changed = vantage("robust", file, folder, "--reference", "0.5", "--vary", "confidence=0.95,0.9", "--json").json
    assert [one.split(": ", 1)[1] for one in changed["sentences"] if one.startswith("Deviation")] == [
        "the reference is 0.5, and 0.0 was planned.",
        "the choice 'confidence' is varied and was not planned.",
    ]
    other = vantage("robust", file, folder, "--ci", "items", "--json").json["sentences"]
    assert other[0].endswith("options ci is items, and nothing was planned.")
    assert vantage("plan", "freeze", "mean", *WORDS, "--pilot", folder, "--to", file).code == 2


def test_what_a_pilot_offers_is_frozen_and_checked(vantage: Vantage, tmp_path: Path) -> None:
    """In an interpreter of its own, as a user runs it: what was imported before must not matter."""
    folder, file = planted(items=60, people=3, effect=1.0).write(tmp_path / "corpus"), tmp_path / "plan.yaml"
    words = ["plan", "freeze", "mean", *WORDS, "--pilot", str(folder), "--to", str(file)]
    done = subprocess.run([sys.executable, "-m", "vantage", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, "- left out: nothing, without p0" in done.stdout) == (0, True), done.stderr
    lines = vantage("robust", file, folder, "--most", "8", "--json").json["sentences"]
    assert lines[0].startswith("As planned (plan of ")
    by_default = vantage("robust", "mean", folder, *WORDS[:4], "--most", "8", "--json").json["specifications"]
    assert {"design", "left out"} <= by_default[0].keys()


def test_a_plan_that_was_changed_says_so(vantage: Vantage, tmp_path: Path) -> None:
    file = frozen(vantage, tmp_path)
    file.write_text(file.read_text("utf-8").replace("items: 60", "items: 59"), encoding="utf-8")
    lines = vantage("robust", file, tmp_path / "corpus", "--json").json["sentences"]
    assert "the file was changed after it was frozen" in lines[0]
    assert "there are 60 items, and collection was to end with 59" in lines[1]
    file.write_text(file.read_text("utf-8").partition("hash:")[0], encoding="utf-8")
    assert "this is not a frozen plan" in vantage("robust", file, tmp_path / "corpus").err
    file.write_text("question: what\n", encoding="utf-8")
    assert "estimand" in vantage("robust", file, tmp_path / "corpus").err


def test_who_is_excluded_must_have_been_planned() -> None:
    corpus = planted(items=60, people=4, effect=1.0)
    raters = corpus.raters.with_columns(excluded=pl.Series(["", "", "too fast", "failed checks"]))
    marked = Corpus(corpus.items, raters, corpus.judgments, corpus.instruments)
    claim = Conclusion.of("mean", {"between": "era", "values": ["new", "old"], "ci": "items"})
    universe = Universe().varied(claim, marked, "confidence=0.95,0.9")
    made = robust(marked, claim, universe)
    for exclusions, said in (
        ([], "2 raters excluded for reasons that were not planned: failed checks, too fast"),
        (["failed checks"], "1 rater excluded for reasons that were not planned: too fast"),
        (["too fast"], "1 rater excluded for reasons that were not planned: failed checks"),
        (["failed checks", "too fast"], "As planned"),
    ):
        plan = FrozenPlan(question="Why?", estimand="The mean.", claim=claim, universe=universe, exclusions=exclusions)
        (line,) = plan.deviations(made, marked)
        assert said in line


def test_a_report_says_whether_all_was_as_planned() -> None:
    corpus = planted(items=60, people=3, effect=1.0)
    claim = Conclusion.of("mean", {"between": "era", "values": ["new", "old"], "ci": "items"})
    universe = Universe().varied(claim, corpus, "confidence=0.95,0.9")
    plan = FrozenPlan(question="Did trust change?", estimand="The mean.", claim=claim, universe=universe)
    plain = Report(made_at_once("corpus", "Trust", corpus), Result([], [Finding("All is well.")]))
    twice = with_plan(with_plan(plain, corpus, plan), corpus, plan)
    texts = [one.text for one in twice.result.findings]
    assert texts[0].startswith("As planned (")
    assert texts[-1] == "All is well."
    assert [one.title for one in twice.result.sections] == ["As planned: Did trust change?"]


@pytest.mark.slow
def test_pages_carry_curves_and_plans(vantage: Vantage, tmp_path: Path) -> None:
    folder = planted(items=60, people=3, effect=1.0, models={"m0": 0.0}).write(tmp_path / "corpus")
    file = frozen(vantage, tmp_path)
    done = vantage("robust", file, folder, "--to", tmp_path / "page")
    assert done.code == 0, done.err
    page = Report.read(tmp_path / "page").result
    assert [one.name for one in page.tables] == ["robust-choices", "robust-specifications", "robust-risk"]
    assert page.findings[0].text.startswith("As planned (")
    done = vantage("report", folder, "--robust", "--plan", file, "--to", tmp_path / "report")
    assert done.code == 0, done.err
    assert done.out.startswith("1. As planned (")
    curves = [one.name for one in Report.read(tmp_path / "report").result.figures if one.chart == "specifications"]
    assert curves[0] == "robust-1-curve"
    assert curves[-1] == "planned-curve"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--between", "era"), "no research question given"),
        (("--between", "era", "--question", "Why?"), "no choices to freeze"),
        (("--between", "era", "--question", "Why?", "--stop", "items=many", "--universe", "u.yaml"), "whole numbers"),
    ],
)
def test_what_cannot_be_frozen(
    vantage: Vantage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("u.yaml").write_text("choices: {ci: {auto: , items: {options: {ci: items}}}}\n", encoding="utf-8")
    done = vantage("plan", "freeze", "mean", *words)
    assert (done.code, said in done.err) == (2, True), done.err
