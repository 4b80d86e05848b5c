"""A published data set as a corpus that knows where it comes from."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.manifest import About
from vantage.corpora.readers import READERS
from vantage.corpora.schema import Place, in_table
from vantage.instruments import Instrument


def release(
    reader: str,
    items: pl.DataFrame,
    raters: pl.DataFrame,
    judgments: pl.DataFrame,
    instruments: Instrument | Iterable[Instrument],
    notes: Iterable[str] = (),
    place: Place = in_table,
    **named: str,
) -> Corpus:
    """The corpus of a reader, with what `readers.toml` says about its origin.

    Args:
        reader: Its name.
        items: The items.
        raters: The raters.
        judgments: The judgments.
        instruments: What was asked.
        notes: What is to be noted about these files, beside what holds for all of them.
        place: Where a row stands in the files.
        **named: What replaces the names in braces.
    """
    origin = dict(READERS[reader].about)
    fixed = [note.format(**named) for note in origin.pop("notes", [])]
    texts = {"name": reader, "source": READERS[reader].home, **origin}
    about = About(**{key: text.format(**named) for key, text in texts.items()}, notes=(*fixed, *notes))
    return Corpus(items, raters, judgments, instruments, about, place=place)
