"""Texts that people judge without knowing where they come from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

from vantage.corpora import About, Corpus
from vantage.studies.execution import blinded, leave


def drawn(*posts: str) -> Corpus:
    rows = pl.DataFrame({"post": posts, "question": "Why?", "answer": "5", "rationale": "So.", "source": "gold"})
    return blinded(rows, "rationale-quality", About(name="reasons"), 0, ["source", "post"])


def test_what_an_earlier_run_left_is_kept_and_said_to_be_of_that_run(tmp_path: Path) -> None:
    warnings: list[str] = []
    context: Any = SimpleNamespace(folder=tmp_path, warn=warnings.append)
    for items in (drawn("one", "two"), drawn("one", "two"), drawn("two", "three")):
        leave(context, "evaluation", items, "reasons", "--study flow:reason-check", "come back")
    assert ["2 reasons are ready" in warning for warning in warnings] == [True, True, False]
    assert "the reasons of an earlier run; move it away to draw" in warnings[2]
    assert set(Corpus.read(tmp_path / "evaluation").items["post"]) == {"one", "two"}
