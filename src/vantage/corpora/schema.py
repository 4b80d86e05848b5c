"""The three tables of a corpus: their columns, their types, and everything that must hold in and between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, get_args

import polars as pl

from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.scales import NO_OPT_OUTS, STATUSES, Scale, show_code

Kind = Literal["person", "author", "slot", "model", "persona", "trained", "aggregate"]
"""What a rater is.

`slot` is a seat that different people may have filled ("the third annotator of this item"), `author` the
writer of the text, `aggregate` a released summary of people who are no longer told apart.
"""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
PEOPLE: Final[tuple[Kind, ...]] = ("person", "slot")
"""The kinds of raters that are people who judge; the others are never pooled with them unasked."""
MODELS: Final[tuple[Kind, ...]] = ("model", "persona", "trained")
"""The kinds of raters that a machine is."""
STATUS: Final = pl.Categorical()
"""Open, since instruments name opt-outs of their own; which statuses a question may have is checked with its values."""
KIND: Final = pl.Enum(KINDS)

ITEMS: Final[dict[str, Any]] = {"item": pl.String}
RATERS: Final[dict[str, Any]] = {"rater": pl.String, "kind": KIND}
JUDGMENTS: Final[dict[str, Any]] = {
    "item": pl.String,
    "question": pl.String,
    "rater": pl.String,
    "condition": pl.String,
    "sample": pl.Int32,
    "value": pl.Float64,
    "status": STATUS,
    "rationale": pl.String,
}
TABLES: Final = {"items": ITEMS, "raters": RATERS, "judgments": JUDGMENTS}
KEY: Final = ("item", "question", "rater", "condition", "sample")
"""What a judgment is known by: no two rows may agree on all five."""

CONVERSATION: Final = pl.List(pl.Struct({"speaker": pl.String, "text": pl.String}))
"""The type of a column of items that holds turns."""

Place = Callable[[str, int], dict[str, Any]]
"""Where row *i* (counted from 0) of a table came from, as keywords of `InputError`."""


def in_table(name: str, index: int) -> dict[str, Any]:
    """The place of a row inside a corpus: the table's name and the row, counted from 1."""
    return {"file": name, "row": index + 1}


def is_excluded() -> pl.Expr:
    """Whether a rater is marked by the column `excluded`: by `true`, `yes`, 1, or a reason in words."""
    marked = pl.col("excluded").cast(pl.String).str.strip_chars().str.to_lowercase()
    return ~marked.fill_null("").is_in(["", "false", "no", "0", "0.0", "none"])


