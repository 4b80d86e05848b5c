"""Answers that nobody gave: sums, means, medians and commonest answers of others, found by arithmetic.

A column, a row or a rater is made of others if one rule gives it everywhere. Sums and means never come about by chance;
the others may, so they count only where chance is ruled out.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.corpora.readers.table_file import ROW, Doubt, FileRows

Numbers = NDArray[np.float64]
SUMMED: Final = "summed"
TAIL: Final = 3
"""So many rows or columns at an end are looked at together, such as a sum, a mean and a number."""
ENOUGH: Final = 3
"""Rows from which a rule says something."""
MOST_PARTS: Final = 200
"""Sums of some of more columns than this are not looked for."""
MOST_FITTED: Final = 2000
"""Rows by which a rule is found; it must hold in all."""
LEAST_MADE: Final = 4
"""Items and raters from which a rater who is made of the others is looked for."""
FEW_ITEMS: Final = 10
"""So few items do not tell what is made of the others from a person who agrees with them."""
MOST_LOOKED_AT, MOST_ITEMS, MOST_ANSWERS = 50, 200, 200_000
"""Raters that are compared with the others, items that are looked at, and the most answers to them."""
CHANCE: Final = 0.01
"""A rule that so few raters would follow by chance is not followed by chance."""


def numbers_of(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Columns as numbers, with decimal commas and percentages understood; null where there is none."""
    cells = pl.col(columns).cast(pl.String).str.replace(",", ".").str.strip_chars_end(" %")
    # Ids such as 5e999 are no numbers.
    return frame.select(cells.cast(pl.Float64, strict=False)).with_columns(pl.when(pl.all().is_finite()).then(pl.all()))


def _near(column: Numbers, made: Numbers) -> NDArray[np.bool_]:
    """Whether numbers are others, rounded to as many decimals as they are written with."""
    known = column[~np.isnan(column)]
    digits = next((d for d in range(4) if (np.abs(known * 10**d - np.round(known * 10**d)) < 1e-6).all()), 4)
    return np.abs(column - made) <= max(0.51 * 10.0**-digits if digits else 0.0, 1e-4)


def sums_and_means(table: Numbers, inside: Collection[int]) -> set[int]:
    """The columns of a table that are the sum or the mean of those inside (without themselves), or of some of them.

    >>> sums_and_means(np.array([[1, 2, 3, 2.0], [2, 2, 4, 2.67], [5, 1, 6, 4], [3, 3, 6, 4]]), [0, 1, 2])
    {2, 3}
    """
    inner = sorted(inside)
    within = np.isin(np.arange(table.shape[1]), inner)
    if len(inner) < 2 or len(table) < ENOUGH:
        return set()
    known = ~np.isnan(table)
    filled = np.where(known, table, 0.0)
    sums = filled[:, within].sum(axis=1)[:, None] - filled * within
    counts = known[:, within].sum(axis=1)[:, None] - known * within
    totals = set()
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums / counts
    for column in range(table.shape[1]):
        for made in (sums[:, column], means[:, column]):
            rows = known[:, column] & (counts[:, column] > 1)
            near = _near(table[:, column], made)[rows]
            own, others = table[:, column], table[:, [one for one in inner if one != column]]
            # In few rows anybody may have answered the sum or the mean of what the others did.
            beyond = len(near) > 2 * ENOUGH or np.nanmax(own) > np.nanmax(others) or (own[rows] % 1).any()
            if len(near) >= ENOUGH and beyond and near.sum() >= 0.99 * len(near) and np.ptp(made[rows]) > 0:
                totals.add(column)
    rest = [column for column in range(table.shape[1]) if column not in totals and known[:, column].all()]
    inner = [column for column in inner if column not in totals]
    return totals | {column for column in rest if _of_some(table, column, [one for one in inner if one != column])}


