"""Statements in the first person are told from others by their words."""

from __future__ import annotations

from pathlib import Path

import pytest

from vantage.studies.context.pipeline.dialogue import first_person


@pytest.mark.parametrize(
    "statement",
    [
        "I could listen to this all day.",
        "im so done",
        "@friend we’re nearly there",
        "That is my seat.",
        "Can't wait for Monday!",
        "Thanks for the tip.",
        "Oh well, guess the bus is late",
        "He said 'no' to us",
        "omg i’ll cry",
    ],
)
def test_first_person_statements_pass(statement: str) -> None:
    assert first_person(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "The bus is late.",
        "You should see this.",
        'She shouted "I am here" and left.',
        "The US has won.",
        "King Charles I.",
        "They like it, i.e. they stay.",
        "",
        "🙃🙃",
    ],
)
def test_others_do_not(statement: str) -> None:
    assert not first_person(statement)


@pytest.mark.data
def test_most_published_statements_are_first_person(data_dir: Path) -> None:
    from vantage.corpora.readers import load

    corpus = load("isarcasm", data_dir / "social-cognition" / "isarcasmeval")
    told = [first_person(text) for text in corpus.items["text"].drop_nulls()]
    assert 0.55 < sum(told) / len(told) < 0.65
