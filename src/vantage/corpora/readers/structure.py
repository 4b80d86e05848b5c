"""What the columns of a table are, from what they hold: ids, answers, descriptions of items or raters, totals.

A long table has two columns that together tell its rows apart and repeat each; what is constant within one of them
describes it, the rest are answers. A wide table has several columns with the same answers. What names say, in any
language, only breaks ties. Where two readings remain possible both are given, and none is chosen.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np
import polars as pl
import polars.selectors as cs

from vantage.corpora.orders import known_order
from vantage.corpora.readers.cleaning import CLEAN, NOTHING, RAW, SENTINELS, as_code, plain
from vantage.corpora.readers.columns import NAMES, PLACES, ROLES, TIES, fitting
from vantage.corpora.readers.command import command
from vantage.corpora.readers.table_file import ROW, Doubt, FileRows

SAMPLE: Final = 20_000
"""Roles are inferred from so many rows at the top and as many spread over the rest; the import checks all of them."""
FEW: Final = 60
"""More different values than this are no answers to choose from."""
CHANCE: Final = 1e-3
"""A column that lacks answers of the others is unlike them where that is less likely than this."""
COLLISIONS: Final = 8
"""So many pairs of rows must be expected to agree on two columns by chance before it means something that none does."""
AGREEMENT: Final = 0.05
"""Columns without the names of raters that agree less than this beyond chance (kappa) may be questions."""
KEYS: Final = 12
"""How many columns are tried as ids."""
MEMBERS: Final = 2000
PAIRS: Final = 6
"""A table of comparisons has at most so many members in the rows looked at, and at least so many rows."""
_SAID: Final = {
    role: re.compile(rf"(?:{words})(?:_?(?:id|nr|no|nummer|num|code|name|pid|key))?\d*", re.IGNORECASE)
    for role, words in NAMES.items()
}
_PEOPLE: Final = re.compile(
    r"[0-9a-f]{24}|R_\w{10,}|A[0-9A-Z]{9,14}|[^@\s]+@[^@\s]+\.\w+|"
    r"(?:r|p|vp|rater|annotator|ann|coder|user|worker|resp(?:ondent)?|participant|person|teilnehmer|proband)[-_ ]?\d+",
    re.IGNORECASE,
)
_ITEMS: Final = re.compile(
    r"(?:i|t|s|d|item|text|doc|tweet|post|sent(?:ence)?|stim|satz|phrase|frase)[-_ ]?\d+", re.IGNORECASE
)
_ASKED: Final = re.compile(
    r"(?:q|f|v|item|frage|question|pregunta|satz|text|phrase|frase|stim|s|i|t|问题|题)[-_ ]?", re.IGNORECASE
)
_JUDGES: Final = re.compile(
    r"(?:r|a|rater|annotator|ann|coder|judge|person|bewerter|annotateur|anotador|评分者)[-_ ]?", re.IGNORECASE
)
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
        """Whether the column may hold answers: numbers, or few words of which each occurs about twice."""
        few = bool(self.codes) and len(self.codes) <= max(2, self.filled // 2)
        return self.filled > 0 and (self.kind == "number" or (self.kind == "word" and few))


@dataclass(frozen=True, slots=True)
class TableReading:
    """One way to read a table: options of the reader `table`, and what speaks for it."""

    options: dict[str, Any]
    why: str


@dataclass(frozen=True, slots=True)
class Structure:
    """How a table can be read: one reading where the data decide, several where they do not, or none."""

    columns: Mapping[str, ColumnFacts]
    readings: tuple[TableReading, ...]
    doubt: str = ""
    """Why there is not one reading."""


def structure(rows: FileRows, given: Mapping[str, Any]) -> Structure:
    """The readings of a table that fit its data and what the user has said of it."""
    frame = _sample(rows)
    total = total_row(frame.drop(ROW)) if not given.get("without") else None
    if total is not None:
        frame = frame.filter(pl.int_range(pl.len()) != total[0])
    facts = {name: _facts(frame[name], rows.labels.get(name)) for name in rows.schema}
    shape = _Table(rows, frame.drop(ROW), facts, given).structure()
    if total is not None:
        for reading in shape.readings:
            reading.options["without"] = [total[1]]
    return shape


def one_reading(rows: FileRows, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the only reading of a table; where there are two, the commands for both are in the error.

    A table in which nothing can be recognised is left to the reader, which says what is missing.
    """
    options = {name: value for name, value in given.items() if value}
    shape = structure(rows, options)
    if len(shape.readings) == 1:
        return {**options, **shape.readings[0].options}
    if not shape.readings and not shape.doubt:
        return options
    if not shape.readings:
        raise rows.fault(shape.doubt, None)
    commands = " OR ".join(command(rows.path, {**options, **reading.options}) for reading in shape.readings)
    raise rows.fault(f"the table can be read in two ways, since {shape.doubt}", f"run one of: {commands}")


def answering(rows: FileRows, taken: Iterable[str]) -> list[str]:
    """The columns of a wide table, apart from those taken, that can hold answers: no times, no ids, nothing beside."""
    used = {*taken, *rows.beside}
    frame = _sample(rows).select(name for name in rows.schema if name not in used)
    words = frame.select(cs.string(), cs.temporal())
    read = words.select(cs.string().cast(pl.Float64, strict=False).null_count() == cs.string().null_count())
    numbers = {name for name in read.columns if read[name][0]}
    facts = [_facts(words[name], None) for name in words.columns if name not in numbers]
    apart = {fact.name for fact in facts if fact.kind == "time" or (fact.unique and _names_rows(fact))}
    return [name for name in frame.columns if name not in apart] if len(apart) < len(frame.columns) else []


