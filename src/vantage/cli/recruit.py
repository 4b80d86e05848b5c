"""`vantage collect recruit`: find people for a study on Prolific, and pay them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vantage.cli.output import Json, print_json, print_rows
from vantage.errors import InputError
from vantage.recruit.base import PaymentRequest, cents

if TYPE_CHECKING:
    from vantage.collect import AnnotationStudy
    from vantage.recruit.base import Recruited
    from vantage.recruit.on_prolific import ProlificRecruiter

app = typer.Typer(
    help="Recruit participants of a study file, and pay them.", rich_markup_mode=None, no_args_is_help=True
)

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study file with 'recruitment.offer'.")]
Database = Annotated[str | None, typer.Option("--database", metavar="URL", help="As for vantage collect serve.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID…", help="Submissions, by their ids on the platform.")]


@app.command()
def create(study: StudyFile, database: Database = None, as_json: Json = False) -> None:
    """Set up a draft from the study file; nobody sees it yet."""
    with _recruiter(study, database) as one:
        _show(one.create(), as_json=as_json)


@app.command()
def publish(
    study: StudyFile,
    yes: Yes = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Publish the draft, after a confirmation of what its places cost."""
    with _recruiter(study, database) as one:
        _carry_out(one, PaymentRequest("publish"), yes, as_json=as_json)


@app.command()
def status(study: StudyFile, database: Database = None, as_json: Json = False) -> None:
    """Show the state; returned and timed-out submissions free their seats."""
    with _recruiter(study, database) as one:
        state = one.state()
        proposals = one.proposals() if state.study else []
    _show(state, as_json=as_json, proposals=[asdict(proposal) for proposal in proposals])


