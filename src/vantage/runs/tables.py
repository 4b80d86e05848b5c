"""The tables of a run store, and how a call is written into them and read back.

Calls are only ever added. The texts of prompts stand in a table of their own, each once, since thousands of calls
share their guidelines and all samples of a question share everything.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from vantage.documents import bundled_text
from vantage.errors import InputError
from vantage.raters.models.base import Completion, Finish
from vantage.runs.keys import SIZE, KeyedCall, text_key


class StoreError(InputError):
    """A run store that cannot be read or written; what was acknowledged before is still in it."""


_FAULTS: Final = (
    (
        ("full", "disk i/o", "no space", "too large"),
        "the store cannot grow ({error})",
        "free some space and run the same command again; every reply acknowledged so far is kept",
    ),
    (
        ("readonly", "read-only", "unable to open", "permission"),
        "the store cannot be written ({error})",
        "name a place that can be written with --store",
    ),
    (("locked", "busy"), "another process holds the store", "wait for it, or end it, and run again"),
    (
        ("malformed", "not a database", "corrupt"),
        "the store is damaged ({error})",
        "save what can be read with: vantage runs recover {path}",
    ),
)
"""Words in what SQLite or the system reports, the problem that they tell of, and its remedy."""


def store_error(error: Exception, path: Path) -> StoreError:
    """The sentence for what SQLite or the system reports."""
    for words, problem, remedy in _FAULTS:
        if any(word in str(error).lower() for word in words):
            return StoreError(problem.format(error=error), file=path, remedy=remedy.format(path=path))
    return StoreError(f"the store cannot be used ({error})", file=path)


VERSION: Final = 2
"""The version of the tables, in the file's `user_version`; 1 had no evidence and no replies that broke off."""
APPLICATION: Final = 0x56414E54
"""Marks the file as a run store (`application_id`)."""
SCHEMA: Final = bundled_text("vantage.runs", "schema.sql")
LATER: Final = bundled_text("vantage.runs", "later.sql")
"""What was added to the first tables, and is made in an older file when it is opened."""
FINISHES: Final[dict[str, Finish]] = {"s": "stop", "l": "length", "f": "filtered", "b": "broken"}
FACTS: Final = ("reason", "served", "provider", "fingerprint")
"""What is stored of how a reply ended and what served it, with how the options were named in the prompt."""
_CODES: Final = {finish: code for code, finish in FINISHES.items()}
_PLAIN: Final = 60
"""Characters up to which a text is not worth compressing."""
_SMALL: Final = 1024
"""Bytes up to which a text fits into the smallest window."""
_REMEMBERED: Final = 20_000
_MANY: Final = 500
"""Keys that are looked up in one statement."""


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A call that came to its end, in a reply or in a failure, on its way into the store."""

    call: KeyedCall
    completion: Completion
    run: int
    at: float
    tries: int = 1
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Stored:
    """A reply that the store holds, and the run that first asked for it."""

    completion: Completion
    id: int
    run: int


class Inserts:
    """Writes finished calls through one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._ids: dict[bytes, int] = {}

    def add(self, batch: Sequence[FinishedCall]) -> None:
        """Adds calls inside the transaction that is open; one that is there already stays as it is."""
        calls, details, evidence, failures, answered = [], [], [], [], []
        for one in batch:
            call, completion, request = one.call, one.completion, one.call.ask.request
            tag = request.tag or (None, None, 0)
            messages = " ".join(
                [
                    f"{message.role[0]}{self._text(key, message.content)}"
                    for key, message in zip(call.texts, request.messages, strict=True)
                ]
            )
            context = self._text(*call.context)
            asked = (call.key, one.run, one.at, context, messages, tag[0], tag[1] or None)
            seed = request.sampling.seed
            # No request is repeated as another attempt any more; older stores have some.
            drawn = (call.ask.sample, 0, seed if seed is None or abs(seed) < 2**63 else str(seed))
            spent = (one.tries, round(one.seconds * 1000))
            answered.append((call.key,))
            if completion.finish == "failed":
                error = completion.error.encode("utf-8", "replace").decode()
                failures.append((*asked, *drawn, error, *spent, checksum(call.key, error)))
                continue
            scores = None if completion.scores is None else np.array(completion.scores, dtype="<f8").tobytes()
            answer = (_CODES[completion.finish], packed(completion.text), scores)
            tokens = (completion.prompt_tokens, completion.completion_tokens)
            calls.append((*asked, *drawn, *answer, *tokens, *spent, checksum(call.key, *answer)))
            more = (completion.cached_tokens, completion.reasoning_tokens)
            if completion.thinking or completion.category or any(more):
                details.append((call.key, packed(completion.thinking), completion.category, *more))
            if completion.reason or completion.served or completion.request_id or completion.cost is not None:
                facts = {name: getattr(completion, name) for name in FACTS} | {"options": call.ask.named}
                text = json.dumps(facts, sort_keys=True)
                billed = (completion.request_id, completion.written_tokens, completion.cost)
                evidence.append((call.key, self._text(text_key(text), text), *billed))
        execute = self.connection.executemany
        execute(f"INSERT OR IGNORE INTO calls VALUES (NULL{', ?' * 18})", calls)  # noqa: S608
        execute("INSERT OR IGNORE INTO details VALUES (NULL, ?, ?, ?, ?, ?)", details)
        execute("INSERT OR IGNORE INTO evidence VALUES (NULL, ?, ?, ?, ?, ?)", evidence)
        execute(f"INSERT INTO failures VALUES (NULL{', ?' * 14})", failures)  # noqa: S608
        execute("DELETE FROM claims WHERE key = ?", answered)

    def _text(self, key: bytes, text: str) -> int:
        id_ = self._ids.get(key)
        if id_ is not None:
            return id_
        if len(self._ids) >= _REMEMBERED:
            self._ids.clear()
        row = self.connection.execute("SELECT id FROM texts WHERE key = ?", (key,)).fetchone()
        if row is None:
            row = (self.connection.execute("INSERT INTO texts VALUES (NULL, ?, ?)", (key, packed(text))).lastrowid,)
        self._ids[key] = int(row[0])
        return self._ids[key]

    def forget(self) -> None:
        """Forgets the numbers of texts, some of which a transaction that was undone may have given."""
        self._ids.clear()


