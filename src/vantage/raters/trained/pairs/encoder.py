"""Encoders fine-tuned on pairs, each stopped on texts that it did not learn from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vantage.instruments import Question
from vantage.raters.models.base import note_once
from vantage.raters.models.extras import require
from vantage.raters.trained.base import Floats, Progress
from vantage.raters.trained.checkpoints import Checkpoint, digest, state_pieces
from vantage.raters.trained.encoder import Steps, chosen_device
from vantage.raters.trained.network import Tokens, pretrained, window
from vantage.raters.trained.pairs.lesson import PairLesson, Sheet, shares_of
from vantage.raters.trained.pairs.methods import PairSettings
from vantage.raters.trained.pairs.network import build_pairs
from vantage.raters.trained.pairs.people import People
from vantage.raters.trained.pairs.table import PairTable
from vantage.raters.trained.starts import beginnings
from vantage.raters.trained.training import train
from vantage.raters.trained.weights import put, read_weights, write_weights

NAME: Final = "part"
"""What the files of the weights begin with."""


@dataclass
class EncoderPairs:
    """A fine-tuned encoder of pairs."""

    method: str
    settings: PairSettings
    people: People
    """The users of the part that was learned from, without those who are in the held-out part alone."""
    question: Question
    tokenizer: Any
    network: Any
    members: list[dict[str, Any]]
    validation: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def fit(
        cls,
        method: str,
        table: PairTable,
        labels: NDArray[np.intp],
        held: NDArray[np.bool_],
        people: People,
        question: Question,
        settings: PairSettings,
        *,
        seed: int = 0,
        checkpoints: Path | None = None,
        progress: Progress | None = None,
    ) -> EncoderPairs:
        """Trains the members one after the other; all are stopped on the same held-out texts."""
        torch = require("torch", "local")
        tokenizer, encoder = pretrained(settings)
        notes: list[str] = []
        device = chosen_device(settings.device, notes)
        learned, aside = np.flatnonzero(~held), np.flatnonzero(held)
        if people.users:
            met = {table.users[row] for row in learned}
            people = People.of({user: table.profiles[user] for user in met}, people.traits)
        sheet = Sheet(method, people, _tokens(tokenizer, encoder.config, table, settings, method, people), table)
        if note := sheet.tokens.note():
            notes.append(note)
        parts = (sheet.take(learned), labels[learned]), (sheet.take(aside), labels[aside])
        lesson = PairLesson(*parts, question, settings, device)
        begun = beginnings(settings, encoder)
        before = state_pieces(begun) if settings.starts else []
        training = digest([*_pieces(method, table, labels, held, people), *before], settings, seed)
        count = settings.size(1)
        steps = Steps(count * settings.epochs * -(-len(lesson) // settings.batch), progress)
        members, histories = [], []
        cuda = [torch.cuda.current_device()] if device.startswith("cuda") else []
        network: Any = None
        with torch.random.fork_rng(devices=cuda):
            for number in range(count):
                encoder.load_state_dict(begun[number % len(begun)])
                torch.manual_seed((seed * 1009 + 500 + number) % 2**31)
                network = build_pairs(encoder, method, people, len(question.scale.options), settings.dropout)
                done = train(
                    network,
                    lesson,
                    settings,
                    seed=seed * 101 + number,
                    device=device,
                    checkpoint=Checkpoint(checkpoints, number + 1, training),
                    moved=steps.move,
                )
                members.append(done.tensors)
                histories.append({"best_epoch": done.state.best_epoch, "macro_f1": done.state.history})
        validation = {"pairs": len(aside), "texts": len(np.unique(table.text[aside])), "members": histories}
        return cls(method, settings, people, question, tokenizer, network, members, validation, notes)

    def predict(self, table: PairTable) -> Floats:
        """The mean of the members' shares."""
        device = chosen_device(self.settings.device, [])
        tokens = _tokens(self.tokenizer, self.network.encoder.config, table, self.settings, self.method, self.people)
        if note := tokens.note():
            note_once(self.notes, note)
        self.network.to(device)
        sheet = Sheet(self.method, self.people, tokens, table)
        found: list[Floats] = []
        for member in self.members:
            put(self.network, member)
            found.append(shares_of(self.network, sheet, self.settings, device))
        return np.asarray(np.mean(found, axis=0))

    def save(self, folder: Path) -> Mapping[str, Any]:
        """Weights as safetensors in sixteen bits; the rest as JSON."""
        write_weights(folder, NAME, self.network, self.tokenizer, self.members)
        return {
            "method": self.method,
            "settings": {**asdict(self.settings), "device": None},
            "members": len(self.members),
            "validation": self.validation,
        }

    @classmethod
    def load(cls, folder: Path, data: Mapping[str, Any], people: People, question: Question) -> EncoderPairs:
        """Reads what `save` wrote; weights that do not fit the encoder are refused."""
        method, settings, options = data["method"], PairSettings(**data["settings"]), len(question.scale.options)
        tokenizer, network, members = read_weights(
            folder,
            NAME,
            data["members"],
            lambda encoder: build_pairs(encoder, method, people, options, settings.dropout),
        )
        return cls(method, settings, people, question, tokenizer, network, members, data["validation"])


def _tokens(
    tokenizer: Any, config: Any, table: PairTable, settings: PairSettings, method: str, people: People
) -> Tokens:
    """The texts, cut so that the tokens of user and traits find room in front of them."""
    front = 1 + len(people.traits) if method == "tokens" else 0
    room = min(settings.longest, window(tokenizer, config) - front)
    return Tokens(tokenizer, config, table.texts, replace(settings, longest=room))


def _pieces(
    method: str, table: PairTable, labels: NDArray[np.intp], held: NDArray[np.bool_], people: People
) -> list[bytes]:
    """What makes two trainings on pairs the same."""
    told = [method, table.texts.first, table.texts.second, table.users, people.described()]
    return [json.dumps(told).encode(), table.text.tobytes(), labels.tobytes(), held.tobytes()]
