"""Whether a table holds comparisons: two columns with the same names, never equal in a row, and which of them won."""

from __future__ import annotations

from collections.abc import Sequence
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
            if made := _compared(table, one, other, won[0], len(held[one] | held[other]), chance=chance):
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
    table: RowIds, one: str, other: str, winner: str, members: int, *, chance: bool
) -> tuple[list[dict[str, Any]], str] | None:
    rest = [n for n in table.free if n not in (one, other, winner) and not table.facts[n].unique]
    rest = [n for n in rest if table.facts[n].distinct > 1 and table.facts[n].kind in ("word", "number", "text")]
    given = table.map.get("rater")
    raters = [given] if given else [n for n in rest if table.said("rater", n)]
    if chance and raters:
        return None
    if chance or (members <= 3 and not raters):
        # Two raters who disagree and one who decides look the same.
        what = f"'{winner}' is always '{one}' or '{other}', which are never the same"
        return [], f"{what}; if it is the winner of a comparison, pass --pairs {one},{other}"
    readings: list[dict[str, Any]] = []
    judges: list[str | None] = [*(raters[:1] or rest[:2])] or [None]
    for rater in judges:
        mapping = {"value": winner, **({"rater": rater} if rater else {})}
        if about := _compared_on(table, [n for n in (one, other, rater) if n], rest):
            mapping["item"] = about
        readings.append({"pairs": [one, other], "map": mapping} | ({} if rater else {"anonymous": True}))
    if len(readings) == 1 and rest and not raters:
        readings.append({**readings[0], "map": {"value": winner, "item": rest[0]}, "anonymous": True})
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
