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
from vantage.corpora.disclosure import DisclosureWarning
from vantage.interop.benchmark import read_predictions, read_split, scored, write_split
from vantage.perspective import Split, average_user, split

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


def test_a_split_is_guarded_as_other_files_are(people: Corpus, tmp_path: Path) -> None:
    jobs = pl.Series("job", [f"job {number}" for number in range(len(people.raters))])
    items = people.items.with_columns(note=pl.lit("=1+1"))
    known = Corpus(items, people.raters.with_columns(jobs), people.judgments, people.instruments)
    with pytest.raises(InputError, match="raters could be identified"):
        write_split(known, tmp_path / "split", question="offensive", strict=True)
    assert not (tmp_path / "split").exists()
    with pytest.warns(DisclosureWarning, match="raters could be identified"):
        write_split(known, tmp_path / "split", question="offensive")
    assert set(pl.read_csv(tmp_path / "split" / "texts.csv")["note"]) == {"'=1+1"}
    predicted = pl.DataFrame({"item": ["'=a"], "rater": ["'@b"], "value": [1.0]})
    predicted.write_csv(tmp_path / "predicted.csv")
    read = read_predictions(tmp_path / "predicted.csv", people, "offensive")
    assert read.select("item", "rater").rows() == [("=a", "@b")]


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
    with pytest.raises(InputError, match="'perhaps' is not an answer"):
        read_predictions(tmp_path / "c.csv", people, "offensive")
    shares = truth.select("item").unique().with_columns(probabilities=pl.lit("[0.25, 0.75]"))
    shares.write_csv(tmp_path / "e.csv")
    read = read_predictions(tmp_path / "e.csv", people, "offensive")
    assert read.columns == ["item", "probabilities"]
    assert read["probabilities"][0].to_list() == [0.25, 0.75]
    shares.with_columns(probabilities=pl.lit("[0.25, no]")).write_csv(tmp_path / "e.csv")
    with pytest.raises(InputError, match="row 2, column 'probabilities': this is not a list of numbers"):
        read_predictions(tmp_path / "e.csv", people, "offensive")
    words.drop("label").write_csv(tmp_path / "d.csv")
    with pytest.raises(InputError, match="no column of the value"):
        read_predictions(tmp_path / "d.csv", people, "offensive")


@pytest.mark.slow
def test_the_three_commands(people: Corpus, tmp_path: Path) -> None:
    folder = people.write(tmp_path / "corpus")
    made = RUN.invoke(
        app, ["perspective", "split", str(folder), "--question", "offensive", "--to", str(tmp_path / "split")]
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
    people_of = ["--data", str(folder), "--split", str(tmp_path / "split")]
    page = RUN.invoke(app, ["perspective", "leaderboard", *files, *people_of, "--to", str(tmp_path / "board")])
    assert page.exit_code == 0, page.output
    html = (tmp_path / "board" / "report.html").read_text("utf-8")
    assert [name for name in ("ours", "poor", "rater at the floor", "modal answer") if name not in html] == []
    assert "The first of two systems has more skill" in page.stdout
    twice = RUN.invoke(app, ["perspective", "leaderboard", files[1], files[1], *people_of])
    assert twice.exit_code != 0
