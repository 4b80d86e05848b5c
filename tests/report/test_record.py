from __future__ import annotations

import polars as pl

from vantage import demo_corpus
from vantage.report.record import Record, versions


def test_a_record_survives_json_and_forgets_what_it_does_not_know() -> None:
    record = Record("demo", "Title", options={"a": 1}, planned={"m": 3})
    assert Record.from_data({**record.to_data(), "later": 1}) == record


def test_people_are_counted_together_and_models_by_name() -> None:
    corpus = demo_corpus()
    rows = pl.DataFrame(
        {
            "item": corpus.items["item"][:2],
            "question": "trust",
            "rater": "m",
            "value": [None, 1.0],
            "status": ["refused", "answered"],
        }
    )
    corpus = corpus.add(rows, pl.DataFrame({"rater": ["m"], "kind": ["model"]}))
    record = Record("x", "y", planned={"m": 5})
    record.describe(corpus)
    assert record.counts["all people"]["answered"] == 741
    assert (record.counts["m"]["refused"], record.counts["m"]["answered"]) == (1, 1)
    assert record.unfinished == {"m": (2, 5)}
    assert record.instruments[0]["id"] == "warmth-competence"


def test_versions_name_vantage_python_and_libraries() -> None:
    found = versions(["no-such-library"])
    assert {"vantage", "python", "polars", "matplotlib"} <= set(found)
    assert "no-such-library" not in found
