"""`vantage robust`: does a conclusion survive other choices? `vantage plan freeze`, `plan risk`: plan before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import vantage
from vantage import measures, report
from vantage.cli.options import conditions, filtered, pairs
from vantage.cli.output import VerbTable, tables, write_figure
from vantage.cli.progress import working
from vantage.errors import InputError

if TYPE_CHECKING:
    from vantage.robust import Conclusion, FrozenPlan, Universe


def _narrowed(*, reference: float | None = None, row: list[str], where: list[str]) -> dict[str, Any]:
    """What of a measure's result is claimed.

    Args:
        reference: The value to compare the estimate with (default: the measure's own).
        row (COLUMN=VALUE): Which row of the result; repeatable.
    """
    return {"reference": reference, "row": row, "where": where}


Narrowed = Annotated[dict[str, Any], _narrowed]


def robust(
    context: typer.Context,
    claim: str,
    corpus: Path,
    *,
    narrowed: Narrowed,
    universe: Path | None = None,
    vary: list[str],
    most: Annotated[int, typer.Option(min=2)] = 1000,
    limit: float = 0.05,
    figure: Path | None = None,
    to: Path | None = None,
    seed: int = 0,
) -> VerbTable:
    """Recompute a claim over all reasonable choices: the specification curve, what matters, and one joint test.

    A claim is a measure with its options, a row of a report's ledger, or a frozen plan. For example:

    vantage robust mean CORPUS --between era --values new,old --where question=trust

    vantage robust "REPORT#3" CORPUS --figure curve.svg

    Args:
        most: The most specifications to compute; beyond it, a random sample is drawn.
        to: A folder for a page with all tables and the figure.
    """
    from vantage.robust import curve, risk_sentences, risks, robust_report, sentences
    from vantage.robust import robust as multiverse

    read, conclusion, plan = claimed(claim, corpus, context.args, **narrowed)
    wanted = universe_of(conclusion, read, universe, vary, plan)
    with working() as progress, progress("Specifications", min(most, wanted.size)) as advance:
        made = multiverse(read, conclusion, wanted, most=most, seed=seed, advance=advance, folder=str(corpus))
    risk = risks(read, conclusion, limit=limit, seed=seed)
    lines = [*(plan.deviations(made, read) if plan is not None else ()), *sentences(made)]
    lines += risk_sentences(risk) if risk is not None else []
    if figure is not None:
        write_figure(curve(made), figure)
    if to is not None:
        typer.echo(f"The page is {robust_report(made, read, risk, plan, seed).write(to)}.", err=True)
    frames = {"specifications": made.specifications, "importance": made.importance, "rules": made.rules}
    joint, titled = (None if made.joint is None else vars(made.joint)), []
    if risk is not None:
        columns = [one.name for one in risk.table if one.null_count() < len(one)]
        titled = [("Models beside people", risk.table[columns])]
    data = tables(frames, joint=joint, risks=[] if risk is None else risk.table.to_dicts(), sentences=lines)
    return VerbTable(
        made.specifications,
        ("Which choice matters how much", made.importance),
        ("Excluded by rule", made.rules),
        *titled,
        *lines,
        data={"claim": conclusion.model_dump(), **data},
    )


def plan_risk(
    context: typer.Context,
    claim: str,
    corpus: Path,
    *,
    narrowed: Narrowed,
    limit: float = 0.05,
    price: float = 1.0,
    seed: int = 0,
) -> VerbTable:
    """How many more human labels bring the risk of a wrong conclusion below a limit, alone or with a model?

    For corpora in which people judged some of the items and models all of them. For example:

    vantage plan risk prevalence CORPUS --reference 0.5 --limit 0.05 --price 0.12
    """
    from vantage.robust import risks

    read, conclusion, _ = claimed(claim, corpus, context.args, **narrowed)
    made = risks(read, conclusion, limit=limit, seed=seed)
    if made is None:
        raise InputError(
            "the risk cannot be estimated", remedy="let people judge at least 24 of the items that a model judged"
        )
    needed = made.needed(price)
    return VerbTable(
        needed,
        (f"What people must judge for a risk of at most {limit:.0%}", needed),
        f"People judged {made.items:,} of {made.of:,} items, {made.per_item:.1f} of them each.",
        "Where no number of items is given, people have to label nearly all of them.",
    )


def claimed(
    claim: str,
    folder: Path | None,
    words: list[str],
    where: list[str],
    row: list[str],
    reference: float | None,
) -> tuple[Any, Conclusion, FrozenPlan | None]:
    """A corpus and what is claimed of it: by a measure, a row of a ledger or a plan, with what the command changes."""
    from vantage.robust import Conclusion, FrozenPlan

    corpus = None if folder is None else vantage.Corpus.read(folder)
    if corpus is not None:
        filtered(corpus, where)
    part, rows = conditions(where), pairs(row, "--row", comma=False)
    page, _, number = claim.rpartition("#")
    plan = FrozenPlan.read(Path(claim)) if claim.endswith((".yaml", ".yml")) else None
    if plan is not None:
        known = plan.claim
    elif page and number.isdigit():
        known = Conclusion.of_ledger(report.Report.read(Path(page)), int(number), corpus, Path(page))
    else:
        options = measures.parse_options(measures.find(claim), words)
        if "kind" in part:
            options.setdefault("kinds", "all")
        return corpus, Conclusion.of(claim, options, part, rows, reference), None
    changed: dict[str, Any] = {"where": {**known.where, **part}, "row": {**known.row, **rows}}
    if words:
        given = {word[2:].partition("=")[0] for word in words}
        kept = [f"--{name}={value}" for name, value in known.written().items() if name not in given]
        changed["options"] = {**known.options, **measures.parse_options(measures.find(known.measure), [*kept, *words])}
    if reference is not None:
        changed["reference"] = reference
    return corpus, known.model_copy(update=changed), plan


def universe_of(
    conclusion: Conclusion, corpus: Any, declared: Path | None, vary: list[str], plan: FrozenPlan | None = None
) -> Universe:
    """The choices: those of a file or a plan and those of `--vary`, or those that measure and corpus offer."""
    from vantage.robust import Universe, default_universe

    if declared is not None:
        made = Universe.read(declared)
    elif plan is not None:
        made = plan.universe
    else:
        made = Universe() if vary else default_universe(conclusion, corpus)
    for text in vary:
        made = made.varied(conclusion, corpus, text)
    if not made.choices:
        raise InputError("there are no choices to vary", remedy="name some with --vary or --universe")
    return made


def freeze(
    context: typer.Context,
    claim: str,
    *,
    pilot: Path | None = None,
    question: str = "",
    estimand: str = "",
    narrowed: Narrowed,
    universe: Path | None = None,
    vary: list[str],
    exclude: list[str],
    stop: list[str],
    to: Path = Path("plan.yaml"),
) -> None:
    """Freeze a plan: question, estimand, primary specification, universe, exclusions and stopping rule, with a hash.

    Prints the text for a registration. For example:

    vantage plan freeze mean --between era --pilot PILOT --question "Did trust change?" --stop raters=60 --to plan.yaml

    Args:
        claim (MEASURE): The measure that will decide.
        pilot (CORPUS): A pilot that suggests choices to vary.
        question: The research question, in words.
        estimand: What is estimated, in words (default: the measure's summary).
        exclude (REASON): Who is excluded, and why; repeatable.
        stop (items=N): When collection ends; repeatable.
        to: The file to write.
    """
    from vantage.robust import FrozenPlan

    if not question.strip():
        raise InputError("no research question given", remedy='pass --question "…"')
    if to.exists():
        raise InputError(
            "the file exists already", file=to, remedy="a frozen plan is never replaced; choose another name"
        )
    if pilot is None and universe is None:
        raise InputError("there are no choices to freeze", remedy="pass --pilot CORPUS, or a file with --universe")
    corpus, conclusion, _ = claimed(claim, pilot, context.args, **narrowed)
    stopping = pairs(stop, "--stop", form="items=N")
    for name, number in stopping.items():
        if name not in ("items", "raters", "judgments") or not number.isdigit() or not int(number):
            remedy = "count items, raters or judgments in whole numbers, such as --stop items=200"
            raise InputError(f"a stopping rule cannot be {name}={number}", remedy=remedy)
    choices = universe_of(conclusion, corpus, universe, vary)
    about = {"question": question.strip(), "estimand": estimand.strip() or measures.find(conclusion.measure).summary}
    plan = FrozenPlan.model_validate(
        {**about, "claim": conclusion, "universe": choices, "exclusions": exclude, "stopping": stopping}
    )
    report.put_text(to, plan.text())
    typer.echo(plan.registration())
    typer.echo(f"The plan is {to}; check it later with: vantage robust {to} CORPUS", err=True)