def _names_rows(fact: ColumnFacts) -> bool:
    """Whether words that occur once each are ids or texts: too many to be answers, addresses or sentences."""
    many = fact.kind == "word" and fact.rows > FEW
    return many or fact.kind == "text" or all("@" in word for word in fact.examples)


def total_row(frame: pl.DataFrame) -> tuple[int, str] | None:
    """The place and the id of a first or last row that is the sum or the mean of the others; null without one."""
    numbers = [
        name
        for name, dtype in frame.schema.items()
        if dtype.is_numeric() or (dtype == pl.String and as_code(frame[name][-1] or "") is not None)
    ]
    words = [name for name, dtype in frame.schema.items() if dtype == pl.String and name not in numbers]
    if len(frame) < 4 or len(numbers) < 2 or not words:
        return None
    table = frame.select(pl.col(numbers).cast(pl.String).str.replace(",", ".").cast(pl.Float64, strict=False))
    for place in (len(frame) - 1, 0):
        rest = table.filter(pl.int_range(pl.len()) != place)
        for made in (rest.sum(), rest.mean()):
            pairs = [(one, all_) for one, all_ in zip(table.row(place), made.row(0), strict=True) if one is not None]
            alike = sum(all_ is not None and abs(one - all_) <= 0.0051 for one, all_ in pairs)
            if len(pairs) > 1 and alike >= max(2, 0.8 * len(pairs)) and frame[words[0]][place] is not None:
                return place, str(frame[words[0]][place])
    return None


def check_total(rows: FileRows) -> None:
    """Doubts a row of a wide table that is the sum or the mean of the others."""
    if total := total_row(_sample(rows).drop(ROW)):
        problem = f"the row '{total[1]}' is the sum or the mean of the others"
        remedy = f"pass --without {shlex.quote(total[1])}, or rename it if it is none"
        raise Doubt(problem, file=rows.path, remedy=remedy, settle={"without": [total[1]]})


