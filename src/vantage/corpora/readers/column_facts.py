"""What a column holds: numbers, words, texts or times, how many different ones, and what its name says of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import polars as pl

from vantage.corpora.orders import known_order
from vantage.corpora.readers.cleaning import NOTHING, SENTINELS, as_code, plain
from vantage.corpora.readers.columns import NAMES
from vantage.corpora.readers.table_file import FileRows

SAMPLE: Final = 20_000
"""Roles are inferred from so many rows at the top and as many spread over the rest; the import checks all of them."""
FEW: Final = 60
"""More different values than this are no answers to choose from."""
_SAID: Final = {
    role: re.compile(rf"(?:{words})(?:_?(?:id|nr|no|nummer|num|code|name|pid|key))?\d*", re.IGNORECASE)
    for role, words in NAMES.items()
}
_TIME: Final = re.compile(
    r"\d{4}[-/.]\d\d?[-/.]\d\d?\b.*|\d\d?[./]\d\d?[./]\d{2,4}\b.*|\d\d?:\d\d(:\d\d)?( ?[ap]m)?", re.IGNORECASE
)


ColumnKind = Literal["number", "word", "text", "time", "nested", "empty"]


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What a column holds, as far as the rows looked at tell."""

    name: str
    kind: ColumnKind
    filled: int
    distinct: int
    rows: int
    codes: Mapping[Any, int] = field(default_factory=dict)
    """The different answers and how often they were given, where they are few and may be answers."""
    whole: bool = False
    examples: tuple[str, ...] = ()

    @property
    def unique(self) -> bool:
        """Whether every row has another value."""
        return self.distinct == self.rows == self.filled and self.rows > 1

    @property
    def may_answer(self) -> bool:
        """Whether the column may hold answers: numbers, or few words that occur about twice each."""
        few = bool(self.codes) and len(self.codes) <= max(2, self.filled // 2)
        return self.filled > 0 and (self.kind == "number" or (self.kind == "word" and few))


def sample(rows: FileRows) -> pl.DataFrame:
    """The rows from which roles are inferred."""
    (head, count) = rows.collect(rows.lazy.head(SAMPLE), rows.lazy.select(pl.len()))
    total = count.item()
    if total <= SAMPLE:
        return head
    (rest,) = rows.collect(rows.lazy.slice(SAMPLE).gather_every(max(1, (total - SAMPLE) // SAMPLE)))
    return pl.concat([head, rest])


def facts_of(column: pl.Series, labels: Mapping[float, str] | None) -> ColumnFacts:
    """What a column holds."""
    known = column.drop_nulls()
    name, filled = column.name, len(known)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        return ColumnFacts(
            name, "nested", filled, 0, len(column), examples=tuple(str(v)[:40] for v in known.head(3).to_list())
        )
    values, counts = known.alias("value").value_counts(sort=True)
    examples = tuple(str(v)[:40] for v in known.unique(maintain_order=True).head(3))
    base: tuple[str, ColumnKind, int, int, int] = (name, "empty", filled, len(values), len(column))
    if not filled:
        return ColumnFacts(*base)
    if column.dtype.is_temporal():
        return ColumnFacts(name, "time", *base[2:], examples=examples)
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        numbers = values.cast(pl.Float64)
        read: list[float | None] = numbers.to_list()
    else:
        words = values.head(2000).cast(pl.String).to_list()
        read = [as_code(word) for word in words]
        nothing = [plain(word) in NOTHING or not plain(word) for word in words]
        meant = sum(not none for none in nothing)
        numeric = sum(code is not None for code in read)
        if 2 * numeric <= meant or (labels is None and meant - numeric > max(3, meant // 10)):
            texts = [word for word, none in zip(words, nothing, strict=True) if not none]
            kind: ColumnKind = "word"
            if sum(bool(_TIME.fullmatch(word.strip())) for word in texts) > 0.9 * len(texts):
                kind = "time"
            elif _are_texts(texts):
                kind = "text"
            codes = Counter[Any]()
            if kind == "word" and len(values) <= FEW:
                for word, count in zip(words, counts, strict=False):
                    if plain(word) and plain(word) not in NOTHING[:10]:
                        codes[plain(word)] += count
            return ColumnFacts(name, kind, *base[2:], codes=codes, examples=examples)
    given = {code: count for code, count in zip(read, counts, strict=False) if code is not None and code - code == 0}
    whole = all(code % 1 == 0 for code in given)
    return ColumnFacts(name, "number", *base[2:], codes=without_sentinels(given), whole=whole, examples=examples)


def shares_of(column: pl.Series) -> dict[Any, float]:
    """The different values of a column and how often it has each."""
    return dict(column.alias("value").value_counts(normalize=True).iter_rows())


def without_sentinels(given: Mapping[Any, int]) -> dict[Any, int]:
    """Numbers without the codes for "no answer" that lie apart from the others."""
    rest = [code for code in given if code not in SENTINELS]
    if not rest or len(given) > FEW or isinstance(rest[0], str):
        return dict(given)
    low, high = min(rest), max(rest)
    gap = max(high - low, 2.0)
    return {c: n for c, n in given.items() if c not in SENTINELS or low - 1 <= c <= high + min(gap, 2.0)}


def _are_texts(words: Sequence[str]) -> bool:
    """Whether words are sentences rather than answers to choose from."""
    if not words or (len(words) <= FEW and known_order([w for w in words if w.strip()])):
        return False
    some = words[:200]
    length = sum(map(len, some)) / len(some)
    spaced = sum(len(word.split()) for word in some) / len(some)
    ended = sum(word.rstrip().endswith((".", "!", "?", "。", "！", "？", "…")) for word in some) / len(some)
    chinese = sum(bool(re.search(r"[\u3040-\u9fff]{5}", word)) for word in some) / len(some)
    many = len(words) > 5
    return (ended >= 0.5 and (spaced >= 2 or chinese > 0.5)) or (
        many and (spaced >= 3 or chinese > 0.5) and length >= 8
    )


def said(role: str, name: str) -> bool:
    """Whether the name of a column says that it has a role, in one of several languages."""
    return _SAID[role].fullmatch(re.sub(r"[\s.\-']+", "_", name.strip()).rstrip("?_")) is not None


def stem(name: str) -> str:
    """The name of a column without what numbers it: `q_*` for q_12, `How warm? [*]` for a column of a grid.

    >>> stem("off_12"), stem("How warm? [First text]"), stem("anna")
    ('off_*', 'How warm? [*]', 'anna')
    """
    if grid := re.fullmatch(r"(.*\S\s*)\[.+\]", name, re.DOTALL):
        return f"{grid[1]}[*]"
    return re.sub(r"\d+(?=\D*$)", "*", name, count=1) if re.search(r"\d", name) else name
