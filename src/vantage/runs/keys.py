"""Keys: what a call is known by. Two calls have the same key exactly when they ask the same.

A key is a fingerprint of the model with the settings that its answers depend on, the messages, the sampling
parameters with the seed, the JSON Schema, the options to be scored, the instrument with its version, the persona, the
condition, the turn of the conversation and the sample number. Change any of them and the call is another one; the
fifth sample is never served the first.

Which model answers counts as far as the answer depends on it: not where it runs, and never a key or a password.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from vantage.instruments import Instrument
from vantage.raters.chat import ChatRater
from vantage.raters.conversation import Ask
from vantage.raters.models.base import Message

INDIFFERENT: Final = frozenset(
    {
        *("concurrency", "timeout", "max_retries", "key_variable", "base_url", "several"),
        *("threads", "gpu_layers", "parallel", "batch_size", "device", "window", "batch_bucket", "batch_role"),
    }
)
"""Settings that say how a model is run, not what it answers. Whatever is not listed here changes the key."""
_HOSTED: Final = "api.openai.com"
_SAMPLE: Final = 2**20


def identity(rater: ChatRater) -> dict[str, Any]:
    """The model of a rater: its name, and what else its answers depend on. Never a key or a password.

    A public endpoint is part of it. A server of one's own is not: it may come up on another machine or
    port tomorrow and is still the model that it is named after.

    >>> result = identity(ChatRater("openai:judge", settings={"base_url": "http://node7:8000/v1", "timeout": 9}))
    >>> result
    {'model': 'openai:judge', 'endpoint': 'own'}
    >>> identity(ChatRater("openai:judge", settings={"base_url": "https://api.example.org/v1"}))["endpoint"]
    'api.example.org'
    """
    settings: dict[str, Any] = {"model": rater.model_name}
    settings |= {key: rater.settings[key] for key in sorted(rater.settings) if key not in INDIFFERENT}
    kind, _, argument = rater.model_name.partition(":")
    if kind == "openai" or (rater.remote and rater.settings.get("base_url")):
        url = rater.settings.get("base_url") or getattr(rater.model, "url", None) or os.environ.get("OPENAI_BASE_URL")
        host = urlsplit(str(url)).hostname or "" if url else _HOSTED
        settings["endpoint"] = "own" if _is_own(host) else host
    elif kind in ("gguf", "recorded"):
        settings["content"] = _content(Path(argument).expanduser(), whole=kind == "recorded")
        # The same file under another path is the same model.
        settings["model"] = f"{kind}:{Path(argument).name}"
    return settings


def _is_own(host: str) -> bool:
    """Whether a host is this machine or one of the same network."""
    try:
        address = ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".lan"))
    return address.is_private or address.is_loopback


def _content(path: Path, *, whole: bool) -> str:
    """A fingerprint of a file: of all of it, or of its size, beginning and end where it has gigabytes."""
    digest = blake2b(digest_size=16)
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            digest.update(str(size).encode())
            if whole or size <= 2 * _SAMPLE:
                while block := file.read(_SAMPLE):
                    digest.update(block)
            else:
                digest.update(file.read(_SAMPLE))
                file.seek(-_SAMPLE, os.SEEK_END)
                digest.update(file.read(_SAMPLE))
    except OSError:
        # Loading the model will say what is wrong with the file.
        return ""
    return digest.hexdigest()


_DRAWN: Final = ("samples", "temperature", "top_p", "max_tokens", "seed", "calibrates")


def described(rater: ChatRater) -> dict[str, Any]:
    """A rater as a run's record tells it: the model and every option that an answer depends on."""
    return {
        "rater": rater.id,
        "style": rater.style_name,
        "persona": rater.persona.id if rater.persona else "",
        "user": rater.user or "",
        **{name: getattr(rater, name) for name in _DRAWN},
        **({"template": rater.template.digest} if rater.template else {}),
        **({"design": rater.design.described()} if rater.design else {}),
        **identity(rater),
    }


def settings(rater: ChatRater) -> str:
    """What the answers of a rater depend on that its id does not tell, as the raters table keeps it.

    >>> settings(ChatRater("embedded", temperature=1.0, seed=3))
    'seed=3, temperature=1.0, top_p=1.0'
    """
    facts = described(rater)
    if str(facts["model"]).startswith("recorded:"):
        facts.pop("content", None)  # a file of replies may grow
    if rater.parts.distribution:
        facts["min_mass"] = rater.least_mass
    if rater.parts.voice == "history":
        facts["retrieval"] = getattr(rater.encode, "__name__", type(rater.encode).__name__)
    return ", ".join(f"{name}={facts[name]}" for name in sorted(facts) if name not in _TOLD)


