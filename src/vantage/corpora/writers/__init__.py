"""Writers: from a `Corpus` to formats that other tools read.

A writer is a function `write(corpus, path, *, overwrite)` that returns what it wrote. All of them prepare
everything beside the destination and then rename it, so that nothing half-written is ever seen. To add one,
write the function in a module of its own and list it in `WRITERS`. Modules are loaded when a writer is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from vantage.corpora.writers.cells import csv_text
from vantage.errors import InputError, nearest

if TYPE_CHECKING:
    from vantage.corpora import Corpus

__all__ = ["WRITERS", "Writer", "csv_text", "export"]


@dataclass(frozen=True, slots=True)
class Writer:
    """What is known of a writer before it is loaded."""

    name: str
    title: str
    makes: str
    """What stands at the path afterwards."""
    module: str

    def __call__(self, corpus: Corpus, path: str | Path, *, overwrite: bool = False) -> Path:
        """Writes a corpus to a path."""
        module = import_module(f"vantage.corpora.writers.{self.module}")
        written: Path = module.write(corpus, Path(path), overwrite=overwrite)
        return written


WRITERS: dict[str, Writer] = {
    writer.name: writer
    for writer in (
        Writer("folder", "The corpus folder", "a folder with corpus.yaml and three Parquet files", "folder"),
        Writer(
            "csv",
            "Long CSV: one judgment per row, with the item's fields and the rater's traits",
            "a file",
            "long_csv",
        ),
        Writer(
            "lewidi",
            "LeWiDi 2023 JSON: one item per entry, with its annotators, annotations, soft and hard label",
            "a folder with one file per question and split",
            "lewidi",
        ),
        Writer(
            "huggingface",
            "A Hugging Face dataset with its card",
            "a folder with README.md and data/",
            "huggingface",
        ),
    )
}


def export(corpus: Corpus, format: str, path: str | Path, *, overwrite: bool = False) -> Path:  # noqa: A002
    """Writes a corpus in a known format: `export(corpus, "csv", "judgments.csv")`."""
    if format not in WRITERS:
        raise InputError(f"there is no writer '{format}'", remedy=nearest(format, list(WRITERS)))
    return WRITERS[format](corpus, path, overwrite=overwrite)
