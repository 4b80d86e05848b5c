"""Predictions as judgments: a rater that stands for a user, in the study's corpus and in one file per finished cell."""

from __future__ import annotations

import re
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.studies.execution import Context
from vantage.studies.perseval.sources import CorpusTask

FOLDER: Final = "predictions"
PAIR: Final = ("item", "rater", "value")


class Predictions:
    """Predictions of one corpus, by rater and variant: kept in the folder as they come, added to the corpus at the end.

    A variant is that of a cell, `trait:NAME` (about one trait only) or `jury` (for people of a chosen composition).
    """

    def __init__(self, task: CorpusTask, context: Context[Any]) -> None:
        self.task = task
        self._folder = None if context.folder is None else context.folder / FOLDER
        self._frames: dict[tuple[str, str, str], pl.DataFrame] = {}
        self._test = _digest(task, context.record.options, context.seed)

    def find(self, rater: str, variant: str, kind: str = "trained") -> pl.DataFrame | None:
        """The predictions of a cell that was finished before; null where there are none."""
        key = (rater, variant, kind)
        path = self._path(rater, variant)
        if key not in self._frames and path is not None and path.is_file():
            try:
                self._frames[key] = pl.read_parquet(path).select(PAIR)
            except (OSError, pl.exceptions.PolarsError):
                # A file that was cut off is made again.
                path.unlink(missing_ok=True)
        return self._frames.get(key)

    def put(self, rater: str, variant: str, frame: pl.DataFrame, kind: str = "trained") -> pl.DataFrame:
        """Keeps the predictions of a finished cell: `item`, `rater` (the user), `value`."""
        predicted = frame.select(pl.col("item", "rater"), pl.col("value").cast(pl.Float64))
        path = self._path(rater, variant)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_suffix(".part")
            predicted.write_parquet(beside)
            beside.replace(path)
        self._frames[rater, variant, kind] = predicted
        return predicted

    def added(self, corpus: Corpus) -> Corpus:
        """The corpus with all of them; each user whom a rater stands for is a row of the raters table."""
        if not self._frames:
            return corpus
        judged, raters = [], []
        for (rater, variant, kind), frame in self._frames.items():
            id_ = pl.format("{}/{}/{}/@{}", pl.lit(self.task.name), pl.lit(rater), pl.lit(variant), "rater")
            status = pl.when(pl.col("value").is_null()).then(pl.lit("unparsed")).otherwise(pl.lit("answered"))
            about = {"kind": "trained" if kind == "trained" else "persona", "model": rater, "style": variant}
            named = frame.with_columns(
                *(pl.lit(value).alias(name) for name, value in {**about, "corpus": self.task.name}.items()),
                rater=id_,
                status=status,
                question=pl.lit(self.task.question),
                stands_for="rater",
            )
            judged.append(named.select("item", "question", "rater", "value", "status"))
            raters.append(named.unique("rater", maintain_order=True).select("rater", *about, "stands_for", "corpus"))
        return corpus.add(pl.concat(judged), pl.concat(raters))

    def _path(self, rater: str, variant: str) -> Path | None:
        if self._folder is None:
            return None
        name = f"{self.task.name}-{rater}-{variant}"
        slug = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:80]
        digest = blake2b(f"{name}\0{self._test}".encode(), digest_size=6).hexdigest()
        return self._folder / f"{slug}-{digest}.parquet"


def by_rater(corpus: Corpus, task: CorpusTask) -> dict[tuple[str, str], pl.DataFrame]:
    """The predictions of a corpus of the study, by rater and variant: what `Predictions.added` put there."""
    if "stands_for" not in corpus.raters.columns:
        return {}
    chosen = corpus.raters.filter(pl.col("stands_for").is_not_null(), corpus=task.name)
    chosen = chosen.select("rater", "stands_for", "model", "style")
    rows = corpus.judgments.filter(pl.col("question") == task.question).join(chosen, on="rater")
    rows = rows.select("item", pl.col("stands_for").alias("rater"), "value", "model", "style").sort("rater", "item")
    return {
        (str(model), str(style)): part.select(PAIR)
        for (model, style), part in rows.group_by("model", "style", maintain_order=True)
    }


def _digest(task: CorpusTask, options: dict[str, Any], seed: int) -> str:
    """What predictions depend on besides rater and variant: the test set, the options and the seed."""
    digest = blake2b(digest_size=8)
    for row in task.split().test.sort("item", "rater").iter_rows():
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    digest.update(repr((sorted(options.items()), seed)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
