"""Finished parts: a finished part of a plan is recorded, so that its prompts need not be rebuilt.

To find out by planning that nothing is open, every prompt must be written and its call looked up. A part that has
ended leaves a fingerprint of everything that its requests are made of and the numbers of its calls in the order of
the plan. Whoever comes with the same fingerprint reads these calls; with any other, the plan is gone through.
"""

from __future__ import annotations

import io
import json
import zlib
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage._version import __version__
from vantage.raters.conversation import Conversations
from vantage.runs.faults import StoreError
from vantage.runs.identity import INDIFFERENT, described, identity
from vantage.runs.keys import FORMAT, SIZE, Keys
from vantage.runs.plan import PlanPart
from vantage.runs.store import RunStore
from vantage.runs.tables import placeholders

Numbers: TypeAlias = NDArray[np.int64]

_ELSEWHERE: Final = INDIFFERENT - {"window"}
"""Settings that say only where and how a model runs; the window may cut prompts."""
_SLICE: Final = 50_000
_ROUND: Final = 500
_TRIED: Final = 16
"""Items whose requests are written anew to see that they still are what was asked."""


@dataclass(frozen=True, slots=True)
class FinishedCalls:
    """The calls of a finished part."""

    calls: Numbers
    """The numbers of the calls, in the order of the plan."""
    keys: bytes
    """A fingerprint of the keys of these calls in that order."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of a part's requests: which item, which group of questions and which sample each is about."""

    items: int
    groups: int
    samples: int
    by_group: bool
    """Whether one group comes after the other, as when options are scored, and not one item after the other."""

    @classmethod
    def of(cls, part: PlanPart) -> Layout:
        """That of the requests that a part would send if nothing were done."""
        return cls(len(part.corpus.items), len(part.groups), part.rater.repetitions, part.rater.parts.scoring)

    def places(self, orders: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Item, group and sample of the requests at these places of the plan."""
        if self.by_group:
            each = self.items * self.samples
            return orders % each // self.samples, orders // each, orders % self.samples
        each = self.groups * self.samples
        return orders // each, orders % each // self.samples, orders % self.samples

    def orders(self, item: int) -> Numbers:
        """The places of all requests about one item, in the order in which these are planned for it alone."""
        within = np.arange(self.groups * self.samples)
        if not self.by_group:
            return item * self.groups * self.samples + within
        return within // self.samples * self.items * self.samples + item * self.samples + within % self.samples


class FinishedParts:
    """The parts of plans that a store knows to be finished."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._contents: dict[int, tuple[pl.DataFrame, bytes]] = {}

    def find(self, part: PlanPart, keys: Keys, conversations: Conversations) -> FinishedCalls | None:
        """The calls of a part that was finished before, unless anything has changed since."""
        if not self._known() or (known := self.fingerprint(part)) is None:
            return None
        sql = "SELECT calls, keys FROM finished WHERE fingerprint = ? ORDER BY run DESC LIMIT 1"
        for calls, digest in self._store.select(sql, (known,)):
            numbers = _unpacked(calls, part.size)
            if numbers is not None and self._still(part, keys, conversations, numbers):
                return FinishedCalls(numbers, digest)
        return None

    def note(self, run: int, number: int, part: PlanPart, keys: pl.Series) -> None:
        """Records that a part, by its number in the run, is finished.

        Only answers count: where a call has failed, nothing is written.

        Args:
            run: The number of the run.
            number: The number of the part among those of the run.
            part: What was asked.
            keys: The keys of its calls, in the order of the plan.
        """
        known = self.fingerprint(part) if len(keys) == part.size else None
        calls = None if known is None else self._numbers(keys)
        if calls is None:
            return
        digest = blake2b(digest_size=SIZE)
        for start in range(0, len(keys), _SLICE):
            digest.update(b"".join(keys.slice(start, _SLICE).to_list()))
        row = (run, number, known, zlib.compress(np.diff(calls, prepend=0).tobytes(), 1), digest.digest())
        # It only saves time later; that a store cannot be written is told by what has to be written.
        with suppress(StoreError):
            self._store.writer.do(
                lambda connection: connection.execute("INSERT OR REPLACE INTO finished VALUES (?, ?, ?, ?, ?)", row)
            )

    def fingerprint(self, part: PlanPart) -> bytes | None:
        """What all requests of a part are made of; null where they depend on replies or cannot be told beforehand.

        Prompts are written from the instrument, the style, the voice, the examples and the items. A conversation of
        several turns depends on what was replied, and a history on judgments and on a function of the caller's. With a
        design, requests differ from sample to sample.
        """
        rater, style = part.rater, part.rater.parts
        turns = style.two_step or style.sampling or (style.scoring and style.reasoning)
        if (
            rater.design
            or turns
            or style.voice in ("selective-persona", "history")
            or len(set(part.asked)) < len(part.asked)
        ):
            return None
        facts: dict[str, Any] = {
            "vantage": __version__,
            "key": FORMAT,
            **described(rater, identity(rater)),
            "settings": {name: rater.settings[name] for name in rater.settings if name not in _ELSEWHERE},
            "window": None if isinstance(rater.model, str) else rater.model.window,
            "voice": rater.prompter(part.corpus, part.used, part.condition).voice,
            "instrument": part.used.document,
            "questions": part.asked,
            "condition": part.condition,
        }
        digest = blake2b(json.dumps(facts, sort_keys=True, default=str).encode(), digest_size=SIZE)
        tables = [part.corpus.items]
        if style.shots and rater.training is not None:
            tables += [rater.training.items, rater.training.raters, rater.training.judgments]
        try:
            for table in tables:
                digest.update(self._content(table))
        except pl.exceptions.PolarsError:
            # A column of a kind that no file can hold.
            return None
        return digest.digest()

    def _known(self) -> bool:
        """Whether there is any."""
        return self._store.has("finished")

    def _still(self, part: PlanPart, keys: Keys, conversations: Conversations, calls: Numbers) -> bool:
        """Whether requests about some items, written anew, are the ones that were asked: code may change as well."""
        items, layout = part.corpus.items, Layout.of(part)
        for place in sorted({int(place) for place in np.linspace(0, len(items) - 1, _TRIED)}) if len(items) else ():
            planned = part.rater.plan(
                part.corpus, part.used, questions=part.asked, condition=part.condition, items=items[place : place + 1]
            )
            numbers = calls[layout.orders(place)].tolist()
            sql = f"SELECT id, key FROM calls WHERE id IN ({placeholders(numbers)})"  # noqa: S608
            stored = dict(self._store.select(sql, numbers))
            asked = [keys.call(next(conversations.about(call))).key for call in planned]
            if asked != [stored.get(number) for number in numbers]:
                return False
        return True

    def _numbers(self, keys: pl.Series) -> Numbers | None:
        """The numbers of calls by their keys, unless one of them was not answered."""
        numbers = np.empty(len(keys), dtype=np.int64)
        for start in range(0, len(keys), _ROUND):
            part = keys.slice(start, _ROUND).to_list()
            sql = f"SELECT key, id FROM calls WHERE key IN ({placeholders(part)})"  # noqa: S608
            known = dict(self._store.select(sql, part))
            if any(key not in known for key in part):
                return None
            numbers[start : start + len(part)] = [known[key] for key in part]
        return numbers

    def _content(self, table: pl.DataFrame) -> bytes:
        """A fingerprint of a table, worked out once for all raters that judge it."""
        # The table is held along, since its number would be another's once it is gone.
        if id(table) not in self._contents:
            self._contents[id(table)] = (table, content(table))
        return self._contents[id(table)][1]


def content(table: pl.DataFrame) -> bytes:
    """A fingerprint of a table's columns and rows, the same however they lie in memory.

    >>> one = pl.DataFrame({"item": ["a", "b"]})
    >>> content(one) == content(pl.concat([one[:1], one[1:]])), content(one) == content(one[:1])
    (True, False)
    """
    digest = blake2b(json.dumps({name: str(kind) for name, kind in table.schema.items()}).encode(), digest_size=SIZE)
    for start in range(0, len(table), _SLICE):
        written = io.BytesIO()
        table.slice(start, _SLICE).rechunk().write_ipc(written, compat_level=pl.CompatLevel.oldest())
        digest.update(written.getbuffer())
    return digest.digest()


def _unpacked(stored: bytes, size: int) -> Numbers | None:
    """The numbers of so many calls, unless it is not they that are stored."""
    with suppress(zlib.error, ValueError):
        steps = np.frombuffer(zlib.decompressobj().decompress(stored, 8 * size + 8), dtype=np.int64)
        return np.cumsum(steps, dtype=np.int64) if len(steps) == size else None
    return None
