"""Applied to every request: the path prefix of a reverse proxy, a limit on the body, security headers.

One plain ASGI layer, because every layer adds cost to each of hundreds of answers a second.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY: Final = 4 << 20
"""Bytes of a request: enough for 24 reasons of maximal length in any script."""

SLOWEST_BODY: Final = 60.0
"""Seconds within which a body must have arrived."""
TOO_LARGE: Final = b"The form is too large. Go back, shorten your text and send it again.\n"

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'{redirects}; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)


class Guard:
    """Wraps the application; `prefix` is its path behind a reverse proxy, which may or may not strip it.

    `redirects` are origins (`https://app.prolific.com`) that the end of a study leads to: browsers treat a redirect
    after a form as part of the form.
    """

    def __init__(self, app: ASGIApp, prefix: str = "", redirects: tuple[str, ...] = ()) -> None:
        self.app, self.prefix = app, prefix.rstrip("/")
        policy = POLICY.format(redirects="".join(f" {origin}" for origin in redirects))
        self.headers = [*HEADERS, (b"content-security-policy", policy.encode("ascii"))]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self.prefix:
            path = scope["path"]
            inside = path == self.prefix or path.startswith(self.prefix + "/")
            scope = {**scope, "root_path": self.prefix, "path": path if inside else self.prefix + path}
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                named = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(pair for pair in self.headers if pair[0] not in named),
                    # Pages contain a person's answers; static files set their own, longer lifetime.
                    *([(b"cache-control", b"no-store")] if b"cache-control" not in named else []),
                    *([(b"strict-transport-security", b"max-age=31536000")] if scope.get("scheme") == "https" else []),
                ]
            await send(message)

        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            await _refuse(guarded)
            return
        received, complete, until = 0, False, asyncio.get_running_loop().time() + SLOWEST_BODY

        async def counted() -> Message:
            nonlocal received, complete
            # After the body, the application only waits for the client to leave.
            async with asyncio.timeout_at(None if complete else until):
                message = await receive()
            complete = not message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > LARGEST_BODY:
                raise _TooLargeError
            return message

        try:
            await self.app(scope, counted, guarded)
        except _TooLargeError:
            if not started:
                await _refuse(guarded)
        except TimeoutError:
            if not complete and not started:
                await _refuse(guarded, 408, b"The form arrived too slowly. Go back and send it again.\n")
            elif not started:
                raise


class _TooLargeError(Exception):
    """The body is too large, and no length was announced."""


async def _refuse(send: Send, status: int = 413, text: bytes = TOO_LARGE) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": text})
