"""Tables that paste into a paper: booktabs rules, numbers right-aligned, every cell escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vantage.report.cells import minus, printable, show

if TYPE_CHECKING:
    import polars as pl

    from vantage.report.parts import Cell, Table

LONG: Final = 50
"""Tables with more rows than this run over several pages (longtable)."""

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


def latex(frame: pl.DataFrame) -> str:
    """A bare frame as a booktabs table; columns that say nothing in any row are left out."""
    kept = [name for name in frame.columns if any(show(v) not in ("–", "") for v in frame[name].to_list())]
    frame = frame.select(kept)
    align = "".join("r" if dtype.is_numeric() else "l" for dtype in frame.dtypes)
    heads = [escaped(show(name.replace("_", " "))) for name in frame.columns]
    rows = [[escaped(show(value)) for value in row] for row in frame.iter_rows()]
    return _tabular(align, heads, rows)


def latex_table(table: Table) -> str:
    """A table of a report with its caption, label and notes; over several pages where it is long."""
    heads = table.heads()
    align = "".join("r" if head.numeric else "l" for head in heads)
    titles = [escaped(head.title) for head in heads]
    rows = [[_cell(cell) for cell in row] for row in table.rows()]
    caption = rf"\caption{{{escaped(minus(table.caption))}}}\label{{tab:{table.name}}}"
    notes = [rf"\par\smallskip\footnotesize {escaped(minus(note))}" for note in table.notes]
    if len(rows) > LONG:
        head = [" & ".join(titles) + r" \\", r"\midrule"]
        body = [" & ".join(row) + r" \\" for row in rows]
        first = [
            rf"\begin{{longtable}}{{{align}}}",
            rf"{caption} \\",
            r"\toprule",
            *head,
            r"\endfirsthead",
            r"\toprule",
        ]
        last = [r"\endhead", r"\bottomrule", r"\endlastfoot", *body, r"\end{longtable}", *notes]
        return "\n".join(["% needs \\usepackage{booktabs,longtable}", *first, *head, *last, ""])
    top = ["% needs \\usepackage{booktabs}", r"\begin{table}", r"\centering", caption]
    return "\n".join([*top, _tabular(align, titles, rows).rstrip(), *notes, r"\end{table}", ""])


def _cell(cell: Cell) -> str:
    text = escaped(cell.plain)
    text = rf"\textbf{{{text}}}" if cell.best else text
    return f"{text} {escaped(cell.interval)}" if cell.interval else text


def _tabular(align: str, heads: list[str], rows: list[list[Any]]) -> str:
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", " & ".join(heads) + r" \\", r"\midrule"]
    lines += [" & ".join(row) + r" \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
