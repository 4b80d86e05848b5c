"""Google's Gemini models, through the official client (google-genai)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from vantage.raters.models.base import Completion, ModelError, Request, require
from vantage.raters.models.evidence import ending, served
from vantage.raters.models.faults import Fault
from vantage.raters.models.options import first_tokens
from vantage.raters.models.remote import RemoteModel

genai: Any = require("google.genai", "gemini")
errors_: Any = require("google.genai.errors", "gemini")
httpx2: Any = require("httpx2", "gemini")

_DEPTH: Final = 20


class GeminiModel(RemoteModel):
    """`gemini:NAME`: a model of Google's. Thinking is set with `thinking_config.thinking_budget=0` and the like."""

    kind = "gemini"
    errors = (errors_.APIError, httpx2.HTTPError)
    hosted = "https://generativelanguage.googleapis.com"
    usual_key = "GEMINI_API_KEY"
    batches = "gemini"
    without: Mapping[str, str] = {
        "seed": "replies to the same prompt may differ from run to run",
        "response_json_schema": "the form of the reply is asked for in words only",
        "temperature": "replies are drawn at the endpoint's own temperature",
        "top_p": "replies are drawn from the endpoint's own choice of tokens",
    }

    def _new_client(self) -> Any:
        self._http = httpx2.AsyncClient(timeout=self._timeout)
        options = {
            "base_url": self._url,
            "timeout": int(self._timeout * 1000),
            "retry_options": {"attempts": 1},
            "httpx_async_client": self._http,
        }
        return genai.Client(api_key=self._key or "none", vertexai=False, http_options=options)

    async def _post(self, body: dict[str, Any]) -> Any:
        config = dict(body)
        model, contents = config.pop("model"), config.pop("contents")
        return await self._client.aio.models.generate_content(model=model, contents=contents, config=config)

    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """What is sent, in the names of the client."""
        sampling, roles = request.sampling, {"user": "user", "assistant": "model"}
        config: dict[str, Any] = {
            "temperature": 0.0 if options else sampling.temperature,
            "max_output_tokens": 1 if options else sampling.max_tokens,
        }
        if system := [m.content for m in request.messages if m.role == "system"]:
            config["system_instruction"] = "\n\n".join(system)
        if options:
            config |= {"response_logprobs": True, "logprobs": _DEPTH}
        else:
            config |= {"top_p": sampling.top_p} if sampling.top_p != 1.0 else {}
            config |= {"seed": sampling.seed} if sampling.seed is not None else {}
            if request.schema is not None and "response_json_schema" not in self._left_out:
                config |= {"response_mime_type": "application/json", "response_json_schema": dict(request.schema)}
        sent = {name: value for name, value in {**config, **self._parameters}.items() if name not in self._left_out}
        said = [{"role": roles[m.role], "parts": [{"text": m.content}]} for m in request.messages if m.role != "system"]
        return {"model": self._model, "contents": said, **sent}

    def read(self, answer: Any, options: Sequence[str] = ()) -> Completion:
        """What an answer says, as the client gives it or as plain data."""
        if isinstance(answer, Mapping):
            answer = genai.types.GenerateContentResponse.model_validate(answer)
        completion = self._reply(answer)
        if not options or completion.finish == "filtered":
            return completion
        result = answer.candidates[0].logprobs_result
        if result is None or not result.top_candidates:
            raise ModelError(self.no_probabilities)
        top = [(str(one.token), float(one.log_probability)) for one in result.top_candidates[0].candidates]
        return replace(completion, text=top[0][0], finish="stop", scores=tuple(first_tokens(top, options)))

    def _reply(self, answer: Any) -> Completion:
        usage = answer.usage_metadata
        thought = int(getattr(usage, "thoughts_token_count", None) or 0)
        tokens: dict[str, Any] = {
            "prompt_tokens": int(getattr(usage, "prompt_token_count", None) or 0),
            "completion_tokens": int(getattr(usage, "candidates_token_count", None) or 0) + thought,
            "cached_tokens": int(getattr(usage, "cached_content_token_count", None) or 0),
            "reasoning_tokens": thought,
            **served({"model": answer.model_version, "id": answer.response_id}),
        }
        if not answer.candidates:
            feedback = answer.prompt_feedback
            reason = _name(feedback.block_reason) if feedback is not None else ""
            if not reason:
                raise LookupError("an answer without candidates")
            return Completion("", "filtered", category=reason.lower(), **tokens)
        candidate = answer.candidates[0]
        parts = (candidate.content.parts if candidate.content else None) or []
        text = "".join(part.text or "" for part in parts if not part.thought)
        thinking = "".join(part.text or "" for part in parts if part.thought)
        reason = _name(candidate.finish_reason)
        finish = ending("gemini", reason)
        category = reason.lower() if finish == "filtered" else ""
        return Completion(text, finish, thinking=thinking, category=category, reason=reason, **tokens)

    def _fault(self, error: Any) -> Fault:
        if isinstance(error, errors_.APIError):
            return Fault.of(
                error.code, error.details, getattr(error.response, "headers", None) or {}, str(error.message)
            )
        return Fault(str(error), late="Timeout" in type(error).__name__)

    async def _close_client(self) -> None:
        await self._client.aio.aclose()
        await self._http.aclose()


def _name(reason: Any) -> str:
    return str(getattr(reason, "name", reason) or "")
