"""JSON files inside a zip archive from somewhere: read one by one, never unpacked, never larger than they may be.

Inspect compresses its logs with Zstandard. Python reads that from 3.14 on; before, the package `zstandard` does it.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from vantage.errors import InputError

LARGEST: Final = 256 * 2**20
"""Bytes of one file, unpacked; a sample of a text task has some thousands."""
ZSTANDARD: Final = 93
_HEADER: Final = struct.Struct("<4s5H3I2H")
"""The head of a file in the archive (PKWARE 2022, 4.3.7); the lengths of name and extra field stand last."""


class Archive:
    """A zip archive whose JSON files are read by name."""

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self.path, self._file = path, file
        # A file that was written again stands twice; the last one counts.
        self._entries = {entry.filename: entry for entry in file.infolist() if not entry.is_dir()}

    @property
    def names(self) -> list[str]:
        """The names of the files, in the order in which they were written."""
        return list(self._entries)

    def json(self, name: str) -> Any:
        """The data of a file."""
        entry = self._entries[name]
        try:
            data = self._bytes(entry)
        except (OSError, EOFError, zipfile.BadZipFile, struct.error, _zstandard_error()) as error:
            raise InputError(f"'{name}' in the archive cannot be read ({error})", file=self.path) from None
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise InputError(f"'{name}' in the archive is no JSON ({error})", file=self.path) from None

    def _bytes(self, entry: zipfile.ZipInfo) -> bytes:
        if entry.flag_bits & 1:
            raise InputError("the archive is encrypted", file=self.path, remedy="unpack it first")
        if entry.compress_type != ZSTANDARD:
            with self._file.open(entry) as stream:
                return self._whole(stream, entry)
        with self.path.open("rb") as raw:
            raw.seek(entry.header_offset)
            *_, name, extra = _HEADER.unpack(raw.read(_HEADER.size))
            raw.seek(name + extra, io.SEEK_CUR)
            packed = raw.read(entry.compress_size)
        with _unpacked(packed, self.path) as stream:
            return self._whole(stream, entry)

    def _whole(self, stream: Any, entry: zipfile.ZipInfo) -> bytes:
        data: bytes = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise InputError(
                f"'{entry.filename}' in the archive has more than {LARGEST // 2**20} MiB",
                file=self.path,
                remedy="this is no log of text samples",
            )
        return data


@contextmanager
def archive(path: Path) -> Iterator[Archive]:
    """An opened archive."""
    try:
        file = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"this is no archive that can be read ({error})", file=path) from None
    with file:
        yield Archive(path, file)


def _unpacked(packed: bytes, path: Path) -> Any:
    """A stream of what Zstandard packed, frame after frame."""
    module = _module("compression.zstd")
    if module is not None:
        return module.ZstdFile(io.BytesIO(packed))
    module = _module("zstandard")
    if module is None:
        raise InputError(
            "the log is compressed with Zstandard, which this Python cannot read",
            file=path,
            remedy="run: pip install zstandard; or convert it with: inspect log convert --to json",
        )
    return module.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True)


def _zstandard_error() -> type[Exception]:
    module = _module("compression.zstd") or _module("zstandard")
    error: type[Exception] = getattr(module, "ZstdError", OSError)
    return error


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None
