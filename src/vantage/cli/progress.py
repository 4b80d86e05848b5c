"""What verbs print about long work: an estimate, progress bars with rate, cost and time left, and the findings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from vantage.cli.output import VerbResult, printable, show

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from vantage.report import Report
    from vantage.runs.forecast import Estimate
    from vantage.runs.tally import RunTally
    from vantage.studies.execution import Progress

UNKNOWN: Final = "not known"
COUNTS: Final = ("calls", "prompt_tokens", "completion_tokens")
PRICES: Final = "Pass prices with --prices FILE, with lines such as  openai:NAME: {input: 1, output: 4}"


def shown(one: Estimate) -> dict[str, Any]:
    """An estimate as the end of a row."""
    row: dict[str, Any] = {
        **{name: getattr(one, name) for name in COUNTS},
        "cost": UNKNOWN if one.cost is None else one.cost,
        "time": UNKNOWN if one.seconds is None else duration(one.seconds),
    }
    if one.at_least:
        least = {name: row[name] for name in ("completion_tokens", "cost", "time") if row[name] != UNKNOWN}
        row |= {name: f"at least {show(number)}" for name, number in least.items()}
    return row


def estimated(rows: Sequence[dict[str, Any]], notes: Sequence[str]) -> list[Any]:
    """The rows of an estimate, and below them its assumptions."""
    unpriced = [f"{PRICES}\n"] if any(row["cost"] == UNKNOWN for row in rows) else []
    return [*unpriced, rows, "", *(f"• {printable(note)}" for note in notes), "Nothing was sent."]


def duration(seconds: float) -> str:
    """A length of time in a word or two.

    >>> duration(0.2), duration(47), duration(400), duration(9000), duration(400_000)
    ('0 s', '47 s', '7 min', '2.5 h', '4.6 days')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def _bars(*statuses: str) -> Bars:
    """Progress bars on standard error, with further fields of a task."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    first, *rest = (TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", *statuses))
    columns = (first, BarColumn(), MofNCompleteColumn(), *rest, TimeRemainingColumn())
    return Bars(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def working() -> Iterator[Progress]:
    """Progress bars, one for each step that is under way."""
    with _bars() as bars:

        @contextmanager
        def step(title: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
            task = bars.add_task(printable(title), total=total)
            try:
                yield lambda count: bars.advance(task, count)
            finally:
                bars.remove_task(task)

        yield step


@contextmanager
def moving(title: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar; call what it yields with how much is done, and of how much."""
    with _bars() as bars:
        task = bars.add_task(printable(title), total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


@contextmanager
def run_progress(title: str) -> Iterator[Callable[[RunTally], None]]:
    """A progress bar; call what it yields with the counts."""
    started = time.monotonic()
    with _bars("fields[status]") as bars:
        task = bars.add_task(printable(title), total=None, status="")

        def show(tally: RunTally) -> None:
            done, status = tally.skipped + tally.conversations, progress_text(tally, time.monotonic() - started)
            bars.update(task, total=tally.planned, completed=done, status=status)

        yield show


def progress_text(tally: RunTally, seconds: float) -> str:
    """Rate, cost and failures in a few words.

    >>> from vantage.runs.tally import RunTally
    >>> progress_text(RunTally(sent=120, failed=2, cost=0.25), 10.0)
    '12.0/s · cost 0.25 · 2 failed'
    """
    parts = [f"{tally.sent / max(seconds, 1e-9):.1f}/s", *([tally.standing] if tally.standing else [])]
    if tally.cost:
        parts.append(f"cost {tally.cost:.2f}" if tally.cost >= 0.01 else f"cost {tally.cost:.4f}")
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    return " · ".join(parts)


@contextmanager
def resumable() -> Iterator[None]:
    """Says how to resume a study that ended early; exit code 1 if it was stopped, 130 if it was interrupted."""
    from vantage.studies.execution import StudyStopped

    try:
        yield
    except StudyStopped as error:
        typer.echo(f"vantage: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("vantage: interrupted; run the same command again to resume.", err=True)
        raise typer.Exit(130) from None


def reported(report: Report, out: Path) -> VerbResult:
    """The findings of a report, and where it is."""
    result, missing = report.result, report.record.missing
    findings = [{"finding": one.text, "evidence": [asdict(part) for part in one.evidence]} for one in result.findings]
    about = {"warnings": list(result.warnings), "missing": missing, "tables": [table.name for table in result.tables]}
    return VerbResult(
        {"report": str(out / "report.html"), "findings": findings, **about},
        *(f"{place}. {printable(finding.text)}" for place, finding in enumerate(result.findings, 1)),
        *(f"\n• {printable(sentence)}" for sentence in [*missing, *result.warnings]),
        f"\nThe report: {out / 'report.html'}",
    )
