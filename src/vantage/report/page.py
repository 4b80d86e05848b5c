"""The page: one self-contained HTML file that needs no network, no framework and, for reading, no script.

Everything is escaped by the template. The page's own policy (CSP) allows the one style sheet and the one script that
are part of it, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

import polars as pl
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from vantage.report.cells import counted, minus, printable, shortened, show
from vantage.report.doors import doors
from vantage.report.marks import svg
from vantage.report.parts import Cell, Figure, Part, Result, Table
from vantage.report.record import Record
from vantage.report.references import cited
from vantage.report.style import inline
from vantage.scales import NO_OPT_OUTS, UNANSWERED

ROWS: Final = 200
"""How many rows of a table stand in the page; all of them stand in its files."""
FOLDED: Final = 15
"""Tables with more rows than this show the first ten until they are unfolded."""
FOLDED_CARDS: Final = 5
"""On a phone, where a row is a card."""
LONG: Final = 36
"""Cells with more characters than this are broken into lines."""
BRIEF_CELL: Final = 12
"""Cells of a column with at most so many characters, such as names, stay on one line."""
WORD: Final = 20
"""Words with more characters than this may be broken within."""
BRIEF: Final = 300
"""Characters of caveats that are shown; more are folded."""
PAGE_WIDTH: Final = 1190
"""Pixels of a table on a page of 1280."""
PHONE_WIDTH: Final = 340
PAPER_WIDTH: Final = 580
EXPLORER: Final = "explorer.html"
"""The page on which every judgment can be looked at, beside the report."""
_WORD: Final = re.compile(rf"(\S{{{WORD + 1},}})")
_PIECES: Final = re.compile(rf".{{1,{WORD}}}?[/_:|+=&.-](?=.)|.{{1,{WORD}}}")


def page(
    record: Record,
    result: Result,
    drawings: Mapping[str, str],
    narrow: Mapping[str, str] | None = None,
    beside: Mapping[str, Any] | None = None,
) -> str:
    """The report of a study as one HTML page; `beside` says where its `explorer` is, and whether there are PDFs."""
    opening, sections = _numbered(result, drawings, narrow or {}, beside or {"explorer": None, "pdf": False})
    style, script = _file("report.css"), _file("report.js")
    ours = {"style": style, "script": script, "policy": policy(style, script)}
    text: str = template("report.html").render(
        **{name: Markup(one) for name, one in ours.items()},  # noqa: S704 - our own files
        title=record.title or record.study,
        record=record,
        result=result,
        opening=opening,
        sections=sections,
        caveats=caveats([*(record.missing if record.state == "complete" else ()), *result.warnings]),
        outcomes=outcomes(record),
        options=[{"name": name, "value": value_text(value)} for name, value in record.options.items()],
        # How many published figures were matched, differ, or cannot be recomputed.
        verdicts=Counter(verdict for table in result.tables if table.published for verdict in table.frame["verdict"]),
        cited=cited(result.references),
    )
    return text


@cache
def template(name: str) -> Any:
    """A template of the page; whatever it is given is escaped, and a name it does not know is an error."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"clean": lambda value: printable(str(value)), "soft": soft}
    # Sentences of a report, not those of its items: these are quoted as they are.
    environment.filters["prose"] = lambda value: kept_together(minus(printable(str(value))))
    environment.filters |= {"show": show, "counted": counted, "shortened": shortened}
    environment.filters["mark"] = lambda value: Markup(svg(value))  # noqa: S704 - escaped there
    environment.loader = FunctionLoader(_file)
    return environment.get_template(name)


def kept_together(text: str) -> str:
    """Text in which no line ends between a number and its unit or its sign."""
    return text.replace(" %", "\u00a0%").replace("< .", "<\u00a0.").replace(" = ", "\u00a0=\u00a0")


def soft(text: str) -> Markup:
    r"""Text whose long words may be broken, and whose numbers keep their unit.

    >>> soft("a_very_long_name_of_a_column & 5 %")
    Markup('a_<wbr>very_<wbr>long_<wbr>name_<wbr>of_<wbr>a_<wbr>column &amp; 5\xa0%')
    """
    return Markup("").join(Markup("<wbr>").join(map(escape, pieces)) for pieces in _pieces(text))


def _pieces(text: str) -> list[list[str]]:
    """Text as words and what is between them; long words in pieces between which they may be broken."""
    parts = _WORD.split(kept_together(printable(text)))
    return [_PIECES.findall(one) if place % 2 else [one] for place, one in enumerate(parts)]


def table_view(table: Table, limit: int = ROWS, *, files: bool = True) -> dict[str, Any]:
    """A table as the template shows it: how dense it must be to fit, and whether rows are folded or become cards."""
    rows = list(table.rows(limit))
    heads = table.heads()
    cells = [[row[place] for row in rows] for place in range(len(heads))]
    longest = [max((len(cell.text) for cell in column), default=0) for column in cells]
    words = [_word(head.title, column) for head, column in zip(heads, cells, strict=True)]
    narrow = [max(least, most) if most <= BRIEF_CELL else least for least, most in zip(words, longest, strict=True)]
    broad = [max(least, min(most, LONG)) for least, most in zip(narrow, longest, strict=True)]
    classes = {
        "dense": _pixels(broad, 8.4, 16) > PAGE_WIDTH,
        "cards": len(heads) > 3 or _pixels(narrow, 9.2, 16) > PHONE_WIDTH,
        "tight": _pixels(narrow, 7.4, 10) > PAPER_WIDTH,
        "always": _pixels(narrow, 8.0, 12) > PAGE_WIDTH,
    }
    return {
        "kind": "table",
        "name": table.name,
        "caption": table.caption,
        "notes": table.notes,
        "heads": heads,
        "rows": rows,
        "widths": ["long" if length > LONG else "brief" if length <= BRIEF_CELL else "" for length in longest],
        "classes": " ".join(name for name, holds in classes.items() if holds),
        "fold": "" if len(rows) <= FOLDED_CARDS else "fold" if len(rows) > FOLDED else "fold phone",
        "total": len(table.frame),
        "limit": limit,
        "published": table.published,
        "files": files,
        "explorer": None,
        **dict(zip(("door", "doors"), doors(table, limit), strict=True)),
    }


