"""Stored calls: what was asked and said, what it cost, what failed and why, and the words by which a reply was read.

These are the words without which the parser would read something else; nothing is assumed about how it works. Parts of
the reply are left out, halves first, and the rest is read again; a word counts when value, status or form of the answer
change without it. Words that say the same thing twice cover for each other, so where no single word counts, the
shortest run of words that is read the same way is marked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

import polars as pl

from vantage.corpora import Corpus
from vantage.instruments import Question
from vantage.raters.replies import ParsedReply, parse_reply
from vantage.runs.export import calls as exported
from vantage.runs.records import RunRecord, ledger, records, totals
from vantage.runs.store import RunStore, begun

PAGE: Final = 25
REASON: Final = 160
"""Characters of a reason by which failures are counted."""
Span: TypeAlias = tuple[int, int]
_WORD: Final = re.compile(r"\S+")


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


def evidence(reply: str, question: Question, source: str | None = None, *, cut: bool = False) -> dict[str, Any]:
    """The rule that reads a reply, what it reads, and the spans of the words that decide it.

    >>> from vantage.instruments import Instrument
    >>> question = Instrument.load("sarcasm-rating").question("sarcasm-rating")
    >>> shown = evidence("Well, hard to say. Rating: 4", question)
    >>> [shown["reply"][start:end] for start, end in shown["spans"]], shown["rule"]
    (['Rating: 4'], 'marker:number')
    """
    read = parse_reply(reply, question, source, cut=cut)
    words = [match.span() for match in _WORD.finditer(reply)]

    def same(text: str) -> bool:
        return _read(parse_reply(text, question, source, cut=cut)) == _read(read)

    spans = _deciding(reply, words, same)
    if not spans and words and read.status != "unparsed":
        spans = [_shortest(reply, words, same)]
    about = {"rule": read.rule, "value": read.value, "status": read.status}
    return {"reply": reply, **about, "spans": _joined(spans, reply)}


def _read(reply: ParsedReply) -> tuple[Any, ...]:
    return reply.value, reply.status, reply.rule.partition(":")[2] or reply.rule


def _deciding(reply: str, words: list[Span], same: Callable[[str], bool]) -> list[Span]:
    """The words without which the reply is read differently."""
    if not words:
        return []
    start, end = words[0][0], words[-1][1]
    if same(reply[:start] + " " * (end - start) + reply[end:]):
        return []
    if len(words) == 1:
        return words
    middle = len(words) // 2
    return _deciding(reply, words[:middle], same) + _deciding(reply, words[middle:], same)


def _shortest(reply: str, words: list[Span], same: Callable[[str], bool]) -> Span:
    """The shortest run of words that is read the same way, cut off at the start and then at the end."""
    end = words[-1][1]
    first = _last(len(words), lambda number: same(reply[words[number][0] : end]))
    start = words[first][0]
    cut = _last(len(words) - first, lambda number: same(reply[start : words[len(words) - 1 - number][1]]))
    return start, words[len(words) - 1 - cut][1]


def _last(count: int, holds: Callable[[int], bool]) -> int:
    """The last of the numbers below a count for which something holds, which holds for 0 and ends somewhere."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _joined(spans: list[Span], reply: str) -> list[Span]:
    """Neighbouring words as one span."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and not reply[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
