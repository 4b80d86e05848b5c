"""Evidence about a reply: how it ended, as the provider says, and what served it.

A reply is complete only where its provider documents that the reason it gives means so. Reasons that say that the
provider broke the reply off are faults that may pass; whatever else is not listed leaves the reply `broken`: it is
stored, and no answer is read from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vantage.documents import Document
from vantage.raters.models.base import Finish, Passing

_KNOWN: Final = Document.bundled("vantage.raters.models", "endings.yaml").data
INTERRUPTED: Final = frozenset(_KNOWN.pop("interrupted"))
"""Reasons, in lower case, by which providers and servers say that they broke a reply off: asking again may help."""
ENDINGS: Final[Mapping[str, Mapping[str, Finish]]] = {
    protocol: {reason: finish for finish, reasons in table.items() for reason in reasons}
    for protocol, table in _KNOWN.items()
}
"""By protocol, what each documented reason means; a reason that is not here ends no reply."""
_TICKS: Final = 1e10
"""Ticks of xAI's that are a dollar."""
COMPLETE: Final = frozenset(reason for table in ENDINGS.values() for reason in table if table[reason] == "stop")
"""Reasons that complete a reply in one protocol or another."""


def ending(protocol: str, reason: object) -> Finish:
    """How a reply ended, by the reason that its protocol gives; an interruption raises `Passing`.

    >>> ending("chat", "stop"), ending("anthropic", "pause_turn"), ending("chat", None)
    ('stop', 'broken', 'broken')
    """
    word = "" if reason is None else str(reason)
    if word.lower() in INTERRUPTED:
        raise Passing(f"The provider broke the reply off in the middle (finish reason '{word[:60]}').")
    return ENDINGS[protocol].get(word, "broken")


def served(answer: Mapping[str, Any], **others: object) -> dict[str, Any]:
    """What an answer says of what served it, as a completion keeps it; `others` are told elsewhere.

    >>> served({"id": "c1", "model": "m-2026-08", "system_fingerprint": None}, reason="stop")
    {'reason': 'stop', 'served': 'm-2026-08', 'request_id': 'c1'}
    """
    names = (("model", "served"), ("provider", "provider"), ("system_fingerprint", "fingerprint"), ("id", "request_id"))
    facts = {**others, **{ours: answer.get(theirs) for theirs, ours in names}}
    # Names and ids only: whatever is longer is no such thing.
    return {name: str(fact)[:200] for name, fact in facts.items() if fact}


def counts(answer: Mapping[str, Any], prompt: str = "prompt", reply: str = "completion") -> dict[str, Any]:
    """The tokens and the cost that an answer tells, by what a protocol calls prompt and reply.

    Cached tokens are told in OpenAI's place, in DeepSeek's (`prompt_cache_hit_tokens`) or in Moonshot's
    (`cached_tokens`); OpenRouter adds those written into a cache. Where the total is more than both, as of xAI, the
    rest is thinking that was not counted as reply.

    >>> counts({"usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 40}})["completion_tokens"]
    31
    """
    usage = answer.get("usage") or {}
    details = usage.get(f"{prompt}_tokens_details") or {}
    cached = details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or usage.get("cached_tokens")
    read, written, total = (int(usage.get(f"{name}_tokens") or 0) for name in (prompt, reply, "total"))
    return {
        "prompt_tokens": read,
        "completion_tokens": max(written, total - read),
        "cached_tokens": int(cached or 0),
        "written_tokens": int(details.get("cache_write_tokens") or 0),
        "reasoning_tokens": int((usage.get(f"{reply}_tokens_details") or {}).get("reasoning_tokens") or 0),
        "cost": _cost(usage),
    }


def _cost(usage: Mapping[str, Any]) -> float | None:
    """What a call cost, as OpenRouter, Perplexity (in an object), DeepInfra and xAI (in ticks) say."""
    ticks, cost = usage.get("cost_in_usd_ticks"), usage.get("cost", usage.get("estimated_cost"))
    cost = cost.get("total_cost") if isinstance(cost, Mapping) else cost
    if cost is None and isinstance(ticks, int):
        cost = ticks / _TICKS
    return float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) else None
