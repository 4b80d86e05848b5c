"""The record of runs: what was planned, when, how far it got, what it took and cost, and what of it is cleaned away.

The ledger of costs is made from the calls that are stored, so that it is right after kills and repeats: a sitting is
one start of a command, written down before the first request with the prices that were known then, and each call
belongs to the sitting in which it was answered. Nothing is counted from memory. Cleaning removes calls that no run
needs any more, failures that were made good, and texts that nobody refers to. Models' profiles are kept beside runs.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from vantage._version import __version__
from vantage.errors import InputError
from vantage.raters.chat import ChatRater
from vantage.raters.models import kind_of
from vantage.raters.models.probe import ROOM, ModelProfile
from vantage.runs.keys import identity, text_key
from vantage.runs.options import BATCH_SHARE, Price, RunTally, cost_of, price_of
from vantage.runs.plan import RunPlan
from vantage.runs.store import RunStore
from vantage.runs.tables import store_error, unpacked


@dataclass(slots=True)
class LedgerEntry:
    """What one model took in one sitting of a run."""

    run: int
    sitting: int
    """Counted from 1 in each run; 0 for calls of a store that knew no sittings yet."""
    started: float
    model: str
    calls: int = 0
    failures: int = 0
    """Requests that failed; what they cost, if anything, endpoints do not tell."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = 0.0
    """Null when the price of the model is not known."""
    prices_of: str = ""
    """The date of the prices."""


def open_sitting(store: RunStore, run: int, engine: str, prices: Mapping[str, Price]) -> None:
    """Writes down that a run is being carried on now, at these prices."""
    row = (run, time.time(), engine, json.dumps(dict(prices)))
    store.change("INSERT INTO sittings VALUES (NULL, ?, ?, ?, ?)", row)


def ledger(store: RunStore, run: int | None = None, prices: Mapping[str, Price] | None = None) -> list[LedgerEntry]:
    """All entries, or those of one run; prices that are given now replace those of the time."""
    sittings: dict[int, list[tuple[float, dict[str, Price]]]] = {}
    if store.has("sittings"):
        for number, started, prices_text in store.select("SELECT run, started, prices FROM sittings ORDER BY started"):
            sittings.setdefault(number, []).append((started, json.loads(prices_text)))
    runs = [run] if run is not None else [row[0] for row in store.select("SELECT id FROM runs ORDER BY id")]
    entries: list[LedgerEntry] = []
    for number in runs:
        known = [(0.0, {}), *sittings.get(number, [])]
        ends = [started for started, _ in known[1:]] + [float("inf")]
        for sitting, ((started, then), end) in enumerate(zip(known, ends, strict=True)):
            entries += _entries(store, number, sitting, started, end, then if prices is None else prices)
    return entries


