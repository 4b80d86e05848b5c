"""Which columns of a table are ids: those that tell its rows apart; which is the item, and which the rater."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from math import prod
from typing import Any, Final

import polars as pl

from vantage.corpora.readers.aggregates import numbers_of
from vantage.corpora.readers.answer_block import SMALL, TINY, Columns
from vantage.corpora.readers.column_facts import ColumnFacts, shares_of
from vantage.corpora.readers.columns import called_so
from vantage.corpora.readers.table_file import FileRows

COLLISIONS: Final = 8
"""So many pairs of rows must be expected to agree on two columns by chance before it means something that none does."""
FEW_IDS: Final = 3
"""So few raters may be told apart by their sex or age as well as by their ids."""
KEYS: Final = 12
"""How many columns are tried as ids."""
PEOPLE: Final = re.compile(
    r"[0-9a-f]{24}|R_\w{10,}|A[0-9A-Z]{9,14}|[^@\s]+@[^@\s]+\.\w+|"
    r"(?:r|p|vp|rater|annotator|ann|coder|user|worker|resp(?:ondent)?|participant|person|teilnehmer|proband)[-_ ]?\d+",
    re.IGNORECASE,
)
"""Ids that only people have."""
ITEMS: Final = re.compile(
    r"(?:i|t|s|d|item|text|doc|tweet|post|sent(?:ence)?|stim|satz|phrase|frase)[-_ ]?\d+", re.IGNORECASE
)
"""Ids that only items have."""


NAMED_ID: Final = re.compile("id|unit|nr|no", re.IGNORECASE)


class RowIds(Columns):
    """The columns of a table and what tells its rows apart."""

    def __init__(
        self, rows: FileRows, frame: pl.DataFrame, facts: dict[str, ColumnFacts], given: Mapping[str, Any]
    ) -> None:
        self.given = given
        self._sides: dict[str, list[str]] = {}
        self.map: dict[str, str] = dict(given.get("map") or {})
        for role in called_so(rows):
            complete = role not in ("item", "rater") or facts[role].filled == facts[role].rows
            if role != "text" and role not in {*self.map, *self.map.values()} and complete:
                self.map[role] = role
        self.traits = list(given.get("traits") or ())
        taken = (*self.map.values(), *self.traits)
        free = [name for name, fact in facts.items() if name not in taken and fact.kind not in ("empty", "nested")]
        super().__init__(rows, frame, facts, free)

    def keys(self) -> list[tuple[str, ...]]:
        """The columns that tell rows apart and repeat: of an item and a rater, and maybe of the question.

        Where a column and one that follows from it are as likely to be ids, both.
        """
        size = len(self.frame)
        block = self.answers[0][0]
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
                and name not in (*self.traits, *self.map.values())
            )
        ]
        if len(named) < 2 and (pair := self._named_pair(held)):
            # Repeated judgments of all of them in as many rounds have a column that tells the rounds apart.
            pairs = self.together(*pair)
            rounds = [n for n in candidates if n not in pair and self.facts[n].distinct * pairs == size > pairs]
            return [next(((*pair, n) for n in rounds if self.together(*pair, n) == size), pair)]
        order = sorted(candidates, key=lambda name: (name not in named, name in held, -self.facts[name].distinct))
        candidates = order[:KEYS]
        for count in (2, 3):
            fitting: list[tuple[float, tuple[str, ...]]] = []
            for key in combinations(candidates, count):
                ids = any(self.facts[name].unique for name in key)  # tell rows apart alone
                if not all(name in key for name in named[:count]) or (ids and not {*key} <= {*named}):
                    continue
                cells = float(prod(self.facts[name].distinct for name in key))
                # What looks like answers is an id only where every combination is there once.
                if (cells == size > SMALL or not held & {*key}) and self._tells_apart(key, cells):
                    fitting.append((cells, key))
            if fitting:
                return self._ids_in(min(fitting)[1], candidates)
        return []

    def _ids_in(self, key: tuple[str, ...], candidates: Sequence[str]) -> list[tuple[str, ...]]:
        """A key of columns by which the others follow: raters rather than their ages; all keys that are as likely."""
        made: list[list[str]] = []
        for name in key:
            least = self.facts[name].distinct
            free = [n for n in candidates if n not in key and self.facts[n].kind != "text"]
            finer = [n for n in free if least <= self.facts[n].distinct <= 2 * least and name in self.side(n)]
            if name in self.map.values() or self.facts[name].kind == "text":
                finer = []
            best = max(map(self._id_like, (name, *finer)))
            alike = [n for n in (name, *finer) if self._id_like(n) == best]
            if (least <= FEW_IDS or len(self.frame) <= SMALL) and not best[0]:
                # Two raters may differ in everything that is known of them; ids are mostly longer than that.
                same = [n for n in (name, *finer) if n not in alike and self.facts[n].distinct == least]
                same = [n for n in same if not self.said("trait", n)]
                alike += sorted(same, key=lambda n: -len(self.facts[n].examples[0]))
            made.append(alike)
        return [tuple(one) for one in product(*made)][:2]

    def _id_like(self, name: str) -> tuple[bool, ...]:
        """How much a column looks like ids: its name says so, it holds words, or digits that the file keeps as text."""
        fact, named = self.facts[name], self.said("rater", name) or self.said("item", name)
        return named, not self.said("trait", name), fact.kind == "word", self.rows.schema[name] == pl.String

    def _named_pair(self, held: set[str]) -> tuple[str, str] | None:
        """Two columns whose names say that they are the item and the rater, where nothing in the data contradicts."""
        free = [n for n in self.facts if n not in held and self.facts[n].filled == self.facts[n].rows]
        free = [n for n in free if self.facts[n].kind != "time"]
        items = [n for n in free if n == self.map.get("item") or (n in self.free and self.said("item", n))]
        items += [n for n in free if n in self.free and NAMED_ID.fullmatch(n)]
        items += [n for n in free if n == self.map.get("text") or (n in self.free and self.said("text", n))]
        raters = [n for n in free if n == self.map.get("rater") or (n in self.free and self.said("rater", n))]
        texts = [n for n in items if self.said("text", n) or self.facts[n].kind == "text"]
        size = len(self.frame)
        for rater in raters:
            for item in items:
                one = self.facts[item]
                if item == rater or (one.unique and any(self.facts[t].distinct < size for t in texts)):
                    continue  # it numbers rows; equal texts are one item
                if one.unique and any(self._crosses(n, rater) for n in self.free if n not in held):
                    continue  # it numbers rows, each with a judgment of what all raters judged
                wide = (self.facts[rater].unique or one.unique) and held
                if not wide and self.together(item, rater) >= 0.5 * size:
                    return item, rater
        return None

    def _crosses(self, one: str, other: str) -> bool:
        """Whether two columns, of several values each, have every combination of these in one row."""
        size, numbers = len(self.frame), [self.facts[n].distinct for n in (one, other)]
        return min(numbers) > 1 and prod(numbers) == size == self.together(one, other)

    def _tells_apart(self, key: tuple[str, ...], cells: float) -> bool:
        """Whether columns tell rows apart although by chance they would not, each of them being needed for it."""
        size = len(self.frame)
        if cells < size:
            return False
        different = self.together(*key)
        if different < 0.98 * size:
            return False
        if len(key) > 2 and any(self.together(*part) == size for part in combinations(key, len(key) - 1)):
            return False
        same = 1.0
        for name in key:
            same *= sum(share**2 for share in shares_of(self.frame[name]).values())
        expected = size * (size - 1) / 2 * same
        rows_have_ids = len(self.answers[0][0]) > 2 and any(self.is_surely_id(name) for name in self.free)
        # Fewer rows may by chance have every combination once.
        return (cells == size > TINY and not rows_have_ids) or expected >= COLLISIONS + 3 * (size - different)

    def side(self, key: str) -> list[str]:
        """The columns that are constant within a key, and not everywhere."""
        if key not in self._sides:
            others = [n for n in self.free if n != key and self.facts[n].distinct > 1]
            if self.facts[key].unique or not others:
                self._sides[key] = [n for n in others if self.said("trait", n)]
            else:
                grouped = self.frame.group_by(key).agg(pl.col(others).n_unique())
                self._sides[key] = [n for n in others if (grouped[n] <= 1).all()]
        return self._sides[key]

    def together(self, *columns: str) -> int:
        """How many combinations of values some columns have."""
        return int(self.frame.select(pl.struct(columns).n_unique()).item())

    def which_item(self, first: str, second: str) -> str | None:
        """Which of two keys is the item: the one with a text, the one whose name or values say so; null for neither."""
        for role in ("item", "rater"):
            if self.map.get(role) in (first, second):
                return first if (self.map[role] == first) == (role == "item") else second
        texts = [n for n in (first, second) if any(self.facts[c].kind == "text" for c in (n, *self.side(n)))]
        if len(texts) == 1:
            return texts[0]
        scores = {first: 0, second: 0}
        for name, other in ((first, second), (second, first)):
            scores[name] += 2 * (self.said("item", name) - self.said("rater", name))
            scores[name] += bool(self._all(name, ITEMS)) - bool(self._all(name, PEOPLE))
            scores[other] += sum(self.said("trait", column) for column in self.side(name)) > 0
        if scores[first] == scores[second]:
            return None
        return max(scores, key=scores.__getitem__)

    def _all(self, name: str, pattern: re.Pattern[str]) -> bool:
        values = self.frame[name].drop_nulls().unique().head(200).cast(pl.String).to_list()
        return bool(values) and all(pattern.fullmatch(value.strip()) for value in values)

    def row_key(self, block: Sequence[str]) -> dict[str, str]:
        """The id and the text of a row."""
        free = [n for n in self.free if n not in block]
        key: dict[str, str] = {role: self.map[role] for role in ("item", "rater", "text") if role in self.map}
        texts = [n for n in free if self.facts[n].kind == "text" and self.facts[n].distinct > 0.5 * self.facts[n].rows]
        if "text" not in key and len(texts) == 1:
            key["text"] = texts[0]
        free = [n for n in free if self.facts[n].kind in ("number", "word") and n not in key.values()]
        # Somebody who took part twice is refused later, and no reason to take all ids for a trait.
        twice = [
            n
            for n in free
            if NAMED_ID.fullmatch(n) and 0.9 * len(self.frame) < self.facts[n].distinct < len(self.frame)
        ]
        ids = [n for n in free if self._is_row_id(n)] or twice
        if "item" not in key and "rater" not in key and ids:
            named = [n for n in ids if self.said("rater", n) or self.said("item", n)]
            # Names rather than numbers, which may be durations.
            words = [n for n in ids if self.facts[n].kind == "word"]
            key["id"] = (named or words or [n for n in ids if self.dense(n)] or ids)[0]
        return key

    def rows_are(self, key: Mapping[str, str], rest: Sequence[str]) -> tuple[bool, bool]:
        """Whether something says that rows are respondents, and whether that they are items."""
        row = key.get("id", "")
        people = bool(row) and (self.said("rater", row) or self._all(row, PEOPLE))
        respondents = "rater" in key or people or any(self.said("trait", n) for n in rest)
        named = bool(row) and (self.said("item", row) or self._all(row, ITEMS))
        return respondents, "item" in key or "text" in key or named

    def _is_row_id(self, name: str) -> bool:
        fact = self.facts[name]
        return (
            fact.unique
            and not self.recurs(name)
            and (self.dense(name) or (fact.rows > 3 and fact.whole) or fact.kind not in ("number", "time"))
        )

    def is_surely_id(self, name: str) -> bool:
        """Whether a column is an id: no number of the row, and no duration, which may differ in all rows by chance."""
        fact = self.facts[name]
        numbers_rows = self.counts_rows(name) and numbers_of(self.frame, [name])[name].is_sorted()
        return self._is_row_id(name) and (fact.kind == "word" or (self.dense(name) and not numbers_rows))

    def dense(self, name: str) -> bool:
        """Whether numbers without repetitions are about as many as there are between the lowest and the highest."""
        fact = self.facts[name]
        return fact.unique and fact.whole and max(fact.codes) - min(fact.codes) < 3 * fact.rows
