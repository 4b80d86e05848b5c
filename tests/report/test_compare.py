from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.report.reports import HOSTILE, report
from tests.report.test_page import Read
from vantage.errors import InputError
from vantage.report import Column, Finding, Report, Result, Section, Table
from vantage.report.compare import _joined, compare
from vantage.report.ledger import Claim, p_value, settle


def two(tmp_path: Path, **told: Any) -> tuple[Path, Path]:
    report().write(tmp_path / "a")
    report(**told).write(tmp_path / "b")
    return tmp_path / "a", tmp_path / "b"


def test_tables_are_joined_row_by_row_with_differences() -> None:
    one = Table(
        "t", "c", pl.DataFrame({"q": ["x", "y"], "estimate": [0.5, 0.4], "low": [0.4, 0.3], "high": [0.6, 0.5]})
    )
    other = Table(
        "t", "c", pl.DataFrame({"q": ["z", "x"], "estimate": [0.1, 0.7], "low": [0.0, 0.6], "high": [0.2, 0.8]})
    )
    (joined,) = _joined(one, other, ["first", "second"]).tables
    rows = [[cell.text for cell in row] for row in joined.rows()]
    assert [head.title for head in joined.heads()] == [
        "q",
        "estimate: first",
        "estimate: second",
        "estimate: difference",
    ]
    assert rows[0] == ["x", "0.500 [0.400, 0.600]", "0.700 [0.600, 0.800]", "+0.200 [+0.059, +0.341]"]
    assert rows[1] == ["y", "0.400 [0.300, 0.500]", "–", "–"]
    assert rows[2] == ["z", "–", "0.100 [0.000, 0.200]", "–"]


def test_rows_without_names_stand_one_table_after_the_other() -> None:
    table = Table("t", "c", pl.DataFrame({"q": ["x", "x"], "n": [1, 2]}), {"n": Column("number")})
    joined = _joined(table, table, ["first", "second"])
    assert [one.caption for one in joined.tables] == ["first: c", "second: c"]
    assert "no names" in joined.note


def test_options_that_differ_are_marked(tmp_path: Path) -> None:
    a, b = two(tmp_path, seed=7, options={"option": "other"})
    page, sentences = compare(a, b, tmp_path / "comparison.html")
    assert (
        sentences[0] == "The runs differ in seed, option, empty." or sentences[0] == "The runs differ in seed, option."
    )
    assert page.count('<tr class="changed">') == sentences[0].count(",") + 1
    assert sentences[1] == "In both runs: 1 table and 1 figure."
    assert 'href="a/figures/alpha.pdf"' in page
    assert 'href="b/figures/alpha.pdf"' in page


def test_the_same_run_twice_is_told_apart_by_letters(tmp_path: Path) -> None:
    report().write(tmp_path / "x" / "out")
    report().write(tmp_path / "y" / "out")
    page, sentences = compare(tmp_path / "x" / "out", tmp_path / "y" / "out", tmp_path / "c.html")
    assert sentences[0] == "The two runs have the same options."
    assert "out (A) beside out (B)" in Read(page).words


@pytest.mark.slow
def test_what_only_one_run_has_is_said(tmp_path: Path) -> None:
    a, _ = two(tmp_path)
    one = report()
    extra = Table("more", "c", pl.DataFrame({"n": [1]}))
    Report(one.record, Result([*one.result.sections, Section("s", [], [extra])])).write(tmp_path / "c")
    _, sentences = compare(a, tmp_path / "c")
    assert sentences[-1] == "Only c has the tables more."


@pytest.mark.slow
def test_hostile_runs_stay_text(tmp_path: Path) -> None:
    report(HOSTILE).write(tmp_path / "a")
    page, _ = compare(tmp_path / "a", tmp_path / "a", tmp_path / "c.html")
    assert "<img" not in page
    assert not [name for name, _ in Read(page).attributes if name.startswith("on")]


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
    page, sentences = compare(plain, vague, tmp_path / "c.html")
    # Zou and Donner (2008); the standard deviations of 60 and 40 items that belong to the standard errors.
    low, high = -0.3 - math.hypot(0.15, 0.05), -0.3 + math.hypot(0.12, 0.10)
    spreads = [(0.15 / 3.919928) ** 2 * 60, (0.27 / 3.919928) ** 2 * 40]
    size = -0.3 / math.sqrt(sum(spreads) / 2)
    numbers = f"−0.30, 95 % CI {low:.2f} to {high:.2f}, effect size {size:.2f}".replace("-", "−")
    told = f"plain is higher than vague in alpha of worth ({numbers})."
    assert told in sentences
    assert told in Read(page).words
    assert not any("skill" in one for one in sentences), "only headlines have sentences; the tables show the rest"
    assert "−0.10 [−0.24, +0.04]" in Read(page).words


def test_headlines_that_cannot_be_told_apart_are_said_to_be(tmp_path: Path) -> None:
    plain = headlined(tmp_path / "plain", ("worth", 0.80, 0.70, 0.85, 60))
    vague = headlined(tmp_path / "vague", ("worth", 0.75, 0.60, 0.85, 60))
    _, sentences = compare(plain, vague, tmp_path / "c.html")
    assert any(one.startswith("plain and vague cannot be told apart in alpha of worth (−0.05,") for one in sentences)
