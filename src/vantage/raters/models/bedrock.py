"""Models on Amazon Bedrock, through the official client (boto3) and its Converse interface."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

from vantage.raters.models.base import Completion, ModelError, Request, require
from vantage.raters.models.chat_protocol import parted
from vantage.raters.models.evidence import ending, served
from vantage.raters.models.faults import Fault
from vantage.raters.models.remote import SIZES, RemoteModel

boto3: Any = require("boto3", "bedrock")
botocore: Any = require("botocore.exceptions", "bedrock")
config_: Any = require("botocore.config", "bedrock")


class BedrockModel(RemoteModel):
    """`bedrock:MODEL_ID`: a model on Amazon Bedrock.

    Credentials and region are found as AWS tools find them (`AWS_PROFILE`, `AWS_REGION` and so on). What is passed
    with `--setting` besides goes into `additionalModelRequestFields`.

    Batches need `batch_bucket`, a bucket of S3 or a folder in it for requests and replies, and `batch_role`, the ARN of
    a role that may read and write there.
    """

    kind = "bedrock"
    tells_probabilities = False
    refused_keywords = SIZES
    errors = (botocore.ClientError, botocore.BotoCoreError)
    hosted = "https://bedrock-runtime.amazonaws.com"
    usual_key = "AWS_BEARER_TOKEN_BEDROCK"
    batches = "bedrock"
    without: Mapping[str, str] = {
        "outputConfig": "the form of the reply is asked for in words only",
        "inferenceConfig.temperature": "replies are drawn at the endpoint's own temperature",
    }

    def __init__(
        self, model: str, *, batch_bucket: str | None = None, batch_role: str | None = None, **others: Any
    ) -> None:
        self.batch_bucket, self.batch_role = (batch_bucket or "").removeprefix("s3://").strip("/"), batch_role
        super().__init__(model, **others)

    @classmethod
    def _default_url(cls) -> str:
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        return f"https://bedrock-runtime.{region}.amazonaws.com" if region else cls.hosted

    def _new_client(self) -> Any:
        # The client is not asynchronous, so as many threads wait as requests may be under way.
        self._pool = ThreadPoolExecutor(max(self.concurrency, 64), thread_name_prefix="bedrock")
        return self._service("bedrock-runtime")

    def _service(self, name: str) -> Any:
        settings = config_.Config(
            read_timeout=self._timeout,
            retries={"total_max_attempts": 1},
            max_pool_connections=max(self.concurrency, 64),
        )
        own = None if ".amazonaws.com" in self._url else self._url
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ("us-east-1" if own else None)
        try:
            return boto3.client(name, endpoint_url=own, region_name=region, config=settings)
        except botocore.BotoCoreError as error:
            raise ModelError(
                f"Bedrock cannot be used ({str(error).rstrip('.')}); set AWS_REGION and credentials."
            ) from None

    def synchronous(self) -> Any:
        """Clients of Bedrock's own interface, which makes batches, and of the storage that holds them."""
        if not (self.batch_bucket and self.batch_role):
            raise ModelError(
                "Batches on Bedrock need storage and a role; pass --setting batch_bucket=BUCKET/FOLDER and "
                "--setting batch_role=ARN."
            )
        jobs, files = self._service("bedrock"), self._service("s3")
        return SimpleNamespace(jobs=jobs, files=files, close=lambda: (jobs.close(), files.close()))

    async def _post(self, body: dict[str, Any]) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: self._client.converse(**body))

    def leaves_out(self, fault: Fault, sent: Mapping[str, Any]) -> bool:
        """Whether a fault names a parameter without which it can be sent; one of them is inside another."""
        return super().leaves_out(fault, {**sent, "inferenceConfig.temperature": 0})

    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """What is sent: the Converse interface knows no seed."""
        sampling = request.sampling
        inference: dict[str, Any] = {"maxTokens": sampling.max_tokens, "temperature": sampling.temperature}
        if "inferenceConfig.temperature" in self._left_out:
            del inference["temperature"]
        if sampling.top_p != 1.0:
            inference["topP"] = sampling.top_p
        body: dict[str, Any] = {
            "modelId": self._model,
            "messages": [
                {"role": m.role, "content": [{"text": m.content}]} for m in request.messages if m.role != "system"
            ],
            "inferenceConfig": inference,
        }
        if system := [{"text": m.content} for m in request.messages if m.role == "system"]:
            body["system"] = system
        if request.schema is not None and "outputConfig" not in self._left_out:
            shape = {"jsonSchema": {"schema": json.dumps(self.shape(request)), "name": "reply"}}
            body["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": shape}}
        if self._parameters:
            body["additionalModelRequestFields"] = self._parameters
        return body

    def read(self, answer: Any, options: Sequence[str] = ()) -> Completion:
        """What an answer says."""
        blocks = [
            {"type": "thinking", "thinking": (block["reasoningContent"].get("reasoningText") or {}).get("text", "")}
            if "reasoningContent" in block
            else block
            for block in answer["output"]["message"]["content"]
        ]
        text, thinking = parted({"content": blocks})
        reason = str(answer.get("stopReason") or "")
        finish = ending("bedrock", reason)
        usage = answer.get("usage") or {}
        cached, written = (int(usage.get(f"cache{name}InputTokens") or 0) for name in ("Read", "Write"))
        return Completion(
            text,
            finish,
            prompt_tokens=int(usage.get("inputTokens") or 0) + cached + written,
            completion_tokens=int(usage.get("outputTokens") or 0),
            thinking=thinking,
            category=reason.replace("_", " ") if finish == "filtered" else "",
            cached_tokens=cached,
            written_tokens=written,
            **served({"id": (answer.get("ResponseMetadata") or {}).get("RequestId")}, reason=reason),
        )

    def fault(self, error: Any) -> Fault:
        """What an error of the client says."""
        if isinstance(error, botocore.ClientError):
            meta = error.response.get("ResponseMetadata") or {}
            fault = error.response.get("Error") or {}
            status = int(meta.get("HTTPStatusCode") or 500)
            body = {"error": {"message": fault.get("Message"), "code": fault.get("Code")}}
            return Fault.of(status, body, meta.get("HTTPHeaders") or {}, str(error))
        if isinstance(error, (botocore.NoCredentialsError, botocore.PartialCredentialsError, botocore.NoRegionError)):
            return Fault(str(error), 401)
        if isinstance(error, botocore.ParamValidationError):
            return Fault(str(error), 400)
        return Fault(str(error), late="Timeout" in type(error).__name__ and "Connect" not in type(error).__name__)

    async def _close_client(self) -> None:
        self._client.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
