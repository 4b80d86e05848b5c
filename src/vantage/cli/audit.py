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
    from vantage.measures.audits.effects import audit as measured
    from vantage.measures.variance.reliability import reliability
    from vantage.report.audit import AuditAnalysis, audit_report, unknown, verdicts

    chosen = rater or []
    if out is not None:
        report = audit_report(corpus, chosen)
        report.write(out)
        finished(report, out, as_json=output.json)
        return
    if output.csv or output.latex:
        output.print(measured(corpus, rater=chosen), HIDDEN)
        return
    analysis = AuditAnalysis(corpus, {"rater": chosen})
    said = verdicts(analysis)["verdict"].to_list()
    components = reliability(corpus, by="rater", presentations=True, rater=chosen, show="components")
    if output.json:
        means = reliability(corpus, by="rater", presentations=True, rater=chosen)
        frames = {"effects": analysis.effects, "components": components, "reliability": means}
        print_tables(frames, verdicts=said)
        return
    shares = ("rater", "scale", "component", "variance", "estimate", "low", "high")
    for title, frame, columns in (("Effects", analysis.effects, SHOWN), ("Variance", components, shares)):
        if len(known := frame.drop_nulls("estimate")):
            print_frame(known.select(columns), title=title)
            typer.echo("")
    print_lines([*said, *unknown(analysis.effects)])
