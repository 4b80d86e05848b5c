"""A crowd of participants in one process: connections that stay open, forms that are sent as a browser would."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from urllib.parse import urlencode

TOKEN = re.compile(r'name="form_token" value="([^"]+)"')
ACTION = re.compile(r'<form method="post" action="([^"]+)"')


@dataclass(slots=True)
class Tally:
    """What a crowd has done: when answers were acknowledged, and how long submissions and pages took."""

    submits: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)
    weight: int = 0
    """Bytes of the largest page."""

    def note(self, submit: float, page: float, weight: int) -> None:
        """Notes an answer and the page after it."""
        self.submits.append(submit)
        self.pages.append(page)
        self.weight = max(self.weight, weight)


class Wire:
    """One browser: a connection and cookies."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, form: object = None, *, as_json: bool = False) -> tuple[int, str, str]:
        """Status, where the answer leads, and the body."""
        body = (json.dumps(form) if as_json else urlencode(form or {})).encode()  # type: ignore[arg-type]
        kind = "application/json" if as_json else "application/x-www-form-urlencoded"
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nCookie: {cookies}\r\n"
        if method == "POST":
            head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        for attempt in range(3):
            try:
                return await self._exchange(head.encode() + b"\r\n" + (body if method == "POST" else b""))
            except (asyncio.IncompleteReadError, ConnectionError):
                # A server that closes every connection, as development servers do, is asked on a new one.
                self.close()
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    async def _exchange(self, request: bytes) -> tuple[int, str, str]:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port, limit=2**22)
        reader, writer = self.streams
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.split("\r\n")
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "set-cookie":
                self.cookies |= {key: part.value for key, part in SimpleCookie(value).items()}
            headers[name.lower()] = value.strip()
        if "content-length" in headers:
            body = await reader.readexactly(int(headers["content-length"]))
        else:
            body = await reader.read()
        if headers.get("connection") == "close" or lines[0].startswith("HTTP/1.0"):
            self.close()
        return int(lines[0].split()[1]), headers.get("location", ""), body.decode("utf-8", "replace")

    def close(self) -> None:
        """Lets go of the connection."""
        if self.streams is not None:
            self.streams[1].close()
        self.streams = None


class Participant(ABC):
    """Somebody at work: enters once, then answers page after page for as long as asked."""

    def __init__(self, port: int, number: int) -> None:
        self.wire, self.number, self.page = Wire(port), number, ""
        self.rng = random.Random(number)  # noqa: S311

    @abstractmethod
    async def enter(self) -> None:
        """Goes to the first item."""

    @abstractmethod
    async def answer(self, tally: Tally) -> None:
        """Sends the answer to the open page and opens the next one."""

    async def work(self, tally: Tally, until: float, pace: float) -> None:
        """Answers until the time is over; about `pace` seconds lie between two answers (0: none)."""
        await asyncio.sleep(self.rng.uniform(0, pace or 0.1))
        while time.perf_counter() < until:
            await self.answer(tally)
            if pace:
                await asyncio.sleep(self.rng.uniform(0.5, 1.5) * pace)


class OfVantage(Participant):
    """The form of a page, then the page to which the answer leads."""

    async def enter(self) -> None:
        """Agrees, and goes on to the first item."""
        path = "/"
        while "/item/" not in path or not self.page:
            _, leads, self.page = await self.wire.ask("GET", path)
            if leads:
                path = leads
            elif "/item/" not in path:
                path = await self._send({"agreed": "yes"})

    async def answer(self, tally: Tally) -> None:
        """Sends the form and follows where it leads."""
        start = time.perf_counter()
        path = await self._send({"a0": str(1 + self.number % 5)})
        between = time.perf_counter()
        status, _, self.page = await self.wire.ask("GET", path)
        assert status == 200, (status, self.page[:500])
        tally.note(between - start, time.perf_counter() - between, len(self.page.encode()))

    async def _send(self, form: dict[str, str]) -> str:
        token, action = TOKEN.search(self.page), ACTION.search(self.page)
        assert token is not None, self.page
        assert action is not None, self.page
        status, leads, text = await self.wire.ask("POST", action.group(1), {"form_token": token.group(1), **form})
        assert status == 303, (status, text[:500])
        return leads


class OfPotato(Participant):
    """The script's message with the answer, then the form that asks for the next instance."""

    async def enter(self) -> None:
        """Signs up and logs in."""
        name = {"email": f"u{self.number}-{time.time_ns()}", "pass": "x"}
        await self.wire.ask("POST", "/register", {"action": "signup", **name})
        await self.wire.ask("POST", "/auth", {"action": "login", **name})
        _, _, self.page = await self.wire.ask("GET", "/annotate")

    async def answer(self, tally: Tally) -> None:
        """Sends the answer, then asks for the next instance."""
        number = re.search(r"Text (\d+)\.", self.page)
        answer = {"instance_id": f"i{number.group(1) if number else 0}", "annotations": {"warm:3": "on"}}
        start = time.perf_counter()
        status, _, text = await self.wire.ask("POST", "/updateinstance", answer, as_json=True)
        assert status == 200, (status, text[:500])
        between = time.perf_counter()
        status, leads, self.page = await self.wire.ask("POST", "/annotate", {"action": "next_instance"})
        if leads:
            status, _, self.page = await self.wire.ask("GET", "/annotate")
        assert status == 200, (status, self.page[:500])
        tally.note(between - start, time.perf_counter() - between, len(self.page.encode()))


async def run(people: Sequence[Participant], seconds: float, pace: float = 0.0) -> Tally:
    """Lets people work side by side for so long."""
    tally, until = Tally(), time.perf_counter() + seconds
    await asyncio.gather(*(person.work(tally, until, pace) for person in people))
    return tally


async def entered(people: Sequence[Participant]) -> None:
    """Lets everybody enter, some at a time."""
    for start in range(0, len(people), 20):
        await asyncio.gather(*(person.enter() for person in people[start : start + 20]))
