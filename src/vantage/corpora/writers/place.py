"""Putting files and folders into their place in one step, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from vantage.errors import InputError


def put_file(path: Path, prepare: Callable[[Path], object], *, overwrite: bool = False) -> Path:
    """Writes a file with `prepare` under another name, then renames it."""
    path = path.absolute()
    if path.is_dir():
        raise InputError("this is a folder, not a file", file=path, remedy="name a file inside it")
    if path.exists() and not overwrite:
        raise InputError("the file exists", file=path, remedy="choose another name, or pass --overwrite")
    with as_input_error(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        os.close(handle)
        prepared = Path(name)
        try:
            prepare(prepared)
            prepared.chmod(0o666 & ~_umask())
            sync(prepared)
            prepared.replace(path)
        except BaseException:
            prepared.unlink(missing_ok=True)
            raise
    return path


def put_folder(path: Path, prepare: Callable[[Path], None], *, ours: tuple[str, ...], overwrite: bool = False) -> Path:
    """Writes a folder with `prepare` under another name, then renames it.

    A folder with files in it is only replaced if `overwrite` is set and all of them match one of `ours`, the
    names that this writer gives: nobody loses other files.
    """
    path = path.absolute()
    if path.exists() and not path.is_dir():
        raise InputError("this is a file, not a folder", file=path, remedy="choose another folder")
    _refuse(path, ours, overwrite=overwrite)
    with as_input_error(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        prepared_folder(path.parent, f".{path.name}-", prepare, lambda prepared: _swap(prepared, path))
    return path


def put_files(path: Path, files: Mapping[str, str], *, ours: tuple[str, ...], overwrite: bool = False) -> Path:
    """Writes a folder of text files, as `put_folder` does."""

    def prepare(folder: Path) -> None:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")

    return put_folder(path, prepare, ours=ours, overwrite=overwrite)


def prepared_folder(
    parent: Path, prefix: str, prepare: Callable[[Path], None], place: Callable[[Path], object]
) -> None:
    """Writes a durable folder with `prepare` under another name, then puts it in its `place`, or leaves nothing.

    Its permissions are those of any new folder.
    """
    prepared = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        prepare(prepared)
        for entry in prepared.rglob("*"):
            sync(entry)
        sync(prepared)
        prepared.chmod(0o777 & ~_umask())
        place(prepared)
    except BaseException:
        shutil.rmtree(prepared, ignore_errors=True)
        raise
    sync(parent)


def _refuse(path: Path, ours: tuple[str, ...], *, overwrite: bool) -> None:
    there = [file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()]
    if not there:
        return
    if not overwrite:
        remedy = "choose a new or empty folder, or pass --overwrite"
        raise InputError("the folder has files in it", file=path, remedy=remedy)
    if others := sorted(name for name in there if not any(fnmatch(name, pattern) for pattern in ours)):
        problem = f"the folder has other files in it, such as {others[0]}"
        raise InputError(problem, file=path, remedy="choose a new or empty folder")


def _swap(prepared: Path, path: Path) -> None:
    if not path.exists():
        prepared.rename(path)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}-old-", dir=path.parent))
    path.rename(aside / path.name)
    try:
        prepared.rename(path)
    except BaseException:
        (aside / path.name).rename(path)
        aside.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def as_input_error(path: Path) -> Iterator[None]:
    """Turns an error of the file system into an `InputError`."""
    try:
        yield
    except OSError as error:
        raise InputError(f"this cannot be written ({error.strerror or error})", file=path) from error


def sync(path: Path) -> None:
    """Makes a file, or the list of files of a folder, durable; Windows does so for folders by itself."""
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
