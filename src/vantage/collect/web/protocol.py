"""Connections that never complete a request are closed: open sockets would be used up by very few slow senders."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS: Final = 20.0
"""Seconds that a client has to connect and send the first lines of a request (the body has its own limit: `guard`)."""


class ImpatientProtocol(HttpToolsProtocol):
    """HTTP with a limit on the time until a request's headers are complete."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A client has connected and should send something soon."""
        super().connection_made(transport)
        self._wait()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        """The headers are complete; from now on the application decides how long to wait."""
        self._stop()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop()
        self._limit = self.loop.call_later(HEADERS, self.transport.close)

    def _stop(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
