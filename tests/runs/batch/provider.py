"""A real HTTP endpoint with a batch API, as eight providers document it, and whatever faults a test asks for.

What the documentation does not name is refused: a field, a header, a purpose of a file, an address.
"""

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
from urllib.parse import unquote

from tests.raters.models.endpoint import reset
from tests.runs.batch.avro import written

Reply = Callable[[dict[str, Any]], str | tuple[int, str] | None]
"""What becomes of one request: a reply, a status with an error, or no line at all."""


@dataclass
class Made:
    """A batch as the provider knows it."""

    id: str
    requests: dict[str, dict[str, Any]]
    metadata: dict[str, str]
    at: float
    file: str = ""
    together: bool = False
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
        self.invalid = ""
        """Why data sets of requests are found invalid."""
        self.faults: dict[str, list[int | str]] = {}
        self.batches: list[Made] = []
        self.files: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.checked: set[str] = set()
        """Files that somebody has asked after, which are processed by then."""
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

            def do_PUT(self) -> None:
                provider._handle(self, "PUT")

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

    def settings(self, protocol: str) -> tuple[str, str]:
        """The name of a model here and the address, as the adapter of a provider wants them."""
        kind = protocol if protocol in ("anthropic", "azure", "bedrock", "cohere", "gemini", "mistral") else "openai"
        return f"{kind}:tester", self.url if kind == "openai" else self.url.removesuffix("/v1")

    def _handle(self, handler: BaseHTTPRequestHandler, method: str) -> None:
        data = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        whole, _, query = handler.path.partition("?")
        version, path = next((one, whole.removeprefix(one)) for one in ROOTS if whole.startswith(one))
        self.headers.append(handler.headers)
        key = next((key for key, left in self.faults.items() if left and f"{method} {path}".startswith(key)), None)
        fault = self.faults[key].pop(0) if key else None
        told: Any
        if isinstance(fault, int):
            status, told = fault, {"error": {"message": "a fault of the test", "type": "test"}}
        else:
            try:
                self._check_key(version, query, handler.headers)
                status, told = 200, self._answer(version, method, path, data, query)
            except Refused as refused:
                status, told = 400, {"error": {"message": str(refused), "type": "invalid_request_error"}}
        try:
            if fault == "reset":
                reset(handler)
                return
            body = told.encode() if isinstance(told, str) else told
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            handler.send_response(status)
            handler.send_header("Content-Type", "text/plain" if isinstance(told, str) else "application/json")
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
            if fault == "cut":
                reset(handler)
        except OSError:
            handler.close_connection = True

    @staticmethod
    def _check_key(version: str, query: str, headers: Message) -> None:
        """Each provider has its own header for the key, and Azure a version in every address."""
        if version == "/openai":
            require(headers.get("api-key"), "api-key")
            require("api-version=" in query, "api-version")
        elif version == "/v1" and "signature=" in query:
            require(not headers.get("Authorization"), "an address that needs no key")
        elif not version:
            require(str(headers.get("Authorization")).startswith("AWS4-HMAC-SHA256"), "a signature")
        elif version == "/v1beta":
            require(headers.get("x-goog-api-key") and not headers.get("Authorization"), "x-goog-api-key")
        else:
            require(headers.get("x-api-key") or headers.get("Authorization"), "a key")

    def _answer(self, version: str, method: str, path: str, data: bytes, query: str) -> Any:  # noqa: PLR0912 - a case for each address
        azure = version == "/openai"
        match method, path.strip("/").split("/"):
            case "POST", ["files"] | ["files", "upload"] as where:
                content = re.search(rb"application/jsonl\r\n\r\n(.*?)\r\n--", data, re.DOTALL)
                named = re.search(rb'filename="([^"]+)"', data)
                require(content and named, "a file")
                assert content is not None
                assert named is not None
                together = len(where) > 1
                require((b"\r\n\r\nbatch-api\r\n" if together else b"\r\n\r\nbatch\r\n") in data, "the purpose")
                require(not together or b'name="file_name"' in data, "file_name")
                file = f"file-{len(self.files)}"
                self.files[file] = content[1].decode()
                self.names[file] = named[1].decode()
                return {"id": file, "object": "file", "status": "pending" if azure else "processed"}
            case "GET", ["files"]:
                return {"data": [{"id": file, "filename": name} for file, name in self.names.items()]}
            case "GET", ["files", file] if file in self.names:
                self.checked.add(file)
                return {"id": file, "status": "processed"}
            case "POST", ["datasets"]:
                content = re.search(rb'name="data".*?application/jsonl\r\n\r\n(.*?)\r\n--', data, re.DOTALL)
                require(content and query.endswith("&type=batch-chat-v2-input"), "a data set of chats")
                assert content is not None
                file = f"set-{len(self.files)}"
                self.files[file] = content[1].decode()
                return {"id": file}
            case "GET", ["datasets", name] if name in self.files:
                status = "failed" if self.invalid else "validated" if name in self.checked else "queued"
                self.checked.add(name)
                return {"dataset": {"id": name, "validation_status": status, "validation_error": self.invalid}}
            case "GET", ["datasets", name]:
                # Results lie in a storage of its own, under addresses that hold their own permission.
                parts = [{"id": "0", "name": "part", "url": f"{self.url}/parts/{name}?signature=1"}]
                return {"dataset": {"id": name, "validation_status": "validated", "dataset_parts": parts}}
            case "GET", ["parts", name]:
                return _cohere_records(self._batch(name.removesuffix("-output")).results)
            case "POST", ["batches"] if version == "/v2":
                told = json.loads(data)
                exactly(told, {"name", "input_dataset_id", "model"})
                require(told["input_dataset_id"] in self.checked and told["model"] == "tester", "a valid data set")
                lines = [json.loads(line) for line in self.files[told["input_dataset_id"]].splitlines()]
                for line in lines:
                    exactly(line, {"custom_id", "body"})
                    require(set(line["body"]) <= COHERE, "known fields only")
                requests = {line["custom_id"]: _blocks(line["body"]) for line in lines}
                return {"batch": {"id": self._make(requests, {"name": told["name"]}).id}}
            case "GET", ["batches"] if version == "/v2":
                return {"batches": [{"id": b.id, "name": b.metadata["name"]} for b in self.batches]}
            case "GET", ["batches", name] if version == "/v2":
                ended = self._ended(self._batch(name))
                told = {"output_dataset_id": f"{name}-output"} if ended else {}
                return {"batch": {"status": f"BATCH_STATUS_{'COMPLETED' if ended else 'IN_PROGRESS'}", **told}}
            case "POST", ["batches"]:
                told = json.loads(data)
                file = told["input_file_id"]
                require(not azure or file in self.checked, "a file that is processed")
                lines = [json.loads(line) for line in self.files[file].splitlines()]
                together = set(lines[0]) == {"custom_id", "body"}
                extra = {"metadata"} if not azure and not together else set()
                window = set() if together else {"completion_window"}
                exactly(told, {"input_file_id", "endpoint"} | window | extra)
                for line in lines:
                    exactly(line, {"custom_id", "body"} if together else {"custom_id", "body", "method", "url"})
                    require(together or line["url"] == told["endpoint"], "url and endpoint")
                    require(line["body"].get("model") == "tester", "model")
                known = ["/chat/completions"] if azure else ["/v1/chat/completions", "/v1/responses"]
                require(told["endpoint"] in known, "endpoint")
                require(("input" in lines[0]["body"]) == told["endpoint"].endswith("responses"), "its own endpoint")
                batch = self._make({line["custom_id"]: line["body"] for line in lines}, told.get("metadata") or {})
                batch.file, batch.together = file, together
                return {"job": {"id": batch.id}} if together else {"id": batch.id}
            case "POST", ["batch", "jobs"]:
                told = json.loads(data)
                exactly(told, {"input_files", "model", "endpoint", "metadata"})
                lines = [json.loads(line) for line in self.files[told["input_files"][0]].splitlines()]
                for line in lines:
                    exactly(line, {"custom_id", "body"})
                    require("model" not in line["body"], "no model in the body")
                return {"id": self._make({line["custom_id"]: line["body"] for line in lines}, told["metadata"]).id}
            case "POST", ["messages", "batches"]:
                lines = json.loads(data)["requests"]
                for line in lines:
                    exactly(line, {"custom_id", "params"})
                    require({"model", "max_tokens", "messages"} <= set(line["params"]), "required fields")
                    require(all(m["role"] != "system" for m in line["params"]["messages"]), "roles")
                return {"id": self._make({line["custom_id"]: line["params"] for line in lines}, {}).id}
            case "POST", ["models", "tester:batchGenerateContent"]:
                told = json.loads(data)["batch"]
                exactly(told, {"displayName", "inputConfig"})
                lines = told["inputConfig"]["requests"]["requests"]
                requests = {line["metadata"]["key"]: _chat(line["request"]) for line in lines}
                return {"name": f"batches/{self._make(requests, {'name': told['displayName']}).id}", "metadata": {}}
            case "GET", ["batches"] if version == "/v1beta":
                listed = [
                    {"name": f"batches/{b.id}", "metadata": {"displayName": b.metadata["name"]}} for b in self.batches
                ]
                return {"operations": listed}
            case "GET", ["batches"]:
                made = [
                    {"id": b.id, "metadata": b.metadata, "created_at": int(b.at), "input_file_id": b.file}
                    for b in reversed(self.batches)
                ]
                return made if made and self.batches[0].together else {"data": made, "has_more": False}
            case "GET", ["batch", "jobs"]:
                jobs = [{"id": b.id, "metadata": b.metadata} for b in reversed(self.batches)]
                return {"data": jobs, "total": len(jobs)}
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
            case "GET", ["batches", name] if version == "/v1beta":
                return self._gemini_standing(self._batch(name))
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
            case "PUT", ["bucket", *key]:
                self.files["/".join(key)] = data.decode()
                return ""
            case "POST", ["model-invocation-job"]:
                told = json.loads(data)
                source, to = told.pop("inputDataConfig"), told.pop("outputDataConfig")
                fixed = {"modelId": "tester", "modelInvocationType": "Converse", "roleArn": ROLE}
                exactly(told, {"jobName", "clientRequestToken", *fixed})
                require({**told, **fixed} == told, "the model, the kind of job and the role")
                require(to == {"s3OutputDataConfig": {"s3Uri": "s3://bucket/folder/"}}, "a place for results")
                require(source["s3InputDataConfig"].pop("s3InputFormat") == "JSONL", "a format")
                file = source["s3InputDataConfig"]["s3Uri"].removeprefix("s3://bucket/")
                lines = [json.loads(line) for line in self.files[file].splitlines()]
                for line in lines:
                    exactly(line, {"recordId", "modelInput"})
                requests = {line["recordId"]: _converse(line["modelInput"]) for line in lines}
                batch = self._make(requests, {"name": told["jobName"]})
                batch.file = file
                return {"jobArn": ARN + batch.id}
            case "GET", ["model-invocation-jobs"]:
                wanted = query.removeprefix("nameContains=")
                jobs = [{"jobArn": ARN + b.id} for b in self.batches if wanted in b.metadata["name"]]
                return {"invocationJobSummaries": jobs}
            case "GET", ["model-invocation-job", arn]:
                batch = self._batch(unquote(arn).rpartition("/")[2])
                status = "Completed" if self._ended(batch) else "InProgress"
                return {
                    "status": status if self.answers is None or status != "Completed" else "Expired",
                    "inputDataConfig": {"s3InputDataConfig": {"s3Uri": f"s3://bucket/{batch.file}"}},
                    "outputDataConfig": {"s3OutputDataConfig": {"s3Uri": "s3://bucket/folder/"}},
                }
            case "GET", ["bucket", "folder", name, file]:
                require(f"folder/{file}" == f"{self._batch(name).file}.out", "the name of the file with .out")
                return "\n".join(_bedrock_line(*one) for one in self._batch(name).results if one[2] is not None)
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
                chat = {"messages": body["input"], **body} if "input" in body else body
                told = (408, "This request could not be executed in time.") if expired else self.reply(chat)
                batch.results.append((name, body, told))
        return batch.polls > self.polls

    def _openai_standing(self, batch: Made) -> dict[str, Any]:
        if self.refusals and not batch.polls:
            batch.polls = 10**6
            return {"id": batch.id, "status": "failed", "errors": {"data": [self.refusals.pop(0)]}}
        if not self._ended(batch):
            return {"id": batch.id, "status": "IN_PROGRESS" if batch.together else "in_progress"}
        status = "completed" if self.answers is None else "expired"
        status = status.upper() if batch.together else status
        files = {"output_file_id": f"{batch.id}-output", "error_file_id": f"{batch.id}-error"}
        return {"id": batch.id, "status": status, **files}

    def _gemini_standing(self, batch: Made) -> dict[str, Any]:
        if not self._ended(batch):
            return {"name": f"batches/{batch.id}", "metadata": {"state": "BATCH_STATE_RUNNING"}}
        results = [_gemini_line(*one) for one in batch.results if one[2] is not None]
        output = {"inlinedResponses": {"inlinedResponses": results}}
        return {
            "name": f"batches/{batch.id}",
            "done": True,
            "metadata": {"state": "BATCH_STATE_SUCCEEDED", "output": output},
            "response": output,
        }