@app.command("top-up")
def top_up(
    study: StudyFile,
    yes: Yes = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Offer as many more places as open seats need."""
    with _recruiter(study, database) as one:
        _carry_out(one, PaymentRequest("top-up"), yes, as_json=as_json)


@app.command()
def approve(study: StudyFile, yes: Yes = False, database: Database = None, as_json: Json = False) -> None:
    """Approve and pay those who finished; those who failed checks wait for you."""
    with _recruiter(study, database) as one:
        _carry_out(one, PaymentRequest("approve"), yes, as_json=as_json)


@app.command()
def reject(
    study: StudyFile,
    submissions: Ids,
    reason: Annotated[str, typer.Option(help="What the participant reads; at least 100 characters.")],
    category: Annotated[str, typer.Option(help="Prolific's category, such as FAILED_CHECK.")] = "OTHER",
    yes: Yes = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Reject submissions that you name, with a reason; they are not paid, and their answers are excluded."""
    with _recruiter(study, database) as one:
        request = PaymentRequest("reject", dict.fromkeys(submissions, 0), category=category, reason=reason)
        _carry_out(one, request, yes, as_json=as_json)


@app.command()
def bonus(
    study: StudyFile,
    submissions: Ids,
    amount: Annotated[str, typer.Option(help="What each gets, in the study's currency.")],
    name: Annotated[str, typer.Option(help="What it is for; the same name is paid to nobody twice.")],
    resend: Annotated[
        bool, typer.Option("--resend", help="Pay again what you have seen was not paid, though it was sent.")
    ] = False,
    yes: Yes = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Pay a bonus to submissions that you name, and to nobody else."""
    with _recruiter(study, database) as one:
        request = PaymentRequest("bonus", dict.fromkeys(submissions, cents(amount)), name, resend)
        _carry_out(one, request, yes, as_json=as_json)


@app.command()
def cancel(
    study: StudyFile,
    keys: Annotated[list[str], typer.Argument(metavar="KEY…", help="Entries of the ledger, as status lists them.")],
    yes: Yes = False,
    database: Database = None,
) -> None:
    """Give up payments that were begun and have no end, when the platform shows that they were not made."""
    with _recruiter(study, database) as one:
        _confirm(f"Give up {', '.join(keys)}? Nothing is paid or taken back.", yes)
        one.cancel(keys)
    typer.echo(f"{len(keys)} cancelled")


@app.command()
def stop(study: StudyFile, yes: Yes = False, database: Database = None, as_json: Json = False) -> None:
    """Stop recruiting; those at work may finish."""
    with _recruiter(study, database) as one:
        _confirm("Stop recruiting?", yes)
        _show(one.stop(), as_json=as_json)


@app.command()
def ledger(study: StudyFile, database: Database = None, as_json: Json = False) -> None:
    """Print every entry of the ledger."""
    from vantage.collect import StudyService
    from vantage.recruit.ledger import RecruitmentLedger

    with closing(StudyService(read_study(study, None, database), database)) as service:
        entries = [asdict(entry) for entry in RecruitmentLedger(service.database.private.sql).all()]
    if as_json:
        print_json(entries)
    else:
        short = ("act", "state", "submission", "amount", "currency", "key")
        print_rows([{name: entry[name] for name in short} for entry in entries])


@app.command()
def link(
    study: StudyFile,
    platform_id: Annotated[str, typer.Argument(metavar="ID", help="The person's id on the platform.")],
    database: Database = None,
) -> None:
    """Print a link with which somebody can continue who lost theirs, or who was kept out."""
    from vantage.collect import StudyService
    from vantage.recruit.draft import offer_of
    from vantage.recruit.visitors import new_link

    with closing(StudyService(read_study(study, None, database), database)) as service:
        typer.echo(new_link(service, platform_id, offer_of(service.study).url))


def read_study(file: Path, folder: Path | None, database: str | None) -> AnnotationStudy:
    """The study of a file as it was started; says what of the file does not hold."""
    from vantage.collect import opened_study

    study, note = opened_study(file, folder, database)
    if note:
        typer.echo(note, err=True)
    return study


@contextmanager
def _recruiter(file: Path, database: str | None) -> Iterator[ProlificRecruiter]:
    from vantage.collect import StudyService
    from vantage.recruit.on_prolific import recruiter

    study = read_study(file, None, database)
    with closing(StudyService(study, database)) as service, closing(recruiter(service)) as one:
        yield one


def _confirm(question: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("Nothing was done, because nobody confirmed it", remedy="pass --yes in scripts")
    typer.confirm(question, abort=True)


def _show(state: Recruited, *, as_json: bool, proposals: list[dict[str, object]] | None = None) -> None:
    facts = {**asdict(state), **({} if proposals is None else {"proposals": proposals})}
    if as_json:
        print_json(facts)
        return
    amounts = {name: f"{facts[name] / 100:.2f} {state.currency}" for name in ("reward", "paid", "bonuses", "fees")}
    counts = ", ".join(f"{count} {name.lower()}" for name, count in state.submissions.items()) or "none"
    numbers = {name: facts[name] for name in ("status", "study", "places", "finished", "open_batches")}
    hourly = {} if state.hourly is None else {"paid_per_hour": f"{state.hourly:.2f} {state.currency}"}
    print_rows([{"platform": state.platform, **numbers, "submissions": counts, **amounts, **hourly}])
    for key in state.unconfirmed:
        typer.echo(f"Begun, and not confirmed by the platform yet (cancel it if it was not made): {key}")
    for difference in state.differences:
        typer.echo(f"Different from the ledger: {difference}")
    if proposals:
        typer.echo("\nPeople to look at; nobody is rejected automatically:")
        print_rows(proposals)


def _carry_out(one: ProlificRecruiter, request: PaymentRequest, yes: bool, *, as_json: bool) -> None:
    """Shows a plan, asks, and carries out exactly what was shown."""
    plan = one.plan(request)
    if not as_json:
        for line in plan.lines:
            who = " ".join(part for part in (line.submission, line.rater, line.note) if part)
            typer.echo(f"  {who}: {line.amount / 100:.2f} {plan.currency}")
    if plan.lines:
        total = f"{plan.total / 100:.2f} {plan.currency}"
        _confirm(f"{_ASKED[request.act].format(n=len(plan.lines))}, {total} in total?", yes)
    paid = one.carry_out(plan)
    if as_json:
        print_json({"plan": asdict(plan), "total": plan.total, **asdict(paid)})
    else:
        now = f"{len(paid.paid)} {_DONE[request.act]} now ({paid.amount / 100:.2f} {plan.currency})"
        typer.echo(f"{now}, {len(paid.before)} before")
        if paid.unconfirmed:
            typer.echo(f"Not confirmed by the platform yet, and not paid again: {', '.join(paid.unconfirmed)}")
    if paid.refused:
        why = "; ".join(f"{who}: {reason.rstrip('.')}" for who, reason in paid.refused.items())
        raise InputError(f"Not done for {len(paid.refused)} of {len(plan.lines)} ({why})", remedy="see the status")


_ASKED = {
    "publish": "Publish the study with these places",
    "top-up": "Offer these places",
    "approve": "Approve and pay these {n} submissions",
    "bonus": "Pay these {n} bonuses",
    "reject": "Reject these {n} submissions, which are then not paid",
}
_DONE = {"publish": "published", "top-up": "topped up", "approve": "paid", "bonus": "paid", "reject": "rejected"}
