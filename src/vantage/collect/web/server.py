"""Serving a study: in this process, or in several that share its database."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import asdict, dataclass
from typing import Final

import uvicorn
from starlette.applications import Starlette

from vantage.collect.desk import Desk
from vantage.collect.study import Study
from vantage.collect.web.app import create_app
from vantage.errors import InputError

LINE: Final = "%(asctime)s %(levelname)s %(message)s"
VARIABLE: Final = "VANTAGE_COLLECT"
"""How workers are told what to serve: they are started by the server and share nothing else with it."""


@dataclass(frozen=True, slots=True)
class Source:
    """What is served: a study file, or a corpus folder and an instrument; with which database, under which path."""

    study: str | None = None
    folder: str | None = None
    instrument: str | None = None
    database: str | None = None
    prefix: str = ""

    def open(self) -> Desk:
        """The study at work."""
        if self.study:
            return Desk.open(Study.load(self.study), self.database)
        if not (self.folder and self.instrument):
            raise InputError("there is no study to serve", remedy="give a study file, or a folder and an instrument")
        return Desk.open(Study.of(self.folder, self.instrument), self.database)


def serve(source: Source, *, host: str = "127.0.0.1", port: int = 8000, workers: int = 1) -> None:
    """Serves until it is interrupted; on the loopback address unless told otherwise."""
    logging.basicConfig(format=LINE, level=logging.WARNING)
    settings = {
        "host": host,
        "port": port,
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "backlog": 4096,
        "timeout_keep_alive": 30,
        "timeout_graceful_shutdown": 10,
    }
    if workers == 1:
        uvicorn.run(create_app(source.open(), prefix=source.prefix, own=True), **settings)  # type: ignore[arg-type]
        return
    source.open().close()  # what is wrong with the study is told once, here, and the database made once
    os.environ[VARIABLE] = json.dumps(asdict(source))
    uvicorn.run(f"{__name__}:worker", factory=True, workers=workers, **settings)  # type: ignore[arg-type]


def worker() -> Starlette:
    """The application of one worker."""
    logging.basicConfig(format=LINE, level=logging.WARNING)
    source = Source(**json.loads(os.environ[VARIABLE]))
    return create_app(source.open(), prefix=source.prefix, own=True)
