"""Answers that were collected elsewhere, replayed as if a model gave them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from hashlib import sha256
from pathlib import Path

import polars as pl

from vantage.corpora.readers.files import read_table
from vantage.corpora.readers.table_file import FileTable
from vantage.errors import InputError
from vantage.raters.models.base import Completion, LogProbs, Message, ModelError, Request, estimate_tokens


class RecordedModel:
    """`recorded:PATH`: a table of prompts and replies (CSV, TSV, JSON Lines, JSON or Parquet).

    The table has a column `reply`, and says what was asked either by the `prompt` itself or by `item` and
    `question`. A prompt is found whatever its white space, by the whole chat or by its last message.
    Further rows of the same prompt, or of the same item and question, are further samples in the order of
    the file unless a column `sample` numbers them (from 0).
    Columns of other names are named by arguments.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        prompt: str = "prompt",
        item: str = "item",
        question: str = "question",
        sample: str = "sample",
        reply: str = "reply",
        encoding: str = "utf-8",
    ) -> None:
        self.name = f"recorded:{path}"
        self.window: int | None = None
        self.notes: list[str] = []
        table = read_table(Path(path).expanduser(), encoding)
        replies = table.column(reply, "the replies").cast(pl.String)
        self._by_prompt = prompt in table.frame.columns
        if not self._by_prompt:
            table.require(item, question)
        columns = [prompt] if self._by_prompt else [item, question]
        asked = zip(*(table.column(name).cast(pl.String) for name in columns), strict=True)
        keys = [_digest(key[0] or "") if self._by_prompt else tuple(key) for key in asked]
        self._replies = _by_sample(table, keys, sample, replies)

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """The recorded replies; a request that was not recorded fails and says so."""
        return [self._complete(request) for request in requests]

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        """Recorded replies carry no probabilities: always an error."""
        raise ModelError(f"{self.name} has replies but no probabilities; use a style that reads replies.")

    def count_tokens(self, text: str) -> int:
        """An upper estimate: which model answered is not known."""
        return estimate_tokens(text)

    def close(self) -> None:
        """Forgets the replies."""
        self._replies = {}

    def _complete(self, request: Request) -> Completion:
        sample = request.tag[2] if request.tag else 0
        for key in self._keys(request):
            if (key, sample) in self._replies:
                return Completion(self._replies[key, sample])
        what = (
            f"item '{request.tag[0]}', question '{request.tag[1]}', sample {sample}"
            if request.tag
            else f"sample {sample} of this prompt"
        )
        return Completion("", "failed", error=f"No reply to {what} was recorded.")

    def _keys(self, request: Request) -> list[Hashable]:
        if self._by_prompt:
            return [_digest(_whole(request.messages)), _digest(_whole(request.messages[-1:]))]
        return [request.tag[:2]] if request.tag else []


def _by_sample(
    table: FileTable, keys: Sequence[Hashable], sample: str, replies: pl.Series
) -> dict[tuple[Hashable, int], str]:
    numbers = table.numbers(sample).to_list() if sample in table.frame.columns else [None] * len(keys)
    seen: Counter[Hashable] = Counter()
    texts: dict[tuple[Hashable, int], str] = {}
    for row, (key, number, reply) in enumerate(zip(keys, numbers, replies, strict=True)):
        place = (key, seen[key] if number is None else int(number))
        seen[key] += 1
        if place in texts:
            raise InputError(
                f"sample {place[1]} of what is asked here is given twice",
                file=table.path,
                row=table.row(row),
                remedy=f"number the samples in the column '{sample}'",
            )
        texts[place] = reply or ""
    return texts


def _whole(messages: Sequence[Message]) -> str:
    return "\n\n".join(message.content for message in messages)


def _digest(text: str) -> bytes:
    """A prompt's fingerprint, the same whatever its white space."""
    return sha256(" ".join(text.split()).encode("utf-8", "replace")).digest()
