"""Batches as Mistral has them: OpenAI's files, and jobs made of them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from vantage.runs.batch.openai import CHATS, OpenAIBatches
from vantage.runs.batch.protocols import Standing
from vantage.runs.batch.wire import Wire

_RUNNING: Final = ("QUEUED", "RUNNING", "CANCELLATION_REQUESTED")
_PAGE: Final = 100


class MistralBatches(OpenAIBatches):
    """`/files` and `/batch/jobs`."""

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
        if status in _RUNNING:
            return Standing("running")
        files = tuple(str(job[name]) for name in ("output_file", "error_file") if job.get(name))
        if status == "FAILED" and not files:
            errors = job.get("errors") or [{}]
            return Standing("refused", f"The batch was refused ({errors[0].get('message') or 'no reason is given'}).")
        return Standing("ended", f"The batch has ended ({status}) without a result for this request.", files)
