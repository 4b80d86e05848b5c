from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.studies.perseval.made import write
from vantage.report.record import Record
from vantage.studies.execution import Context
from vantage.studies.perseval.cells import PersevalOptions
from vantage.studies.perseval.sources import CorpusTask, read, tasks
from vantage.studies.perseval.stored import Predictions, by_rater


def context(folder: Path | None, seed: int = 0) -> Context[PersevalOptions]:
    return Context(PersevalOptions(), Record("perseval", "Perseval", seed=seed), folder=folder, seed=seed)


def the_task(tmp_path: Path) -> CorpusTask:
    return next(tasks(read(write(tmp_path), ["made"]), ["made"]))


def test_what_was_put_is_found_again_and_only_for_the_same_test_set_and_seed(tmp_path: Path) -> None:
    task = the_task(tmp_path)
    frame = task.split().test
    Predictions(task, context(tmp_path / "out")).put("tfidf", "strict", frame)
    found = Predictions(task, context(tmp_path / "out")).find("tfidf", "strict")
    assert found is not None
    assert found.equals(frame)
    assert Predictions(task, context(tmp_path / "out")).find("tfidf", "extended") is None
    assert Predictions(task, context(tmp_path / "out", seed=1)).find("tfidf", "strict") is None


def test_a_file_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    task = the_task(tmp_path)
    Predictions(task, context(tmp_path / "out")).put("tfidf", "strict", task.split().test)
    (file,) = (tmp_path / "out" / "predictions").iterdir()
    file.write_bytes(file.read_bytes()[:40])
    assert Predictions(task, context(tmp_path / "out")).find("tfidf", "strict") is None


def test_predictions_go_into_the_corpus_and_come_out_the_same(tmp_path: Path) -> None:
    task = the_task(tmp_path)
    whole = read(tmp_path / "made", ["made"])
    frame = task.split().test.with_columns(
        pl.when(pl.col("item") == "t05").then(None).otherwise("value").alias("value")
    )
    kept = Predictions(task, context(None))
    kept.put("tfidf", "strict", frame)
    corpus = kept.added(whole)
    assert by_rater(corpus, task)["tfidf", "strict"].equals(frame.sort("rater", "item"))
    unread = corpus.judgments.filter(pl.col("value").is_null())
    assert unread["status"].cast(pl.String).unique().to_list() in (["unparsed"], [])
    assert by_rater(whole, task) == {}
