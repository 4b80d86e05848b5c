"""A strict endpoint, written from the documentation of eight protocols: whatever it sends, no answer is invented.

Every documented finish reason and ten that nobody documents, 30 ways to write thinking into a reply, closed, unclosed
and opened in the prompt, and replies in the asked form and out of it, drawn at random: 2,000 cases.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from vantage.instruments import Question
from vantage.raters.conversation import read_reply
from vantage.raters.models.anthropic import AnthropicModel
from vantage.raters.models.base import Completion, Passing
from vantage.raters.models.chat_protocol import ChatProtocol, ResponsesProtocol, one_each
from vantage.raters.models.cohere import CohereModel
from vantage.raters.models.dialects import DIALECTS, split_thinking
from vantage.raters.models.evidence import ENDINGS, counts
from vantage.raters.models.gemini import GeminiModel
from vantage.scales import Scale

TRUST = Question("trust", "Trust", "How trustworthy?", Scale.points(-3, 3, anchors={-3: "not at all", 3: "very"}))
THOUGHT = "I would give it a 3, no, -1. Answer: 3"
MARKS = [
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "reasoning", "thought", "thoughts", "reflection")),
    *((f"<{name}>", f"</{name}>") for name in ("seed:think", "longcat_think", "scratchpad", "analysis", "cot")),
    *((f"<{name}>", f"</{name}>") for name in ("ant_thinking", "inner_monologue", "reason_and_think", "THINK")),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("analysis", "assistantfinal"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|think|>", "<|end|><|begin|>assistant<|content|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("Here is my thought process: ", "\nHere is my response: "),
    ("Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]\n"),
    ("&lt;think&gt;", "&lt;/think&gt;"),
    ("\\u003cthink\\u003e", "\\u003c/think\\u003e"),
    ("＜think＞", "＜／think＞"),
    ("【思考过程】", "【回答】"),
]
UNDOCUMENTED = ["", None, "finished", "abandoned", "STOPPED", "repetition", "preempted", "done", "end", "tool_calls"]
INTERRUPTED = ["error", "abort", "insufficient_system_resource", "cancelled", "timeout"]
ANSWERS = ["2", "**2**", "Answer: 2", "It is kind.\nAnswer: 2", '{"answer": 2}', "<answer>2</answer>"]
OTHERWISE = [
    "I would say 2, but then",
    "Maybe 2?",
    "Not a 2.",
    "2 or 3",
    "If pressed, 2.",
    "It could be a 2 or so.",
    "2, no, 1",
    "<answer>2</answer> no, rather <answer>3</answer>",
    "<answer>2</answer> Wait, that is too low.",
    '{"answer": 2} On reflection, this does not hold.',
    '{"stars": 2}',
    '{"first_draft": 2, "reason": "To be revised."}',
    '{"example": {"answer": 2}}',
    '{"answer": 2, "corrected_rating": 1}',
]


def _chat(text: str, reason: object) -> Completion:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    return ChatProtocol().read({"id": "c", "model": "m", "choices": [choice], "usage": {}}, ())


def _responses(text: str, reason: object) -> Completion:
    status, _, why = str(reason or "").partition("/")
    block = {"type": "output_text", "text": text}
    body = {"id": "r", "status": status or None, "incomplete_details": {"reason": why} if why else None}
    return ResponsesProtocol().read({**body, "output": [{"type": "message", "content": [block]}]}, ())


def _anthropic(text: str, reason: object) -> Completion:
    body = {"id": "m", "model": "m", "content": [{"type": "text", "text": text}], "stop_reason": reason}
    return AnthropicModel.read(None, body)  # type: ignore[arg-type]


def _gemini(text: str, reason: object) -> Completion:
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": reason}
    return GeminiModel._reply({"candidates": [candidate]})


def _cohere(text: str, reason: object) -> Completion:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    return CohereModel.read(None, {"id": "c", "message": message, "finish_reason": reason})  # type: ignore[arg-type]


def _bedrock(text: str, reason: object) -> Completion:
    pytest.importorskip("boto3")
    from vantage.raters.models.bedrock import BedrockModel

    message = {"role": "assistant", "content": [{"text": text}]}
    return BedrockModel.read(None, {"output": {"message": message}, "stopReason": reason})  # type: ignore[arg-type]


PROTOCOLS: dict[str, tuple[str, Callable[[str, object], Completion]]] = {
    "chat": ("chat", _chat),
    "mistral": ("chat", _chat),
    "cohere in chat": ("chat", _chat),
    "cohere": ("cohere", _cohere),
    "responses": ("responses", _responses),
    "anthropic": ("anthropic", _anthropic),
    "gemini": ("gemini", _gemini),
    "bedrock": ("bedrock", _bedrock),
}


@pytest.mark.filterwarnings("ignore")
def test_nothing_is_invented_in_two_thousand_generated_replies() -> None:
    draw, counts = random.Random(46), Counter[str]()  # noqa: S311 - draws test cases
    for _ in range(2000):
        protocol, read = PROTOCOLS[draw.choice(list(PROTOCOLS))]
        reason = draw.choice([*ENDINGS[protocol], *([*ENDINGS[protocol]] * 2), *UNDOCUMENTED, *INTERRUPTED])
        in_form = draw.random() < 0.7
        answer, shape = draw.choice(ANSWERS if in_form else OTHERWISE), draw.choice(["none", "closed", "open", "bare"])
        opens, closes = draw.choice(MARKS)
        text = {
            "none": answer,
            "closed": f"{opens}{THOUGHT}{closes}{answer}",
            "open": f"{opens}{THOUGHT} {answer}",
            "bare": f"{THOUGHT}{closes}{answer}",
        }[shape]
        try:
            completion = read(text, reason)
        except Passing:
            counts["asked again"] += 1
            continue
        reply = read_reply(completion, [TRUST], "")["trust"]
        finish = ENDINGS[protocol].get(str(reason) if reason is not None else "", "broken")
        readable = in_form and shape != "open" and finish == "stop"
        if reply.value is not None:
            meant = in_form and shape != "open" and finish in ("stop", "length") and reply.value == 2
            counts["read" if meant else "invented"] += 1
            assert meant, (protocol, reason, text, reply)
        counts["readable"] += readable
        counts["readable and read"] += readable and reply.value == 2
    assert counts["invented"] == 0
    assert counts["readable"] > 200
    assert counts["readable and read"] == counts["readable"]


@pytest.mark.parametrize(("opens", "closes"), MARKS, ids=[opens.strip() for opens, _ in MARKS])
def test_thinking_in_every_dialect_is_no_answer(opens: str, closes: str) -> None:
    whole = split_thinking(f"{opens}{THOUGHT}{closes}2")
    assert (whole.answer, whole.thinking, whole.open) == ("2", THOUGHT, False)
    assert split_thinking(f"{opens}{THOUGHT}").open
    assert split_thinking(f"{THOUGHT}{closes}2").answer == "2"


def test_a_mark_that_no_dialect_knows_hides_the_answer() -> None:
    for text in ("<deep_thought>3</deep_thought>2", "[THOUGHTS]3 2", "<|reasoning_start|>3 2"):
        assert split_thinking(text).open, text
        assert read_reply(Completion(text), [TRUST], "")["trust"].rule == "unclosed-thinking"
    for text in ("<ponder>Answer: 3", "<musing>\nMy rating is 3."):
        assert read_reply(Completion(text), [TRUST], "", prose=True)["trust"].rule == "unclosed-thinking"
    for text in ("2", "It is <b>kind</b>: 2", '{"reason": "a [thoughtful] act", "answer": 2}', "x < y"):
        assert not split_thinking(text).open, text
    assert len(DIALECTS) >= 25


def test_a_reply_of_json_without_a_reason_for_its_end_is_kept_whole() -> None:
    completion = _chat(json.dumps({"answer": 2}), None)
    assert (completion.finish, completion.text, completion.reason) == ("broken", '{"answer": 2}', "")


def test_evidence_is_read_from_every_protocol() -> None:
    known: Any = _chat("2", "stop")
    assert (known.served, known.request_id, known.reason) == ("m", "c", "stop")
    assert _anthropic("2", "end_turn").request_id == "m"
    assert _responses("2", "completed").request_id == "r"


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"cost": 0.0123}, 0.0123),
        ({"cost": 0}, 0.0),
        ({"cost": {"input_tokens_cost": 0.001, "total_cost": 0.004}}, 0.004),
        ({"estimated_cost": 0.002}, 0.002),
        ({"cost_in_usd_ticks": 37_756_000}, 0.0037756),
        ({"cost": True}, None),
        ({}, None),
    ],
)
def test_what_a_call_cost_is_taken_from_the_fields_of_every_provider(usage: dict[str, Any], cost: float | None) -> None:
    assert counts({"usage": usage})["cost"] == (None if cost is None else pytest.approx(cost))


def test_thinking_that_is_only_in_the_total_is_counted_once() -> None:
    answer = {"choices": ["a", "b"], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 41}}
    assert counts(answer)["completion_tokens"] == 32
    assert [counts(one)["completion_tokens"] for one in one_each(answer)] == [16, 16]


def test_reasons_that_only_some_providers_document() -> None:
    assert [_chat("2", reason).finish for reason in ("eos", "sensitive", "model_context_window_exceeded")] == [
        "stop",
        "filtered",
        "length",
    ]
