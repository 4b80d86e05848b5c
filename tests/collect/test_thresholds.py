"""Limits that decide what becomes of people's answers, each at its exact value and just beyond."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from vantage.collect import copied_reasons, drafts, quality
from vantage.collect.document import RaterFact, Rule
from vantage.collect.web.signing import COOKIE_LIFE, DAY, StudySigner

NOW = 1_800_000_000.0
SIGNER = StudySigner(b"a secret of the study")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the time, which otherwise stands still."""
    seen = {"now": NOW}
    monkeypatch.setattr("time.time", lambda: seen["now"])
    return lambda later: seen.update(now=NOW + later)


@pytest.mark.parametrize(("age", "taken"), [(0, True), (7 * DAY, True), (7 * DAY + 1, False)])
def test_a_form_is_taken_for_seven_days(clock: Callable[[float], None], age: float, taken: bool) -> None:
    token = SIGNER.sign_form("p1", "item/2")
    clock(age)
    found = SIGNER.check_form(token, "p1")
    assert (found is not None) == taken
    assert found is None or found.seconds == age


@pytest.mark.parametrize(("age", "taken"), [(60, True), (61, False)])
def test_a_form_may_have_an_age_of_its_own(clock: Callable[[float], None], age: float, taken: bool) -> None:
    token = SIGNER.sign_form("p1", "api")
    clock(age)
    assert (SIGNER.check_form(token, "p1", max_age=60) is not None) == taken


def test_a_form_that_is_shown_again_keeps_its_age(clock: Callable[[float], None]) -> None:
    token = SIGNER.sign_form("p1", "item/2", age=DAY)
    clock(6 * DAY)
    assert SIGNER.check_form(token, "p1") is not None
    clock(6 * DAY + 1)
    assert SIGNER.check_form(token, "p1") is None


@pytest.mark.parametrize(("age", "taken"), [(COOKIE_LIFE, True), (COOKIE_LIFE + 1, False)])
def test_a_link_to_continue_is_taken_for_half_a_year(clock: Callable[[float], None], age: float, taken: bool) -> None:
    token = SIGNER.sign_link("p1")
    clock(age)
    assert (SIGNER.check_link(token) is not None) == taken


def test_reasons_are_compared_from_eight_words_on() -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    assert copied_reasons.shingles(" ".join(words[:7])) == frozenset()
    assert len(copied_reasons.shingles(" ".join(words))) == 6


@pytest.mark.parametrize(("changed", "copies"), [(3, 1), (4, 0)])
def test_a_reason_with_half_of_anothers_runs_of_words_is_a_near_copy(changed: int, copies: int) -> None:
    words = [f"word{n}" for n in range(11)]  # nine runs of three words
    other = [*words[: 11 - changed], *(f"else{n}" for n in range(changed))]
    # Of nine runs each, those without a changed word are common: 6 of 12, or 5 of 13.
    given = {"item": ["i"], "question": ["q"], "rater": ["model"], "rationale": [" ".join(words)]}
    known = copied_reasons.GivenReasons(pl.DataFrame(given))
    found, compared = known.copied([("i", "q", " ".join(other))])
    assert (found["model"], compared) == (copies, 1)
    assert known.copied([("i", "q", " ".join(other))], own="model") == ({}, 0)


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_draft_is_kept_up_to_its_largest_size(beyond: int) -> None:
    kept: list[Any] = []
    connection: Any = SimpleNamespace(execute=lambda what, row: kept.extend([] if what is drafts.DROP else [row]))
    frame = len('{"a": [""]}')
    drafts.store(connection, 1, "item/1", {"a": ["x" * (drafts.LARGEST - frame + beyond)]})
    assert len(kept) == 1 - beyond


@pytest.mark.parametrize(
    ("rule", "value", "of", "broken"),
    [
        ("failed gold > 0.5", 0.5, 2, False),
        ("failed gold > 0.5", 0.51, 2, True),
        ("seconds < 2", 2.0, 5, False),
        ("seconds < 2", 1.99, 5, True),
        ("longest run > 30 after 40", 31.0, 39, False),
        ("longest run > 30 after 40", 31.0, 40, True),
    ],
)
def test_a_rule_is_broken_beyond_its_limit(rule: str, value: float, of: int, broken: bool) -> None:
    parsed = Rule.parse(rule)
    assert parsed.breaks({parsed.fact: RaterFact(value, of)}) == broken
    assert not parsed.breaks({})


@pytest.mark.parametrize(("alike", "flags"), [(1, []), (2, ["2 of 2 reasons nearly copy those of bob"])])
def test_two_reasons_of_another_person_that_are_alike_make_a_flag(alike: int, flags: list[str]) -> None:
    texts = ["one two three four five six seven eight nine", "ten one two six seven eight nine four five"]
    others = [*texts[:alike], *["nothing in it is like what anybody else has written here"] * (2 - alike)]
    rows = [(f"i{n}", "q", who, text) for who, own in (("ann", texts), ("bob", others)) for n, text in enumerate(own)]
    judgments = pl.DataFrame(rows, schema=["item", "question", "rater", "rationale"], orient="row")
    known: Any = SimpleNamespace(model_reasons=copied_reasons.GivenReasons(judgments.clear()))
    assert quality._copied(known, judgments)["ann"] == flags
