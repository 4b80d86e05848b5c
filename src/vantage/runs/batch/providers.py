"""Batches as OpenAI has them, and whoever speaks its protocol (a file of requests, files of results), and Anthropic."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

import openai

from vantage.raters.models.base import Completion, ModelError, note_once
from vantage.raters.models.chat_protocol import read_message
from vantage.raters.models.openai import OpenAIModel
from vantage.runs.batch.protocols import BatchProtocol, BatchResult, Standing, Wire
from vantage.runs.keys import KeyedCall

CHATS: Final = "/v1/chat/completions"
SKEW: Final = 3600.0
"""Seconds by which a provider's clock may differ from ours."""
_PAGE: Final = 100
_RUNNING: Final = ("validating", "in_progress", "finalizing", "cancelling")
_MISTRAL_RUNNING: Final = ("QUEUED", "RUNNING", "CANCELLATION_REQUESTED")
_QUEUE_FULL: Final = ("token_limit_exceeded", "request_limit_exceeded", "rate_limit_exceeded")
"""Codes of batches that were refused because too much is queued already."""


class OpenAIBatches(BatchProtocol):
    """`/files` and `/batches`."""

    def body(self, model: OpenAIModel, call: KeyedCall) -> dict[str, Any]:
        """What a single request would send."""
        return model.body(call.ask.request, call.ask.options)

    def line(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request as it stands in the file."""
        return {"custom_id": name, "method": "POST", "url": CHATS, "body": body}

    def submit(self, wire: Wire, model: str, lines: Sequence[bytes], token: str) -> str:
        """Uploads the file and makes a batch of it."""
        file = wire.upload("/files", f"vantage-{token}.jsonl", lines, purpose="batch")
        batch_of = {
            "input_file_id": file["id"],
            "endpoint": CHATS,
            "completion_window": "24h",
            "metadata": {"vantage": token},
        }
        return str(wire.post_once("/batches", batch_of)["id"])

    def find(self, wire: Wire, token: str, since: float, size: int, known: Container[str]) -> str | None:
        """Looks for our token among the batches since then, the latest first."""
        after = ""
        while True:
            page = wire.get(f"/batches?limit={_PAGE}{after}")
            batches = page.get("data") or []
            for batch in batches:
                if (batch.get("metadata") or {}).get("vantage") == token:
                    return str(batch["id"])
            if not page.get("has_more") or not batches or (batches[-1].get("created_at") or 0) < since - SKEW:
                return None
            after = f"&after={quote(str(batches[-1]['id']), safe='')}"

    def standing(self, wire: Wire, batch: str) -> Standing:
        """How far the batch has come."""
        batch_of = wire.get(f"/batches/{quote(batch, safe='')}")
        status = batch_of.get("status")
        if status in _RUNNING:
            return Standing("running")
        if status == "failed":
            errors = (batch_of.get("errors") or {}).get("data") or [{}]
            full = any(error.get("code") in _QUEUE_FULL for error in errors)
            sentence = f"The batch was refused ({errors[0].get('message') or 'no reason is given'})."
            return Standing("overloaded" if full else "refused", sentence)
        files = _contents(batch_of, "output_file_id", "error_file_id")
        return Standing("ended", f"The batch has ended ({status}) without a result for this request.", files)

    def result(self, line: Any) -> BatchResult:
        """A line of a file of results or of errors."""
        response, error = line.get("response") or {}, line.get("error") or {}
        name, status, body = str(line["custom_id"]), int(response.get("status_code") or 0), response.get("body")
        if status == 200:
            return BatchResult(name, body, status=200)
        said = (body.get("error") if isinstance(body, dict) else None) or error
        if isinstance(said, dict):
            reason = said.get("message") or said.get("code") or "no reason is given"
            said = f"{said.get('param') or ''} {reason}".strip()
        return BatchResult(name, body, error=str(said), status=status)

    def read(self, model: OpenAIModel, body: Any, options: Sequence[str]) -> Completion:
        """What an answer says, as for a single request."""
        return model.read(body, options)


def _contents(batch: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    """Where the files of a batch are read."""
    return tuple(f"/files/{quote(str(batch[name]), safe='')}/content" for name in names if batch.get(name))


class MistralBatches(OpenAIBatches):
    """Mistral's `/files`, which are OpenAI's, and `/batch/jobs`, which are made of them."""

    def line(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request as it stands in the file: the model is named by the job."""
        return {"custom_id": name, "body": {key: value for key, value in body.items() if key != "model"}}

    def submit(self, wire: Wire, model: str, lines: Sequence[bytes], token: str) -> str:
        """Uploads the file and makes a job of it."""
        file = wire.upload("/files", f"vantage-{token}.jsonl", lines, purpose="batch")
        job = {"input_files": [file["id"]], "model": model, "endpoint": CHATS, "metadata": {"vantage": token}}
        return str(wire.post_once("/batch/jobs", job)["id"])

    def find(self, wire: Wire, token: str, since: float, size: int, known: Container[str]) -> str | None:
        """Looks for our token among the jobs."""
        number = 0
        while True:
            page = wire.get(f"/batch/jobs?page_size={_PAGE}&page={number}")
            jobs = page.get("data") or []
            for job in jobs:
                if (job.get("metadata") or {}).get("vantage") == token:
                    return str(job["id"])
            number += 1
            if not jobs or number * _PAGE >= int(page.get("total") or 0):
                return None

    def standing(self, wire: Wire, batch: str) -> Standing:
        """How far the job has come."""
        job = wire.get(f"/batch/jobs/{quote(batch, safe='')}")
        status = job.get("status")
        if status in _MISTRAL_RUNNING:
            return Standing("running")
        files = _contents(job, "output_file", "error_file")
        if status == "FAILED" and not files:
            errors = job.get("errors") or [{}]
            return Standing("refused", f"The batch was refused ({errors[0].get('message') or 'no reason is given'}).")
        return Standing("ended", f"The batch has ended ({status}) without a result for this request.", files)


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


class AnthropicBatches(BatchProtocol):
    """`/messages/batches`."""

    headers: Mapping[str, Any] = {
        "x-api-key": "{KEY}",
        "anthropic-version": "2023-06-01",
        "Authorization": openai.Omit(),
    }

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
        return read_message(body)


def _seconds(time: Any) -> float:
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except ValueError:
        return 0.0
