"""`vantage collect recruit`: find people for a study on Prolific, and pay them."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from vantage import collect
from vantage.cli.options import VerbGroup
from vantage.cli.output import VerbResult
from vantage.errors import InputError
from vantage.recruit.base import PaymentRequest, cents

if TYPE_CHECKING:
    from vantage.recruit.base import Recruited
    from vantage.recruit.on_prolific import ProlificRecruiter

app = VerbGroup("Recruit participants of a study file, and pay them.")


def _service(study: Path, *, database: str | None = None) -> closing[collect.StudyService]:
    """A study that has an offer, with its database opened.

    Args:
        study: A study file with 'recruitment.offer'.
    """
    return closing(collect.StudyService(read_study(study, None, database), database))


Service = Annotated["collect.StudyService", _service]


def _recruiter(service: Service) -> closing[ProlificRecruiter]:
    """The study at its platform."""
    from vantage.recruit.on_prolific import recruiter

    return closing(recruiter(service))


Recruiter = Annotated["ProlificRecruiter", _recruiter]


def _carried_out(recruiter: ProlificRecruiter, request: PaymentRequest, yes: bool) -> VerbResult:
    """Shows a plan, asks, and carries out exactly what was shown."""
    plan = recruiter.plan(request)
    lines = []
    for line in plan.lines:
        who = " ".join(filter(None, (line.submission, line.rater, line.note)))
        lines.append(f"  {who}: {_money(line.amount, plan.currency)}")
    if lines and not yes:
        # What is confirmed is read before; in scripts it comes with the result.
        typer.echo("\n".join(lines), err=True)
        asked = ASKED[request.act].format(n=len(lines))
        _confirm(f"{asked}, {_money(plan.total, plan.currency)} in total?", yes)
    paid = recruiter.carry_out(plan)
    refused = None
    if paid.refused:
        why = "; ".join(f"{who}: {reason.rstrip('.')}" for who, reason in paid.refused.items())
        refused = InputError(f"Not done for {len(paid.refused)} of {len(lines)} ({why})", remedy="see the status")
    waiting = f"Not confirmed by the platform yet, and not paid again: {', '.join(paid.unconfirmed)}"
    return VerbResult(
        {"plan": asdict(plan), "total": plan.total, **asdict(paid)},
        *(lines if yes else ()),
        f"{len(paid.paid)} {DONE[request.act]} now ({_money(paid.amount, plan.currency)}), {len(paid.before)} before",
        *([waiting] if paid.unconfirmed else ()),
        error=refused,
    )


@app.verb
def create(recruiter: Recruiter) -> VerbResult:
    """Create a draft from the study file; nobody sees it yet."""
    return _state(recruiter.create())


@app.verb
def publish(recruiter: Recruiter, *, yes: bool = False) -> VerbResult:
    """Publish the draft, after you confirm what its places cost."""
    return _carried_out(recruiter, PaymentRequest("publish"), yes)


@app.verb
def status(recruiter: Recruiter) -> VerbResult:
    """Show the state of recruitment; returned and timed-out submissions free their seats."""
    state = recruiter.state()
    return _state(state, [asdict(proposal) for proposal in recruiter.proposals()] if state.study else [])


@app.verb
def top_up(recruiter: Recruiter, *, yes: bool = False) -> VerbResult:
    """Offer more places, for the seats that are still open."""
    return _carried_out(recruiter, PaymentRequest("top-up"), yes)


@app.verb
def approve(recruiter: Recruiter, *, yes: bool = False) -> VerbResult:
    """Approve and pay those who finished; those who failed checks wait for your decision."""
    return _carried_out(recruiter, PaymentRequest("approve"), yes)


@app.verb
def reject(
    recruiter: Recruiter, submissions: list[str], *, reason: str, category: str = "OTHER", yes: bool = False
) -> VerbResult:
    """Reject the submissions you name, with a reason; they are not paid, and their answers are excluded.

    Args:
        reason: What the participant reads; at least 100 characters.
        category: Prolific's category, such as FAILED_CHECK.
    """
    named = dict.fromkeys(submissions, 0)
    return _carried_out(recruiter, PaymentRequest("reject", named, category=category, reason=reason), yes)


@app.verb
def bonus(
    recruiter: Recruiter, submissions: list[str], *, amount: str, name: str, resend: bool = False, yes: bool = False
) -> VerbResult:
    """Pay a bonus to the submissions you name, and to nobody else.

    Args:
        amount: What each gets, in the study's currency.
        name: What it is for; nobody is paid twice under one name.
        resend: Send again a payment that was sent but, as you have checked, never arrived.
    """
    return _carried_out(
        recruiter, PaymentRequest("bonus", dict.fromkeys(submissions, cents(amount)), name, resend), yes
    )


@app.verb
def cancel(recruiter: Recruiter, keys: list[str], *, yes: bool = False) -> None:
    """Cancel payments that were started and never confirmed, once the platform shows that they were not made.

    Args:
        keys (KEY…): Entries of the ledger, as status lists them.
    """
    _confirm(f"Cancel {', '.join(keys)}? Nothing is paid or taken back.", yes)
    recruiter.cancel(keys)
    typer.echo(f"{len(keys)} cancelled")


@app.verb
def stop(recruiter: Recruiter, *, yes: bool = False) -> VerbResult:
    """Stop recruiting; participants who have started may finish."""
    _confirm("Stop recruiting?", yes)
    return _state(recruiter.stop())


@app.verb
def ledger(service: Service) -> VerbResult:
    """Print every entry of the ledger."""
    from vantage.recruit.ledger import RecruitmentLedger

    entries = [asdict(entry) for entry in RecruitmentLedger(service.database.private.sql).all()]
    short = ("act", "state", "submission", "amount", "currency", "key")
    return VerbResult(entries, [{name: entry[name] for name in short} for entry in entries])


@app.verb
def link(service: Service, platform_id: str) -> None:
    """Print a link for a participant who lost theirs or was kept out.

    Args:
        platform_id (ID): The participant's id on the platform.
    """
    from vantage.recruit.draft import offer_of
    from vantage.recruit.visitors import new_link

    typer.echo(new_link(service, platform_id, offer_of(service.study).url))


def read_study(file: Path, folder: Path | None, database: str | None) -> collect.AnnotationStudy:
    """The study of a file as it was started; says which edits of the file do not apply."""
    study, note = collect.opened_study(file, folder, database)
    if note:
        typer.echo(note, err=True)
    return study


def _confirm(question: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("Nothing was done, because nobody confirmed it", remedy="pass --yes in scripts")
    typer.confirm(question, abort=True)


def _state(state: Recruited, proposals: list[dict[str, object]] | None = None) -> VerbResult:
    facts = {**asdict(state), **({} if proposals is None else {"proposals": proposals})}
    amounts = {name: _money(facts[name], state.currency) for name in ("reward", "paid", "bonuses", "fees")}
    counts = ", ".join(f"{count} {name.lower()}" for name, count in state.submissions.items()) or "none"
    numbers = {name: facts[name] for name in ("status", "study", "places", "finished", "open_batches")}
    hourly = {} if state.hourly is None else {"paid_per_hour": f"{state.hourly:.2f} {state.currency}"}
    return VerbResult(
        facts,
        [{"platform": state.platform, **numbers, "submissions": counts, **amounts, **hourly}],
        *(f"Started, not yet confirmed by the platform (cancel it if it was not made): {k}" for k in state.unconfirmed),
        *(f"Different from the ledger: {difference}" for difference in state.differences),
        *(["\nSubmissions to review; none is rejected automatically:", proposals] if proposals else ()),
    )


def _money(amount: int, currency: str) -> str:
    return f"{amount / 100:.2f} {currency}"


ASKED: Final = {
    "publish": "Publish the study with these places",
    "top-up": "Offer these places",
    "approve": "Approve and pay these {n} submissions",
    "bonus": "Pay these {n} bonuses",
    "reject": "Reject these {n} submissions, which are then not paid",
}
DONE: Final = {"publish": "published", "top-up": "topped up", "approve": "paid", "bonus": "paid", "reject": "rejected"}
