"""Opening the files that people have: every failure ends in one sentence that names file, row and remedy."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal

import polars as pl

from vantage.corpora.readers.foreign import read_foreign
from vantage.corpora.readers.headers import crossed_header, without_header_rows, without_wording
from vantage.corpora.readers.table_file import ROW, CrossedHeader, Doubt, FileRows, FileTable, Scratch, title_notes
from vantage.errors import InputError
from vantage.notebook.frames import to_polars

_HEAD: Final = 65_536
LARGE: Final = 256 * 2**20
"""From this size in bytes on, a CSV file is streamed instead of read into memory."""

SUFFIXES: Final = {
    ".csv": "csv",
    **dict.fromkeys((".tsv", ".tab", ".txt"), "tsv"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    ".json": "json",
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), "foreign"),
    **dict.fromkeys((".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt", ".rds", ".rdata", ".rda"), "foreign"),
}
PACKED: Final = (".gz", ".bz2", ".xz", ".zip")


def released(path: Path | str) -> Path:
    """The path, or the same one in the folder of published data that the variable VANTAGE_DATA names."""
    given, folder = Path(path), os.environ.get("VANTAGE_DATA")
    return there if folder and not given.exists() and (there := Path(folder) / given).exists() else given


def find(path: Path | str, *names: str) -> Path:
    """The file itself, or the first of several names inside a folder (also one level further down)."""
    path = Path(path)
    if path.is_file():
        return path
    if not path.exists():
        raise InputError("there is no such file or folder", file=path, remedy="check the path")
    for name in names:
        if file := next((p for pattern in (name, f"*/{name}") for p in sorted(path.glob(pattern))), None):
            return file
    if not names:
        raise InputError("this is a folder, not a file", file=path, remedy="name a file inside it")
    deeper = next((p for name in names for depth in ("*/*", "*/*/*") for p in path.glob(f"{depth}/{name}")), None)
    remedy = f"it is further down; name {deeper.parent}" if deeper else "check the path"
    raise InputError(f"the folder has no file {' or '.join(names)}", file=path, remedy=remedy)


def text_of(path: Path, encoding: str = "utf-8") -> str:
    """The text of a file, with or without a byte-order mark, whatever its line ends."""
    return _decoded(path, bytes_of(path), encoding)


def _decoded(path: Path, data: bytes, encoding: str) -> str:
    if encoding == "utf-8":
        encoding = _marked(data[:_HEAD]) or encoding
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        row = data[: error.start].count(b"\n") + 1
        guess, seen = _guessed(data, error.start)
        problem = f"the text is not {encoding.upper()}"
        remedy = f"pass --encoding {guess}, in which this place reads '{seen}'"
        raise Doubt(problem, file=path, row=row, remedy=remedy, settle={"encoding": guess}) from None
    except LookupError:
        raise InputError(f"there is no encoding '{encoding}'", remedy="try utf-8, latin-1 or cp1252") from None


def _marked(head: bytes) -> str | None:
    """The encoding that a byte-order mark tells, or the zero bytes of UTF-16 without one."""
    for encoding, *marks in (
        ("utf-8-sig", codecs.BOM_UTF8),
        ("utf-32", codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
        ("utf-16", codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    ):
        if head.startswith(tuple(marks)):
            return encoding
    pairs = len(head) // 2
    for offset, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if pairs > 1 and head[offset : 2 * pairs : 2].count(0) > 0.6 * pairs:
            return encoding
    return None


def _guessed(data: bytes, start: int) -> tuple[str, str]:
    """An encoding that the bytes may be in, and how the first odd place reads in it."""
    part = data[max(0, start - 12) : start + 12]
    for encoding in ("cp1252", "mac-roman", "latin-1"):
        try:
            data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding, " ".join(part.decode(encoding).split())
    return "latin-1", part.decode("latin-1")


def bytes_of(path: Path) -> bytes:
    """The content of a file; one that is packed (.gz, .bz2, .xz, or .zip with one table in it) is unpacked."""
    try:
        with _unpacked(path) as file:
            data = file.read(most_unpacked(path) + 1 if path.suffix.lower() in PACKED else -1)
    except _DAMAGED as error:
        raise _damaged(path, error) from None
    if path.suffix.lower() in PACKED:
        check_unpacked(path, len(data))
    return data


def most_unpacked(path: Path) -> int:
    """How many bytes a packed file may hold: tables shrink to a hundredth at best, bombs to a thousandth."""
    return LARGE + 200 * path.stat().st_size


def check_unpacked(path: Path, size: int) -> None:
    """Refuses a packed file that holds more than tables do."""
    if size > most_unpacked(path):
        problem = f"the file unpacks to more than {most_unpacked(path) / 2**20:,.0f} MiB, as no table does"
        raise InputError(problem, file=path, remedy="unpack it yourself if you trust it")


_DAMAGED: Final = (OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile, zlib.error, RuntimeError)


def _unpacked(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".zip":
        member = _member(path)
        with zipfile.ZipFile(path) as archive:
            return archive.open(member)
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    opened: IO[bytes] = openers.get(path.suffix.lower(), open)(path, "rb")
    return opened


def _damaged(path: Path, error: Exception) -> InputError:
    what = getattr(error, "strerror", None) or "it is damaged or not what its name says"
    return InputError(f"the file cannot be read ({what})", file=path, remedy="download or export it again")


def _member(path: Path) -> str:
    """The one table in a zip file."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.startswith("__MACOSX")]
    except (OSError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or "this is not a zip file"
        raise InputError(f"the file cannot be read ({reason})", file=path, remedy="download it again") from None
    named = [name for name in names if Path(name).suffix.lower() in SUFFIXES]
    if len(named) != 1:
        reason = f"{len(named)} tables ({', '.join(named[:5])})" if named else "no table"
        raise InputError(f"the zip file has {reason}", file=path, remedy="unpack it and name one file")
    return named[0]


def _suffix(path: Path) -> str:
    """What a file holds, by its name; that of a packed one is the name inside."""
    last = path.suffix.lower()
    if last == ".zip":
        return Path(_member(path)).suffix.lower()
    return Path(path.stem).suffix.lower() if last in PACKED else last


def read_table(
    path: Path,
    encoding: str = "utf-8",
    *,
    separator: str | None = None,
    quotes: Literal["literal"] | None = None,
    sheet: str | None = None,
) -> FileTable:
    """Any table by its suffix: CSV and TSV with every column as text, the others as they are.

    Args:
        path: The file; it may be packed (.gz, .bz2, .xz, .zip).
        encoding: Of a text file.
        separator: Between the cells of a CSV file; found by itself where it is not given.
        quotes: `literal` where quotation marks are part of the text and enclose nothing.
        sheet: The sheet of a spreadsheet with several.
    """
    path = find(path)
    suffix = _suffix(path)
    kind = SUFFIXES.get(suffix)
    if kind in ("csv", "tsv") and _is_json_lines(path, encoding):
        kind = "jsonl"
    if kind in ("csv", "tsv"):
        table = read_csv(path, separator, encoding, quotes=quotes, checked=True)
        return table if table.crossed else without_header_rows(table)
    if kind == "foreign":
        if zipfile.is_zipfile(path):  # as spreadsheets are
            try:
                with zipfile.ZipFile(path) as archive:
                    check_unpacked(path, sum(entry.file_size for entry in archive.infolist()))
            except _DAMAGED as error:
                raise _damaged(path, error) from None
        table = read_foreign(path, suffix, sheet)
        return table if table.crossed else without_wording(table)
    if kind == "parquet":
        return FileTable(path, read_parquet(path))
    if kind == "jsonl":
        return FileTable(path, frame_of(path, list(read_jsonl(path, encoding))))
    if kind == "json" or (kind is None and path.is_file() and _head_of(path).lstrip()[:1] in (b"{", b"[")):
        return FileTable(path, frame_of(path, _row_objects(path, encoding)))
    remedy = f"use one of {', '.join(SUFFIXES)}"
    raise InputError(f"files named '{suffix or path.name}' are not known", file=path, remedy=remedy)


def _is_json_lines(path: Path, encoding: str) -> bool:
    """Whether a text file has an object in its first line, whatever its name says."""
    head = _head_of(path)
    if path.suffix.lower() in PACKED or head.lstrip()[:1] != b"{":
        return False
    try:
        return isinstance(json.loads(head.decode(encoding, "replace").lstrip().split("\n", 1)[0]), dict)
    except (ValueError, LookupError, RecursionError):
        return False


def _row_objects(path: Path, encoding: str) -> list[dict[str, Any]]:
    """The rows of a JSON file: a list of objects, objects by their ids, such a list under one name, or one a line."""
    try:
        rows = read_json(path, encoding)
    except InputError:
        lines = text_of(path, encoding).strip().split("\n")
        if len(lines) < 2 or not all(line.strip()[:1] == "{" and line.strip()[-1:] == "}" for line in lines[:2]):
            raise
        return list(read_jsonl(path, encoding))
    if isinstance(rows, dict) and len(rows) == 1 and isinstance(next(iter(rows.values())), list):
        rows = next(iter(rows.values()))
    if isinstance(rows, dict) and rows and all(isinstance(row, dict) for row in rows.values()):
        key = next(name for name in ("id", "key", "__id") if not any(name in row for row in rows.values()))
        rows = [{key: name, **row} for name, row in rows.items()]
    if isinstance(rows, dict) and rows and not any(isinstance(value, dict | list) for value in rows.values()):
        rows = [rows]
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError("the file is not a list of row objects", file=path, remedy="use JSON Lines or CSV")
    return rows


def open_rows(
    source: Path | str | Any,
    encoding: str = "utf-8",
    separator: str | None = None,
    quotes: Literal["literal"] | None = None,
    sheet: str | None = None,
) -> FileRows:
    """The rows of a file or of a frame for queries; those of a large CSV or Parquet file stay on the disk."""
    if not isinstance(source, str | Path):
        return frame_table(source).rows()
    path = find(source)
    kind = SUFFIXES.get(_suffix(path))
    size = path.stat().st_size * (8 if path.suffix.lower() in PACKED else 1)
    if size >= LARGE and kind in ("csv", "tsv") and b"ImportId" not in _head_of(path):
        streamed = _scan_csv(path, separator, encoding, quotes)
        if streamed is not None:
            return streamed
    if size >= LARGE and kind == "parquet":
        lazy = pl.scan_parquet(path)
        return FileRows(path, _with_rows(lazy, 1), lazy.collect_schema(), streamed=True)
    return read_table(path, encoding, separator=separator, quotes=quotes, sheet=sheet).rows()


def frame_table(data: Any) -> FileTable:
    """A frame of any library (Polars, pandas, PyArrow …) as a table whose rows are counted from 1."""
    frame = to_polars(data)
    if frame is None:
        problem = f"{type(data).__name__} is neither a file nor a frame with named columns"
        raise InputError(problem, remedy="give a path, or a frame of Polars, pandas or PyArrow")
    frame = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    if frame.is_empty():
        raise InputError("the frame has no rows", remedy="check how it was made")
    return FileTable(Path("frame"), frame)


def read_csv(
    path: Path,
    separator: str | None = ",",
    encoding: str = "utf-8",
    *,
    quotes: Literal["literal"] | None = None,
    checked: bool = False,
) -> FileTable:
    """A CSV file with every column as text; empty cells are null and blank lines are passed over.

    Byte-order marks and any line ends are accepted; of a file that strict CSV readers refuse (a stray
    quotation mark, say) as much is understood as Python's own reader understands. With `checked` it is refused
    instead: a quotation mark that is never closed swallows rows.
    """
    data = bytes_of(path) if path.suffix.lower() in PACKED else None
    head = _head_of(path) if data is None else data[:_HEAD]
    source: Path | bytes = path if data is None else data
    if not _is_plain(head, encoding):
        text = _decoded(path, bytes_of(path) if data is None else data, encoding)
        source = text.replace("\r\n", "\n").replace("\r", "\n").encode()
        head = source[:_HEAD]
    form = _form(path, head, separator, quotes, titled=checked)
    frame: pl.DataFrame | None = None
    try:
        head.split(b"\n", 1)[0].decode()
        frame = pl.read_csv(source, **form.options)
    except (pl.exceptions.PolarsError, UnicodeDecodeError, pl.exceptions.PanicException):
        pass
    if frame is None or (checked and form.quote is not None and _may_swallow(source, len(frame) + form.skipped)):
        text = text_of(path, encoding) if isinstance(source, Path) else source.decode()
        header, *rows = _slow_rows(path, io.StringIO(text.removeprefix("\ufeff"), newline=""), form, checked=checked)
        frame = pl.DataFrame(rows, schema=dict.fromkeys(map(str, header), pl.String), orient="row")
    names = _names_of(path, frame.columns, form.crossed)
    # Spreadsheets write separators for columns that have neither a name nor cells.
    unnamed = [] if form.crossed else [name for name in frame.columns if not name.split("_duplicated_")[0].strip()]
    frame = frame.drop(name for name in unnamed if frame[name].null_count() == len(frame)).rename(names, strict=False)
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if blank.all():
        raise InputError("the file has a header but no rows", file=path, remedy="check that it was saved")
    kept = (~blank).arg_true() if blank.any() else None
    held = frame if kept is None else frame[kept]
    return FileTable(path, held, form.first_row, kept, form.notes, crossed=form.crossed)


def _scan_csv(path: Path, separator: str | None, encoding: str, quotes: Literal["literal"] | None) -> FileRows | None:
    """A CSV file that is too large for the memory, as `read_csv` reads it with `checked`.

    Null where Polars cannot stream it as it is: packed, in another encoding, with line ends of its own, with cells that
    span lines.
    """
    head = _head_of(path)
    if path.suffix.lower() in PACKED or not _is_plain(head, encoding):
        return None
    scratch, form = Scratch(), _form(path, head, separator, quotes, titled=True)
    stored = scratch.path / "rows.parquet"
    try:
        head.split(b"\n", 1)[0].decode()
        count = _store(path, pl.scan_csv(path, **form.options), form, stored)
    except (pl.exceptions.PolarsError, UnicodeDecodeError, pl.exceptions.PanicException):
        return None
    if form.quote is not None and _may_swallow(path, count + form.skipped):
        return None
    lazy = pl.scan_parquet(stored).filter(~pl.col("__blank")).drop("__blank")
    if lazy.head(1).collect().is_empty():
        raise InputError("the file has a header but no rows", file=path, remedy="check that it was saved")
    schema = lazy.drop(ROW).collect_schema()
    return FileRows(path, lazy, schema, streamed=True, notes=form.notes, scratch=scratch, crossed=form.crossed)


def _store(path: Path, lazy: pl.LazyFrame, form: _Form, to: Path) -> int:
    """Writes the rows of a large file to where they can be queried by column, and says how many there are."""
    lazy = lazy.rename(_names_of(path, lazy.collect_schema().names(), form.crossed))
    lazy = lazy.with_columns(pl.all_horizontal(pl.all().is_null()).alias("__blank"))
    _with_rows(lazy, form.first_row).sink_parquet(to, compression="lz4", row_group_size=20_000)
    count: int = pl.scan_parquet(to).select(pl.len()).collect().item()
    return count


def _with_rows(lazy: pl.LazyFrame, first: int) -> pl.LazyFrame:
    return lazy.with_row_index(ROW, first).with_columns(pl.col(ROW).cast(pl.Int64))


@dataclass(frozen=True, slots=True)
class _Form:
    """How a CSV file is written."""

    separator: str
    quote: str | None
    skipped: int
    """Lines above the header."""
    titles: int = 0
    """Those of them that are a title."""
    crossed: CrossedHeader | None = None
    """The names of the columns, where they take two rows."""

    @property
    def first_row(self) -> int:
        return 2 + self.skipped

    @property
    def notes(self) -> tuple[str, ...]:
        return title_notes(self.titles, self.skipped + 1)

    @property
    def options(self) -> dict[str, Any]:
        """For the reader of Polars."""
        how: dict[str, Any] = {"separator": self.separator, "quote_char": self.quote, "infer_schema": False}
        return how | ({"skip_lines": self.skipped} if self.skipped else {})


def _form(path: Path, head: bytes, separator: str | None, quotes: Literal["literal"] | None, *, titled: bool) -> _Form:
    # A first line that only Excel understands names the separator.
    named = re.match(rb"(?:\xef\xbb\xbf)?\"?sep=(.)\"?\r?\n", head)
    separator = named[1].decode("latin-1") if named is not None else separator
    below = head[named.end() :] if named is not None else head
    if not below.removeprefix(codecs.BOM_UTF8).strip():
        raise InputError("the file is empty", file=path, remedy="check that it was saved")
    usual = "\t" if path.suffix.lower() in (".tsv", ".tab", ".txt") else ","
    mark, quote = _separator(below, usual, separator), None if quotes == "literal" else '"'
    first = below.split(b"\n", 1)[0]
    likely = [mark] if separator or mark.encode() in first else [",", ";", "\t", "|"]
    lines = [(_title_lines(below, one), one) for one in likely] if titled else []
    titles, mark = max(lines, default=(0, mark), key=lambda one: one[0])
    skipped = titles + int(named is not None)
    crossed = crossed_header(_first_rows(below, mark)[titles:]) if titled else None
    return _Form(mark, quote, skipped + (crossed.lines - 1 if crossed else 0), titles, crossed)


def _first_rows(head: bytes, separator: str) -> list[list[str]]:
    """The cells of the first lines, none of which may span several."""
    lines = head.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()[:30]
    rows = list(csv.reader(lines, delimiter=separator))
    return rows if len(rows) == len(lines) else []


def _title_lines(head: bytes, separator: str) -> int:
    """How many lines stand above the header: blank or a title, where all lines below have the same several cells."""
    rows = _first_rows(head, separator)
    first = next((n for n, row in enumerate(rows) if sum(bool(cell.strip()) for cell in row) > 1), 0)
    table = rows[first : first + 20]
    padded = bool(first) and len(rows[0]) == len(table[0])
    if not first or len(table) < 3 or len(table[0]) < (2 if padded else 3):
        return 0
    return first if all(len(row) == len(table[0]) for row in table if row) else 0


def _is_plain(head: bytes, encoding: str) -> bool:
    """Whether Polars can read a file as it is; lone carriage returns end lines only where there are no others."""
    lone = b"\r" in head and b"\n" not in head
    return encoding == "utf-8" and _marked(head) in (None, "utf-8-sig") and not lone


def _names_of(path: Path, columns: Sequence[str], crossed: CrossedHeader | None) -> dict[str, str]:
    """The names of columns as they are written in the header, without spaces around them; none may occur twice."""
    plain = [name.split("_duplicated_")[0].strip() or f"column {n}" for n, name in enumerate(columns, 1)]
    names = [*crossed.names, *plain[len(crossed.names) :]] if crossed else plain
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"two columns are named '{twice}'", file=path, row=1, remedy="rename one of them")
    return dict(zip(columns, names, strict=True))


