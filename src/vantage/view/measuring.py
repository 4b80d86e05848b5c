"""Any measure from a form: the table, the figure and the sentences that reports show, and how to reproduce them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from inspect import Parameter
from typing import Any, Final

from vantage.corpora import Corpus
from vantage.measures import by_columns, find, parse_options, registry, values_of
from vantage.measures.option_text import FROM_PYTHON
from vantage.report import Figure, Table
from vantage.report.page import counted_views, figure_view, table_view, template
from vantage.report.sentences import decide
from vantage.report.style import drawn
from vantage.report.views import present, who_of

ROWS: Final = 500
"""How many rows of a result the page shows."""


def listed() -> list[dict[str, Any]]:
    """Every measure with the options that can be written into a form."""
    rows = []
    for measure in sorted(registry().values(), key=lambda one: (one.family, one.name)):
        takes = {name: values_of(kind) for name, kind in measure.types.items() if name in measure.options}
        needed = [name for name, parameter in measure.options.items() if parameter.default is Parameter.empty]
        if any(takes[name] == FROM_PYTHON for name in needed):
            continue
        options = [
            {"name": name, "takes": takes[name], "default": _default(measure.options[name]), "needed": name in needed}
            for name in measure.options
            if takes[name] != FROM_PYTHON
        ]
        rows.append({"name": measure.name, "family": measure.family, "summary": measure.summary, "options": options})
    return rows


def measured(corpus: Corpus, name: str, given: Mapping[str, str], folder: str) -> dict[str, Any]:
    """The result of a measure as HTML of the report's own templates, its rows, and the lines that reproduce it."""
    measure = find(name)
    by = [column.strip() for column in given.get("by", "").split(",") if column.strip()]
    words = [f"--{key.replace('_', '-')}={value}" for key, value in given.items() if key != "by" and value != ""]
    options = parse_options(measure, words)
    if by:
        options["by"] = by
    selection = measure.whose(corpus, options)
    frame = measure.function(corpus, **options)
    who = who_of(selection.data) if isinstance(selection.data, Corpus) else ""
    presented = present(
        frame, measure.view, name=measure.name, by=by_columns(measure.grouping(corpus, options)), who=who
    )
    show = template("parts.html").module.show
    html = [str(show({**view, "files": False})) for view in counted_views(map(_view, presented.parts))]
    python = ", ".join(["corpus", *(f"{key}={value!r}" for key, value in options.items() if value not in (None, []))])
    command = ["vantage", "measure", measure.name, folder, *(["--by", ",".join(by)] if by else []), *words]
    return {
        "measure": measure.name,
        "title": measure.view.title or measure.name,
        "sentences": [finding.text for findings in decide(list(presented.statements)) for finding in findings],
        "html": "".join(html),
        "left_out": selection.sentence,
        "command": shlex.join(command),
        "python": f"vantage.measures.{measure.name.replace('-', '_')}({python})",
        "rows": frame.head(ROWS).drop("measure", "options", strict=False).to_dicts(),
    }


def _view(part: Any) -> dict[str, Any]:
    if isinstance(part, Table):
        return {**table_view(part, ROWS, files=False), "explorer": ""}  # in this page
    if isinstance(part, Figure):
        return figure_view(part, drawn(part.draw).svg)
    raise TypeError(f"a measure shows tables and figures, not {type(part).__name__}")


def _default(parameter: Parameter) -> str:
    value = parameter.default
    if value is Parameter.empty or value is None or value in ((), []):
        return ""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
