"""`vantage view`: look at every judgment in the browser, or write the page into one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vantage.errors import InputError


def view(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH…", help="Corpus folders, run stores, study folders or collect files."),
    ],
    port: Annotated[int, typer.Option(help="The port, on this machine only; 0 takes a free one.")] = 0,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE.html", help="Write one self-contained file and exit.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed, where the file holds a sample.")] = 0,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
) -> None:
    """Look at every judgment: items, raters, comparisons, measures, runs and maps.

    The page follows a run or a study that is under way. Nobody else can open it: the link works once, on this machine.
    """
    from vantage.view.explorer import Explorer
    from vantage.view.opening import open_paths

    opened, read = open_paths(paths)
    explorer = Explorer(opened, read)
    if export is not None:
        from vantage.view.exporting import export as write

        write(explorer, export, seed=seed)
        typer.echo(f"Wrote {export} ({export.stat().st_size / 2**20:.1f} MB)")
        return
    import socket
    from threading import Thread

    explorer.refresh()
    # The first page is computed while the server is imported and the browser opens.
    Thread(target=explorer.prepare, daemon=True).start()
    import uvicorn

    from vantage.view.app import Server

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # the link works as soon as it is printed
    except OSError:
        listener.close()
        raise InputError(f"port {port} is taken", remedy="leave --port out to take a free one") from None
    server = Server(explorer, listener.getsockname()[1])
    typer.echo(f"Look at {server.address}\nStop with Ctrl-C.", err=True)
    if open_:
        typer.launch(server.address)
    config = uvicorn.Config(server.app(), log_level="error", access_log=False, server_header=False)
    uvicorn.Server(config).run([listener])
