"""`vantage audit`: does a rater answer the question, or the way in which it is put?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

import vantage
from vantage.cli.corpora import with_corpus
from vantage.cli.options import TO, with_output
from vantage.cli.output import Output, print_frame, print_lines, print_tables
from vantage.cli.progress import finished

HIDDEN: Final = (
    "measure",
    "options",
    "left_out",
    "above",
    "below",
    "within",
    "tested",
    "relative",
    "relative_low",
    "relative_high",
)
"""Columns that people do not see."""
SHOWN: Final = (
    "rater",
    "scale",
    "effect",
    "contrast",
    "estimate",
    "low",
    "high",
    "over",
    "unit",
    "limit",
    "p_adjusted",
)
"""What they see of the effects."""


@with_output
@with_corpus
def audit(
    corpus: vantage.Corpus,
    output: Output,
    rater: Annotated[
        list[str] | None, typer.Option(help="A rater, or people; may be repeated. Every model and people without it.")
    ] = None,
    out: Annotated[Path | None, typer.Option(*TO, help="Where to write the page: a folder.")] = None,
) -> None:
    """Does a rater answer the question, or the way in which it is put?

    Order of options, agreement whatever is said, letters, wording, format, repetition, drift: one card per model and
    one for people, each effect with an interval and with what is excluded. `vantage rate --vary` asks in several ways.
    For example:

    vantage audit FOLDER --rater MODEL --to audit
    """
    from vantage.measures import audit as measured
    from vantage.report.audit import audit_report, unknown

    chosen = rater or []
    if output.csv or output.latex:
        output.print(measured(corpus, rater=chosen), HIDDEN)
        return
    report = audit_report(corpus, chosen)
    if out is not None:
        report.write(out)
        finished(report, out, as_json=output.json)
        return
    tables = {table.name: table.frame for table in report.result.tables}
    said = [finding.text for section in report.result.sections for finding in section.findings]
    named = {"audit": "effects", "variance": "components", "reliability": "reliability"}
    if output.json:
        print_tables({name: tables[table] for table, name in named.items() if table in tables}, verdicts=said)
        return
    shares = ("rater", "scale", "component", "variance", "estimate", "low", "high")
    for table, columns in (("audit", SHOWN), ("variance", shares)):
        if table in tables and len(known := tables[table].drop_nulls("estimate")):
            print_frame(known.select(columns), title=named[table].capitalize())
            typer.echo("")
    print_lines([*said, *unknown(tables.get("audit", measured(corpus, rater=chosen)))])
