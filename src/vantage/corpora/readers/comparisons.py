"""Whether a table holds comparisons: columns with the same names, never equal in a row, and which of them won.

Of two columns one tells the winner, of more there is the best and the worst.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import polars as pl

from vantage.corpora.readers.answer_block import CHANCE
from vantage.corpora.readers.column_facts import shares_of
from vantage.corpora.readers.columns import PLACES, TIES
from vantage.corpora.readers.row_ids import KEYS, RowIds

MEMBERS: Final = 2000
PAIRS: Final = 6
"""A table of comparisons has at most so many members in the rows looked at, and at least so many rows."""


def comparison(table: RowIds) -> tuple[list[dict[str, Any]], str] | None:
    """The options of each way to read a table as comparisons, and what is in doubt; null where it holds none."""
    free = [n for n in table.free if table.facts[n].kind in ("word", "number") and table.facts[n].distinct > 1]
    if len(free) > KEYS or len(table.frame) < PAIRS:
        return None
    cells = {n: table.frame[n].cast(pl.String) for n in free if table.facts[n].distinct <= MEMBERS}
    held = {n: {*column.drop_nulls()} for n, column in cells.items()}
    for one, other in combinations(held, 2):
        first, second = cells[one], cells[other]
        if 2 * len(held[one] & held[other]) < min(len(held[one]), len(held[other])):
            continue
        if first.null_count() or second.null_count() or (first == second).any():
            continue
        won = [n for n in held if n not in (one, other) and _wins(cells[n], first, second)]
        if len(won) == 1:
            chance = _by_chance(cells[won[0]], first, second)
            members, winner = len(held[one] | held[other]), {"value": won[0]}
            if made := _compared(table, [one, other], winner, members, chance=chance):
                return made
    return _tuples(table, cells, held)


def _tuples(
    table: RowIds, cells: dict[str, pl.Series], held: dict[str, set[str]]
) -> tuple[list[dict[str, Any]], str] | None:
    """The same of three or more members, of whom two other columns name the best and the worst."""
    for chosen in combinations(held, 2):
        named = held[chosen[0]] | held[chosen[1]]
        members = [n for n in held if n not in chosen and 2 * len(held[n] & named) >= len(named)]
        pooled = set[str]().union(*(held[n] for n in members))
        if len(members) < 3 or not named <= pooled:
            continue
        rows = list(zip(*(cells[n] for n in members), strict=True))
        one, other = (cells[c].to_list() for c in chosen)
        if not all(
            a != b and {a, b} <= {*row} and len({*row}) == len(row) for row, a, b in zip(rows, one, other, strict=True)
        ):
            continue
        same = sum((share / len(rows)) ** 2 for share in Counter(row[0] for row in rows).values())
        if (1 - same) ** (len(rows) * len(members)) > CHANCE:
            continue
        best, worst = chosen[::-1] if table.said("best", chosen[1]) or table.said("worst", chosen[0]) else chosen
        made = _compared(table, members, {"best": best, "worst": worst}, len(pooled), chance=False)
        if made and not (table.said("best", best) or table.said("worst", worst)):
            turned = [{**way, "map": {**way["map"], "best": worst, "worst": best}} for way in made[0]]
            doubt = f"either '{best}' or '{worst}' may be the best"
            return [*made[0], *turned], f"{doubt}; also, {made[1]}" if made[1] else doubt
        return made
    return None


def _wins(cells: pl.Series, first: pl.Series, second: pl.Series) -> bool:
    """Whether a column says which of two won, by its name or, where it has no other words, by its place."""
    ties = cells.str.contains(f"^(?i:{TIES.pattern})$")
    named = (cells == first) | (cells == second)
    if (named | ties).fill_null(value=False).all():
        return bool(named.any())
    places = {*PLACES, first.name.casefold(), second.name.casefold()}
    words = {*cells.filter(~ties).drop_nulls().str.to_lowercase()}
    return bool(words) and words <= places and not words <= {"1", "2"} and not cells.null_count()


def _by_chance(won: pl.Series, first: pl.Series, second: pl.Series) -> bool:
    """Whether as few rows as these might name one of two everywhere although nothing was compared."""
    seen = [shares_of(cells) for cells in (won, first, second)]
    likely = sum(share * (seen[1].get(name, 0.0) + seen[2].get(name, 0.0)) for name, share in seen[0].items())
    names = any(isinstance(name, str) and not name.isdecimal() for name in seen[0])
    return len({*seen[1], *seen[2]}) > 2 and float(min(likely, 1.0) ** len(won)) > (50 if names else 1) * CHANCE


def _compared(
    table: RowIds, columns: Sequence[str], won: Mapping[str, str], members: int, *, chance: bool
) -> tuple[list[dict[str, Any]], str] | None:
    rest = [n for n in table.free if n not in (*columns, *won.values()) and not table.facts[n].unique]
    rest = [n for n in rest if table.facts[n].distinct > 1 and table.facts[n].kind in ("word", "number", "text")]
    given = table.map.get("rater")
    raters = [given] if given else [n for n in rest if table.said("rater", n)]
    if chance and raters:
        return None
    if chance or (members <= 3 and not raters):
        # Two raters who disagree and one who decides look the same.
        what = f"'{next(iter(won.values()))}' is always '{columns[0]}' or '{columns[1]}', which are never the same"
        return [], f"{what}; if it is the winner of a comparison, pass --pairs {','.join(columns)}"
    readings: list[dict[str, Any]] = []
    judges: list[str | None] = [*(raters[:1] or rest[:2])] or [None]
    for rater in judges:
        mapping = {**won, **({"rater": rater} if rater else {})}
        if len(columns) == 2 and (about := _compared_on(table, [n for n in (*columns, rater) if n], rest)):
            mapping["item"] = about
        readings.append({"pairs": [*columns], "map": mapping} | ({} if rater else {"anonymous": True}))
    if len(readings) == 1 and rest and not raters:
        readings.append({**readings[0], "map": {**won, "item": rest[0]}, "anonymous": True})
    return readings, "it is unclear which column is the rater" if len(readings) > 1 else ""


def _compared_on(table: RowIds, key: Sequence[str], rest: Sequence[str]) -> str | None:
    """The column that says on what members were compared: it tells rows apart that pair and rater do not."""
    if about := table.map.get("item"):
        return about
    free = [n for n in rest if n not in key]
    if said := [n for n in free if table.said("item", n) or table.said("question", n) or table.facts[n].kind == "text"]:
        return said[0]
    now = table.together(*key)
    return next((n for n in free if table.together(*key, n) == len(table.frame) > now), None)
