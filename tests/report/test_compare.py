from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.report.reports import HOSTILE, report
from tests.report.test_page import Read
from vantage import demo_corpus
from vantage.errors import InputError
from vantage.report import AnswerCounts, Column, Finding, Report, Result, Section, Spectrum, Table
from vantage.report.compare import compare
from vantage.report.ledger import Claim, p_value, settle


def two(tmp_path: Path, **told: Any) -> tuple[Path, Path]:
    report().write(tmp_path / "a")
    report(**told).write(tmp_path / "b")
    return tmp_path / "a", tmp_path / "b"


def sentences(made: Report) -> list[str]:
    return [finding.text for finding in made.result.findings]


def test_options_that_differ_stand_first(tmp_path: Path) -> None:
    a, b = two(tmp_path, seed=7, options={"option": "other"})
    [table] = compare(a, b).result.tables
    rows = [[cell.text for cell in row] for row in table.rows()]
    assert {row[0] for row in rows if row[3] == "yes"} == {"seed", "option"}
    assert [row[3] for row in rows] == sorted([row[3] for row in rows], reverse=True)


def test_the_same_run_twice_is_told_apart_by_letters(tmp_path: Path) -> None:
    report().write(tmp_path / "x" / "out")
    report().write(tmp_path / "y" / "out")
    made = compare(tmp_path / "x" / "out", tmp_path / "y" / "out")
    assert made.record.title == "out (A) beside out (B)"
    assert not made.result.tables[0].frame["differs"].any()


def test_hostile_runs_stay_text(tmp_path: Path) -> None:
    report(HOSTILE).write(tmp_path / "a")
    page = compare(tmp_path / "a", tmp_path / "a").write(tmp_path / "c").read_text("utf-8")
    assert "<img" not in page
    assert not [name for name, _ in Read(page).attributes if name.startswith("on")]


def test_two_corpora_have_their_spectra_in_one_order(tmp_path: Path) -> None:
    warm = demo_corpus().filter(kind="person", question=["trust"])
    warm.filter(rater=["r1", "r2", "r3", "r4"]).write(tmp_path / "one")
    warm.filter(rater=["r5", "r6", "r7", "r8"]).write(tmp_path / "other")
    made = compare(tmp_path / "one", tmp_path / "other")
    [figure] = made.result.figures
    assert figure.data["who"].unique(maintain_order=True).to_list() == ["one", "other"]
    # Another corpus has the columns of the first: its means need not rise.
    trust = warm.question("trust")
    counts = AnswerCounts.of(warm.filter(rater=["r1", "r2", "r3", "r4"]), trust)
    first = figure.data.filter(who="one", column=0).sort("answer")["share"].to_list()
    lowest = Spectrum.of(counts).order[0]
    assert sorted(first) == sorted(counts.shares[lowest, 0].tolist())


def test_a_folder_without_a_study_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no study"):
        compare(tmp_path, tmp_path)


def headlined(folder: Path, *rows: tuple[str, float, float, float, int]) -> Path:
    """A report whose first finding rests on the agreement about the first question."""
    frame = pl.DataFrame(rows, schema=["question", "estimate", "low", "high", "items"], orient="row")
    table = Table("alpha", "Agreement", frame, {"estimate": Column("alpha", digits=2, interval=("low", "high"))})
    of = ("estimate", "low", "high")
    drafts = [
        Claim("against", *one[1:4], 0.0, p_value(*one[1:4], 0.0), one[0], low_alone=one[2], high_alone=one[3],
              units=one[4], estimand="alpha", table="alpha", family=one[0], row=n, columns=of)
        for n, one in enumerate(rows)
    ]  # fmt: skip
    [ledger] = settle([drafts])
    finding = Finding("Raters agree.", ledger[:1])
    Report(report().record, Result([Section("s", [], [table])], [finding], ledger=ledger)).write(folder)
    return folder


def test_headlines_differ_by_an_effect_size_with_its_interval(tmp_path: Path) -> None:
    plain = headlined(tmp_path / "plain", ("worth", 0.80, 0.70, 0.85, 60), ("skill", 0.5, 0.4, 0.6, 60))
    vague = headlined(tmp_path / "vague", ("worth", 0.50, 0.35, 0.62, 40), ("skill", 0.4, 0.3, 0.5, 40))
    made = compare(plain, vague)
    page = made.write(tmp_path / "c").read_text("utf-8")
    # Zou and Donner (2008); the standard deviations of 60 and 40 items that belong to the standard errors.
    low, high = -0.3 - math.hypot(0.15, 0.05), -0.3 + math.hypot(0.12, 0.10)
    spreads = [(0.15 / 3.919928) ** 2 * 60, (0.27 / 3.919928) ** 2 * 40]
    size = -0.3 / math.sqrt(sum(spreads) / 2)
    numbers = f"−0.30, 95 % CI {low:.2f} to {high:.2f}, effect size {size:.2f}".replace("-", "−")
    told = f"plain is higher than vague in alpha of worth ({numbers})."
    assert told in sentences(made)
    assert told in Read(page).words
    assert not any("skill" in one for one in sentences(made)), "only headlines have sentences; the tables show the rest"
    assert "−0.10 [−0.24, +0.04]" in Read(page).words


def test_headlines_that_cannot_be_told_apart_are_said_to_be(tmp_path: Path) -> None:
    plain = headlined(tmp_path / "plain", ("worth", 0.80, 0.70, 0.85, 60))
    vague = headlined(tmp_path / "vague", ("worth", 0.75, 0.60, 0.85, 60))
    said = sentences(compare(plain, vague))
    assert any(one.startswith("plain and vague cannot be told apart in alpha of worth (−0.05,") for one in said)
