"""Names of groups, keywords and reasons are texts of others: shown as they are, never obeyed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.studies.stereomap.planted import recorded
from vantage.studies import run
from vantage.studies.stereomap.groups import read_groups

NAMES = [
    "<script>alert(1)</script>",
    "=HYPERLINK(1)",
    "{group} {society} {0}",
    "nurses & <b>doctors</b>",
    "$x^2$ \\frac",
]


@pytest.mark.slow
def test_hostile_names_and_words_stay_text(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    pl.DataFrame({"group": NAMES}).write_ndjson(file)
    groups = read_groups(file)
    path = recorded(tmp_path / "answers.parquet", "short", groups=groups, runs=2)
    replies = pl.read_parquet(path)
    bad = pl.lit("1. <img src=x onerror=alert(1)>: =cmd|x\n2. {evil}: </script>")
    lists = pl.col("question").str.ends_with("-keywords")
    replies.with_columns(pl.when(lists).then(bad).otherwise(pl.col("reply")).alias("reply")).write_parquet(path)
    out = tmp_path / "out"
    run("stereomap", models=[f"recorded:{path}"], groups=str(file), form="short", runs=2, k=2, resamples=10, out=out)
    page = (out / "report.html").read_text("utf-8")
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
    assert "<b>doctors</b>" not in page
    for written in (out / "tables").glob("*.csv"):
        for line in written.read_text("utf-8").splitlines():
            assert not any(cell.startswith("=") for cell in line.split(","))
