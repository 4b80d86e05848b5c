"""The fields of items that instruments show: what an item must have before it is judged, and what people read of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import Formatter

import polars as pl

from vantage.errors import InputError
from vantage.instruments import Field, Instrument


def named_fields(instrument: Instrument, questions: Sequence[str] = (), condition: str = "") -> dict[str, str]:
    """The fields that the wording of questions names, such as `{target}`, each with the question that does.

    >>> named_fields(Instrument.load("warmth-competence"), ["trust"])
    {'target': 'trust'}
    """
    fields = {field.name for field in instrument.fields}
    named: dict[str, str] = {}
    for question in instrument.questions:
        if not questions or question.id in questions:
            wording = question.ask_in.get(condition, question.ask)
            for _, name, _, _ in Formatter().parse(wording):
                if name in fields:
                    named.setdefault(str(name), question.id)
    return named


def check_items(
    instrument: Instrument, items: pl.DataFrame, questions: Sequence[str] = (), condition: str = ""
) -> None:
    """Refuses items that lack what is asked about: a field that a question names, or everything that is shown."""
    columns = ", ".join(items.columns[:12])
    for name, question in named_fields(instrument, questions, condition).items():
        if name not in items.columns:
            problem = f"question '{question}' asks about {{{name}}}, and the items have no column '{name}'"
            raise InputError(problem, remedy=f"import it with --map {name}=COLUMN; they have {columns}")
        if (empty := _empty(items[name])).any():
            item = items["item"][empty.arg_max() or 0]
            count = f" ({empty.sum():,} items in all)" if empty.sum() > 1 else ""
            problem = f"question '{question}' asks about {{{name}}}, which is empty for item '{item}'{count}"
            raise InputError(problem, column=name, remedy="fill it in, or leave the item out with --where")
    fields = instrument.shown(condition)
    shown = [field.name for field in fields if field.name in items.columns]
    judged = [field.name for field in fields if field.kind != "target" and field.name in shown] or shown
    if not judged:
        names = ", ".join(field.name for field in fields)
        problem = f"the items have none of the columns that '{instrument.id}' shows ({names})"
        raise InputError(problem, remedy=f"import one with --map; they have {columns}")
    nothing = pl.select(pl.all_horizontal(*(_empty(items[name]) for name in judged))).to_series()
    if nothing.any():
        item = items["item"][nothing.arg_max() or 0]
        raise InputError(f"item '{item}' has nothing to judge: {', '.join(judged)} is empty", remedy="fill it in")


def _empty(column: pl.Series) -> pl.Series:
    if column.dtype == pl.String:
        return column.is_null() | (column.str.strip_chars() == "").fill_null(value=True)
    if isinstance(column.dtype, pl.List):
        return column.is_null() | (column.list.len() == 0).fill_null(value=True)
    return column.is_null()


def shown_fields(items: pl.DataFrame, instruments: Iterable[Instrument]) -> pl.Expr | None:
    """The fields of each item side by side, null where it has none of them; null where items have no such column.

    >>> items = pl.DataFrame({"item": ["a", "b"], "post": ["Rain again.", None], "reply": ["Lovely.", None]})
    >>> items.select(shown_fields(items, [Instrument.load("irony")])).to_series().to_list()
    ['Post: Rain again. — Reply: Lovely.', None]
    """
    fields = {field.name: field for instrument in instruments for field in instrument.fields}
    shown = [field for name, field in fields.items() if name in items.columns]
    if not shown:
        return None
    contents = [_content(field, items.schema[field.name]) for field in shown]
    known = pl.any_horizontal(content.is_not_null() for content in contents)
    return pl.when(known).then(pl.concat_str(contents, separator=" — ", ignore_nulls=True))


def _content(field: Field, dtype: pl.DataType) -> pl.Expr:
    if not isinstance(dtype, pl.List):
        return pl.format("{}: {}", pl.lit(field.title), pl.col(field.name))
    turn = pl.element()
    if isinstance(dtype.inner, pl.Struct):
        turn = pl.format("{}: {}", turn.struct.field("speaker"), turn.struct.field("text"))
    return pl.col(field.name).list.eval(turn.cast(pl.String)).list.join(" / ")
