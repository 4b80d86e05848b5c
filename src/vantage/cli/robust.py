"""`vantage robust`: does a conclusion survive other choices? `vantage plan freeze`, `plan risk`: plan before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import vantage
from vantage.cli.corpora import Where, conditions, filtered
from vantage.cli.options import TO, Seed, pairs, with_output
from vantage.cli.output import Output, print_frame, print_json, print_lines, write_figure
from vantage.cli.progress import working
from vantage.errors import InputError

if TYPE_CHECKING:
    from vantage.robust import Conclusion, FrozenPlan, Universe

Claim = Annotated[
    str, typer.Argument(metavar="CLAIM", help="A measure, a row of a report's ledger (FOLDER#ROW), or a frozen plan.")
]
Folder = Annotated[Path, typer.Argument(metavar="CORPUS", help="A corpus folder.")]
Limit = Annotated[float, typer.Option(help="The risk of a wrong conclusion that is accepted.")]
Reference = Annotated[
    float | None, typer.Option(help="What the estimate is compared with; that of the measure by default.")
]
Row = Annotated[
    list[str] | None, typer.Option("--row", metavar="COLUMN=VALUE", help="Which row of the result; may be repeated.")
]
Declared = Annotated[Path | None, typer.Option("--universe", metavar="FILE", help="A YAML file with the choices.")]
Vary = Annotated[
    list[str] | None,
    typer.Option("--vary", metavar="NAME[=VALUE,…]", help="An option or a column to vary; may be repeated."),
]


@with_output
def robust(
    context: typer.Context,
    output: Output,
    claim: Claim,
    folder: Folder,
    reference: Reference = None,
    row: Row = None,
    universe: Declared = None,
    vary: Vary = None,
    most: Annotated[
        int, typer.Option(help="How many specifications at most; of more a sample is drawn.", min=2)
    ] = 1000,
    limit: Limit = 0.05,
    figure: Annotated[Path | None, typer.Option(help="Where to draw the curve: .svg, .pdf or .png.")] = None,
    out: Annotated[Path | None, typer.Option(*TO, help="A folder for a page with all tables and the figure.")] = None,
    seed: Seed = 0,
    where: Where = None,
) -> None:
    """Recompute a claim over all reasonable choices: the specification curve, what matters, and one joint test.

    A claim is a measure with its options, a row of a report's ledger, or a frozen plan. For example:

    vantage robust mean CORPUS --between era --values new,old --where question=trust

    vantage robust "REPORT#3" CORPUS --figure curve.svg
    """
    from vantage.robust import curve, risk_sentences, risks, robust_report, sentences
    from vantage.robust import robust as multiverse

    corpus, conclusion, plan = claimed(claim, folder, context.args, where, row, reference)
    wanted = universe_of(conclusion, corpus, universe, vary, plan)
    total = min(most, wanted.size)
    with working(quiet=output.data) as progress, progress("Specifications", total) as advance:
        made = multiverse(corpus, conclusion, wanted, most=most, seed=seed, advance=advance, folder=str(folder))
    risk = risks(corpus, conclusion, limit=limit, seed=seed)
    lines = [*(plan.deviations(made, corpus) if plan is not None else ()), *sentences(made)]
    lines += risk_sentences(risk) if risk is not None else []
    if figure is not None:
        drawn = curve(made)
        write_figure(drawn.chart, drawn.data, drawn.options, figure)
    if out is not None:
        page = robust_report(made, corpus, risk, plan, seed).write(out)
        typer.echo(f"The page is {page}.", err=True)
    if output.json:
        joint = None if made.joint is None else vars(made.joint)
        tables = {"specifications": made.specifications, "importance": made.importance, "rules": made.rules}
        plain = {name: frame.to_dicts() for name, frame in tables.items()}
        table = [] if risk is None else risk.table.to_dicts()
        print_json({"claim": conclusion.model_dump(), **plain, "joint": joint, "risks": table, "sentences": lines})
    elif output.data:
        output.print(made.specifications)
    else:
        shown = ["decision", "alternatives", "share", "share_low", "share_high", "overturns", "alone"]
        print_frame(made.importance, shown=shown, title="Which choice matters how much")
        if len(made.rules):
            print_frame(made.rules, title="\nExcluded by rule")
        if risk is not None:
            print_frame(
                risk.table[[one.name for one in risk.table if one.null_count() < len(one)]],
                title="\nModels beside people",
            )
        print_lines(["", *lines])


@with_output
def plan_risk(
    context: typer.Context,
    output: Output,
    claim: Claim,
    folder: Folder,
    limit: Limit = 0.05,
    price: Annotated[float, typer.Option(help="What one answer costs.")] = 1.0,
    reference: Reference = None,
    row: Row = None,
    seed: Seed = 0,
    where: Where = None,
) -> None:
    """How many more labels by people bring the risk of a wrong conclusion below a limit, alone or with a model.

    People judged a part of the items, models all of them. For example:

    vantage plan risk prevalence CORPUS --reference 0.5 --limit 0.05 --price 0.12
    """
    from vantage.robust import risks

    corpus, conclusion, _ = claimed(claim, folder, context.args, where, row, reference)
    made = risks(corpus, conclusion, limit=limit, seed=seed)
    if made is None:
        raise InputError(
            "the risk cannot be estimated", remedy="let people judge at least 24 of the items that a model judged"
        )
    needed = made.needed(price)
    if output.data:
        output.print(needed)
        return
    print_frame(needed, title=f"What people must judge for a risk of at most {limit:.0%}")
    known = f"People judged {made.items:,} of {made.of:,} items, {made.per_item:.1f} of them each."
    print_lines(["", known, "Without a number of items, only labels of nearly all of them are enough."])


def claimed(
    claim: str,
    folder: Path | None,
    words: list[str],
    where: list[str] | None,
    row: list[str] | None,
    reference: float | None,
) -> tuple[Any, Conclusion, FrozenPlan | None]:
    """A corpus and what is claimed of it: by a measure, a row of a ledger or a plan, with what the command changes."""
    from vantage.measures import find
    from vantage.measures.option_text import parse_options
    from vantage.report import Report
    from vantage.robust import Conclusion, FrozenPlan

    corpus = None if folder is None else vantage.Corpus.read(folder)
    if corpus is not None:
        filtered(corpus, where)
    part, rows = conditions(where), pairs(row or [], "--row", comma=False)
    report, mark, number = claim.rpartition("#")
    plan = None
    if mark and number.isdigit():
        known = Conclusion.of_ledger(Report.read(Path(report)), int(number), corpus, Path(report))
    elif claim.endswith((".yaml", ".yml")):
        plan = FrozenPlan.read(Path(claim))
        known = plan.claim
    else:
        options = parse_options(find(claim), words)
        if "kind" in part:
            options.setdefault("kinds", "all")
        return corpus, Conclusion.of(claim, options, part, rows, reference), None
    changed: dict[str, Any] = {"where": {**known.where, **part}, "row": {**known.row, **rows}}
    if words:
        given = {word[2:].partition("=")[0] for word in words}
        kept = [f"--{name}={value}" for name, value in known.written().items() if name not in given]
        changed["options"] = {**known.options, **parse_options(find(known.measure), [*kept, *words])}
    if reference is not None:
        changed["reference"] = reference
    return corpus, known.model_copy(update=changed), plan


def universe_of(
    conclusion: Conclusion, corpus: Any, declared: Path | None, vary: list[str] | None, plan: FrozenPlan | None = None
) -> Universe:
    """The choices: those of a file or a plan and those of `--vary`, or those that measure and corpus offer."""
    from vantage.robust import Universe, default_universe

    if declared is not None:
        made = Universe.read(declared)
    elif plan is not None:
        made = plan.universe
    else:
        made = Universe() if vary else default_universe(conclusion, corpus)
    for text in vary or []:
        made = made.varied(conclusion, corpus, text)
    if not made.choices:
        raise InputError("there are no choices to vary", remedy="name some with --vary or --universe")
    return made


def freeze(
    context: typer.Context,
    claim: Annotated[str, typer.Argument(metavar="MEASURE", help="The measure that will decide.")],
    pilot: Annotated[Path | None, typer.Option(metavar="CORPUS", help="A pilot, which offers choices to vary.")] = None,
    question: Annotated[str, typer.Option(help="The research question, in words.")] = "",
    estimand: Annotated[str, typer.Option(help="What is estimated, in words; the measure says it by default.")] = "",
    reference: Reference = None,
    row: Row = None,
    universe: Declared = None,
    vary: Vary = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", metavar="REASON", help="Who is excluded; may be repeated.")
    ] = None,
    stop: Annotated[
        list[str] | None, typer.Option("--stop", metavar="items=N", help="When collection ends; may be repeated.")
    ] = None,
    where: Where = None,
    out: Annotated[Path, typer.Option(*TO, help="The file to write.")] = Path("plan.yaml"),
) -> None:
    """Freeze a plan: question, estimand, primary specification, universe, exclusions and stopping rule, with a hash.

    Prints the text for a registration. For example:

    vantage plan freeze mean --between era --pilot PILOT --question "Did trust change?" --stop raters=60 --to plan.yaml
    """
    from vantage.measures import find
    from vantage.report import put_text
    from vantage.robust import FrozenPlan

    if not question.strip():
        raise InputError("no research question given", remedy='pass --question "…"')
    if out.exists():
        raise InputError("there is such a file already", file=out, remedy="a frozen plan is not replaced; name another")
    if pilot is None and universe is None:
        raise InputError("there are no choices to freeze", remedy="pass --pilot CORPUS, or a file with --universe")
    corpus, conclusion, _ = claimed(claim, pilot, context.args, where, row, reference)
    stopping = pairs(stop or [], "--stop", form="items=N")
    for name, number in stopping.items():
        if name not in ("items", "raters", "judgments") or not number.isdigit() or not int(number):
            remedy = "count items, raters or judgments in whole numbers, such as --stop items=200"
            raise InputError(f"a stopping rule cannot be {name}={number}", remedy=remedy)
    choices = universe_of(conclusion, corpus, universe, vary)
    about = {"question": question.strip(), "estimand": estimand.strip() or find(conclusion.measure).summary}
    plan = FrozenPlan.model_validate(
        {**about, "claim": conclusion, "universe": choices, "exclusions": exclude or [], "stopping": stopping}
    )
    put_text(out, plan.text())
    typer.echo(plan.registration())
    typer.echo(f"The plan is {out}; check it later with: vantage robust {out} CORPUS", err=True)
