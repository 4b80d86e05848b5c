"""One reader for whatever holds a corpus: a folder, an archive, a table in any format, a frame, published data."""

from __future__ import annotations

import warnings
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args, overload

from vantage._lazy import provided
from vantage.corpora import storage
from vantage.corpora.corpus import Corpus
from vantage.corpora.readers import load
from vantage.corpora.readers.command import in_python
from vantage.corpora.readers.files import check_unpacked, frame_table, open_rows, released
from vantage.corpora.readers.table_file import Scratch
from vantage.errors import InputError

NAMED: Final = ("item", "rater", "value", "text")
Edition: TypeAlias = Literal["lewidi/2023", "lewidi/2025"]
"""Editions of a shared task, with several corpora each."""


class UnreadColumnsWarning(UserWarning):
    """Columns of a table that were not read."""


@overload
def read(source: str | Path, reader: Literal["lewidi"]) -> dict[str, Corpus]: ...  # type: ignore[overload-overlap]
@overload
def read(source: Edition) -> dict[str, Corpus]: ...  # type: ignore[overload-overlap]
@overload
def read(source: object, reader: str | None = None, *, name: str = "", **options: Any) -> Corpus: ...
def read(source: object, reader: str | None = None, *, name: str = "", **options: Any) -> Corpus | dict[str, Corpus]:
    """A corpus from anything: a corpus folder, a zip file of one, a table in any format, a frame, or published data.

    The columns of a table are recognised by what they hold. Where that is not enough, say it with the words of
    `vantage corpora import`: `item=`, `rater=`, `value=` and `text=` name columns, `question=` a column or the question
    itself, `map=` further columns of the items, `columns="item"` says what the columns of a wide table are, `traits=`
    names those that describe raters, or maps them to their scales. `reader` names a published format. A folder with
    several data sets of LeWiDi, such as `lewidi/2025`, gives a dict of corpora; the reader `lewidi` always does. What
    is not here is looked for in the folder that the variable VANTAGE_DATA names.

    >>> import pandas as pd
    >>> stars = pd.DataFrame({"id": [1, 1, 2, 2], "who": ["ann", "bob", "ann", "bob"], "stars": [4, 5, 2, 2]})
    >>> read(stars, item="id", rater="who", value="stars", question="quality")
    Corpus(frame: 2 items, 2 raters, 4 judgments, questions quality)
    """
    if isinstance(source, Corpus):
        return source
    if isinstance(source, str | Path) and (corpora := _edition(released(source), reader)):
        several = reader is not None or len(corpora) > 1 or source in get_args(Edition)
        return corpora if several else next(iter(corpora.values()))
    made = _in_python(source, reader, options)
    if name:
        made.about = replace(made.about, name=name, title=name)
    if unread := next((note for note in made.about.notes if note.startswith("Columns that were not read")), None):
        warnings.warn(unread, UnreadColumnsWarning, stacklevel=2)
    return made


def _edition(path: Path, reader: str | None) -> dict[str, Corpus]:
    """The data sets of LeWiDi in a folder."""
    if reader != "lewidi" and (reader is not None or not path.is_dir() or storage.is_corpus(path)):
        return {}
    corpora: dict[str, Corpus] = provided("readers.lewidi")(path, expected=reader is not None)
    return corpora


def _in_python(source: object, reader: str | None, options: dict[str, Any]) -> Corpus:
    """What is read, or an error in the words of Python."""
    try:
        return _read(source, reader, dict(options))
    except InputError as error:
        error.args = (in_python(str(error)),)
        raise


def _read(source: object, reader: str | None, options: dict[str, Any]) -> Corpus:
    if isinstance(source, str) and source.startswith(("http://", "https://")):
        raise InputError("URLs are not supported", file=source, remedy="download the file and give its path")
    path = released(source) if isinstance(source, str | Path) else None
    if reader is None and path is not None:
        if path.is_dir() or not path.exists():
            return Corpus.read(path)
        if path.suffix.lower() == ".zip" and (folder := _unpacked_corpus(path)):
            return folder
    if reader not in (None, "table"):
        return load(str(reader), path if path is not None else source, **options)
    columns = (
        list(frame_table(source).frame.columns if path is None else open_rows(path).schema)
        if "question" in options
        else []
    )
    roles = {**options.pop("map", {}), **{role: options.pop(role) for role in NAMED if options.get(role) is not None}}
    question = options.get("question")
    if question in columns and question not in roles.values():
        roles["question"] = options.pop("question")
    return load("table", path if path is not None else source, **options, **({"map": roles} if roles else {}))


def _unpacked_corpus(path: Path) -> Corpus | None:
    """The corpus in a zip file, or null where it holds something else."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = {Path(name).name: name for name in archive.namelist() if not name.startswith("__MACOSX")}
            if storage.MANIFEST not in names:
                return None
            check_unpacked(path, sum(entry.file_size for entry in archive.infolist()))
            scratch = Scratch()
            for file in storage.FILES:
                if file in names:
                    (scratch.path / file).write_bytes(archive.read(names[file]))
    except (OSError, zipfile.BadZipFile):
        return None
    made = Corpus.read(scratch.path)
    made.scratch = scratch
    return made
