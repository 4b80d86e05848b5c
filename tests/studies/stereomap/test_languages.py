"""Another society in another language: by parameters and files alone, and the report says what is English only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from vantage.instruments import Instrument
from vantage.studies import run
from vantage.studies.stereomap.elicitation import blocks, keyword_words

PLACES = {"pfleger": (4, 5), "banker": (5, 2), "rentner": (2, 4), "obdachlose": (1, 2)}


def german(folder: Path) -> dict[str, Any]:
    """The instrument and the keyword questions as a user would translate them; two questions are enough to tell."""
    document = {**Instrument.load("stereotype-content").document, "language": "de"}
    document["questions"] = [
        {**question, "ask": "Wie {group} in den Augen der {society} wirken: " + question["id"]}
        for question in document["questions"]
    ]
    (folder / "fragen.yaml").write_text(yaml.safe_dump(document, allow_unicode=True, sort_keys=False), "utf-8")
    words = {**keyword_words(), "traits": "Welche fünf Wörter fallen der {society} zu {group} ein?"}
    (folder / "woerter.yaml").write_text(yaml.safe_dump(words, allow_unicode=True), "utf-8")
    return {"instrument": str(folder / "fragen.yaml"), "keyword_prompts": str(folder / "woerter.yaml")}


def test_german_questions_about_german_society(tmp_path: Path) -> None:
    files = german(tmp_path)
    (tmp_path / "gruppen.txt").write_text("Pfleger\nBanker\nRentner\nObdachlose\n", "utf-8")
    traits = blocks(Instrument.load("stereotype-content:short"))["traits"]
    warm = {"tolerant", "warm", "good-natured", "sincere", "friendly", "well-intentioned", "trustworthy"}
    rows = []
    for item, (competence, warmth) in PLACES.items():
        ratings = {question: warmth if question in warm else competence for question in traits}
        rows.append((item, "traits", json.dumps(ratings)))
        rows.append((item, "traits-keywords", "1. Fürsorglich: Sie pflegen Kranke.\n2. Fleißig: Lange Schichten."))
        rows.append((item, "structure", "Ich kann das nicht beurteilen."))
    frame = pl.DataFrame([(*row, 0) for row in rows], schema=["item", "question", "reply", "sample"], orient="row")
    frame.write_parquet(tmp_path / "antworten.parquet")
    report = run(
        "stereomap",
        models=[f"recorded:{tmp_path / 'antworten.parquet'}"],
        groups=str(tmp_path / "gruppen.txt"),
        society="deutschen Gesellschaft",
        form="short",
        runs=1,
        k=2,
        resamples=5,
        **files,
    )
    tables = {table.name: table.frame for table in report.result.tables}
    placed = {row["item"]: (row["competence"], row["warmth"]) for row in tables["groups"].iter_rows(named=True)}
    assert placed == {item: tuple(map(float, place)) for item, place in PLACES.items()}
    assert any("another language (de)" in sentence for sentence in report.result.warnings)
    # No German word stands in the dictionary that comes with Vantage.
    assert "keyword-dimensions" not in tables
    texts = [text for part in report.result.sections for text in part.text]
    assert "Of 8 trait keywords about groups in clusters, the dictionary knows 0." in texts
