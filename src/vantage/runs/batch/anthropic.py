"""Batches as Anthropic has them: requests are posted as they are, and results come as lines."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

import openai

from vantage.raters.models.base import Completion, ModelError, note_once
from vantage.raters.models.content import read_message
from vantage.raters.models.openai import OpenAIModel
from vantage.runs.batch.openai import SKEW
from vantage.runs.batch.protocols import BatchResult, Standing, Wire
from vantage.runs.keys import KeyedCall

_PATH: Final = "/messages/batches"
_STATUSES: Final = {
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 529,
    "timeout_error": 504,
    "expired": 408,
    "canceled": 408,
}
"""Errors that may pass, as the status that a single request would have got."""


class AnthropicBatches:
    """`/messages/batches`."""

    headers: Mapping[str, Any] = {
        "x-api-key": "{KEY}",
        "anthropic-version": "2023-06-01",
        "Authorization": openai.Omit(),
    }
    most = 20_000
    largest = 90_000_000

    def body(self, model: OpenAIModel, call: KeyedCall) -> dict[str, Any]:
        """What a single request to `/messages` would send."""
        if call.ask.options:
            raise ModelError(f"{model.url} gives no log-probabilities; use a style that reads replies.")
        chat_body = model.body(call.ask.request)
        body: dict[str, Any] = {
            "model": chat_body["model"],
            "max_tokens": call.ask.request.sampling.max_tokens,
            "messages": [message for message in chat_body["messages"] if message["role"] != "system"],
        }
        if system := [message["content"] for message in chat_body["messages"] if message["role"] == "system"]:
            body["system"] = "\n\n".join(system)
        body |= {name: chat_body[name] for name in ("temperature", "top_p") if name in chat_body}
        note_once(model.notes, "Batches at Anthropic know no seed: replies to the same prompt may differ.")
        if call.ask.request.schema is not None:
            note_once(model.notes, "Batches at Anthropic are asked for the form of the reply in words only.")
        return body

    def line(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request as it stands in a batch."""
        return {"custom_id": name, "params": body}

    def submit(self, wire: Wire, model: str, lines: Sequence[bytes], token: str) -> str:
        """Posts the requests. There is no place for a token: a batch is known by the requests in it."""
        return str(wire.post_once(_PATH, {"requests": [json.loads(line) for line in lines]})["id"])

    def find(self, wire: Wire, token: str, since: float, size: int, known: Container[str]) -> str | None:
        """The earliest batch of the right size since then that is not known.

        Should it be another's, its results will be about other requests, and ours are asked again.
        """
        batch_id, after = None, ""
        while True:
            page = wire.get(f"{_PATH}?limit=100{after}")
            batches = page.get("data") or []
            recent = [batch for batch in batches if _seconds(batch.get("created_at")) >= since - SKEW]
            for batch in recent:
                counts = batch.get("request_counts") or {}
                if batch["id"] not in known and sum(int(count) for count in counts.values()) == size:
                    batch_id = str(batch["id"])
            if not page.get("has_more") or len(recent) < len(batches) or not batches:
                return batch_id
            after = f"&after_id={quote(str(batches[-1]['id']), safe='')}"

    def standing(self, wire: Wire, batch: str) -> Standing:
        """How far the batch has come."""
        path = f"{_PATH}/{quote(batch, safe='')}"
        if wire.get(path).get("processing_status") != "ended":
            return Standing("running")
        # Not the address that the answer names: a key is only sent to where it was meant to go.
        return Standing("ended", "The batch has ended without a result for this request.", (f"{path}/results",))

    def result(self, line: Any) -> BatchResult:
        """A line of results."""
        name, result = str(line["custom_id"]), line["result"]
        kind = str(result["type"])
        if kind == "succeeded":
            return BatchResult(name, result["message"], status=200)
        error = result.get("error") or {}
        error = error.get("error") or error
        kind = str(error.get("type") or kind)
        said = f"{kind}: {error.get('message') or 'no reason is given'}"
        return BatchResult(name, error=said, status=_STATUSES.get(kind, 400))

    def read(self, model: OpenAIModel, body: Any, options: Sequence[str]) -> Completion:
        """What a message says."""
        completion = read_message(body)
        return completion.with_text(model.scrubbed(completion.text), model.scrubbed(completion.thinking))


def _seconds(time: Any) -> float:
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except ValueError:
        return 0.0
