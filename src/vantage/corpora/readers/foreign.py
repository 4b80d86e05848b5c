"""Files of spreadsheets and statistics packages, read by their own libraries, which are optional extras."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from vantage.corpora.readers.column_facts import stem
from vantage.corpora.readers.headers import crossed_header
from vantage.corpora.readers.table_file import Doubt, FileTable, title_notes
from vantage.errors import InputError
from vantage.notebook.frames import to_polars

_STATISTICS = {f".{kind}": f"read_{kind}" for kind in ("sav", "por", "dta", "sas7bdat")}
_STATISTICS |= {".zsav": "read_sav", ".xpt": "read_xport"}


def read_foreign(path: Path, suffix: str, sheet: str | None = None) -> FileTable:
    """A table of Excel, OpenDocument, SPSS, Stata, SAS or R.

    Value labels come along as `labels`, and what the file declares as missing is empty.
    """
    if path.suffix.lower() != suffix:
        raise InputError(f"a packed {suffix} file cannot be read", file=path, remedy="unpack it first")
    if suffix in _STATISTICS:
        return _statistics(path, suffix)
    return _r(path) if suffix in (".rds", ".rdata", ".rda") else _spreadsheet(path, sheet)


def _library(name: str, path: Path) -> Any:
    try:
        return import_module(name)
    except ImportError:
        problem = f"reading {path.suffix} files needs the package {name.replace('_', '-')}"
        remedy = "run: pip install 'vantage-raters[tables]', or save the table as CSV"
        raise InputError(problem, file=path, remedy=remedy) from None


def _spreadsheet(path: Path, sheet: str | None) -> FileTable:
    calamine = _library("python_calamine", path)
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
        sheets = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names}
    except Exception as error:
        problem = f"this is not a spreadsheet that can be read ({error})"
        raise InputError(problem, file=path, remedy="save it again") from None
    filled = {name: rows for name, rows in sheets.items() if any(any(c != "" for c in row) for row in rows)}
    if sheet is not None and sheet not in sheets:
        raise InputError(f"there is no sheet '{sheet}'", file=path, remedy=f"it has {', '.join(sheets)}")
    if not filled:
        raise InputError("the file is empty", file=path, remedy="check that it was saved")
    legends = {name: legend for name, rows in filled.items() if (legend := _legend(rows)) and name != sheet}
    if len(legends) == len(filled) - 1:
        sheet = sheet or next(name for name in filled if name not in legends)
    if sheet is None and len(filled) > 1:
        first = next(iter(filled))
        problem, remedy = f"the file has {len(filled)} sheets: {', '.join(filled)}", f"say which with --sheet '{first}'"
        raise Doubt(problem, file=path, remedy=remedy, settle={"sheet": first})
    rows = sheets[sheet] if sheet is not None else next(iter(filled.values()))
    filled_cells = [sum(cell != "" for cell in row) for row in rows]
    start = top = next((i for i, count in enumerate(filled_cells) if count), 0)
    several = next((i for i, count in enumerate(filled_cells) if count > 1), start)
    if len(rows) > several + 2 and all(count != 1 for count in filled_cells[several:]):
        start = several  # what is above is a title
    head = [
        [str("" if (plain := _cell(cell)) is None else plain).strip() for cell in row]
        for row in rows[start : start + 30]
    ]
    crossed = crossed_header(head)
    header = crossed.names if crossed else head[0]
    title, start = start, start + (crossed.lines - 1 if crossed else 0)
    body = rows[start + 1 :]
    used = [i for i, name in enumerate(header) if name or any(row[i] != "" for row in body)]
    names = [header[i] or f"column {i + 1}" for i in used]
    if twice := next((name for i, name in enumerate(names) if name in names[:i]), None):
        raise InputError(f"two columns are named '{twice}'", file=path, row=start + 1, remedy="rename one of them")
    kept = [n for n, row in enumerate(body) if any(c != "" for c in row)]
    if not kept:
        raise InputError("the file has a header but no rows", file=path, remedy="check that it was saved")
    columns = [_column(name, [_cell(body[n][i]) for n in kept]) for i, name in zip(used, names, strict=True)]
    notes = title_notes(title if title > top else 0, title + 1)
    frame = pl.DataFrame(columns)
    labels = _labelled(frame, legends.values())
    if labels:
        notes += (f"The sheet '{next(iter(legends))}' says what the codes of {', '.join(list(labels)[:5])} mean.",)
    return FileTable(path, frame, start + 2, pl.Series(kept, dtype=pl.Int64), notes, labels, crossed=crossed)


def _legend(rows: list[list[Any]]) -> list[tuple[str, float, str]]:
    """What codes mean, from a sheet of codes and words, with or without the name of a column in front."""
    cells = [[_cell(cell) for cell in row if cell != ""] for row in rows]
    cells = [row for row in cells if row]
    body = cells[1:] if cells and not any(isinstance(cell, int | float) for cell in cells[0]) else cells
    named = [(str(row[0]) if len(row) > 2 else "", row[-2], row[-1]) for row in body if 2 <= len(row) <= 3]
    fits = [(n, float(c), w.strip()) for n, c, w in named if isinstance(c, int | float) and isinstance(w, str)]
    keys = {(name, code) for name, code, _ in fits}
    return fits if len(body) > 1 and len(fits) == len(body) == len(keys) and len(body) < 200 else []


def _labelled(frame: pl.DataFrame, legends: Iterable[list[tuple[str, float, str]]]) -> dict[str, dict[float, str]]:
    """For each column its words: those of a legend that names it, or of one that has nearly the codes it has."""
    labels: dict[str, dict[float, str]] = {}
    for legend in legends:
        for name in dict.fromkeys(name for name, _, _ in legend):
            words = {code: word for one, code, word in legend if one == name}
            numbers = [c for c in frame.columns if frame[c].dtype.is_numeric() and name in ("", c)]
            for pattern in dict.fromkeys(map(stem, numbers)):
                alike = [column for column in numbers if stem(column) == pattern]
                used = {float(code) for column in alike for code in frame[column].drop_nulls()}
                if used <= set(words) and (name or len(used) >= 0.8 * len(words)):
                    labels |= dict.fromkeys(alike, words)
    return labels


def _cell(cell: Any) -> Any:
    if isinstance(cell, date | datetime | time):
        return cell.isoformat()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    return None if cell == "" else cell


def _column(name: str, cells: list[Any]) -> pl.Series:
    """A column of numbers where all cells are, else of text."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float} or kinds == {bool}:
        return pl.Series(name, cells, dtype=pl.Float64 if float in kinds else None, strict=False)
    return pl.Series(name, [cell if cell is None else str(cell) for cell in cells], dtype=pl.String)


