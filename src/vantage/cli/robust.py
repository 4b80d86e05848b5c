"""`vantage robust`: does a conclusion survive other choices? `vantage plan freeze`, `plan risk`: plan before."""

from __future__ import annotations

from dataclasses import replace
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
    limit: Annotated[float, typer.Option(help="The risk of a wrong conclusion that is accepted.")] = 0.05,
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
    from vantage.robust import curve, risk_frame, risk_sentences, risks, robust_report, sentences
    from vantage.robust import robust as multiverse

    corpus = vantage.Corpus.read(folder)
    conclusion, plan = claimed(claim, context.args, where, row, reference)
    filtered(corpus, where)
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
        print_json({"claim": conclusion.to_data(), **plain, "joint": joint, "risks": table, "sentences": lines})
    elif output.data:
        output.print(made.specifications)
    else:
        shown = ["decision", "alternatives", "share", "share_low", "share_high", "overturns", "alone"]
        print_frame(made.importance, shown=shown, title="Which choice matters how much")
        if len(made.rules):
            print_frame(made.rules, title="\nExcluded by rule")
        if risk is not None:
            print_frame(risk_frame(risk), title="\nModels beside people")
        print_lines(["", *lines])


@with_output
def plan_risk(
    context: typer.Context,
    output: Output,
    claim: Claim,
    folder: Folder,
    limit: Annotated[float, typer.Option(help="The risk of a wrong conclusion that is accepted.")] = 0.05,
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

    corpus = vantage.Corpus.read(folder)
    conclusion, _ = claimed(claim, context.args, where, row, reference)
    filtered(corpus, where)
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
    claim: str, words: list[str], where: list[str] | None, row: list[str] | None, reference: float | None
) -> tuple[Conclusion, FrozenPlan | None]:
    """What is claimed: by a measure, by a row of a ledger, or by a plan, with what the command changes."""
    from vantage.measures import find
    from vantage.measures.option_text import parse_options
    from vantage.robust import Conclusion, FrozenPlan

    part, rows = conditions(where), pairs(row or [], "--row", comma=False)
    folder, mark, number = claim.rpartition("#")
    plan = None
    if mark and number.isdigit():
        known = Conclusion.of_ledger(Path(folder), int(number))
    elif claim.endswith((".yaml", ".yml")):
        plan = FrozenPlan.read(Path(claim))
        known = plan.conclusion
    else:
        measure = find(claim)
        options = parse_options(measure, words)
        if "kind" in part:
            options.setdefault("kinds", "all")
        return Conclusion.of(claim, options, part, rows, reference), None
    changed: dict[str, Any] = {}
    if words:
        needed = [
            f"--{name.replace('_', '-')}={_word(value)}" for name, value in known.options.items() if value is not None
        ]
        kept = [word for word in needed if not any(one.startswith(word.partition("=")[0]) for one in words)]
        changed["options"] = {**known.options, **parse_options(find(known.measure), [*kept, *words])}
    if reference is not None:
        changed["reference"] = reference
    return replace(known, where={**known.where, **part}, row={**known.row, **rows}, **changed), plan


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def universe_of(
    conclusion: Conclusion, corpus: Any, declared: Path | None, vary: list[str] | None, plan: FrozenPlan | None = None
) -> Universe:
    """The choices: those of a file or a plan and those of `--vary`, or those that measure and corpus offer."""
    from vantage.robust import Universe, offered

    if declared is not None:
        made = Universe.read(declared)
    elif plan is not None:
        made = plan.universe
    else:
        made = Universe(()) if vary else offered(conclusion, corpus)
    for text in vary or []:
        made = made.varied(conclusion, corpus, text)
    if not made.decisions:
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
    conclusion, _ = claimed(claim, context.args, where, row, reference)
    corpus = None if pilot is None else vantage.Corpus.read(pilot)
    if corpus is None and universe is None:
        raise InputError("there are no choices to freeze", remedy="pass --pilot CORPUS, or a file with --universe")
    made = universe_of(conclusion, corpus, universe, vary)
    numbers = pairs(stop or [], "--stop", form="items=N")
    try:
        stopping = {name: int(number) for name, number in numbers.items()}
    except ValueError:
        raise InputError("--stop takes whole numbers", remedy="write --stop items=200") from None
    summary = estimand.strip() or find(conclusion.measure).summary
    plan = FrozenPlan(question.strip(), summary, conclusion, made, exclude or (), stopping).dated()
    put_text(out, plan.text())
    typer.echo(plan.registration())
    typer.echo(f"The plan is {out}; check it later with: vantage robust {out} CORPUS", err=True)
