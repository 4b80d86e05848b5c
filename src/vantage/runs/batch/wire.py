"""The line to a provider: repeated where a fault may pass, and told apart where it is not known what arrived."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import openai

from vantage.errors import VantageError
from vantage.raters.models.base import ModelError, Passing
from vantage.raters.models.faults import of_client, retry_after
from vantage.raters.models.openai import OpenAIModel
from vantage.runs.limits import back_off

T = TypeVar("T")
TRIES: Final = 8
"""How often a question about a batch is asked before the run ends; the batch stays where it is."""


class Uncertain(VantageError):  # noqa: N818 - it says what is not known
    """Something was sent, and whether it arrived is not known."""


class BatchStopped(VantageError):  # noqa: N818 - it is no error
    """The run was stopped while it waited."""


class Wire:
    """Sends to one provider, with the model's key, from the thread of an engine.

    Args:
        model: Whose endpoint and key are used.
        headers: What the provider wants besides.
        stopping: Ends all waiting.
    """

    def __init__(self, model: OpenAIModel, headers: Mapping[str, Any], stopping: threading.Event) -> None:
        self._model, self._stopping = model, stopping
        self._client = model.synchronous({name: value for name, value in headers.items() if isinstance(value, str)})
        # Headers that are to be left out are named with every request; the client does not take them otherwise.
        self._without = {name: value for name, value in headers.items() if not isinstance(value, str)}
        self._options: Any = {"headers": self._without}
        self._draw = random.Random()  # noqa: S311 - spreads retries, decides nothing

    def get(self, path: str) -> dict[str, Any]:
        """What stands at a path, as JSON."""
        return self._through(lambda: _object(self._client.get(path, cast_to=object, options=self._options)))

    def lines(self, path: str) -> list[str]:
        """The lines of a file at a path."""
        text = self._through(lambda: self._client.get(path, cast_to=str, options=self._options))
        return [line for line in text.split("\n") if line.strip()]

    def upload(self, path: str, name: str, lines: Sequence[bytes], **fields: str) -> dict[str, Any]:
        """Uploads a file of lines; one that arrives twice does no harm, since nothing is done with it yet."""
        file = ("file", (name, b"\n".join(lines) + b"\n", "application/jsonl"))
        options: Any = {"headers": {"Content-Type": "multipart/form-data", **self._without}}
        return self._through(
            lambda: _object(self._client.post(path, cast_to=object, body=fields, files=[file], options=options))
        )

    def post_once(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Sends what must not arrive twice: repeated only when the provider says that it did not take it.

        Where the answer is lost this raises `Uncertain`.
        """

        def post() -> dict[str, Any]:
            try:
                return _object(self._client.post(path, cast_to=object, body=dict(body), options=self._options))
            except openai.RateLimitError:
                raise
            except openai.APIStatusError as error:
                if error.status_code >= 500 or error.status_code == 408:
                    raise Uncertain(self._model.sentence(of_client(error))) from None
                raise
            except openai.APIConnectionError as error:
                raise Uncertain(self._model.sentence(of_client(error))) from None
            except Passing as fault:
                raise Uncertain(str(fault)) from None

        return self._through(post)

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _through(self, send: Callable[[], T]) -> T:
        """Sends, through faults that pass."""
        tries = 0
        while True:
            tries += 1
            try:
                return self._tried(send)
            except Passing as fault:
                if tries >= TRIES:
                    raise ModelError(f"{str(fault).rstrip('.')} (after {tries} tries).") from None
                wait = max(back_off(tries, self._draw), fault.after or 0.0)
            if self._stopping.wait(wait):
                raise BatchStopped("The run was stopped.")

    def _tried(self, send: Callable[[], T]) -> T:
        try:
            return send()
        except openai.NotFoundError as error:
            raise ModelError(
                f"{self._model.url} has no batch API here ({_message(error)}); leave --batch out."
            ) from None
        except openai.OpenAIError as error:
            fault = of_client(error)
            sentence = self._model.sentence(fault)
            if fault.passing:
                raise Passing(sentence, overload=fault.overload, after=retry_after(fault.headers)) from None
            raise ModelError(sentence) from None


def _object(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise Passing("The endpoint did not answer with JSON.")
    return answer


def _message(error: openai.APIStatusError) -> str:
    return " ".join(str(error.message).split())[:200].rstrip(".")
