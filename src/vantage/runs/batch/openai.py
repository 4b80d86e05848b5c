"""Batches as OpenAI has them, and whoever speaks its protocol: a file of requests, a batch, files of results."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from vantage.raters.models.base import Completion
from vantage.raters.models.openai import OpenAIModel
from vantage.runs.batch.protocols import BatchResult, Standing, Wire
from vantage.runs.keys import KeyedCall

CHATS: Final = "/v1/chat/completions"
SKEW: Final = 3600.0
"""Seconds by which a provider's clock may differ from ours."""
_PAGE: Final = 100
_RUNNING: Final = ("validating", "in_progress", "finalizing", "cancelling")
_MISTRAL_RUNNING: Final = ("QUEUED", "RUNNING", "CANCELLATION_REQUESTED")
_QUEUE_FULL: Final = ("token_limit_exceeded", "request_limit_exceeded", "rate_limit_exceeded")
"""Codes of batches that were refused because too much is queued already."""


class OpenAIBatches:
    """`/files` and `/batches`."""

    headers: Mapping[str, Any] = {}
    most = 20_000
    largest = 90_000_000

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
