"""Which column of a table holds what, and a wide table as a long one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora import schema
from vantage.corpora.readers.table_file import ROW, Doubt, FileRows, check_column
from vantage.errors import InputError, nearest

ROLES: Final = (
    "item", "rater", "value", "question", "rationale", "condition", "sample", "status", "kind", "probabilities"
)  # fmt: skip
"""What a column can be mapped to. Any other name, such as text or target, makes a column of the items."""
SPREAD: Final = ("rater", "item", "question", "rater,question", "question,rater", "item,question", "question,item")
"""What the columns of a wide table can be: with two names each, such as `ann [trust]`, what both are."""
PLACES: Final = {"1": 1, "2": 2, "a": 1, "b": 2, "first": 1, "second": 2, "left": 1, "right": 2}
"""How the winner of a pair is written by its place."""
TIES: Final = re.compile(r"(?:tie|draw|equal|same|both|neither)\b.*|=|0\.5", re.IGNORECASE)
"""How a comparison that nobody won is written."""


NAMES: Final[Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
"""How columns and raters are usually called, in several languages; names only break ties and raise questions."""


def roles_of(rows: FileRows, given: Mapping[str, str], spread: str) -> dict[str, str]:
    """The column of every role: as given, or by its name."""
    mapping = dict(given)
    mapping |= {role: role for role in called_so(rows) if role not in {*mapping, *mapping.values()}}
    for role, column in mapping.items():
        check_column(rows.path, list(rows.schema), column, f"'{role}'")
    if spread:
        mapping = {role: column for role, column in mapping.items() if role not in (*spread.split(","), "value")}
    # Where the columns are items, every row is a respondent, and needs no name of its own.
    needed = ["item", "rater"] if spread == "question" else ["item"] if "rater" in spread else []
    needed = needed if spread else ["item", "rater", "value"]
    if "text" in mapping and "item" in needed:
        needed.remove("item")
    if missing := [role for role in needed if role not in mapping]:
        own = {name: kind for name, kind in rows.schema.items() if not name.startswith("__")}
        columns = ", ".join(f"'{c}'" for c in list(own)[:20])
        remedy = f"pass --map {','.join(f'{role}=COLUMN' for role in missing)}"
        if missing == ["rater"]:
            remedy = "pass --map rater=COLUMN, or --anonymous if the raters are unknown"
        if "value" in missing and "reply" in rows.schema:
            remedy = (
                f"if these are replies of models: vantage corpora import replies --from {rows.path} --instrument NAME"
            )
        if lists := [name for name, kind in own.items() if kind.is_nested()]:
            # Which lists are answers and which are turns of a conversation only their owner knows.
            remedy = f"if '{lists[0]}' holds the answers, pass --lists '{lists[0]}'"
        raise rows.fault(f"no column is mapped to the {missing[0]}; the table has {columns}", remedy)
    return mapping


def called_so(rows: FileRows) -> list[str]:
    """Roles that columns are named after; `kind` and `probabilities` may mean something else in a table."""
    roles = [role for role in (*ROLES, "text") if role in rows.schema]
    for role, pattern in (("kind", f"^(?:{'|'.join(schema.KINDS)})$"), ("probabilities", r"^\[[-\d.eE, ]+\]$")):
        if role in roles and not isinstance(rows.schema[role], pl.List):
            cells = pl.col(role).cast(pl.String, strict=False).str.contains(pattern)
            if not rows.collect(rows.lazy.select(cells.all()))[0].item():
                roles.remove(role)
    return roles


def named_roles(rows: FileRows) -> bool:
    """Whether the columns have the names of their roles, so that nothing has to be inferred."""
    return {"rater", "value"} <= set(rows.schema) and ("item" in rows.schema or "text" in rows.schema)


def with_kinds(rows: FileRows, column: str, raters: pl.DataFrame, kinds: Mapping[str, str]) -> pl.DataFrame:
    """Raters with the kinds that were given; a name that is hardly a person's is a doubt: it would count as one."""
    known = raters["rater"].to_list()
    for rater, kind in kinds.items():
        if rater not in known:
            raise rows.fault(f"no rater is '{rater}'", nearest(rater, known[:50]))
        if kind not in schema.KINDS:
            raise InputError(f"'{kind}' is not a kind of rater", remedy=nearest(kind, schema.KINDS))
    if "kind" in raters.columns:
        if kinds:
            raise rows.fault("the table has a column for the kind", "leave kinds out")
        return raters
    alike = {
        rater: kind
        for kind in ("model", "aggregate")
        for rater in raters["rater"].filter(
            raters["rater"].str.contains(
                rf"(?i)^(?:{NAMES[kind]})(?:[-_.:/@\d]| \d|$)" + r"|[_. -](?:mean|avg|sd)$" * (kind == "aggregate")
            )
        )
        if rater not in kinds
    }
    if alike:
        rater, kind = next(iter(alike.items()))
        named = ",".join(f"{one}={kind}" for one, kind in alike.items())
        # People are called Bert and Claude too; with a number or a version behind it, a name is a model's.
        people = {one: "person" for one, kind in alike.items() if kind == "model" and one.isalpha()}
        raise Doubt(
            f"rater '{rater}' looks like {'an' if kind == 'aggregate' else 'a'} {kind} and would count as a person",
            file=rows.path,
            column=None if rows.cells else column,
            remedy=f"pass --kinds {named}, or RATER=person for people",
            settle={"kinds": alike},
            otherwise={"kinds": {**alike, **people}} if people else None,
        )
    given = pl.col("rater").replace_strict(dict(kinds), default="person", return_dtype=pl.String)
    return raters.with_columns(given.alias("kind")) if kinds else raters


