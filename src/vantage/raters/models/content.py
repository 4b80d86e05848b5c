"""What a reply is made of: the answer, and the thinking that some models put before it, in any provider's form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from vantage.raters.models.base import Completion, Finish

_BLOCK: Final = re.compile(r"<(think|thinking|reasoning)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_OPEN: Final = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_CLOSE: Final = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_THINKING: Final = ("reasoning_content", "reasoning", "thinking")
_FINISHES: Final[dict[str, Finish]] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}
"""Why Anthropic's models stop, unless they have said all."""


def parted(message: Mapping[str, Any]) -> tuple[str, str]:
    """The answer and the thinking of a message, whether its content is text or a list of blocks.

    >>> parted({"content": "4", "reasoning_content": "Warm."})
    ('4', 'Warm.')
    >>> parted({"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "4"}]})
    ('4', 'Hm.')
    """
    said: list[str] = []
    thought: list[str] = []
    _sort(message.get("content"), said, thought)
    for key in _THINKING:
        if isinstance(message.get(key), str) and message[key]:
            thought.append(message[key])
            break
    return "".join(said), "\n".join(thought)


def read_message(answer: Mapping[str, Any]) -> Completion:
    """What a message of Anthropic's says, whether it was asked for alone or in a batch.

    >>> read_message({"content": [{"type": "text", "text": "4"}], "stop_reason": "max_tokens"}).finish
    'length'
    """
    if not isinstance(answer["content"], list):
        raise TypeError("this is no message")
    text, thinking = parted({"content": answer["content"]})
    finish = _FINISHES.get(str(answer.get("stop_reason")), "stop")
    details, usage = answer.get("stop_details") or {}, answer.get("usage") or {}
    cached = int(usage.get("cache_read_input_tokens") or 0)
    return Completion(
        text or str(details.get("explanation") or ""),
        finish,
        prompt_tokens=sum(int(usage.get(n) or 0) for n in ("input_tokens", "cache_creation_input_tokens")) + cached,
        completion_tokens=int(usage.get("output_tokens") or 0),
        thinking=thinking,
        category=str(details.get("category") or "refusal") if finish == "filtered" else "",
        cached_tokens=cached,
        reasoning_tokens=int((usage.get("output_tokens_details") or {}).get("thinking_tokens") or 0),
    )


def apart(text: str) -> tuple[str, str]:
    r"""The answer and the thinking of a text in which thinking stands between tags; an open tag is all thinking.

    >>> apart("<think>4 or 5? 4.</think>\n\nAnswer: 4"), apart("Hm. So 4.</think>4"), apart("<think>Let me see")
    (('Answer: 4', '4 or 5? 4.'), ('4', 'Hm. So 4.'), ('', 'Let me see'))
    """
    if "<" not in text:
        return text, ""
    thought = [match[2].strip() for match in _BLOCK.finditer(text)]
    rest = _BLOCK.sub("", text)
    # A template may write the opening tag into the prompt, so that the reply has only the closing one.
    *before, last = _CLOSE.split(rest)
    thought += [part.strip() for part in before]
    if opened := _OPEN.search(last):
        thought.append(last[opened.end() :].strip())
        last = last[: opened.start()]
    if not thought:
        return text, ""
    return last.strip(), "\n".join(part for part in thought if part)


def _sort(content: Any, said: list[str], thought: list[str]) -> None:
    """Puts the texts of a content, however deeply it is nested, where they belong."""
    if isinstance(content, str):
        said.append(content)
    elif isinstance(content, list):
        for block in content:
            _sort(block, said, thought)
    elif isinstance(content, Mapping):
        kind = str(content.get("type") or "")
        if kind in ("thinking", "reasoning", "reasoning_content", "summary_text") or content.get("thought"):
            inner: list[str] = []
            for key in ("thinking", "summary", "reasoningText", "text", "content"):
                _sort(content.get(key), inner, inner)
            thought.append("".join(inner))
        elif isinstance(content.get("text"), str):
            said.append(content["text"])
        elif "content" in content:
            _sort(content["content"], said, thought)
