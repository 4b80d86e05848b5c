"""A kind of model of our own: `vantage rate FOLDER --model lab:WORD`."""

from collections.abc import Sequence

from vantage.raters.models.base import Completion, LogProbs, ModelError, Request


class TwoWords:
    """Gives many stars to whatever has a certain word in it."""

    window: int | None = None

    def __init__(self, word: str, *, most: int = 5) -> None:
        self.name, self.word, self.most = f"lab:{word}", word, most
        self.notes: list[str] = []

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """The most stars, or one."""
        return [
            Completion(str(self.most if self.word in request.messages[-1].content else 1), "stop")
            for request in requests
        ]

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        """It only answers."""
        raise ModelError("This model only answers.")

    def count_tokens(self, text: str) -> int:
        """A token is a word."""
        return len(text.split())

    def close(self) -> None:
        """There is nothing to close."""
