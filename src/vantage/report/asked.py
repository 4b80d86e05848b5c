"""What is known of the models behind a report: their profiles, how well replies were read, how much they think."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import VantageError
from vantage.runs.audit import accuracies, load
from vantage.runs.profiles import profiles
from vantage.runs.store import NAME, RunStore


def asked_models(corpus: Corpus, folders: Iterable[Path | None] = ()) -> list[dict[str, Any]]:
    """One row per model of which anything is known: from the replies, and from audits and run stores in folders."""
    rows_of: dict[str, dict[str, Any]] = {}
    for row in _thinking(corpus):
        rows_of.setdefault(row.pop("model"), {}).update(row)
    for folder in dict.fromkeys(place for place in folders if place is not None and place.is_dir()):
        for row in _audited(folder):
            rows_of.setdefault(row.pop("model"), {}).update(row)
        for row in _profiled(folder):
            name = str(row.pop("model"))
            known = next((one for one in rows_of if one == name or one.endswith(f":{name}")), name)
            rows_of.setdefault(known, {}).update(row)
    return [{"model": model, **row} for model, row in sorted(rows_of.items())]


def _thinking(corpus: Corpus) -> list[dict[str, Any]]:
    """How many replies came with thinking, and how long that was."""
    if "thinking" not in corpus.judgments.columns:
        return []
    model = pl.col("model").fill_null(pl.col("rater")) if "model" in corpus.raters.columns else pl.col("rater")
    models = corpus.raters.select("rater", model.alias("model"))
    words = pl.col("thinking").str.split(" ").list.len().filter(pl.col("thinking").is_not_null())
    answered = corpus.judgments.filter(pl.col("reply").is_not_null() if "reply" in corpus.judgments.columns else True)
    share = pl.col("thinking").is_not_null().mean().alias("thought")
    rows = answered.join(models, on="rater").group_by("model").agg(share, words.mean().alias("thinking_words"))
    return rows.filter(pl.col("thought") > 0).to_dicts()


def _audited(folder: Path) -> list[dict[str, Any]]:
    """How many replies were read as a person reads them."""
    try:
        return [
            {"model": one.model, "read_right": one.right, "low": one.low, "high": one.high, "audited": one.audited}
            for one in accuracies(load(folder))
        ]
    except VantageError:
        return []


def _profiled(folder: Path) -> list[dict[str, Any]]:
    """What probing the endpoint showed."""
    if not (folder / NAME).is_file():
        return []
    wanted = ("model", "schema", "logprobs", "thinks", "window", "repeats", "probed")
    try:
        with RunStore(folder / NAME, read_only=True) as store:
            return [{name: value for name, value in asdict(one).items() if name in wanted} for one in profiles(store)]
    except VantageError:
        return []
