"""`vantage audit`: how far the answers of models and people depend on the way in which they are asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vantage.cli.corpora import with_corpus
from vantage.cli.options import TO, Output, with_output
from vantage.cli.output import print_frame, print_json

if TYPE_CHECKING:
    from vantage.corpora import Corpus

HIDDEN = (
    *("measure", "options", "left_out", "above", "below", "within"),
    *("relative", "relative_low", "relative_high"),
)
SHOWN = ("rater", "scale", "effect", "contrast", "estimate", "low", "high", "over", "unit", "limit", "p_adjusted")


@with_output
@with_corpus
def audit(
    corpus: Corpus,
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
    import polars as pl

    from vantage.measures.audits.effects import audit as measured
    from vantage.measures.audits.g_study import g_study
    from vantage.report.audit import AuditAnalysis, audit_report, unknown, verdicts

    chosen = rater or []
    if out is not None:
        from vantage.cli.study import finished

        report = audit_report(corpus, chosen)
        report.write(out)
        finished(report, out, as_json=output.json)
        return
    if output.csv or output.latex:
        output.print(measured(corpus, rater=chosen), HIDDEN)
        return
    analysis = AuditAnalysis(corpus, {"rater": chosen})
    sentences = verdicts(analysis)["verdict"].to_list()
    components = g_study(corpus, rater=chosen)
    if output.json:
        reliability = g_study(corpus, rater=chosen, show="reliability")
        frames = {"effects": analysis.effects, "components": components, "reliability": reliability}
        print_json({**{name: frame.to_dicts() for name, frame in frames.items()}, "verdicts": sentences})
        return
    known = analysis.effects.filter(pl.col("estimate").is_not_null())
    if len(known):
        print_frame(known.select(SHOWN), title="Effects")
        typer.echo("")
    shares = components.filter(pl.col("estimate").is_not_null())
    if len(shares):
        print_frame(
            shares.select("rater", "scale", "component", "variance", "estimate", "low", "high"), title="Variance"
        )
        typer.echo("")
    for sentence in [*sentences, *unknown(analysis.effects)]:
        typer.echo(sentence)
