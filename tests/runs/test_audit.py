"""Auditing: which replies are drawn, what the page shows and hides, and what accuracy follows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from starlette.testclient import TestClient

from tests.runs.conftest import corpus
from vantage import Corpus, InputError
from vantage.raters.replies import parse_reply
from vantage.runs.audit import Case, accuracies, draw, load, reread, save
from vantage.runs.audit_page import page


def rated(replies: dict[str, list[str]]) -> Corpus:
    """A corpus with these replies to the question of trust, by model."""
    base = corpus(max(map(len, replies.values())))
    question = next(q for q in base.questions if q.id == "trust")
    rows = []
    for model, texts in replies.items():
        for number, text in enumerate(texts):
            read = parse_reply(text, question)
            rows.append((f"i{number:04}", "trust", model, "", 0, read.value, read.status, None, text, read.rule))
    schema: dict[str, Any] = {**base.judgments.schema, "reply": pl.String, "rule": pl.String}
    judged = pl.DataFrame(rows, schema=schema, orient="row")
    raters = pl.DataFrame({"rater": list(replies), "kind": ["model"] * len(replies), "model": list(replies)})
    return base.add(judged, raters)


def test_every_model_and_rule_is_drawn_and_weights_add_up_to_all_replies() -> None:
    told = {"a": ["2"] * 80 + ["Answer: 1"] * 15 + ["purple"] * 5, "b": ["-3"] * 10}
    cases = draw(rated(told), 20, seed=1)
    assert len(cases) == 20
    counts = Counter((case.model, case.rule) for case in cases)
    assert set(counts) == {("a", "whole:number"), ("a", "marker:number"), ("a", "no-answer"), ("b", "whole:number")}
    assert sum(case.weight for case in cases) == pytest.approx(110)
    assert draw(rated(told), 20, seed=1) == cases
    assert len(draw(rated(told), 1000)) == 110


def test_accuracy_weights_strata_and_counts_inventions() -> None:
    def case(rule: str, weight: float, read: str, meant: str) -> Case:
        return Case(("i", "trust"), "m", rule, weight, "trust", "…", read, meant)

    cases = [case("whole:number", 45, "2", "2"), case("whole:number", 45, "1", "1")]
    cases += [case("prose:number", 5, "3", "unparsed"), case("prose:number", 5, "3", "3")]
    (found,) = accuracies(cases)
    assert found.right == pytest.approx(0.95)
    assert (found.replies, found.invented, found.audited) == (100, 1, 4)
    assert 0 < found.low < 0.95 < found.high <= 1
    assert accuracies([replace(one, meant="") for one in cases]) == []


def test_the_interval_covers() -> None:
    """Of many audits of replies that are read right with probability 0.9, about 95 of 100 intervals hold 0.9."""
    random = np.random.default_rng(5)
    held = 0
    for _ in range(300):
        cases = [
            Case(("i",), "m", rule, weight, "q", "…", "1", "1" if random.random() < p else "2")
            for rule, weight, count, p in (("a", 8.0, 60, 0.95), ("b", 4.0, 30, 0.7))
            for _ in range(count)
        ]
        (found,) = accuracies(cases)
        held += found.low <= (0.95 * 480 + 0.7 * 120) / 600 <= found.high
    assert 0.92 <= held / 300 <= 0.995


def test_the_page_is_blind_and_keeps_what_was_read(tmp_path: Path) -> None:
    body = rated({"secret-model": ["2", "Answer: 1", "<b>purple</b>"]})
    cases = draw(body, 3)
    client = TestClient(page(cases, {q.id: q for q in body.questions}, lambda: save(tmp_path, cases), "/secret"))
    assert (client.get("/").status_code, client.post("/", data={"case": "0", "meant": "2"}).status_code) == (404, 404)
    assert "form-action 'self'" in client.get("/secret").headers["content-security-policy"]
    for _ in range(3):
        shown = client.get("/secret").text
        assert "secret-model" not in shown
        assert "number" not in shown
        assert "<b>purple" not in shown
        number = shown.split('name="case" value="')[1].split('"')[0]
        client.post("/secret", data={"case": number, "meant": "made up"})
        assert cases[int(number)].meant == ""
        client.post("/secret", data={"case": number, "meant": cases[int(number)].read})
    assert "100.0%" in client.get("/secret").text
    assert load(tmp_path) == cases
    (found,) = accuracies(load(tmp_path))
    assert (found.right, found.audited) == (1.0, 3)


def test_a_corpus_without_replies_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no replies"):
        draw(corpus(2), 5)
    (tmp_path / "audit.json").write_text("[]")
    with pytest.raises(InputError, match="this is no audit"):
        load(tmp_path)


def test_what_is_known_beforehand_counts_when_its_turn_has_come() -> None:
    cases = draw(rated({"m": ["2"] * 10}), 10)
    marked = [replace(case, meant="1") if n == 6 else case for n, case in enumerate(cases)]
    assert accuracies(marked) == []
    half = [replace(case, meant=case.meant or case.read) if n < 7 else case for n, case in enumerate(marked)]
    (found,) = accuracies(half)
    assert found.audited == 7
    assert found.right == pytest.approx(6 / 7)


def test_an_audit_is_about_the_parser_as_it_is_now() -> None:
    body = rated({"m": ["2", "3"]})
    cases = [replace(case, meant=case.read) for case in draw(body, 2)]
    first = pl.col("item") == "i0000"
    changed = body.judgments.with_columns(
        value=pl.when(first).then(1.0).otherwise("value"), reply=pl.when(~first).then(pl.lit("4")).otherwise("reply")
    )
    (case,) = reread(cases, body._with(judgments=changed))
    assert (case.key[0], case.read, case.meant) == ("i0000", "1", "2")
