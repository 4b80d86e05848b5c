"""`vantage runs`: look at the store of a corpus, export it, clean it, and read its replies again.

`vantage models`: find out which settings and outputs a model supports; a store keeps that.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import vantage
from vantage import runs
from vantage.cli.options import Connection, Values, VerbGroup, options_of
from vantage.cli.output import VerbResult, VerbTable, listed, printable, show
from vantage.cli.progress import PRICES
from vantage.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vantage.runs.records import RunRecord

app = VerbGroup("Inspect stored model calls and runs in progress; export, reparse or recover them.")
models = VerbGroup("Find out which settings and outputs a model supports.")


def _reading(store: Path) -> runs.RunStore:
    return runs.RunStore(store, read_only=True)


Reading = Annotated["runs.RunStore", _reading]


@app.verb
def list_(store: Reading) -> VerbResult:
    """List the runs of a store, oldest first."""
    from vantage.runs.records import records

    rows = [_row(store, record) for record in records(store)]
    return listed(rows, empty="There are no runs in this store.")


@app.verb
def show_(store: Reading, run: int, *, calls: int = 1) -> VerbResult:
    """Show one run.

    What was asked for, how it went, and some of its calls as they were sent.

    Args:
        calls: How many of its calls to print, prompts included.
    """
    from vantage.runs.export import calls as stored
    from vantage.runs.records import changes, record, servings

    about, known = record(store, run), servings(store, run)
    some, row = list(stored(store, run=run, limit=calls)), _row(store, about)
    caveats = changes(known)
    serving = [{**asdict(one), "first": _when(one.first), "last": _when(one.last)} for one in known]
    details = {"plan": about.plan, "summary": about.summary, "served": serving, "caveats": caveats, "calls": some}
    return VerbResult(
        {**row, **details},
        *(f"{name.replace('_', ' ')}: {show(value)}" for name, value in row.items()),
        "",
        serving or "Which model version served the calls was not recorded.",
        "",
        *(f"• {printable(caveat)}" for caveat in caveats),
        *("\n".join([*_facts(part), ""]) for part in about.plan["parts"]),
        *(line for call in some for line in _call(call)),
    )


def _facts(part: dict[str, Any]) -> Iterator[str]:
    return (f"  {key}: {show(value)}" for key, value in part.items() if value not in ("", []))


@app.verb
def pause(store: Path, run: int) -> None:
    """Pause a run in another process.

    Requests already sent may finish; no more are sent until it is resumed.
    """
    _control(store, run, paused=True)
    typer.echo(f"Run {run} is paused; resume it with: vantage runs resume {store} {run}")


@app.verb
def resume(store: Path, run: int) -> None:
    """Resume a paused run."""
    _control(store, run, paused=False)
    typer.echo(f"Run {run} is resumed.")


RunLimits = Annotated[
    Values,
    options_of(
        "runs/options.py",
        "RunOptions",
        only="concurrency requests_per_minute tokens_per_minute max_cost",
        flags={"requests_per_minute": "--rpm", "tokens_per_minute": "--tpm"},
    ),
]


@app.verb
def tune(store: Path, run: int, *, changes: RunLimits) -> None:
    """Change the limits of a run in another process."""
    if not changes:
        raise InputError("No limit given", remedy="pass --concurrency, --rpm, --tpm or --max-cost")
    runs.RunOptions(**changes)
    _control(store, run, **changes)
    typer.echo(f"Run {run} now has " + ", ".join(f"{n.replace('_', ' ')} {v:g}" for n, v in changes.items()) + ".")


def _control(store: Path, run: int, **changes: Any) -> None:
    from vantage.runs import control

    with runs.RunStore(_existing(store)) as opened:
        control.ask(opened, run, **changes)


@app.verb
def cost(
    store: Reading,
    *,
    run: int | None = None,
    by: Literal["run", "model", "sitting"] = "run",
    prices: Path | None = None,
) -> VerbResult:
    """Show what runs have cost.

    It is counted from the stored calls, so it stays right after crashes and repeats. Unknown costs are marked.

    Args:
        run: One run (default: all).
        by: By run, model or sitting (each start of a command, per model).
        prices: A file of prices to use instead of those at the time.
    """
    from vantage.runs.prices import read_prices
    from vantage.runs.records import ledger, ledger_rows

    entries = ledger_rows(ledger(store, run, read_prices(prices) if prices else None), by)
    if not entries:
        return listed([], empty="There are no calls in this store.")
    dated = [{**row, **({"started": _when(row["started"])} if "started" in row else {})} for row in entries]
    rows = [{**row, "cost": "not known" if row["cost"] is None else row["cost"]} for row in dated]
    return VerbResult(entries, rows, *([f"\n{PRICES}"] if any(row["cost"] is None for row in entries) else ()))


@app.verb
def export(store: Reading, to: Path, *, run: int | None = None, prompts: bool = True) -> None:
    """Write stored calls to a file for other programs.

    Args:
        to: A .jsonl, .csv or .parquet file.
        run: One run (default: all).
        prompts: Include prompts.
    """
    from vantage.runs.export import export as written
    from vantage.runs.records import record

    if run is not None:
        record(store, run)
    count = written(store, to, run=run, prompts=prompts)
    typer.echo(f"Wrote {to}: {show(count)} calls")


@app.verb
def reparse(folder: Path, *, to: Path | None = None, dry_run: bool = False) -> VerbTable:
    """Read stored replies again.

    The current parsing rules are used; no model is called.

    Args:
        folder: A corpus folder whose judgments have a column reply.
        dry_run: Only show what would change.
    """
    from vantage.runs.reparse import reparse as again
    from vantage.runs.store import place

    if place(folder).is_file():
        # Its profiles tell how models mark their thinking.
        _reading(folder).close()
    done = again(vantage.Corpus.read(folder))
    if not dry_run:
        done.corpus.write(to or folder)
    counts = done.changes.group_by("status", "status_now", "rule", "rule_now").len("judgments")
    return VerbTable(
        done.changes,
        f"Read {show(done.read)} replies again: {show(len(done.changes))} judgments changed",
        *(f"Left {show(n)} replies alone: another parser reads them ({rule})" for rule, n in done.left.items()),
        *([counts.sort("judgments", descending=True).to_dicts()] if len(counts) else ()),
        "Nothing was written." if dry_run else f"Wrote {to or folder}",
    )


@app.verb
def recover(store: Path) -> None:
    """Rescue what can be read of a damaged store.

    It goes into a new store; the damaged file is kept.
    """
    from vantage.runs.recovery import recover as saved

    typer.echo(saved(_existing(store)))


@models.verb
def probe(model: str, *, connection: Connection, store: Path | None = None) -> VerbResult:
    """Ask a model about ten short questions and show its profile.

    Rejected parameters, whether replies follow a schema, how many log-probabilities are returned, how a reply begins,
    thinking, tokens per reply, window and price.

    Args:
        model: openai:NAME, anthropic:NAME, gguf:PATH and so on; see docs/models.md.
        store: A corpus folder or run store to keep the profile in, for vantage rate.
    """
    from vantage.raters.models.probe import probe as probed

    rater = vantage.ChatRater(model, settings=connection)
    opened = rater.open()
    try:
        profile = probed(opened, lambda what: typer.echo(f"… {what}", err=True))
    finally:
        opened.close()
    if store is not None:
        from vantage.runs.profiles import keep

        with runs.RunStore(store) as place:
            keep(place, rater, profile)
    facts = profile.as_dict()
    return VerbResult(facts, *(f"{name.replace('_', ' ')}: {_shown(value)}" for name, value in facts.items()))


@models.verb
def profiles(store: Reading) -> VerbResult:
    """List the profiles in a store."""
    from vantage.runs.profiles import profiles as kept

    rows = [profile.as_dict() for profile in kept(store)]
    columns = ("model", "probed", "schema", "logprobs", "thinks", "window", "thinking_tokens")
    shown = [{name: row[name] for name in columns} for row in rows]
    return VerbResult(rows, shown or "There are no profiles in this store.")


def _shown(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, (list, tuple)):
        return "; ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {one:g}" for key, one in value.items()) or "not known"
    return "yes" if value is True else "no" if value is False else show(value)


def _existing(store: Path) -> Path:
    from vantage.runs.store import place

    if not place(store).is_file():
        raise InputError(
            "there is no run store here", file=place(store), remedy="name a store, or a corpus folder that has one"
        )
    return place(store)


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(sep=" ", timespec="seconds") if seconds else ""


def _row(store: runs.RunStore, record: RunRecord) -> dict[str, Any]:
    from vantage.runs.records import ledger, totals

    # From the stored calls, since a run that was killed has written no summary.
    spent = totals(ledger(store, record.id))
    parts = record.plan["parts"]
    models = ", ".join(dict.fromkeys(str(part["model"]) for part in parts))
    return {
        "run": record.id,
        "changed": _when(record.changed),
        "state": record.state,
        "rater": parts[0]["rater"] if len(parts) == 1 else f"{len(parts)} raters of {models}",
        "instrument": parts[0]["instrument"],
        "requests": sum(part["requests"] for part in parts),
        "sent": spent["calls"] + spent["failures"],
        **{name: record.summary.get(name, 0) for name in ("stored", "failed", "missing")},
        **{name: spent[name] for name in ("prompt_tokens", "completion_tokens", "cost")},
    }


def _call(call: dict[str, Any]) -> Iterator[str]:
    what = ", ".join(str(call[key]) for key in ("item", "question") if call[key])
    yield f"━━━ {printable(what)}, sample {call['sample']} ({call['step']}, {call['at']})"
    for message in call["messages"]:
        yield f"── {message['role']}\n{printable(message['content'])}"
    if call["thinking"]:
        yield f"── thinking\n{printable(call['thinking'])}"
    said = call["reply"] or call["error"] or json.dumps(call["scores"])
    yield f"── {'failed' if call['finish'] == 'failed' else 'reply'}\n{printable(str(said))}\n"