ROOTS = ("/v1beta", "/v1", "/v2", "/openai", "")
"""Where the interfaces of Google, of most others, of Cohere, of Azure and of Amazon begin."""
ARN = "arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/"
ROLE = "arn:aws:iam::123456789012:role/batches"
OWN: dict[str, dict[str, str]] = {
    "bedrock": {"batch_bucket": "s3://bucket/folder/", "batch_role": ROLE},
    "responses": {"api": "responses"},
}
"""Settings that models need for batches."""
COHERE = {"messages", "temperature", "p", "max_tokens", "seed", "k", "reasoning", "thinking_budget"}
"""Fields of a chat that a data set of Cohere's may have."""
GENERATION = {"temperature", "maxOutputTokens", "topP", "seed", "responseMimeType", "responseJsonSchema"}
GENERATION |= {"responseLogprobs", "logprobs", "thinkingConfig"}


class Refused(Exception):  # noqa: N818 - it is an answer
    """What the documentation does not allow."""


def require(fulfilled: object, what: str) -> None:
    if not fulfilled:
        raise Refused(f"This request lacks {what}.")


def exactly(told: dict[str, Any], names: set[str]) -> None:
    if set(told) != names:
        raise Refused(f"Fields {sorted(set(told) ^ names)} are missing or not known.")


