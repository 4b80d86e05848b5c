"""Texts that people judge without knowing where they come from: a study leaves them, `vantage collect` serves them."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import polars as pl

from vantage.corpora import About, Corpus
from vantage.corpora.storage import is_corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.studies.execution import Context


def blinded(rows: pl.DataFrame, instrument: str, about: About, seed: int, by: Sequence[str]) -> Corpus:
    """Rows as items of an instrument, under ids that do not tell where they come from, nor does the order of the ids.

    Columns that are no field of the instrument stay with the items and are not shown; `by` tells rows apart.
    """
    key = pl.format("/".join(["{}"] * (1 + len(by))), pl.lit(seed), *by)
    ids = key.map_elements(lambda text: f"t-{blake2b(text.encode(), digest_size=6).hexdigest()}", pl.String)
    return Corpus.of_items(rows.with_columns(item=ids).sort("item"), Instrument.load(instrument), about)


def leave(context: Context[Any], name: str, items: Corpus, what: str, served: str, then: str) -> None:
    """Puts what people are to judge beside the study, unless it is there already, and says what to do with it."""
    if context.folder is None:
        raise InputError(f"the {what} that people are to judge need a folder", remedy="pass --to FOLDER")
    place = context.folder / name
    if not is_corpus(place):
        items.write(place)
    elif set(Corpus.read(place).items["item"]) != set(items.items["item"]):
        context.warn(f"{place} holds the {what} of an earlier run; move it away to draw new ones.")
        return
    context.warn(
        f"{len(items.items):,} {what} are ready to be judged blindly: serve them with "
        f"vantage collect {place} {served}, export, and {then}."
    )


def taken_back(folder: str, hidden: str, served: str) -> Corpus:
    """What people said; a corpus without judgments, or without the column that they were not shown, is refused."""
    theirs = Corpus.read(folder).included()
    if hidden not in theirs.items.columns or not theirs.judgments["value"].count():
        raise InputError(
            f"the corpus has no judgments of texts with their '{hidden}'",
            file=folder,
            remedy=f"name the corpus that was exported from the study served with {served}",
        )
    return theirs
