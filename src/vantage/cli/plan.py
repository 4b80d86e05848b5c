"""`vantage plan`: how many items and raters a goal needs; `vantage collect rehearse`: what a study will be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

import vantage
from vantage import collect
from vantage.cli.options import Values, filtered, options_of
from vantage.cli.output import VerbResult, VerbTable, sentences, tables, write_figure
from vantage.cli.progress import moving, working
from vantage.errors import InputError

SIMULATED: Final = ("alpha", "alt-test")
DURING: Final = ("target", "question", "delta", "models", "epsilon", "seed")
"""Options that `--during` takes too."""
Planned = Annotated[
    Values,
    options_of(
        "planning/plan.py",
        "plan",
        only="goal target question delta models epsilon budget price components prevalence agreement rater_share batch "
        "raters most_per_item model_items seed",
        flags={"most_per_item": "--most"},
    ),
]


def plan(
    pilot: Path | None = None,
    *,
    planned: Planned,
    population: str | None = None,
    during: bool = False,
    looks: int = 1,
    figure: Path | None = None,
    settings: bool = False,
    to: Path | None = None,
    where: list[str],
) -> VerbTable | None:
    """Plan a collection: the items, answers per item and people that a goal needs, from a pilot or from variances.

    For example:

    vantage plan PILOT --goal alpha --target 0.2 --budget 2000 --price 0.12

    vantage plan --prevalence 0.3 --agreement 0.4 --goal mean --target 0.05

    vantage plan --during CORPUS --goal alpha --target 0.2

    vantage plan PILOT --population census --target 0.1

    Arguments:
        pilot ([CORPUS]): A pilot; with --during, the data so far.
    What is wanted:
        goal target
        population (NAME|FILE): Weights or shares of a population: how many raters of each group represent it.
        question delta models epsilon budget price
    Instead of a pilot:
        components prevalence agreement rater_share
    What is possible:
        batch raters most_per_item model_items
    While it runs:
        during: Is CORPUS enough, and if not, how much is missing?
        looks: With --during: how often you will look at the data.
    Output:
        settings: Print only the lines for the study file.
        to: A folder for a page with all tables and figures.
        figure seed where json csv latex
    """
    corpus = None if pilot is None else filtered(vantage.Corpus.read(pilot), where)
    goal, budget = planned.get("goal", "alpha"), planned.get("budget")
    if population is not None:
        others = {"figure": figure, "to": to, "during": during or None, **planned}
        return _for_target(corpus, population, others, settings=settings)
    if during:
        return _during(corpus, {"goal": goal, **{n: planned[n] for n in DURING if n in planned}, "looks": looks})
    from vantage.planning.plan import VIEWS

    made = _with_bar(goal, lambda advance: vantage.plan(corpus, **planned, advance=advance))
    if settings:
        typer.echo(made.settings)
        return None
    if figure is not None:
        from vantage.report.planning import frontier_figure

        write_figure(frontier_figure(made, budget), figure)
    if to is not None:
        from vantage.report.planning import plan_report

        plan_report(made, budget).write(to)
        (to / "settings.yaml").write_text(made.settings + "\n", encoding="utf-8")
        typer.echo(f"The plan is {to / 'report.html'}; settings.yaml has the lines for the study file.", err=True)
    frames = {name: getattr(made, name) for name in VIEWS}
    known = [name for name in ("choice", "powered", "adaptive") if name == "choice" or len(frames[name])]
    said = [line for name in known for line in sentences(frames[name], VIEWS[name])]
    said.append(f"Assumes {'; '.join(made.assumes)}.")
    by_items = f"{made.what[0].upper()}{made.what[1:]}, by answers per item"
    return VerbTable(
        made.frontier,
        (by_items, made.frontier if len(made.frontier) else made.budgeted),
        *said,
        f"\nFor the study file:\n\n{made.settings}",
        data=tables(frames, assumes=made.assumes, settings=made.settings, sentences=said),
    )


def _for_target(corpus: vantage.Corpus | None, population: str, planned: Values, *, settings: bool) -> VerbTable | None:
    from vantage.planning.target import VIEW, plan_target

    if corpus is None:
        raise InputError("no pilot given", remedy="run: vantage plan PILOT --population NAME --target 0.1")
    for name in (name for name, given in planned.items() if given is not None):
        if name not in ("target", "question", "seed"):
            problem = f"--population cannot be combined with --{name.replace('_', '-')}"
            raise InputError(problem, remedy="leave one of them out")
    made = plan_target(corpus, population, width=planned.get("target", 0.1), question=planned.get("question"))
    if settings:
        typer.echo(made.settings)
        return None
    return VerbTable(
        made.groups,
        ("Raters of each group for the target", made.groups),
        *sentences(made.summary, VIEW),
        f"\nFor the study file:\n\n{made.settings}",
        data=tables({"groups": made.groups, "summary": made.summary}, settings=made.settings),
    )


def _during(corpus: vantage.Corpus | None, options: Values) -> VerbTable:
    from vantage.planning.plan import DURING as VIEW
    from vantage.planning.plan import during

    if corpus is None:
        raise InputError("no corpus given", remedy="run: vantage plan --during CORPUS")
    row = _with_bar(options["goal"], lambda advance: during(corpus, **options, advance=advance))
    return VerbTable(row, *filter(None, sentences(row, VIEW)))


def _with_bar(goal: str, work: Any) -> Any:
    """The result of some work, with a progress bar where designs are simulated."""
    from vantage.planning.goals import DESIGNS

    if goal not in SIMULATED:
        return work(lambda _: None)
    with working() as progress, progress("Simulating", DESIGNS[0] * DESIGNS[1]) as advance:
        return work(advance)


def rehearse(
    study: Path,
    *,
    corpus: Path | None = None,
    pilot: Path | None = None,
    options: Annotated[Values, options_of("recruit/rehearsal/rehearse.py", "rehearse", only="people seed mix")],
    to: Path | None = None,
) -> VerbResult:
    """Walk simulated people through the real pages of a study, and discard everything.

    Reports duration, cost, seats, reliability, what the checks catch, and pages that nobody gets past.

    Args:
        study: A study file, or a bundled flow (flow:NAME).
        corpus: The corpus, if the study file names none.
        pilot (CORPUS): A pilot to model the answers on.
        to: A folder for a page with all tables.
    """
    from vantage.recruit.rehearsal.rehearse import rehearse as rehearsed
    from vantage.recruit.rehearsal.results import VIEWS

    loaded = collect.AnnotationStudy.load(study, corpus)
    known = None if pilot is None else vantage.Corpus.read(pilot)
    with moving("people") as moved:
        people = options.get("people")
        made = rehearsed(loaded, **options, pilot=known, advance=lambda _, done: moved(done, people))
    frames = {name: getattr(made, name) for name in VIEWS}
    if to is not None:
        from vantage.report.planning import rehearsal_report

        typer.echo(f"The page is {rehearsal_report(made).write(to)}.", err=True)

    stated = [name for name in ("summary", "checks") if len(frames[name])]
    return VerbResult(
        tables(frames, assumes=list(made.assumes)),
        *((VIEWS[name].title, frame.drop("verdict", "behaviour", strict=False)) for name, frame in frames.items()),
        *("\n".join(sentences(frames[name], VIEWS[name])) for name in stated),
        f"Assumes {'; '.join(made.assumes)}.",
    )
