"""Writers: from a `Corpus` to formats that other tools read.

A writer is a function `write(corpus, path, *, overwrite, **options)` that returns what it wrote. All of them prepare
everything beside the destination and then rename it, so that nothing half-written is ever seen. To add one, write the
function in a module of its own and list it in `WRITERS`; one for the format of another tool lives in `interop`, which
provides it. Modules are loaded when a writer is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from vantage._lazy import provided
from vantage.corpora.writers.cells import csv_text
from vantage.errors import InputError, nearest

if TYPE_CHECKING:
    from vantage.corpora import Corpus

__all__ = ["WRITERS", "Writer", "csv_text", "export"]


@dataclass(frozen=True, slots=True)
class Writer:
    """A writer, described before its module is loaded."""

    name: str
    function: str
    """Its module here and function, or the full name of one in this package; empty for what `interop` provides."""
    options: dict[str, str] = field(default_factory=dict)
    """Options of the writer and what they mean."""
    traits: bool = True
    """Whether the traits of raters are written too, which may single out a person."""

    def __call__(
        self,
        corpus: Corpus,
        path: str | Path,
        *,
        overwrite: bool = False,
        include_excluded: bool = False,
        k: int = 5,
        strict: bool = False,
        allow_unique: bool = False,
        **options: Any,
    ) -> Path:
        """Writes a corpus to a path; `export` explains the options."""
        for name in options:
            if name not in self.options:
                raise InputError(
                    f"writer '{self.name}' has no option '{name}'", remedy=nearest(name, list(self.options))
                )
        full = self.function if "." in self.function else f"{__name__}.{self.function}"
        write = resolve_name(full) if self.function else provided(f"writer.{self.name}")
        # A corpus folder keeps excluded raters, marked; every measure leaves them out.
        corpus = corpus if include_excluded or self.name == "folder" else corpus.included()
        disclosure = import_module("vantage.corpora.disclosure")
        if self.traits:
            corpus = disclosure.guard(corpus, k=k, strict=strict, allow_unique=allow_unique)
        if self.options is ASKING:
            # Nobody can be asked about a text that is not shown.
            corpus = corpus.filter(~pl.col("item").is_in(disclosure.hidden(corpus).implode()))
        corpus = disclosure.shown(corpus)
        written: Path = write(corpus, Path(path), overwrite=overwrite, **options)
        return written


ASKING: Final = {
    "instrument": "what is asked, where the corpus has several instruments or another one is meant (a name or a file)",
    "question": "some of its questions, joined by commas; all of them without it",
    "style": "how it is asked, such as few-shot:4+reasoning (zero-shot)",
    "condition": "the circumstances, such as context",
}
"""Options of the writers that put questions to models."""

WHOSE: Final = {"kinds": "whose annotations: people (default), kinds such as person,model, or all"}

WRITERS: dict[str, Writer] = {
    writer.name: writer
    for writer in (
        Writer("folder", "vantage.corpora.storage:write_folder"),
        Writer("csv", "cells:write_csv"),
        Writer("lewidi", "", WHOSE, traits=False),
        Writer("huggingface", ""),
        Writer("card", ""),
        Writer("croissant", ""),
        Writer("inspect", "", ASKING, traits=False),
        Writer("lm-eval", "", ASKING, traits=False),
    )
}


def export(corpus: Corpus, format: str, path: str | Path, *, overwrite: bool = False, **options: Any) -> Path:  # noqa: A002
    """Writes a corpus in a known format: `export(corpus, "csv", "judgments.csv")`.

    `vantage corpora export --help` names the formats; their options are those of `WRITERS[format].options`. Raters who
    are marked as excluded are left out unless `include_excluded` is set (a corpus folder keeps them, marked). Where a
    combination of traits is shared by fewer than `k` people (5), a `DisclosureWarning` says so and what to coarsen;
    `strict=True` refuses, `allow_unique=True` records in the notes that it is meant.
    """
    if format not in WRITERS:
        raise InputError(f"there is no writer '{format}'", remedy=nearest(format, list(WRITERS)))
    return WRITERS[format](corpus, path, overwrite=overwrite, **options)
