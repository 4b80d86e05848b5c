"""The calibration bench in small, with fixed seeds: it fails when an interval or a test drifts, or its truth does."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks import calibration, calibration_page, simulators
from benchmarks.__main__ import NAMES as NAMED
from benchmarks.__main__ import summary
from benchmarks.calibration import Result, run
from benchmarks.calibration_rows import CASES, INTERVALS, TESTS, Line, lines
from benchmarks.simulators import DESIGNS, Design, simulate
from vantage.measures import registry


def test_a_row_that_holds_nothing_fails_the_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Result("mean", "8 raters", "items and raters", replications=20)
    size = Result("compare, condition", "within-raters", "nothing there", replications=20)
    said = [(made.holds_nothing, size.holds_nothing)]  # no interval and no p in any table
    for hit in (False, False, True):
        made.add(hit, None)
        size.add(False, None)
        said.append((made.holds_nothing, size.holds_nothing))
    # A test that never rejects is cautious.
    assert said == [(True, True), (True, False), (True, False), (False, False)]
    monkeypatch.setattr(calibration, "chosen", lambda *_: [Line("mean", "8 raters", "items and raters")])
    monkeypatch.setattr(sys, "argv", ["calibration", "--replications", "1"])
    empty = Result("mean", "8 raters", "items and raters", replications=1)
    monkeypatch.setattr(calibration, "run", lambda *_, **__: [empty])
    with pytest.raises(SystemExit, match=r"These rows hold nothing.*: mean · 8 raters\."):
        calibration.main()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alpha", "pairwise", "mean", "entropy", "icc(2,1)", "refusals", "accuracy, mae"])
def test_default_intervals_cover(name: str) -> None:
    (result,) = run(Line(name, "sparse, 20 raters", "items and raters"), 20)
    # An interval that covers in 95 % of the cases misses more than four of twenty less than once in 300 times.
    assert result.hits >= 16
    assert result.given == result.replications == 20
    assert result.over == "both"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "design"),
    [("compare, property of items", "sparse, 20 raters"), ("compare, groups of raters", "crossed, 20 raters"),
     ("correlate, two questions", "sparse, 20 raters")],
)  # fmt: skip
def test_tests_have_their_size(name: str, design: str) -> None:
    (result,) = run(Line(name, design, "nothing there"), 40)
    # At the level .05, more than six of forty are found by chance less than once in a hundred cases.
    assert result.hits <= 6


@pytest.mark.parametrize("name", ["explain, trait of raters", "groups, trait of raters", "error-gaps, trait of people"])
def test_the_tests_of_traits_look_where_the_p_value_is(name: str) -> None:
    (result,) = run(Line(name, "sparse, 20 raters", "nothing there"), 2)
    assert result.given == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["best–worst scaling, 12 raters", "split-half of scaling, 30 raters",
                                  "set-alpha, 20 raters", "G-study, 40 items"])  # fmt: skip
def test_intervals_of_scores_sets_and_g_studies_cover(name: str) -> None:
    results = run(Line(CASES[name][0], name, "planted"), 15)
    # Of fifteen intervals that cover 95 %, more than four miss less than once in a thousand cases.
    assert [result.what for result in results if result.hits / result.given < 0.7] == []


def test_the_simulators_import_nothing_of_what_they_judge() -> None:
    tree = ast.parse(Path(simulators.__file__).read_text(encoding="utf-8"))
    imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    assert not [name for name in imported if name.split(".")[0] in ("vantage", "benchmarks")]


def test_every_measure_with_an_interval_or_a_test_is_in_the_table() -> None:
    judged = {line.measure.split(",")[0] for line in lines()} | {"icc"}
    tables_of_their_own = {"audit", "balanced-gain"}  # benchmarks/audit.py
    own_tests = {"population", "whose-label", "expectations", "defensible"}  # tests/measures/targets and scoring
    texts = {"rationale-agreement", "rationale-similarity", "rationale-form"}
    for name, known in registry().items():
        if known.built_in and "confidence" in known.options:
            assert name in judged | tables_of_their_own | own_tests | texts, name
    assert {line.design for line in lines()} == {*DESIGNS, *CASES}


@pytest.mark.parametrize("name", list(DESIGNS))
def test_designs_are_as_they_say(name: str) -> None:
    design = DESIGNS[name]
    table = simulate(design, np.random.default_rng(0), complete=True)
    conditions = 2 if design.occasions else 1
    assert table.group_by("item", "condition").len()["len"].unique().to_list() == [design.each]
    assert table["item"].n_unique() == design.items
    assert len(table) == design.items * design.each * conditions
    assert table["rater"].n_unique() <= design.raters
    if design.sources:
        assert table.group_by("source").agg(pl.col("genre").n_unique())["genre"].max() == 1
    kept = simulate(design, np.random.default_rng(0))
    answered = kept.filter(pl.col("status") == "answered")
    if design.missing or design.refusals:
        assert answered["value"].mean() < table["value"].mean() - 0.1  # type: ignore[operator]
    else:
        assert kept.equals(table)


def test_rare_answers_are_rare_and_severe_raters_meet_low_items() -> None:
    rng = np.random.default_rng(1)
    shares = {
        name: simulate(DESIGNS[name].with_items(900), rng)["value"].to_numpy() for name in ("rare-40", "one-option")
    }
    assert 0.05 < shares["rare-40"].mean() < 0.12
    assert 0.87 < (shares["one-option"] == 0).mean() < 0.93
    floor = simulate(DESIGNS["slider-floor"].with_items(900), rng)["value"].to_numpy()
    assert 0.4 < (floor == 0).mean() < 0.6
    design = replace(DESIGNS["informative"], items=400, raters=40)
    raters = simulators.draw_raters(design, rng)
    table = simulate(design, rng, raters)
    severity = raters.severity[table["rater"].str.slice(1).cast(pl.Int64).to_numpy()]
    assert np.corrcoef(severity, table["latent"].to_numpy())[0, 1] > 0.3
    runs = simulate(replace(DESIGNS["runs"], items=400, repeats=0.9), rng)
    assert runs.group_by("rater").agg(pl.col("value").n_unique())["value"].mean() <= 5  # type: ignore[operator]


def test_a_population_has_the_value_that_a_formula_gives() -> None:
    # Without points, the mean answer of 0/1 is the normal probability of the threshold.
    design = Design("one", items=50, raters=20, per_item=5, scale="binary", middle=-1.0, rater_sd=0.5)
    values = [simulate(design.large, np.random.default_rng([3, n]))["value"].mean() for n in range(2)]
    # The latent value has the variance 1 + 0.25 + 1; Φ(−1/1.5) = 0.2525.
    assert np.mean(values) == pytest.approx(0.2525, abs=0.01)  # type: ignore[arg-type]


def test_a_result_counts_misses_without_a_word_and_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = Result("alpha", "few-items", "items", replications=4)
    for hit, reason in ((True, None), (False, None), (False, "few items")):
        result.add(hit, reason, 0.3)
    assert (result.given, result.hits, result.warned, result.silent) == (3, 1, 1, 1)
    assert "held  33.3 % of 3" in result.shown()
    assert "refused 1, warned 1, silent 1" in result.shown()
    test = Result("compare, condition", "within-raters", "nothing there", replications=2)
    test.add(True, None)
    test.add(False, None)
    assert test.silent == 1
    monkeypatch.setattr(calibration, "RESULTS", tmp_path / "results.csv")
    monkeypatch.setattr(calibration_page, "PAGE", tmp_path / "page.md")
    calibration.keep([test, result, Result("alpha", "no such design", "items")])
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| few-items | alpha | items | **33.3** of 3 | 0.300 | 25 % | 25 % | 25 % |" in page
    calibration.keep([replace(result, hits=3)])
    assert [key[:2] for key in calibration.kept()] == [("alpha", "few-items"), ("compare, condition", "within-raters")]
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| few-items | alpha | items | 100.0 of 3 | 0.300 | 25 % | 25 % | 25 % |" in page


def test_the_page_is_written_from_the_results() -> None:
    page = calibration_page.page(list(calibration.kept().values()))
    assert calibration_page.PAGE.read_text(encoding="utf-8") == page


def test_rows_are_chosen_by_name() -> None:
    assert calibration.chosen(["alpha"], ["few-items"]) == [Line("alpha", "few-items", "items")]
    assert {line.design for line in calibration.chosen([], ["differential"])} == {
        name for name in CASES if name.startswith("differential")
    }
    assert set(INTERVALS) | set(TESTS) | {name for name, _, _ in CASES.values()} == {line.measure for line in lines()}


def test_one_row_runs_from_the_command_line() -> None:
    command = [sys.executable, "-m", "benchmarks", "calibration", "--only", "pairwise", "--design", "few-items"]
    done = subprocess.run(
        [*command, "--replications", "3"], capture_output=True, text=True, cwd=Path(__file__).parents[2], check=True
    )
    assert "pairwise · few-items · items: held" in done.stdout
    assert "=== alpha" not in done.stdout


def test_the_help_of_benchmarks_names_all_and_runs_none() -> None:
    for words, code in ((["--help"], 0), (["nothing"], 2)):
        command = [sys.executable, "-m", "benchmarks", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
        assert done.returncode == code
        assert all(name in done.stdout + done.stderr for name in NAMED)
        assert "===" not in done.stdout
    assert all(len(summary(name)) > 20 for name in NAMED)
