"""Responses: OpenAI's newer interface, in which thinking models show what they summarise of their reasoning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vantage.raters.models.base import Completion, Finish, ModelError, Request
from vantage.raters.models.chat_protocol import raise_if_error
from vantage.raters.models.content import parted
from vantage.raters.models.first_tokens import first_tokens

WITHOUT: Final = {
    "text": "the form of the reply is asked for in words only",
    "temperature": "replies are drawn at the endpoint's own temperature",
    "top_p": "replies are drawn from the endpoint's own choice of tokens",
}
_LEAST: Final = 16
"""The smallest limit on a reply that the interface takes."""


class ResponsesProtocol:
    """`/responses`. It takes no seed."""

    path = "/responses"
    without: Mapping[str, str] = WITHOUT

    def body(self, model: str, request: Request, left_out: frozenset[str], depth: int) -> dict[str, Any]:
        """What is sent for a request or, with a depth, to learn the likeliest tokens with which a reply begins."""
        sampling = request.sampling
        system = [message.content for message in request.messages if message.role == "system"]
        body: dict[str, Any] = {
            "model": model,
            "input": [{"role": m.role, "content": m.content} for m in request.messages if m.role != "system"],
            "temperature": 0.0 if depth else sampling.temperature,
            "max_output_tokens": _LEAST if depth else max(sampling.max_tokens, _LEAST),
            "store": False,
        }
        if system:
            body["instructions"] = "\n\n".join(system)
        if depth:
            return {**body, "include": ["message.output_text.logprobs"], "top_logprobs": depth}
        if sampling.top_p != 1.0:
            body["top_p"] = sampling.top_p
        if request.schema is not None:
            body["text"] = {
                "format": {"type": "json_schema", "name": "reply", "strict": True, "schema": dict(request.schema)}
            }
        return body

    def read(self, answer: Any, options: Sequence[str]) -> Completion:
        """What a response says: a reply, or the scores of options."""
        raise_if_error(answer)
        output = answer["output"]
        blocks = [b for one in output if one.get("type") == "message" for b in one.get("content") or ()]
        if options:
            first = next((b["logprobs"][0] for b in blocks if b.get("logprobs")), None)
            if first is None:
                raise ModelError(
                    "The endpoint answers without log-probabilities; use the style sampling or read replies."
                )
            top = [(str(t["token"]), float(t["logprob"])) for t in first.get("top_logprobs") or ()]
            top.sort(key=lambda one: -one[1])
            return Completion(top[0][0] if top else "", scores=tuple(first_tokens(top, options)), **_usage(answer))
        text = "".join(str(b.get("text") or "") for b in blocks if b.get("type") == "output_text")
        refusal = "".join(str(b.get("refusal") or "") for b in blocks if b.get("type") == "refusal")
        _, thinking = parted({"content": [one for one in output if one.get("type") == "reasoning"]})
        why = (answer.get("incomplete_details") or {}).get("reason")
        finish: Finish = "length" if why == "max_output_tokens" else "filtered" if why == "content_filter" else "stop"
        category = "content filter" if finish == "filtered" else ""
        if refusal and not text:
            text, finish, category = refusal, "filtered", "refusal"
        return Completion(text, finish, thinking=thinking, category=category, **_usage(answer))


def _usage(answer: Any) -> dict[str, Any]:
    counts = answer.get("usage") or {}
    return {
        "prompt_tokens": int(counts.get("input_tokens") or 0),
        "completion_tokens": int(counts.get("output_tokens") or 0),
        "cached_tokens": int((counts.get("input_tokens_details") or {}).get("cached_tokens") or 0),
        "reasoning_tokens": int((counts.get("output_tokens_details") or {}).get("reasoning_tokens") or 0),
    }
