"""The strict endpoint over HTTP: every protocol through its own client, a run, the store and the reading of replies."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from tests.raters.models.providers import DIALECTS, Dialect, Served, base_url
from tests.raters.models.test_strict_endpoint import ANSWERS, INTERRUPTED, MARKS, OTHERWISE, THOUGHT, UNDOCUMENTED
from vantage import ChatRater
from vantage.raters.models.evidence import ENDINGS
from vantage.raters.prompts import NO_ANSWER
from vantage.runs import RunOptions, RunPlan, RunStore, run
from vantage.runs.export import calls

from .conftest import corpus

COHERE = replace(DIALECTS[0], name="openai:command")
"""Cohere's models in the protocol that most servers speak, with Cohere's own words for how a reply ends."""
SERVED = [one for one in DIALECTS if not one.name.startswith(("openrouter", "azure"))] + [COHERE]
PROTOCOLS = {name: name for name in ("anthropic", "gemini", "bedrock", "cohere")}

pytestmark = [
    pytest.mark.slow,  # the clients of all providers take seconds to import
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("hasty"),
    pytest.mark.xdist_group("providers"),
    pytest.mark.parametrize("dialect", SERVED, ids=lambda d: d.name + "".join(f"+{v}" for v in d.settings.values())),
]


def protocol_of(dialect: Dialect) -> str:
    return "responses" if dialect.settings else PROTOCOLS.get(dialect.name.partition(":")[0], "chat")


def ended(dialect: Dialect, text: str, reason: object) -> Answer:
    """A reply in a dialect that ended for a reason."""
    body, protocol = dialect.answer(Served(text)), protocol_of(dialect)
    if protocol == "chat":
        body["choices"][0]["finish_reason"] = reason
    elif protocol == "responses":
        status, _, why = str(reason or "").partition("/")
        body |= {"status": status or None, "incomplete_details": {"reason": why} if why else None}
    elif protocol == "gemini":
        body["candidates"][0]["finishReason"] = reason
    elif protocol == "cohere":
        body["finish_reason"] = reason
    else:
        body["stop_reason" if protocol == "anthropic" else "stopReason"] = reason
    return Answer(raw=json.dumps(body))


def drawn(dialect: Dialect, number: int) -> tuple[str, object, bool]:
    """What the endpoint sends about an item: the reply, how it ended, and whether it states an answer, which is 2."""
    draw = random.Random(f"{dialect.name} {dialect.settings} {number}")  # noqa: S311 - draws test cases
    known = [*ENDINGS[protocol_of(dialect)]]
    reason = draw.choice([*known * 3, *UNDOCUMENTED, *INTERRUPTED])
    in_form, (opens, closes) = draw.random() < 0.7, draw.choice(MARKS)
    answer, shape = draw.choice(ANSWERS if in_form else OTHERWISE), draw.choice(["none", "closed", "open", "bare"])
    before = {"none": "", "closed": f"{opens}{THOUGHT}{closes}", "open": f"{opens}{THOUGHT} ", "bare": THOUGHT + closes}
    return before[shape] + answer, reason, in_form and shape != "open"


def asked_of(
    dialect: Dialect, endpoint: Endpoint, items: int, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> RunPlan:
    for name, value in dialect.environment.items():
        monkeypatch.setenv(name, value)
    told = {"base_url": base_url(dialect, endpoint), "timeout": 10, **dialect.settings, **settings}
    rater = ChatRater(dialect.name, settings=told)
    return RunPlan.of(corpus(items), rater, "warmth-competence", questions=["trust"])


def test_no_answer_is_invented_between_the_wire_and_the_judgment(
    dialect: Dialect, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: Counter[int] = Counter()

    def reply(body: dict[str, Any]) -> Answer:
        said = json.dumps(body)
        number = int(re.findall(r"case (\d{4})", said)[-1])
        met[number] += 1
        text, reason, _ = drawn(dialect, number)
        if "State the answer that you have just given" in said:
            return ended(dialect, NO_ANSWER, next(iter(ENDINGS[protocol_of(dialect)])))
        if reason in INTERRUPTED and met[number] > 1:
            return ended(dialect, "2", next(iter(ENDINGS[protocol_of(dialect)])))
        return ended(dialect, text, reason)

    with Endpoint(reply) as endpoint:
        outcome = run(asked_of(dialect, endpoint, 60, monkeypatch), store, RunOptions(concurrency=4))
    rows, counts = outcome.judged[0].judgments, Counter[str]()
    assert len(rows) == 60
    for item, value, status in rows.select("item", "value", "status").iter_rows():
        text, reason, states = drawn(dialect, int(item[1:]))
        again = reason in INTERRUPTED
        finish = "stop" if again else ENDINGS[protocol_of(dialect)].get(str(reason or ""), "broken")
        if value is not None:
            assert value == 2, (text, reason)
            assert again or (states and finish in ("stop", "length")), (text, reason)
        if again or (states and finish == "stop"):
            assert value == 2, (text, reason, status)
            counts["read"] += 1
        elif finish == "broken":
            assert status == "failed", (text, reason)
            counts["broken"] += 1
    assert counts["read"] > 4
    assert counts["broken"] > 3
    # How each reply ended stands in the store in the provider's own word.
    stored = {one["item"]: one for one in calls(store) if one["step"] == "answer" and one["finish"] != "failed"}
    for item, one in stored.items():
        _, reason, _ = drawn(dialect, int(item[1:]))
        if reason not in INTERRUPTED:
            assert (one["reason"] or "") == str(reason or ""), item


def test_a_key_that_is_revoked_stops_the_account_and_not_the_day(
    dialect: Dialect, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = 0

    def script(body: dict[str, Any]) -> Served:
        nonlocal answered
        answered += 1
        return Served("2") if answered <= 5 else Served(status=401, message="the key was revoked")

    with Endpoint(dialect.reply(script)) as endpoint:
        outcome = run(asked_of(dialect, endpoint, 60, monkeypatch), store, RunOptions(concurrency=2))
        sent = len(endpoint.requests)
    assert sent <= 5 + 2
    assert "refuses the key (401)" in outcome.tally.ended
    assert (outcome.judged[0].judgments.height, outcome.judged[0].missing) == (5, 55)
