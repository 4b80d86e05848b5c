"""Readers: from published data sets and common formats to a `Corpus`.

A reader is a function `read(path, **options) -> Corpus`; `files` opens what it needs and tells what is wrong
with it. To add one, write the function in a module of its own and list it in `readers.toml`, with the origin of the
data (`release` puts it into the corpus); one that needs more than tables, such as reading what a model wrote, lives in
`interop`, which provides it. Modules are loaded when a reader is used.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vantage._lazy import provided
from vantage.errors import InputError, nearest
from vantage.plugins import Plugins

if TYPE_CHECKING:
    from vantage.corpora import Corpus


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader, described before its module is loaded."""

    name: str
    title: str
    home: str
    """Where the original is published, or what software writes the format."""
    needs: str
    """What `path` has to be."""
    module: str = ""
    """Its module here; empty for one that a package above provides."""
    function: str | Callable[..., Corpus] = "read"
    """The function that reads: its name in the module, or in a plugin the function itself."""
    options: dict[str, str] = field(default_factory=dict)
    """Options of the reader and what they mean."""
    about: dict[str, Any] = field(default_factory=dict)
    """The origin of a published data set, as in `About`; names in braces are filled in by its reader."""

    def __call__(self, path: object, **options: object) -> Corpus:
        """Reads the data at a path; the reader `table` also takes a frame."""
        for name in options:
            if name not in self.options:
                raise InputError(
                    f"reader '{self.name}' has no option '{name}'", remedy=nearest(name, list(self.options))
                )
        if not (isinstance(path, str | Path) or self.name in ("table", "texts")):
            raise InputError(f"reader '{self.name}' reads files, not {type(path).__name__}", remedy="give a path")
        read = self.function
        if isinstance(read, str):
            home = f"vantage.corpora.readers.{self.module}"
            read = getattr(import_module(home), read) if self.module else provided(f"reader.{self.name}")
        corpus: Corpus = read(Path(path) if isinstance(path, str) else path, **options)
        return corpus


READERS: dict[str, Reader] = {
    name: Reader(name, **entry)
    for name, entry in tomllib.loads(Path(__file__).with_name("readers.toml").read_text("utf-8")).items()
}


def _accepted(name: str, reader: Any) -> Reader:
    if not isinstance(reader, Reader):
        raise TypeError("is not a vantage.corpora.readers.Reader")
    if reader.name != name:
        raise ValueError(f"is a reader with another name, '{reader.name}'")
    return reader


TABLES = ("csv", "tsv", "excel", "xlsx", "xls", "spss", "sav", "stata", "json", "jsonl", "parquet", "google-forms")
"""What people call a table of their own."""
PLUGINS: Plugins[Reader] = Plugins("readers", "reader", lambda: READERS, _accepted)
"""Readers of other packages: `Reader` objects."""


def load(reader: str, path: object, **options: object) -> Corpus:
    """Reads data in a known format: `load("wcsent", folder)`, or a frame: `load("table", frame)`."""
    if reader.lower().lstrip(".") in TABLES and reader not in PLUGINS.names():
        remedy = "use table, which reads your own tables in any format"
        raise InputError(f"there is no reader '{reader}'", remedy=remedy)
    function = READERS.get(reader) or PLUGINS.find(reader)
    return function(path, **options)
