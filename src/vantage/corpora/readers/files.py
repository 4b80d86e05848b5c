"""Opening the files that people have: every failure ends in one sentence that names file, row and remedy."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.errors import InputError

_HEAD: Final = 65_536

SUFFIXES: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def find(path: Path | str, *names: str) -> Path:
    """The file itself, or the first of several names inside a folder (also one level further down)."""
    path = Path(path)
    if path.is_file():
        return path
    if not path.exists():
        raise InputError("there is no such file or folder", file=path, remedy="check the path")
    for name in names:
        if found := next((p for pattern in (name, f"*/{name}") for p in sorted(path.glob(pattern))), None):
            return found
    raise InputError(f"the folder has no file {' or '.join(names)}", file=path, remedy="check the path")


def text_of(path: Path, encoding: str = "utf-8") -> str:
    """The text of a file, with or without a byte-order mark, whatever its line ends."""
    data = _bytes_of(path)
    if encoding == "utf-8":
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            encoding = "utf-16"
        elif data.startswith(codecs.BOM_UTF8):
            data = data[len(codecs.BOM_UTF8) :]
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        row = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"the text is not {encoding.upper()}",
            file=path,
            row=row,
            remedy="name the encoding with --encoding, such as latin-1",
        ) from None
    except LookupError:
        raise InputError(f"there is no encoding '{encoding}'", remedy="try utf-8, latin-1 or cp1252") from None


@dataclass(frozen=True, slots=True)
class Table:
    """A table from a file that still knows in which row of the file each of its rows stands."""

    path: Path
    frame: pl.DataFrame
    first_row: int = 1
    """The row of the file in which the first row of the table stands: 2 below a header line."""
    kept: pl.Series | None = None
    """The rows that were kept, counted from 0, where blank lines were dropped."""

    def row(self, index: int) -> int:
        """The row of the file for a row of the frame, counted from 0."""
        return (index if self.kept is None else int(self.kept[index])) + self.first_row

    def column(self, name: str, purpose: str = "") -> pl.Series:
        """A column that has to be there."""
        if name not in self.frame.columns:
            what = f" for {purpose}" if purpose else ""
            raise InputError(
                f"there is no column '{name}'{what}",
                file=self.path,
                remedy=f"it has {_names(self.frame.columns)}",
            )
        return self.frame[name]

    def require(self, *names: str) -> None:
        """Refuses a table in which one of these columns is missing, naming them all."""
        if missing := [name for name in names if name not in self.frame.columns]:
            what = "is no column" if len(missing) == 1 else "are no columns"
            raise InputError(
                f"there {what} {_names(missing)}",
                file=self.path,
                remedy=f"it has {_names(self.frame.columns)}",
            )

    def numbers(self, name: str) -> pl.Series:
        """A column as numbers; the first cell that is none is named with its row."""
        column = self.column(name)
        if column.dtype.is_numeric():
            return column.cast(pl.Float64)
        stripped = column.cast(pl.String).str.strip_chars()
        stripped = stripped.set(stripped == "", None)
        values = stripped.cast(pl.Float64, strict=False)
        if values.null_count() > stripped.null_count():
            index = (values.is_null() & stripped.is_not_null()).arg_max() or 0
            raise InputError(
                f"'{column[index]}' is not a number",
                file=self.path,
                row=self.row(index),
                column=name,
                remedy="correct the cell",
            )
        return values


def read_table(path: Path, encoding: str = "utf-8") -> Table:
    """Any table by its suffix: CSV and TSV with every column as text, JSON Lines and Parquet as they are."""
    path = find(path)
    kind = SUFFIXES.get(path.suffix.lower())
    if kind in ("csv", "tsv"):
        return read_csv(path, _separator(path, "\t" if kind == "tsv" else ","), encoding)
    if kind == "parquet":
        return Table(path, read_parquet(path))
    if kind == "jsonl":
        return Table(path, frame_of(path, list(read_jsonl(path, encoding))))
    if kind == "json":
        rows = read_json(path, encoding)
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise InputError("the file is not a list of row objects", file=path, remedy="use JSON Lines or CSV")
        return Table(path, frame_of(path, rows))
    raise InputError(
        f"files named '{path.suffix or path.name}' are not known",
        file=path,
        remedy=f"use one of {', '.join(SUFFIXES)}",
    )


def read_csv(path: Path, separator: str = ",", encoding: str = "utf-8") -> Table:
    """A CSV file with every column as text; empty cells are null and blank lines are passed over.

    Byte-order marks and any line ends are accepted; of a file that strict CSV readers refuse (a stray
    quotation mark, say) as much is understood as Python's own reader understands.
    """
    source: Path | bytes = path
    head = _head_of(path)
    plain = encoding == "utf-8" and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if not plain or (b"\r" in head and b"\n" not in head):
        source = text_of(path, encoding).replace("\r\n", "\n").replace("\r", "\n").encode()
        head = source[:_HEAD]
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise InputError("the file is empty", file=path, remedy="check that it was saved")
    try:
        head.split(b"\n", 1)[0].decode()
        frame = pl.read_csv(source, separator=separator, infer_schema=False)
    except (pl.exceptions.PolarsError, UnicodeDecodeError, pl.exceptions.PanicException):
        frame = _read_csv_slowly(path, text_of(path, encoding), separator)
    names = [name.split("_duplicated_")[0].strip() for name in frame.columns]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"two columns are named '{twice}'", file=path, row=1, remedy="rename one of them")
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if blank.all():
        raise InputError("the file has a header but no rows", file=path, remedy="check that it was saved")
    if not blank.any():
        return Table(path, frame, 2)
    kept = (~blank).arg_true()
    return Table(path, frame[kept], 2, kept)


def _separator(path: Path, usual: str) -> str:
    """The usual separator, or the one that stands in the header instead, as spreadsheets of many countries write it."""
    header = _head_of(path).split(b"\n", 1)[0].replace(b"\0", b"")
    counts = {separator: header.count(separator.encode()) for separator in (usual, ",", ";", "\t", "|")}
    return usual if counts[usual] else max(counts, key=lambda separator: counts[separator])


def _read_csv_slowly(path: Path, text: str, separator: str) -> pl.DataFrame:
    """The same with Python's tolerant reader, which can also say where a file goes wrong."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows: list[list[str | None]] = []
    try:
        header = next(reader, [])
        for row in reader:
            if len(row) > len(header):
                raise InputError(
                    f"there are {len(row)} cells under {len(header)} column names",
                    file=path,
                    row=len(rows) + 2,
                    remedy="put quotation marks around cells that contain the separator",
                )
            rows.append([*(cell or None for cell in row), *[None] * (len(header) - len(row))])
    except csv.Error as error:
        raise InputError(f"this is not a CSV file ({error})", file=path, row=len(rows) + 2) from None
    columns = [f"{name}_duplicated_{i}" if name in header[:i] else name for i, name in enumerate(header)]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def read_json(path: Path, encoding: str = "utf-8") -> Any:
    """A JSON file; one that ends too early or is not JSON is told with its line."""
    text = text_of(path, encoding)
    if not text.strip():
        raise InputError("the file is empty", file=path, remedy="check that it was saved")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg
        what = "the JSON ends too early" if cut else f"this is not JSON ({error.msg})"
        raise InputError(what, file=path, row=error.lineno, remedy="download or export the file again") from None
    except (RecursionError, ValueError):
        raise InputError("this is not JSON that can be read (nested too deeply)", file=path) from None
    return _whole_text(data, path)


