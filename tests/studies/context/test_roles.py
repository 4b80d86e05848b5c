"""Simulator, judge, writer and verifier: four models at four endpoints with keys of their own, in one run."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.raters.models.endpoint import Endpoint
from tests.studies.context.pipeline.planted import planted_corpus
from vantage.errors import InputError
from vantage.report.record import Record
from vantage.studies import Context, preview, run
from vantage.studies.base import find
from vantage.studies.context.study import Roles

TALK = "Person A: The train is late again.\nPerson B: How late?\nPerson A: Forty minutes."


def writes(body: dict[str, Any]) -> str:
    asked = body["messages"][-1]["content"]
    if "Describe in two or three sentences" in asked:
        return "Two colleagues stand on a platform in the rain."
    if "After which turn" in asked:
        return "After: 3\nSpeaker: Person B"
    return TALK if "Write the conversation" in asked else "yes"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    planted_corpus(["clear", "ambiguous"] * 6).write(tmp_path / "data" / "sarcasm")
    return tmp_path / "data"


@pytest.mark.slow
def test_four_models_at_four_endpoints_do_their_parts(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = {"simulator": lambda body: "no", "judge": lambda body: "yes", "writer": writes, "verifier": lambda _: "5"}
    stack = ExitStack()
    endpoints = {role: stack.enter_context(Endpoint(reply)) for role, reply in replies.items()}
    roles = {}
    for role, endpoint in endpoints.items():
        monkeypatch.setenv(f"{role.upper()}_KEY", f"secret-{role}")
        roles[role] = f"openai:{role} base_url={endpoint.url} key_variable={role.upper()}_KEY"
    roles["judge"] += " temperature=0.7 max_tokens=99"
    few: dict[str, Any] = {"tasks": "sarcasm", "items": 6, "persona_count": 2, "first_person": False, "runs": 2}
    few |= {"methods": "length,persona", "styles": "zero-shot", "controls": "label", "attempts": 1, "resamples": 10}
    with stack:
        report = run("context", data=data, **{**few, **roles})
    for role, endpoint in endpoints.items():
        assert endpoint.requests, role
        assert {body["model"] for body in endpoint.requests} == {role}
        assert {headers["authorization"] for headers in endpoint.headers} == {f"Bearer secret-{role}"}
    assert {(body["temperature"], body["max_tokens"]) for body in endpoints["judge"].requests} == {(0.7, 99)}
    assert {body["temperature"] for body in endpoints["simulator"].requests} == {1.0}
    assert not any("wrote" in sentence or "checked" in sentence for sentence in report.result.warnings)
    contexts = next(table for table in report.result.tables if table.name == "contexts").frame
    assert contexts["kept"].to_list() == [6]
    assert "secret" not in str(report.record.to_data())


def context(models: tuple[str, ...] = (), settings: dict[str, Any] | None = None, **options: Any) -> Any:
    return Context(
        find("context").options(**options), Record("context", "Context"), models=models, settings=settings or {}
    )


def test_roles_that_are_left_open_fall_to_the_main_model_with_its_settings() -> None:
    main = context(("openai:main",), {"base_url": "http://here/v1"}, writer="openai:other", judge="anthropic:third")
    roles = Roles.of(main)
    assert [one.model_name for one in roles.simulators] == ["openai:main"]
    assert roles.writer is not None
    assert roles.verifier is None
    assert roles.writer.settings == {"base_url": "http://here/v1"}, "a model of the same kind is at the same endpoint"
    assert [(one.model_name, one.settings) for one in roles.judges] == [("anthropic:third", {})]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge": "openai:x http://here"}, "'http://here' is not a setting of openai:x"),
        ({"judge": "openai:x, openai:x"}, "named twice for one role"),
        ({"writer": "openai:x, openai:y"}, "2 models are named for the role writer"),
    ],
)
def test_roles_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Roles.of(context(("openai:main",), **options))


@pytest.mark.slow
def test_the_estimate_names_every_role(data: Path) -> None:
    few: dict[str, Any] = {"tasks": "sarcasm", "items": 6, "first_person": False, "methods": "persona", "runs": 3}
    found = preview("context", data=data, simulator="openai:a", judge="openai:b", writer="openai:c", **few)
    calls = {one.model: 0 for one in found.forecast.estimates}
    for one in found.forecast.estimates:
        calls[one.model] += one.calls
    assert set(calls) == {"openai:a", "openai:b", "openai:c"}
    assert calls["openai:a"] == 6 * 32


@pytest.mark.parametrize("offered", [True, False])
def test_judges_are_offered_the_answer_ambiguous_or_not(data: Path, offered: bool) -> None:
    few: dict[str, Any] = {"tasks": "sarcasm", "items": 4, "methods": "length", "styles": "zero-shot", "runs": 1}
    with Endpoint(lambda body: "yes") as endpoint:
        roles = {"judge": f"openai:judge base_url={endpoint.url}", "first_person": False, "resamples": 10}
        run("context", data=data, **{**few, **roles, "ambiguous": offered})
    asked = [str(body["messages"]).replace("(ambiguous", "") for body in endpoint.requests]
    assert asked
    assert {"ambiguous" in text for text in asked} == {offered}, "neither in the guidelines nor among the answers"
