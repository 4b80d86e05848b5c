"""The page: one self-contained HTML file that needs no network, no framework and, for reading, no script.

Everything is escaped by the template. The page's own policy (CSP) allows the one style sheet and the one script that
are part of it, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from vantage.report.cells import printable, show
from vantage.report.inline import inline
from vantage.report.parts import Figure, Result, Section, Table
from vantage.report.record import Record
from vantage.report.references import cited
from vantage.scales import STATUSES

ROWS: Final = 200
"""How many rows of a table stand in the page; all of them stand in its files."""
LONG: Final = 36
"""Cells with more characters than this are broken into lines."""
NOT_ANSWERED: Final = ("refused", "unparsed", "failed")


def page(record: Record, result: Result, drawings: Mapping[str, str]) -> str:
    """The report of a study as one HTML page.

    Args:
        record: What the run was.
        result: What it found.
        drawings: The SVG of each figure.
    """
    sections = [_section(section, drawings) for section in result.sections]
    text: str = template("report.html").render(
        **furniture(),
        title=record.title or record.study,
        record=record,
        result=result,
        sections=_anchored(sections),
        outcomes=outcomes(record),
        options=[{"name": name, "value": value_text(value)} for name, value in record.options.items()],
        verdicts=_verdicts(result.tables),
        cited=cited(result.references),
    )
    return text


def furniture() -> dict[str, Any]:
    """The style sheet, the script and the policy that allows them."""
    style, script = _file("report.css"), _file("report.js")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src 'sha256-{_digest(style)}'",
            f"script-src 'sha256-{_digest(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return {"style": Markup(style), "script": Markup(script), "policy": Markup(policy)}  # noqa: S704 - our own files


@cache
def template(name: str) -> Any:
    """A template of the page; whatever it is given is escaped, and a name it does not know is an error."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["clean"] = lambda value: printable(str(value))
    environment.filters["show"] = show
    environment.loader = FunctionLoader(_file)
    return environment.get_template(name)


def table_view(table: Table, limit: int = ROWS, *, files: bool = True) -> dict[str, Any]:
    """A table as the template shows it."""
    rows = list(table.rows(limit))
    heads = table.heads()
    longest = [max((len(row[place].plain) for row in rows), default=0) for place in range(len(heads))]
    return {
        "kind": "table",
        "name": table.name,
        "caption": table.caption,
        "notes": table.notes,
        "heads": heads,
        "rows": rows,
        "widths": ["long" if length > LONG else "short" for length in longest],
        "total": len(table.frame),
        "limit": limit,
        "published": table.published,
        "files": files,
        "base": "",
    }


def figure_view(figure: Figure, svg: str, prefix: str = "", base: str = "") -> dict[str, Any]:
    """A figure as the template shows it."""
    drawing = inline(svg, f"figure-{prefix}{figure.name}", printable(figure.alt))
    told = {"kind": "figure", "name": figure.name, "caption": figure.caption, "base": base}
    return {**told, "drawing": Markup(drawing)}  # noqa: S704 - written by Matplotlib and taken apart by `inline`


def outcomes(record: Record) -> list[dict[str, Any]]:
    """What became of every question, by rater; with what was planned where that is known."""
    rows = []
    for rater, counts in record.counts.items():
        total = sum(counts.values())
        declined = sum(counts.get(status, 0) for status in STATUSES if status not in ("answered", *NOT_ANSWERED))
        named = {status: counts.get(status, 0) for status in ("answered", *NOT_ANSWERED)}
        rows.append(
            {"rater": rater, "planned": record.planned.get(rater), "total": total, "declined": declined, **named}
        )
    for rater, planned in record.planned.items():
        if rater not in record.counts:
            nothing = dict.fromkeys(("total", "declined", "answered", *NOT_ANSWERED), 0)
            rows.append({"rater": rater, "planned": planned, **nothing})
    return rows


def value_text(value: Any) -> str:
    """The value of an option for people."""
    if value is None or value in ("", []):
        return "not set"
    return show(value, 6 if isinstance(value, float) and not value.is_integer() else None)


def _section(section: Section, drawings: Mapping[str, str]) -> dict[str, Any]:
    views = [
        table_view(part) if isinstance(part, Table) else figure_view(part, drawings[part.name])
        for part in section.parts
    ]
    return {"title": section.title, "text": section.text, "findings": section.findings, "parts": views}


def _anchored(sections: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sections with anchors, and with tables and figures numbered through."""
    numbers = {"table": 0, "figure": 0}
    found = []
    for place, section in enumerate(sections, 1):
        for view in section["parts"]:
            numbers[view["kind"]] += 1
            view["number"] = numbers[view["kind"]]
        slug = re.sub(r"[^a-z0-9]+", "-", section["title"].lower()).strip("-")[:40]
        found.append({**section, "anchor": f"s{place}-{slug}"})
    return found


def _verdicts(tables: Iterable[Table]) -> dict[str, int]:
    """How many published figures were matched, differ, or cannot be recomputed."""
    found: dict[str, int] = {}
    for table in tables:
        if table.published:
            for verdict in table.frame["verdict"]:
                found[verdict] = found.get(verdict, 0) + 1
    return found


def _file(name: str) -> str:
    return (resources.files("vantage.report") / "templates" / name).read_text("utf-8").strip()


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
