"""How a table can be read, from what its columns hold: ids, answers, descriptions of items or raters, totals.

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
from typing import Any, Final

import polars as pl

from vantage.corpora.readers.aggregates import names_of_totals, shared_out, total_rows
from vantage.corpora.readers.answer_block import AGREEMENT, CHANCE, SMALL, TINY, unlike
from vantage.corpora.readers.column_facts import ColumnFacts, facts_of, said, sample, shares_of, stem
from vantage.corpora.readers.columns import ROLES, fitting, named_roles, two_names
from vantage.corpora.readers.command import command
from vantage.corpora.readers.comparisons import comparison
from vantage.corpora.readers.row_ids import ITEMS, PEOPLE, RowIds
from vantage.corpora.readers.table_file import ROW, CrossedHeader, FileRows

TOO_FEW: Final = (
    "there are too few rows to tell by their values which columns hold answers, and names do not say it; "
    "pass --map item=COLUMN,rater=COLUMN,value=COLUMN, or --columns and --values"
)
UNSCALED: Final = "several columns may hold the answers"
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

    A table in which nothing can be recognised is left to the reader, which says what is missing. Where columns have the
    names of their roles, these decide, and the data say what else describes items and raters.
    """
    options = {name: value for name, value in given.items() if value}
    if named_roles(rows):
        named = {role: role for role in ("item", "rater", "value", "question") if role in rows.schema}
        readings = () if "traits" in options else structure(rows, {"map": named}).readings
        if len(readings) != 1:
            return options
        others = {role: name for role, name in readings[0].options["map"].items() if name not in named}
        return options | {"map": others | named, "traits": readings[0].options.get("traits")}
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


def _judged_by(options: Mapping[str, Any]) -> str:
    rater = options["map"].get("rater")
    return f"comparisons, judged by '{rater}'" if rater else "comparisons"