def _sample(rows: FileRows) -> pl.DataFrame:
    (head, count) = rows.collect(rows.lazy.head(SAMPLE), rows.lazy.select(pl.len()))
    total = count.item()
    if total <= SAMPLE:
        return head
    (rest,) = rows.collect(rows.lazy.slice(SAMPLE).gather_every(max(1, (total - SAMPLE) // SAMPLE)))
    return pl.concat([head, rest])


def _facts(column: pl.Series, labels: Mapping[float, str] | None) -> ColumnFacts:
    known = column.drop_nulls()
    name, filled = column.name, len(known)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        return ColumnFacts(
            name, "nested", filled, 0, len(column), examples=tuple(str(v)[:40] for v in known.head(3).to_list())
        )
    counted = known.value_counts(sort=True)
    values, counts = counted[name], counted["count"]
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
    return ColumnFacts(name, "number", *base[2:], codes=_without_sentinels(given), whole=whole, examples=examples)


def _without_sentinels(given: Mapping[float, int]) -> dict[float, int]:
    """Numbers without the codes for "no answer" that lie apart from the others."""
    rest = [code for code in given if code not in SENTINELS]
    if not rest or len(given) > FEW:
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


def unlike(answers: Mapping[str, Mapping[Any, int]]) -> set[str]:
    """The columns whose answers are not those of the others: no word in common, or numbers mostly beyond theirs."""
    held = Counter(value for codes in answers.values() for value in codes)
    numbers = {name: [c for c in codes if not isinstance(c, str)] for name, codes in answers.items()}
    ends = [(min(codes), max(codes), name) for name, codes in numbers.items() if codes]
    lowest, highest = sorted(ends)[:2], sorted(ends, key=lambda end: end[1])[-2:]
    strange = set()
    for name, codes in answers.items():
        if sum(codes.values()) <= 2 or len(answers) < 2:
            continue
        if any(isinstance(code, str) for code in codes):
            if len(codes) > 1 and all(held[code] == 1 for code in codes):
                strange.add(name)
            continue
        low = next((end[0] for end in lowest if end[2] != name), 0.0)
        high = next((end[1] for end in reversed(highest) if end[2] != name), 0.0)
        if low == high:
            continue
        beyond = {code: max(code - high, low - code) for code in codes}
        outside = sum(count for code, count in codes.items() if beyond[code] > 0)
        if 2 * outside > sum(codes.values()) and 2 * max(beyond.values()) > high - low:
            strange.add(name)
    return strange


def check_alike(rows: FileRows, spread: str, judged: pl.LazyFrame, answers: pl.DataFrame) -> None:
    """Refuses a wide table with a column whose answers are not those of the others: it may be a length or a source."""
    (cells,) = rows.collect(judged.group_by(spread, "question", RAW).agg(pl.len().alias("count")))
    cells = cells.join(answers.select("question", RAW, CLEAN), on=["question", RAW]).drop_nulls(CLEAN)
    held: dict[str, dict[Any, int]] = {}
    for column, value, count in cells.select(spread, CLEAN, "count").iter_rows():
        held.setdefault(column, {})[value] = held.get(column, {}).get(value, 0) + count
    strange = unlike(held)
    names = [column for column in rows.cells if column in strange]
    if not names:
        return
    what = "an item" if spread == "item" else "a rater"
    if 2 * len(names) >= len(held):
        problem = f"columns such as '{names[0]}' have no answer in common with others, and each would count as {what}"
        remedy = "pass --columns question if they are questions, or --values with the columns that hold answers"
        raise rows.fault(problem, remedy)
    described = f"--traits {shlex.quote(','.join(names))} if it describes the raters"
    if spread == "rater":
        described = f"--map {shlex.quote(','.join(f'{name}={name}' for name in names))} if it describes the items"
    raise Doubt(
        f"the values of column '{names[0]}' are unlike those of the other columns, and it would count as {what}",
        file=rows.path,
        remedy=f"pass {described}, or --unlike keep if it is {what}",
        settle={"traits": names} if spread == "item" else {"map": dict(zip(names, names, strict=True))},
    )


class _Table:
    """A table whose readings are looked for."""

    def __init__(
        self, rows: FileRows, frame: pl.DataFrame, facts: dict[str, ColumnFacts], given: Mapping[str, Any]
    ) -> None:
        self.rows, self.frame, self.facts, self.given = rows, frame, facts, given
        self.map: dict[str, str] = dict(given.get("map") or {})
        for role in ROLES:
            if role in facts and role not in self.map and role not in self.map.values() and self._plausible(role):
                self.map[role] = role
        self.traits = list(given.get("traits") or ())
        self.free = [
            name
            for name, fact in facts.items()
            if name not in (*self.map.values(), *self.traits) and fact.kind not in ("empty", "nested")
        ]

    def _plausible(self, role: str) -> bool:
        """Whether a column with the name of a role can have it: "Status" of a survey tool is no status."""
        fact = self.facts[role]
        if role in ("item", "rater"):
            return fact.filled == fact.rows
        return role in ("value", "question", "rationale", "condition", "sample", "status") or (
            role == "kind"
            and set(fact.codes) <= {"person", "author", "slot", "model", "persona", "trained", "aggregate"}
        )

    def structure(self) -> Structure:
        """The readings that fit."""
        if spread := self.given.get("columns"):
            return self._wide(str(spread))
        if self.given.get("pairs") or self.given.get("shares") or self.given.get("counts"):
            return self._shape()
        if comparison := self._comparison():
            return comparison
        if {"item", "rater", "value"} <= set(self.map) or {"text", "rater", "value"} <= set(self.map):
            return self._shape(self._long_options(self.map.get("item"), self.map["rater"], self.map.get("question")))
        block = self._block[0]
        if len(block) > 1 and len({stem(n) for n in block}) == 1 and _JUDGES.fullmatch(stem(block[0]).rstrip("*")):
            return self._wide("" if "rater" in self.map else "rater") if len(block) > 2 else self._wide("")
        key = self._key()
        shape = self._long(*key) if key is not None else self._shape()
        return shape if shape.readings or shape.doubt else self._wide("")

    def _shape(self, *readings: TableReading, doubt: str = "") -> Structure:
        return Structure(self.facts, tuple(readings), doubt)

    # Comparisons

    def _comparison(self) -> Structure | None:
        """A table of comparisons: two columns with the same names, never twice in a row, and which of them won."""
        free = [n for n in self.free if self.facts[n].kind in ("word", "number") and self.facts[n].distinct > 1]
        if len(free) > KEYS:
            return None
        held = {n: set(self.frame[n].drop_nulls().cast(pl.String)) for n in free if self.facts[n].distinct <= MEMBERS}
        for one, other in combinations(held, 2):
            if 2 * len(held[one] & held[other]) < min(len(held[one]), len(held[other])) or len(self.frame) < PAIRS:
                continue
            first, second = (self.frame[n].cast(pl.String) for n in (one, other))
            if first.null_count() or second.null_count() or (first == second).any():
                continue
            won = [n for n in held if n not in (one, other) and self._wins(n, first, second, (one, other))]
            if len(won) == 1:
                return self._compared(one, other, won[0], len(held[one] | held[other]))
        return None

    def _wins(self, name: str, first: pl.Series, second: pl.Series, columns: Sequence[str]) -> bool:
        """Whether a column says which of two won, by its name or, where it has no other words, by its place."""
        cells = self.frame[name].cast(pl.String)
        ties = cells.str.contains(f"^(?i:{TIES.pattern})$")
        named = (cells == first) | (cells == second)
        if (named | ties).fill_null(value=False).all():
            return bool(named.any())
        places = {*PLACES, *(column.casefold() for column in columns)}
        words = set(cells.filter(~ties).drop_nulls().str.to_lowercase())
        return bool(words) and words <= places and not words <= {"1", "2"} and not cells.null_count()

    def _compared(self, one: str, other: str, winner: str, members: int) -> Structure:
        rest = [n for n in self.free if n not in (one, other, winner) and not self.facts[n].unique]
        rest = [n for n in rest if self.facts[n].distinct > 1 and self.facts[n].kind in ("word", "number", "text")]
        given = self.map.get("rater")
        raters = [given] if given else [n for n in rest if self._said("rater", n)]
        what = f"'{winner}' always is '{one}' or '{other}', which never are the same"
        if members <= 3 and not raters:
            # Two raters who disagree and one who decides look the same.
            return self._shape(doubt=f"{what}; if it is the winner of a comparison, pass --pairs {one},{other}")
        judges: list[str | None] = [*(raters[:1] or rest[:2])] or [None]
        readings = []
        for rater in judges:
            mapping = {"value": winner, **({"rater": rater} if rater else {})}
            if about := self._compared_on([n for n in (one, other, rater) if n], rest):
                mapping["item"] = about
            options: dict[str, Any] = {"pairs": [one, other], "map": mapping} | ({} if rater else {"anonymous": True})
            readings.append(TableReading(options, f"comparisons, judged by '{rater}'" if rater else "comparisons"))
        if len(readings) == 1 and rest and not raters:
            readings.append(
                TableReading(
                    {**readings[0].options, "map": {"value": winner, "item": rest[0]}, "anonymous": True}, "comparisons"
                )
            )
        return self._shape(*readings, doubt="nothing tells which column is the rater" if len(readings) > 1 else "")

    def _compared_on(self, key: Sequence[str], rest: Sequence[str]) -> str | None:
        """The column that says on what members were compared: it tells rows apart that pair and rater do not."""
        if about := self.map.get("item"):
            return about
        free = [n for n in rest if n not in key]
        said = [n for n in free if self._said("item", n) or self.facts[n].kind == "text"]
        apart = {n: self.frame.select(pl.struct(*key, n).n_unique()).item() for n in free}
        now = self.frame.select(pl.struct(key).n_unique()).item()
        return next((n for n in [*said, *free] if n in said or apart[n] == len(self.frame) > now), None)

    # Long tables

    def _key(self) -> tuple[str, ...] | None:
        """The columns that tell rows apart and repeat: of an item and a rater, and maybe of the question."""
        size = len(self.frame)
        block = self._block[0]
        held = set(block) if len(block) > 2 else set[str]()
        named = [self.map[role] for role in ("item", "rater", "text") if role in self.map]
        candidates = [
            name
            for name, fact in self.facts.items()
            if name in named
            or (
                fact.kind in ("number", "word", "text")
                and fact.filled == fact.rows
                and 2 <= fact.distinct <= 0.7 * size
                and (fact.kind != "number" or fact.whole)
                and name not in held
                and name not in (*self.traits, *self.map.values())
            )
        ]
        if len(named) < 2 and (pair := self._named_pair(held)):
            return pair
        candidates = sorted(candidates, key=lambda name: (name not in named, -self.facts[name].distinct))[:KEYS]
        for count in (2, 3):
            fitting: list[tuple[float, tuple[str, ...]]] = []
            for key in combinations(candidates, count):
                ids = any(self.facts[name].unique for name in key)  # tell rows apart alone
                if not all(name in key for name in named[:count]) or (ids and not {*key} <= {*named}):
                    continue
                product = 1.0
                for name in key:
                    product *= self.facts[name].distinct
                if self._tells_apart(key, product):
                    fitting.append((product, key))
            if fitting:
                return self._ids_in(min(fitting)[1], candidates)
        return None

    def _ids_in(self, key: tuple[str, ...], candidates: Sequence[str]) -> tuple[str, ...]:
        """A key with names instead of numbers that nearly follow them one to one: raters rather than their ages."""
        made = list(key)
        for place, name in enumerate(key):
            own = self.facts[name]
            if own.kind != "number" or name in self.map.values():
                continue
            finer = [n for n in candidates if n not in made and self.facts[n].kind == "word"]
            finer = [n for n in finer if own.distinct <= self.facts[n].distinct <= own.distinct / 0.6]
            made[place] = next((n for n in finer if name in self._side(n)), name)
        return tuple(made)

    def _named_pair(self, held: set[str]) -> tuple[str, str] | None:
        """Two columns whose names say that they are the item and the rater, where nothing in the data contradicts."""
        free = [n for n in self.facts if n not in held and self.facts[n].filled == self.facts[n].rows]
        items = [n for n in free if n == self.map.get("item") or (n in self.free and self._said("item", n))]
        items += [n for n in free if n in self.free and re.fullmatch("(?i)id|unit|nr|no", n)]
        items += [n for n in free if n == self.map.get("text") or (n in self.free and self._said("text", n))]
        raters = [n for n in free if n == self.map.get("rater") or (n in self.free and self._said("rater", n))]
        texts = [n for n in items if self._said("text", n) or self.facts[n].kind == "text"]
        size = len(self.frame)
        for rater in raters:
            for item in items:
                one = self.facts[item]
                if item == rater or (one.unique and any(self.facts[t].distinct < size for t in texts)):
                    continue  # it numbers rows; equal texts are one item
                wide = (self.facts[rater].unique or one.unique) and held
                if not wide and self.frame.select(pl.struct(item, rater).n_unique()).item() >= 0.5 * size:
                    return item, rater
        return None

    def _tells_apart(self, key: tuple[str, ...], cells: float) -> bool:
        """Whether columns tell rows apart although by chance they would not, each of them being needed for it."""
        size = len(self.frame)
        if cells < size:
            return False
        different = self.frame.select(pl.struct(key).n_unique()).item()
        if different < 0.98 * size:
            return False
        if len(key) > 2 and any(
            self.frame.select(pl.struct(part).n_unique()).item() == size for part in combinations(key, len(key) - 1)
        ):
            return False
        same = 1.0
        for name in key:
            shares = self.frame[name].value_counts()["count"] / size
            same *= float((shares * shares).sum())
        expected = size * (size - 1) / 2 * same
        rows_have_ids = len(self._block[0]) > 2 and any(self._is_row_id(name) for name in self.free)
        return (cells == size and not rows_have_ids) or expected >= COLLISIONS + 3 * (size - different)

    def _long(self, *key: str) -> Structure:
        if len(key) == 3:
            return self._asked(key)
        first, second = key
        sides = {name: self._side(name) for name in key}
        item = self._which_item(first, second, sides)
        if item is None:
            pairs = ((first, second), (second, first))
            readings = [self._long_options(a, b, None) for a, b in pairs]
            what = f"'{first}' and '{second}' together tell rows apart, and nothing tells which of them is the rater"
            return self._shape(*readings, doubt=what)
        rater = second if item == first else first
        reading = self._long_options(item, rater, None)
        if "value" not in reading.options["map"] and not reading.options.get("columns"):
            return self._shape()
        return self._shape(reading)

    def _asked(self, key: tuple[str, ...]) -> Structure:
        """A key of three columns: one of them is the question or the condition."""
        for role in ("question", "condition"):
            for name in key:
                if self.map.get(role) == name or self._said(role, name):
                    a, b = (other for other in key if other != name)
                    item = self._which_item(a, b, {one: self._side(one) for one in (a, b)})
                    orders = [(a, b), (b, a)] if item is None else [(item, b if item == a else a)]
                    readings = [self._long_options(i, r, name, role=role) for i, r in orders]
                    doubt = "" if item else f"nothing tells which of '{a}' and '{b}' is the rater"
                    return self._shape(*readings, doubt=doubt)
        smallest = min(key, key=lambda name: self.facts[name].distinct)
        a, b = (other for other in key if other != smallest)
        item = self._which_item(a, b, {one: self._side(one) for one in (a, b)}) or a
        readings = [
            self._long_options(item, b if item == a else a, smallest, role=r) for r in ("question", "condition")
        ]
        what = f"'{key[0]}', '{key[1]}' and '{key[2]}' together tell rows apart"
        return self._shape(*readings, doubt=f"{what}, and nothing tells which is the question")

    def _side(self, key: str) -> list[str]:
        """The columns that are constant within a key, and not everywhere."""
        others = [n for n in self.free if n != key and self.facts[n].distinct > 1]
        if self.facts[key].unique:
            return [n for n in others if self._said("trait", n)]
        if not others:
            return []
        grouped = self.frame.group_by(key).agg(pl.col(others).n_unique())
        return [n for n in others if (grouped[n] <= 1).all()]

    def _which_item(self, first: str, second: str, sides: Mapping[str, list[str]]) -> str | None:
        """Which of two keys is the item: the one with a text, the one whose name or values say so; null for neither."""
        for role in ("item", "rater"):
            if self.map.get(role) in (first, second):
                return first if (self.map[role] == first) == (role == "item") else second
        texts = [n for n in (first, second) if any(self.facts[c].kind == "text" for c in (n, *sides[n]))]
        if len(texts) == 1:
            return texts[0]
        scores = {first: 0, second: 0}
        for name, other in ((first, second), (second, first)):
            scores[name] += 2 * (self._said("item", name) - self._said("rater", name))
            scores[name] += bool(self._all(name, _ITEMS)) - bool(self._all(name, _PEOPLE))
            scores[other] += sum(self._said("trait", column) for column in sides[name]) > 0
        if scores[first] == scores[second]:
            return None
        return max(scores, key=scores.__getitem__)

    def _said(self, role: str, name: str) -> bool:
        """Whether a column's name, or its wording where that is short, says that it has a role."""
        title = self.rows.titles.get(name, "")
        return said(role, name) or (len(title.split()) <= 3 and said(role, title))

    def _said_text(self, name: str) -> bool:
        """Whether a column's name says that it holds the text itself and not its id."""
        return self._said("text", name) and self.facts[name].kind == "word" and not re.search(r"(?i)id|nr|no|\d$", name)

    def _all(self, name: str, pattern: re.Pattern[str]) -> bool:
        values = self.frame[name].drop_nulls().unique().head(200).cast(pl.String).to_list()
        return bool(values) and all(pattern.fullmatch(value.strip()) for value in values)

    def _long_options(self, item: str | None, rater: str, asked: str | None, *, role: str = "question") -> TableReading:
        """The options for a long table with these ids: what is constant within one describes it, the rest answers."""
        mapping = {k: v for k, v in self.map.items() if k not in ("item", "rater")}
        text = mapping.get("text")
        if item is not None:
            mapping = {"item": item, **mapping}
            words = self._said_text(item) and not any(self.facts[n].kind == "text" for n in self._side(item))
            if "text" not in mapping and (self.facts[item].kind == "text" or words):
                del mapping["item"]
                mapping["text"] = text = item
        mapping["rater"] = rater
        if asked is not None:
            mapping[role] = asked
        taken = {*mapping.values(), *self.traits}
        taken |= {
            n for n in self.free if self._said("value", n) and self.facts[n].may_answer and "value" not in mapping
        }
        of_rater = [n for n in self._side(rater) if n not in taken]
        of_item = (
            [n for n in self._side(item or text or "") if n not in taken and n not in of_rater] if item or text else []
        )
        for name in of_item:
            if self.facts[name].kind == "text" and "text" not in mapping:
                mapping["text"] = name
            elif name not in ROLES and "," not in name and "=" not in name:
                mapping["target" if self._said("target", name) and "target" not in mapping else name] = name
        taken = {*mapping.values(), *self.traits, *of_rater, *of_item}
        rest = [n for n in self.free if n not in taken and self.facts[n].distinct > 1]
        for name in rest:
            for one in ("rationale", "condition"):
                if self._said(one, name) and one not in mapping and self.facts[name].kind in ("text", "word"):
                    mapping[one] = name
        rest = [n for n in rest if n not in mapping.values()]
        options: dict[str, Any] = {"map": mapping}
        answers = self._answers_of_long(rest)
        if "value" not in mapping and len(answers) == 1:
            mapping["value"] = answers[0]
            known = ("item", "text", "rater", "question", "condition", "value")
            options["map"] = {role: mapping[role] for role in (*known, *mapping) if role in mapping}
        elif "value" not in mapping and answers:
            options |= {"columns": "question", "values": self.patterns(answers)}
        traits = [*self.traits, *of_rater]
        if traits:
            options["traits"] = self._kept_scales(traits)
        return TableReading(options, f"'{rater}' is the rater and '{item or text}' the item")

    def _answers_of_long(self, rest: Sequence[str]) -> list[str]:
        """Of the columns that differ within items and raters those that hold answers, not times or lengths."""
        named = [n for n in rest if self._said("value", n) and self.facts[n].may_answer]
        answers = [n for n in rest if self.facts[n].may_answer and not self._said("remark", n)]
        repeated = [n for n in answers if not self.facts[n].unique]
        answers = repeated or [n for n in answers if self.facts[n].kind == "number"] or answers
        scales = [n for n in answers if self.facts[n].codes and len(self.facts[n].codes) <= 12]
        return named if len(named) == 1 and len(scales) <= 1 else scales or named or answers

    def _kept_scales(self, traits: Sequence[str]) -> Any:
        given = self.given.get("traits")
        return {t: given.get(t) for t in traits} if isinstance(given, Mapping) else list(traits)

    # Wide tables

    def _wide(self, spread: str) -> Structure:
        given = self.given.get("values")
        block, apart, doubt = self._block if not given else (fitting(self.facts, given), [], "")
        if len(block) < (1 if spread else 2):
            return self._shape()
        if not given and (what := self._counts(block)):
            return self._shape(doubt=what)
        row_key = self._row_key(block)
        spreads = [spread] if spread else self._spreads(block, row_key)
        if len(spreads) > 1:
            doubt = "nothing tells whether the columns are raters or the rows are" + (
                f"; also, {doubt}" if doubt else ""
            )
            blocks = [block]
        else:
            blocks = [block, [n for n in block if n not in apart]] if apart else [block]
        readings = [self._wide_options(columns, row_key, one) for columns in blocks for one in spreads]
        return self._shape(*readings, doubt=doubt if len(readings) > 1 else "")

    @cached_property
    def _block(self) -> tuple[list[str], list[str], str]:
        """The columns that hold answers on one scale; those of them that may not belong; and why."""
        stems: dict[str, list[str]] = {}
        for name in self.free:
            if self.facts[name].kind in ("number", "word"):
                stems.setdefault(stem(name), []).append(name)
        free = [n for names in stems.values() for n in names if not self._is_row_id(n)]
        # Names such as c1 … c9 for all columns tell nothing.
        everywhere = len({stem(name) for name in self.facts}) == 1
        families = [names for pattern, names in stems.items() if "*" in pattern and len(names) > 1 and not everywhere]
        families = [family for family in families if any(self.facts[n].may_answer for n in family)]
        candidates = [n for n in self.facts if n in free and self.facts[n].may_answer]
        if not families:
            return self._unnamed_block(candidates, everywhere=everywhere)
        family = max(families, key=len)
        totals = self._totals(family)
        family = [n for n in family if n not in totals]
        pattern = stem(family[0]) if family else ""
        if rivals := [f for f in families if f[0] not in family and len(f) > 1 and 3 * len(f) >= len(family)]:
            rival = rivals[0]
            what = f"both {pattern} and {stem(rival[0])} may be the answers"
            return [*family, *rival], rival, what
        strange = [n for n in unlike({one: self.facts[one].codes for one in family}) if self.facts[n].filled > 7]
        kinds = Counter(self.facts[n].kind for n in family)
        strange += [n for n in family if self.facts[n].kind != kinds.most_common(1)[0][0]]
        labels = Counter(str(self.rows.labels.get(n)) for n in family)
        strange += [n for n in family if str(self.rows.labels.get(n)) != labels.most_common(1)[0][0]]
        if strange:
            what = f"'{strange[0]}' is called like {pattern} but holds other answers"
            return family, list(dict.fromkeys(strange)), what
        # A sex that is coded 1 and 2 may be called q1 too; other columns with few answers are easy or hard items.
        ends = [
            n for n in (family[0], family[-1]) if len(self.facts[n].codes) == 2 and max(self.facts[n].codes) in (1, 2)
        ]
        if narrow := [n for n in self._narrow(family) if n in ends]:
            return family, narrow, f"'{narrow[0]}' is called like {pattern} but has fewer different answers"
        odd = [n for n in self._largest([*family, *(c for c in candidates if c not in family)]) if n not in family]
        odd = [n for n in odd if n not in totals and not self._said("trait", n) and n not in self._narrow([*family, n])]
        if odd and stem(odd[0]) not in [stem(n) for f in families for n in f]:
            names = ", ".join(f"'{n}'" for n in odd[:3])
            return [n for n in self.facts if n in (*family, *odd)], odd, f"{names} may be an answer as {pattern} are"
        return family, [], ""

    def _unnamed_block(self, candidates: Sequence[str], *, everywhere: bool) -> tuple[list[str], list[str], str]:
        """The columns with the same answers, where names do not group them."""
        block = self._largest(candidates)
        totals = self._totals(block)
        block = [n for n in block if n not in totals and not self._said("trait", n) and not self._said("remark", n)]
        if len(block) < 2:
            return block, [], ""
        described = [n for n in self.free if n not in block and n not in totals and not self._plainly_apart(n)]
        if everywhere and described and not all(self.rows.labels.get(n) for n in block):
            return block, self._edges(block), "names tell nothing, and other columns describe rows"
        block = [n for n in block if n not in self._narrow(block)]
        pooled = {code for n in block for code in self.facts[n].codes}
        few = [n for n in block if len(self.facts[n].codes) <= 2 and len(pooled) >= 4 and self.facts[n].filled > 3]
        if few and len(block) > 2 > len(few) / len(block) * 2:
            return block, few, f"'{few[0]}' has fewer different answers than the other columns"
        return block, [], ""

    def _plainly_apart(self, name: str) -> bool:
        """Whether a column is an id, a text or a time, which nobody takes for an answer."""
        fact = self.facts[name]
        return fact.unique or fact.kind in ("text", "time") or fact.distinct <= 1

    def _edges(self, block: Sequence[str]) -> list[str]:
        """The first or last of the columns, whichever is next to one that is no answer."""
        order = list(self.facts)
        before = order[order.index(block[0]) - 1] if order.index(block[0]) else None
        return [block[0]] if before is not None and not self.facts[before].unique else [block[-1]]

    def _largest(self, candidates: Sequence[str]) -> list[str]:
        """The largest set of columns with comparable answers: the same labels, common words, numbers of one range."""
        groups: list[list[str]] = []
        for name in candidates:
            home = next((group for group in groups if self._alike(name, group[:8])), None)
            if home is None:
                groups.append([name])
            else:
                home.append(name)
        group = max(groups, key=len, default=[])
        if len(group) < 2:
            return group
        pooled, members = {code for one in group for code in self.facts[one].codes}, set(group)
        return [n for n in candidates if n in members or self._within(n, group[0], pooled)]

    def _alike(self, name: str, group: Sequence[str]) -> bool:
        fact, labels = self.facts[name], self.rows.labels.get(name)
        for other in group:
            theirs = self.rows.labels.get(other)
            if labels or theirs:
                if labels == theirs:
                    return True
                continue
            codes, others = set(fact.codes), set(self.facts[other].codes)
            if fact.kind != self.facts[other].kind or fact.whole != self.facts[other].whole:
                continue
            if fact.kind == "word":
                if codes & others and 2 * len(codes & others) >= min(len(codes), len(others)):
                    return True
            elif len(codes) <= FEW and len(others) <= FEW:
                low, high, least, most = min(codes), max(codes), min(others), max(others)
                few = fact.filled <= 6 and (codes <= others or others <= codes)
                if (
                    few
                    or (low, high) == (least, most)
                    or (
                        min(len(codes), len(others)) > 2
                        and 2 * (min(high, most) - max(low, least)) >= max(high, most) - min(low, least)
                    )
                ):
                    return True
        return False

    def _within(self, name: str, other: str, pooled: set[Any]) -> bool:
        """Whether the answers of a column are among those of a set of columns that have more of them."""
        fact, first = self.facts[name], self.facts[other]
        alike = self.rows.labels.get(name) == self.rows.labels.get(other) and fact.kind == first.kind
        few = len(fact.codes) <= FEW and (fact.kind == "word" or (len(pooled) <= FEW and fact.whole == first.whole))
        return alike and few and set(fact.codes) <= pooled

    def _agree(self, block: Sequence[str]) -> bool:
        """Whether columns agree about rows more than by chance, as raters do and different questions do not."""
        frame = self.frame.select(pl.col(list(block)[:12]).cast(pl.String).str.strip_chars().str.to_lowercase())
        beyond = []
        for one, other in combinations(frame.columns, 2):
            pair = frame.select(one, other).drop_nulls()
            if len(pair) < 2:
                continue
            shares = [dict(pair[n].value_counts(normalize=True).iter_rows()) for n in (one, other)]
            chance = sum(share * shares[1].get(value, 0.0) for value, share in shares[0].items())
            same = float((pair[one] == pair[other]).mean() or 0.0)  # type: ignore[arg-type]
            beyond.append((same - chance) / (1 - chance) if chance < 1 else 0.0)
        return not beyond or sum(beyond) / len(beyond) > AGREEMENT

    def _narrow(self, block: Sequence[str]) -> list[str]:
        """Columns that lack answers of the others, as they hardly would by chance."""
        narrow = []
        everything = Counter[Any]()
        for name in block:
            everything.update(self.facts[name].codes)
        for name in block:
            own = self.facts[name]
            if len(own.codes) > 2:
                continue
            pooled = +(everything - Counter(own.codes))
            total = sum(pooled.values())
            if len(pooled) < 4 or len(block) < 3 or not total or self.rows.labels.get(name):
                continue
            share = sum(count for code, count in pooled.items() if code in own.codes) / total
            if share ** sum(own.codes.values()) < CHANCE:
                narrow.append(name)
        return narrow if len(narrow) < len(block) / 2 else []

    def _is_row_id(self, name: str) -> bool:
        fact = self.facts[name]
        return fact.unique and not (fact.kind == "number" and not fact.whole) and fact.rows > 3

    def _numbers(self, columns: Sequence[str]) -> pl.DataFrame:
        """Columns as numbers, with decimal commas understood."""
        return self.frame.select(
            pl.col(list(columns)).cast(pl.String).str.replace(",", ".").cast(pl.Float64, strict=False)
        )

    def _totals(self, block: Sequence[str]) -> set[str]:
        """Columns that are the sum or the mean of the answers beside them."""
        numbers = [n for n in self.free if self.facts[n].kind == "number" and self.facts[n].distinct > 1]
        members = {*block} & {*numbers}
        held = [n for n in block if n in members]
        if len(held) < 3 or len(self.frame) < 3:
            return set()
        table = self._numbers(numbers).to_numpy()
        known, inside = ~np.isnan(table), np.array([name in members for name in numbers])
        sums = np.where(known, table, 0.0)[:, inside].sum(axis=1)[:, None] - np.where(known, table, 0.0) * inside
        counts = known[:, inside].sum(axis=1)[:, None] - known * inside
        totals: set[str] = set()
        with np.errstate(divide="ignore", invalid="ignore"):
            for made in (sums, sums / counts):
                near = (np.abs(table - made) <= 0.0051).sum(axis=0)
                varied = np.nanmax(made, axis=0) > np.nanmin(made, axis=0)
                alike = (near >= np.maximum(3, 0.99 * known.sum(axis=0))) & varied
                totals |= {name for name, is_total in zip(numbers, alike, strict=True) if is_total}
        return totals

    def _counts(self, block: Sequence[str]) -> str:
        """What to say of columns that count answers or share them out: they are no raters."""
        if any(self.facts[n].kind != "number" for n in block) or len(block) < 2 or len(self.frame) < 3:
            return ""
        table = self._numbers(block)
        sums = table.fill_null(0).sum_horizontal().round(3)
        if sums.n_unique() != 1 or (table.null_count().sum_horizontal()[0] or 0) > 0:
            return ""
        total = sums[0]
        whole = all(self.facts[n].whole for n in block)
        if total <= 0 or (len(block) == 2 and whole and total <= 2):
            return ""
        named = ", ".join(f"'{n}'" for n in block[:3]) + (" …" if len(block) > 3 else "")
        counts = whole and total > 1 and total != 100
        if not counts and total not in (1, 100):
            return ""
        what, quoted = f"columns {named} add up to {total:g} in every row", shlex.quote(",".join(self.patterns(block)))
        if not counts:
            return f"{what}: they are shares of answers and no raters; pass --shares {quoted}"
        return f"{what}: they count answers and are no raters; pass --counts {quoted}"

    def _row_key(self, block: Sequence[str]) -> dict[str, str]:
        """The id and the text of a row."""
        free = [n for n in self.free if n not in block]
        key: dict[str, str] = {role: self.map[role] for role in ("item", "rater", "text") if role in self.map}
        texts = [n for n in free if self.facts[n].kind == "text" and self.facts[n].distinct > 0.5 * self.facts[n].rows]
        if "text" not in key and len(texts) == 1:
            key["text"] = texts[0]
        ids = [
            n for n in free if self._is_row_id(n) and self.facts[n].kind in ("number", "word") and n not in key.values()
        ]
        if "item" not in key and "rater" not in key and ids:
            # Names rather than numbers, which may be durations.
            ids = [n for n in ids if self.facts[n].kind == "word"] or ids
            key["id"] = next((n for n in ids if self._said("rater", n) or self._said("item", n)), ids[0])
        return key

    def _spreads(self, block: Sequence[str], key: Mapping[str, str]) -> list[str]:
        """What the columns may be: raters where rows are items, items where rows are respondents."""
        if "rater" in key and ("item" in key or "text" in key):
            return ["question"]
        stems = {stem(n) for n in block}
        lone = next(iter(stems)).rstrip("*") if len(stems) == 1 else ""
        rest = [n for n in self.free if n not in block and n not in key.values()]
        row = key.get("id", "")
        respondents = [
            "rater" in key,
            all(len(self.rows.titles.get(n, "").split()) > 2 for n in block)
            or all(self.rows.labels.get(n) for n in block),
            bool(row) and (self._said("rater", row) or self._all(row, _PEOPLE)),
            bool(lone) and (bool(_ASKED.fullmatch(lone)) or "[" in lone) and not _JUDGES.fullmatch(lone),
            any(self._said("trait", n) for n in rest),
        ]
        items = [
            "item" in key,
            "text" in key,
            bool(row) and (self._said("item", row) or self._all(row, _ITEMS)),
            (bool(lone) and bool(_JUDGES.fullmatch(lone))) or all(_PEOPLE.fullmatch(n) for n in block),
        ]
        if any(respondents) != any(items):
            if any(respondents):
                return ["item"]
            return ["rater"] if items[-1] or self._agree(block) else ["rater", "question"]
        return ["rater", "item"]

    def _wide_options(self, block: Sequence[str], key: Mapping[str, str], spread: str) -> TableReading:
        mapping = {k: v for k, v in self.map.items() if k not in (spread, "value")}
        row_role = "rater" if spread == "item" else "item"
        if "id" in key and row_role not in mapping:
            mapping = {row_role: key["id"], **mapping}
        if "text" in key and spread != "item":
            mapping["text"] = key["text"]
        options: dict[str, Any] = {"map": mapping, "columns": spread}
        totals = self._totals(block)
        rest = [
            n
            for n in self.free
            if n not in block and n not in mapping.values() and n not in totals and self.facts[n].distinct > 1
        ]
        described = [n for n in rest if self._describes(n)]
        if spread == "rater":
            kept = [n for n in described if n not in ROLES and "," not in n and "=" not in n]
            mapping |= {n: n for n in kept}
        elif spread == "item":
            described = [n for n in described if self.facts[n].kind != "text" and not self._said("remark", n)]
            if traits := [*self.traits, *(n for n in described if n not in self.traits)]:
                options["traits"] = self._kept_scales(traits)
        used = {*mapping.values(), *options.get("traits", ()), *block}
        if any(n not in used for n in self.facts):
            options["values"] = self.patterns(block)
        if spread == "question" and "rater" not in mapping:
            options["anonymous"] = True
        if not mapping:
            del options["map"]
        what = {
            "rater": "one column per rater, one row per item",
            "item": "one column per item, one row per respondent",
        }
        return TableReading(options, what.get(spread, "one column per question"))

    def _describes(self, name: str) -> bool:
        """Whether a column describes rows: words that repeat, a text, or numbers that do not merely count the rows."""
        fact = self.facts[name]
        if fact.kind != "number":
            return fact.kind == "text" or (fact.kind == "word" and not fact.unique)
        return not (fact.unique and fact.whole and fact.codes and max(fact.codes) - min(fact.codes) == fact.rows - 1)

    def patterns(self, block: Iterable[str]) -> list[str]:
        """The names of columns, as patterns such as `off_*` where these fit no other column."""
        names = list(block)
        if all(n.endswith("]") for n in names) and sum(n.endswith("]") for n in self.facts) == len(names):
            return ["*]"]
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(stem(name).replace("[*]", "*]"), []).append(name)
        made: list[str] = []
        for pattern, members in groups.items():
            safe = "," not in pattern and "[" not in pattern and "*" in pattern and "?" not in pattern
            if len(members) > 3 and safe and {*fitting(self.facts, [pattern])} <= set(names):
                made.append(pattern)
            else:
                # A comma would part names in the command; as a pattern, a question mark fits it.
                made += [n.replace(",", "?").replace("[", "?") for n in members]
        return made
