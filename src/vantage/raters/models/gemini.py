"""Google's Gemini models, through the interface `generateContent`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

import openai

from vantage.raters.models.base import Completion, ModelError, Request
from vantage.raters.models.chat_protocol import WITHOUT
from vantage.raters.models.evidence import ending, served
from vantage.raters.models.options import first_tokens
from vantage.raters.models.remote import RemoteModel

_DEPTH: Final = 20


class GeminiModel(RemoteModel):
    """`gemini:NAME`: a model of Google's. Thinking is set with `thinking_config.thinking_budget=0` and the like."""

    kind = "gemini"
    hosted = "https://generativelanguage.googleapis.com"
    usual_key = "GEMINI_API_KEY"
    batches = "gemini"
    headers: Mapping[str, Any] = {"x-goog-api-key": "{KEY}", "Authorization": openai.Omit()}
    without: Mapping[str, str] = {
        "response_json_schema": WITHOUT["response_format"],
        **{name: WITHOUT[name] for name in ("seed", "temperature", "top_p")},
    }

    @property
    def path(self) -> str:
        """Where requests go, with the model in it."""
        return f"/v1beta/models/{quote(self._model, safe='')}:generateContent"

    def body(self, request: Request, options: Sequence[str] = ()) -> dict[str, Any]:
        """What is asked, with each setting under a name of its own; `wire` has the form in which it is sent."""
        sampling, roles = request.sampling, {"user": "user", "assistant": "model"}
        said = [{"role": roles[m.role], "parts": [{"text": m.content}]} for m in request.messages if m.role != "system"]
        body: dict[str, Any] = {
            "contents": said,
            "temperature": 0.0 if options else sampling.temperature,
            "max_output_tokens": 1 if options else sampling.max_tokens,
        }
        if system := [m.content for m in request.messages if m.role == "system"]:
            body["system_instruction"] = "\n\n".join(system)
        if options:
            body |= {"response_logprobs": True, "logprobs": _DEPTH}
        else:
            body |= {"top_p": sampling.top_p} if sampling.top_p != 1.0 else {}
            body |= {"seed": sampling.seed} if sampling.seed is not None else {}
            if request.schema is not None and "response_json_schema" not in self._left_out:
                body |= {"response_mime_type": "application/json", "response_json_schema": dict(request.schema)}
        return self._sent(body)

    def wire(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request in the names of the interface, settings apart from what is said."""
        request: dict[str, Any] = {"contents": body["contents"]}
        if "system_instruction" in body:
            request["systemInstruction"] = {"parts": [{"text": body["system_instruction"]}]}
        others = ("contents", "system_instruction")
        return {**request, "generationConfig": _camel({key: body[key] for key in body if key not in others})}

    def read(self, answer: Any, options: Sequence[str] = ()) -> Completion:
        """What an answer says: a reply, or the scores of options."""
        completion = self._reply(answer)
        if not options or completion.finish == "filtered":
            return completion
        likeliest = (answer["candidates"][0].get("logprobsResult") or {}).get("topCandidates")
        if not likeliest:
            raise ModelError(self.no_probabilities)
        top = [(str(one["token"]), float(one["logProbability"])) for one in likeliest[0]["candidates"]]
        return replace(completion, text=top[0][0], finish="stop", scores=tuple(first_tokens(top, options)))

    @staticmethod
    def _reply(answer: Mapping[str, Any]) -> Completion:
        usage = answer.get("usageMetadata") or {}
        counted = {name: int(usage.get(f"{name}TokenCount") or 0) for name in ("prompt", "candidates", "thoughts")}
        tokens: dict[str, Any] = {
            "prompt_tokens": counted["prompt"],
            "completion_tokens": counted["candidates"] + counted["thoughts"],
            "cached_tokens": int(usage.get("cachedContentTokenCount") or 0),
            "reasoning_tokens": counted["thoughts"],
            **served({"model": answer.get("modelVersion"), "id": answer.get("responseId")}),
        }
        if not answer.get("candidates"):
            reason = str(answer["promptFeedback"]["blockReason"])
            return Completion("", "filtered", category=reason.lower(), **tokens)
        candidate = answer["candidates"][0]
        parts = (candidate.get("content") or {}).get("parts") or []
        text, thinking = (
            "".join(part.get("text") or "" for part in parts if bool(part.get("thought")) == thought)
            for thought in (False, True)
        )
        reason = str(candidate.get("finishReason") or "")
        finish = ending("gemini", reason)
        category = reason.lower() if finish == "filtered" else ""
        return Completion(text, finish, thinking=thinking, category=category, reason=reason, **tokens)


def _camel(settings: Any) -> Any:
    """Names as the interface has them; what a schema calls its fields is left alone.

    >>> _camel({"max_output_tokens": 4, "thinking_config": {"thinking_budget": 0}})
    {'maxOutputTokens': 4, 'thinkingConfig': {'thinkingBudget': 0}}
    """
    if not isinstance(settings, Mapping):
        return settings
    parts = {name: name.split("_") for name in settings}
    return {
        first + "".join(word.title() for word in rest): settings[name]
        if name == "response_json_schema"
        else _camel(settings[name])
        for name, (first, *rest) in parts.items()
    }
