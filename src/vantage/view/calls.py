"""Stored calls: what was asked and said, what it cost, and what failed and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.runs.export import calls as exported
from vantage.runs.records import RunRecord, ledger, records, totals
from vantage.runs.store import RunStore, begun

PAGE: Final = 25
REASON: Final = 160
"""Characters of a reason by which failures are counted."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The run stores of what is looked at, opened for reading each time, so that a run can go on meanwhile."""

    stores: Sequence[Path]

    def count(self) -> int:
        """How many runs there are."""
        return sum(len(records(store)) for store in self._open())

    def summary(self, corpus: Corpus | None) -> dict[str, Any]:
        """Every run with its counts, cost and speed; failures by reason; replies by the rule that read them."""
        rows, failures = [], Counter[str]()
        for store in self._open():
            rows += [_run(store, one) for one in records(store)]
            for error, count in store.select("SELECT error, count(*) FROM failures GROUP BY error"):
                failures[str(error)[:REASON]] += count
        return {"runs": rows, "failures": failures.most_common(50), "rules": _rules(corpus)}

    def calls(self, *, item: str = "", rater: str = "", run: int | None = None, page: int = 0) -> dict[str, Any]:
        """A page of calls with prompt and reply, failures last."""
        wanted = (page + 1) * PAGE + 1
        every = (call for store in self._open() for call in exported(store, run=run, item=item or None))
        matching = list(islice((call for call in every if not rater or call["rater"] == rater), wanted))
        shown = [
            {name: value for name, value in call.items() if value is not None and name != "settings"}
            for call in matching[page * PAGE : (page + 1) * PAGE]
        ]
        return {"page": page, "more": len(matching) == wanted, "calls": shown}

    def _open(self) -> Iterator[RunStore]:
        for path in filter(begun, self.stores):
            with RunStore(path, read_only=True) as store:
                yield store


def _run(store: RunStore, record: RunRecord) -> dict[str, Any]:
    spent = totals(ledger(store, record.id))
    parts, seconds = record.plan["parts"], max(record.changed - record.started, 1e-9)
    sent = int(record.summary.get("sent", 0))
    tried = store.select("SELECT sum(tries - 1), avg(milliseconds), count(*) FROM calls WHERE run = ?", (record.id,))[0]
    return {
        "run": record.id,
        "state": record.state,
        "started": record.started,
        "changed": record.changed,
        "raters": sorted({str(part["rater"]) for part in parts}),
        "model": str(parts[0]["model"]) if parts else "",
        "requests": sum(part["requests"] for part in parts),
        **{name: int(record.summary.get(name, 0)) for name in ("sent", "stored", "failed", "missing")},
        "per_second": sent / seconds if sent else None,
        "answered": int(tried[2]),
        "retries": int(tried[0] or 0),
        "milliseconds": tried[1],
        **{name: spent[name] for name in ("prompt_tokens", "completion_tokens", "cost")},
    }


def _rules(corpus: Corpus | None) -> list[dict[str, Any]]:
    """How many replies each rule read, by rater and status."""
    if corpus is None or "rule" not in corpus.judgments.columns:
        return []
    counted = corpus.judgments.drop_nulls("rule").group_by("rater", "rule", "status").len()
    rows = counted.with_columns(pl.col("status").cast(pl.String)).sort("rater", "len", descending=[False, True])
    return rows.rename({"len": "replies"}).to_dicts()
