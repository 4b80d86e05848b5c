"""Header rows of all kinds: titles above the names of columns, two rows of names that cross, wordings below them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from vantage.corpora.readers.table_file import CrossedHeader, FileTable, numeric
from vantage.errors import InputError

WORDED: Final = re.compile(r"[^\W\d]{2}.*\s.*[^\W\d]{2}")
"""Several words."""


def crossed_header(rows: Sequence[Sequence[str]]) -> CrossedHeader | None:
    """The header of a table whose first two rows cross; null for other tables.

    A name of the first row holds until the next one, as in a merged cell.

    >>> crossed_header([["id", "ann", "", "bob", ""], ["", "q1", "q2", "q1", "q2"], ["t1", "4", "3", "5", "2"]]).names
    ('id', 'ann [q1]', 'ann [q2]', 'bob [q1]', 'bob [q2]')
    """
    width = max((len(row) for row in rows), default=0)
    cells = [[*(cell.strip() for cell in row), *[""] * (width - len(row))] for row in rows]
    if len(cells) < 3:
        return None
    top, second, *body = cells
    above: list[str] = []
    for cell in top:
        above.append(cell or (above[-1] if above else ""))
    often = Counter(second)
    both = {n: (above[n], second[n]) for n in range(width) if above[n] and second[n] and often[second[n]] > 1}
    sizes = [len({names[row] for names in both.values()}) for row in (0, 1)]
    if min(sizes) < 2 or len(set(both.values())) < len(both) or len(both) < 0.75 * sizes[0] * sizes[1]:
        return None
    beside = [n for n in range(width) if n not in both]
    answers = {row[n] for row in body for n in both}
    if all(top[n] and second[n] for n in beside) and {other for _, other in both.values()} <= answers:
        return None  # the second row is one of answers
    third = len(body) > 1 and beside and not any(body[0][n] for n in both) and all(body[0][n] for n in beside)
    names = [(body[0][n] if third else "") or second[n] or top[n] or f"column {n + 1}" for n in range(width)]
    names = [f"{both[n][0]} [{both[n][1]}]" if n in both else name for n, name in enumerate(names)]
    said = next(((top[n], second[n]) for n in beside if top[n] and second[n]), ("", ""))
    return CrossedHeader(tuple(names), tuple(names[n] for n in both), said, 3 if third else 2)


def without_header_rows(table: FileTable) -> FileTable:
    """A table without the two further header rows of Qualtrics: the wording of the questions, and import ids."""
    frame = table.frame
    if len(frame) < 2 or not any("ImportId" in str(cell) for cell in frame.row(1)):
        return without_wording(table)
    titles = {name: " ".join(str(cell).split()) for name, cell in zip(frame.columns, frame.row(0), strict=True) if cell}
    beside = tuple(name for name, cell in zip(frame.columns, frame.row(1), strict=True) if '"QID' not in str(cell))
    notes = ["The file is a Qualtrics export: its second and third row are headers."]
    kept = pl.arange(2, len(frame), eager=True) if table.kept is None else table.kept[2:]
    frame = frame[2:]
    if "Status" in frame.columns:
        real = ~frame["Status"].is_in(["Survey Preview", "Survey Test", "1", "2", "Spam", "8"]).fill_null(value=False)
        if not real.all():
            notes.append(f"{int((~real).sum()):,} previews and test responses of Qualtrics were left out.")
            frame, kept = frame.filter(real), kept.filter(real)
    if frame.is_empty():
        raise InputError("the file has headers but no responses", file=table.path, remedy="check the export")
    return replace(table, frame=frame, kept=kept, titles=titles, beside=beside, notes=(*table.notes, *notes))


def without_wording(table: FileTable) -> FileTable:
    """A table without a second header row: a wording where all other cells of most columns are numbers."""
    frame = table.frame
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String and frame[name][0] is not None]
    if sum(bool(WORDED.search(frame[name][0])) for name in texts) < 2:
        return table
    below = frame.select(texts)[1:].select(pl.all().cast(pl.Float64, strict=False).is_not_null().all())
    numbers = [name for name in texts if len(frame) > 3 and below[name][0] and re.search(r"[^\W\d]", frame[name][0])]
    worded = [name for name in numbers if WORDED.search(frame[name][0])]
    if len(worded) < 2 or 2 * len(worded) < max(len(numbers), len(frame.columns) - 3):
        return table
    return replace(
        table,
        frame=frame[1:].with_columns(numeric(frame[1:][n]) for n in numbers),
        kept=pl.arange(1, len(frame), eager=True) if table.kept is None else table.kept[1:],
        titles={name: " ".join(str(frame[name][0]).split()) for name in texts},
        notes=(*table.notes, "The second row is a header too: it words the questions."),
    )