def totals(entries: list[LedgerEntry]) -> dict[str, Any]:
    """The sums over entries; a cost that is not known for one makes the sum unknown."""
    costs = [entry.cost for entry in entries]
    names = ("calls", "failures", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
    sums: dict[str, Any] = {name: sum(getattr(entry, name) for entry in entries) for name in names}
    return {**sums, "cost": None if None in costs else sum(cost for cost in costs if cost is not None)}


def ledger_rows(entries: list[LedgerEntry], by: str) -> list[dict[str, Any]]:
    """Entries summed over what is not asked for: by `run`, `model` or `sitting` (run, sitting and model)."""
    if by == "sitting":
        return [asdict(entry) for entry in entries]
    groups: dict[Any, list[LedgerEntry]] = {}
    for entry in entries:
        groups.setdefault(getattr(entry, by), []).append(entry)
    return [{by: key, **totals(group)} for key, group in groups.items()]


def _entries(
    store: RunStore, run: int, sitting: int, started: float, end: float, prices: Mapping[str, Price]
) -> list[LedgerEntry]:
    joined = store.has("details")
    more = "SUM(COALESCE(cached_tokens, 0)), SUM(COALESCE(reasoning_tokens, 0))" if joined else "0, 0"
    when = "WHERE run = ? AND at >= ? AND at < ? GROUP BY context"
    calls = store.select(
        "SELECT body, calls.key IN (SELECT key FROM batched) AS in_batch, COUNT(*), SUM(prompt_tokens), "  # noqa: S608
        f"SUM(completion_tokens), {more} FROM calls JOIN texts ON texts.id = context "
        f"{'LEFT JOIN details ON details.key = calls.key' if joined else ''} {when}, in_batch",
        (run, started, end),
    )
    failures = store.select(
        f"SELECT body, COUNT(*) FROM failures JOIN texts ON texts.id = context {when}",  # noqa: S608
        (run, started, end),
    )
    entries: dict[str, LedgerEntry] = {}

    def entry(context: str | bytes) -> LedgerEntry:
        model = json.loads(unpacked(context))["model"]
        date = str(prices[model].get("date", "")) if model in prices else ""
        return entries.setdefault(model, LedgerEntry(run, sitting, started, model, prices_of=date))

    for context, in_batch, count, prompt, reply, cached, thought in calls:
        mine = entry(context)
        mine.calls += count
        mine.prompt_tokens += prompt
        mine.completion_tokens += reply
        mine.cached_tokens += cached
        mine.reasoning_tokens += thought
        price, share = price_of(mine.model, prices), BATCH_SHARE if in_batch else 1.0
        if price is None or mine.cost is None:
            mine.cost = None
        else:
            mine.cost += share * cost_of(price, prompt, reply, cached)
    for context, count in failures:
        entry(context).failures += count
    return list(entries.values())


State = Literal["running", "complete", "incomplete", "interrupted", "stopped"]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run as the store knows it."""

    id: int
    started: float
    changed: float
    state: str
    plan: dict[str, Any]
    summary: dict[str, Any]


def begin(store: RunStore, plan: RunPlan) -> int:
    """The number of the run of this plan: a new one, or the one that it resumes."""
    described, now = plan.described(), time.time()
    # The same plan is the same run, which resumes where it stopped.
    key = text_key(json.dumps(described, sort_keys=True, ensure_ascii=False, default=str))
    planned = json.dumps({"vantage": __version__, **described}, ensure_ascii=False, default=str)

    def write(connection: sqlite3.Connection) -> int:
        row = connection.execute("SELECT id FROM runs WHERE key = ?", (key,)).fetchone()
        if row is not None:
            connection.execute("UPDATE runs SET changed = ?, state = 'running' WHERE id = ?", (now, row[0]))
            return int(row[0])
        cells = (key, now, now, planned, "running", "{}")
        return int(connection.execute("INSERT INTO runs VALUES (NULL, ?, ?, ?, ?, ?, ?)", cells).lastrowid or 0)

    return store.writer.do(write)


def end(store: RunStore, run: int, state: State, tally: RunTally) -> None:
    """Writes down how a run ended: the counts of this sitting, and what the whole run has cost."""
    # In plain ASCII, since an error may quote half a character, which no database takes.
    summary = json.dumps({**tally.as_dict(), "whole_run": totals(ledger(store, run))})
    row = (time.time(), state, summary, run)
    store.change("UPDATE runs SET changed = ?, state = ?, summary = ? WHERE id = ?", row)


def records(store: RunStore) -> list[RunRecord]:
    """All runs, the oldest first."""
    rows = store.select("SELECT id, started, changed, state, plan, summary FROM runs ORDER BY id")
    return [
        RunRecord(id_, started, changed, state, json.loads(plan), json.loads(summary))
        for id_, started, changed, state, plan, summary in rows
    ]


def record(store: RunStore, run: int) -> RunRecord:
    """One run by its number."""
    for stored in records(store):
        if stored.id == run:
            return stored
    raise InputError(f"there is no run {run}", file=store.path, remedy="see: vantage runs list")


SAMPLES = 20
"""Replies that a distribution is drawn from where there are no probabilities."""


def kept(store: RunStore, rater: ChatRater) -> ModelProfile | None:
    """The newest profile of a rater's model that the store has."""
    known = profiles(store, _name(rater))
    return known[-1] if known else None


def keep(store: RunStore, rater: ChatRater, profile: ModelProfile) -> None:
    """Adds a profile."""
    row = (_name(rater), time.time(), json.dumps(profile.as_dict()))
    store.change("INSERT INTO profiles VALUES (NULL, ?, ?, ?)", row)


def profiles(store: RunStore, model: str | None = None) -> list[ModelProfile]:
    """All profiles of a store, or of one model by what it is known by, the oldest first."""
    if not store.has("profiles"):
        return []
    sql = "SELECT profile FROM profiles WHERE model = COALESCE(?, model) ORDER BY id"
    return [ModelProfile.of(json.loads(text)) for (text,) in store.select(sql, (model,))]


def suited(rater: ChatRater, profile: ModelProfile | None, *, max_tokens: int | None) -> tuple[ChatRater, list[str]]:
    """A rater with the defaults that suit its model, and what was changed, in sentences.

    A thinking model gets room to think unless a limit was given. Where the endpoint tells no probabilities, the
    distribution is drawn from samples.
    """
    notes: list[str] = []
    changed: dict[str, Any] = {}
    if profile is not None:
        tells = profile.logprobs != 0
    else:
        tells = getattr(kind_of(rater.model_name), "tells_probabilities", True)
    if rater.parts.scoring and not tells:
        changed["style"] = replace(rater.parts, scoring=False, sampling=SAMPLES)
        notes.append(
            f"{rater.model_name} tells no probabilities, so {SAMPLES} replies are drawn for each item instead."
        )
    if profile is not None:
        if profile.thinks and max_tokens is None:
            changed["max_tokens"] = ROOM
            notes.append(
                f"{rater.model_name} thinks before it answers, so replies may have {ROOM} tokens (--max-tokens)."
            )
        if profile.window is not None and "window" not in rater.settings:
            changed["settings"] = {**rater.settings, "window": profile.window}
    return (replace(rater, **changed) if changed else rater), notes


def _name(rater: ChatRater) -> str:
    """What a model and its endpoint are known by."""
    return json.dumps(identity(rater), sort_keys=True, default=str)


_COLLECTED: Final = "SELECT id FROM batches WHERE state = 'collected'"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What was removed, or would be."""

    runs: int
    calls: int
    failures: int
    texts: int
    bytes_before: int
    bytes_after: int | None
    """Null when nothing was removed yet."""


def clean(store: RunStore, drop: Sequence[int] = (), *, dry_run: bool = False) -> Cleaned:
    """Removes runs and what only they used, and gives the space back.

    Args:
        store: The store; no run may be under way on it.
        drop: The runs to forget. Calls that another run uses too stay.
        dry_run: Only counts.
    """
    known = {stored.id for stored in records(store)}
    if unknown := [number for number in drop if number not in known]:
        raise InputError(f"there is no run {unknown[0]}", file=store.path, remedy="see: vantage runs list")
    if store.claims.others():
        raise InputError("another process is at work on the store", file=store.path, remedy="wait until it has ended")
    before = _size(store)
    calls = failures = texts = 0

    def work(connection: sqlite3.Connection) -> None:
        nonlocal calls, failures, texts
        connection.execute("SAVEPOINT cleaning")
        for number in drop:
            connection.execute("DELETE FROM runs WHERE id = ?", (number,))
            connection.execute("DELETE FROM uses WHERE run = ?", (number,))
            connection.execute("DELETE FROM finished WHERE run = ?", (number,))
            # A call that another run rests on becomes that run's, with the prices at which it was made.
            heirs = connection.execute(
                "UPDATE calls SET run = (SELECT MIN(uses.run) FROM uses WHERE uses.call = calls.id) "
                "WHERE run = ? AND id IN (SELECT call FROM uses) RETURNING run",
                (number,),
            )
            inherited = "INSERT INTO sittings SELECT NULL, ?, started, engine, prices FROM sittings WHERE run = ?"
            connection.executemany(inherited, [(heir, number) for heir in {row[0] for row in heirs.fetchall()}])
            connection.execute("DELETE FROM sittings WHERE run = ?", (number,))
        orphans = "run NOT IN (SELECT id FROM runs)"
        calls = connection.execute(f"DELETE FROM calls WHERE {orphans}").rowcount  # noqa: S608
        made_good = "key IN (SELECT key FROM calls)"
        failures = connection.execute(f"DELETE FROM failures WHERE {orphans} OR {made_good}").rowcount  # noqa: S608
        texts = _remove_texts(connection)
        connection.execute("DELETE FROM uses WHERE call NOT IN (SELECT id FROM calls)")
        connection.execute("DELETE FROM details WHERE key NOT IN (SELECT key FROM calls)")
        connection.execute(f"DELETE FROM batched WHERE batch IN ({_COLLECTED}) AND key NOT IN (SELECT key FROM calls)")  # noqa: S608
        connection.execute(f"DELETE FROM batches WHERE id IN ({_COLLECTED}) AND id NOT IN (SELECT batch FROM batched)")  # noqa: S608
        connection.execute("ROLLBACK TO cleaning" if dry_run else "RELEASE cleaning")

    store.writer.do(work)
    after = None if dry_run else _vacuum(store)
    return Cleaned(len(drop), calls, failures, texts, before, after)


def _remove_texts(connection: sqlite3.Connection) -> int:
    """Removes the texts that no call and no failure refers to."""
    last = connection.execute("SELECT COALESCE(MAX(id), 0) FROM texts").fetchone()[0]
    used = np.zeros(last + 1, dtype=bool)
    for table in ("calls", "failures"):
        for context, messages in connection.execute(f"SELECT context, messages FROM {table}"):  # noqa: S608
            used[context] = True
            for word in messages.split():
                used[int(word[1:])] = True
    unused = [(int(id_),) for (id_,) in connection.execute("SELECT id FROM texts").fetchall() if not used[id_]]
    connection.executemany("DELETE FROM texts WHERE id = ?", unused)
    return len(unused)


def _vacuum(store: RunStore) -> int:
    try:
        with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise store_error(error, store.path) from None
    return _size(store)


def _size(store: RunStore) -> int:
    """The bytes of the file, and of what is written ahead of it."""
    files = (store.path, store.path.with_name(f"{store.path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
