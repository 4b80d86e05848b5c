"""Cells of a table as people read them: rounded, with thousands apart, nothing where nothing is known.

And tables that paste into a paper: booktabs rules, numbers right-aligned, every cell escaped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import polars as pl

    from vantage.report.parts import Cell, Table

MISSING: Final = "–"
"""Stands where there is no value."""
_NEGATIVE: Final = re.compile(r"(?<![\w.)\]-])-(?=\.?\d)")
_ZERO: Final = re.compile(r"(?<![\w.)\]-])-(0(?:\.0+)?)(?![\d.])")
_NO_CHANCE: Final = re.compile(r"\b([pP]\w*\s*)=\s*0?\.000+(?!\d)")
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


def show(value: Any, digits: int | None = None) -> str:
    """A cell for people; floats with three digits unless told otherwise.

    >>> show(0.59731), show(25777), show(None), show({"refused": 2, "failed": 0}), show(-0.0004, 2)
    ('0.597', '25,777', '–', '2 refused', '0.00')
    """
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number(value, digits)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{show(count)} {name}" for name, count in value.items() if count) or MISSING
    if isinstance(value, list | tuple):
        texts = [show(v, digits) for v in value]
        return ", ".join(texts) if any(one != MISSING for one in texts) else MISSING
    return printable(str(value))


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, in the singular or the plural.

    >>> counted(1, "row"), counted(2500, "row"), counted(0, "query", "queries")
    ('1 row', '2,500 rows', '0 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def p_value(value: float) -> str:
    """A p value: three digits without the zero before the point, and never naught.

    >>> p_value(0.0342), p_value(0.00004), p_value(0.0009999), p_value(1.0)
    ('.034', '< .001', '< .001', '1.000')
    """
    if not math.isfinite(value):
        return MISSING
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _number(value: float, digits: int | None) -> str:
    if not math.isfinite(value):
        return MISSING
    if digits is None and value.is_integer():
        return f"{value:,.0f}"
    places = 3 if digits is None else digits
    # Adding zero turns a rounded -0.0 into 0.0.
    return f"{round(value, places) + 0.0:,.{places}f}"


def minus(text: str) -> str:
    """Text in which the hyphen before a number is a minus sign, nothing is minus zero and no p value is naught.

    >>> minus("r = -0.15, between -0.00 and 0.3 (e-mail), p = 0.000")
    'r = −0.15, between 0.00 and 0.3 (e-mail), p < .001'
    """
    return _NO_CHANCE.sub(r"\1< .001", _NEGATIVE.sub("−", _ZERO.sub(r"\1", text)))


def printable(text: str) -> str:
    """Text without control characters, which could otherwise drive a terminal or break a page."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def finite(data: Any) -> Any:
    """Plain data without NaN and infinities, which JSON does not have.

    >>> finite({1: [float("nan"), 2.5]})
    {'1': [None, 2.5]}
    """
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {str(key): finite(value) for key, value in data.items()}
    return [finite(value) for value in data] if isinstance(data, list | tuple) else data


def shortened(text: str, most: int) -> str:
    """Text cut to a length, with an ellipsis where something was cut.

    >>> shortened("people with a very long name", 12)
    'people with…'
    """
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


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
