"""Serving a study: in this process, or in several that share its database."""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import import_module
from inspect import signature
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from vantage.collect.service import StudyService
from vantage.collect.sql import WORKERS
from vantage.collect.study import AnnotationStudy
from vantage.collect.study_setup import opened_study
from vantage.collect.web.app import create_app
from vantage.collect.web.preview import discard_preview
from vantage.errors import InputError

LINE: Final = "%(asctime)s %(levelname)s %(message)s"
GRACE: Final = 10
"""Seconds that requests under way have when the server stops."""
HEADERS: Final = 20.0
"""Seconds that a client has to connect and send the first lines of a request (the body has its own limit: `guard`)."""
STARTING: Final = 300
"""Seconds that a worker has to start: on a busy machine, importing alone takes longer than uvicorn's five."""
SWITCH: Final = 0.0005
"""Seconds for which a thread that computes keeps others waiting that come back from the database; Python's are 5 ms."""
VARIABLE: Final = "VANTAGE_COLLECT"
"""Tells worker processes what to serve."""


class ImpatientProtocol(HttpToolsProtocol):
    """HTTP with a limit on the time until a request's headers are complete.

    Connections that never complete a request are closed: very few slow senders would use up all sockets.
    """

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A client has connected and should send something soon."""
        super().connection_made(transport)
        self._wait()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        """The headers are complete; from now on the application decides how long to wait."""
        self._stop()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop()
        self._limit = self.loop.call_later(HEADERS, self.transport.close)

    def _stop(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


@dataclass(frozen=True, slots=True)
class ServedStudy:
    """A study to serve: a study file, or a corpus folder and an instrument; its database and path prefix."""

    study: str | None = None
    folder: str | None = None
    instrument: str | None = None
    database: str | None = None
    prefix: str = ""
    further: str = ""
    """A module with further pages (`PAGES`, `EVERY` and `VERIFY`, see `create_app`), by its name."""

    def open(self) -> StudyService:
        """The running study."""
        if self.study:
            return StudyService(opened_study(self.study, self.folder, self.database)[0], self.database)
        if not (self.folder and self.instrument):
            raise InputError("No study to serve", remedy="give a study file, or a folder and an instrument")
        return StudyService(AnnotationStudy.of(self.folder, self.instrument), self.database)

    def serving(self, service: StudyService, *, own: bool = False) -> Starlette:
        """The application of a service that is open, whose threads come back from the database often."""
        sys.setswitchinterval(SWITCH)
        more = import_module(self.further) if self.further else None
        further = {name.lower(): getattr(more, name) for name in ("PAGES", "EVERY", "VERIFY") if more}
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
            if "timeout_worker_healthcheck" in signature(uvicorn.Config).parameters:  # from uvicorn 0.37 on
                settings["timeout_worker_healthcheck"] = STARTING
            uvicorn.run(f"{__name__}:worker", factory=True, workers=workers, **settings)  # type: ignore[arg-type]
        discard_preview(service)


def worker() -> Starlette:
    """The application of one worker."""
    logging.basicConfig(format=LINE, level=logging.WARNING)
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    served = ServedStudy(**json.loads(os.environ[VARIABLE]))
    try:
        return served.serving(served.open(), own=True)
    except Exception as error:
        # The process that started this one starts it again and says nothing.
        logging.getLogger("vantage.collect").error("A worker could not start: %s", error)
        raise


def _end_with(sentinel: int) -> None:
    """Stops this worker when the process that started it has died and cannot stop it any more."""
    multiprocessing.connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE + 5)
    os._exit(1)
