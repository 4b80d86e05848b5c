"""Serving a study: in this process, or in several that share its database."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import asdict, dataclass
from typing import Final

import uvicorn
from starlette.applications import Starlette

from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.web.app import create_app
from vantage.errors import InputError

LINE: Final = "%(asctime)s %(levelname)s %(message)s"
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

    def open(self) -> StudyService:
        """The running study."""
        if self.study:
            return StudyService(AnnotationStudy.load(self.study, self.folder), self.database)
        if not (self.folder and self.instrument):
            raise InputError("No study to serve", remedy="give a study file, or a folder and an instrument")
        return StudyService(AnnotationStudy.of(self.folder, self.instrument), self.database)

    def app(self) -> Starlette:
        """The application of the running study."""
        return create_app(self.open(), prefix=self.prefix, own=True)


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
        "timeout_graceful_shutdown": 10,
    }
    if workers == 1:
        uvicorn.run(served.app(), **settings)  # type: ignore[arg-type]
        return
    served.open().close()  # reports problems of the study and creates the database once
    os.environ[VARIABLE] = json.dumps(asdict(served))
    uvicorn.run(f"{__name__}:worker", factory=True, workers=workers, **settings)  # type: ignore[arg-type]


def worker() -> Starlette:
    """The application of one worker."""
    logging.basicConfig(format=LINE, level=logging.WARNING)
    return ServedStudy(**json.loads(os.environ[VARIABLE])).app()