class _Table(RowIds):
    """A table whose readings are looked for."""

    def structure(self) -> Structure:
        """The readings that fit."""
        if self.rows.crossed and not self.given.get("values"):
            return self._crossed(self.rows.crossed, str(self.given.get("columns") or ""))
        if spread := self.given.get("columns"):
            return self._wide(str(spread))
        if self.given.get("pairs") or self.given.get("shares") or self.given.get("counts"):
            return self._shape()
        if compared := comparison(self):
            ways, doubt = compared
            return self._shape(*(TableReading(one, _judged_by(one)) for one in ways), doubt=doubt)
        if {"item", "rater", "value"} <= set(self.map) or {"text", "rater", "value"} <= set(self.map):
            return self._shape(self._long_options(self.map.get("item"), self.map["rater"], self.map.get("question")))
        block = self.answers[0][0]
        if len(block) > 1 and len({stem(n) for n in block}) == 1 and _JUDGES.fullmatch(stem(block[0]).rstrip("*")):
            return self._wide("" if "rater" in self.map else "rater") if len(block) > 2 else self._wide("")
        shapes = [self._long(*key) for key in self.keys()]
        shape = shapes[0] if shapes else self._shape()
        if len(shapes) > 1:
            readings = [reading for one in shapes for reading in one.readings]
            one, other = next(both for both in zip(*self.keys(), strict=True) if both[0] != both[1])
            also = f"; also, {shape.doubt}" if shape.doubt else ""
            shape = self._shape(*readings, doubt=f"either '{one}' or '{other}' may be the id{also}")
        return shape if shape.readings or shape.doubt else self._wide("")

    def _shape(self, *readings: TableReading, doubt: str = "") -> Structure:
        return Structure(self.facts, tuple(readings), doubt)

    def _long(self, *key: str) -> Structure:
        """The readings by a key of two ids, or of two ids and the question or condition."""
        roles, asked = ["question"], None
        if len(key) > 2:
            said = [(r, n) for r in ("question", "condition") for n in key if self.map.get(r) == n or self.said(r, n)]
            roles = [said[0][0]] if said else ["question", "condition"]
            asked = said[0][1] if said else min(key, key=lambda name: self.facts[name].distinct)
        ids = [name for name in key if name != asked]
        item = self.which_item(*ids)
        orders = [ids, ids[::-1]] if item is None else [[item, *(name for name in ids if name != item)]]
        readings = [one for role in roles for i, r in orders for one in self._long_readings(i, r, asked, role=role)]
        options = readings[0].options
        if asked is None and item and "value" not in options["map"] and not options.get("columns"):
            return self._shape()
        numbers = [n for n in self.free if n not in key and self.facts[n].kind == "number"]
        block = self._family(numbers) or fitting(self.facts, options.get("values", ()))
        if block and not self.given.get("values"):
            if what := self._shared_out(block, options["map"]["rater"] if item else ""):
                return self._shape(doubt=what)
            for reading in readings:
                group = reading.options["map"]["rater"]
                if asked is None and self._may_count(block, group):
                    mapped = reading.options["map"].items()
                    about = {role: name for role, name in mapped if name not in (*block, group)}
                    counts = {"map": about, "counts": self.patterns(block), "traits": [group]}
                    readings.append(TableReading(counts, f"columns count the answers of each '{group}'"))
                    what = f"'{block[0]}' may be an answer of '{group}' or count the answers of a group"
                    return self._shape(*readings, doubt=what)
        apart = f"{', '.join(map(repr, key[:-1]))} and {key[-1]!r} together identify the rows, and it is unclear which"
        if len(roles) > 1:
            if len(self.frame) <= SMALL or len(readings) > 4:
                return self._shape(doubt=f"{apart} is the item, the rater and the question; pass --map")
            return self._shape(*readings, doubt=f"{apart} is the question")
        if item is None:
            return self._shape(*readings, doubt=f"{apart} of them is the rater")
        return self._shape(*readings, doubt=UNSCALED if len(readings) > 1 else "")

    def _said_text(self, name: str) -> bool:
        """Whether a column's name says that it holds the text itself and not its id."""
        return self.said("text", name) and self.facts[name].kind == "word" and not re.search(r"(?i)id|nr|no|\d$", name)

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
            sides = [(n, key) for key in (item, rater) if key for n in self.side(key) if n in used]
            if not more and (chance := [n for n, key in sides if self._answers_alike(n, key)]):
                more = [self._long_options(item, rater, asked, role=role, answers=[*held, *chance])]
            return [reading, *more]
        # About few items all may agree, so that their answers seem to describe the items.
        few = item is not None and self.facts[item].distinct <= TINY
        agreed = [n for n in self.side(item or "") if n in mapping.values() and self._is_scale(n)] if few else []
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
            words = self._said_text(item) and not any(self.facts[n].kind == "text" for n in self.side(item))
            if "text" not in mapping and (self.facts[item].kind == "text" or words):
                del mapping["item"]
                mapping["text"] = text = item
        mapping["rater"] = rater
        if asked is not None:
            mapping[role] = asked
        taken = {*mapping.values(), *self.traits, *answers}
        taken |= {n for n in self.free if self._said_answer(n) and "value" not in mapping}
        of_rater = [n for n in self.side(rater) if n not in taken]
        about = item or text
        of_item = [n for n in self.side(about) if n not in (*taken, *of_rater)] if about else []
        for name in of_item:
            if self.facts[name].kind == "text" and "text" not in mapping:
                mapping["text"] = name
            elif name not in ROLES and "," not in name and "=" not in name:
                mapping["target" if self.said("target", name) and "target" not in mapping else name] = name
        taken = {*mapping.values(), *self.traits, *of_rater, *of_item}
        block = self._family(self.answers[0][0])
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
        return name in self.answers[0][0] and len(self.answers[0][0]) > 1 and few

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
        blocks, doubt = ([fitting(self.facts, given)], "") if given else self.answers
        block = blocks[0]
        if not given and (what := self._shared_out(block)):
            return self._shape(doubt=what)
        if len(block) < (1 if spread else 2):
            return self._shape()
        if self.unsure and not given:
            return self._shape(doubt=self.unsure)
        key = self.row_key(block)
        named = given or spread or "text" in {*key, *self.facts} or self._family(block) == block
        if len(self.frame) <= SMALL and not named:
            return self._shape(doubt=TOO_FEW)
        spreads = [spread] if spread else self._spreads(block, key)
        every = [name for columns in blocks for name in columns]
        readings = [self._wide_options(columns, key, one, every) for columns in blocks for one in spreads]
        if len(spreads) > 1:
            also = f"; also, {doubt}" if doubt else ""
            doubt = f"it is unclear whether the columns or the rows are raters{also}"
            codes = {code for name in block for code in self.facts[name].codes}
            whole = all(self.facts[n].kind == "number" and self.facts[n].whole for n in block)
            counted = whole and "id" in key and len(blocks) == 1
            if counted and min(codes) == 0 and max(codes) > 1 and self.agreement(block) <= AGREEMENT:
                counts = {"map": {"item": key["id"]}, "counts": self.patterns(block)}
                readings.append(TableReading(counts, "columns count answers"))
        return self._shape(*readings, doubt=doubt if len(readings) > 1 else "")

    def _may_count(self, block: list[str], group: str) -> bool:
        """Whether columns may count the answers of a few groups, rather than being the answers of raters."""
        alike = len(block) > 2 and self._family(block) == block and all(self.facts[n].whole for n in block)
        codes = {code for n in block for code in self.facts[n].codes}
        few = self.facts[group].distinct <= TINY and not self.said("rater", group)
        return alike and few and min(codes) == 0 and max(codes) > 1

    def _shared_out(self, block: Sequence[str], group: str = "") -> str:
        """What to say of columns that count answers, of each group perhaps, or share them out: they are no raters."""
        numbers = [n for n in self.free if self.facts[n].kind == "number" and not self.dense(n)]
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
            by = f" --map rater={shlex.quote(group)}" if group else ""
            return f"{what}: they are shares of answers, not raters; pass --shares {quoted}{by}"
        if len(self.frame) <= TINY and not self._family(block):
            return (
                f"{what}, as counts of answers do; pass --counts {quoted}, or --columns and --values if they are none"
            )
        by = f" --traits {shlex.quote(group)}" if group else ""
        return f"{what}: they count answers and are not raters; pass --counts {quoted}{by}"

    def _crossed(self, header: CrossedHeader, spread: str) -> Structure:
        """A table whose columns have two names: of a rater or an item, and of a question."""
        block = list(header.columns)
        key = self.row_key(block)
        names = [list(dict.fromkeys(both[row] for n in block if (both := two_names(n)))) for row in (0, 1)]

        def named(row: int, role: str, pattern: re.Pattern[str]) -> bool:
            return said(role, header.levels[row]) or all(pattern.fullmatch(name) for name in names[row])

        judges = [row for row in (0, 1) if named(row, "rater", PEOPLE)]
        texts = [row for row in (0, 1) if named(row, "item", ITEMS)]
        asked = [row for row in (0, 1) if self._own_scales(block, row)]
        asked = asked or [row for row in (0, 1) if said("question", header.levels[row])]
        respondents, items = self.rows_are(key, [n for n in self.free if n not in block and n not in key.values()])
        respondents, items = respondents or bool(texts), items or bool(judges)
        whose = ["item"] if respondents and not items else ["rater"] if items and not respondents else ["rater", "item"]
        one_row = judges if whose == ["rater"] else texts
        first = asked if len(asked) == 1 else [1 - one_row[0]] if len(one_row) == 1 else [1, 0]
        pairs = [f"{one},question" if row else f"question,{one}" for one in whose for row in first]
        readings = [self._wide_options(block, key, pair) for pair in ([spread] if spread else pairs)]
        doubts = ["whether the rows are items or respondents"] * (len(whose) > 1)
        doubts += ["which of the two header rows names the questions"] * (len(first) > 1)
        return self._shape(*readings, doubt=f"it is unclear {' and '.join(doubts)}" if len(readings) > 1 else "")

    def _own_scales(self, block: Sequence[str], row: int) -> bool:
        """Whether the columns with one name in a header row have answers of their own, as questions may."""
        pooled: dict[str, Counter[Any]] = {}
        for name in block:
            pooled.setdefault((two_names(name) or (name, name))[row], Counter()).update(self.facts[name].codes)
        words = {name: any(isinstance(code, str) for code in codes) for name, codes in pooled.items()}
        return len({*words.values()}) > 1 or bool(unlike(pooled))

    def _spreads(self, block: Sequence[str], key: Mapping[str, str]) -> list[str]:
        """What the columns may be: raters where rows are items, items where rows are respondents."""
        if "rater" in key and ("item" in key or "text" in key):
            return ["question"]
        stems = {stem(n) for n in block}
        lone = next(iter(stems)).rstrip("*") if len(stems) == 1 else ""
        respondent, item = self.rows_are(key, [n for n in self.free if n not in block and n not in key.values()])
        respondents = [
            respondent,
            all(len(self.rows.titles.get(n, "").split()) > 2 for n in block),
            bool(lone) and (bool(_ASKED.fullmatch(lone)) or "[" in lone) and not _JUDGES.fullmatch(lone),
        ]
        items = [
            item,
            (bool(lone) and bool(_JUDGES.fullmatch(lone))) or all(PEOPLE.fullmatch(n) for n in block),
        ]
        if any(respondents) != any(items):
            if any(respondents):
                return ["item"]
            return ["rater"] if items[-1] or self.agreement(block) > AGREEMENT else ["rater", "question"]
        return ["rater", "item"]

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
