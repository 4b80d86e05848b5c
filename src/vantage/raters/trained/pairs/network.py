"""The networks: one encoder, and three ways in which it is told who judges."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vantage.raters.models.extras import require
from vantage.raters.trained.network import Tokens, network_class
from vantage.raters.trained.pairs.people import Ids, People


@cache
def _pair_network_class() -> Any:
    torch = require("torch", "local")

    class PairNetwork(network_class()):  # type: ignore[misc]
        """Raw outputs per pair. A batch has the texts, per pair the ids of `People`, and the place of its text.

        With `tokens` the vectors of user and traits stand in front of the words, after the first token, as words
        do (Ferdinan and Kocoń 2023); with `embeddings` they are added to the pooled text, and a layer on top lets
        words and people interact (after Deng et al. 2023); with `heads` every user has an output layer (Davani,
        Díaz and Prabhakaran 2022).
        """

        def __init__(self, encoder: Any, method: str, people: People, options: int, dropout: float) -> None:
            heads = max(1, len(people.users)) if method == "heads" else 1
            super().__init__(encoder, options * heads, dropout)
            self.method, self.options = method, options
            hidden = encoder.config.hidden_size
            if method in ("tokens", "embeddings"):
                # Tokens are as long as words are; added vectors must be long enough to count beside a pooled text.
                words = encoder.get_input_embeddings().weight.detach()
                width, spread = (words.shape[1], float(words.std())) if method == "tokens" else (hidden, 0.1)
                self.people = torch.nn.Embedding(people.size, width)
                torch.nn.init.normal_(self.people.weight, std=spread)
            if method == "embeddings":
                self.mix = torch.nn.Linear(hidden, hidden)

        def forward(self, batch: dict[str, Any], ids: Any, place: Any) -> Any:
            """One row per pair."""
            if self.method == "tokens":
                return self.top(self.dropout(self._with_tokens(batch, ids)))
            pooled = self.pooled(batch)
            if self.method == "embeddings":
                state = pooled[place] + self._person(ids)
                return self.top(self.dropout(state + torch.nn.functional.gelu(self.mix(state))))
            if self.method == "heads":
                every = self.top(self.dropout(pooled)).unflatten(1, (-1, self.options))
                return every[place, ids[:, 0] - 1]
            return self.top(self.dropout(pooled))[place]

        def every_head(self, batch: dict[str, Any]) -> Any:
            """The outputs of all heads: texts, users, options."""
            return self.top(self.dropout(self.pooled(batch))).unflatten(1, (-1, self.options))

        def _person(self, ids: Any) -> Any:
            vectors = self.people(ids) * (ids != 0).unsqueeze(-1)
            traits = vectors[:, 1:]
            return vectors[:, 0] + (traits.mean(1) if traits.shape[1] else 0.0)

        def _with_tokens(self, batch: dict[str, Any], ids: Any) -> Any:
            words = self.encoder.get_input_embeddings()(batch["input_ids"])
            mask = batch["attention_mask"]
            told = {
                "inputs_embeds": torch.cat([words[:, :1], self.people(ids), words[:, 1:]], 1),
                # Of a stranger there is no token; the place stays empty and nothing looks at it.
                "attention_mask": torch.cat([mask[:, :1], (ids != 0).to(mask.dtype), mask[:, 1:]], 1),
            }
            if "token_type_ids" in batch:
                kinds = batch["token_type_ids"]
                told["token_type_ids"] = torch.cat([kinds[:, :1], torch.zeros_like(ids), kinds[:, 1:]], 1)
            return self.pooled(told)

    return PairNetwork


def build_pairs(encoder: Any, method: str, people: People, options: int, dropout: float) -> Any:
    """The network of a method over an encoder."""
    return _pair_network_class()(encoder, method, people, options, dropout)


class Units:
    """Pairs in the portions that the encoder reads at once: each pair alone, or each text for all its users."""

    def __init__(self, tokens: Tokens, text: NDArray[np.intp], ids: Ids, *, by_pair: bool) -> None:
        self.tokens, self.text, self.ids = tokens, text, ids
        if by_pair:
            self.pairs = [np.array([row]) for row in range(len(text))]
        else:
            order = np.argsort(text, kind="stable")
            self.pairs = np.split(order, np.flatnonzero(np.diff(text[order])) + 1) if len(text) else []
        self._first = np.array([rows[0] for rows in self.pairs], dtype=np.intp)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> NDArray[np.intp]:
        """How many tokens each unit has."""
        return self.tokens.lengths[self.text[self._first]]

    def batch(self, rows: NDArray[np.intp], device: str) -> tuple[dict[str, Any], Any, Any, NDArray[np.intp]]:
        """Texts, ids and places of the pairs of some units, and which pairs these are."""
        torch = require("torch", "local")
        pairs = np.concatenate([self.pairs[row] for row in rows])
        place = np.repeat(np.arange(len(rows)), [len(self.pairs[row]) for row in rows])
        texts = self.tokens.batch(self.text[self._first[rows]], device)
        ids = torch.from_numpy(self.ids[pairs].astype(np.int64)).to(device)
        return texts, ids, torch.from_numpy(place.astype(np.int64)).to(device), pairs
