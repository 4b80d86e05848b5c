"""Shapes of the field as long tables: counts, shares and lists of labels, comparisons, rows without raters, joins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import polars.selectors as cs

from vantage.corpora.readers.cleaning import Cleaning, code_of, counted, inferred_scale
from vantage.corpora.readers.coding import bare
from vantage.corpora.readers.columns import PLACES, TIES, fitting
from vantage.corpora.readers.files import read_table
from vantage.corpora.readers.table_file import ROW, FileRows, check_column
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.scales import Option, OptOut, Scale

SLOT: Final = {"rater": "__rater", "kind": "__kind"}
"""The columns of unknown raters, who are different people within a row or an item."""
CHOSEN: Final = ("best", "worst")
"""What is asked about a tuple."""
SHARES: Final = "__shares"
"""The column of distributions over the codes of the scale."""


def shaped(
    rows: FileRows,
    roles: dict[str, str],
    traits: list[str],
    lists: str | None,
    counts: Sequence[str],
    pairs: Sequence[str],
    join: str | Path | None,
    *,
    anonymous: bool,
) -> tuple[FileRows, dict[str, str]]:
    """The rows and roles of a table in one of the shapes; what another table tells of raters is added to the traits."""
    if join is not None:
        rows, key, new = joined(rows, join)
        if roles.get("rater", "rater") == key:
            traits += [name for name in new if name not in traits]
        elif key in (roles.get("item", "item"), roles.get("text", "text")):
            roles |= {name: name for name in new if name not in roles.values()}
    if lists is not None:
        rows, roles = from_lists(rows, lists, roles)
    if pairs:
        rows, roles = from_pairs(rows, pairs, roles)
    if counts:
        return from_counts(rows, counts, roles, traits)
    return from_rows(rows, roles, traits) if anonymous else (rows, roles)


def from_counts(
    rows: FileRows, patterns: Sequence[str], roles: Mapping[str, str], traits: Sequence[str]
) -> tuple[FileRows, dict[str, str]]:
    """One row per person behind counts such as n_1 … n_5; what the names of columns have in common is no label.

    Where traits say which group a row counts, the people of each group are others.
    """
    labels = _answer_columns(rows, patterns)
    held = list(labels)
    counts = pl.col("__count").cast(pl.String).cast(pl.Float64, strict=False)
    index = [ROW, *(name for name in rows.schema if name not in held)]
    lazy = rows.lazy.with_columns(pl.col(held).cast(pl.String)).unpivot(
        held, index=index, variable_name="__column", value_name="__count"
    )
    (odd,) = rows.collect(
        lazy.filter(pl.col("__count").is_not_null() & ((counts.is_null()) | (counts < 0) | (counts % 1 != 0)))
    )
    if len(odd):
        number, column, cell = odd.sort(ROW).select(ROW, "__column", "__count").row(0)
        raise rows.fault(f"'{cell}' is not a count", "correct the cell", number, column)
    lazy = lazy.with_columns(
        pl.col("__column").replace_strict(labels).alias("__value"), counts.fill_null(0).cast(pl.Int64)
    )
    lazy = lazy.sort(ROW, maintain_order=True).filter(pl.col("__count") > 0)
    lazy = lazy.select(pl.exclude("__count", "__column").repeat_by("__count")).explode(cs.all())
    made, slots = _with_slots(rows.having(lazy), [ROW], traits)
    return made, {**roles, **slots, "value": "__value"}


def _answer_columns(rows: FileRows, patterns: Sequence[str]) -> dict[str, str]:
    """Columns of one answer each, with the answer: what differs between their names."""
    held = fitting(rows.schema, patterns)
    if len(held) < 2:
        raise rows.fault(f"fewer than two columns fit {', '.join(patterns)}", "name a column for each answer")
    start = next((n for n, signs in enumerate(zip(*held, strict=False)) if len(set(signs)) > 1), 0)
    start -= len(re.search(r"(?:(?<=[_ ])-)?\d*$", held[0][:start])[0])  # type: ignore[index]
    return {name: name[start:].strip(" _") or name for name in held}


def from_shares(
    rows: FileRows, patterns: Sequence[str], roles: Mapping[str, str], scale: Scale | None, cleaning: Cleaning
) -> tuple[FileRows, dict[str, str], Scale]:
    """Judgments that are distributions: the shares of a row, and as value the answer from which least is expected lost.

    That is the median of an ordered scale of three or more answers, else the most probable answer. Rows without a rater
    are the distribution of one, an aggregate.
    """
    labels = _answer_columns(rows, patterns)

    def fail(label: str, problem: str) -> InputError:
        return rows.fault(f"the answer '{label}' {problem}", "rename the column")

    if scale is None:
        numbers = pl.Series(list(labels.values())).cast(pl.Float64, strict=False)
        values = pl.Series(list(labels.values())) if numbers.null_count() else numbers
        scale = inferred_scale(cleaning, "value", values, {}, (), fail)
    codes = {name: code_of(scale, label) for name, label in labels.items()}
    if odd := next((name for name, code in codes.items() if code is None), None):
        raise rows.fault(
            f"column '{odd}' is not an answer on the scale {scale.describe()}", "name the columns as its answers"
        )
    held = sorted(codes, key=lambda name: codes[name] or 0.0)
    frame = rows.lazy.collect()
    text = frame.select(pl.col(held).cast(pl.String).str.strip_chars().str.strip_chars_end("% ").str.replace(",", "."))
    shares = text.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    total = shares.sum(axis=1)
    whole = 100.0 if np.nanmedian(total) > 50 else 1.0
    wrong = ~(np.abs(total - whole) <= 0.02 * whole) | (shares < 0).any(axis=1)
    if wrong.any():
        place = int(wrong.argmax())
        problem = f"the shares add up to {total[place]:.4g}, not to {whole:g}"
        raise rows.fault(
            problem, "correct the row, or use --counts if they count answers", int(frame[ROW][place]), held[0]
        )
    shares = shares / total[:, None]
    at = np.array([codes[name] for name in held], dtype=np.float64)
    loss = np.abs(at[:, None] - at) if scale.ordered and len(at) > 2 else 1 - np.eye(len(at))
    every = sorted(scale.codes)
    spread = np.zeros((len(shares), len(every)))
    spread[:, np.searchsorted(every, at)] = shares
    frame = frame.drop(held).with_columns(
        pl.Series("__value", at[(shares @ loss).argmin(axis=1)]),
        pl.Series(SHARES, spread.tolist(), dtype=pl.List(pl.Float64)),
    )
    roles = {**roles, "value": "__value"}
    if "rater" not in roles and "rater" not in frame.columns:
        frame = frame.with_columns(pl.lit("distribution").alias("__rater"), pl.lit("aggregate").alias("__kind"))
        roles |= SLOT
    return rows.having(frame), roles, scale


def from_pairs(rows: FileRows, columns: Sequence[str], roles: Mapping[str, str]) -> tuple[FileRows, dict[str, str]]:
    """Comparisons (A, B, winner) or tuples (A, B, C …, best, worst): which place was chosen, from 1 on; a tie declines.

    What was shown in several orders is one item, in the order in which it comes first.
    """
    size, chosen = len(columns), _chosen(rows, columns, roles)
    noun = "pair" if size == 2 else "tuple"
    places = {**PLACES, **{name.casefold(): n for n, name in enumerate(columns, 1)}}
    places |= {sign: n for n in range(3, size + 1) for sign in (str(n), chr(96 + n))}
    frame = rows.lazy.collect()
    answers = [column for column in chosen.values() if column not in columns]
    cells = frame.select(pl.col(*columns, *answers).cast(pl.String).str.strip_chars().str.replace(r"^(\d+)\.0$", "$1"))
    shown, won = cells.select(columns).rows(), cells.select(chosen.values()).rows()
    named = any(not {*answer, None}.isdisjoint({*own} - {None}) for own, answer in zip(shown, won, strict=True))
    ids: dict[frozenset[str], tuple[str, ...]] = {}
    made: list[tuple[Any, ...]] = []
    for at, (number, own, answer) in enumerate(zip(frame[ROW], shown, won, strict=True)):
        if None in own or len({*own}) < size:
            raise rows.fault(
                f"a {noun} needs {'two' if size == 2 else size} different members",
                "correct the row",
                number,
                columns[-1],
            )
        order = ids.setdefault(frozenset(own), own)
        for question, w in zip(chosen, answer, strict=True):
            tie = w is not None and TIES.fullmatch(w) is not None and w not in own
            written = {member: n for n, member in enumerate(own, 1)} if named else places
            place = None if tie or w is None else written.get(w if named else w.casefold())
            if place is None and not tie:
                members = " nor ".join(f"'{member}'" for member in own)
                problem = f"the {question} is empty" if w is None else f"'{w}' is neither {members} nor a tie"
                raise rows.fault(problem, "correct the cell, or write tie", number, chosen[question])
            code = order.index(own[place - 1]) + 1 if place else None
            made.append((at, question, " | ".join(order), *order, code, order != own))
    fields = {f"item_{n}": pl.String for n in range(1, size + 1)}
    types: dict[str, Any] = {"__at": pl.Int64, "__question": pl.String, "__item": pl.String, **fields}
    new = pl.DataFrame(made, schema=types | {"__value": pl.Int64, "__swapped": pl.Boolean}, orient="row")
    frame = frame.drop({*columns, *chosen.values()})[new["__at"]]
    frame = pl.concat([frame, new.drop("__at", *(["__question"] if size == 2 else []))], how="horizontal")
    about, notes = roles.get("item") or ("item" if "item" in frame.columns else None), list(rows.notes)
    if about is not None and size == 2:
        frame = frame.with_columns(pl.format("{}: {}", about, "__item").alias("__item"))
    roles = {k: v for k, v in roles.items() if k not in ("item", *CHOSEN)} | {"item": "__item", "value": "__value"}
    roles |= {name: name for name in fields} | ({"question": "__question"} if size > 2 else {})
    if frame["__value"].null_count():
        tied = pl.when(pl.col("__value").is_null()).then(pl.lit("ambiguous")).otherwise(pl.lit("answered"))
        frame, roles["status"] = frame.with_columns(tied.alias("__status")), "__status"
        notes.append(f"{counted(frame['__value'].null_count(), 'tie')} read as ambiguous.")
    if new["__swapped"].any():
        count = counted(new.filter("__swapped")["__at"].n_unique(), "row")
        notes.append(f"{count} showed a {noun} in another order than its first.")
        if "sample" not in roles and (rater := roles.get("rater") or ("rater" if "rater" in frame.columns else None)):
            both = pl.col("__swapped").n_unique().over("__item", rater) > 1
            frame = frame.with_columns((both & pl.col("__swapped")).cast(pl.Int64).alias("__sample"))
            roles["sample"] = "__sample"
    labels = {**rows.labels, "__value": {1.0: "first", 2.0: "second"}} if size == 2 else rows.labels
    return rows.having(frame, labels=labels, notes=tuple(notes)), roles


def _chosen(rows: FileRows, columns: Sequence[str], roles: Mapping[str, str]) -> dict[str, str]:
    """The columns that say which of the compared members was chosen: as winner, or as best and as worst."""
    if len({*columns}) < max(len(columns), 2):
        raise rows.fault("a comparison has two or more columns", "pass --pairs FIRST,SECOND")
    if len(columns) > 2:
        chosen = {name: roles.get(name) or name for name in CHOSEN}
    else:
        winner = roles.get("value") or next((n for n in ("value", "winner") if n in rows.schema), "")
        chosen = {"winner": winner}
    for name, column in chosen.items():
        if column not in rows.schema:
            role = "value" if name == "winner" else name
            raise rows.fault(f"no column is mapped to the {name}", f"pass --map {role}=COLUMN")
    for name in columns:
        check_column(rows.path, list(rows.schema), name)
    return chosen


def of_tuples(rows: FileRows, columns: Sequence[str], opt_outs: tuple[OptOut, ...]) -> Instrument | None:
    """What is asked about tuples: which member is best and which is worst, by their places. Null for pairs."""
    places = tuple(Option(float(n), f"place {n}") for n in range(1, len(columns) + 1))
    return bare(rows, dict.fromkeys(CHOSEN, Scale(places, "nominal", opt_outs))) if len(places) > 2 else None


def from_rows(rows: FileRows, roles: Mapping[str, str], traits: Sequence[str] = ()) -> tuple[FileRows, dict[str, str]]:
    """Rows without raters: the first, second … answer to each item, in a group, is that of another person."""
    key = (
        roles.get("item") or roles.get("text") or next((name for name in ("item", "text") if name in rows.schema), None)
    )
    if key is None:
        raise rows.fault("no column is mapped to the item", "pass --map item=COLUMN")
    for name in (key, *traits):
        check_column(rows.path, list(rows.schema), name)
    made, slots = _with_slots(rows, [key, *([roles["question"]] if "question" in roles else [])], traits)
    return made, {**roles, **slots}


def _with_slots(rows: FileRows, key: Sequence[str], traits: Sequence[str]) -> tuple[FileRows, dict[str, str]]:
    """The rows with numbered people within a key; those of each group, of whom the traits are known, are others."""
    place = pl.int_range(pl.len()).over(*key, *traits) + 1
    name = pl.concat_str([*(pl.col(trait) for trait in traits), pl.format("slot-{}", place)], separator=" ")
    lazy = rows.lazy.with_columns(name.alias("__rater"), pl.lit("slot").alias("__kind"))
    return rows.having(lazy.collect()), dict(SLOT)


def from_lists(rows: FileRows, column: str, roles: Mapping[str, str]) -> tuple[FileRows, dict[str, str]]:
    """Lists of labels as a question for each label, answered no or yes; objects, or lists of them, as rows.

    A list holds an object for each row, with rater and answer; an object by itself goes from raters to answers.
    """
    check_column(rows.path, list(rows.schema), column)
    frame, dtype = rows.lazy.collect(), rows.schema[column]
    held = dtype.inner if isinstance(dtype, pl.List) else dtype
    fields = [one.name for one in held.fields] if isinstance(held, pl.Struct) else []
    if clash := next((name for name in fields if name in rows.schema), None):
        raise rows.fault(f"the objects in '{column}' have a field '{clash}' like the table", "rename one of them")
    if fields and isinstance(dtype, pl.List):
        return rows.having(frame.explode(column).unnest(column)), dict(roles)
    if fields:
        index = [name for name in frame.columns if name != column]
        frame = frame.unnest(column).with_columns(pl.col(fields).cast(pl.String))
        frame = frame.unpivot(fields, index=index, variable_name="__rater", value_name="__value")
        made = rows.having(frame.drop_nulls("__value").sort(ROW, maintain_order=True))
        return made, {**roles, "rater": "__rater", "value": "__value"}
    if not isinstance(dtype, pl.List):
        texts = frame[column].cast(pl.String)
        mark = next((mark for mark in ("|", ";", ",", "/") if texts.str.contains(mark, literal=True).any()), ",")
        frame = frame.with_columns(
            texts.str.strip_chars("[]{} ").str.replace_all("['\"]", "").str.split(mark).alias(column)
        )
    frame = frame.with_columns(
        pl.col(column)
        .cast(pl.List(pl.String))
        .list.eval(pl.element().str.strip_chars().filter(pl.element().str.strip_chars() != ""))
    )
    labels = frame[column].explode().drop_nulls().unique().sort().to_list()
    if not 1 < len(labels) <= 200:
        raise rows.fault(f"'{column}' has {len(labels):,} different labels", "name a column of lists of labels")
    frame = frame.join(pl.DataFrame({"__label": labels}), how="cross", maintain_order="left").filter(
        pl.col(column).is_not_null()
    )
    frame = frame.with_columns(
        pl.format(f"{column}: {{}}", "__label").alias("__question"),
        pl.col(column).list.contains(pl.col("__label")).cast(pl.Int64).alias("__value"),
    ).drop(column, "__label")
    made = rows.having(frame)
    return made, {**roles, "question": "__question", "value": "__value"}


def joined(rows: FileRows, other: str | Path) -> tuple[FileRows, str, list[str]]:
    """The rows with the columns of another table or sheet that has one of theirs as its id, and which."""
    file = Path(other)
    table = read_table(file) if file.is_file() else read_table(rows.path, sheet=str(other))
    shared = [
        n
        for n in table.frame.columns
        if n in rows.schema and table.frame[n].drop_nulls().n_unique() == len(table.frame)
    ]
    if len(shared) != 1:
        what = "no column" if not shared else f"several columns ({', '.join(shared)})"
        raise rows.fault(
            f"{what} of '{other}' can tell its rows apart and is in the table too", "rename the id to one name in both"
        )
    key = shared[0]
    new = [name for name in table.frame.columns if name != key]
    if clash := next((name for name in new if name in rows.schema), None):
        raise rows.fault(f"both tables have a column '{clash}'", "rename one of them")
    side = table.frame.with_columns(pl.col(key).cast(pl.String))
    lazy = rows.lazy.with_columns(pl.col(key).cast(pl.String)).join(
        side.lazy(), on=key, how="left", maintain_order="left"
    )
    (known,) = rows.collect(lazy.select(pl.col(key).is_in(side[key].implode()).any()))
    if not known.item():
        raise rows.fault(f"no '{key}' of the table is in '{other}'", "make the ids equal")
    labels, titles = {**rows.labels, **table.labels}, {**rows.titles, **table.titles}
    return rows.having(lazy, labels=labels, titles=titles), key, new
