"""A real HTTP endpoint that speaks the chat-completions protocol, with whatever faults a test asks for."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What the endpoint sends back: a reply in words, or a fault."""

    text: str = ""
    status: int = 200
    error: Mapping[str, Any] | None = None
    """The body of an error; OpenAI's form is `{"message": …, "param": …}`."""
    raw: str | None = None
    """The body as it is, instead of a completion."""
    wait: float = 0.0
    finish: str = "stop"
    refusal: str | None = None
    logprobs: Mapping[str, float] | None = None
    """Tokens with which the reply may begin, and their log-probabilities."""
    headers: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False
    """Whether nothing is ever sent back."""
    cut: bool = False
    """Whether the connection is reset in the middle of the body."""
    drip: float = 0.0
    """Seconds between one byte of the body and the next."""


Reply = Callable[[dict[str, Any]], Answer | str]


def rejecting(parameter: str, *, status: int = 400, message: str | None = None) -> Reply:
    """Refuses a parameter as OpenAI does, and answers "4" without it."""

    def reply(body: dict[str, Any]) -> Answer:
        if parameter in body:
            told = message or f"Unsupported parameter: '{parameter}' is not supported with this model."
            return Answer(status=status, error={"message": told, "param": parameter})
        return Answer("4")

    return reply


class Endpoint:
    """An endpoint on a free port of this machine, or on a given one.

    `reply` is called with the body of each request and says what comes back, so that tests script it;
    `requests` holds the bodies, `headers` the headers and `paths` the paths that came in, and `busiest` is
    how many requests were under way at once.
    """

    def __init__(self, reply: Reply = lambda body: "4", port: int = 0) -> None:
        self.reply = reply
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.busiest = 0
        self._busy = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                endpoint._answer(self, json.loads(self.rfile.read(length) or b"{}"))

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Keeps test output clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Endpoint:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        with self._lock:
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
            self.requests.append(body)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            self.paths.append(handler.path)
        answer = self.reply(body)
        answer = Answer(answer) if isinstance(answer, str) else answer
        self._closing.wait(600 if answer.silent else answer.wait)
        with self._lock:
            self._busy -= 1
        if answer.raw is not None:
            sent = answer.raw
        elif answer.error is not None:
            sent = json.dumps({"error": dict(answer.error)})
        else:
            sent = json.dumps(_completion(body, answer))
        data = sent.encode()
        try:
            handler.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            if answer.cut:
                handler.wfile.write(data[: len(data) // 2])
                reset(handler)
            elif answer.drip:
                for byte in data:
                    handler.wfile.write(bytes([byte]))
                    handler.wfile.flush()
                    if self._closing.wait(answer.drip):
                        break
            else:
                handler.wfile.write(data)
        except OSError:
            # The client went away, as it does after a timeout.
            handler.close_connection = True


def reset(handler: BaseHTTPRequestHandler) -> None:
    """Ends a connection as a crash would: with a reset instead of a farewell."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


def _completion(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": answer.finish,
        "message": {"role": "assistant", "content": answer.text or None, "refusal": answer.refusal},
        "logprobs": None,
    }
    if answer.logprobs is not None and body.get("logprobs"):
        top = [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in answer.logprobs.items()]
        choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    words = sum(len(message["content"].split()) for message in body["messages"])
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [choice],
        "usage": {
            "prompt_tokens": words,
            "completion_tokens": len(answer.text.split()),
            "total_tokens": words + len(answer.text.split()),
        },
    }