def _word(title: str, cells: Iterable[Cell]) -> int:
    """Characters of the longest word of a column that cannot be broken."""
    texts = [title, *(text for cell in cells for text in (cell.plain, cell.interval))]
    return max(len(word) for text in texts for pieces in _pieces(text) for one in pieces for word in one.split(" "))


def _pixels(widths: Iterable[int], character: float, padding: float) -> float:
    """How wide a table is, in a typeface that runs wide."""
    return sum(width * character + padding for width in widths)


def figure_view(figure: Figure, svg: str, narrow: str = "") -> dict[str, Any]:
    """A figure as the template shows it, with what phones see instead."""
    words, name = printable(figure.in_words), f"figure-{figure.name}"
    drawing = inline(svg, name, words) + (inline(narrow, f"{name}-narrow", words) if narrow else "")
    view = {"kind": "figure", "name": figure.name, "caption": figure.caption, "narrow": bool(narrow)}
    return {**view, "drawing": Markup(drawing)}  # noqa: S704 - written by Matplotlib and taken apart by `inline`


def outcomes(record: Record) -> dict[str, Any] | None:
    """How many judgments are answered, refused or unreadable, by rater; with what was planned where that is known."""
    rows = []
    for rater in dict.fromkeys([*record.counts, *record.planned]):
        counts = record.counts.get(rater, {})
        declined = sum(count for status, count in counts.items() if status not in NO_OPT_OUTS)
        known = {"judgments": sum(counts.values()), "answered": counts.get("answered", 0), "opted_out": declined}
        rest = {status: counts.get(status, 0) for status in UNANSWERED}
        rows.append({"rater": rater, "planned": record.planned.get(rater), **known, **rest})
    if not rows:
        return None
    frame = pl.DataFrame(rows, schema_overrides={"planned": pl.Int64})
    return table_view(Table("outcomes", "Judgments by rater", frame), files=False)


def value_text(value: Any) -> str:
    """The value of an option for people."""
    if value is None or value in ("", []):
        return "not set"
    return show(value, 6 if isinstance(value, float) and not value.is_integer() else None)


def _numbered(
    result: Result, drawings: Mapping[str, str], narrow: Mapping[str, str], beside: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """The part that opens the page and all sections, with anchors and with parts numbered in the order of reading."""
    first = _opening(result)
    order = [*([first] if first else []), *(part for part in result.parts if part is not first)]
    views: dict[int, dict[str, Any]] = {}
    numbers, noted, captioned = Counter[str](), set[str](), dict[str, str]()
    for part in order:
        if isinstance(part, Table):
            view = {**table_view(part), **beside}
        else:
            view = {**figure_view(part, drawings[part.name], narrow.get(part.name, "")), **beside}
        # Numbers run apart for tables and figures; what several tables note is said at the first of them.
        numbers[view["kind"]] += 1
        notes = [note for note in view.get("notes", ()) if note not in noted]
        noted.update(notes)
        view |= {"number": numbers[view["kind"]], "above": False, "notes": notes}
        # A figure of a table is said to be that: no caption stands twice on the page.
        label = captioned.setdefault(part.caption, f"{view['kind']} {view['number']}".capitalize())
        again = view["kind"] == "figure" and label.startswith("Table")
        views[id(part)] = {**view, "caption": f"{label} as a picture."} if again else view
    top, sections = {finding.text for finding in result.findings}, []
    for place, section in enumerate(result.sections, 1):
        slug = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-")[:40]
        parts = [{**views[id(part)], "above": part is first} for part in section.parts]
        said = [one for one in section.findings if one.text not in top]
        heading = {"title": section.title, "text": section.text, "findings": said}
        sections.append({**heading, "parts": parts, "anchor": f"s{place}-{slug}"})
    return views.get(id(first)), sections


def _opening(result: Result) -> Part | None:
    """The figure of the first section with parts, or its table where that is short: it follows the findings."""
    parts = next((section.parts for section in result.sections if section.parts), [])
    figures: list[Part] = [part for part in parts if isinstance(part, Figure)]
    short = [part for part in parts if isinstance(part, Table) and 0 < len(part.frame) <= FOLDED]
    return next(iter([*figures, *short]), None)


def caveats(sentences: list[str]) -> dict[str, Any]:
    """What must be known besides: in full where it is short, otherwise folded."""
    return {"sentences": sentences, "folded": len(sentences) > 3 or sum(map(len, sentences)) > BRIEF}


def _file(name: str) -> str:
    return (resources.files("vantage.report") / "templates" / name).read_text("utf-8").strip()


def policy(style: str, script: str, images: str = "data:") -> str:
    """What a page may load: its own style sheet and its own script, by their hashes, and images of some schemes."""
    sheet, code = (
        base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") for text in (style, script)
    )
    allowed = f"style-src 'sha256-{sheet}'; script-src 'sha256-{code}'; img-src {images}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