def columns_note(raters: pl.DataFrame, kinds: Mapping[str, str]) -> list[str]:
    """A note on the columns that became people; what only a number tells apart may be the order of answers instead.

    >>> columns_note(pl.DataFrame({"rater": ["ann", "bob"]}), {})
    ['Columns read as people: ann, bob.']
    """
    names = [name for name in raters["rater"] if name not in kinds]
    stems = {re.sub(r"\d+$", "", name) for name in names}
    if len(names) < 2 or len(stems) > 1 or stems & set(names):
        shown = ", ".join(names[:12]) + (f" and {len(names) - 12:,} more" if len(names) > 12 else "")
        return [f"Columns read as people: {shown}."] if names else []
    slots = ",".join(f"{name}=slot" for name in names[:2]) + (",…" if len(names) > 2 else "")
    return [
        f"Columns {names[0]} to {names[-1]} are read as {len(names)} people, each the same person in every row. If "
        f"they hold the first, second … answer to an item, whoever gave it, pass --kinds {slots}."
    ]


def long(rows: FileRows, roles: dict[str, str], traits: Sequence[str], spread: str, values: Sequence[str]) -> FileRows:
    """One row per judgment, from a table with one column per rater, item or question; `roles` are completed."""
    if traits and "rater" in spread:
        remedy = "add traits later with: vantage corpora traits"
        raise rows.fault("a table with one column per rater has no columns that describe raters", remedy)
    index = list(dict.fromkeys([*roles.values(), *traits]))
    held = _held(rows, index, spread, values)
    position = pl.col("__column").replace_strict(held, list(range(len(held))), return_dtype=pl.Int64)
    lazy = rows.lazy.with_columns(pl.col(held).cast(pl.String))
    if "item" in spread and "rater" not in roles:
        lazy, roles["rater"] = _respondents(rows, lazy), "__rater"
        index = [*index, "__rater"]
    lazy = lazy.unpivot(held, index=[ROW, *index], variable_name="__column", value_name="__value")
    name = pl.col("__column")
    lazy = lazy.with_columns(pl.col(ROW) * len(held) + position)
    parts = {column: tuple(part.strip() for part in both) for column in held if (both := two_names(column))}
    if spread == "item" and len(parts) == len(held) and "question" not in roles:
        spread = "question,item"  # a grid of Google Forms: "How warm is it? [First text]"
    if "," in spread and (lone := next((column for column in held if column not in parts), None)):
        remedy = "name those that have two with --values, such as --values '*]'"
        raise rows.fault(f"column '{lone}' does not have two names, such as 'ann [trust]'", remedy)
    for place, role in enumerate(spread.split(",")):
        names = {column: part[place] for column, part in parts.items()} if "," in spread else {}
        lazy = lazy.with_columns((name.replace_strict(names) if names else name).alias(f"__{role}"))
        roles[role] = f"__{role}"
    roles["value"] = "__value"
    if "item" in spread and "text" not in roles and set(held) <= set(rows.titles):
        lazy = lazy.with_columns(pl.col("__column").replace_strict(dict(rows.titles)).alias("__text"))
        roles["text"] = "__text"
    lazy = lazy.drop("__column")
    return rows.having(lazy if rows.streamed else lazy.collect(), cells=held)


def two_names(column: str) -> tuple[str, str] | None:
    """Both names of a column that has two.

    >>> two_names("How warm is it? [First text]")
    ('How warm is it?', 'First text')
    """
    match = re.fullmatch(r"(.*\S)\s*\[(.+)\]", column, re.DOTALL)
    return (match[1], match[2]) if match else None


def _held(rows: FileRows, index: Sequence[str], spread: str, values: Sequence[str]) -> list[str]:
    """The columns of a wide table that hold values."""
    columns = list(rows.schema)
    for trait in index:
        check_column(rows.path, columns, trait)
    if wrong := next((name for name in values if name not in rows.schema and not fitting(columns, [name])), None):
        raise rows.fault(f"there is no column '{wrong}'", nearest(wrong, columns))
    held = [column for column in fitting(columns, values or ["*"]) if column not in index]
    if not held:
        raise rows.fault(
            f"no column is left for {'an' if spread[0] == 'i' else 'a'} {spread.replace(',', ' and ')}",
            "map fewer columns",
        )
    if nested := next((column for column in held if rows.schema[column].is_nested()), None):
        (first,) = rows.collect(rows.lazy.filter(pl.col(nested).is_not_null()).select(pl.col(ROW).min()))
        raise rows.fault("the cell holds a list, not one answer", None, first.item() or 0, nested)
    return held


def fitting(columns: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """The columns that have one of the names, or fit a pattern such as `Q*`; the name of a column is no pattern.

    >>> fitting(["Q1", "Q2", "age", "Q[1]"], ["Q[1]", "a*"])
    ['age', 'Q[1]']
    """
    columns = list(columns)
    exact = {*columns} & {*patterns}
    wild = [pattern for pattern in patterns if pattern not in exact]
    return [name for name in columns if name in exact or any(fnmatchcase(name, pattern) for pattern in wild)]


def _respondents(rows: FileRows, lazy: pl.LazyFrame) -> pl.LazyFrame:
    """Every row as a rater of its own, numbered."""
    (count,) = rows.collect(lazy.select(pl.len()))
    number = (pl.int_range(pl.len()) + 1).cast(pl.String).str.zfill(len(str(count.item())))
    return lazy.with_columns(pl.format("respondent-{}", number).alias("__rater"))
