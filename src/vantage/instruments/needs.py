"""What an item must have before a question can be asked about it."""

from __future__ import annotations

from collections.abc import Sequence
from string import Formatter

import polars as pl

from vantage.errors import InputError
from vantage.instruments.instrument import Instrument


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
    for name, question in named_fields(instrument, questions, condition).items():
        if name not in items.columns:
            raise InputError(
                f"question '{question}' asks about {{{name}}}, and the items have no column '{name}'",
                remedy=f"import it with --map {name}=COLUMN; they have {', '.join(items.columns[:12])}",
            )
        if (empty := _empty(items[name])).any():
            item = items["item"][empty.arg_max() or 0]
            count = f" ({empty.sum():,} items in all)" if empty.sum() > 1 else ""
            raise InputError(
                f"question '{question}' asks about {{{name}}}, which is empty for item '{item}'{count}",
                column=name,
                remedy="fill it in, or leave the item out with --where",
            )
    shown = [field.name for field in instrument.shown(condition) if field.name in items.columns]
    judged = [f.name for f in instrument.shown(condition) if f.kind != "target" and f.name in shown] or shown
    if not judged:
        names = ", ".join(field.name for field in instrument.shown(condition))
        raise InputError(
            f"the items have none of the columns that '{instrument.id}' shows ({names})",
            remedy=f"import one with --map; they have {', '.join(items.columns[:12])}",
        )
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
