"""A real HTTP endpoint with a batch API, as three providers have it, and whatever faults a test asks for."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.raters.models.endpoint import reset

Reply = Callable[[dict[str, Any]], str | tuple[int, str] | None]
"""What becomes of one request: a reply, a status with an error, or no line at all."""


@dataclass
class Made:
    """A batch as the provider knows it."""

    id: str
    requests: dict[str, dict[str, Any]]
    metadata: dict[str, str]
    at: float
    polls: int = 0
    results: list[tuple[str, dict[str, Any], str | tuple[int, str] | None]] = field(default_factory=list)


class Provider:
    """A provider on a free port of this machine.

    `reply` says what becomes of each request; `polls` is how often a batch is running before it has ended; `answers`
    limits how many requests of a batch are answered before it expires; `faults` holds answers, by "METHOD path
    beginning", that are given once each instead of the real one: a status, or "reset" after the work was done.
    """

    def __init__(self, reply: Reply = lambda body: "2") -> None:
        self.reply, self.polls = reply, 1
        self.answers: int | None = None
        self.refusals: list[dict[str, str]] = []
        """Errors with which the next batches are refused as a whole, one each."""
        self.faults: dict[str, list[int | str]] = {}
        self.batches: list[Made] = []
        self.files: dict[str, str] = {}
        self.headers: list[Message] = []
        self.made = threading.Event()
        self.hold = threading.Event()
        """While it is not set, the answer to a new batch is held back."""
        self.hold.set()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                provider._handle(self, "POST")

            def do_GET(self) -> None:
                provider._handle(self, "GET")

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Keeps test output clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Provider:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hold.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def asked(self) -> list[str]:
        """The names of all requests in all batches."""
        return [name for batch in self.batches for name in batch.requests]

    def _handle(self, handler: BaseHTTPRequestHandler, method: str) -> None:
        data = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        path, _, _ = handler.path.removeprefix("/v1").partition("?")
        self.headers.append(handler.headers)
        key = next((key for key, left in self.faults.items() if left and f"{method} {path}".startswith(key)), None)
        fault = self.faults[key].pop(0) if key else None
        told: Any
        if isinstance(fault, int):
            status, told = fault, {"error": {"message": "a fault of the test", "type": "test"}}
        else:
            status, told = 200, self._answer(method, path, data)
        try:
            if fault == "reset":
                reset(handler)
                return
            body = told.encode() if isinstance(told, str) else json.dumps(told).encode()
            handler.send_response(status)
            handler.send_header("Content-Type", "application/json" if isinstance(told, dict) else "text/plain")
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
            if fault == "cut":
                reset(handler)
        except OSError:
            handler.close_connection = True

    def _answer(self, method: str, path: str, data: bytes) -> Any:
        match method, path.strip("/").split("/"):
            case "POST", ["files"]:
                content = re.search(rb"application/jsonl\r\n\r\n(.*?)\r\n--", data, re.DOTALL)
                assert content is not None
                file = f"file-{len(self.files)}"
                self.files[file] = content[1].decode()
                return {"id": file, "object": "file"}
            case "POST", ["batches"] | ["batch", "jobs"]:
                told = json.loads(data)
                file = told.get("input_file_id") or told["input_files"][0]
                lines = [json.loads(line) for line in self.files[file].splitlines()]
                return {"id": self._make({line["custom_id"]: line["body"] for line in lines}, told["metadata"]).id}
            case "POST", ["messages", "batches"]:
                lines = json.loads(data)["requests"]
                return {"id": self._make({line["custom_id"]: line["params"] for line in lines}, {}).id}
            case "GET", ["batches"]:
                found = [{"id": b.id, "metadata": b.metadata, "created_at": int(b.at)} for b in reversed(self.batches)]
                return {"data": found, "has_more": False}
            case "GET", ["batch", "jobs"]:
                found = [{"id": b.id, "metadata": b.metadata} for b in reversed(self.batches)]
                return {"data": found, "total": len(found)}
            case "GET", ["messages", "batches"]:
                listed = [
                    {
                        "id": b.id,
                        "created_at": datetime.fromtimestamp(b.at, UTC).isoformat().replace("+00:00", "Z"),
                        "request_counts": {"processing": len(b.requests), "succeeded": 0},
                    }
                    for b in reversed(self.batches)
                ]
                return {"data": listed, "has_more": False}
            case "GET", ["batches", name]:
                return self._openai_standing(self._batch(name))
            case "GET", ["batch", "jobs", name]:
                batch = self._batch(name)
                ended = self._ended(batch)
                files = {"output_file": f"{name}-output", "error_file": f"{name}-error"} if ended else {}
                return {"id": name, "status": "SUCCESS" if ended else "RUNNING", **files}
            case "GET", ["messages", "batches", name]:
                return {"id": name, "processing_status": "ended" if self._ended(self._batch(name)) else "in_progress"}
            case "GET", ["messages", "batches", name, "results"]:
                return "\n".join(_anthropic_line(*one) for one in self._batch(name).results if one[2] is not None)
            case "GET", ["files", file, "content"]:
                name, _, kind = file.rpartition("-")
                return "\n".join(
                    _openai_line(*one)
                    for one in self._batch(name).results
                    if one[2] is not None and isinstance(one[2], str) == (kind == "output")
                )
            case _:
                raise AssertionError(f"{method} {path}")

    def _make(self, requests: dict[str, dict[str, Any]], metadata: dict[str, str]) -> Made:
        batch = Made(f"batch-{len(self.batches)}", requests, metadata, time.time())
        self.batches.append(batch)
        self.made.set()
        self.hold.wait(30)
        return batch

    def _batch(self, name: str) -> Made:
        return next(batch for batch in self.batches if batch.id == name)

    def _ended(self, batch: Made) -> bool:
        batch.polls += 1
        if batch.polls > self.polls and not batch.results:
            for number, (name, body) in enumerate(batch.requests.items()):
                expired = self.answers is not None and number >= self.answers
                told = (408, "This request could not be executed in time.") if expired else self.reply(body)
                batch.results.append((name, body, told))
        return batch.polls > self.polls

    def _openai_standing(self, batch: Made) -> dict[str, Any]:
        if self.refusals and not batch.polls:
            batch.polls = 10**6
            return {"id": batch.id, "status": "failed", "errors": {"data": [self.refusals.pop(0)]}}
        if not self._ended(batch):
            return {"id": batch.id, "status": "in_progress"}
        status = "completed" if self.answers is None else "expired"
        files = {"output_file_id": f"{batch.id}-output", "error_file_id": f"{batch.id}-error"}
        return {"id": batch.id, "status": status, **files}


def _openai_line(name: str, body: dict[str, Any], told: str | tuple[int, str] | None) -> str:
    if isinstance(told, str):
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": told}}
        answer = {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}
        return json.dumps({"custom_id": name, "response": {"status_code": 200, "body": answer}, "error": None})
    assert told is not None
    status, said = told
    if status == 408:
        return json.dumps({"custom_id": name, "response": None, "error": {"code": "batch_expired", "message": said}})
    response = {"status_code": status, "body": {"error": {"message": said}}}
    return json.dumps({"custom_id": name, "response": response, "error": None})


def _anthropic_line(name: str, body: dict[str, Any], told: str | tuple[int, str] | None) -> str:
    if isinstance(told, str):
        message = {
            "content": [{"type": "text", "text": told}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 90, "cache_read_input_tokens": 10, "output_tokens": 10},
        }
        return json.dumps({"custom_id": name, "result": {"type": "succeeded", "message": message}})
    assert told is not None
    status, said = told
    if status == 408:
        return json.dumps({"custom_id": name, "result": {"type": "expired"}})
    kind = {429: "rate_limit_error", 529: "overloaded_error"}.get(status, "invalid_request_error")
    error = {"type": "error", "error": {"type": kind, "message": said}}
    return json.dumps({"custom_id": name, "result": {"type": "errored", "error": error}})
