"""Which items of the corpus a block has."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random

import polars as pl

from vantage.collect.blocks import Block
from vantage.collect.flow_document import SelectionPart
from vantage.corpora import Corpus
from vantage.errors import InputError, nearest


def block_rows(block: Block, corpus: Corpus, apart: Collection[str]) -> Sequence[int]:
    """The rows of a block's items, ascending: all but those kept apart, or what its selection leaves."""
    rows = candidates(block.selection, corpus, apart)
    sample = block.selection.sample
    if sample is None:
        return rows
    if sample > len(rows):
        raise InputError(f"{sample} items are asked for, but there are {len(rows)}", remedy="ask for fewer")
    return sorted(Random(f"{block.seed}:{block.id}:sample").sample(rows, sample))  # noqa: S311 - not secrecy


def candidates(selection: SelectionPart, corpus: Corpus, apart: Collection[str]) -> Sequence[int]:
    """The rows that a selection leaves before anything is drawn from them."""
    items = corpus.scan("items")
    columns = items.collect_schema()
    table = items.select("item", *(name for name in selection.where if name in columns and name != "item")).collect()
    if not (selection.where or selection.ids or apart):
        return range(len(table))
    kept = ~pl.col("item").is_in(list(apart))
    for name, wanted in selection.where.items():
        if name not in columns:
            raise InputError(f"the items have no column '{name}'", remedy=nearest(name, columns.names()))
        values = wanted if isinstance(wanted, list) else [wanted]
        if columns[name].is_numeric():
            numbers = [float(value) for value in values if not isinstance(value, str)]
            kept &= pl.col(name).cast(pl.Float64).is_in(numbers)
        else:
            kept &= pl.col(name).cast(pl.String).is_in([str(value) for value in values])
    if selection.ids:
        unknown = [item for item in selection.ids if item not in set(table["item"])]
        if unknown:
            raise InputError(f"the corpus has no item '{unknown[0]}'", remedy="check 'ids'")
        kept &= pl.col("item").is_in(list(selection.ids))
    return table.with_row_index("row").filter(kept)["row"].to_list()
