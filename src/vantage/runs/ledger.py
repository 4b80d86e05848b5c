"""The ledger: what runs have cost, from the calls that are stored, so that it is right after kills and repeats.

A sitting is one start of a command. It is written down before the first request with the prices that were known then;
each call belongs to the sitting in which it was answered. Nothing is counted from memory.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vantage.raters.prices import Price
from vantage.runs.store import RunStore
from vantage.runs.tables import unpacked
from vantage.runs.tally import BATCH_SHARE, cost_of, price_of


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What one model took in one sitting of a run."""

    run: int
    sitting: int
    """Counted from 1 in each run; 0 for calls of a store that knew no sittings yet."""
    started: float
    model: str
    calls: int
    failures: int
    """Requests that failed; what they cost, if anything, endpoints do not tell."""
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    cost: float | None
    """Null when the price of the model is not known."""
    prices_of: str
    """The date of the prices."""


def open_sitting(store: RunStore, run: int, engine: str, prices: Mapping[str, Price]) -> None:
    """Writes down that a run is being carried on now, at these prices."""
    row = (run, time.time(), engine, json.dumps(dict(prices)))
    store.writer.do(lambda c: c.execute("INSERT INTO sittings VALUES (NULL, ?, ?, ?, ?)", row))


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


def rows(entries: list[LedgerEntry], by: str) -> list[dict[str, Any]]:
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
    more = (
        ("SUM(COALESCE(cached_tokens, 0))", "SUM(COALESCE(reasoning_tokens, 0))")
        if store.has("details")
        else ("0", "0")
    )
    join = "LEFT JOIN details ON details.key = calls.key" if store.has("details") else ""
    calls = store.select(
        "SELECT body, calls.key IN (SELECT key FROM batched) AS in_batch, COUNT(*), SUM(prompt_tokens), "  # noqa: S608
        f"SUM(completion_tokens), {', '.join(more)} FROM calls JOIN texts ON texts.id = context {join} "
        "WHERE run = ? AND at >= ? AND at < ? GROUP BY context, in_batch",
        (run, started, end),
    )
    failures = store.select(
        "SELECT body, 0, COUNT(*) FROM failures JOIN texts ON texts.id = context "
        "WHERE run = ? AND at >= ? AND at < ? GROUP BY context",
        (run, started, end),
    )
    sums: dict[str, list[float]] = {}
    costs: dict[str, float | None] = {}
    for body, in_batch, count, prompt, reply, cached, thought in calls:
        model = json.loads(unpacked(body))["model"]
        counts = sums.setdefault(model, [0] * 6)
        sums[model] = [a + b for a, b in zip(counts, (count, 0, prompt, reply, cached, thought), strict=True)]
        price, before = price_of(model, prices), costs.get(model, 0.0)
        share = BATCH_SHARE if in_batch else 1.0
        costs[model] = (
            None if price is None or before is None else before + share * cost_of(price, prompt, reply, cached)
        )
    for body, _, count in failures:
        sums.setdefault(json.loads(unpacked(body))["model"], [0] * 6)[1] += count
    return [
        LedgerEntry(
            run, sitting, started, model, *_whole(counts), cost=costs.get(model, 0.0), prices_of=_date(model, prices)
        )
        for model, counts in sums.items()
    ]


def _date(model: str, prices: Mapping[str, Price]) -> str:
    return str(prices[model].get("date", "")) if model in prices else ""


def _whole(counts: Sequence[float]) -> tuple[int, int, int, int, int, int]:
    """Calls, failures and the four kinds of tokens, as whole numbers."""
    calls, failures, prompt, reply, cached, thought = map(int, counts)
    return calls, failures, prompt, reply, cached, thought
