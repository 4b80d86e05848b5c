"""What people read of an item that has no column `text`: the fields that instruments show, under their titles."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from vantage.instruments import Field, Instrument


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