def _of_some(table: Numbers, column: int, others: Sequence[int]) -> bool:
    """Whether a column is the sum or the mean of some of the others, perhaps of some of them turned round."""
    complete = ~np.isnan(table[:, others]).any(axis=1)
    if len(others) > MOST_PARTS or complete.sum() < 2 * len(others) + 2 or len(others) < 2:
        return False
    parts, whole = table[complete][:, others], table[complete, column]
    weights = np.linalg.lstsq(
        (parts - parts.mean(axis=0))[:MOST_FITTED], (whole - whole.mean())[:MOST_FITTED], rcond=None
    )[0]
    used = np.abs(weights) > 0.5 * np.abs(weights).max()
    if used.sum() < 2 or not (weights[used] > 0).any() or np.ptp(whole) == 0:
        return False
    total = parts[:, used] @ np.sign(weights[used])
    for made in (total, total / used.sum()):
        if _near(whole, made + np.round(np.median(whole - made), 4)).all():
            # What sums to the same in every row makes each part the rest of the others.
            return bool((weights[used] > 0).sum() > 1)
    return False


def total_rows(frame: pl.DataFrame, least: int = 2) -> list[int]:
    """The places of the first or last rows that are sums, means or numbers of the others, a sum or mean among them.

    A rule must hold in at least so many columns.
    """
    size = len(frame)
    if size < 4:
        return []
    columns = [name for name, dtype in frame.schema.items() if dtype.is_numeric() or dtype == pl.String]
    every = numbers_of(frame, columns).to_numpy() if columns else np.empty((size, 0))
    for count in range(min(TAIL, size - ENOUGH), 0, -1):
        for ends in (range(size - count, size), range(count)):
            filled = ~np.isnan(every[list(ends)]).all(axis=0)
            if filled.sum() < 2:
                continue
            table = every[:, filled]
            made = _are_totals(table[list(ends)], np.delete(table, list(ends), axis=0), least)
            if all(made) and SUMMED in made:
                return list(ends)
    return []


def _are_totals(rows: Numbers, rest: Numbers, least: int) -> list[str]:
    """Whether rows have the sum or the mean of the others in every column, their number, median …, or nothing such."""
    known = (~np.isnan(rest)).sum(axis=0)
    low, high = np.nan_to_num(rest, nan=np.inf).min(axis=0), np.nan_to_num(rest, nan=-np.inf).max(axis=0)
    # Columns that always hold the same number follow every rule.
    enough = (known > 1) & (low < high)
    if enough.sum() < least:
        return [""] * len(rows)
    rows, rest, known, low, high = rows[:, enough], rest[:, enough], known[enough], low[enough], high[enough]
    sums = np.nansum(rest, axis=0)
    made = [sums, sums / known]
    filled = (~np.isnan(rows)).sum(axis=1)
    wanted = np.maximum(least, 0.8 * filled)
    holds = np.array([[_near(row, one).sum() for one in made] for row in rows]) >= wanted[:, None]
    # Whole means, and sums that are no larger than what they sum, may be anybody's answers.
    beyond = ((rows > high) | (rows < low)).any(axis=1)
    summed = (holds[:, 0] & beyond) | (holds[:, 1] & (rows % 1 > 0).any(axis=1))
    if not summed.any():
        return [""] * len(rows)
    further = [
        known, np.nanmedian(rest, axis=0), low, high, np.nanstd(rest, axis=0, ddof=1), np.nanstd(rest, axis=0)
    ]  # fmt: skip
    other = [any(_near(row, one).sum() >= n for one in (*made, *further)) for row, n in zip(rows, wanted, strict=True)]
    return [SUMMED if one else "other" if two else "" for one, two in zip(summed, other, strict=True)]


