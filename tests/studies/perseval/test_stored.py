from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.studies.perseval.made import write
from vantage.studies.perseval.sources import added, by_rater, read, tasks


def test_predictions_go_into_the_corpus_and_come_out_the_same(tmp_path: Path) -> None:
    whole = read(write(tmp_path), ["made"])
    task = next(tasks(whole, ["made"]))
    frame = task.split().test.with_columns(
        pl.when(pl.col("item") == "t05").then(None).otherwise("value").alias("value")
    )
    corpus = added(whole, task, {("tfidf", "strict"): frame, ("m: base", "any"): frame})
    read_back = by_rater(corpus, task)
    assert read_back["tfidf", "strict"].equals(frame.sort("rater", "item"))
    assert set(read_back) == {("tfidf", "strict"), ("m: base", "any")}
    kinds = dict(corpus.raters.filter(pl.col("model").is_not_null()).select("model", "kind").unique().iter_rows())
    assert kinds == {"tfidf": "trained", "m: base": "persona"}
    unread = corpus.judgments.filter(pl.col("value").is_null())
    assert unread["status"].cast(pl.String).unique().to_list() in (["unparsed"], [])
    assert by_rater(whole, task) == {}
    assert added(whole, task, {}) is whole
