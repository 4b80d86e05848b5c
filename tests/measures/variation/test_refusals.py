"""Refusals apart from replies that could not be read and calls that failed."""

from __future__ import annotations

import polars as pl
import pytest

from vantage.measures.variation.refusals import refusals


def judgments(**statuses: int) -> pl.DataFrame:
    rows = [(f"{status}{n}", status) for status, count in statuses.items() for n in range(count)]
    return pl.DataFrame(
        {
            "item": ["g"] * len(rows),
            "rater": ["m"] * len(rows),
            "sample": list(range(len(rows))),
            "value": [3.0 if status == "answered" else None for _, status in rows],
            "status": [status for _, status in rows],
        },
        schema_overrides={"value": pl.Float64},
    )


def test_each_kind_is_counted_for_itself() -> None:
    row = refusals(judgments(answered=5, refused=3, unparsed=2, failed=4, ambiguous=1)).row(0, named=True)
    assert (row["answered"], row["refused"], row["unparsed"], row["failed"], row["opted_out"]) == (5, 3, 2, 4, 1)
    assert row["estimate"] == pytest.approx(3 / 11)
    assert row["unparsed_share"] == pytest.approx(2 / 11)
    assert row["left_out"] == {"failed": 4}


def test_unreadable_replies_are_no_refusals() -> None:
    assert refusals(judgments(unparsed=5))["estimate"].to_list() == [0.0]


def test_without_a_reply_there_is_no_rate() -> None:
    row = refusals(judgments(failed=3)).row(0, named=True)
    assert row["estimate"] is None
    assert row["reason"] == "no reply was received"


def test_what_is_refused_in_one_reply_counts_once_for_the_interval() -> None:
    one = judgments(answered=5, refused=5)
    ten = pl.concat([one.with_columns(pl.lit(f"q{n}").alias("question")) for n in range(10)])
    narrow, wide = refusals(one.with_columns(pl.lit("q").alias("question"))), refusals(ten)
    assert narrow.select("estimate", "low", "high").rows() == wide.select("estimate", "low", "high").rows()


def test_raters_are_kept_apart() -> None:
    both = pl.concat([judgments(refused=2), judgments(answered=2).with_columns(pl.lit("n").alias("rater"))])
    assert dict(refusals(both, by="rater").select("rater", "estimate").iter_rows()) == {"m": 1.0, "n": 0.0}


def test_the_interval_says_that_replies_to_one_item_depend_on_each_other() -> None:
    rows = {"item": [*"aabb"], "rater": [*"mnmn"], "value": [None] * 4, "status": ["refused", "answered"] * 2}
    together = refusals(rows, by=()).row(0, named=True)
    assert together["estimate"] == 0.5
    assert together["reason"].startswith("the interval takes replies for independent")
    assert refusals(rows)["reason"].to_list() == [None] * 4