def names_of_totals(frame: pl.DataFrame) -> list[str]:
    """The ids of rows that are made of the others: the first word in each, which no other row has."""
    words = frame.select(name for name, dtype in frame.schema.items() if dtype == pl.String)
    places = total_rows(frame)
    names = []
    for row in words[places].rows():
        named = (c for c, column in zip(row, words, strict=True) if c is not None and not _is_number(c)
                 and (column == c).sum() == 1)  # fmt: skip
        names.append(next(named, None))
    return [name.strip() for name in names if name is not None] if None not in names else []


def _is_number(cell: str) -> bool:
    return pl.Series([cell]).str.replace(",", ".").cast(pl.Float64, strict=False).null_count() == 0


def check_totals(rows: FileRows, frame: pl.DataFrame) -> None:
    """Doubts rows of a wide table that are the sum or the mean of the others."""
    if names := names_of_totals(frame):
        raise _total(rows, "row", names)


def _total(rows: FileRows, what: str, names: list[str]) -> Doubt:
    shown = f"{what} '{names[0]}' is" if len(names) == 1 else f"{what}s {', '.join(names)} are"
    remedy = f"pass --without {shlex.quote(','.join(names))}, or rename it if it is not a total"
    problem = f"the {shown} the sum or the mean of the others"
    return Doubt(problem, file=rows.path, remedy=remedy, settle={"without": names})


def shared_out(frame: pl.DataFrame, block: Sequence[str]) -> float | None:
    """What columns add up to in every row, where that is the same everywhere: they count or share out answers."""
    if len(block) < 2 or len(frame) < ENOUGH:
        return None
    table = numbers_of(frame, block)
    if table.null_count().sum_horizontal()[0]:
        return None
    cells = table.to_numpy()
    if (np.sort(cells, axis=1) == np.arange(1, len(block) + 1)).all():
        return None  # every row puts the columns in an order
    sums, whole = table.sum_horizontal().round(3), not (cells % 1).any()
    if whole and len(block) > 2 and (sums - 100).abs().max() <= 0.5 * len(block):  # type: ignore[operator]
        return 100.0  # rounded percentages
    total = float(sums[0])
    if sums.n_unique() != 1 or total <= 0:
        return None
    return None if len(block) == 2 and whole and total <= 2 else total


MADE: Final = ("sum", "mean", "rounded mean", "median", "commonest answer")
"""How the answers of a rater can follow from those of the others."""


def check_made(
    rows: FileRows, judged: pl.LazyFrame, items: pl.Series, raters: pl.Series, known: Collection[str], *, in_rows: bool
) -> None:
    """Doubts people whose answers are made of those of all others, on every item, and items that are sums or means.

    `known` are raters whose kind was given.
    """
    if min(len(raters), len(items)) < LEAST_MADE:
        return
    some = pl.concat([items.head(MOST_ITEMS), items.tail(TAIL)]).unique(maintain_order=True)
    shown = judged.filter(pl.col("item").is_in(some.implode())).drop_nulls("value")
    (size,) = rows.collect(shown.select(pl.len()))
    if size.item() > MOST_ANSWERS:
        return
    key = ["item", "question", "rater"]
    (cells,) = rows.collect(shown.select(ROW, *key, "value").sort(ROW).unique(key, keep="first", maintain_order=True))
    table = cells.pivot("rater", index=key[:2], values="value", maintain_order=True)
    judging = {*table.columns}
    values = table.select(name for name in raters.unique(maintain_order=True) if name in judging)
    for part in table.with_row_index("__at").partition_by("question"):
        if places := total_rows(values[part["__at"]], LEAST_MADE):
            raise _total(rows, "item", part["item"][places].to_list())
    rater, word = _made_rater(values, known)
    if rater is None:
        return
    # Values between the answers would make another scale of theirs.
    between = in_rows and word in ("sum", "mean")
    way = f"--without {shlex.quote(rater)}" if between else f"--kinds {shlex.quote(rater)}=aggregate"
    raise Doubt(
        f"the answers of rater '{rater}' are the {word} of the others' on every item, so this is hardly a person",
        file=rows.path,
        remedy=f"pass {way}, or --kinds {shlex.quote(rater)}=person if it is one",
        settle={"without": [rater]} if between else {"kinds": {rater: "aggregate"}},
        # About so few items anybody may agree with the others throughout.
        otherwise=None if between or len(table) > FEW_ITEMS else {"kinds": {rater: "person"}},
    )


