"""`vantage models`: find out which settings and outputs a model supports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vantage.cli.options import with_connection
from vantage.cli.output import Json, print_json, print_rows, show

app = typer.Typer(
    help="Find out which settings and outputs a model supports.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("probe")
@with_connection
def probe(
    model: Annotated[str, typer.Argument(help="openai:NAME, anthropic:NAME, gguf:PATH and so on; see docs/models.md.")],
    connection: dict[str, Any],
    store: Annotated[
        Path | None, typer.Option(help="A corpus folder or run store that keeps the profile, for vantage rate.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask a model a dozen short questions and show its profile.

    Parameters that it refuses, whether replies are held to a schema, how many log-probabilities it tells, how a reply
    begins, thinking, window, whether a seed repeats, speed and price.
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
        from vantage.runs.profiles import keep
        from vantage.runs.store import RunStore

        with RunStore(store) as place:
            keep(place, rater, profile)
    if as_json:
        print_json(profile.as_dict())
        return
    for name, value in profile.as_dict().items():
        typer.echo(f"{name.replace('_', ' ')}: {_shown(value)}")


@app.command("profiles")
def profiles(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="A run store, or the corpus folder that contains it.")],
    as_json: Json = False,
) -> None:
    """List the profiles that a store keeps."""
    from vantage.runs.profiles import profiles as kept
    from vantage.runs.store import RunStore

    with RunStore(store, read_only=True) as opened:
        rows = [profile.as_dict() for profile in kept(opened)]
    columns = ("model", "probed", "schema", "logprobs", "thinks", "window", "repeats", "tokens_per_second")
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
