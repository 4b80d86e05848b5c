"""An endpoint that answers at once, in a process of its own: `python -m benchmarks.endpoint` prints its port."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

REPLY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "tester",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "2"}}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 1, "total_tokens": 301},
    }
).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(REPLY)


class _Connection(asyncio.Protocol):
    """Reads no more of HTTP than it takes to know where a request ends."""

    def __init__(self) -> None:
        self.held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.held += data
        while (end := self.held.find(b"\r\n\r\n")) >= 0:
            _, _, behind = self.held[:end].lower().partition(b"content-length:")
            length = int(behind.split(b"\r\n", 1)[0] or 0)
            if len(self.held) < end + 4 + length:
                return
            self.held = self.held[end + 4 + length :]
            self.transport.write(HEAD + REPLY)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def endpoint() -> Iterator[str]:
    """The address of a running endpoint."""
    words = [sys.executable, "-m", "benchmarks.endpoint"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert running.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(running.stdout.readline())}/v1"
    finally:
        running.kill()
        running.wait()


if __name__ == "__main__":
    asyncio.run(_serve())