def _chat(request: dict[str, Any]) -> dict[str, Any]:
    """A request of Google's as a chat."""
    require(set(request) <= {"contents", "systemInstruction", "generationConfig"}, "known fields only")
    require(set(request["generationConfig"]) <= GENERATION, "known settings only")
    require(all(one["role"] in ("user", "model") for one in request["contents"]), "roles")
    said = [{"role": one["role"], "content": one["parts"][0]["text"]} for one in request["contents"]]
    return {"messages": said, **request["generationConfig"]}


def _converse(request: dict[str, Any]) -> dict[str, Any]:
    """A request of Amazon's as a chat."""
    known = {"messages", "system", "inferenceConfig", "outputConfig", "additionalModelRequestFields"}
    require(set(request) <= known, "known fields only")
    require(all(one["role"] in ("user", "assistant") for one in request["messages"]), "roles")
    return {"messages": [{"role": m["role"], "content": m["content"][0]["text"]} for m in request["messages"]]}


def _blocks(request: dict[str, Any]) -> dict[str, Any]:
    """A request of Cohere's data sets as a chat."""
    require(all(one["content"][0]["type"] == "text" for one in request["messages"]), "blocks of text")
    said = [{"role": one["role"], "content": one["content"][0]["text"]} for one in request["messages"]]
    return {**request, "messages": said}


