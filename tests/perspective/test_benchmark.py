"""The open benchmark: splits as files, predictions from any file, and planted differences between systems."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tests.studies.perseval.made import corpus
from vantage import Corpus, InputError
from vantage.cli.app import app
from vantage.perspective import Split, average_user, split
from vantage.perspective.benchmark import (
    baseline,
    leaderboard,
    paired_differences,
    read_predictions,
    read_split,
    scored,
    write_split,
)

RUN = CliRunner()


@pytest.fixture(scope="module")
def people() -> Corpus:
    return corpus(people=100, texts=400, each=60)


@pytest.fixture(scope="module")
def parts(people: Corpus) -> Split:
    return split(people, question="offensive")


def noisy(parts: Split, share: float, seed: int) -> pl.DataFrame:
    """Predictions that are right except for a known share."""
    wrong = np.random.default_rng(seed).random(len(parts.test)) < share
    value = parts.test["value"].to_numpy()
    return parts.test.with_columns(pl.Series("value", np.where(wrong, 1 - value, value)))


def test_a_split_as_files_is_made_again_and_tells_no_answers(people: Corpus, tmp_path: Path) -> None:
    made = write_split(people, tmp_path / "split", question="offensive", adaptation="test", seed=3)
    test = pl.read_csv(tmp_path / "split" / "test.csv")
    assert test.columns == ["item", "rater"]
    assert len(test) == len(made.test)
    again = read_split(people, tmp_path / "split")
    assert again.test.equals(made.test)
    assert again.adaptation.equals(made.adaptation)
    assert set(pl.read_csv(tmp_path / "split" / "users.csv")["rater"]) >= set(test["rater"])
    with pytest.raises(InputError, match="are not those of the split"):
        read_split(corpus(people=100, texts=400, each=60, seed=9), tmp_path / "split")
    with pytest.raises(InputError, match="there is a split already"):
        write_split(people, tmp_path / "split", question="offensive")


def test_traits_of_unnamed_test_users_are_not_told(people: Corpus, tmp_path: Path) -> None:
    made = write_split(people, tmp_path / "split", question="offensive", users="unnamed", adaptation="test")
    assert not set(pl.read_csv(tmp_path / "split" / "users.csv")["rater"]) & set(made.test["rater"])


def test_any_file_of_predictions_is_read(people: Corpus, parts: Split, tmp_path: Path) -> None:
    truth = parts.test
    truth.write_parquet(tmp_path / "a.parquet")
    named = truth.select(pl.col("item").alias("text_id"), pl.col("rater").alias("annotator"), label="value")
    words = named.with_columns(pl.col("label").replace_strict({0.0: "No", 1.0: "yes"}))
    words.write_csv(tmp_path / "b.csv")
    for file in ("a.parquet", "b.csv"):
        read = read_predictions(tmp_path / file, people, "offensive")
        assert average_user(scored(read, parts, resamples=0), "yes")["estimate"] == 1.0
    words.with_columns(label=pl.lit("perhaps")).write_csv(tmp_path / "c.csv")
    with pytest.raises(InputError, match="'perhaps' is no answer"):
        read_predictions(tmp_path / "c.csv", people, "offensive")
    words.drop("label").write_csv(tmp_path / "d.csv")
    with pytest.raises(InputError, match="no column of the value"):
        read_predictions(tmp_path / "d.csv", people, "offensive")


def test_a_planted_difference_is_found_and_none_where_there_is_none(parts: Split) -> None:
    shares = {"good": 0.05, "poor": 0.4, "also good": 0.05}
    systems = {
        name: scored(noisy(parts, share, n), parts, resamples=200) for n, (name, share) in enumerate(shares.items())
    }
    board = {row["system"]: row for row in leaderboard(systems, "yes").iter_rows(named=True)}
    assert board["poor"]["place"] == 3
    assert not board["poor"]["first"]
    assert board["poor"]["behind_high"] < 0
    assert board["good"]["first"]
    assert board["also good"]["first"]
    pairs = {(row["first"], row["second"]): row for row in paired_differences(systems, "yes").iter_rows(named=True)}
    assert pairs["good", "poor"]["p_holm"] < 0.05
    assert pairs["good", "also good"]["p_holm"] > 0.05
    assert pairs["good", "poor"]["low"] > 0


def test_equal_systems_are_seldom_told_apart(parts: Split) -> None:
    found = 0
    for seed in range(20):
        systems = {name: scored(noisy(parts, 0.3, 2 * seed + n), parts, resamples=20) for n, name in enumerate("ab")}
        found += paired_differences(systems, "yes")["p"].item() < 0.05
    assert found <= 4


@pytest.mark.slow
def test_the_three_commands(people: Corpus, tmp_path: Path) -> None:
    folder = people.write(tmp_path / "corpus")
    made = RUN.invoke(
        app, ["perspective", "split", str(folder), "--question", "offensive", "--out", str(tmp_path / "split")]
    )
    assert made.exit_code == 0, made.output
    parts = read_split(people, tmp_path / "split")
    for n, (name, share) in enumerate({"good": 0.05, "poor": 0.4}.items()):
        noisy(parts, share, n).write_csv(tmp_path / f"{name}.csv")
    common = ["--split", str(tmp_path / "split"), "--resamples", "100"]
    told = RUN.invoke(app, ["perspective", "evaluate", str(folder), str(tmp_path / "good.csv"), *common, "--json"])
    assert told.exit_code == 0, told.output
    user = next(row for row in json.loads(told.stdout) if row["level"] == "user" and row["class"] == "yes")
    assert user["f1"] > 0.8
    files = [f"ours={tmp_path / 'good.csv'}", str(tmp_path / "poor.csv")]
    page = RUN.invoke(app, ["perspective", "compare", str(folder), *files, *common, "--out", str(tmp_path / "board")])
    assert page.exit_code == 0, page.output
    html = (tmp_path / "board" / "report.html").read_text("utf-8")
    assert all(name in html for name in ("ours", "poor", "majority (baseline)"))
    assert "The first of two systems meets the average user better" in page.stdout
    twice = RUN.invoke(app, ["perspective", "compare", str(folder), files[1], files[1], *common])
    assert twice.exit_code != 0


def test_the_baseline_is_the_majority_of_training(parts: Split) -> None:
    assert baseline(parts)["value"].unique().to_list() == [parts.train["value"].mode().min()]
