"""What the columns of a table are, from what they hold: ids, answers, descriptions of items or raters, totals.

A long table has two columns that together tell its rows apart and repeat each; what is constant within one of them
describes it, the rest are answers. A wide table has several columns with the same answers. What names say, in any
language, only breaks ties. Where two readings remain possible both are given, and none is chosen.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Any, Final

import polars as pl

from vantage.corpora.readers.aggregates import names_of_totals, numbers_of, shared_out, total_rows
from vantage.corpora.readers.answer_block import AGREEMENT, CHANCE, SMALL, TINY, Columns, unlike
from vantage.corpora.readers.column_facts import ColumnFacts, facts_of, said, sample, shares_of, stem
from vantage.corpora.readers.columns import PLACES, ROLES, TIES, fitting, two_names
from vantage.corpora.readers.command import command
from vantage.corpora.readers.table_file import ROW, CrossedHeader, FileRows

COLLISIONS: Final = 8
"""So many pairs of rows must be expected to agree on two columns by chance before it means something that none does."""
FEW_IDS: Final = 3
"""So few raters may be told apart by their sex or age as well as by their ids."""
KEYS: Final = 12
"""How many columns are tried as ids."""
MEMBERS: Final = 2000
PAIRS: Final = 6
"""A table of comparisons has at most so many members in the rows looked at, and at least so many rows."""
UNSCALED: Final = "several columns may hold the answers, and nothing tells which"
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
    frame = sample(rows).drop(ROW)
    totals = names_of_totals(frame) if not given.get("without") else []
    if totals:
        gone = total_rows(frame)
        frame = frame.filter(~pl.int_range(pl.len()).is_in(gone))
    facts = {name: facts_of(frame[name], rows.labels.get(name)) for name in rows.schema}
    shape = _Table(rows, frame, facts, given).structure()
    for reading in shape.readings if totals else ():
        reading.options["without"] = totals
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
    ways = f"in {'two' if len(shape.readings) == 2 else 'several'} ways"
    raise rows.fault(f"the table can be read {ways}, since {shape.doubt}", f"run one of: {commands}")


class _Table(Columns):
    """A table whose readings are looked for."""

    def __init__(
        self, rows: FileRows, frame: pl.DataFrame, facts: dict[str, ColumnFacts], given: Mapping[str, Any]
    ) -> None:
        self.given = given
        self._known_sides: dict[str, list[str]] = {}
        self.map: dict[str, str] = dict(given.get("map") or {})
        for role in ROLES:
            if (
                role in facts
                and role not in self.map
                and role not in self.map.values()
                and self._plausible(facts[role])
            ):
                self.map[role] = role
        self.traits = list(given.get("traits") or ())
        taken = (*self.map.values(), *self.traits)
        free = [name for name, fact in facts.items() if name not in taken and fact.kind not in ("empty", "nested")]
        super().__init__(rows, frame, facts, free)

    @staticmethod
    def _plausible(fact: ColumnFacts) -> bool:
        """Whether a column with the name of a role can have it: "Status" of a survey tool is no status."""
        if fact.name == "probabilities":
            return fact.kind == "nested" or all(cell.startswith("[") for cell in fact.examples)
        if fact.name in ("item", "rater"):
            return fact.filled == fact.rows
        kinds = {"person", "author", "slot", "model", "persona", "trained", "aggregate"}
        return fact.name != "kind" or set(fact.codes) <= kinds

    def structure(self) -> Structure:
        """The readings that fit."""
        if self.rows.crossed and not self.given.get("values"):
            return self._crossed(self.rows.crossed, str(self.given.get("columns") or ""))
        if spread := self.given.get("columns"):
            return self._wide(str(spread))
        if self.given.get("pairs") or self.given.get("shares") or self.given.get("counts"):
            return self._shape()
        if comparison := self._comparison():
            return comparison
        if {"item", "rater", "value"} <= set(self.map) or {"text", "rater", "value"} <= set(self.map):
            return self._shape(self._long_options(self.map.get("item"), self.map["rater"], self.map.get("question")))
        block = self._blocks[0][0]
        if len(block) > 1 and len({stem(n) for n in block}) == 1 and _JUDGES.fullmatch(stem(block[0]).rstrip("*")):
            return self._wide("" if "rater" in self.map else "rater") if len(block) > 2 else self._wide("")
        shapes = [self._long(*key) for key in self._keys()]
        shape = shapes[0] if shapes else self._shape()
        if len(shapes) > 1:
            readings = [reading for one in shapes for reading in one.readings]
            one, other = next(both for both in zip(*self._keys(), strict=True) if both[0] != both[1])
            also = f"; also, {shape.doubt}" if shape.doubt else ""
            shape = self._shape(*readings, doubt=f"either '{one}' or '{other}' may be the id{also}")
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
                chance = self._by_chance(self.frame[won[0]].cast(pl.String), first, second)
                if made := self._compared(one, other, won[0], len(held[one] | held[other]), chance=chance):
                    return made
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

    def _by_chance(self, won: pl.Series, first: pl.Series, second: pl.Series) -> bool:
        """Whether as few rows as these might name one of two everywhere although nothing was compared."""
        seen = [shares_of(cells) for cells in (won, first, second)]
        likely = sum(share * (seen[1].get(name, 0.0) + seen[2].get(name, 0.0)) for name, share in seen[0].items())
        names = any(isinstance(name, str) and not name.isdecimal() for name in seen[0])
        return len({*seen[1], *seen[2]}) > 2 and float(min(likely, 1.0) ** len(won)) > (50 if names else 1) * CHANCE

    def _compared(self, one: str, other: str, winner: str, members: int, *, chance: bool) -> Structure | None:
        rest = [n for n in self.free if n not in (one, other, winner) and not self.facts[n].unique]
        rest = [n for n in rest if self.facts[n].distinct > 1 and self.facts[n].kind in ("word", "number", "text")]
        given = self.map.get("rater")
        raters = [given] if given else [n for n in rest if self.said("rater", n)]
        what = f"'{winner}' always is '{one}' or '{other}', which never are the same"
        if chance and raters:
            return None
        if chance or (members <= 3 and not raters):
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
        said = [n for n in free if self.said("item", n) or self.facts[n].kind == "text"]
        apart = {n: self.frame.select(pl.struct(*key, n).n_unique()).item() for n in free}
        now = self.frame.select(pl.struct(key).n_unique()).item()
        return next((n for n in [*said, *free] if n in said or apart[n] == len(self.frame) > now), None)

    # Long tables

    def _keys(self) -> list[tuple[str, ...]]:
        """The columns that tell rows apart and repeat: of an item and a rater, and maybe of the question.

        Where a column and one that follows from it are as likely to be ids, both.
        """
        size = len(self.frame)
        block = self._blocks[0][0]
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
            return [pair]
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
            finer = [n for n in free if least <= self.facts[n].distinct <= 2 * least and name in self._side(n)]
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
        items = [n for n in free if n == self.map.get("item") or (n in self.free and self.said("item", n))]
        items += [n for n in free if n in self.free and re.fullmatch("(?i)id|unit|nr|no", n)]
        items += [n for n in free if n == self.map.get("text") or (n in self.free and self.said("text", n))]
        raters = [n for n in free if n == self.map.get("rater") or (n in self.free and self.said("rater", n))]
        texts = [n for n in items if self.said("text", n) or self.facts[n].kind == "text"]
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
            same *= sum(share**2 for share in shares_of(self.frame[name]).values())
        expected = size * (size - 1) / 2 * same
        rows_have_ids = len(self._blocks[0][0]) > 2 and any(self._is_surely_id(name) for name in self.free)
        # Fewer rows may by chance have every combination once.
        return (cells == size > TINY and not rows_have_ids) or expected >= COLLISIONS + 3 * (size - different)

    def _long(self, *key: str) -> Structure:
        if len(key) == 3:
            return self._asked(key)
        first, second = key
        sides = {name: self._side(name) for name in key}
        item = self._which_item(first, second, sides)
        if item is None:
            pairs = ((first, second), (second, first))
            readings = [one for a, b in pairs for one in self._long_readings(a, b, None)]
            what = f"'{first}' and '{second}' together tell rows apart, and nothing tells which of them is the rater"
            return self._shape(*readings, doubt=what)
        rater = second if item == first else first
        readings = self._long_readings(item, rater, None)
        if "value" not in readings[0].options["map"] and not readings[0].options.get("columns"):
            return self._shape()
        return self._shape(*readings, doubt=UNSCALED if len(readings) > 1 else "")

    def _asked(self, key: tuple[str, ...]) -> Structure:
        """A key of three columns: one of them is the question or the condition."""
        for role in ("question", "condition"):
            for name in key:
                if self.map.get(role) == name or self.said(role, name):
                    a, b = (other for other in key if other != name)
                    item = self._which_item(a, b, {one: self._side(one) for one in (a, b)})
                    orders = [(a, b), (b, a)] if item is None else [(item, b if item == a else a)]
                    readings = [one for i, r in orders for one in self._long_readings(i, r, name, role=role)]
                    doubt = "" if item else f"nothing tells which of '{a}' and '{b}' is the rater"
                    return self._shape(*readings, doubt=doubt or (UNSCALED if len(readings) > 1 else ""))
        asked = min(key, key=lambda name: self.facts[name].distinct)
        a, b = (other for other in key if other != asked)
        item = self._which_item(a, b, {one: self._side(one) for one in (a, b)})
        orders = [(a, b), (b, a)] if item is None else [(item, b if item == a else a)]
        roles = ("question", "condition")
        readings = [one for role in roles for i, r in orders for one in self._long_readings(i, r, asked, role=role)]
        what = f"'{key[0]}', '{key[1]}' and '{key[2]}' together tell rows apart, and nothing tells which is the "
        if len(self.frame) <= SMALL or len(readings) > 4:
            return self._shape(doubt=f"{what}item, the rater and the question; pass --map")
        return self._shape(*readings, doubt=f"{what}question")

    def _side(self, key: str) -> list[str]:
        """The columns that are constant within a key, and not everywhere."""
        if key not in self._known_sides:
            self._known_sides[key] = self._constant_within(key)
        return self._known_sides[key]

    def _constant_within(self, key: str) -> list[str]:
        others = [n for n in self.free if n != key and self.facts[n].distinct > 1]
        if self.facts[key].unique:
            return [n for n in others if self.said("trait", n)]
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
            scores[name] += 2 * (self.said("item", name) - self.said("rater", name))
            scores[name] += bool(self._all(name, _ITEMS)) - bool(self._all(name, _PEOPLE))
            scores[other] += sum(self.said("trait", column) for column in sides[name]) > 0
        if scores[first] == scores[second]:
            return None
        return max(scores, key=scores.__getitem__)

    def _said_text(self, name: str) -> bool:
        """Whether a column's name says that it holds the text itself and not its id."""
        return self.said("text", name) and self.facts[name].kind == "word" and not re.search(r"(?i)id|nr|no|\d$", name)

    def _all(self, name: str, pattern: re.Pattern[str]) -> bool:
        values = self.frame[name].drop_nulls().unique().head(200).cast(pl.String).to_list()
        return bool(values) and all(pattern.fullmatch(value.strip()) for value in values)

    def _long_readings(
        self, item: str | None, rater: str, asked: str | None, *, role: str = "question"
    ) -> list[TableReading]:
        """The reading of a long table with these ids, or where no answers are on a scale one for each that may be."""
        reading = self._long_options(item, rater, asked, role=role)
        mapping = reading.options["map"]
        held = [mapping["value"]] if "value" in mapping else fitting(self.facts, reading.options.get("values", ()))
        named = "value" in self.map or any(self._said_answer(n) for n in held)
        if not named and any(self._is_scale(n) for n in held):
            used = {*mapping.values(), *held, *reading.options.get("traits", ())}
            sliders = [n for n in self.free if n not in used and self._is_slider(n)]
            more = [self._long_options(item, rater, asked, role=role, answers=[*held, *sliders])] if sliders else []
            sides = [(n, key) for key in (item, rater) if key for n in self._side(key) if n in used]
            if not more and (chance := [n for n, key in sides if self._answers_alike(n, key)]):
                more = [self._long_options(item, rater, asked, role=role, answers=[*held, *chance])]
            return [reading, *more]
        # About few items all may agree, so that their answers seem to describe the items.
        few = item is not None and self.facts[item].distinct <= TINY
        agreed = [n for n in self._side(item or "") if n in mapping.values() and self._is_scale(n)] if few else []
        if named or not held or not (agreed or any(not self._alike(held[0], other) for other in held[1:])):
            return [reading]
        return [self._long_options(item, rater, asked, role=role, answers=[n]) for n in [*agreed, *held][:4]]

    def _long_options(
        self, item: str | None, rater: str, asked: str | None, *, role: str = "question", answers: Sequence[str] = ()
    ) -> TableReading:
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
        taken = {*mapping.values(), *self.traits, *answers}
        taken |= {n for n in self.free if self._said_answer(n) and "value" not in mapping}
        of_rater = [n for n in self._side(rater) if n not in taken]
        about = item or text
        of_item = [n for n in self._side(about) if n not in (*taken, *of_rater)] if about else []
        for name in of_item:
            if self.facts[name].kind == "text" and "text" not in mapping:
                mapping["text"] = name
            elif name not in ROLES and "," not in name and "=" not in name:
                mapping["target" if self.said("target", name) and "target" not in mapping else name] = name
        taken = {*mapping.values(), *self.traits, *of_rater, *of_item}
        block = self._family(self._blocks[0][0])
        block += [n for n in self.free if self._said_answer(n)]
        rest = [n for n in self.free if n not in taken and (self.facts[n].distinct > 1 or n in block)]
        for name in rest:
            for one in ("rationale", "condition"):
                if self.said(one, name) and one not in mapping and self.facts[name].kind in ("text", "word"):
                    mapping[one] = name
        rest = [n for n in rest if n not in mapping.values()]
        options: dict[str, Any] = {"map": mapping}
        answers = answers or self._answers_of_long(rest)
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
        named = [n for n in rest if self._said_answer(n)]
        answers = [n for n in rest if self.facts[n].may_answer and not self.said("remark", n)]
        repeated = [n for n in answers if not self.facts[n].unique]
        answers = repeated or [n for n in answers if self.facts[n].kind == "number"] or answers
        scales = [n for n in answers if self._is_scale(n)]
        scales = [n for n in answers if n in scales or any(self._alike(n, other) for other in scales)]
        return named if len(named) == 1 and len(scales) <= 1 else scales or named or answers

    def _said_answer(self, name: str) -> bool:
        return self.said("value", name) and self.facts[name].kind in ("number", "word")

    def _answers_alike(self, name: str, key: str) -> bool:
        """Whether a column has answers as others have, which may by chance be the same within each item or rater."""
        same = sum(share**2 for share in shares_of(self.frame[name]).values())
        repeats = len(self.frame) - self.facts[key].distinct
        few = repeats <= SMALL or same**repeats > CHANCE
        return name in self._blocks[0][0] and len(self._blocks[0][0]) > 1 and few

    def _is_scale(self, name: str) -> bool:
        """Whether a column has so few different answers as one that chooses from some; durations hardly repeat."""
        fact = self.facts[name]
        return fact.may_answer and 0 < len(fact.codes) <= min(12, max(5, 0.7 * fact.filled))

    def _is_slider(self, name: str) -> bool:
        """Whether a column may hold answers from 0 to 100, and more different ones than a scale of points has."""
        fact = self.facts[name]
        return (
            fact.whole
            and not fact.unique
            and not self._is_scale(name)
            and 0 <= min(fact.codes) <= max(fact.codes) <= 100
        )

    def _kept_scales(self, traits: Sequence[str]) -> Any:
        given = self.given.get("traits")
        return {t: given.get(t) for t in traits} if isinstance(given, Mapping) else list(traits)

    # Wide tables

    def _wide(self, spread: str) -> Structure:
        given = self.given.get("values")
        blocks, doubt = ([fitting(self.facts, given)], "") if given else self._blocks
        block = blocks[0]
        if not given and (what := self._shared_out(block)):
            return self._shape(doubt=what)
        if len(block) < (1 if spread else 2):
            return self._shape()
        if not given and (what := self.unsure or ("" if spread else self._may_be_long())):
            return self._shape(doubt=what)
        key = self._row_key(block)
        spreads = [spread] if spread else self._spreads(block, key)
        every = [name for columns in blocks for name in columns]
        readings = [self._wide_options(columns, key, one, every) for columns in blocks for one in spreads]
        if len(spreads) > 1:
            also = f"; also, {doubt}" if doubt else ""
            doubt = f"nothing tells whether the columns are raters or the rows are{also}"
            codes = {code for name in block for code in self.facts[name].codes}
            whole = all(self.facts[n].kind == "number" and self.facts[n].whole for n in block)
            counted = whole and "id" in key and len(blocks) == 1
            if counted and min(codes) == 0 and max(codes) > 1 and self.agreement(block) <= AGREEMENT:
                counts = {"map": {"item": key["id"]}, "counts": self.patterns(block)}
                readings.append(TableReading(counts, "columns count answers"))
        return self._shape(*readings, doubt=doubt if len(readings) > 1 else "")

    @cached_property
    def _blocks(self) -> tuple[list[list[str]], str]:
        return self.blocks()

    def _may_be_long(self) -> str:
        """What to say of few rows without ids of their own that two columns tell apart, maybe by chance."""
        size = len(self.frame)
        if size > SMALL or any(self._is_surely_id(name) for name in self.free):
            return ""
        repeated = [n for n in self.free if 2 <= self.facts[n].distinct < size == self.facts[n].filled]
        for key in combinations([n for n in repeated if self.facts[n].kind == "word" or self.facts[n].whole], 2):
            if self.frame.select(pl.struct(key).n_unique()).item() == size:
                what = f"so few rows do not tell whether '{key[0]}' and '{key[1]}' are ids or answers"
                return f"{what}; pass --map item=COLUMN,rater=COLUMN,value=COLUMN, or --columns and --values"
        return ""

    def _shared_out(self, block: Sequence[str]) -> str:
        """What to say of columns that count answers or share them out: they are no raters."""
        numbers = [n for n in self.free if self.facts[n].kind == "number" and not self._dense(n)]
        parts = [n for n in numbers if not self.facts[n].whole]
        block = next(
            (b for b in (block, numbers, parts) if len(b) > 1 and shared_out(self.frame, b) is not None), block
        )
        if any(self.facts[n].kind != "number" for n in block) or (total := shared_out(self.frame, block)) is None:
            return ""
        counts = all(self.facts[n].whole for n in block) and total > 1 and total != 100
        if not counts and total not in (1, 100):
            return ""
        named = ", ".join(f"'{n}'" for n in block[:3]) + (" …" if len(block) > 3 else "")
        what, quoted = f"columns {named} add up to {total:g} in every row", shlex.quote(",".join(self.patterns(block)))
        if not counts:
            return f"{what}: they are shares of answers and no raters; pass --shares {quoted}"
        if len(self.frame) <= TINY and not self._family(block):
            return (
                f"{what}, as counts of answers do; pass --counts {quoted}, or --columns and --values if they are none"
            )
        return f"{what}: they count answers and are no raters; pass --counts {quoted}"

    def _is_row_id(self, name: str) -> bool:
        fact = self.facts[name]
        return (
            fact.unique
            and not self.recurs(name)
            and (self._dense(name) or (fact.rows > 3 and fact.whole) or fact.kind not in ("number", "time"))
        )

    def _is_surely_id(self, name: str) -> bool:
        """Whether a column is an id: no number of the row, and no duration, which may differ in all rows by chance."""
        fact = self.facts[name]
        numbers_rows = self.counts_rows(name) and numbers_of(self.frame, [name])[name].is_sorted()
        return self._is_row_id(name) and (fact.kind == "word" or (self._dense(name) and not numbers_rows))

    def _dense(self, name: str) -> bool:
        """Whether numbers without repetitions are about as many as there are between the lowest and the highest."""
        fact = self.facts[name]
        return fact.unique and fact.whole and max(fact.codes) - min(fact.codes) < 3 * fact.rows

    def _crossed(self, header: CrossedHeader, spread: str) -> Structure:
        """A table whose columns have two names: of a rater or an item, and of a question."""
        block = list(header.columns)
        key = self._row_key(block)
        names = [list(dict.fromkeys(both[row] for n in block if (both := two_names(n)))) for row in (0, 1)]

        def named(row: int, role: str, pattern: re.Pattern[str]) -> bool:
            return said(role, header.levels[row]) or all(pattern.fullmatch(name) for name in names[row])

        judges = [row for row in (0, 1) if named(row, "rater", _PEOPLE)]
        texts = [row for row in (0, 1) if named(row, "item", _ITEMS)]
        asked = [row for row in (0, 1) if self._own_scales(block, row)]
        asked = asked or [row for row in (0, 1) if said("question", header.levels[row])]
        respondents, items = self._rows_are(key, [n for n in self.free if n not in block and n not in key.values()])
        respondents, items = respondents or bool(texts), items or bool(judges)
        whose = ["item"] if respondents and not items else ["rater"] if items and not respondents else ["rater", "item"]
        one_row = judges if whose == ["rater"] else texts
        first = asked if len(asked) == 1 else [1 - one_row[0]] if len(one_row) == 1 else [1, 0]
        pairs = [f"{one},question" if row else f"question,{one}" for one in whose for row in first]
        readings = [self._wide_options(block, key, pair) for pair in ([spread] if spread else pairs)]
        doubts = ["whether the rows are items or respondents"] * (len(whose) > 1)
        doubts += ["which of the two header rows names the questions"] * (len(first) > 1)
        return self._shape(*readings, doubt=f"nothing tells {' and '.join(doubts)}" if len(readings) > 1 else "")

    def _own_scales(self, block: Sequence[str], row: int) -> bool:
        """Whether the columns with one name in a header row have answers of their own, as questions may."""
        pooled: dict[str, Counter[Any]] = {}
        for name in block:
            pooled.setdefault((two_names(name) or (name, name))[row], Counter()).update(self.facts[name].codes)
        words = {name: any(isinstance(code, str) for code in codes) for name, codes in pooled.items()}
        return len({*words.values()}) > 1 or bool(unlike(pooled))

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
            named = [n for n in ids if self.said("rater", n) or self.said("item", n)]
            # Names rather than numbers, which may be durations.
            words = [n for n in ids if self.facts[n].kind == "word"]
            key["id"] = (named or words or [n for n in ids if self._dense(n)] or ids)[0]
        return key

    def _spreads(self, block: Sequence[str], key: Mapping[str, str]) -> list[str]:
        """What the columns may be: raters where rows are items, items where rows are respondents."""
        if "rater" in key and ("item" in key or "text" in key):
            return ["question"]
        stems = {stem(n) for n in block}
        lone = next(iter(stems)).rstrip("*") if len(stems) == 1 else ""
        respondent, item = self._rows_are(key, [n for n in self.free if n not in block and n not in key.values()])
        respondents = [
            respondent,
            all(len(self.rows.titles.get(n, "").split()) > 2 for n in block),
            bool(lone) and (bool(_ASKED.fullmatch(lone)) or "[" in lone) and not _JUDGES.fullmatch(lone),
        ]
        items = [
            item,
            (bool(lone) and bool(_JUDGES.fullmatch(lone))) or all(_PEOPLE.fullmatch(n) for n in block),
        ]
        if any(respondents) != any(items):
            if any(respondents):
                return ["item"]
            return ["rater"] if items[-1] or self.agreement(block) > AGREEMENT else ["rater", "question"]
        return ["rater", "item"]

    def _rows_are(self, key: Mapping[str, str], rest: Sequence[str]) -> tuple[bool, bool]:
        """Whether something says that rows are respondents, and whether that they are items."""
        row = key.get("id", "")
        people = bool(row) and (self.said("rater", row) or self._all(row, _PEOPLE))
        respondents = "rater" in key or people or any(self.said("trait", n) for n in rest)
        named = bool(row) and (self.said("item", row) or self._all(row, _ITEMS))
        return respondents, "item" in key or "text" in key or named

    def _wide_options(
        self, block: Sequence[str], key: Mapping[str, str], spread: str, answers: Sequence[str] = ()
    ) -> TableReading:
        """The options for a wide table; of `answers`, columns that are called alike describe nothing."""
        answers = self._family([n for n in answers if n not in block])
        mapping = {k: v for k, v in self.map.items() if k not in (*spread.split(","), "value")}
        row_role = "rater" if "item" in spread else "item"
        if "id" in key and row_role not in mapping:
            mapping = {row_role: key["id"], **mapping}
        if "text" in key and "item" not in spread:
            mapping["text"] = key["text"]
        options: dict[str, Any] = {"map": mapping, "columns": spread}
        totals = self.totals(block)
        rest = [
            n
            for n in self.free
            if n not in (*block, *answers, *totals, *mapping.values()) and self.facts[n].distinct > 1
        ]
        described = [n for n in rest if self._describes(n)]
        if "rater" in spread:
            kept = [n for n in described if n not in ROLES and "," not in n and "=" not in n]
            mapping |= {n: n for n in kept}
        elif "item" in spread:
            described = [n for n in described if self.facts[n].kind != "text" and not self.said("remark", n)]
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
            "question": "one column per question",
        }
        crossed = spread.replace(",", " above ") + " in the header"
        return TableReading(options, what.get(spread, crossed))

    def _describes(self, name: str) -> bool:
        """Whether a column describes rows: words that repeat, a text, or numbers that do not merely count the rows."""
        fact = self.facts[name]
        return (
            fact.kind == "text"
            or (fact.kind == "word" and not fact.unique)
            or (fact.kind == "number" and not self.counts_rows(name))
        )
