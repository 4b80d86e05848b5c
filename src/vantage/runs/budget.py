"""`--max-cost`: nothing is sent that could take the run over its limit."""

from __future__ import annotations

import threading
from typing import Final

from vantage.errors import InputError
from vantage.raters.models.base import Completion
from vantage.raters.models.plain import estimate_tokens
from vantage.raters.prices import Price
from vantage.runs.keys import KeyedCall
from vantage.runs.tally import cost_of

_TURN: Final = 8
"""Tokens that a chat template may put around a message."""


class Budget:
    """What was spent, and what the requests under way may still cost at most.

    A request is allowed only while all that was spent, all that is under way and the request itself stay within
    the limit, each request taken at its most expensive: a prompt of as many tokens as it may have and a reply of
    as many as it is allowed.
    """

    def __init__(self, limit: float | None, price: Price | None, model: str, spent: float = 0.0) -> None:
        if limit is not None and price is None:
            raise InputError(
                f"max-cost needs the price of '{model}'",
                remedy=f"write a line '{model}: {{input: …, output: …}}' into a file and pass it with --prices",
            )
        self.limit, self.price, self.spent = limit, price, spent
        self._reserved: dict[bytes, float] = {}
        self._aside = 0.0
        # Requests set out in one thread and are settled in another.
        self._lock = threading.Lock()

    def reserve(self, call: KeyedCall) -> bool:
        """Whether the call may be sent; what it may cost is then put aside."""
        if self.limit is None or self.price is None:
            return True
        request = call.ask.request
        prompt = sum(estimate_tokens(message.content) + _TURN for message in request.messages)
        most = cost_of(self.price, prompt, 1 if call.ask.options else request.sampling.max_tokens)
        with self._lock:
            if self.spent + self._aside + most > self.limit:
                return False
            self._reserved[call.key] = most
            # Kept as a sum, since a batch holds tens of thousands of requests.
            self._aside += most
        return True

    @property
    def under_way(self) -> bool:
        """Whether something is put aside for requests that have not ended."""
        return bool(self._reserved)

    def settle(self, call: KeyedCall, completion: Completion) -> None:
        """Replaces what was put aside by what the call did cost."""
        if self.price is None:
            return
        with self._lock:
            self._aside -= self._reserved.pop(call.key, 0.0)
            # Rounding errors do not outlive the requests.
            self._aside = self._aside if self._reserved else 0.0
            self.spent += cost_of(
                self.price, completion.prompt_tokens, completion.completion_tokens, completion.cached_tokens
            )

    @property
    def sentence(self) -> str:
        """Why nothing more is sent."""
        return f"The next request could take the cost over the limit of {self.limit:g}; {self.spent:.4g} is spent."
