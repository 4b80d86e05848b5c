"""`vantage runs`: look at the store of a corpus, export it, clean it, and read its replies again.

`vantage models`: find out which settings and outputs a model supports; a store keeps that.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import vantage
from vantage.cli.options import TO, options_of, shared, with_connection
from vantage.cli.output import Csv, Json, Output, print_frame, print_json, print_rows, printable, show
from vantage.cli.progress import PRICES
from vantage.errors import InputError

if TYPE_CHECKING:
    from vantage.runs import RunStore
    from vantage.runs.records import RunRecord

app = typer.Typer(
    help="Look at stored model calls and runs under way; export, reread or recover them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
models = typer.Typer(
    help="Find out which settings and outputs a model supports.", no_args_is_help=True, rich_markup_mode=None
)
Where = Annotated[Path, typer.Argument(metavar="STORE", help="A run store, or the corpus folder that contains one.")]
Run = Annotated[int | None, typer.Option("--run", help="One run; all of them without it.")]


@app.command("list")
def list_(store: Where, as_json: Json = False) -> None:
    """List the runs of a store, the oldest first."""
    from vantage.runs.records import records

    with _reading(store) as opened:
        rows = [_row(opened, record) for record in records(opened)]
    print_rows(rows, as_json=as_json, empty="There are no runs in this store.")


@app.command("show")
def show_(
    store: Where,
    run: Annotated[int, typer.Argument(help="The number of the run; see vantage runs list.")],
    calls: Annotated[int, typer.Option(help="How many of its calls to print, with their prompts.")] = 1,
    as_json: Json = False,
) -> None:
    """Show one run.

    Everything that was asked for, how it went, and some of its calls as they were sent.
    """
    from vantage.runs.export import calls as stored
    from vantage.runs.records import changes, record, servings

    with _reading(store) as opened:
        record_ = record(opened, run)
        some, row = list(stored(opened, run=run, limit=calls)), _row(opened, record_)
        known = servings(opened, run)
    caveats = changes(known)
    serving = [{**asdict(one), "first": _when(one.first), "last": _when(one.last)} for one in known]
    if as_json:
        details = {
            "plan": record_.plan,
            "summary": record_.summary,
            "served": serving,
            "caveats": caveats,
            "calls": some,
        }
        print_json({**row, **details})
        return
    for name, value in row.items():
        typer.echo(f"{name.replace('_', ' ')}: {show(value)}")
    typer.echo("")
    print_rows(serving, empty="What served the calls was not recorded.")
    typer.echo("")
    for caveat in caveats:
        typer.echo(f"• {printable(caveat)}")
    for part in record_.plan["parts"]:
        typer.echo("\n".join(f"  {key}: {show(value)}" for key, value in part.items() if value not in ("", [])))
        typer.echo("")
    for call in some:
        _print_call(call)


Number = Annotated[int, typer.Argument(metavar="RUN", help="The number of the run; see vantage runs list.")]


@app.command("pause")
def pause(store: Where, run: Number) -> None:
    """Pause a run that is under way in another process.

    What it has sent may come to its end; nothing more is sent until it is resumed.
    """
    _control(store, run, paused=True)
    typer.echo(f"Run {run} is paused; resume it with: vantage runs resume {store} {run}")


@app.command("resume")
def resume(store: Where, run: Number) -> None:
    """Let a run that was paused go on."""
    _control(store, run, paused=False)
    typer.echo(f"Run {run} goes on.")


_limits = options_of(
    "runs/options.py",
    "RunOptions",
    only="concurrency requests_per_minute tokens_per_minute max_cost",
    flags={"requests_per_minute": "--rpm", "tokens_per_minute": "--tpm"},
)


@app.command("tune")
@shared("changes", _limits)
def tune(store: Where, run: Number, changes: dict[str, Any]) -> None:
    """Change the limits of a run that is under way in another process."""
    from vantage.runs import RunOptions

    if not changes:
        raise InputError("No limit given", remedy="pass --concurrency, --rpm, --tpm or --max-cost")
    RunOptions(**changes)
    _control(store, run, **changes)
    typer.echo(f"Run {run} now has " + ", ".join(f"{n.replace('_', ' ')} {v:g}" for n, v in changes.items()) + ".")


def _control(store: Path, run: int, **changes: Any) -> None:
    from vantage.runs import RunStore, control

    with RunStore(_existing(store)) as opened:
        control.ask(opened, run, **changes)


@app.command("cost")
def cost(
    store: Where,
    run: Run = None,
    by: Annotated[str, typer.Option(help="run, model or sitting (each start of a command, with its model).")] = "run",
    prices: Annotated[Path | None, typer.Option(help="Use these prices instead of those at the time.")] = None,
    as_json: Json = False,
) -> None:
    """Show what runs have cost.

    Counted from the stored calls, so that it is right after kills and repeats. A cost that is not known says so.
    """
    from vantage.errors import InputError, nearest
    from vantage.runs.prices import read_prices
    from vantage.runs.records import ledger, ledger_rows

    if by not in ("run", "model", "sitting"):
        raise InputError(f"there is no ledger by '{by}'", remedy=nearest(by, ["run", "model", "sitting"]))
    with _reading(store) as opened:
        entries = ledger_rows(ledger(opened, run, read_prices(prices) if prices else None), by)
    if as_json:
        print_json(entries)
        return
    dated = [{**row, **({"started": _when(row["started"])} if "started" in row else {})} for row in entries]
    rows = [{**row, "cost": "not known" if row["cost"] is None else row["cost"]} for row in dated]
    unpriced = any(row["cost"] is None for row in entries)
    print_rows(rows, empty="There are no calls in this store.", hint=PRICES if unpriced else "")


@app.command("export")
def export(
    store: Where,
    to: Annotated[Path, typer.Argument(help="A .jsonl, .csv or .parquet file.")],
    run: Run = None,
    prompts: Annotated[bool, typer.Option("--prompts/--no-prompts", help="Write prompts too.")] = True,
) -> None:
    """Write stored calls to a file that other programs read."""
    from vantage.runs.export import export as written
    from vantage.runs.records import record

    with _reading(store) as opened:
        if run is not None:
            record(opened, run)
        count = written(opened, to, run=run, prompts=prompts)
    typer.echo(f"Wrote {to}: {show(count)} calls")


@app.command("reparse")
def reparse(
    folder: Annotated[Path, typer.Argument(help="A corpus folder whose judgments have a column reply.")],
    to: Annotated[Path | None, typer.Option(*TO, help="Where to write; without it the folder is changed.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Read stored replies again.

    Replies are read by the rules as they are now; no model is called.
    """
    from vantage.runs.reparse import reparse as again
    from vantage.runs.store import place

    if place(folder).is_file():
        # Its profiles tell how models mark their thinking.
        _reading(folder).close()
    done = again(vantage.Corpus.read(folder))
    if not dry_run:
        done.corpus.write(to or folder)
    if as_json or as_csv:
        Output(as_json, as_csv).print(done.changes)
        return
    typer.echo(f"Read {show(done.read)} replies again: {show(len(done.changes))} judgments changed")
    for rule, count in done.left.items():
        typer.echo(f"Left {show(count)} replies as they are, which another parser reads ({rule})")
    if len(done.changes):
        columns = ["status", "status_now", "rule", "rule_now"]
        counts = done.changes.group_by(columns).len("judgments").sort("judgments", descending=True)
        print_frame(counts)
    typer.echo("Nothing was written." if dry_run else f"Wrote {to or folder}")