def _statistics(path: Path, suffix: str) -> FileTable:
    pyreadstat = _library("pyreadstat", path)
    try:
        reader = getattr(pyreadstat, _STATISTICS[suffix])
        columns, meta = reader(str(path), output_format="dict", **_catalog(path, suffix))
        declared = reader(str(path), metadataonly=True, user_missing=True)[1] if suffix in (".sav", ".zsav") else meta
    except Exception as error:
        problem = f"this is not a {suffix} file that can be read ({str(error) or type(error).__name__})"
        raise InputError(problem, file=path, remedy="export it again") from None
    if not columns or not len(next(iter(columns.values()))):
        raise InputError("the file has no rows", file=path, remedy="check that it was saved")
    frame = pl.DataFrame([_plain(name, column) for name, column in columns.items()])
    missing = {name: _declared(ranges) for name, ranges in (getattr(declared, "missing_ranges", None) or {}).items()}
    labels: dict[str, dict[float, str]] = {}
    for name, words in meta.variable_value_labels.items():
        for code, word in words.items():
            if isinstance(code, int | float) and not any(lo <= code <= hi for lo, hi in missing.get(name, ())):
                labels.setdefault(name, {})[float(code)] = str(word)
    titles = {name: title for name, title in meta.column_names_to_labels.items() if title and title != name}
    declared_ranges = {name: ranges for name, ranges in missing.items() if ranges}
    codes = dict.fromkeys(_range(lo, hi) for ranges in declared_ranges.values() for lo, hi in ranges)
    where = (
        f"column '{next(iter(declared_ranges), '')}'"
        if len(declared_ranges) == 1
        else f"{len(declared_ranges):,} columns"
    )
    notes = [f"In {where} the file declares as missing: {', '.join(codes)}."] if declared_ranges else []
    return FileTable(path, frame, notes=tuple(notes), labels=labels, titles=titles)


def _catalog(path: Path, suffix: str) -> dict[str, str]:
    """The catalog beside a SAS file, which holds its value labels: of the same name, or the only one."""
    beside = sorted(path.parent.glob("*.sas7bcat")) if suffix == ".sas7bdat" else []
    own = [file for file in beside if file.stem == path.stem] or beside
    return {"catalog_file": str(own[0])} if len(own) == 1 else {}


def _plain(name: str, column: Any) -> pl.Series:
    cells: list[Any] = [None if cell is None or cell == "" or cell != cell else cell for cell in list(column)]  # noqa: PLR0124 - NaN
    return _column(name, [cell.item() if hasattr(cell, "item") else _cell(cell) for cell in cells])


def _declared(ranges: Any) -> list[tuple[float, float]]:
    bounds = [(r["lo"], r["hi"]) if isinstance(r, Mapping) else (r, r) for r in ranges]
    return [(float(lo), float(hi)) for lo, hi in bounds if isinstance(lo, int | float) and isinstance(hi, int | float)]


def _range(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _r(path: Path) -> FileTable:
    pyreadr = _library("pyreadr", path)
    try:
        frames = pyreadr.read_r(str(path))
    except Exception as error:
        problem = f"this is not an R data frame that can be read ({str(error) or type(error).__name__})"
        raise InputError(problem, file=path, remedy="write it again with saveRDS(data.frame)") from None
    if len(frames) != 1:
        named = ", ".join(str(name) for name in frames) or "none"
        raise InputError(f"the file has {len(frames)} data frames ({named})", file=path, remedy="save one with saveRDS")
    frame = to_polars(next(iter(frames.values())))
    assert isinstance(frame, pl.DataFrame)  # noqa: S101
    if frame.is_empty():
        raise InputError("the data frame has no rows", file=path, remedy="check how it was made")
    return FileTable(path, frame)
