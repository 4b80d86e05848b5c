"""`vantage plan`: how many items and raters a goal needs; `vantage collect rehearse`: what a study will be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import vantage
from vantage.cli.corpora import Where, filtered
from vantage.cli.options import TO, in_groups, options_of, shared
from vantage.cli.output import Csv, Json, Output, print_frame, print_lines, print_tables, sentences, write_figure
from vantage.cli.progress import working
from vantage.errors import InputError

SIMULATED = ("alpha", "alt-test")
DURING = ("target", "question", "delta", "epsilon", "seed")
"""Options that `--during` takes too."""


_planned = options_of(
    "planning/plan.py",
    "plan",
    only="goal target question delta epsilon budget price components prevalence agreement rater_share batch raters "
    "most_per_item model_items seed",
    flags={"most_per_item": "--most"},
)


@in_groups(
    {
        "What is wanted": "goal target population question delta epsilon budget price",
        "Instead of a pilot": "components prevalence agreement rater_share",
        "What is possible": "batch raters most_per_item model_items",
        "While it runs": "now looks",
        "Output": "figure settings out seed where as_json as_csv",
    }
)
@shared("planned", _planned)
def plan(
    planned: dict[str, Any],
    pilot: Annotated[
        Path | None, typer.Argument(metavar="[CORPUS]", help="A pilot, or with --during what there is.")
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Weights or shares: how many raters of which groups stand for them."),
    ] = None,
    now: Annotated[
        bool, typer.Option("--during", help="Say whether CORPUS is enough, or how much is missing.")
    ] = False,
    looks: Annotated[int, typer.Option(help="With --during: how often you will look.")] = 1,
    figure: Annotated[Path | None, typer.Option(help="Where to draw the frontier: .svg, .pdf or .png.")] = None,
    settings: Annotated[bool, typer.Option("--settings", help="Print the lines for the study file alone.")] = False,
    out: Annotated[Path | None, typer.Option(*TO, help="A folder for a page with all tables and figures.")] = None,
    where: Where = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Plan a collection: items, answers per item and people for a goal, from a pilot or from typed-in components.

    For example:

    vantage plan PILOT --goal alpha --target 0.2 --budget 2000 --price 0.12
    vantage plan --prevalence 0.3 --agreement 0.4 --goal mean --target 0.05
    vantage plan --during CORPUS --goal alpha --target 0.2
    vantage plan PILOT --population census --target 0.1
    """
    corpus = None if pilot is None else filtered(vantage.Corpus.read(pilot), where)
    goal, budget = planned.get("goal", "alpha"), planned.get("budget")
    if population is not None:
        wanted = (planned.get("target"), planned.get("question"))
        _for_target(corpus, population, *wanted, Output(as_json, as_csv), settings=settings)
        return
    if now:
        if corpus is None:
            raise InputError("no corpus given", remedy="run: vantage plan --during CORPUS")
        asked = {name: planned[name] for name in DURING if name in planned}
        _during(corpus, {"goal": goal, **asked, "looks": looks}, Output(as_json, as_csv))
        return
    from vantage.planning.plan import plan as made_from

    made = _with_bar(goal, lambda advance: made_from(corpus, **planned, advance=advance))
    if settings:
        typer.echo(made.settings)
        return
    if figure is not None:
        from vantage.report.planning import frontier_figure

        drawn = frontier_figure(made, budget)
        write_figure(drawn.chart, drawn.data, drawn.options, figure)
    if out is not None:
        from vantage.report.planning import plan_report

        plan_report(made, budget).write(out)
        (out / "settings.yaml").write_text(made.settings + "\n", encoding="utf-8")
        typer.echo(f"The plan is {out / 'report.html'}; settings.yaml has the lines for the study file.", err=True)
    _print(made, Output(as_json, as_csv))


