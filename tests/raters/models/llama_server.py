"""A real llama.cpp server with SmolLM2 on a port of this machine, as anybody would start one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vantage.raters.models.embedded import weights


@contextmanager
def llama_server(window: int = 4096) -> Iterator[str]:
    """The base URL of the server while it runs."""
    import xllamacpp  # type: ignore[import-untyped]

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.n_ctx, params.n_parallel = 2 * window, 2
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.ui = params.warmup = False
    params.verbosity = -1
    server: Any = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server
