"""The dataset card alone, for data that are published in another way than as a Hugging Face dataset."""

from __future__ import annotations

from pathlib import Path

from vantage.corpora.corpus import Corpus
from vantage.corpora.writers.huggingface import card
from vantage.corpora.writers.place import put_file


def write(corpus: Corpus, path: Path, *, overwrite: bool = False) -> Path:
    """Writes the card."""
    text = card(corpus)

    def prepare(file: Path) -> None:
        file.write_text(text, encoding="utf-8")

    return put_file(path, prepare, overwrite=overwrite)
