"""The record of runs: what was planned, when, how far it got, and what it took and cost.

The ledger of costs is made from the calls that are stored, so that it is right after kills and repeats: a sitting is
one start of a command, written down before the first request with the prices that were known then, and each call
belongs to the sitting in which it was answered. Nothing is counted from memory.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any, Final, Literal

from vantage._version import __version__
from vantage.errors import InputError
from vantage.runs.keys import text_key
from vantage.runs.plan import RunPlan
from vantage.runs.prices import Price, batch_share, cost_of, price_of
from vantage.runs.store import RunStore
from vantage.runs.tables import FACTS, unpacked
from vantage.runs.tally import RunTally


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
    for number, started, prices_text in store.select("SELECT run, started, prices FROM sittings ORDER BY started"):
        sittings.setdefault(number, []).append((started, json.loads(prices_text)))
    runs = [run] if run is not None else [row[0] for row in store.select("SELECT id FROM runs ORDER BY id")]
    entries: list[LedgerEntry] = []
    for number in runs:
        known = [(0.0, {}), *sittings.get(number, [])]
        ends = [started for started, _ in known[1:]] + [float("inf")]
        for sitting, ((started, then), end) in enumerate(zip(known, ends, strict=True)):
            entries += _entries(store, number, sitting, started, end, then if prices is None else prices)
    if run is not None:
        return entries
    if prices is None:
        prices = {model: price for one in sittings.values() for _, then in one for model, price in then.items()}
    return [*_probes(store, prices), *entries]


def _probes(store: RunStore, prices: Mapping[str, Price]) -> list[LedgerEntry]:
    """What finding out about models took, which belongs to no run, at the endpoint's price where there is no other."""
    entries: list[LedgerEntry] = []
    for at, text in store.select("SELECT at, profile FROM profiles ORDER BY id"):
        profile = json.loads(text)
        known: dict[str, Price] = {profile["model"]: profile["price"]} if "output" in profile.get("price", {}) else {}
        price = price_of(profile["model"], {**known, **prices})
        tokens = [int(profile.get(name, 0)) for name in ("prompt_tokens", "completion_tokens")]
        cost = None if price is None else cost_of(price, *tokens)
        entry = LedgerEntry(0, 0, at, profile["model"], int(profile.get("calls", 0)), cost=cost)
        entry.prompt_tokens, entry.completion_tokens = tokens
        entries += [entry] if any(tokens) else []
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
    when = "WHERE run = ? AND at >= ? AND at < ? GROUP BY context"
    calls = store.select(
        "SELECT body, calls.key IN (SELECT key FROM batched) AS in_batch, COUNT(*), SUM(prompt_tokens), "  # noqa: S608
        "SUM(completion_tokens), SUM(COALESCE(cached_tokens, 0)), SUM(COALESCE(reasoning_tokens, 0)), "
        "SUM(COALESCE(written_tokens, 0)), SUM(cost) FROM calls JOIN texts ON texts.id = context "
        "LEFT JOIN details ON details.key = calls.key LEFT JOIN evidence ON evidence.key = calls.key "
        # Where the endpoint says what a call cost, its tokens are not priced.
        f"{when}, in_batch, cost IS NULL",
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

    for context, in_batch, count, prompt, reply, cached, thought, written, told_cost in calls:
        mine = entry(context)
        mine.calls += count
        mine.prompt_tokens += prompt
        mine.completion_tokens += reply
        mine.cached_tokens += cached
        mine.reasoning_tokens += thought
        price, share = price_of(mine.model, prices), batch_share(mine.model) if in_batch else 1.0
        cost = told_cost
        if cost is None and price is not None:
            cost = share * cost_of(price, prompt, reply, cached, written)
        mine.cost = None if cost is None or mine.cost is None else mine.cost + cost
    for context, count in failures:
        entry(context).failures += count
    return list(entries.values())


SCORED: Final = "scored"
"""Stands for the reason where options were scored: there is no reply that could end."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What served calls of a run: one row for each model, version and configuration that answered, by reason."""

    model: str
    served: str
    provider: str
    fingerprint: str
    reason: str
    calls: int
    first: float
    last: float


def servings(store: RunStore, run: int) -> list[Serving]:
    """What served a run, in the order in which it was first met; calls of which nothing was recorded have no row."""
    rows = store.select(
        "SELECT c.body, f.body, scores IS NOT NULL AS scored, COUNT(*), MIN(at), MAX(at) FROM calls "
        "JOIN evidence ON evidence.key = calls.key JOIN texts c ON c.id = context JOIN texts f ON f.id = facts "
        "WHERE run = ? OR calls.id IN (SELECT call FROM uses WHERE uses.run = ?) "
        "GROUP BY context, facts, scored ORDER BY 5",
        (run, run),
    )
    merged: dict[str, Serving] = {}
    for context, facts, scored, count, first, last in rows:
        known, model = json.loads(unpacked(facts)), str(json.loads(unpacked(context))["model"])
        named = {name: str(known[name]) for name in FACTS} | ({"reason": SCORED} if scored else {})
        one = Serving(model, **named, calls=count, first=first, last=last)
        key = json.dumps(astuple(one)[:5])
        if old := merged.get(key):
            one = replace(one, calls=old.calls + count, first=old.first)
        merged[key] = one
    return list(merged.values())


def changes(rows: list[Serving]) -> list[str]:
    """A caveat for each model of a run that did not stay the same: another version, or another configuration."""
    caveats: list[str] = []
    for model in dict.fromkeys(row.model for row in rows):
        mine = [row for row in rows if row.model == model]
        for what, name in (("versions", "served"), ("configurations", "fingerprint")):
            calls: dict[str, int] = {}
            for row in mine:
                calls[getattr(row, name)] = calls.get(getattr(row, name), 0) + row.calls
            if len(calls) > 1:
                parts = ", ".join(f"{value or 'not named'} ({count:,} calls)" for value, count in calls.items())
                caveats.append(f"{model} was served by {len(calls)} {what} within one run: {parts}.")
                break
    return caveats


State = Literal["running", "paused", "complete", "incomplete", "interrupted", "stopped"]


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
    return [RunRecord(*(*row[:4], *map(json.loads, row[4:]))) for row in rows]


def record(store: RunStore, run: int) -> RunRecord:
    """One run by its number."""
    for stored in records(store):
        if stored.id == run:
            return stored
    raise InputError(f"there is no run {run}", file=store.path, remedy="see: vantage runs list")
