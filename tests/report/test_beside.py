"""Models beside people, where the models did not answer the same items."""

from __future__ import annotations

import numpy as np
import polars as pl

from vantage import Corpus, Instrument, Scale
from vantage.report import beside
from vantage.report.beside import CorpusAnalysis
from vantage.report.engine import Data


def corpus(*, picky: bool) -> Corpus:
    """Two models that err alike, more often on the first half of the items, which one of them may leave out."""
    rng = np.random.default_rng(0)
    rows: list[tuple[str, str, str, int | None, str]] = []
    for item in range(60):
        rows += [(str(item), f"p{n}", "person", item % 2, "answered") for n in range(3)]
        right = rng.random() < (0.5 if item < 30 else 0.9)
        for model in ("all", "picky"):
            left_out = picky and model == "picky" and item < 30
            value = None if left_out else item % 2 if right else 1 - item % 2
            rows.append((str(item), model, "model", value, "refused" if left_out else "answered"))
    frame = pl.DataFrame(rows, schema=["item", "rater", "kind", "value", "status"], orient="row")
    judgments = frame.select("item", "rater", "value", "status", question=pl.lit("yes"))
    raters = frame.select("rater", "kind").unique().sort("rater")
    items = frame.select("item", text=pl.col("item")).unique().sort("item")
    return Corpus(items, raters, judgments, Instrument.of_questions("q", "Q", {"yes": Scale.labels("no", "yes")}))


def scores(*, picky: bool) -> tuple[pl.DataFrame, str | None]:
    data = beside.accuracies(CorpusAnalysis(corpus(picky=picky)))
    assert isinstance(data, Data)
    return data.frame.filter(metric="accuracy").sort("rater"), data.facts["unequal"]


def test_models_are_scored_on_the_items_that_all_of_them_answered() -> None:
    frame, note = scores(picky=True)
    everything, easy = frame.row(0, named=True), frame.row(1, named=True)
    assert (everything["items"], easy["items"]) == (60, 30)
    assert everything["estimate"] < easy["estimate"]
    assert everything["same_items"] == easy["same_items"] == easy["estimate"]
    assert note is not None
    assert note.startswith("Models answered different items.")


def test_models_that_answered_everything_need_no_second_score() -> None:
    frame, note = scores(picky=False)
    assert "same_items" not in frame.columns
    assert note is None


def test_models_without_a_common_item_are_said_not_to_be_comparable() -> None:
    both = corpus(picky=True)
    apart = (pl.col("rater") != "all") | (pl.col("item").cast(pl.Int64) < 30)
    part = Corpus(both.items, both.raters, both.judgments.filter(apart), both.instruments)
    data = beside.accuracies(CorpusAnalysis(part))
    assert isinstance(data, Data)
    assert data.facts["unequal"].endswith("No item was answered by all of them, so their scores cannot be compared.")
