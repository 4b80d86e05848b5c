"""Which model answers, as far as the answer depends on it: what of a model goes into the key of a call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import blake2b
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from vantage.raters.chat import ChatRater

INDIFFERENT: Final = frozenset(
    {
        *("concurrency", "timeout", "max_retries", "key_variable", "base_url", "several"),
        *("threads", "gpu_layers", "parallel", "batch_size", "device", "window"),
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
    name = rater.model_name
    settings: dict[str, Any] = {"model": name}
    settings |= {key: rater.settings[key] for key in sorted(rater.settings) if key not in INDIFFERENT}
    kind, _, argument = name.partition(":")
    if kind == "openai" or (rater.remote and rater.settings.get("base_url")):
        settings["endpoint"] = _endpoint(rater)
    elif kind in ("gguf", "recorded"):
        settings["content"] = _content(Path(argument).expanduser(), whole=kind == "recorded")
        # The same file under another path is the same model.
        settings["model"] = f"{kind}:{Path(argument).name}"
    return settings


def _endpoint(rater: ChatRater) -> str:
    url = rater.settings.get("base_url") or getattr(rater.model, "url", None) or os.environ.get("OPENAI_BASE_URL")
    host = urlsplit(str(url)).hostname or "" if url else _HOSTED
    return "own" if _is_own(host) else host


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


def described(rater: ChatRater, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A rater as a run's record tells it: the model and every option that an answer depends on."""
    return {
        "rater": rater.id,
        "style": rater.style_name,
        "persona": rater.persona.id if rater.persona else "",
        "user": rater.user or "",
        "samples": rater.samples,
        "temperature": rater.temperature,
        "top_p": rater.top_p,
        "max_tokens": rater.max_tokens,
        "seed": rater.seed,
        "calibrates": rater.calibrates,
        **({"template": rater.template.digest} if rater.template else {}),
        **({"design": rater.design.described()} if rater.design else {}),
        **settings,
    }