def _for_target(
    corpus: Any, population: str, width: float | None, question: str | None, output: Output, *, settings: bool
) -> None:
    from vantage.planning.target import VIEWS, plan_target

    if corpus is None:
        raise InputError("no pilot given", remedy="run: vantage plan PILOT --population NAME --target 0.1")
    made = plan_target(corpus, population, width=0.1 if width is None else width, question=question)
    if settings:
        typer.echo(made.settings)
    elif output.json:
        print_tables({"groups": made.groups, "summary": made.summary}, settings=made.settings)
    elif output.csv:
        output.print(made.groups)
    else:
        print_frame(made.groups, title=VIEWS["groups"].title)
        print_lines(["", *sentences(made.summary, VIEWS["summary"]), "", "For the study file:", "", made.settings])


def _during(corpus: Any, options: dict[str, Any], output: Output) -> None:
    from vantage.planning.plan import DURING as VIEW
    from vantage.planning.plan import during

    row = _with_bar(options["goal"], lambda advance: during(corpus, **options, advance=advance))
    if output.data:
        output.print(row)
    else:
        print_lines(filter(None, sentences(row, VIEW)))


def _print(made: Any, output: Output) -> None:
    from vantage.planning.plan import VIEWS

    tables = {name: getattr(made, name) for name in VIEWS}
    known = [name for name in ("choice", "powered", "adaptive") if name == "choice" or len(tables[name])]
    said = [line for name in known for line in sentences(tables[name], VIEWS[name])]
    said.append(f"Assumes {'; '.join(made.assumes)}.")
    if output.json:
        print_tables(tables, assumes=made.assumes, settings=made.settings, sentences=said)
        return
    if output.csv:
        output.print(made.frontier)
        return
    table = made.frontier if len(made.frontier) else made.budgeted
    print_frame(table, title=f"{made.what[0].upper()}{made.what[1:]}, by answers per item")
    print_lines(["", *said, "", "For the study file:", "", made.settings])


def _with_bar(goal: str, work: Any) -> Any:
    """The result of some work, with a progress bar where designs are simulated."""
    from vantage.planning.goals import DESIGNS

    with working(quiet=goal not in SIMULATED) as progress, progress("Simulating", DESIGNS[0] * DESIGNS[1]) as advance:
        return work(advance)


_rehearsing = options_of("recruit/rehearsal/rehearse.py", "rehearse", only="people seed mix")


@shared("options", _rehearsing)
def rehearse(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file, or a bundled flow (flow:NAME).")],
    options: dict[str, Any],
    folder: Annotated[Path | None, typer.Option("--corpus", help="The corpus, if the file names none.")] = None,
    pilot: Annotated[
        Path | None, typer.Option(metavar="CORPUS", help="Take the model of answers from a pilot.")
    ] = None,
    out: Annotated[Path | None, typer.Option(*TO, help="A folder for a page with all tables.")] = None,
    as_json: Json = False,
) -> None:
    """Let simulated people walk the real pages of a study, and discard everything.

    Reports duration, cost, seats, reliability, what the checks catch, and pages that nobody can pass.
    """
    from vantage.collect import AnnotationStudy
    from vantage.recruit.rehearsal.rehearse import rehearse as rehearsed
    from vantage.recruit.rehearsal.results import VIEWS

    loaded = AnnotationStudy.load(study, folder)
    known = None if pilot is None else vantage.Corpus.read(pilot)
    with working() as progress, progress("people", options.get("people", 200)) as advance:
        before = 0

        def shown(_: int, done: int) -> None:
            nonlocal before
            advance(done - before)
            before = done

        made = rehearsed(loaded, **options, pilot=known, advance=shown)
    tables = {name: getattr(made, name) for name in VIEWS}
    if as_json:
        print_tables(tables, assumes=list(made.assumes))
    else:
        for name, frame in tables.items():
            if len(frame):
                print_frame(frame.drop("verdict", "behaviour", strict=False), title=VIEWS[name].title)
                typer.echo("")
        for name in ("summary", "checks"):
            if len(tables[name]):
                typer.echo("\n".join(sentences(tables[name], VIEWS[name])))
        typer.echo(f"Assumes {'; '.join(made.assumes)}.")
    if out is not None:
        from vantage.report.planning import rehearsal_report

        typer.echo(f"The page is {rehearsal_report(made).write(out)}.", err=True)
