"""What a network of pairs learns from, and what it says of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vantage.instruments import Question
from vantage.raters.models.extras import require
from vantage.raters.trained.base import Floats
from vantage.raters.trained.examples import Labels
from vantage.raters.trained.losses import Goal, heads
from vantage.raters.trained.network import PREDICTION_BATCH, Tokens, shuffled
from vantage.raters.trained.pairs.methods import PairSettings
from vantage.raters.trained.pairs.network import Units
from vantage.raters.trained.pairs.people import People
from vantage.raters.trained.pairs.table import PairTable
from vantage.raters.trained.training import half_precision


@dataclass(frozen=True, slots=True)
class Sheet:
    """Pairs as a network reads them."""

    method: str
    people: People
    tokens: Tokens
    """Of all texts of the table."""
    table: PairTable

    def take(self, rows: NDArray[np.intp]) -> Sheet:
        """Some of the pairs."""
        return Sheet(self.method, self.people, self.tokens, self.table.take(rows))

    def units(self) -> tuple[Units, NDArray[np.intp]]:
        """Pairs that look the same to the network as one, and which of them each pair is."""
        ids = self.people.ids(self.table.users, self.table.profiles)
        if self.method == "baseline":
            ids = np.zeros_like(ids)
        rows, same = np.unique(np.column_stack([self.table.text, ids]), axis=0, return_inverse=True)
        return Units(self.tokens, rows[:, 0], rows[:, 1:], by_pair=self.method == "tokens"), same.reshape(-1)


class PairLesson:
    """Pairs that are learned from, in units; stopped by macro F1 of held-out pairs."""

    def __init__(
        self,
        learned: tuple[Sheet, NDArray[np.intp]],
        held: tuple[Sheet, NDArray[np.intp]],
        question: Question,
        settings: PairSettings,
        device: str,
    ) -> None:
        sheet, labels = learned
        self.sheet, self.held, self.settings, self.device = sheet, held, settings, device
        ids = sheet.people.ids(sheet.table.users, sheet.table.profiles)
        self.units = Units(sheet.tokens, sheet.table.text, ids, by_pair=sheet.method == "tokens")
        shares = np.eye(len(question.scale.options))[labels]
        told = [Labels(question, shares, np.asarray(question.scale.codes)[labels])]
        self.goal = Goal(told, heads(told, settings), settings, device)

    def __len__(self) -> int:
        return len(self.units)

    def batches(self, size: int, rng: np.random.Generator) -> Sequence[NDArray[np.intp]]:
        """Units of similar length together."""
        return shuffled(self.units.lengths, size, rng)

    def loss(self, network: Any, rows: NDArray[np.intp]) -> Any:
        """The mean over the pairs of some units."""
        texts, ids, place, pairs = self.units.batch(rows, self.device)
        return self.goal(network(texts, self._forgotten(ids), place), pairs)

    def examine(self, network: Any) -> tuple[Floats, float]:
        """Macro F1 over the labels that occur."""
        from sklearn.metrics import f1_score

        sheet, labels = self.held
        shares = shares_of(network, sheet, self.settings, self.device)
        return shares, float(f1_score(labels, shares.argmax(axis=1), average="macro", zero_division=0))

    def _forgotten(self, ids: Any) -> Any:
        """The ids without some users and trait values, so that a model learns to do without them."""
        if self.sheet.method not in ("tokens", "embeddings") or not self.settings.forget:
            return ids
        torch = require("torch", "local")
        # Drawn where the seed of the epoch was set, so that a GPU forgets the same as a CPU.
        lots = torch.rand(ids.shape).to(ids.device)
        users = torch.where(lots[:, :1] < self.settings.forget, 0, ids[:, :1])
        values = torch.where(lots[:, 1:] < self.settings.forget / 5, self.sheet.people.unknown, ids[:, 1:])
        return torch.cat([users, values], 1)


def shares_of(network: Any, sheet: Sheet, settings: PairSettings, device: str) -> Floats:
    """One row per pair: what the network takes for the shares of the options."""
    torch = require("torch", "local")
    network.eval()
    if sheet.method == "heads":
        return _of_heads(network, sheet, settings, device)
    units, same = sheet.units()
    found = np.zeros((len(units.text), network.options))
    with torch.inference_mode(), half_precision(device, settings):
        for rows in _in_order(units):
            texts, ids, place, pairs = units.batch(rows, device)
            found[pairs] = network(texts, ids, place).float().softmax(-1).cpu().numpy()
    return np.asarray(found[same])


def _of_heads(network: Any, sheet: Sheet, settings: PairSettings, device: str) -> Floats:
    """A user's own head, or for a stranger the mean of the heads of those most alike in traits."""
    torch = require("torch", "local")
    table, people = sheet.table, sheet.people
    names = list(dict.fromkeys(table.users))
    known = {user: n for n, user in enumerate(people.users)}
    weight = np.zeros((len(names), len(people.users)))
    for row, user in enumerate(names):
        chosen = known[user] if user in known else people.alike(table.profiles[user])
        weight[row, chosen] = 1.0
    weight /= weight.sum(axis=1, keepdims=True)
    row_of = {user: row for row, user in enumerate(names)}
    asked = np.array([row_of[user] for user in table.users], dtype=np.intp)
    ids = np.zeros((len(table), 1), dtype=np.intp)
    units = Units(sheet.tokens, table.text, ids, by_pair=False)
    found = np.zeros((len(table), network.options))
    with torch.inference_mode(), half_precision(device, settings):
        for rows in _in_order(units):
            texts, _, place, pairs = units.batch(rows, device)
            every = network.every_head(texts).float().softmax(-1).cpu().numpy()
            for unit, mine in zip(
                every, np.split(pairs, np.flatnonzero(np.diff(place.cpu().numpy())) + 1), strict=True
            ):
                found[mine] = weight[asked[mine]] @ unit
    return found


def _in_order(units: Units) -> list[NDArray[np.intp]]:
    order = np.argsort(units.lengths, kind="stable")
    return [order[start : start + PREDICTION_BATCH] for start in range(0, len(order), PREDICTION_BATCH)]