@app.command("recover")
def recover(store: Where) -> None:
    """Save what can be read of a damaged store.

    It is written into a new store; the damaged file is kept.
    """
    from vantage.runs.recovery import recover as saved

    typer.echo(saved(_existing(store)))


@models.command("probe")
@with_connection
def probe(
    model: Annotated[str, typer.Argument(help="openai:NAME, anthropic:NAME, gguf:PATH and so on; see docs/models.md.")],
    connection: dict[str, Any],
    store: Annotated[
        Path | None, typer.Option(help="A corpus folder or run store that keeps the profile, for vantage rate.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask a model some ten short questions and show its profile.

    Parameters that it refuses, whether replies are held to a schema, how many log-probabilities it tells, how a reply
    begins, thinking, the tokens that replies take, window and price.
    """
    from vantage.raters.chat import ChatRater
    from vantage.raters.models.probe import probe as probed

    rater = ChatRater(model, settings=connection)
    opened = rater.open()
    try:
        profile = probed(opened, lambda what: None if as_json else typer.echo(f"… {what}", err=True))
    finally:
        opened.close()
    if store is not None:
        from vantage.runs import RunStore
        from vantage.runs.profiles import keep

        with RunStore(store) as place:
            keep(place, rater, profile)
    if as_json:
        print_json(profile.as_dict())
        return
    for name, value in profile.as_dict().items():
        typer.echo(f"{name.replace('_', ' ')}: {_shown(value)}")


@models.command("profiles")
def profiles(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="A run store, or the corpus folder that contains it.")],
    as_json: Json = False,
) -> None:
    """List the profiles that a store keeps."""
    from vantage.runs.profiles import profiles as kept

    with _reading(store) as opened:
        rows = [profile.as_dict() for profile in kept(opened)]
    columns = ("model", "probed", "schema", "logprobs", "thinks", "window", "thinking_tokens")
    shown = rows if as_json else [{name: row[name] for name in columns} for row in rows]
    print_rows(shown, as_json=as_json, empty="There are no profiles in this store.")


def _shown(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, (list, tuple)):
        return "; ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {one:g}" for key, one in value.items()) or "not known"
    return "yes" if value is True else "no" if value is False else show(value)


def _reading(store: Path) -> RunStore:
    from vantage.runs import RunStore

    return RunStore(store, read_only=True)


def _existing(store: Path) -> Path:
    from vantage.runs.store import place

    if not place(store).is_file():
        raise InputError("there is no run store here", file=place(store), remedy="name the file")
    return place(store)


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(sep=" ", timespec="seconds") if seconds else ""


def _row(store: RunStore, record: RunRecord) -> dict[str, Any]:
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


def _print_call(call: dict[str, Any]) -> None:
    what = ", ".join(str(call[key]) for key in ("item", "question") if call[key])
    typer.echo(f"━━━ {printable(what)}, sample {call['sample']} ({call['step']}, {call['at']})")
    for message in call["messages"]:
        typer.echo(f"── {message['role']}\n{printable(message['content'])}")
    if call["thinking"]:
        typer.echo(f"── thinking\n{printable(call['thinking'])}")
    said = call["reply"] or call["error"] or json.dumps(call["scores"])
    typer.echo(f"── {'failed' if call['finish'] == 'failed' else 'reply'}\n{printable(str(said))}\n")
