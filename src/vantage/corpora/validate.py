"""Every kind of problem of a corpus folder at once."""

from __future__ import annotations

from pathlib import Path

from vantage.corpora import schema
from vantage.corpora.corpus import Corpus
from vantage.errors import InputError


def problems(folder: str | Path) -> list[str]:
    """One sentence for each kind of problem; an empty list means that the corpus is sound."""
    folder = Path(folder)
    try:
        corpus = Corpus.read(folder)
        items, raters, judgments = (schema.conform(name, corpus.scan(name).collect()) for name in schema.TABLES)
    except InputError as error:
        return [str(error)]

    def place(name: str, index: int) -> dict[str, object]:
        return {"file": folder / f"{name}.parquet", "row": index + 1}

    return [str(fault) for fault in schema.faults(items, raters, judgments, corpus.questions, place=place)]
