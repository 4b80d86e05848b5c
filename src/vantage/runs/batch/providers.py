"""Batches as providers have them: a file of requests and files of results, or requests and results in the calls."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any, Final
from urllib.parse import quote

from vantage.raters.models.base import ModelError, brief
from vantage.runs.batch.avro import records
from vantage.runs.batch.protocols import BatchProtocol, BatchResult, Standing, Wire

CHATS: Final = "/v1/chat/completions"
CHECK: Final = 2.0
"""Seconds between two looks at whether a file can be used."""
SKEW: Final = 3600.0
"""Seconds by which a provider's clock may differ from ours."""
_PAGE: Final = 100
_RUNNING: Final = (
    *("validating", "in_progress", "finalizing", "cancelling"),
    *("queued", "running", "cancellation_requested"),
)
_GEMINI_RUNNING: Final = ("BATCH_STATE_UNSPECIFIED", "BATCH_STATE_PENDING", "BATCH_STATE_RUNNING")
_BEDROCK_RUNNING: Final = ("Submitted", "Validating", "Scheduled", "InProgress", "Stopping")
_COHERE_RUNNING: Final = (
    *("BATCH_STATUS_UNSPECIFIED", "BATCH_STATUS_QUEUED", "BATCH_STATUS_IN_PROGRESS", "BATCH_STATUS_CANCELING"),
)
_GRPC: Final = {1: 408, 4: 504, 7: 403, 8: 429, 13: 500, 14: 503, 16: 401}
"""Google's codes of errors as the status that a single request would have got."""
_UNTOLD: Final = "The batch has ended without a result for this request."
_QUEUE_FULL: Final = ("token_limit_exceeded", "request_limit_exceeded", "rate_limit_exceeded")
"""Codes of batches that were refused because too much is queued already."""