def packed(text: str) -> str | bytes:
    """A text as it is stored: compressed where that makes it shorter."""
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError:
        # Half a character, which SQLite's text cannot hold, is held by a compressed one.
        return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)
    if len(raw) <= _PLAIN:
        return text
    # A window as small as the text is set up in a third of the time that the usual one takes.
    packer = zlib.compressobj(6, zlib.DEFLATED, 10, 3) if len(raw) <= _SMALL else zlib.compressobj(6)
    small = packer.compress(raw) + packer.flush()
    return small if len(small) < len(raw) else text


def unpacked(stored: str | bytes) -> str:
    """The text that was `packed`.

    >>> unpacked(packed("the same guidelines " * 50)) == "the same guidelines " * 50
    True
    """
    return stored if isinstance(stored, str) else zlib.decompress(stored).decode("utf-8", "surrogatepass")


def checksum(key: bytes, *parts: str | bytes | None) -> int:
    """A number that tells a row that was read from a damaged page."""
    # Taken of all in one go, since a resumed run does it for every call.
    return zlib.crc32(
        b"".join(
            [key, *[part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part or b"" for part in parts]]
        )
    )


def is_sound(table: str, row: Sequence[Any]) -> bool:
    """Whether a row that was read from a damaged file is what was written into it."""
    try:
        return bool(SOUND[table](row))
    except (TypeError, ValueError, zlib.error):
        return False


SOUND: Final[dict[str, Callable[[Sequence[Any]], Any]]] = {
    "texts": lambda row: text_key(unpacked(row[2])) == row[1],
    "runs": lambda row: isinstance(json.loads(row[4]), dict) and isinstance(json.loads(row[6]), dict),
    "calls": lambda row: checksum(row[1], *row[11:14]) == row[-1],
    "failures": lambda row: checksum(row[1], row[11]) == row[-1],
    "batches": lambda row: row[5] in ("submitting", "open", "collected") and all(isinstance(w, str) for w in row[1:5]),
    "batched": lambda row: len(row[1]) == SIZE and all(isinstance(number, int) for number in row[2:4]),
    "details": lambda row: len(row[1]) == SIZE and isinstance(unpacked(row[2]), str),
    "sittings": lambda row: isinstance(row[1], int) and isinstance(json.loads(row[4]), dict),
    "profiles": lambda row: isinstance(json.loads(row[3]), dict),
    "evidence": lambda row: len(row[1]) == SIZE and isinstance(row[2], int) and isinstance(row[3], str),
}
"""How to tell, for the tables that are saved from a damaged file; the others only say who is working or used what."""


def completion_of(
    finish: str,
    reply: str | bytes,
    scores: bytes | None,
    tokens: tuple[int, int] = (0, 0),
    details: Sequence[Any] | None = None,
) -> Completion:
    """A reply as it came; only some have details: thinking, a filter's category, cached and reasoning tokens."""
    logprobs = None if scores is None else tuple(np.frombuffer(scores, dtype="<f8").tolist())
    thinking, *more = details or ("", "", 0, 0)
    return Completion(unpacked(reply), FINISHES[finish], *tokens, "", logprobs, unpacked(thinking), *more)


def among(select: Callable[[str, list[Any]], Iterable[Any]], sql: str, keys: Sequence[Any], *values: Any) -> list[Any]:
    """The rows whose key is among these, for which `{}` stands in the statement, looked up some hundred at a time."""
    parts = [keys[start : start + _MANY] for start in range(0, len(keys), _MANY)]
    return [row for part in parts for row in select(sql.format(", ".join("?" * len(part))), [*values, *part])]