def _separator(head: bytes, usual: str, given: str | None) -> str:
    """The separator as given, or the one that the header has most of outside quotation marks, the usual one first."""
    if given is not None:
        if len(given.encode()) != 1:
            raise InputError(f"the separator '{given}' is not one character", remedy="use , or ; or a tab")
        return given
    header = re.sub(rb'"[^"\n]*"', b"", head.split(b"\n", 1)[0])
    return max((usual, ",", ";", "\t", "|"), key=lambda separator: header.count(separator.encode()))


def _may_swallow(source: Path | bytes, rows: int) -> bool:
    """Whether rows may be missing: quotation marks do not balance, or there are more lines than rows."""
    marks = lines = 0
    last = b""
    with source.open("rb") if isinstance(source, Path) else io.BytesIO(source) as file:
        while part := file.read(1 << 24):
            marks, lines, last = marks + part.count(b'"'), lines + part.count(b"\n"), part[-1:]
    return marks > 0 and (marks % 2 == 1 or lines - 1 + (last != b"\n") > rows)


def _slow_rows(path: Path, lines: Iterable[str], form: _Form, *, checked: bool) -> Iterator[list[str | None]]:
    """Header and rows by Python's reader, which can also say where a file goes wrong; `checked` refuses stray marks."""
    how: dict[str, Any] = {"delimiter": form.separator, "quoting": csv.QUOTE_MINIMAL if form.quote else csv.QUOTE_NONE}
    reader = csv.reader(lines, strict=checked, **how)
    count, line = 0, 1
    try:
        for _ in range(form.skipped):
            next(reader, [])
        header = next(reader, [])
        yield [f"{name}_duplicated_{i}" if name in header[:i] else name for i, name in enumerate(header)]
        line = reader.line_num + 1
        for row in reader:
            spans = reader.line_num > line
            if len(row) > len(header) or (checked and spans and 1 < len(row) < len(header)):
                problem = f"there are {len(row)} cells under {len(header)} column names"
                remedy = "put quotation marks around cells that contain the separator"
                raise InputError(problem, file=path, row=count + form.first_row, remedy=remedy)
            yield [*(cell or None for cell in row), *[None] * (len(header) - len(row))]
            count, line = count + 1, reader.line_num + 1
    except csv.Error as error:
        if not checked:
            raise InputError(f"this is not a CSV file ({error})", file=path, row=count + form.first_row) from None
        problem = f"a quotation mark in line {line} does not match, so that rows would be swallowed"
        remedy = "double it inside a quoted cell, or pass --quotes literal where marks are part of the text"
        settle = {"quotes": "literal"}
        raise Doubt(problem, file=path, row=count + form.first_row, remedy=remedy, settle=settle) from None