class OpenAIBatches(BatchProtocol):
    """`/files` and `/batches`, as OpenAI, Groq and many servers have them; others differ in names and places."""

    chats, responses = CHATS, "/v1/responses"
    root, upload, made = "", "/files", "/batches"
    """What stands before all paths; where a file is uploaded, and where a batch is made of it."""
    purpose = "batch"
    outputs: tuple[str, ...] = ("output_file_id", "error_file_id")

    def line(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request as it stands in the file; the newer of OpenAI's interfaces calls the chat its input."""
        url = self.responses if "input" in body else self.chats
        return {"custom_id": name, "method": "POST", "url": url, "body": body}

    def batch_of(self, file: str, model: str, endpoint: str, token: str) -> dict[str, Any]:
        """What a batch is made of."""
        parts = {"input_file_id": file, "endpoint": endpoint, "completion_window": "24h"}
        return {**parts, "metadata": {"vantage": token}}

    def submit(self, wire: Wire, model: str, lines: Sequence[bytes], token: str) -> str:
        """Uploads the file, waits until it can be used, and makes a batch of it."""
        name, endpoint = _file(token), str(json.loads(lines[0]).get("url", CHATS))
        named = {"file_name": name} if self.upload.endswith("upload") else {}
        file = wire.upload(f"{self.root}{self.upload}", name, lines, purpose=self.purpose, **named)
        while str(file.get("status")) in ("pending", "running"):
            wire.wait(CHECK)
            file = wire.get(f"{self.root}/files/{quote(str(file['id']), safe='')}")
        batch = wire.post_once(f"{self.root}{self.made}", self.batch_of(file["id"], model, endpoint, token))
        return str((batch.get("job") or batch)["id"])

    def find(self, wire: Wire, token: str, since: float, size: int, known: Container[str]) -> str | None:
        """Looks for our token among the batches."""
        batches = _listed(wire, self.made)
        return next((str(one["id"]) for one in batches if (one.get("metadata") or {}).get("vantage") == token), None)

    def standing(self, wire: Wire, batch: str) -> Standing:
        """How far the batch has come."""
        job = wire.get(f"{self.root}{self.made}/{quote(batch, safe='')}")
        status, files = str(job.get("status")).lower(), [job[name] for name in self.outputs if job.get(name)]
        if status in _RUNNING:
            return Standing("running")
        if status == "failed" and not files:
            errors = job.get("errors") or {}
            errors = errors if isinstance(errors, list) else errors.get("data") or [{"message": job.get("error")}]
            full = any(error.get("code") in _QUEUE_FULL for error in errors)
            return Standing("overloaded" if full else "refused", _refused(errors[0]))
        paths = (f"{self.root}/files/{quote(str(file), safe='')}/content" for file in files)
        results = (line for path in paths for line in wire.lines(path))
        return Standing("ended", f"The batch has ended ({status}) without a result for this request.", results)

    def result(self, line: Any) -> BatchResult:
        """A line of a file of results or of errors."""
        response, error = line.get("response") or {}, line.get("error") or {}
        name, body = str(line["custom_id"]), response.get("body")
        # Together's lines need not have a status.
        status = int(response.get("status_code") or (200 if isinstance(body, dict) and "choices" in body else 0))
        if status == 200:
            return BatchResult(name, body, status=200)
        said = (body.get("error") if isinstance(body, dict) else None) or error
        if isinstance(said, dict):
            reason = said.get("message") or said.get("code") or "no reason is given"
            said = f"{said.get('param') or ''} {reason}".strip()
        return BatchResult(name, body, error=str(said), status=status)


def _file(token: str) -> str:
    return f"vantage-{token}.jsonl"


def _refused(error: Mapping[str, Any]) -> str:
    return f"The batch was refused ({error.get('message') or 'no reason is given'})."


def _listed(wire: Wire, path: str, after: str = "after") -> Iterator[Mapping[str, Any]]:
    """What is listed at a path, page by page; some providers have one page, and it is a bare list."""
    following = ""
    while True:
        page = wire.get(f"{path}?limit={_PAGE}{following}")
        entries = page if isinstance(page, list) else page.get("data") or []
        yield from entries
        if isinstance(page, list) or not page.get("has_more") or not entries:
            return
        following = f"&{after}={quote(str(entries[-1]['id']), safe='')}"


class AzureBatches(OpenAIBatches):
    """Azure's have no place for a token: they are known by the names of their files."""

    chats, responses = "/chat/completions", "/responses"

    def batch_of(self, file: str, model: str, endpoint: str, token: str) -> dict[str, Any]:
        """What a batch is made of."""
        return {"input_file_id": file, "endpoint": endpoint, "completion_window": "24h"}

    def find(self, wire: Wire, token: str, since: float, size: int, known: Container[str]) -> str | None:
        """Looks for the batch of our file."""
        files = {file["id"] for file in _listed(wire, "/files") if file.get("filename") == _file(token)}
        batches = _listed(wire, self.made) if files else ()
        return next((str(one["id"]) for one in batches if one.get("input_file_id") in files), None)


class TogetherBatches(AzureBatches):
    """Together's, which are known by their files as well."""

    upload, purpose = "/files/upload", "batch-api"

    def line(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request as it stands in the file."""
        return {"custom_id": name, "body": body}

    def batch_of(self, file: str, model: str, endpoint: str, token: str) -> dict[str, Any]:
        """What a batch is made of."""
        return {"input_file_id": file, "endpoint": endpoint}


class MistralBatches(OpenAIBatches):
    """Mistral's `/files`, which are OpenAI's, and `/batch/jobs`, which are made of them."""

    root, made, outputs = "/v1", "/batch/jobs", ("output_file", "error_file")

    def line(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request as it stands in the file: the model is named by the job."""
        return {"custom_id": name, "body": {key: value for key, value in body.items() if key != "model"}}

    def batch_of(self, file: str, model: str, endpoint: str, token: str) -> dict[str, Any]:
        """What a job is made of."""
        return {"input_files": [file], "model": model, "endpoint": endpoint, "metadata": {"vantage": token}}

    def find(self, wire: Wire, token: str, since: float, size: int, known: Container[str]) -> str | None:
        """Looks for our token among the jobs."""
        for number in count():
            page = wire.get(f"{self.root}{self.made}?page_size={_PAGE}&page={number}")
            jobs = page.get("data") or []
            for job in jobs:
                if (job.get("metadata") or {}).get("vantage") == token:
                    return str(job["id"])
            if not jobs or (number + 1) * _PAGE >= int(page.get("total") or 0):
                break
        return None


_PATH: Final = "/v1/messages/batches"
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
        earliest = None
        # The latest come first.
        for batch in _listed(wire, _PATH, "after_id"):
            if _seconds(batch.get("created_at")) < since - SKEW:
                break
            if batch["id"] not in known and sum(map(int, (batch.get("request_counts") or {}).values())) == size:
                earliest = str(batch["id"])
        return earliest

    def standing(self, wire: Wire, batch: str) -> Standing:
        """How far the batch has come."""
        path = f"{_PATH}/{quote(batch, safe='')}"
        if wire.get(path).get("processing_status") != "ended":
            return Standing("running")
        # Not the address that the answer names: a key is only sent to where it was meant to go.
        return Standing("ended", _UNTOLD, wire.lines(f"{path}/results"))

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


class GeminiBatches(BatchProtocol):
    """`models/NAME:batchGenerateContent`, with the requests in the call and the results in the batch."""

    largest = 18_000_000
    """Requests in a call may have 20 MB."""

    def line(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request as it stands in a batch."""
        return {"request": dict(body), "metadata": {"key": name}}

    def submit(self, wire: Wire, model: str, lines: Sequence[bytes], token: str) -> str:
        """Posts the requests under our token."""
        requests = [json.loads(line) for line in lines]
        batch = {"displayName": f"vantage-{token}", "inputConfig": {"requests": {"requests": requests}}}
        path = f"/v1beta/models/{quote(model, safe='')}:batchGenerateContent"
        return str(wire.post_once(path, {"batch": batch})["name"])

    def find(self, wire: Wire, token: str, since: float, size: int, known: Container[str]) -> str | None:
        """Looks for our token among the batches."""
        following = ""
        while True:
            page = wire.get(f"/v1beta/batches?pageSize={_PAGE}{following}")
            for batch in page.get("operations") or ():
                if (batch.get("metadata") or {}).get("displayName") == f"vantage-{token}":
                    return str(batch["name"])
            if not page.get("nextPageToken"):
                return None
            following = f"&pageToken={quote(str(page['nextPageToken']), safe='')}"

    def standing(self, wire: Wire, batch: str) -> Standing:
        """How far the batch has come."""
        operation = wire.get(f"/v1beta/{quote(batch)}")
        metadata = operation.get("metadata") or {}
        if not operation.get("done") and metadata.get("state") in _GEMINI_RUNNING:
            return Standing("running")
        if error := operation.get("error"):
            full = error.get("code") in (8, 429)
            return Standing("overloaded" if full else "refused", _refused(error))
        output = metadata.get("output") or operation.get("response") or {}
        results = (output.get("inlinedResponses") or {}).get("inlinedResponses") or ()
        return Standing("ended", _UNTOLD, results)

    def result(self, line: Any) -> BatchResult:
        """One of the results."""
        name = str(line["metadata"]["key"])
        if "response" in line:
            return BatchResult(name, line["response"], status=200)
        error = line["error"]
        code = int(error.get("code") or 0)
        status = code if code >= 400 else _GRPC.get(code, 400)
        return BatchResult(name, {"error": error}, str(error.get("message") or "no reason is given"), status)


class BedrockBatches(BatchProtocol):
    """Bedrock's Converse jobs, whose requests and results are files in S3; a job has at least 100 requests."""

    def line(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request as it stands in the file: the model is named by the job."""
        return {"recordId": name, "modelInput": {key: value for key, value in body.items() if key != "modelId"}}

    def submit(self, wire: Wire, model: str, lines: Sequence[bytes], token: str) -> str:
        """Puts the file into the bucket and makes a job of it."""
        place, role = wire.model.batch_bucket, wire.model.batch_role  # type: ignore[attr-defined]
        bucket, _, folder = place.partition("/")
        file = {"Bucket": bucket, "Key": f"{folder}/{_file(token)}".lstrip("/"), "Body": b"\n".join(lines) + b"\n"}
        wire.ask(lambda: wire.client.files.put_object(**file))
        source = {"s3InputFormat": "JSONL", "s3Uri": f"s3://{place}/{_file(token)}"}
        job = {
            "jobName": f"vantage-{token}",
            "clientRequestToken": token,
            "roleArn": role,
            "modelId": model,
            "modelInvocationType": "Converse",
            "inputDataConfig": {"s3InputDataConfig": source},
            "outputDataConfig": {"s3OutputDataConfig": {"s3Uri": f"s3://{place}/"}},
        }
        return str(wire.once(lambda: wire.client.jobs.create_model_invocation_job(**job))["jobArn"])

    def find(self, wire: Wire, token: str, since: float, size: int, known: Container[str]) -> str | None:
        """Looks for our token among the jobs."""
        page = wire.ask(lambda: wire.client.jobs.list_model_invocation_jobs(nameContains=token))
        return next((str(job["jobArn"]) for job in page.get("invocationJobSummaries") or ()), None)

    def standing(self, wire: Wire, batch: str) -> Standing:
        """How far the job has come."""
        job = wire.ask(lambda: wire.client.jobs.get_model_invocation_job(jobIdentifier=batch))
        if job["status"] in _BEDROCK_RUNNING:
            return Standing("running")
        if job["status"] == "Failed":
            return Standing("refused", _refused(job))
        source = job["inputDataConfig"]["s3InputDataConfig"]["s3Uri"].rpartition("/")[2]
        place = job["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"].removeprefix("s3://").rstrip("/")
        bucket, _, key = f"{place}/{batch.rpartition('/')[2]}/{source}.out".partition("/")
        files = wire.client.files

        def read() -> str:
            try:
                return str(files.get_object(Bucket=bucket, Key=key)["Body"].read().decode())
            except files.exceptions.NoSuchKey:  # a job that was stopped or expired may have none
                return ""

        return Standing("ended", _UNTOLD, filter(str.strip, wire.ask(read).split("\n")))

    def result(self, line: Any) -> BatchResult:
        """A line of the file of results."""
        name = str(line["recordId"])
        if "modelOutput" in line:
            return BatchResult(name, line["modelOutput"], status=200)
        error = line["error"]
        return BatchResult(name, error=str(error.get("errorMessage")), status=int(error.get("errorCode") or 0))


class CohereBatches(BatchProtocol):
    """Cohere's `/v2/batches`, whose requests and results are data sets: lines of JSON go in, Avro files come out."""

    def line(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request as it stands in the file: the batch names the model, and a data set knows no form of replies."""
        kept = {key: body[key] for key in body if key not in ("model", "stream", "response_format", "thinking")}
        said = [{**one, "content": [{"type": "text", "text": one["content"]}]} for one in body["messages"]]
        thinking, settings = body.get("thinking") or {}, {}
        if "type" in thinking:
            settings["reasoning"] = thinking["type"] != "disabled"
        if "token_budget" in thinking:
            settings["thinking_budget"] = thinking["token_budget"]
        return {"custom_id": name, "body": {**kept, **settings, "messages": said}}

    def submit(self, wire: Wire, model: str, lines: Sequence[bytes], token: str) -> str:
        """Uploads the data set, waits until it is found valid, and makes a batch of it."""
        path = f"/v1/datasets?name={_file(token)}&type=batch-chat-v2-input"
        file = str(wire.upload(path, _file(token), lines, part="data")["id"])
        while (known := _dataset(wire, file)).get("validation_status") in ("unknown", "queued", "processing"):
            wire.wait(CHECK)
        if known.get("validation_status") == "failed":
            raise ModelError(f"Cohere refuses the requests ({known.get('validation_error') or 'no reason is given'}).")
        batch = {"name": f"vantage-{token}", "input_dataset_id": file, "model": model}
        return str(wire.post_once("/v2/batches", batch)["batch"]["id"])

    def find(self, wire: Wire, token: str, since: float, size: int, known: Container[str]) -> str | None:
        """Looks for our token among the batches."""
        following = ""
        while True:
            page = wire.get(f"/v2/batches?page_size={_PAGE}{following}")
            for batch in page.get("batches") or ():
                if batch.get("name") == f"vantage-{token}":
                    return str(batch["id"])
            if not page.get("next_page_token"):
                return None
            following = f"&page_token={quote(str(page['next_page_token']), safe='')}"

    def standing(self, wire: Wire, batch: str) -> Standing:
        """How far the batch has come."""
        job = wire.get(f"/v2/batches/{quote(batch, safe='')}")["batch"]
        if job.get("status") in _COHERE_RUNNING:
            return Standing("running")
        if not (output := job.get("output_dataset_id")):
            return Standing("refused", _refused({"message": job.get("status_reason")}))
        files = (wire.file(str(part["url"])) for part in _dataset(wire, str(output)).get("dataset_parts") or ())
        return Standing("ended", _UNTOLD, (row for file in files for row in _rows(file)))

    def result(self, line: Any) -> BatchResult:
        """A record of the results."""
        name, error = str(line["custom_id"]), line.get("error")
        return BatchResult(name, error=str(error)) if error else BatchResult(name, line["body"], status=200)


def _dataset(wire: Wire, name: str) -> Mapping[str, Any]:
    known: Mapping[str, Any] = wire.get(f"/v1/datasets/{quote(name, safe='')}")["dataset"]
    return known


def _rows(file: bytes) -> Iterator[Any]:
    try:
        yield from records(file)
    except (LookupError, ValueError, struct.error, zlib.error) as error:
        raise ModelError(f"Cohere's results cannot be read ({brief(error)}).") from None


def _seconds(time: Any) -> float:
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except ValueError:
        return 0.0
