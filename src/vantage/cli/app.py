"""The verbs, in the order in which data flow through them."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from vantage._version import __version__
from vantage.cli import (
    audit,
    collect,
    corpora,
    demo,
    doctor,
    explain,
    instruments,
    measure,
    models,
    new,
    panel,
    perspective,
    plan,
    rate,
    report,
    runs,
    study,
    train,
    view,
)

ORDER = (
    *("demo", "new", "instruments", "corpora", "collect", "rate", "models", "train", "judge", "runs"),
    *("measure", "explain", "facets", "audit", "panel", "perspective", "plan"),
    *("study", "report", "view", "doctor"),
)
"""The verbs as help lists them."""


class _InOrder(TyperGroup):
    """Lists the verbs in the order in which data flow through them, groups and single ones alike."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(self.commands, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


app = typer.Typer(
    cls=_InOrder,
    help="Measure how people and language models judge text when there is no single right answer.",
    epilog="Start with `vantage demo`, or with `vantage new project NAME` for data of your own. "
    "`vantage VERB --help` explains a verb.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"vantage {__version__}")
        raise typer.Exit


@app.callback()
def _vantage(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    pass


app.command("demo", short_help="A first look, offline: planted truths, a small model, a report.")(demo.demo)
app.add_typer(new.app, name="new", short_help="Create a project, an instrument or a study.")
app.add_typer(instruments.app, name="instruments", short_help="List, show and check instruments: what is asked.")
app.add_typer(corpora.app, name="corpora", short_help="Import, describe, check and export judgments.")
app.add_typer(collect.app, name="collect", short_help="Ask people: serve a study on the web.")
app.command("rate", short_help="Ask a language model.")(rate.rate)
app.add_typer(models.app, name="models", short_help="Find out which settings and outputs a model supports.")
app.command("train", short_help="Learn a rater from people's judgments.")(train.train)
app.command("judge", short_help="Let a trained rater judge texts.")(train.judge)
app.add_typer(runs.app, name="runs", short_help="Look at stored model calls; export or clean them.")
app.command(
    "measure", context_settings=measure.CONTEXT, short_help="Measure agreement, reliability, variation, accuracy."
)(measure.measure)
app.command("explain", short_help="Which traits explain the answers: a mixed model.")(explain.explain)
app.command("facets", short_help="Items, people and models on one scale.")(explain.facets)
app.command("audit", short_help="Do answers depend on the way of asking?")(audit.audit)
app.command("panel", short_help="How many votes several models are worth.")(panel.panel)
app.add_typer(
    perspective.app, name="perspective", short_help="Predict what each user says: split, score and compare systems."
)
app.command("plan", short_help="How many items and raters a goal needs.")(plan.plan)
app.command("study", context_settings=study.CONTEXT, short_help="Run a whole study and write its report.")(study.study)
app.command("report", short_help="Draw a report again, or compare two.")(report.report)
app.command("view", short_help="Look at every judgment in the browser.")(view.view)
app.command("doctor", short_help="Check the installation and say what to do.")(doctor.doctor)
