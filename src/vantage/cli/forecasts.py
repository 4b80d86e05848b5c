"""How an estimate of calls, tokens, cost and time is printed, for `vantage rate` and `vantage study`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import typer

from vantage.cli.output import print_rows, printable

if TYPE_CHECKING:
    from vantage.runs.forecast import Estimate

UNKNOWN: Final = "not known"
PRICES: Final = (
    "Prices come from a file of yours: --prices FILE, with lines such as  openai:NAME: {input: 1, output: 4}"
)


def shown(one: Estimate) -> dict[str, Any]:
    """An estimate as the end of a row."""
    return {
        "calls": one.calls,
        "prompt_tokens": one.prompt_tokens,
        "completion_tokens": one.completion_tokens,
        "cost": UNKNOWN if one.cost is None else one.cost,
        "time": UNKNOWN if one.seconds is None else duration(one.seconds),
    }


def print_estimate(rows: Sequence[dict[str, Any]], notes: Sequence[str]) -> None:
    """The rows, and below them what they rest on."""
    if any(row["cost"] == UNKNOWN for row in rows):
        typer.echo(f"{PRICES}\n")
    print_rows(rows)
    typer.echo()
    for note in notes:
        typer.echo(f"• {printable(note)}")
    typer.echo("Nothing was sent.")


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
