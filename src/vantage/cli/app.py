"""The verbs, in the order in which data flow through them."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from vantage._version import __version__
from vantage.cli import (
    audit,
    collect,
    compare_model,
    corpora,
    doctor,
    instruments,
    measure,
    new,
    perspective,
    plan,
    rate,
    report,
    robust,
    runs,
    study,
    train,
)
from vantage.cli.options import GroupedCommand
from vantage.errors import InputError

VERBS: Final[dict[str, tuple[Any, str]]] = {
    "demo": (study.demo, "A first look, offline: planted truths, a small model, a report."),
    "new": (new.app, "Create a project, an instrument or a study."),
    "instruments": (instruments.app, "List, show and check instruments: what is asked."),
    "corpora": (corpora.app, "Import, describe, check and export judgments."),
    "collect": (collect.app, "Ask people: serve a study on the web."),
    "rate": (rate.rate, "Ask a language model."),
    "models": (runs.models, "Find out which settings and outputs a model supports."),
    "train": (train.train, "Learn a rater from people's judgments."),
    "judge": (train.judge, "Let a trained rater judge texts."),
    "runs": (runs.app, "Look at stored model calls; export or clean them."),
    "measure": (measure.measure, "Measure agreement, reliability, variation, accuracy."),
    "audit": (audit.audit, "Do answers depend on the way of asking?"),
    "compare-model": (compare_model.compare_model, "Can a model stand in for people? One page from two files."),
    "perspective": (perspective.app, "Predict what each user says: split, score and compare systems."),
    "plan": (plan.plan, "How many items and raters a goal needs."),
    "plan freeze": (robust.freeze, "Write a plan with a hash before you look."),
    "plan risk": (robust.plan_risk, "How many labels by people keep conclusions from going wrong."),
    "robust": (robust.robust, "Does a conclusion survive other reasonable choices?"),
    "study": (study.study, "Run a whole study and write its report."),
    "report": (report.report, "Write the report on a corpus or a study."),
    "card": (report.card, "One picture of a corpus for a slide or a post."),
    "view": (report.view, "Look at every judgment in the browser."),
    "doctor": (doctor.doctor, "Check the installation and say what to do."),
}
"""The verbs as help lists them."""
OPEN: Final[dict[str, Any]] = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Verbs whose further options depend on what is measured or studied."""
NAMED: Final[dict[str, Any]] = {**OPEN, "help_option_names": []}
"""Those of them whose help depends on it too."""


class _InOrder(TyperGroup):
    """Lists the verbs in the order in which data flow through them, groups and single ones alike."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*VERBS]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb, which may have two words: `plan freeze` is one of its own beside `plan`."""
        if " ".join(args[:2]) in VERBS:
            args = [" ".join(args[:2]), *args[2:]]
        elif args and args[0] not in VERBS:
            from vantage.measures import HOMES

            if args[0].replace("-", "_") in HOMES:
                remedy = f"run: vantage measure {' '.join(args[:2])}"
                raise InputError(f"'{args[0]}' is a measure", remedy=remedy)
        return super().resolve_command(ctx, args)


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


for _name, (_verb, _help) in VERBS.items():
    if isinstance(_verb, typer.Typer):
        app.add_typer(_verb, name=_name, short_help=_help)
    else:
        _open = {"measure": NAMED, "study": NAMED, "plan freeze": OPEN, "plan risk": OPEN, "robust": OPEN}
        _settings = _open.get(_name)
        app.command(_name, cls=GroupedCommand, short_help=_help, context_settings=_settings)(_verb)