_TOLD: Final = frozenset(
    {"rater", "model", "style", "persona", "user", "samples", "max_tokens", "design", "calibrates"}
)
"""What a rater's id and judgments tell themselves; the longest reply changes only those that were cut."""
SIZE: Final = 16
"""Bytes of a key: two of a thousand billion calls agree by chance once in some hundred trillion cases."""
FORMAT: Final = 1
"""Part of every key; a change of what goes into keys is a new number."""
_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class KeyedCall:
    """One call with its key: what an engine asks and the store keeps."""

    key: bytes
    ask: Ask
    context: tuple[bytes, str]
    """What the call shares with others of its rater, as JSON, and the fingerprint of that text."""
    texts: tuple[bytes, ...]
    """Fingerprints of the messages' texts, under which they are stored once."""

    def repeats(self, call: KeyedCall) -> bool:
        """Whether this is another sample of a request: the same but for its seed."""
        one, other = call.ask.request, self.ask.request
        alike = replace(other.sampling, seed=one.sampling.seed) == one.sampling and other.schema == one.schema
        return alike and other.messages == one.messages and not call.ask.options and not self.ask.options


class Keys:
    """Gives the calls of one rater and one instrument their keys."""

    def __init__(self, rater: ChatRater, instrument: Instrument, condition: str = "") -> None:
        settings = identity(rater)
        # A table of recorded answers looks them up by item and question, so these belong to what is asked.
        self._tagged = str(settings["model"]).startswith("recorded:")
        self._shared: dict[str, Any] = {
            **settings,
            "instrument": instrument.id,
            "version": instrument.version,
            "persona": rater.persona.id if rater.persona else "",
            "condition": condition,
        }
        self._also = {"rater": rater.id, "style": rater.style_name}
        self._contexts: dict[Any, tuple[bytes, tuple[bytes, str]]] = {}
        self._text = lru_cache(_REMEMBERED)(text_key)
        self._last: tuple[tuple[Message, ...], tuple[bytes, ...], bytes] = ((), (), b"")

    def call(self, ask: Ask) -> KeyedCall:
        """The call that an ask amounts to."""
        context, context_text = self._context(ask)
        texts, written = self._messages(ask.request.messages)
        own = f"{ask.request.sampling.seed} {ask.sample} 0 {len(texts)}".encode()
        parts = [context, own, written]
        if self._tagged:
            parts.append(json.dumps(ask.request.tag).encode())
        return KeyedCall(blake2b(b"".join(parts), digest_size=SIZE).digest(), ask, context_text, texts)

    def _messages(self, messages: tuple[Message, ...]) -> tuple[tuple[bytes, ...], bytes]:
        """The fingerprints of the messages' texts, and what of the messages goes into the key."""
        # All samples of a question share their messages and follow each other.
        if messages is not self._last[0]:
            texts = tuple([self._text(message.content) for message in messages])
            roles = "".join([message.role[0] for message in messages])
            self._last = (messages, texts, b"".join([roles.encode(), *texts]))
        return self._last[1:]

    def _context(self, ask: Ask) -> tuple[bytes, tuple[bytes, str]]:
        """What many calls share: what of it is part of the key, and all of it as it is stored."""
        request, sampling = ask.request, ask.request.sampling
        schema = None if request.schema is None else _json(request.schema)
        known = (sampling.temperature, sampling.top_p, sampling.max_tokens, schema, ask.options, ask.step)
        if known not in self._contexts:
            drawn = {"temperature": float(sampling.temperature), "top_p": float(sampling.top_p)}
            hashed = {"key": FORMAT, **self._shared, **drawn, "max_tokens": sampling.max_tokens, "step": ask.step}
            if request.schema is not None:
                hashed["schema"] = request.schema
            if ask.options:
                hashed["options"] = list(ask.options)
            digest = blake2b(_json(hashed).encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()
            text = _json({**hashed, **self._also})
            self._contexts[known] = (digest, (text_key(text), text))
        return self._contexts[known]


def text_key(text: str) -> bytes:
    """The fingerprint under which a text is stored."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
