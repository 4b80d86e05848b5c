"""The corpus folder itself: `corpus.yaml` and three Parquet files."""

from __future__ import annotations

from pathlib import Path

from vantage.corpora import storage
from vantage.corpora.corpus import Corpus
from vantage.errors import InputError


def write(corpus: Corpus, path: Path, *, overwrite: bool = False) -> Path:
    """Writes the corpus folder; one that holds a corpus already is only replaced if told so."""
    if storage.is_corpus(path) and not overwrite:
        raise InputError(
            "the folder holds a corpus already", file=path, remedy="choose another folder or pass --overwrite"
        )
    return corpus.write(path)
