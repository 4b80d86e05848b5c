"""Contexts are verified with the bundled instrument, and models in two roles are named."""

from __future__ import annotations

import polars as pl
import pytest

from tests.studies.context.pipeline.conftest import statements
from tests.studies.context.pipeline.script_writer import ScriptWriter
from vantage import ChatRater
from vantage.studies.context.pipeline.generation import generate, shared_models


def checks(verifier: ScriptWriter, style: str = "zero-shot") -> dict[str, dict[str, object]]:
    made = generate(statements(), "sarcasm", ScriptWriter(), ChatRater(verifier, style), attempts=1)
    return {row["item"]: row for row in made.steps.filter(pl.col("step") == "verification").iter_rows(named=True)}


def test_each_context_gets_its_own_verdict_and_cost() -> None:
    verifier = ScriptWriter("v", lambda step, item, _: "1" if (step, item) == ("natural-flow", "s2") else "4")
    found = checks(verifier)
    assert (found["s1"]["status"], found["s1"]["reason"]) == ("passed", None)
    assert (found["s2"]["status"], found["s2"]["reason"]) == ("rejected", "natural-flow is 1, below 4")
    assert found["s2"]["text"] == "label-alignment 4, natural-flow 1, redundancy 4"
    assert [found["s1"][name] for name in ("calls", "prompt_tokens", "completion_tokens")] == [3, 30, 15]


def test_a_verifier_may_be_asked_everything_at_once() -> None:
    verifier = ScriptWriter("v", lambda *_: '{"label-alignment": 5, "natural-flow": 4, "redundancy": 3}')
    assert {row["reason"] for row in checks(verifier, "together").values()} == {"redundancy is 3, below 4"}
    assert len(verifier.asked) == 4


@pytest.mark.parametrize(
    ("models", "count"),
    [
        (("a", "b", ["c"]), 0),
        (("a", "a", ["c"]), 1),
        (("a", "b", ["a"]), 1),
        (("a", "b", ["b", "c"]), 1),
        (("a", "b", ["a", "b"]), 2),
        (("a", "a", ["a"]), 2),
    ],
)
def test_a_model_with_two_roles_is_named(models: tuple[str, str, list[str]], count: int) -> None:
    warnings = shared_models(*models)
    assert len(warnings) == count
    assert all("itself" in warning for warning in warnings)
