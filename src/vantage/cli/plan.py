"""`vantage plan`: how many items and raters a goal needs; `vantage collect rehearse`: what a study will be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import vantage
from vantage.cli.corpora import Where, filtered
from vantage.cli.options import TO, Seed, in_groups, names, numbers
from vantage.cli.output import Csv, Json, Output, print_frame, print_lines, print_tables, sentences, write_figure
from vantage.cli.progress import working
from vantage.errors import InputError

SIMULATED = ("alpha", "alt-test")


@in_groups(
    {
        "What is wanted": "goal target population question delta models epsilon budget price",
        "Instead of a pilot": "components prevalence agreement rater_share",
        "What is possible": "batch raters most model_items",
        "While it runs": "now looks",
        "Output": "figure settings out seed where as_json as_csv",
    }
)
def plan(
    pilot: Annotated[
        Path | None, typer.Argument(metavar="[CORPUS]", help="A pilot, or with --during what there is.")
    ] = None,
    goal: Annotated[str, typer.Option(help="alpha, mean, groups, items, models, alt-test or reliability.")] = "alpha",
    target: Annotated[float | None, typer.Option(help="A width (alpha, mean), a power, or a reliability.")] = None,
    population: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Weights or shares: how many raters of which groups stand for them."),
    ] = None,
    question: Annotated[str | None, typer.Option(help="The question, where the pilot has several.")] = None,
    budget: Annotated[float | None, typer.Option(help="What may be spent.")] = None,
    price: Annotated[float, typer.Option(help="What one answer costs.")] = 1.0,
    components: Annotated[str, typer.Option(metavar="ITEM,RATER,RESIDUAL", help="Variances, instead of a pilot.")] = "",
    prevalence: Annotated[
        float | None, typer.Option(help="The share of one of two answers, instead of a pilot.")
    ] = None,
    agreement: Annotated[float, typer.Option(help="With --prevalence: alpha, kappa.")] = 0.4,
    rater_share: Annotated[
        float, typer.Option(help="With --prevalence: share of the variance that is raters' bias.")
    ] = 0.1,
    delta: Annotated[float | None, typer.Option(help="The difference to find (groups, items, models).")] = None,
    models: Annotated[str, typer.Option(metavar="FIRST,SECOND", help="The two models to rank.")] = "",
    epsilon: Annotated[float, typer.Option(help="Of the alternative annotator test.")] = 0.1,
    batch: Annotated[int, typer.Option(help="Items that everyone judges.")] = 50,
    raters: Annotated[int | None, typer.Option(help="How many people there are, instead of --batch.")] = None,
    most: Annotated[int, typer.Option(help="The most answers per item to consider.")] = 15,
    model_items: Annotated[int, typer.Option(help="Items that a model would judge, for what it saves.")] = 10_000,
    now: Annotated[
        bool, typer.Option("--during", help="Say whether CORPUS is enough, or how much is missing.")
    ] = False,
    looks: Annotated[int, typer.Option(help="With --during: how often you will look.")] = 1,
    figure: Annotated[Path | None, typer.Option(help="Where to draw the frontier: .svg, .pdf or .png.")] = None,
    settings: Annotated[bool, typer.Option("--settings", help="Print the lines for the study file alone.")] = False,
    out: Annotated[Path | None, typer.Option(*TO, help="A folder for a page with all tables and figures.")] = None,
    seed: Seed = 0,
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
    if population is not None:
        _for_target(corpus, population, target, question, Output(as_json, as_csv), settings=settings)
        return
    shared: dict[str, Any] = {"goal": goal, "target": target, "question": question, "delta": delta, "seed": seed}
    shared |= {"models": names(models) or None, "epsilon": epsilon}
    if now:
        if corpus is None:
            raise InputError("no corpus given", remedy="run: vantage plan --during CORPUS")
        _during(corpus, {**shared, "looks": looks}, Output(as_json, as_csv))
        return
    from vantage.planning.plan import plan as planned

    typed: dict[str, Any] = {"components": _numbers(components), "prevalence": prevalence}
    typed |= {"agreement": agreement, "rater_share": rater_share}
    space: dict[str, Any] = {"budget": budget, "price": price, "batch": batch, "raters": raters, "most_per_item": most}
    made = _with_bar(
        goal, lambda advance: planned(corpus, **shared, **typed, **space, model_items=model_items, advance=advance)
    )
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
    from vantage.planning.plan import DURING, during

    row = _with_bar(options["goal"], lambda advance: during(corpus, **options, advance=advance))
    if output.data:
        output.print(row)
    else:
        print_lines(filter(None, sentences(row, DURING)))


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


def _numbers(text: str) -> list[float] | None:
    try:
        return [float(part) for part in names(text)] or None
    except ValueError:
        raise InputError(f"--components is '{text}'", remedy="write three numbers, such as 0.4,0.1,0.5") from None


def rehearse(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file, or a bundled flow (flow:NAME).")],
    folder: Annotated[Path | None, typer.Option("--corpus", help="The corpus, if the file names none.")] = None,
    people: Annotated[int, typer.Option(help="How many simulated people come.", min=1, max=5000)] = 200,
    seed: Seed = 0,
    mix: Annotated[
        str, typer.Option(metavar="KIND=SHARE,…", help="Shares of careful, hasty, careless, copying, leaving, phone …")
    ] = "",
    pilot: Annotated[
        Path | None, typer.Option(metavar="CORPUS", help="Take the model of answers from a pilot.")
    ] = None,
    out: Annotated[Path | None, typer.Option(*TO, help="A folder for a page with all tables.")] = None,
    as_json: Json = False,
) -> None:
    """Let simulated people walk the real pages of a study, and discard everything.

    Reports duration, cost, seats, expected reliability, what the checks catch, and pages that nobody can pass.
    """
    from vantage.collect import AnnotationStudy
    from vantage.recruit.rehearsal.rehearse import rehearse as rehearsed
    from vantage.recruit.rehearsal.results import VIEWS

    loaded = AnnotationStudy.load(study, folder)
    known = None if pilot is None else vantage.Corpus.read(pilot)
    shares = numbers(mix, "--mix", "KIND=SHARE")
    with working() as progress, progress("people", people) as advance:
        before = 0

        def shown(_: int, done: int) -> None:
            nonlocal before
            advance(done - before)
            before = done

        made = rehearsed(loaded, people=people, seed=seed, mix=shares, pilot=known, advance=shown)
    tables = {name: getattr(made, name) for name in VIEWS}
    if as_json:
        print_tables(tables, assumes=list(made.assumes))
    else:
        for name, frame in tables.items():
            if len(frame):
                print_frame(frame.drop("verdict", "behaviour", "worth", strict=False), title=VIEWS[name].title)
                typer.echo("")
        for name in ("summary", "checks", "adapting"):
            if len(tables[name]):
                typer.echo("\n".join(sentences(tables[name], VIEWS[name])))
        typer.echo(f"Assumes {'; '.join(made.assumes)}.")
    if out is not None:
        from vantage.report.planning import rehearsal_report

        typer.echo(f"The page is {rehearsal_report(made).write(out)}.", err=True)