def read_json(path: Path, encoding: str = "utf-8") -> Any:
    """A JSON file; one that ends too early or is not JSON is an error with its line."""
    text = text_of(path, encoding)
    if not text.strip():
        raise InputError("the file is empty", file=path, remedy="check that it was saved")
    try:
        try:
            data = json.loads(text)
        except json.JSONDecodeError:
            # A comma before a closing bracket is the commonest slip, and means nothing.
            data = json.loads(re.sub(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', lambda m: m[1] or "", text))
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg
        what = "the JSON ends too early" if cut else f"this is not JSON ({error.msg})"
        raise InputError(what, file=path, row=error.lineno, remedy="download or export the file again") from None
    except (RecursionError, ValueError):
        problem = "this is not JSON that can be read (nested too deeply)"
        raise InputError(problem, file=path, remedy="export it as CSV") from None
    return _whole_text(data, path)


def read_jsonl(path: Path, encoding: str = "utf-8") -> Iterator[dict[str, Any]]:
    """The objects of a JSON Lines file, one a line."""
    rows = 0
    for number, line in enumerate(text_of(path, encoding).split("\n"), 1):
        if not line.strip():
            continue
        try:
            value, what = json.loads(line), "a JSON object"
        except (RecursionError, ValueError):
            value, what = None, "JSON"
        if not isinstance(value, dict):
            raise InputError(f"this is not {what}", file=path, row=number, remedy="put one object on each line")
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
        raise InputError("this is not a readable Parquet file", file=path, remedy="export it again") from None


def frame_of(path: Path, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Row objects as a frame; a column that mixes types is named with the row where it starts to."""
    kinds: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        for name, value in row.items():
            kind = _KINDS.get(type(value), "other")
            if value is not None and kinds.setdefault(name, kind) != kind:
                problem, remedy = f"the column mixes {kinds[name]} and {kind}", "write all its values in the same form"
                raise InputError(problem, file=path, row=number, column=name, remedy=remedy)
    try:
        return pl.from_dicts(rows, infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError, pl.exceptions.PanicException):
        raise InputError("the rows cannot be read as one table", file=path, remedy="use CSV") from None


_KINDS: Final = {bool: "true or false", int: "numbers", float: "numbers", str: "text", list: "lists", dict: "objects"}


def _head_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", file=path) from None
