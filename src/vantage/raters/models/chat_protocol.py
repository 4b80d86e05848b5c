"""What is sent and what comes back: Chat Completions, which most servers speak, Responses, and other forms of replies.

A reply is made of the answer, and of the thinking that some models put before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vantage.raters.models.base import Completion, ModelError, Request
from vantage.raters.models.evidence import counts, ending, served
from vantage.raters.models.faults import Fault, ToldError, filters
from vantage.raters.models.options import first_tokens

_THINKING: Final = ("reasoning_content", "reasoning", "thinking")


def parted(message: Mapping[str, Any]) -> tuple[str, str]:
    """The answer and the thinking of a message, whether its content is text or a list of blocks.

    >>> parted({"content": "4", "reasoning_content": "Warm."})
    ('4', 'Warm.')
    >>> parted({"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "4"}]})
    ('4', 'Hm.')
    """
    said: list[str] = []
    thought: list[str] = []
    _sort(message.get("content"), said, thought)
    for key in _THINKING:
        if isinstance(message.get(key), str) and message[key]:
            thought.append(message[key])
            break
    return "".join(said), "\n".join(thought)


def _sort(content: Any, said: list[str], thought: list[str]) -> None:
    """Puts the texts of a content, however deeply it is nested, where they belong."""
    if isinstance(content, str):
        said.append(content)
    elif isinstance(content, list):
        for block in content:
            _sort(block, said, thought)
    elif isinstance(content, Mapping):
        kind = str(content.get("type") or "")
        if kind in ("thinking", "reasoning", "reasoning_content", "summary_text") or content.get("thought"):
            inner: list[str] = []
            for key in ("thinking", "summary", "reasoningText", "text", "content"):
                _sort(content.get(key), inner, inner)
            thought.append("".join(inner))
        elif isinstance(content.get("text"), str):
            said.append(content["text"])
        elif "content" in content:
            _sort(content["content"], said, thought)


WITHOUT: Final = {
    "seed": "replies to the same prompt may differ from run to run",
    "response_format": "the form of the reply is asked for in words only",
    "temperature": "replies are drawn at the endpoint's own temperature",
    "top_p": "replies are drawn from the endpoint's own choice of tokens",
    "max_tokens": "the limit is sent as max_completion_tokens",
    "n": "every sample takes a request of its own",
}


class ChatProtocol:
    """`/chat/completions`."""

    path = "/chat/completions"
    without: Mapping[str, str] = WITHOUT
    received = 0
    """How many of the likeliest first tokens the last answer told."""

    def body(self, model: str, request: Request, left_out: frozenset[str], depth: int) -> dict[str, Any]:
        """What is sent for a request or, with a depth, to learn the likeliest tokens with which a reply begins."""
        sampling = request.sampling
        limit = "max_completion_tokens" if "max_tokens" in left_out else "max_tokens"
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "temperature": 0.0 if depth else sampling.temperature,
            limit: 1 if depth else sampling.max_tokens,
        }
        if depth:
            return {**body, "logprobs": True, "top_logprobs": depth}
        if sampling.top_p != 1.0:
            body["top_p"] = sampling.top_p
        if sampling.seed is not None:
            body["seed"] = sampling.seed
        if request.schema is not None:
            schema = {"name": "reply", "strict": True, "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def read(self, answer: Any, options: Sequence[str]) -> Completion:
        """What an answer says: a reply, or the scores of options."""
        raise_if_error(answer)
        choice = answer["choices"][0]
        raise_if_error(choice)
        if options:
            first = ((choice.get("logprobs") or {}).get("content") or [None])[0]
            self.received = len((first or {}).get("top_logprobs") or ())
            return _scores(first, options, {**counts(answer), **served(answer)})
        message = choice["message"]
        text, thinking = parted(message)
        reason = choice.get("finish_reason")
        finish, category = ending("chat", reason), ""
        if not text and message.get("refusal"):
            text, finish, category = str(message["refusal"]), "filtered", "refusal"
        elif finish == "filtered":
            category = filters(choice.get("content_filter_results")) or "content filter"
        return Completion(
            text, finish, thinking=thinking, category=category, **counts(answer), **served(answer, reason=reason)
        )


def raise_if_error(answer: Any) -> None:
    """Raises for an error that came with the status of a success, as routers send it."""
    error = answer.get("error") if isinstance(answer, Mapping) else None
    if not error:
        return
    code = error.get("code") if isinstance(error, Mapping) else None
    raise ToldError(Fault.of(code if isinstance(code, int) and code >= 400 else 502, {"error": error}, {}))


def one_each(answer: Any) -> list[dict[str, Any]]:
    """An answer with several replies as answers with one each; the prompt is counted once, reply tokens are shared out.

    >>> result = {"choices": ["a", "b"], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}
    >>> [one["usage"]["completion_tokens"] for one in one_each(result)]
    [3, 2]
    """
    replies, used = answer["choices"], answer.get("usage") or {}
    total = counts(answer)["completion_tokens"]
    shares = [total // len(replies) + (place < total % len(replies)) for place in range(len(replies))]
    first = {**used, "completion_tokens": shares[0], "total_tokens": 0}
    usages = [first, *({"completion_tokens": share} for share in shares[1:])]
    return [{**answer, "choices": [reply], "usage": one} for reply, one in zip(replies, usages, strict=True)]


def _scores(first: Any, options: Sequence[str], used: dict[str, Any]) -> Completion:
    """The scores of options, from what an answer says of the tokens with which a reply may begin."""
    top = [(str(t["token"]), float(t["logprob"])) for t in (first or {}).get("top_logprobs") or ()]
    if not top:
        raise ModelError("The endpoint answers without log-probabilities; use the style sampling or read replies.")
    top.sort(key=lambda one: -one[1])
    return Completion(top[0][0], scores=tuple(first_tokens(top, options)), **used)


_LEAST: Final = 16
"""The smallest limit on a reply that the interface takes."""


class ResponsesProtocol:
    """`/responses`, OpenAI's newer interface, in which thinking models summarise their reasoning. It takes no seed."""

    path = "/responses"
    received = 0
    without: Mapping[str, str] = {
        "text": WITHOUT["response_format"],
        **{name: WITHOUT[name] for name in ("temperature", "top_p")},
    }

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
        output, used = answer["output"], {**counts(answer, "input", "output"), **served(answer)}
        blocks = [b for one in output if one.get("type") == "message" for b in one.get("content") or ()]
        if options:
            first = next((b["logprobs"][0] for b in blocks if b.get("logprobs")), None)
            self.received = len((first or {}).get("top_logprobs") or ())
            return _scores(first, options, used)
        text = "".join(str(b.get("text") or "") for b in blocks if b.get("type") == "output_text")
        refusal = "".join(str(b.get("refusal") or "") for b in blocks if b.get("type") == "refusal")
        _, thinking = parted({"content": [one for one in output if one.get("type") == "reasoning"]})
        why = (answer.get("incomplete_details") or {}).get("reason")
        reason = "/".join(str(part) for part in (answer.get("status"), why) if part)
        finish = ending("responses", reason)
        category = "content filter" if finish == "filtered" else ""
        if refusal and not text:
            text, finish, category = refusal, "filtered", "refusal"
        return Completion(text, finish, thinking=thinking, category=category, **{**used, "reason": reason})
