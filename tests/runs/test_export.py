from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from vantage import InputError
from vantage.runs import RunOptions, RunStore, run
from vantage.runs.export import COLUMNS, calls, export

from .conftest import MakePlan, case


@pytest.fixture
def filled(endpoint: Endpoint, plan: MakePlan, store: RunStore) -> RunStore:
    def reply(body: dict[str, object]) -> Answer | str:
        return Answer(status=400, error={"message": "no"}) if case(body) == 3 else "=2+2"

    endpoint.reply = reply
    run(plan(4), store, RunOptions(clarify=False))
    run(plan(2, samples=2), store, RunOptions(clarify=False))
    return store


def test_calls_come_with_their_prompts(filled: RunStore) -> None:
    found = list(calls(filled))
    assert [call["finish"] for call in found] == ["stop"] * 5 + ["failed"]
    assert "bad" in found[-1]["error"] or "(400: no)" in found[-1]["error"]
    # Calls stand in the order of their arrival, which nothing fixes.
    first = next(call for call in found if call["item"] == "i0000" and call["sample"] == 0)
    assert (first["item"], first["question"], first["sample"], first["rater"]) == (
        *("i0000", "trust", 0),
        "openai:tester+zero-shot",
    )
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert "case 0000" in first["messages"][1]["content"]
    assert json.loads(first["settings"])["max_tokens"] == 512


def test_a_run_has_the_calls_that_it_sent_and_those_that_it_found(filled: RunStore) -> None:
    assert len(list(calls(filled, run=1))) == 4
    assert [call["sample"] for call in calls(filled, run=2)] == [0, 0, 1, 1]
    assert len(list(calls(filled, run=2, limit=3))) == 3


def test_every_format_says_the_same(filled: RunStore, tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.csv", "a.parquet"):
        assert export(filled, tmp_path / name) == 6
    parquet = pl.read_parquet(tmp_path / "a.parquet")
    assert parquet.columns == list(COLUMNS)
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
    assert rows == parquet.to_dicts()
    # A spreadsheet must not take a reply for a formula.
    assert set(pl.read_csv(tmp_path / "a.csv")["reply"].drop_nulls()) == {"'=2+2"}
    export(filled, tmp_path / "b.parquet", prompts=False)
    assert "messages" not in pl.read_parquet(tmp_path / "b.parquet").columns
    with pytest.raises(InputError, match=r"use .jsonl, .csv, .parquet"):
        export(filled, tmp_path / "a.xlsx")
    with pytest.raises(InputError, match="cannot be written"):
        export(filled, tmp_path / "nowhere" / "a.csv")