def read_jsonl(path: Path, encoding: str = "utf-8") -> Iterator[dict[str, Any]]:
    """The objects of a JSON Lines file, one a line."""
    rows = 0
    for number, line in enumerate(text_of(path, encoding).split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (RecursionError, ValueError):
            raise InputError("this is not JSON", file=path, row=number, remedy="put one object on each line") from None
        if not isinstance(value, dict):
            raise InputError("this is not a JSON object", file=path, row=number, remedy="put one object on each line")
        rows += 1
        yield _whole_text(value, path, number)
    if not rows:
        raise InputError("the file is empty", file=path, remedy="check that it was saved")


def _whole_text(data: Any, path: Path, row: int | None = None) -> Any:
    """JSON data, refused where a text has half a character (a lone surrogate), which no table can hold."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InputError("a text has half a character", file=path, row=row, remedy="export the file again") from None
    return data


def read_parquet(path: Path) -> pl.DataFrame:
    """A Parquet file."""
    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException):
        raise InputError("this is not a Parquet file that can be read", file=path, remedy="export it again") from None


def frame_of(path: Path, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Row objects as a frame; a column that mixes types is named with the row where it starts to."""
    kinds: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        for name, value in row.items():
            kind = _KINDS.get(type(value), "other")
            if value is not None and kinds.setdefault(name, kind) != kind:
                raise InputError(
                    f"the column mixes {kinds[name]} and {kind}",
                    file=path,
                    row=number,
                    column=name,
                    remedy="write all its values in the same form",
                )
    try:
        return pl.from_dicts(rows, infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError, pl.exceptions.PanicException):
        raise InputError("the rows cannot be read as one table", file=path, remedy="use CSV") from None


_KINDS: Final = {
    bool: "true or false",
    int: "numbers",
    float: "numbers",
    str: "text",
    list: "lists",
    dict: "objects",
}


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:20])
    return f"{shown} and {len(names) - 20} more" if len(names) > 20 else shown


def _head_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", file=path) from None


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", file=path) from None
