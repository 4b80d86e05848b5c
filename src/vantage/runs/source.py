"""Where the requests of a run come from: every planned conversation, gone through turn by turn.

A reply that the store holds is taken from there; what is missing is handed to an engine, once, whoever and however
many wait for it. When the reply is durable the conversations that waited for it go on.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora.schema import KEY
from vantage.raters.asked import fitted
from vantage.raters.chat import PlannedCall
from vantage.raters.conversation import ROWS, SILENT, Ask, Conversation, Conversations, Row
from vantage.raters.models.base import ChatModel, Completion
from vantage.runs.finished import FinishedParts
from vantage.runs.keys import KeyedCall, Keys
from vantage.runs.options import RunOptions
from vantage.runs.plan import PlanPart
from vantage.runs.store import RunStore
from vantage.runs.tally import RunTally

HELD: Final = 20_000
"""Rows in memory before they are written away."""


class JudgmentRows:
    """Collects rows as conversations end, and gives them back in the order of the plan."""

    def __init__(self) -> None:
        self._schema: dict[str, Any] = {"__order": pl.Int64, "__key": pl.Binary, **ROWS}
        self._held: list[tuple[Any, ...]] = []
        self._whole: list[pl.DataFrame] = []
        self._files: list[Path] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def add(self, order: int, key: bytes, rows: Sequence[Row]) -> None:
        """Takes the rows of a conversation, which has its place in the plan and ended with a call of this key."""
        self._held.extend([(order, key, *row) for row in rows])
        if len(self._held) >= HELD:
            self._write()

    def put(self, tables: Sequence[pl.DataFrame]) -> None:
        """Takes all rows at once, each judgment once and in the order of the plan."""
        self._whole = list(tables)

    def table(self) -> pl.DataFrame:
        """All rows, each judgment once."""
        if self._whole:
            return pl.concat(self._whole)
        frames = [pl.read_parquet(file, columns=["__order", *ROWS]) for file in self._files]
        frames = [frame.with_columns(pl.col("status").cast(ROWS["status"])) for frame in frames]
        whole = pl.concat([*frames, self._frame().drop("__key")]).sort("__order", maintain_order=True).drop("__order")
        # The relevance of an item is told by every conversation about it.
        return whole.unique(KEY, keep="first", maintain_order=True)

    def keys(self) -> pl.Series:
        """The keys of the calls that conversations ended with, in the order of the plan."""
        columns = ["__order", "__key"]
        frames = [pl.read_parquet(file, columns=columns) for file in self._files]
        return pl.concat([*frames, self._frame().select(columns)]).unique("__order").sort("__order")["__key"]

    def close(self) -> None:
        """Removes what was written away."""
        self._held.clear()
        self._whole.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
        self._files.clear()

    def _frame(self) -> pl.DataFrame:
        return pl.DataFrame(self._held, schema=self._schema, orient="row")

    def _write(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="vantage-judgments-")
        file = Path(self._folder.name) / f"{len(self._files)}.parquet"
        self._frame().with_columns(pl.col("status").cast(pl.String)).write_parquet(file, compression="lz4")
        self._files.append(file)
        self._held.clear()


BLOCK: Final = 256
"""Conversations that are opened and looked up together."""


class PartProgress:
    """One part of the plan: its conversations, their keys, and the judgments that they came to."""

    def __init__(self, part: PlanPart, options: RunOptions) -> None:
        self.part, self.options = part, options
        self.rows = JudgmentRows()
        self.keys = Keys(part.rater, part.used, part.condition)
        self.conversations = Conversations(part.rater, part.corpus, part.used, part.condition, clarify=options.clarify)
        open_statuses = {"failed"} if options.retry_failed else set()
        open_statuses |= {"unparsed"} if self.conversations.clarify else set()
        self._done = part.done(open_statuses)
        self.skipped = part.skipped(self._done)
        self.truncated = self.ended = self.calls = self.prompt_tokens = self.completion_tokens = 0
        self.recalled = self.clarified = False

    @property
    def plain(self) -> bool:
        """Whether every planned request is gone through, and none is cut, clarified or read only."""
        return not (self.skipped or self.truncated or self.clarified)

    def recall(self, finished: FinishedParts, use: Callable[[Mapping[int, int]], None]) -> bool:
        """Takes all judgments of a part from the store, if an earlier run finished it."""
        tables = finished.recall(self.part, self.keys, self.conversations, use) if self.plain else None
        if tables is not None and not (self.conversations.clarify and any(map(_unread, tables))):
            self.rows.put(tables)
            self.recalled, self.ended = True, self.part.size
        return self.recalled

    def count(self, completion: Completion) -> None:
        """Counts a request of this part that was sent."""
        self.calls += 1
        self.prompt_tokens += completion.prompt_tokens
        self.completion_tokens += completion.completion_tokens

    @property
    def missing(self) -> int:
        """Planned requests without a result."""
        return self.part.size - self.skipped - self.ended

    def planned(self) -> Iterator[tuple[PlannedCall, bool]]:
        """The planned requests, each with whether its judgment is there already, so that it is only read."""
        part, done = self.part, self._done
        for call in part.calls(done):
            yield call, False
        if 0 < self.skipped < part.size and part.rater.parts.scoring and part.rater.calibrates:
            # Calibration compares all items, so those that were judged before are read along where they are stored.
            known = frozenset(done.iter_rows())
            for call in part.calls(done.clear()):
                if (str(call.item["item"]), call.questions[0].id, call.sample) in known:
                    yield call, True


def _unread(rows: pl.DataFrame) -> bool:
    """Whether a table has replies that are still to be asked about."""
    unread = (pl.col("status").cast(pl.String) == "unparsed") & ~pl.col("rule").is_in(SILENT)
    return bool(rows.select(unread.any()).item())


@dataclass(slots=True)
class _Turn:
    """A conversation that waits for a reply."""

    progress: PartProgress
    conversation: Conversation
    order: int
    ask: Ask
    settled: bool
    """Whether it is only read, never sent."""
    key: bytes = b""
    """That of the call that it waits for."""
    heard: dict[bytes, Completion] = field(default_factory=dict)
    """Replies to what was sent ahead of the conversation, which has not come to them yet."""
    ahead: bool = False
    """Whether this only fetches such a reply."""

    def sent_ahead(self) -> list[_Turn]:
        """What can be sent together with the turn, since it will be asked whatever the reply is."""
        turns = [replace(self, ask=ask, ahead=True) for ask in self.ask.ahead]
        self.ask = replace(self.ask, ahead=()) if turns else self.ask
        return turns


class CallSource:
    """The requests to one model. Used by one thread at a time, except for `tell`.

    `model` opens the model when it is first needed. Without `sends`, stored replies are only read: what is missing is
    counted and not waited for.
    """

    def __init__(
        self,
        parts: Sequence[PlanPart],
        store: RunStore,
        run: int,
        model: Callable[[], ChatModel],
        options: RunOptions,
        tally: RunTally,
        *,
        sends: bool = True,
    ) -> None:
        self.store, self.run, self.tally, self.options = store, run, tally, options
        self.parts = [PartProgress(part, options) for part in parts]
        self._model, self._sends = model, sends
        self._waiting: dict[bytes, list[_Turn]] = {}
        self._ready: deque[KeyedCall] = deque()
        self._away: dict[bytes, KeyedCall] = {}
        self._replies: deque[tuple[KeyedCall, Completion]] = deque()
        self._planned = self._all_planned()
        self._ended = False
        self.finished = FinishedParts(store)
        tally.planned += sum(part.size for part in parts)
        tally.skipped += sum(progress.skipped for progress in self.parts)

    def take(self, count: int) -> list[KeyedCall]:
        """Up to so many requests that are to be sent now; none when all that is left waits for replies."""
        self.hear()
        while len(self._ready) < count and not self._ended:
            self._open_block()
        return [self._ready.popleft() for _ in range(min(count, len(self._ready)))]

    @property
    def following(self) -> KeyedCall | None:
        """The next request to be sent, where one is ready."""
        return self._ready[0] if self._ready else None

    def put_back(self, calls: Sequence[KeyedCall]) -> None:
        """Requests that were taken and not sent."""
        self._ready.extendleft(reversed(calls))

    def tell(self, ended: Sequence[tuple[KeyedCall, Completion]]) -> None:
        """Replies are durable, from whatever thread; the conversations go on when the source is next asked."""
        self._replies.extend(ended)

    @property
    def idle(self) -> bool:
        """Whether nothing is planned, ready or waited for any more."""
        self.hear()
        return self._ended and not self._waiting

    @property
    def elsewhere(self) -> bool:
        """Whether requests are under way in another process."""
        return bool(self._away)

    def look_again(self) -> None:
        """Looks for the replies that other processes were asked for; takes over what they left behind."""
        if not self._away:
            return
        self.store.claims.clear_dead()
        stored = self.store.lookup(list(self._away))
        self.tally.elsewhere += len(stored)
        self.tell([(self._away.pop(key), reply.completion) for key, reply in stored.items()])
        self.hear()
        self._ready.extend(self._claimed(list(self._away.values())))

    def note_finished(self, first: int) -> None:
        """Records which parts are finished; the first has this number in the run."""
        for number, progress in enumerate(self.parts, first):
            if progress.plain and not progress.missing and not progress.recalled:
                self.finished.note(self.run, number, progress.part, progress.rows.keys())

    def close(self) -> None:
        """Ends all conversations; those that did not come to their end are counted as missing."""
        self.tally.missing += sum(progress.missing for progress in self.parts)
        for progress in self.parts:
            progress.rows.close()

    def hear(self) -> None:
        """Tells the conversations what has become durable since they last heard."""
        answered = []
        while self._replies:
            call, completion = self._replies.popleft()
            waiting = self._waiting.pop(call.key, None)
            if waiting is not None:
                waiting[0].progress.count(completion)
                answered += [(turn, completion) for turn in waiting]
        if answered:
            self._ask(self._advance(answered))

    def _all_planned(self) -> Iterator[tuple[PartProgress, int, PlannedCall, bool]]:
        for progress in self.parts:
            if progress.recall(self.finished, self._use):
                self.tally.stored += progress.ended
                self.tally.conversations += progress.ended
                continue
            for order, (call, settled) in enumerate(progress.planned()):
                yield progress, order, call, settled

    def _open_block(self) -> None:
        turns = []
        for progress, order, call, settled in islice(self._planned, BLOCK):
            cut = fitted(call, self._model())
            if cut is not call:
                progress.truncated += 1
                self.tally.truncated += 1
            conversation = progress.conversations.about(cut)
            turns.append(_Turn(progress, conversation, order, next(conversation), settled))
        self._ended = not turns
        self._ask(turns)

    def _ask(self, turns: Sequence[_Turn]) -> None:
        """Brings conversations as far as stored replies take them; what is missing becomes ready to be sent."""
        while turns:
            if self._sends:
                turns = [one for turn in turns for one in (turn, *(() if turn.settled else turn.sent_ahead()))]
            calls = [turn.progress.keys.call(turn.ask) for turn in turns]
            known = {call.key for turn, call in zip(turns, calls, strict=True) if call.key in turn.heard}
            unknown = list(dict.fromkeys([c.key for c in calls if c.key not in self._waiting and c.key not in known]))
            stored = self.store.lookup(unknown, failures=not (self._sends and self.options.retry_failed))
            self._use({one.id: one.run for one in stored.values()})
            answered: list[tuple[_Turn, Completion]] = []
            fresh: list[KeyedCall] = []
            for turn, call in zip(turns, calls, strict=True):
                turn.key = call.key
                if heard := turn.heard.pop(call.key, None):
                    answered.append((turn, heard))
                elif reply := stored.get(call.key):
                    self.tally.stored += 1
                    answered.append((turn, reply.completion))
                elif call.key in self._waiting:
                    self._waiting[call.key].append(turn)
                elif not turn.settled:
                    self._waiting[call.key] = [turn]
                    fresh.append(call)
            if self._sends:
                self._ready.extend(self._claimed(fresh))
            turns = self._advance(answered)

    def _advance(self, answered: Sequence[tuple[_Turn, Completion]]) -> list[_Turn]:
        """Tells conversations their replies; those that have more to ask."""
        going: list[_Turn] = []
        for turn, completion in answered:
            if turn.ahead:
                turn.heard[turn.key] = completion
                continue
            turn.progress.clarified |= turn.ask.step == "clarify"
            try:
                turn.ask = turn.conversation.send(completion)
            except StopIteration as end:
                turn.progress.rows.add(turn.order, turn.key, end.value)
                if not turn.settled:
                    turn.progress.ended += 1
                    self.tally.conversations += 1
            else:
                going.append(turn)
        return going

    def _claimed(self, calls: Sequence[KeyedCall]) -> list[KeyedCall]:
        """Those of the calls that no other process is about to send; the others are looked for later."""
        mine = self.store.claims.take([call.key for call in calls])
        for call in calls:
            if call.key in mine:
                self._away.pop(call.key, None)
            else:
                self._away[call.key] = call
        return [call for call in calls if call.key in mine]

    def _use(self, senders: Mapping[int, int]) -> None:
        """Notes that this run rests on replies that another one asked for; given is who sent which call."""
        ids = [(self.run, call) for call, run in senders.items() if run not in (0, self.run)] if self._sends else []
        if ids:
            self.store.change("INSERT OR IGNORE INTO uses VALUES (?, ?)", *ids)