def conform(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """A table with its columns in order and of the right types; further columns stay, behind them."""
    schema = TABLES[name]
    if missing := [column for column in schema if column not in frame.columns]:
        raise InputError(f"the {name} table has no column '{missing[0]}'", remedy=f"it has {', '.join(frame.columns)}")
    if all(frame.schema[column] == dtype for column, dtype in schema.items()):
        return frame.select(*schema, *(column for column in frame.columns if column not in schema))
    columns = [_cast_or_explain(name, frame[column], dtype) for column, dtype in schema.items()]
    return pl.DataFrame(columns).hstack([frame[c] for c in frame.columns if c not in schema])


def _cast_or_explain(name: str, series: pl.Series, dtype: Any) -> pl.Series:
    cast = series.cast(dtype, strict=False)
    wrong = cast.is_null() & series.is_not_null()
    if not wrong.any():
        return cast
    index = wrong.arg_max() or 0
    wanted = f"one of {', '.join(dtype.categories)}" if isinstance(dtype, pl.Enum) else _type_name(dtype)
    raise InputError(f"{_quote(series[index])} is not {wanted}", column=series.name, **in_table(name, index))


def faults(
    items: pl.DataFrame,
    raters: pl.DataFrame,
    judgments: pl.DataFrame | pl.LazyFrame,
    questions: Iterable[Question],
    *,
    place: Place = in_table,
    referenced: bool = False,
) -> Iterator[InputError]:
    """Everything that is wrong with three conforming tables: one sentence for each kind of fault.

    `referenced` says that items and raters were derived from the judgments, so that these need no look-up. Lazy
    judgments are streamed.
    """
    rows = judgments.lazy()
    yield from _identifier_faults("items", items["item"], place, unique=referenced)
    yield from _identifier_faults("raters", raters["rater"], place, unique=referenced)
    yield from _null_faults("raters", raters.lazy(), ["kind"], place)
    yield from _null_faults("judgments", rows, [*KEY, "status"], place)
    scales = {question.id: question.scale for question in questions}
    if not referenced:
        yield from _unknown("item", rows, items["item"], place)
        yield from _unknown("rater", rows, raters["rater"], place)
    # Distinct combinations are few, so that a table of millions is checked in one pass.
    distinct = rows.select("question", "value", "status").unique().collect(engine="streaming")
    seen = distinct.sort("question", "value")
    if not set(seen["question"].drop_nulls()) <= set(scales):
        yield from _unknown("question", rows, pl.Series(list(scales), dtype=pl.String), place)
    yield from _value_faults(rows, seen, scales, place)
    yield from _duplicates(rows, place)


def _where(rows: pl.LazyFrame, wrong: pl.Expr) -> tuple[int, int]:
    """The first row (from 0) for which something holds, and how many there are."""
    matching = rows.with_row_index("__index").filter(wrong).select(pl.col("__index").min(), pl.len())
    first, count = matching.collect(engine="streaming").row(0)
    return first, count


def _identifier_faults(name: str, ids: pl.Series, place: Place, *, unique: bool) -> Iterator[InputError]:
    yield from _null_faults(name, ids.to_frame().lazy(), [ids.name], place)
    if (empty := ids == "").any():
        index = empty.arg_max() or 0
        yield _fault(place(name, index), ids.name, "the id is empty", "give every row an id")
    if not unique and ids.n_unique() < len(ids):
        index = (~ids.is_first_distinct()).arg_max() or 0
        yield _fault(place(name, index), ids.name, f"duplicate id {_quote(ids[index])}", "keep one row per id")


def _null_faults(name: str, rows: pl.LazyFrame, columns: Sequence[str], place: Place) -> Iterator[InputError]:
    nulls = rows.select(pl.col(columns).null_count()).collect(engine="streaming")
    for column in columns:
        if count := nulls[column][0]:
            index, _ = _where(rows, pl.col(column).is_null())
            yield _fault(place(name, index), column, f"the cell is empty{_in_all(count)}", "fill it in")


def _unknown(what: str, rows: pl.LazyFrame, known: pl.Series, place: Place) -> Iterator[InputError]:
    used = rows.select(pl.col(what).unique().drop_nulls()).collect(engine="streaming")[what]
    strangers = used.filter(~used.is_in(known.implode()))
    if len(strangers):
        index, _ = _where(rows, pl.col(what).is_in(strangers.implode()))
        stranger = rows.slice(index, 1).collect()[what][0]
        names = known.head(2000).to_list()
        remedy = nearest(str(stranger), names) if len(names) <= 50 else f"add it to the {what}s table"
        problem = f"there is no {what} {_quote(stranger)}{_in_all(len(strangers), what)}"
        yield _fault(place("judgments", index), what, problem, remedy)


def _value_faults(
    rows: pl.LazyFrame, seen: pl.DataFrame, scales: Mapping[str, Scale], place: Place
) -> Iterator[InputError]:
    known = list(dict.fromkeys([*STATUSES, *(o.status for scale in scales.values() for o in scale.opt_outs)]))
    for state in seen["status"].drop_nulls().unique().cast(pl.String).sort():
        if state not in known:
            index, count = _where(rows, pl.col("status") == state)
            problem = f"{_quote(state)} is not one of {', '.join(known)}{_in_all(count)}"
            yield _fault(place("judgments", index), "status", problem, "add it to the scale's opt_outs")
            return
    value, answered = pl.col("value"), pl.col("status") == "answered"
    for wrong, problem in (
        (~value.is_finite(), "the value is not a finite number"),
        (value.is_null() & answered, "the status is 'answered' but there is no value"),
        (value.is_not_null() & ~answered, "there is a value but the status is not 'answered'"),
    ):
        if seen.select(wrong.any()).item():
            index, _ = _where(rows, wrong)
            yield _fault(place("judgments", index), "value", problem)
            return
    for question, code, state in seen.iter_rows():
        scale = scales.get(question)
        if scale is None:
            continue
        if code is not None and not scale.holds(code):
            where = (pl.col("question") == question) & (value == code)
            problem = f"{show_code(code)} is not on the scale of question '{question}', which is {scale.describe()}"
            remedy = "correct the value or choose another instrument"
        elif state not in NO_OPT_OUTS and state not in [o.status for o in scale.opt_outs]:
            where = (pl.col("question") == question) & (pl.col("status") == state)
            problem = f"question '{question}' has no opt-out '{state}'"
            remedy = "add it to the scale's opt_outs"
        else:
            continue
        index, count = _where(rows, where)
        yield _fault(place("judgments", index), "value", f"{problem}{_in_all(count)}", remedy)


def _duplicates(rows: pl.LazyFrame, place: Place) -> Iterator[InputError]:
    # Sums of hashes are equal wherever keys are; only where they are not all different is it worth to look closely.
    mark = pl.sum_horizontal(pl.col(c).hash(seed) * (2 * seed + 1) for seed, c in enumerate(KEY, 1))
    marks = rows.select(mark.alias("mark")).collect(engine="streaming")["mark"].sort()
    if not (marks == marks.shift()).any():
        return
    keys = rows.select(KEY).collect(engine="streaming")
    again = ~keys.to_struct("key").is_first_distinct()
    if not again.any():
        return
    index = again.arg_max() or 0
    row = keys.row(index, named=True)
    first = keys.select(pl.all_horizontal(pl.col(c) == value for c, value in row.items())).to_series().arg_max() or 0
    judged = ", ".join(f"{column} {_quote(row[column])}" for column in ("item", "question", "rater"))
    already = f"{place('judgments', first)['row']}{_in_all(int(again.sum()), 'such row')}"
    remedy = "resolve it with --duplicates first, last or mean"
    yield _fault(place("judgments", index), None, f"{judged} was judged already in row {already}", remedy)


def resolve_duplicates(judgments: pl.DataFrame, how: Literal["first", "last", "mean"]) -> pl.DataFrame:
    """Judgments with one row per key: the first, the last, or the mean of the values given.

    The mean is taken of the answers; a key that was only ever declined keeps its first row. Order is kept.
    """
    if how in ("first", "last"):
        return judgments.unique(KEY, keep=how, maintain_order=True)
    answered_first = judgments.with_row_index("__order").sort("value", nulls_last=True, maintain_order=True)
    means = judgments.group_by(KEY).agg(pl.col("value").mean().alias("__mean"))
    return (
        answered_first.unique(KEY, keep="first", maintain_order=True)
        .join(means, on=KEY, how="left", nulls_equal=True)
        .with_columns(pl.col("__mean").alias("value"))
        .sort("__order")
        .drop("__order", "__mean")
    )


def _fault(at: dict[str, Any], column: str | None, problem: str, remedy: str | None = None) -> InputError:
    """A fault at a place, which may know the column of a file better than we do."""
    return InputError(problem, remedy=remedy, **{"column": column, **at})


def _in_all(count: int, what: str = "row") -> str:
    return f" ({count:,} {what}s in all)" if count > 1 else ""


def _quote(value: object) -> str:
    text = f"{value}"
    return f"'{text if len(text) <= 60 else text[:57] + '…'}'"


def _type_name(dtype: Any) -> str:
    if dtype == pl.String:
        return "text"
    return "a whole number" if dtype.is_integer() else "a number"
