"""The report folder: `study.json`, tables, figures and the page, written so that a crash is seen as such.

`study.json` says `running` before anything else is written and `complete` after everything was. Tables and figures
are prepared beside their place and swapped in whole. The corpus and the store of raw replies stand beside them and
are never touched here.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import polars as pl
from filelock import FileLock, Timeout

from vantage._version import __version__
from vantage.corpora.writers import csv_text
from vantage.corpora.writers.place import put_file, put_folder
from vantage.errors import InputError
from vantage.report.cells import as_json
from vantage.report.latex import latex_table
from vantage.report.ledger import Claim, ledger_frame
from vantage.report.page import EXPLORER, page
from vantage.report.parts import Column, Figure, Finding, Part, Result, Section, Shown, Table
from vantage.report.record import Record
from vantage.report.references import bibtex
from vantage.report.style import COLUMN, drawn, printed

FORMAT: Final = 1
"""The version of the folder; a folder of a higher one was written by a newer Vantage."""
MANIFEST: Final = "study.json"
PAGE: Final = "report.html"
BIBLIOGRAPHY: Final = "references.bib"
LEDGER: Final = "ledger"
"""The ledger of claims, as JSON and as CSV."""
TABLE_FILES: Final = ("*.parquet", "*.csv", "*.tex")
FIGURE_FILES: Final = ("*.parquet", "*.csv", "*.svg", "*.pdf")

WIDEST: Final = 1.3
"""How much wider than a column its labels may make a figure that phones see; text would become too small."""

Stored: TypeAlias = Sequence[tuple[str, pl.DataFrame, Mapping[str, str | bytes]]]
"""Names of parts with their frames, and further files by their endings."""
_PARTS: Final = {"table": Table, "figure": Figure}


@dataclass(frozen=True)
class Report(Shown):
    """A run and what it found: what a folder holds and a page shows."""

    record: Record
    result: Result
    explorer: str = ""
    """The page on which every judgment can be looked at, written beside the report; its numbers lead there."""

    @classmethod
    def read(cls, folder: str | Path) -> Report:
        """The report that a folder holds; of a run that was cut off, whatever is there."""
        folder = Path(folder)
        data = read_manifest(folder)
        try:
            return cls(Record.from_data(data["record"]), _result(folder, data["result"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"this is not a report that can be read ({type(error).__name__}: {error})",
                file=folder / MANIFEST,
                remedy="run the study again",
            ) from None

    def write(self, folder: str | Path, *, pdf: bool = False) -> Path:
        """Writes tables, figures, `study.json` and the page; gives the path of the page. `pdf` adds figures as PDF."""
        folder = Path(folder)
        check(folder)
        result = self.result
        svgs = {figure.name: drawn(figure.draw) for figure in result.figures}
        paper = {figure.name: {"pdf": printed(figure.draw)} for figure in result.figures if pdf}
        tables: Stored = [(table.name, table.frame, {"tex": latex_table(table)}) for table in result.tables]
        figures: Stored = [(f.name, f.data, {"svg": svgs[f.name], **paper.get(f.name, {})}) for f in result.figures]
        for kind, parts, ours in (("tables", tables, TABLE_FILES), ("figures", figures, FIGURE_FILES)):
            put_folder(folder / kind, partial(_put_frames, parts), ours=ours, overwrite=True)
        if self.explorer:
            put_text(folder / EXPLORER, self.explorer)
        narrow = {one.name: svg for one in result.figures if (svg := _narrow(one))}
        beside = {"explorer": EXPLORER if (folder / EXPLORER).is_file() else None, "pdf": pdf}
        text = page(self.record, result, svgs, narrow, beside)
        put_text(folder / PAGE, text)
        frame = ledger_frame(result.ledger)
        put_text(folder / f"{LEDGER}.csv", csv_text(frame))
        rows = [{"verdict": claim.verdict, **asdict(claim)} for claim in result.ledger]
        put_text(folder / f"{LEDGER}.json", as_json(rows, indent=1) + "\n")
        if result.references:
            put_text(folder / BIBLIOGRAPHY, bibtex(result.references))
        self.note(folder)
        return folder / PAGE

    def note(self, folder: Path) -> None:
        """Writes `study.json` alone."""
        head = {"format": FORMAT, "written_by": f"vantage {__version__}"}
        data = {**head, "record": self.record.to_data(), "result": self.result}
        put_text(folder / MANIFEST, json.dumps(data, ensure_ascii=False, indent=1, default=_plain) + "\n")


def _narrow(figure: Figure) -> str:
    """The figure as phones see it; nothing where its labels leave no room for anything else."""
    if not figure.resizable:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="constrained_layout not applied")
            svg = drawn(partial(figure.draw, COLUMN))
    except UserWarning:
        return ""
    wide = re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)
    return svg if wide and float(wide[1]) < WIDEST * 72 * COLUMN else ""


def is_report(folder: Path) -> bool:
    """Whether the folder holds a study, finished or not."""
    return (folder / MANIFEST).is_file()


def check(folder: Path) -> None:
    """Refuses a folder that is not ours to write into."""
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file, not a folder", file=folder, remedy="choose another folder")
    if is_report(folder):
        read_manifest(folder)
    elif folder.is_dir() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
        raise InputError("the folder has files but no study in it", file=folder, remedy="choose a new or empty folder")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keeps other commands out of a folder while a study runs in it."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        held = FileLock(folder / ".study.lock").acquire(timeout=0)
    except Timeout:
        problem = "another command is running a study in this folder"
        raise InputError(problem, file=folder, remedy="wait for it, or choose another --to") from None
    with held:
        yield


def read_manifest(folder: Path) -> dict[str, Any]:
    """The plain data of `study.json`, after its version was looked at."""
    path = folder / MANIFEST
    if not path.is_file():
        problem = "the folder has no study.json" if folder.is_dir() else "there is no such folder"
        raise InputError(problem, file=folder, remedy="make one with: vantage study NAME --to FOLDER")
    try:
        data = json.loads(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise InputError(f"this cannot be read ({error})", file=path, remedy="run the study again") from None
    version = data.get("format") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(version, int):
        raise InputError("this is not the manifest of a study", file=path, remedy="run the study again")
    if version > FORMAT:
        writer = data.get("written_by", "a newer Vantage")
        raise InputError(
            f"the study has format {version} (written by {writer}), this Vantage reads format {FORMAT}",
            file=path,
            remedy="update Vantage",
        )
    return data


def put_text(path: Path, text: str) -> None:
    """Writes a text file in one step."""
    put_file(path, lambda prepared: _write(prepared, text), overwrite=True)


def _write(path: Path, content: str | bytes) -> None:
    # A lone surrogate, which a hostile reply may hold, must not end the report.
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))


def _put_frames(parts: Stored, empty: Path) -> None:
    for name, frame, further in parts:
        # Parquet cannot hold structs without fields (nothing was left out).
        bare = [one for one, dtype in frame.schema.items() if isinstance(dtype, pl.Struct) and not dtype.fields]
        stored = frame.with_columns(pl.lit(None, dtype=pl.String).alias(one) for one in bare)
        stored.write_parquet(empty / f"{name}.parquet")
        for ending, content in {"csv": csv_text(frame), **further}.items():
            _write(empty / f"{name}.{ending}", content)


def _plain(value: Any) -> Any:
    """What JSON cannot hold as plain data: dataclasses by their fields, parts without their frames."""
    if not is_dataclass(value) or isinstance(value, type):
        return str(value)
    fields_of = {
        one.name: getattr(value, one.name) for one in fields(value) if one.name not in ("frame", "data", "ledger")
    }
    if kind := next((name for name, part in _PARTS.items() if isinstance(value, part)), ""):
        rows = {"rows": len(value.frame)} if isinstance(value, Table) else {}
        return {kind: fields_of.pop("name"), **fields_of, **rows}
    return fields_of


def _result(folder: Path, data: Mapping[str, Any]) -> Result:
    sections = [
        Section(one["title"], one["text"], [_part(folder, part) for part in one["parts"]], _findings(one))
        for one in data["sections"]
    ]
    path = folder / f"{LEDGER}.json"
    ledger = [_claim(one) for one in json.loads(path.read_text("utf-8"))] if path.is_file() else []
    return Result(sections, _findings(data), data["warnings"], data["methods"], data.get("references", ()), ledger)


def _findings(data: Mapping[str, Any]) -> list[Finding]:
    return [Finding(one["text"], tuple(map(_claim, one.get("evidence", ())))) for one in data.get("findings", ())]


def _claim(data: Mapping[str, Any]) -> Claim:
    return Claim(**{name: value for name, value in data.items() if name != "verdict"})


def _part(folder: Path, data: Mapping[str, Any]) -> Part:
    kind = next(name for name in _PARTS if name in data)
    options = {name: value for name, value in data.items() if name not in (kind, "rows")}
    frame = _frame(folder / f"{kind}s" / f"{data[kind]}.parquet")
    if kind == "figure":
        return Figure(data[kind], data=frame, **options)
    columns = {
        name: Column(**{**how, "interval": tuple(how["interval"]) if how["interval"] else None})
        for name, how in options.pop("columns").items()
    }
    return Table(data[kind], frame=frame, columns=columns, **options)


def _frame(path: Path) -> pl.DataFrame:
    if not path.is_file():
        raise InputError("the file is missing", file=path, remedy="run the study again")
    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"this cannot be read ({str(error).splitlines()[0]})", file=path) from None
