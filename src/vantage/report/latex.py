"""Tables that paste into a paper: booktabs rules, numbers right-aligned, every cell escaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vantage.report import marks
from vantage.report.cells import minus, printable, show

if TYPE_CHECKING:
    import polars as pl

    from vantage.report.parts import Cell, Table

LONG: Final = 50
"""Tables with more rows than this run over several pages (longtable)."""

WIDTH: Final = 345
"""Points of the width of a text: LaTeX's own article."""
GAP: Final = 3
"""Points beside a column where letters are small; otherwise LaTeX's own, 6."""
SIZES: Final = {"": 5.3, r"\small": 4.9, r"\footnotesize": 4.5, r"\scriptsize": 4.2}
"""Sizes of letters, with the points that a character takes."""
LINE: Final = 18
"""Characters of a line in a column that is broken into lines."""
BAR: Final = 1.5
"""Characters that a bar of a mark takes."""
_SPECIAL: Final = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "–": "--",
    "\n": " ",
    "−": "$-$",
    "<": "$<$",
    ">": "$>$",
    "…": r"\dots{}",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "×": r"$\times$",
}


def escaped(text: str) -> str:
    r"""Text in which nothing is a command.

    >>> print(escaped("50 % of $x_1$"))
    50 \% of \$x\_1\$
    """
    return "".join(_SPECIAL.get(c, c) for c in printable(text))


@dataclass(frozen=True, slots=True)
class _Cell:
    """What a cell says and how it is written; its bars cannot be broken."""

    plain: str
    tex: str
    bars: int = 0


@dataclass(frozen=True, slots=True)
class _Column:
    head: str
    numeric: bool
    cells: list[_Cell]

    @property
    def broad(self) -> float:
        """Characters of the longest line."""
        return max([len(self.head), *(len(cell.plain) + BAR * cell.bars for cell in self.cells)])

    @property
    def word(self) -> float:
        """Characters of the longest word, which is not broken."""
        words = [word for text in (self.head, *(cell.plain for cell in self.cells)) for word in text.split()]
        return max([BAR * cell.bars for cell in self.cells] + [float(len(word)) for word in words], default=0.0)


def latex(frame: pl.DataFrame) -> str:
    """A bare frame as a booktabs table; columns that say nothing in any row are left out."""
    shown = {name: [_Cell(text, escaped(text)) for text in map(show, frame[name].to_list())] for name in frame.columns}
    kept = {name: cells for name, cells in shown.items() if any(cell.plain not in ("–", "") for cell in cells)}
    columns = [_Column(show(name.replace("_", " ")), frame.schema[name].is_numeric(), kept[name]) for name in kept]
    return "\n".join([*_tabulars(columns, 0), ""])


def latex_table(table: Table) -> str:
    """A table of a report with its caption, label and notes; over several pages where it is long."""
    heads, rows = table.heads(), list(table.rows())
    cells = [[_Cell(cell.text, _cell(cell), len(cell.mark or ())) for cell in row] for row in rows]
    columns = [_Column(head.title, head.numeric, [row[at] for row in cells]) for at, head in enumerate(heads)]
    keys = sum(head.column in table.keys for head in heads[: len(table.keys)])
    caption = rf"\caption{{{escaped(minus(table.caption))}}}\label{{tab:{table.name}}}"
    notes = [rf"\par\smallskip\footnotesize {escaped(minus(note))}" for note in table.notes]
    if len(rows) > LONG:
        top = ["% needs \\usepackage{array,booktabs,longtable}"]
        lines = [*top, *_tabulars(columns, keys, rf"{caption} \\"), *notes, ""]
    else:
        top = ["% needs \\usepackage{array,booktabs}", r"\begin{table}", r"\centering", caption]
        lines = [*top, *_tabulars(columns, keys), *notes, r"\end{table}", ""]
    return "\n".join(lines)


def _cell(cell: Cell) -> str:
    text = escaped(cell.plain)
    if cell.mark:
        return f"{marks.latex(cell.mark)} {text}"
    text = rf"\textbf{{{text}}}" if cell.best else text
    return f"{text} {escaped(cell.interval)}" if cell.interval else text


def _tabulars(columns: list[_Column], keys: int, caption: str = "") -> list[str]:
    """The lines of a table; in parts, below each other, where its columns do not fit; over pages with a caption."""
    lines: list[str] = []
    narrow, points = [*SIZES.items()][-1]
    for part in _parts(columns, keys):
        # Where a column is too wide even beside those that name a row, all share the width.
        width = (WIDTH - 2 * GAP * len(part)) / points
        size, align = _layout(part) or (narrow, "".join(_aligned(one, width / len(part), points) for one in part))
        head = [" & ".join(escaped(column.head) for column in part) + r" \\", r"\midrule"]
        body = [" & ".join(cell.tex for cell in row) + r" \\" for row in zip(*(c.cells for c in part), strict=True)]
        named = [caption] if not lines else []
        lines += ["", r"\medskip"] if lines else []
        lines += [rf"{{{size}\setlength{{\tabcolsep}}{{{GAP}pt}}"] if size else []
        if caption:
            lines += [rf"\begin{{longtable}}{{{align}}}", *named, r"\toprule", *head, r"\endfirsthead", r"\toprule"]
            lines += [*head, r"\endhead", r"\bottomrule", r"\endlastfoot", *body, r"\end{longtable}"]
        else:
            lines += [rf"\begin{{tabular}}{{{align}}}", r"\toprule", *head, *body, r"\bottomrule", r"\end{tabular}"]
        lines += ["}"] if size else []
    return lines


def _parts(columns: list[_Column], keys: int) -> list[list[_Column]]:
    """All columns, or as many beside each other as fit, each time with those that name a row."""
    parts = [columns[: keys + 1]]
    for column in columns[keys + 1 :]:
        if _layout([*parts[-1], column]):
            parts[-1].append(column)
        else:
            parts.append([*columns[:keys], column])
    return parts


def _layout(columns: list[_Column]) -> tuple[str, str] | None:
    """The size of letters and the widths at which columns fit: as they are, in lines, or as narrow as words allow."""
    broad, words = [column.broad for column in columns], [column.word for column in columns]
    lines = [min(most, max(least, LINE)) for most, least in zip(broad, words, strict=True)]
    for least, sizes in ((broad, [*SIZES][:2]), (lines, [*SIZES]), (words, [*SIZES])):
        for size in sizes:
            room = (WIDTH - 2 * (GAP if size else 6) * len(columns)) / SIZES[size]
            if sum(least) <= room:
                more = (room - sum(least)) / (sum(broad) - sum(least) or 1.0)
                widths = [n + more * (most - n) for n, most in zip(least, broad, strict=True)]
                return size, "".join(map(_aligned, columns, widths, [SIZES[size]] * len(columns)))
    return None


def _aligned(column: _Column, width: float, points: float) -> str:
    if width >= column.broad:
        return "r" if column.numeric else "l"
    side = r"\raggedleft" if column.numeric else r"\raggedright"
    return rf">{{{side}\arraybackslash}}p{{{width * points:.0f}pt}}"