def check_level(rows: FileRows, judged: pl.LazyFrame, raters: pl.DataFrame, *, in_rows: bool) -> None:
    """Doubts an aggregate with answers between whole numbers where people have none: it would change their scale."""
    if "kind" not in raters.columns:
        return
    between = (pl.col("value") % 1 != 0).any().alias("between")
    (seen,) = rows.collect(judged.drop_nulls("value").group_by("question", "rater").agg(between))
    seen = seen.join(raters.select("rater", made=pl.col("kind") == "aggregate"), on="rater").sort("rater")
    people = (~pl.col("made")).any() & ~(pl.col("between") & ~pl.col("made")).any()
    for name in seen.filter(people.over("question") & pl.col("between"))["rater"].head(1):
        way = f"--without {shlex.quote(name)}" if in_rows else f"--map {shlex.quote(f'{name}={name}')}"
        raise Doubt(
            f"only the aggregate '{name}' has answers between whole numbers, which would make the scale continuous",
            file=rows.path,
            remedy=f"pass {way}, or --instrument with the scale",
            settle={"without": [name]} if in_rows else {"map": {name: name}},
        )


def _made_rater(values: pl.DataFrame, known: Collection[str]) -> tuple[str | None, str]:
    """The first rater who is made of the others, and how; those at the end may be so together."""
    names, table = values.columns, values.to_numpy()
    filled = ~np.isnan(table)
    # One answer throughout is a person's.
    asked = [n for n, own in enumerate(table.T) if filled[:, n].all() and np.ptp(own) > 0 and names[n] not in known]
    if len(asked) > MOST_LOOKED_AT:
        asked = [asked[0], *asked[-TAIL:]]
    for count in (0, *range(2, min(TAIL, len(names) - LEAST_MADE + 1) + 1)):
        ends = set(range(len(names) - count, len(names)))
        shares = {n: _shares(table[:, n], np.delete(table, sorted(ends | {n}), axis=1)) for n in asked}
        for n in (n for n in asked if n in ends or not ends):
            others = [share for m, share in shares.items() if m != n and m not in ends]
            usual = np.mean(others, axis=0) if others else np.full(len(MADE), 0.5)
            # How many raters would be so by chance, if all were like the others.
            chance = len(names) * np.maximum(usual, 0.25) ** len(table)
            for word, always, expected in zip(MADE, shares[n] == 1, chance, strict=True):
                if always and expected < CHANCE:
                    return names[n], word
    return None, ""


def _shares(column: Numbers, others: Numbers) -> Numbers:
    """On which share of the rows a column is made of others, for each way of `MADE`."""
    counts = (~np.isnan(others)).sum(axis=1)
    enough = counts > 1
    if enough.sum() < LEAST_MADE:
        return np.zeros(len(MADE))
    column, others, counts = column[enough], np.sort(others[enough], axis=1), counts[enough]
    mean, places = np.nanmean(others, axis=1), np.arange(len(others))
    low, high = others[places, (counts - 1) // 2], others[places, counts // 2]
    answers = np.unique(others[~np.isnan(others)])[:MOST_LOOKED_AT]
    votes = np.array([(others == answer).sum(axis=1) for answer in answers])
    own = (others == column[:, None]).sum(axis=1)
    made = [
        np.abs(column - np.nansum(others, axis=1)) < 1e-6,
        np.abs(column - mean) <= 0.0051,
        (np.abs(column - mean) <= 0.5) & (column % 1 == 0),
        (low <= column) & (column <= high),
        (own > 0) & (own >= votes.max(axis=0)),
    ]
    return np.array([np.mean(one) for one in made])
