"""Serving a study: in this process, or in several that share its database."""

from __future__ import annotations

import json
import logging
import multiprocessing.connection
import os
import signal
import threading
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Final

import uvicorn
from starlette.applications import Starlette

from vantage.collect.service import StudyService
from vantage.collect.sql import WORKERS
from vantage.collect.study import AnnotationStudy
from vantage.collect.web.app import create_app
from vantage.collect.web.preview import discard_preview
from vantage.collect.web.protocol import ImpatientProtocol
from vantage.errors import InputError

LINE: Final = "%(asctime)s %(levelname)s %(message)s"
GRACE: Final = 10
"""Seconds that requests under way have when the server stops."""
VARIABLE: Final = "VANTAGE_COLLECT"
"""Tells worker processes what to serve."""


@dataclass(frozen=True, slots=True)
class ServedStudy:
    """A study to serve: a study file, or a corpus folder and an instrument; its database and path prefix."""

    study: str | None = None
    folder: str | None = None
    instrument: str | None = None
    database: str | None = None
    prefix: str = ""
    further: str = ""
    """A module with further pages (`PAGES`, and `HOOKS`, see `create_app`), by its name."""

    def open(self) -> StudyService:
        """The running study."""
        if self.study:
            return StudyService(AnnotationStudy.load(self.study), self.database)
        if not (self.folder and self.instrument):
            raise InputError("No study to serve", remedy="give a study file, or a folder and an instrument")
        return StudyService(AnnotationStudy.of(self.folder, self.instrument), self.database)

    def app(self) -> Starlette:
        """The application of the running study."""
        return self.serving(self.open(), own=True)

    def serving(self, service: StudyService, *, own: bool = False) -> Starlette:
        """The application of a service that is open."""
        more = import_module(self.further) if self.further else None
        further = {name.lower(): getattr(more, name) for name in ("PAGES", "HOOKS") if more}
        return create_app(service, prefix=self.prefix, own=own, **further)


def serve(served: ServedStudy, *, host: str = "127.0.0.1", port: int = 8000, workers: int = 1) -> None:
    """Serves until interrupted, by default on the loopback address."""
    logging.basicConfig(format=LINE, level=logging.WARNING)
    settings = {
        "host": host,
        "port": port,
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "backlog": 4096,
        "timeout_keep_alive": 30,
        "timeout_graceful_shutdown": GRACE,
        "http": ImpatientProtocol,
    }
    os.environ[WORKERS] = str(workers)
    with closing(served.open()) as service:  # reports problems of the study and creates the database once
        discard_preview(service)
        if workers == 1:
            uvicorn.run(served.serving(service), **settings)  # type: ignore[arg-type]
        else:
            service.close()
            os.environ[VARIABLE] = json.dumps(asdict(served))
            uvicorn.run(f"{__name__}:worker", factory=True, workers=workers, **settings)  # type: ignore[arg-type]
        discard_preview(service)


def worker() -> Starlette:
    """The application of one worker."""
    logging.basicConfig(format=LINE, level=logging.WARNING)
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    return ServedStudy(**json.loads(os.environ[VARIABLE])).app()


def _end_with(sentinel: int) -> None:
    """Stops this worker when the process that started it has died and cannot stop it any more."""
    multiprocessing.connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE + 5)
    os._exit(1)
