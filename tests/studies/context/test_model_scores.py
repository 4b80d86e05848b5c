"""Scores of models are what a plain computation gives, and conditions are compared on the same items."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score

from tests.studies.context.judged import judged_corpus
from vantage import Instrument
from vantage.measures.resampling import Resampling
from vantage.studies.context.model_scores import Scoring, before_and_after, common_items, selective, with_controls

SCALE = Instrument.load("sarcasm").questions[0].scale


def scored(**options: object) -> tuple[Scoring, pl.DataFrame]:
    corpus, labels = judged_corpus(30, {"m": (0.7, 0.9)}, **options)  # type: ignore[arg-type]
    scoring = Scoring(SCALE, labels.select("item", "value"), Resampling("items", resamples=100))
    return scoring, scoring.beside_labels(corpus.judgments)


def by_hand(judged: pl.DataFrame) -> float:
    """Macro F1 over the two labels, the mean over runs; what is no label is a third class that is not averaged."""
    runs = [
        f1_score(run["gold"], run["value"].fill_null(9), labels=[0, 1], average="macro", zero_division=0)
        for (_,), run in judged.group_by("sample")
    ]
    return float(np.mean(runs))


def test_f1_is_the_mean_over_runs_with_ambiguous_counted_wrong() -> None:
    scoring, judged = scored()
    (row,) = before_and_after(scoring, judged, (), 0)
    assert row["static"] == pytest.approx(by_hand(judged.filter(condition="static")))
    assert row["context"] == pytest.approx(by_hand(judged.filter(condition="context")))
    assert row["difference_low"] <= row["difference"] <= row["difference_high"]
    assert judged.filter(condition="static")["value"].null_count() > 0


def test_selective_answers_take_context_for_flagged_items_only() -> None:
    scoring, judged = scored()
    mixed = selective(judged, ["i000", "i001", "nowhere"])
    assert len(mixed) == len(judged.filter(condition="static"))
    some = mixed.filter(item="i000").sort("sample")["value"].to_list()
    assert some == judged.filter(item="i000", condition="context").sort("sample")["value"].to_list()
    row = before_and_after(scoring, judged, ["i000", "i001"], 0)[0]
    assert row["selective"] == pytest.approx(by_hand(mixed))
    everything = before_and_after(scoring, judged, judged["item"].unique().to_list(), 0)[0]
    assert everything["selective"] == everything["random"] == pytest.approx(everything["context"])


def test_a_flagged_item_without_a_context_keeps_its_answers() -> None:
    _, judged = scored()
    lost = judged.filter(~((pl.col("item") == "i000") & (pl.col("condition") == "context")))
    kept = selective(lost, ["i000"]).filter(item="i000").sort("sample")["value"].to_list()
    assert kept == judged.filter(item="i000", condition="static").sort("sample")["value"].to_list()
    assert "i000" not in common_items(lost, ["static", "context"])["item"]


def test_a_part_without_items_says_why_it_has_no_score() -> None:
    scoring, judged = scored()
    rows = before_and_after(scoring, judged, ["nowhere"], 0)
    assert rows[1]["items"] == 0
    assert rows[1]["reason"] == "no item of this part was judged under all conditions"
    assert "static" not in rows[1]


def test_answers_follow_a_context_when_they_are_its_label() -> None:
    scoring, judged = scored(controls=True)
    rows = {
        row["written_for"]: row for row in with_controls(scoring, judged, ["context", "context-opposite", "context-x"])
    }
    assert set(rows) == {"label", "opposite"}
    mine = judged.filter(condition="context-opposite")
    assert rows["opposite"]["follows"] == pytest.approx((mine["value"] == 1 - mine["gold"]).mean())
    alone = judged.filter(condition="static")
    share = (alone["value"] == 1 - alone["gold"]).fill_null(value=False).mean()
    assert rows["opposite"]["follows_static"] == pytest.approx(share)
