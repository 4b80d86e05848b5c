"""Encoders fine-tuned on people's judgments: an ensemble, each member stopped on texts that it did not learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vantage.instruments import Question
from vantage.raters.models.base import note_once
from vantage.raters.models.extras import require
from vantage.raters.trained.base import Floats, Predicted, Progress, Reading, mixture
from vantage.raters.trained.checkpoints import Checkpoint, fingerprint
from vantage.raters.trained.encoder_settings import EncoderSettings
from vantage.raters.trained.examples import Examples
from vantage.raters.trained.folds import grouped_folds
from vantage.raters.trained.losses import Head, goodness, heads, predicted
from vantage.raters.trained.network import Tokens, build, pretrained
from vantage.raters.trained.starts import beginnings
from vantage.raters.trained.training import Part, TextLesson, outputs_of, train
from vantage.raters.trained.weights import put, read_weights, write_weights


@dataclass
class EncoderPredictor:
    """A fine-tuned encoder: what all members share, and what each of them learned."""

    settings: EncoderSettings
    questions: tuple[Question, ...]
    heads: tuple[Head, ...]
    spreads: Mapping[str, float]
    """Per question the error on held-out texts; the spread of a predicted number."""
    tokenizer: Any
    network: Any
    members: list[dict[str, Any]]
    validation: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def fit(
        cls,
        train_examples: Examples,
        settings: EncoderSettings,
        validation: Examples | None = None,
        *,
        seed: int = 0,
        checkpoints: Path | None = None,
        progress: Progress | None = None,
    ) -> EncoderPredictor:
        """Trains the members one after the other.

        With a validation part all of them learn from everything else and are stopped on it. Without, the texts are
        split into folds, and each member is stopped on another fold.
        """
        torch = require("torch", "local")
        count = settings.size(len(train_examples.labels))
        splits = _splits(train_examples, validation, count, settings, seed)
        tokenizer, encoder = pretrained(settings)
        notes: list[str] = []
        device = chosen_device(settings.device, notes)
        outputs = heads(train_examples.labels, settings)
        begun = beginnings(settings, encoder)
        training = fingerprint(train_examples, validation, settings, seed, begun if settings.starts else ())
        steps = [settings.epochs * -(-len(one.items) // settings.batch) for one, _ in splits]
        tally = Steps(sum(steps), progress)
        members, held_outputs, histories = [], [], []
        cuda = [torch.cuda.current_device()] if device.startswith("cuda") else []
        network: Any = None
        with torch.random.fork_rng(devices=cuda):
            for number, (learned_from, held) in enumerate(splits):
                encoder.load_state_dict(begun[number % len(begun)])
                torch.manual_seed((seed * 1009 + 500 + number) % 2**31)
                network = build(encoder, sum(head.width for head in outputs), settings.dropout)
                parts = [Part(Tokens(tokenizer, encoder.config, e.reading, settings), e) for e in (learned_from, held)]
                done = train(
                    network,
                    TextLesson(parts[0], parts[1], outputs, settings, device),
                    settings,
                    seed=seed * 101 + number,
                    device=device,
                    checkpoint=Checkpoint(checkpoints, number + 1, training),
                    moved=tally.move,
                )
                members.append(done.tensors)
                held_outputs.append(done.held)
                histories.append({"best_epoch": done.state.best_epoch, "scores": done.state.history})
        whole = train_examples if validation is None else train_examples.and_also(validation)
        if note := Tokens(tokenizer, encoder.config, whole.reading, settings).note():
            notes.append(note)
        spreads, scores = _held_out(held_outputs, [held for _, held in splits], outputs)
        return cls(
            settings,
            tuple(one.question for one in train_examples.labels),
            outputs,
            spreads,
            tokenizer,
            network,
            members,
            {"held_out": scores, "members": histories},
            notes,
        )

    def predict(self, reading: Reading) -> dict[str, Predicted]:
        """The mean of the members' predictions; how far they differ is part of the spread."""
        device = chosen_device(self.settings.device, [])
        tokens = Tokens(self.tokenizer, self.network.encoder.config, reading, self.settings)
        if note := tokens.note():
            note_once(self.notes, note)
        self.network.to(device)
        outputs = [self._outputs(member, tokens, device) for member in self.members]
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
            "settings": {**asdict(self.settings), "device": None},
            "heads": [asdict(head) for head in self.heads],
            "spreads": self.spreads,
            "members": len(self.members),
            "validation": self.validation,
            "notes": self.notes,
        }

    @classmethod
    def load(cls, folder: Path, name: str, data: Mapping[str, Any], questions: Sequence[Question]) -> EncoderPredictor:
        """Reads what `save` wrote; weights that do not fit the encoder are refused."""
        settings = EncoderSettings.of(**data["settings"])
        told = [Head(**{**head, "weights": tuple(head["weights"])}) for head in data["heads"]]
        width = sum(head.width for head in told)
        tokenizer, network, members = read_weights(
            folder, name, data["members"], lambda encoder: build(encoder, width, settings.dropout)
        )
        return cls(
            settings,
            tuple(questions),
            tuple(told),
            data["spreads"],
            tokenizer,
            network,
            members,
            data["validation"],
            list(data["notes"]),
        )

    def _outputs(self, member: Mapping[str, Any], tokens: Tokens, device: str) -> Floats:
        put(self.network, member)
        return outputs_of(self.network, tokens, self.settings, device)


class Steps:
    """Steps that are done, over all members."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.total, self.done, self.progress = total, 0, progress

    def move(self, steps: int) -> None:
        """So many more are done."""
        self.done += steps
        if self.progress:
            self.progress(self.done, self.total)


def chosen_device(asked: str | None, notes: list[str]) -> str:
    """The device that was asked for if it is there, else the GPU, else the CPU, and a note where it is not as asked."""
    torch = require("torch", "local")
    there = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if asked is None or asked == there or (asked.startswith("cuda") and there == "cuda") or asked == "cpu":
        return asked or there
    notes.append(f"There is no device '{asked}' here; '{there}' was used.")
    return there


def _splits(
    examples: Examples, validation: Examples | None, count: int, settings: EncoderSettings, seed: int
) -> list[tuple[Examples, Examples]]:
    if validation is not None:
        return [(examples, validation)] * count
    parts = max(count, settings.folds)
    folds = grouped_folds(examples.reading.first, parts, seed)
    return [
        (examples.take(np.flatnonzero(folds != k)), examples.take(np.flatnonzero(folds == k))) for k in range(count)
    ]


def _held_out(
    outputs: Sequence[Floats], parts: Sequence[Examples], heads: Sequence[Head]
) -> tuple[dict[str, float], dict[str, float]]:
    """Per question the error on held-out texts, and how well their order is met."""
    spreads, scores = {}, {}
    for n, head in enumerate(heads):
        errors, met = [], []
        for out, part in zip(outputs, parts, strict=True):
            labels = part.labels[n]
            found = predicted(out, head, labels.question.scale, 1.0)
            met.append(goodness(found, labels))
            if found.mean is not None:
                errors.append((found.mean - labels.score)[labels.answered])
        id_ = parts[0].labels[n].question.id
        spreads[id_] = float(np.sqrt(np.mean(np.concatenate(errors) ** 2))) if errors else 0.0
        scores[id_] = float(np.mean(met))
    return spreads, scores