def _record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": one, "type": kind} for one, kind in fields.items()]}


TEXT = ["null", "string"]
RECORD = _record(
    "Result",
    custom_id="string",
    body=[
        "null",
        _record(
            "Answer",
            id=TEXT,
            finish_reason=TEXT,
            message=_record(
                "Message",
                role="string",
                content={"type": "array", "items": _record("Block", type="string", text=TEXT)},
            ),
            usage={"type": "map", "values": {"type": "map", "values": "double"}},
        ),
    ],
    error=TEXT,
)


def _cohere_records(results: list[tuple[str, dict[str, Any], str | tuple[int, str] | None]]) -> bytes:
    """Results as an Avro file: a record for each request, with the answer or an error."""
    usage = {"billed_units": {"input_tokens": 100.0, "output_tokens": 10.0}}
    rows = [
        {
            "custom_id": name,
            "body": {
                "id": f"id-{name}",
                "finish_reason": "COMPLETE",
                "message": {"role": "assistant", "content": [{"type": "text", "text": told}]},
                "usage": usage,
            }
            if isinstance(told, str)
            else None,
            "error": None if isinstance(told, str) else told[1],
        }
        for name, _, told in results
        if told is not None
    ]
    return written(RECORD, rows)


def _bedrock_line(name: str, body: dict[str, Any], told: str | tuple[int, str] | None) -> str:
    if isinstance(told, str):
        message = {"role": "assistant", "content": [{"text": told}]}
        usage = {"inputTokens": 100, "outputTokens": 10, "totalTokens": 110}
        output = {"output": {"message": message}, "stopReason": "end_turn", "usage": usage}
        return json.dumps({"recordId": name, "modelInput": {}, "modelOutput": output})
    assert told is not None
    return json.dumps({"recordId": name, "modelInput": {}, "error": {"errorCode": told[0], "errorMessage": told[1]}})


def _gemini_line(name: str, body: dict[str, Any], told: str | tuple[int, str] | None) -> dict[str, Any]:
    metadata = {"key": name}
    if isinstance(told, str):
        candidate = {"content": {"role": "model", "parts": [{"text": told}]}, "finishReason": "STOP"}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 10}
        return {"metadata": metadata, "response": {"candidates": [candidate], "usageMetadata": usage}}
    assert told is not None
    status, said = told
    code = {408: 4, 429: 8, 529: 14}.get(status, 3)
    return {"metadata": metadata, "error": {"code": code, "message": said}}


def _openai_line(name: str, body: dict[str, Any], told: str | tuple[int, str] | None) -> str:
    if isinstance(told, str):
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": told}}
        answer: dict[str, Any] = {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}
        if "input" in body:
            message = {"type": "message", "content": [{"type": "output_text", "text": told}]}
            usage = {"input_tokens": 100, "output_tokens": 10}
            answer = {"status": "completed", "output": [message], "usage": usage}
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
