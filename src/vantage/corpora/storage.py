"""The corpus folder: `corpus.yaml` and three Parquet files, written so that a crash leaves the old or the new.

New files are prepared in a hidden folder beside the old ones and made durable; renaming that folder to
`.commit` is the moment at which the new corpus exists. Moving its files into place is then repeated by
whoever opens the folder next, should the writer not have lived to finish it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from filelock import FileLock

from vantage.corpora.writers.place import as_input_error, prepared_folder, sync
from vantage.errors import InputError

MANIFEST: Final = "corpus.yaml"
FILES: Final = ("items.parquet", "raters.parquet", "judgments.parquet", MANIFEST)
COMMIT: Final = ".commit"
PREPARING: Final = ".preparing-"


def is_corpus(folder: Path) -> bool:
    """Whether the folder holds a corpus."""
    return (folder / MANIFEST).is_file() or (folder / COMMIT / MANIFEST).is_file()


def file(folder: Path, name: str) -> Path:
    """Where a file of the corpus is now: in place, or in a commit that could not be finished (read-only folder)."""
    pending = folder / COMMIT / name
    return pending if pending.is_file() else folder / name


def finish(folder: Path) -> None:
    """Completes a write that was cut off after its commit."""
    if not (folder / COMMIT).is_dir() or not os.access(folder, os.W_OK):
        return
    with _lock(folder):
        _move_into_place(folder)


def write(folder: Path, prepare: Callable[[Path], None]) -> None:
    """Replaces the corpus in a folder by the files that `prepare` writes into an empty one.

    Other files in the folder are left alone. A folder that has files but no corpus is refused.
    """
    folder = folder.absolute()
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file, not a folder", file=folder, remedy="choose another folder")
    if folder.is_dir() and not is_corpus(folder) and any(not e.name.startswith(".") for e in folder.iterdir()):
        raise InputError(
            "the folder has other files and no corpus in it", file=folder, remedy="choose a new or empty folder"
        )
    with as_input_error(folder):
        if folder.is_dir():
            _replace(folder, prepare)
        else:
            folder.parent.mkdir(parents=True, exist_ok=True)
            prepared_folder(folder.parent, f".{folder.name}-", prepare, lambda prepared: prepared.rename(folder))


def _replace(folder: Path, prepare: Callable[[Path], None]) -> None:
    with _lock(folder):
        _move_into_place(folder)
        for leftover in folder.glob(f"{PREPARING}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        prepared_folder(folder, PREPARING, prepare, lambda prepared: prepared.rename(folder / COMMIT))
        _move_into_place(folder)


def _move_into_place(folder: Path) -> None:
    commit = folder / COMMIT
    if not commit.is_dir():
        return
    for name in FILES:
        if (commit / name).exists():
            (commit / name).replace(folder / name)
    sync(folder)
    shutil.rmtree(commit)


def _lock(folder: Path) -> FileLock:
    return FileLock(folder / ".lock", timeout=60)
