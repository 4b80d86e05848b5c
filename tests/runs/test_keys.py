from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage import ChatRater, Instrument
from vantage.raters import Personas
from vantage.raters.conversation import Ask
from vantage.raters.models.base import Message, Request, Sampling
from vantage.runs.keys import Keys, identity

INSTRUMENT = Instrument.load("warmth-competence")
ASK = Ask(Request((Message("system", "Rate."), Message("user", "A text")), Sampling(seed=1), tag=("a", "trust", 0)))


def key(ask: Ask = ASK, *, condition: str = "", instrument: Instrument = INSTRUMENT, **rater: Any) -> bytes:
    return Keys(ChatRater(**{"model": "openai:x", **rater}), instrument, condition).call(ask).key


def asked(**changes: Any) -> Ask:
    return replace(ASK, request=replace(ASK.request, **changes))


def test_the_same_question_has_the_same_key_whoever_asks_and_however_it_is_sent() -> None:
    assert key() == key()
    settings = {"base_url": "http://localhost:9/v1", "timeout": 5, "concurrency": 99, "max_retries": 0}
    other = {**settings, "base_url": "http://node17:8000/v1", "timeout": 7}
    assert key(settings=settings) == key(settings=other)
    assert key(asked(tag=("b", "trust", 0))) == key()
    assert key(asked(sampling=Sampling(temperature=0, seed=1))) == key()


@pytest.mark.parametrize(
    "other",
    [
        lambda: key(replace(ASK, sample=4)),
        lambda: key(replace(ASK, options=("1", "2"))),
        lambda: key(replace(ASK, step="why")),
        lambda: key(asked(sampling=Sampling(seed=2))),
        lambda: key(asked(sampling=Sampling(seed=None))),
        lambda: key(asked(sampling=Sampling(temperature=0.1, seed=1))),
        lambda: key(asked(sampling=Sampling(top_p=0.9, seed=1))),
        lambda: key(asked(sampling=Sampling(max_tokens=9, seed=1))),
        lambda: key(asked(schema={"type": "object"})),
        lambda: key(asked(messages=(Message("system", "Rate."), Message("user", "A text ")))),
        lambda: key(asked(messages=(Message("user", "Rate."), Message("user", "A text")))),
        lambda: key(asked(messages=(Message("user", "A text"),))),
        lambda: key(model="openai:y"),
        lambda: key(settings={"base_url": "https://api.example.org/v1"}),
        lambda: key(condition="static"),
        lambda: key(style="persona", persona=Personas.load("pool")[0]),
        lambda: key(instrument=replace(INSTRUMENT, version=99)),
    ],
)
def test_whatever_is_asked_differently_is_another_call(other: Callable[[], bytes]) -> None:
    assert other() != key()


texts = st.text(max_size=20)
asks = st.builds(
    lambda messages, sample, seed: Ask(
        Request(tuple(Message("user", text) for text in messages), Sampling(seed=seed)), sample=sample
    ),
    st.lists(texts, max_size=3),
    st.integers(0, 3),
    st.none() | st.integers(-5, 5),
)


@given(asks, asks)
def test_keys_agree_exactly_where_requests_do(one: Ask, other: Ask) -> None:
    assert (key(one) == key(other)) == (one == other)


def test_recorded_answers_are_known_by_item_and_by_what_the_file_holds(tmp_path: Path) -> None:
    file = tmp_path / "replies.csv"
    file.write_text("item,question,reply\na,trust,2\n", encoding="utf-8")
    name = f"recorded:{file}"
    first = key(model=name)
    assert key(asked(tag=("b", "trust", 0)), model=name) != first
    moved = file.rename(tmp_path / "elsewhere.csv").rename(file)
    assert key(model=f"recorded:{moved}") == first
    file.write_text("item,question,reply\na,trust,3\n", encoding="utf-8")
    assert key(model=name) != first


def test_a_model_file_is_known_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for folder, last in (("one", b"x"), ("two", b"x")):
        (tmp_path / folder / "m.gguf").write_bytes(b"GGUF" + bytes(3 * 2**20) + last)
    same = [identity(ChatRater(f"gguf:{tmp_path / folder / 'm.gguf'}")) for folder in ("one", "two")]
    assert same[0] == same[1]
    (tmp_path / "two" / "m.gguf").write_bytes(b"GGUF" + bytes(3 * 2**20) + b"y")
    assert identity(ChatRater(f"gguf:{tmp_path / 'two' / 'm.gguf'}")) != same[0]


def test_nothing_secret_is_part_of_a_key() -> None:
    settings = {"base_url": "https://me:password@api.example.org/v1?token=abc", "key_variable": "MY_KEY"}
    told = str(identity(ChatRater("openai:x", settings=settings)))
    assert "password" not in told
    assert "abc" not in told
    assert "MY_KEY" not in told
