"""Encoders fine-tuned on people's judgments: an ensemble, each member stopped on texts that it did not learn from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from vantage.instruments import Question
from vantage.raters.models.base import note_once, require
from vantage.raters.trained.base import PredictedAnswers, Progress, mixture, short_name
from vantage.raters.trained.encoder_settings import EncoderSettings, PairSettings
from vantage.raters.trained.examples import Examples, Instances, Labels, Rows, held_out
from vantage.raters.trained.lesson import Inputs, Lesson, OutputHead, heads, outputs_of, predicted
from vantage.raters.trained.network import Tokens, build, pretrained, put, read_weights, rounded, window, write_weights
from vantage.raters.trained.people import People
from vantage.raters.trained.saved import SavedPredictor
from vantage.raters.trained.training import Checkpoint, fingerprint, train


@dataclass
class EncoderPredictor:
    """A fine-tuned encoder: what all members share, and what each of them learned."""

    settings: EncoderSettings
    questions: tuple[Question, ...]
    heads: tuple[OutputHead, ...]
    spreads: Mapping[str, float]
    """Per question the error on held-out texts; the spread of a predicted number."""
    tokenizer: Any
    network: Any
    members: list[dict[str, Any]]
    method: str = "baseline"
    """How the network represents who judges."""
    people: People | None = None
    """Whom it learned from; null where texts are judged."""
    validation: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def fit(
        cls,
        examples: Examples,
        settings: EncoderSettings,
        validation: Examples | None = None,
        *,
        method: str = "baseline",
        seed: int = 0,
        checkpoints: str | Path | None = None,
        progress: Progress | None = None,
    ) -> EncoderPredictor:
        """Trains the members one after the other.

        With a validation part all of them learn from everything else and are stopped on it. Without, the texts are
        split into folds, and each member is stopped on another fold; for pairs, all are stopped on the same one.
        """
        torch = require("torch", "local")
        count, people = settings.size(len(examples.labels)), examples.people
        splits = examples.splits(settings.folds if people is not None else max(count, settings.folds), seed, validation)
        learned_from = [piece for part in (examples, validation) if part is not None for piece in part.pieces()]
        known: Sequence[Labels] = examples.labels
        if people is not None:
            people = _known_people(examples, people, splits[0][0])
            known = [one.take(splits[0][0]) for one in known]
            learned_from.append(json.dumps([method, people.described(), splits[0][1].tolist()]).encode())
        whole = examples.and_also(validation)
        tokenizer, encoder = pretrained(settings)
        notes: list[str] = []
        device = chosen_device(settings.device, notes)
        outputs = heads(known, settings)
        inputs = _inputs(tokenizer, encoder.config, whole.instances, settings, method, people)
        if note := inputs.tokens.note():
            notes.append(note)
        start = rounded(encoder.state_dict())
        training = fingerprint(learned_from, settings, seed)
        turns = [splits[number % len(splits)] for number in range(count)]
        lessons = [Lesson(inputs, whole.labels, split, outputs, settings, device) for split in turns]
        total, steps = sum(settings.epochs * -(-len(lesson) // settings.batch) for lesson in lessons), 0

        def moved(more: int) -> None:
            nonlocal steps
            steps += more
            if progress:
                progress(steps, total)

        members, held, histories = [], [], []
        cuda = [torch.cuda.current_device()] if device.startswith("cuda") else []
        network: Any = None
        with torch.random.fork_rng(devices=cuda):
            for number, lesson in enumerate(lessons):
                encoder.load_state_dict(start)
                torch.manual_seed((seed * 1009 + 500 + number) % 2**31)
                network = build(encoder, method, people, sum(head.width for head in outputs), settings.dropout)
                done = train(
                    network,
                    lesson,
                    settings,
                    seed=seed * 101 + number,
                    device=device,
                    checkpoint=Checkpoint(None if checkpoints is None else Path(checkpoints), number + 1, training),
                    moved=moved,
                )
                members.append(done.tensors)
                held.append(done.held)
                histories.append({"best_epoch": done.state.best_epoch, "scores": done.state.history})
        spreads, scores = {}, {}
        for n, (one, head) in enumerate(zip(whole.labels, outputs, strict=True)):
            parts = [
                (predicted(out, head, one.question.scale, 1.0), lesson.held_labels[n])
                for out, lesson in zip(held, lessons, strict=True)
            ]
            spreads[one.question.id], scores[one.question.id] = held_out(parts, by_label=people is not None)
        questions = tuple(one.question for one in whole.labels)
        history: dict[str, Any] = {"held_out": scores, "members": histories}
        if people is not None:
            texts = examples.instances.text[splits[0][1]]
            history |= {"pairs": len(texts), "texts": len(np.unique(texts))}
        return cls(settings, questions, outputs, spreads, tokenizer, network, members, method, people, history, notes)

    def about(self) -> dict[str, Any]:
        """The encoder, the settings, and how training went."""
        settings = {**asdict(self.settings), "device": None}
        model = f"encoder:{short_name(self.settings.model)}"
        return {"model": model, "settings": settings, "validation": self.validation}

    def predict(self, instances: Instances) -> dict[str, PredictedAnswers]:
        """The mean of the members' predictions; how far they differ is part of the spread."""
        device = chosen_device(self.settings.device, [])
        config = self.network.encoder.config
        inputs = _inputs(self.tokenizer, config, instances, self.settings, self.method, self.people)
        if note := inputs.tokens.note():
            note_once(self.notes, note)
        self.network.to(device)
        outputs = []
        for member in self.members:
            put(self.network, member)
            outputs.append(outputs_of(self.network, inputs, self.settings, device))
        return {
            question.id: mixture(
                [(1.0, predicted(out, head, question.scale, self.spreads[question.id])) for out in outputs]
            )
            for question, head in zip(self.questions, self.heads, strict=True)
        }

    def save(self, folder: Path, name: str) -> Mapping[str, Any]:
        """Weights as safetensors in sixteen bits (members were rounded to them when trained); the rest as JSON."""
        write_weights(folder, name, self.network, self.tokenizer, self.members)
        return {
            "method": self.method,
            "settings": {**asdict(self.settings), "device": None},
            "heads": [asdict(head) for head in self.heads],
            "spreads": self.spreads,
            "members": len(self.members),
            "validation": self.validation,
        }

    @classmethod
    def load(cls, saved: SavedPredictor) -> EncoderPredictor:
        """Reads what `save` wrote; weights that do not fit the encoder are refused."""
        data, people, questions = saved.data, saved.people, saved.questions
        settings = (EncoderSettings if people is None else PairSettings).of(**data["settings"])
        method = data["method"]
        outputs = tuple(OutputHead(**{**head, "weights": tuple(head["weights"])}) for head in data["heads"])
        width = sum(head.width for head in outputs)
        tokenizer, network, members = read_weights(
            saved.folder,
            saved.name,
            data["members"],
            lambda encoder: build(encoder, method, people, width, settings.dropout),
        )
        spreads, history = data["spreads"], data["validation"]
        return cls(settings, questions, outputs, spreads, tokenizer, network, members, method, people, history)


def chosen_device(asked: str | None, notes: list[str]) -> str:
    """The device that was asked for if it is there, else the GPU, else the CPU, and a note where it is not as asked."""
    torch = require("torch", "local")
    there = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if asked is None or asked == there or (asked.startswith("cuda") and there == "cuda") or asked == "cpu":
        return asked or there
    notes.append(f"There is no device '{asked}' here; '{there}' was used.")
    return there


def _inputs(
    tokenizer: Any, config: Any, instances: Instances, settings: EncoderSettings, method: str, people: People | None
) -> Inputs:
    """The instances, their texts cut so that the tokens of user and traits find room in front of them."""
    front = 1 + len(people.traits) if people is not None and method == "tokens" else 0
    room = min(settings.longest, window(tokenizer, config) - front)
    return Inputs(
        method, people, Tokens(tokenizer, config, instances.texts, replace(settings, longest=room)), instances
    )


def _known_people(examples: Examples, people: People, learned: Rows) -> People:
    """The users of the rows that are learned from, without those who are in the held-out part alone."""
    if not people.users:
        return people
    users = {examples.instances.users[row] for row in learned}
    return People.of({user: examples.instances.profiles[user] for user in users}, people.traits)
