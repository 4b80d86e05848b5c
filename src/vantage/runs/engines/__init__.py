"""Engines: who sends the requests of a run. `local` is this process; each further one is a module and a line here.

An engine takes requests from a `Job`, gets them answered by a model in whatever way it knows, and tells the job of
every one that came to an end; the job stores it, and the conversation goes on when it is durable. It may import
everything in `runs`.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Final, Protocol, cast

from vantage.errors import InputError, nearest
from vantage.raters.chat import ChatRater
from vantage.raters.models.base import ChatModel
from vantage.runs.job import Job
from vantage.runs.options import RunOptions


class Engine(Protocol):
    """Something that takes a stream of requests with keys and puts finished calls into the store."""

    in_batches: bool
    """Whether requests go in batches, whose tokens have a price of their own."""

    def open(self, rater: ChatRater, options: RunOptions) -> ChatModel:
        """The model, as far as this process needs it: to measure prompts, and for `run`."""

    def run(self, model: ChatModel, job: Job) -> None:
        """Sends the job's requests to the model until its source is idle or the job is stopping.

        Called in a thread of its own. What was sent when the job is told to stop may come to its end or be given
        up, but nothing that has ended may be lost.
        """


ENGINES: Final = {
    "local": "vantage.runs.engines.local:LocalEngine",
    "ray": "vantage.runs.engines.ray:RayEngine",
    "batch": "vantage.runs.batch.engine:BatchEngine",
}
"""Name of an engine: its module and class, imported when it is used."""


def load_engine(name: str) -> Engine:
    """The engine of this name.

    >>> load_engine("locl")
    Traceback (most recent call last):
        ...
    vantage.errors.InputError: there is no engine 'locl'; did you mean 'local'?
    """
    if name not in ENGINES:
        raise InputError(f"there is no engine '{name}'", remedy=nearest(name, list(ENGINES)))
    return cast(Engine, resolve_name(ENGINES[name])())
