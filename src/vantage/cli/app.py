"""The verbs, in the order in which data flow through them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from vantage._version import __version__
from vantage.errors import InputError, nearest

VERBS: Final = {
    "demo": ("study:demo", "A first look, offline: planted truths, a small model, a report."),
    "new": ("new:app", "Create a project, an instrument or a study."),
    "instruments": ("instruments:app", "List, show and check instruments: what is asked."),
    "corpora": ("corpora:app", "Import, describe, check and export judgments."),
    "collect": ("collect:app", "Ask people: serve a study on the web."),
    "rate": ("rate:rate", "Ask a language model."),
    "models": ("runs:models", "Find out which settings and outputs a model supports."),
    "train": ("train:train", "Train a rater on people's judgments."),
    "judge": ("train:judge", "Let a trained rater judge texts."),
    "runs": ("runs:app", "Inspect, export, reparse or recover stored model calls."),
    "measure": ("measure:measure", "Measure agreement, reliability, variation, accuracy."),
    "audit": ("report:audit", "Do answers depend on how the question is asked?"),
    "compare-model": ("report:compare_model", "Can a model stand in for people? One page from two files."),
    "perspective": ("perspective:app", "Predict each user's judgments: split, score and compare systems."),
    "plan": ("plan:plan", "How many items and raters do you need?"),
    "plan freeze": ("robust:freeze", "Freeze a plan, with a hash, before you see the data."),
    "plan risk": ("robust:plan_risk", "How many human labels guard against a wrong conclusion?"),
    "robust": ("robust:robust", "Does a conclusion survive other reasonable choices?"),
    "study": ("study:study", "Run a whole study and write its report."),
    "report": ("report:report", "Write the report on a corpus or a study."),
    "card": ("report:card", "One picture of a corpus for a slide or a post."),
    "view": ("report:view", "Explore every judgment in the browser."),
    "doctor": ("doctor:doctor", "Check the installation, with a remedy for each problem."),
}
"""The verbs as help lists them, each with its module and name there: only the one that is called is imported."""
OTHER_VERBS: Final = {
    **dict.fromkeys(("annotate", "label"), ("collect", "rate")),
    **dict.fromkeys(("read", "load"), ("corpora import",)),
    **dict.fromkeys(("predict", "classify"), ("judge", "rate")),
    **dict.fromkeys(("evaluate", "eval"), ("compare-model", "measure accuracy")),
    **dict.fromkeys(("explore", "browse"), ("view",)),
    **dict.fromkeys(("power", "sample-size"), ("plan",)),
    **dict.fromkeys(("multiverse", "robustness"), ("robust",)),
    **dict.fromkeys(("finetune", "fine-tune", "fit"), ("train",)),
}
"""What these verbs are called elsewhere."""
OPEN: Final[dict[str, Any]] = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Of verbs whose further options depend on what is measured or studied: those that take the context."""


class _Commands(Mapping[str, Any]):
    """The commands by name, each made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            place, short = VERBS[name]
            module, _, attribute = place.partition(":")
            offered = getattr(import_module(f"vantage.cli.{module}"), attribute)
            alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
            if isinstance(offered, typer.Typer):
                alone.add_typer(offered, name=name, short_help=short)
            else:
                from vantage.cli.options import GroupedCommand, verb

                taken = signature(offered).parameters
                settings = OPEN if "context" in taken else {}
                # These explain further options when a measure or a study is named.
                settings = {**settings, "help_option_names": []} if "help_" in taken else settings
                alone.command(name, cls=GroupedCommand, short_help=short, context_settings=settings)(verb(offered))
            self._made[name] = typer.main.get_group(alone).commands[name]
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


_Usage: Final[Any] = typer.BadParameter.__mro__[1]
"""What Typer raises for a command that is not understood, whether it brings its own Click or uses another."""


@contextmanager
def _in_a_sentence() -> Iterator[None]:
    """A command that is not understood is bad input like any other: one sentence with a remedy."""
    try:
        yield
    except _Usage as error:
        context = error.ctx
        if context is None or type(error).__name__ == "NoArgsIsHelpError":
            raise
        said = re.sub(r", unable to parse .*|\.$", "", error.format_message().strip())
        raise InputError(f"{said[0].lower()}{said[1:]}", remedy=f"see {context.command_path} --help") from None


class _Verbs(TyperGroup):
    """The verbs in the order in which data flow through them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _Commands()

    @_in_a_sentence()
    def make_context(self, *given: Any, **more: Any) -> Any:
        """The command as it was typed."""
        return super().make_context(*given, **more)

    @_in_a_sentence()
    def invoke(self, ctx: Any) -> Any:
        """Runs it."""
        return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, short) in VERBS.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb, which may have two words: `plan freeze` is one of its own beside `plan`."""
        if " ".join(args[:2]) in VERBS:
            args = [" ".join(args[:2]), *args[2:]]
        elif args and args[0] not in VERBS:
            from vantage.measures import HOMES, OTHER_NAMES

            if args[0].replace("-", "_") in HOMES:
                remedy = f"run: vantage measure {' '.join(args[:2])}"
                raise InputError(f"'{args[0]}' is a measure", remedy=remedy)
            homes = [name for name, verb in self.commands.items() if args[0] in getattr(verb, "commands", {})]
            runs = [f"vantage {home} {args[0]}" for home in homes]
            if not runs and (here := OTHER_NAMES.get(args[0].replace("_", "-"))):
                runs = ["vantage measure " + re.sub(" with (.+)=", r" FOLDER --\1 ", here)]
            runs = runs or [f"vantage {verb}" for verb in OTHER_VERBS.get(args[0], ())]
            remedy = f"run: {' or '.join(runs)}" if runs else nearest(args[0], list(VERBS))
            raise InputError(f"there is no command '{args[0]}'", remedy=remedy)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Verbs,
    help="Measure how people and language models judge text when there is no single right answer.",
    epilog="Start with `vantage demo`, or `vantage new project NAME` for your own data. "
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
