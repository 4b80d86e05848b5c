"""Which columns of a wide table hold answers: those whose answers are the same; names only break ties."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl
import polars.selectors as cs

from vantage.corpora.readers.aggregates import numbers_of, sums_and_means
from vantage.corpora.readers.cleaning import CLEAN, RAW
from vantage.corpora.readers.column_facts import (
    FEW,
    ColumnFacts,
    facts_of,
    said,
    sample,
    shares_of,
    stem,
    without_sentinels,
)
from vantage.corpora.readers.columns import fitting
from vantage.corpora.readers.table_file import Doubt, FileRows

CHANCE: Final = 1e-3
"""A column that lacks answers of the others is unlike them where that is less likely than this."""
AGREEMENT: Final = 0.05
"""Columns that agree less than this beyond chance (kappa) may be questions."""
TINY: Final = 6
"""Answers of so few rows tell little about a column."""
SMALL: Final = 15
"""So few rows of a table whose names say nothing leave several readings open."""
STEP: Final = 5
"""Sliders from 0 to 100 are often answered, or made, in steps of five."""
TOGETHER: Final = 0.2
"""Columns that agree more than this belong together, and one that agrees half as much may not."""


@dataclass
class Columns:
    """The columns of a table, in the rows that are looked at."""

    rows: FileRows
    frame: pl.DataFrame
    facts: Mapping[str, ColumnFacts]
    free: list[str]
    """Those of which the user has said nothing."""
    unsure: str = ""
    """Why nothing tells which columns hold answers."""

    def said(self, role: str, name: str) -> bool:
        """Whether a column's name, or its wording where that is short, says that it has a role."""
        title = self.rows.titles.get(name, "")
        return said(role, name) or (len(title.split()) <= 3 and said(role, title))

    def totals(self, block: Iterable[str]) -> set[str]:
        """Columns that are the sum or the mean of the answers beside them, or of some of these."""
        varied = [n for n in self.free if self.facts[n].kind in ("number", "word") and self.facts[n].distinct > 1]
        table = numbers_of(self.frame, varied)
        table = table.select(column for column in table if column.null_count() < len(column))
        held = {*block}
        inside = [place for place, name in enumerate(table.columns) if name in held]
        return {table.columns[place] for place in sums_and_means(table.to_numpy(), inside)}

    def is_apart(self, name: str) -> bool:
        """Whether a column is an id, a text or a time, which nobody takes for an answer."""
        fact = self.facts[name]
        return fact.unique or fact.kind in ("text", "time") or fact.distinct <= 1

    def counts_rows(self, name: str) -> bool:
        """Whether a column numbers the rows."""
        fact = self.facts[name]
        return fact.unique and fact.whole and bool(fact.codes) and max(fact.codes) - min(fact.codes) == fact.rows - 1

    def may_answer(self, name: str) -> bool:
        """Whether a column may hold answers, and does not number the rows in their order."""
        fact = self.facts[name]
        numbered = self.counts_rows(name) and (fact.rows > TINY or name == next(iter(self.facts)))
        answers = fact.may_answer or self.recurs(name)
        return answers and not (numbered and numbers_of(self.frame, [name])[name].is_sorted())

    @cached_property
    def _columns_with(self) -> Counter[Any]:
        return Counter(code for n in self.free if self.facts[n].kind == "word" for code in self.facts[n].codes)

    def recurs(self, name: str) -> bool:
        """Whether half of a column's words occur in others too, as answers on one scale do and ids do not."""
        codes = self.facts[name].codes if self.facts[name].kind == "word" else ()
        return bool(codes) and 2 * sum(self._columns_with[code] > 1 for code in codes) >= len(codes)

    @cached_property
    def answers(self) -> tuple[list[list[str]], str]:
        """The columns that hold answers on one scale; where some may not belong, those without them too, and why."""
        groups = self._groups([n for n in self.facts if n in self.free and self.may_answer(n)])
        groups.sort(key=lambda group: len(group) + 2 * len(self._family(group)), reverse=True)
        if not groups or len(groups[0]) < 2:
            return [groups[0] if groups else []], ""
        block = groups[0]
        pooled = {code for one in block for code in self.facts[one].codes}
        block = [n for n in self.free if n in block or self._within(n, block[0], pooled)]
        totals, family = self.totals(block), self._family(block)
        described = [n for n in block if n not in family and (self.said("trait", n) or self.said("remark", n))]
        block = [n for n in self.facts if n in block and n not in totals and n not in described]
        family = [n for n in family if n not in totals]
        if turned := self._turned_round(block):
            what = f"'{turned[1]}' is '{turned[0]}' reversed, and only one of them can be an answer"
            self.unsure = f"{what}; pass --columns, and --values with the columns that hold answers"
        if rivals := self._rivals(groups[1:], block, totals):
            ways = self._named(block, family, totals)[0] if len(family) >= 2 else [block]
            return [*ways, rivals], f"both '{block[0]}' and '{rivals[0]}' may be answers"
        if len(family) >= 2 and len(block) <= 3 * len(family):
            return self._named(block, family, totals)
        return self._unnamed(block, totals)

    def _turned_round(self, block: Sequence[str]) -> tuple[str, str] | None:
        """Two columns that always add up to the same, as an answer and its reversed copy do."""
        scaled = [n for n in block if len(self.facts[n].codes) > 2 and self.facts[n].kind == "number"]
        if len(self.frame) <= TINY or len(scaled) > FEW:
            return None
        table = numbers_of(self.frame, scaled).to_numpy()
        for place, one in enumerate(scaled, 1):
            sums = table[:, place - 1, None] + table[:, place:]
            known = ~np.isnan(sums)
            lowest, highest = (np.where(known, sums, end * np.inf) for end in (1, -1))
            same = (known.sum(axis=0) > TINY) & (lowest.min(axis=0) == highest.max(axis=0))
            if same.any():
                return one, scaled[place + int(same.argmax())]
        return None

    def _rivals(self, groups: Iterable[Sequence[str]], block: Sequence[str], totals: Iterable[str]) -> list[str]:
        """Other columns with the same answers among each other, called alike or nearly as many as those of a block.

        The answers of few rows need not be the same.
        """
        called = {stem(n) for n in block}
        others = [[n for n in g if not self.said("trait", n) and n not in (*block, *totals)] for g in groups]
        for rivals in others:
            own = {stem(n) for n in self._family(rivals)} - called
            if len(rivals) > 1 and (own or 2 * len(rivals) > len(block)):
                return rivals
        if len(self.frame) > SMALL:
            return []
        return self._family([n for n in self.free if self.facts[n].codes and stem(n) not in called and n not in totals])

    @cached_property
    def _telling(self) -> set[str]:
        """What columns are called that go together: q_*, but not c* where c1 holds ids, c2 words and c3 numbers."""
        called: dict[str, list[ColumnFacts]] = {}
        for name, fact in self.facts.items():
            called.setdefault(stem(name), []).append(fact)

        def tells(facts: list[ColumnFacts]) -> bool:
            ids = any(fact.kind == "word" and fact.unique and not self.recurs(fact.name) for fact in facts)
            every = len(facts) >= len(self.facts) - ids
            return not every and len({fact.kind for fact in facts} - {"empty"}) == 1

        return {one for one, facts in called.items() if "*" in one and tells(facts)}

    def _family(self, names: Sequence[str]) -> list[str]:
        """Those of some columns that are called alike, such as q_1 … q_9."""
        stems = Counter(stem(n) for n in names if stem(n) in self._telling)
        if not stems:
            return []
        main, size = stems.most_common(1)[0]
        return [n for n in names if stem(n) == main] if size > 1 else []

    def _named(self, block: list[str], family: list[str], totals: Iterable[str]) -> tuple[list[list[str]], str]:
        """Columns with the same answers, most of them called alike: others may not belong, and others called so may."""
        pattern = stem(family[0])
        narrow = self._narrow(block)
        if own := [n for n in self._family(narrow) if stem(n) != pattern]:
            return [[n for n in block if n not in narrow], own], f"both '{block[0]}' and '{own[0]}' may be answers"
        odd = [n for n in block if n not in (*family, *narrow) and self.facts[n].distinct > 1]
        # A sex that is coded 1 and 2 may be called q1 too; other columns with few answers are easy or hard items.
        ends = [n for n in (family[0], family[-1]) if n in narrow and len(self.facts[n].codes) == 2]
        ends = [n for n in ends if max(self.facts[n].codes) in (1, 2)]
        block = [n for n in block if n in family or n in odd]
        codes = {n: self.facts[n].codes for n in block}
        missing = [
            n
            for n in self.free
            if n not in (*block, *narrow, *totals) and stem(n) == pattern and self.facts[n].codes
            if self._same_kind(n, block[0])
            if len(self.frame) <= SMALL or n not in unlike({**codes, n: self.facts[n].codes})
        ]
        apart = [*odd, *ends, *missing]
        if not apart:
            return [block], ""
        what = f"'{apart[0]}' may hold answers too, like {pattern}"
        if apart[0] in family:
            what = f"'{apart[0]}' is named like {pattern} but has fewer different answers"
        elif missing and not odd:
            what = f"'{apart[0]}' is named like {pattern} but holds other answers"
        elif len(self._family(odd)) > 1:
            what = f"both {pattern} and {stem(odd[0])} may be the answers"
        whole = [n for n in self.facts if n in (*block, *missing)]
        ways = [whole, [n for n in whole if n not in apart]]
        return [*ways, odd] if len(odd) > 1 and odd == self._family(odd) else ways, what

    def _unnamed(self, block: list[str], totals: Iterable[str]) -> tuple[list[list[str]], str]:
        """Columns with the same answers whose names do not group them."""
        narrow = self._narrow(block)
        block = [n for n in block if n not in narrow]
        pooled = {code for n in block for code in self.facts[n].codes}
        few = [n for n in block if len(self.facts[n].codes) <= 2 and len(pooled) >= 4 and self.facts[n].filled > 3]
        between = self._between_steps(block)
        if few and 2 < len(block) > len(few):
            what = f"'{few[0]}' has fewer different answers than the other columns"
            return [block, [n for n in block if n not in few]], what
        if len(block) < 3 or all(self.rows.labels.get(n) for n in block):
            return [block], ""
        order, apart = list(self.facts), between
        texts = any(self.facts[n].kind == "text" for n in self.free) or "text" in self.facts
        for edge, step in () if between else ((block[0], -1), (block[-1], 1)):
            place = order.index(edge) + step
            beside = order[place] if 0 <= place < len(order) else ""
            usual = self.agreement([n for n in block if n != edge])
            # Descriptions of rows stand together, and may end with one that looks like an answer.
            described = beside in self.free and beside not in totals and not self.is_apart(beside)
            unsaid = described and not self.said("trait", beside) and not texts
            if self.agreement(block, edge) < usual / 2 if usual > TOGETHER else unsaid:
                apart.append(edge)
        if not apart or len(block) - len(apart) < 2:
            return [block], ""
        return [block, [n for n in block if n not in apart]], f"'{apart[0]}' may be an answer or describe its row"

    def _between_steps(self, block: Sequence[str]) -> list[str]:
        """Columns with answers such as 37 where most have only those such as 30 and 35: ages beside sliders."""
        answers = {n: self.facts[n].codes for n in block if self.facts[n].whole and len(self.facts[n].codes) > 2}
        parts = {n: sum(c for code, c in own.items() if code % STEP) / sum(own.values()) for n, own in answers.items()}
        between = [n for n, part in parts.items() if part > 0.2]
        return between if 2 * list(parts.values()).count(0) >= len(block) else []

    def _groups(self, candidates: Sequence[str]) -> list[list[str]]:
        """Sets of columns with comparable answers: the same labels, common words, numbers of one range."""
        groups: list[list[str]] = []
        for name in candidates:
            homes = [group for group in groups if any(self._alike(name, other) for other in group[:8])]
            called = (group for group in homes if stem(name) in map(stem, group))
            if homes:
                next(called, homes[0]).append(name)
            else:
                groups.append([name])
        return groups

    def _same_kind(self, name: str, other: str) -> bool:
        """Whether two columns have the same value labels, or none, and both numbers or both words."""
        labels = self.rows.labels
        return labels.get(name) == labels.get(other) and self.facts[name].kind == self.facts[other].kind

    def _alike(self, name: str, other: str) -> bool:
        one, two = self.facts[name], self.facts[other]
        if not self._same_kind(name, other) or one.whole != two.whole:
            return False
        codes, others = set(one.codes), set(two.codes)
        if self.rows.labels.get(name):
            return True
        # A few rows tell little, so that names count.
        called = stem(name) == stem(other) and stem(name) in self._telling
        if one.kind == "word":
            shared = 2 * len(codes & others) >= max(1, min(len(codes), len(others)))
            return shared or (called and one.filled <= SMALL)
        low, high, least, most = min(codes), max(codes), min(others), max(others)
        alike = codes <= others or others <= codes or called
        if (low, high) == (least, most) or (one.filled <= TINY and alike):
            return True
        # Of many different numbers the ranges must nearly be the same, as those of sliders are.
        share = 0.5 if max(len(codes), len(others)) <= FEW else 0.9
        overlap, whole = min(high, most) - max(low, least), max(high, most) - min(low, least)
        return min(len(codes), len(others)) > 2 and overlap >= share * whole

    def _within(self, name: str, other: str, pooled: set[Any]) -> bool:
        """Whether the answers of a column are among those of a set of columns that have more of them."""
        fact = self.facts[name]
        return (
            self.may_answer(name) and self._same_kind(name, other) and len(pooled) <= FEW and set(fact.codes) <= pooled
        )

    def _narrow(self, block: Sequence[str]) -> list[str]:
        """Columns with two answers that lack those of the others, as they hardly would by chance."""
        everything = Counter[Any]()
        for name in block:
            everything.update(self.facts[name].codes)
        narrow = []
        for name in block:
            own = self.facts[name].codes
            pooled = +(everything - Counter(own))
            if len(own) != 2 or len(pooled) < 4 or len(block) < 3 or self.rows.labels.get(name):
                continue
            share = sum(count for code, count in pooled.items() if code in own) / sum(pooled.values())
            if share ** sum(own.values()) < CHANCE:
                narrow.append(name)
        return narrow if len(narrow) < len(block) / 2 else []

    def agreement(self, block: Sequence[str], about: str | None = None) -> float:
        """How far columns (or one, with the others) agree about rows beyond chance, as raters do: the mean kappa."""
        columns = list(dict.fromkeys([*([about] if about else ()), *block[:12]]))
        frame = self.frame.select(pl.col(columns).cast(pl.String).str.strip_chars().str.to_lowercase())
        beyond = []
        for one, other in combinations(columns, 2):
            pair = frame.select(one, other).drop_nulls()
            if len(pair) < 2 or (about and one != about):
                continue
            shares = [shares_of(pair[n]) for n in (one, other)]
            chance = sum(share * shares[1].get(value, 0.0) for value, share in shares[0].items())
            same = float((pair[one] == pair[other]).mean() or 0.0)
            beyond.append((same - chance) / (1 - chance) if chance < 1 else 0.0)
        return sum(beyond) / len(beyond) if beyond else 1.0

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
    strange = unlike({column: without_sentinels(codes) for column, codes in held.items()})
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
        otherwise={"unlike": "keep"} if max(sum(codes.values()) for codes in held.values()) <= SMALL else None,
    )


def answering(rows: FileRows, taken: Iterable[str]) -> list[str]:
    """The columns of a wide table, apart from those taken, that can hold answers: no times, no ids, nothing beside."""
    if rows.crossed:
        return list(rows.crossed.columns)
    used = {*taken, *rows.beside}
    frame = sample(rows).select(name for name in rows.schema if name not in used)
    words = frame.select(cs.string(), cs.temporal())
    read = words.select(cs.string().cast(pl.Float64, strict=False).null_count() == cs.string().null_count())
    numbers = {name for name in read.columns if read[name][0]}
    facts = [facts_of(words[name], None) for name in words.columns if name not in numbers]
    apart = {fact.name for fact in facts if fact.kind == "time" or (fact.unique and _names_rows(fact))}
    return [name for name in frame.columns if name not in apart] if len(apart) < len(frame.columns) else []


def _names_rows(fact: ColumnFacts) -> bool:
    """Whether words that occur once each are ids or texts: too many to be answers, addresses or sentences."""
    many = fact.kind == "word" and fact.rows > FEW
    return many or fact.kind == "text" or all("@" in word for word in fact.examples)
