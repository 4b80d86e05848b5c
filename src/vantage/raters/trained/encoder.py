"""Encoders fine-tuned on people's judgments: an ensemble, each member stopped on texts that it did not learn from.

A member is trained with warm-up, adversarial steps, early stopping and checkpoints. Every epoch draws its own numbers
from the seed, so that a training that was cut off and resumed ends where an uninterrupted one does. After every epoch,
everything that is needed to go on is kept: tensors as safetensors, the rest as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from vantage.corpora.writers.place import put_file
from vantage.errors import InputError
from vantage.instruments import Question
from vantage.raters.encoders import window
from vantage.raters.models.base import brief, note_once, require
from vantage.raters.trained.base import Floats, PredictedAnswers, Progress, mixture, short_name
from vantage.raters.trained.encoder_settings import EncoderSettings, PairSettings
from vantage.raters.trained.examples import Examples, Instances, Labels, Rows, held_out
from vantage.raters.trained.gradients import Gradients
from vantage.raters.trained.held_out import HeldOut
from vantage.raters.trained.lesson import Inputs, Lesson, OutputHead, heads, outputs_of, predicted
from vantage.raters.trained.network import (
    Tokens,
    build,
    groups,
    pretrained,
    put,
    read_weights,
    rounded,
    write_weights,
)
from vantage.raters.trained.people import People
from vantage.raters.trained.saved import SavedPredictor


def fingerprint(learned_from: Iterable[bytes], settings: EncoderSettings, seed: int) -> str:
    """What makes two trainings the same: data, settings (but the device) and seed."""
    described = {key: value for key, value in asdict(settings).items() if key != "device"}
    digest = sha256(json.dumps([described, seed], sort_keys=True).encode())
    for piece in learned_from:
        digest.update(piece)
    return digest.hexdigest()[:32]


@dataclass
class State:
    """How far the training of one member has come."""

    epoch: int = 0
    best: float = float("-inf")
    best_epoch: int = 0
    history: list[float] = field(default_factory=list)
    done: bool = False

    def note(self, score: float, patience: int, epochs: int) -> bool:
        """Records the score of an epoch; returns whether it is the best so far."""
        self.epoch += 1
        self.history.append(score)
        better = score > self.best
        if better:
            self.best, self.best_epoch = score, self.epoch
        self.done = self.epoch >= epochs or self.epoch - self.best_epoch >= patience
        return better


class Checkpoint:
    """The file of one member: tensors, and in its header how far they are; without a folder, nothing is kept.

    One file is replaced as a whole, so that a crash leaves the last epoch or this one, never a part of each.
    """

    def __init__(self, folder: Path | None, member: int, training: str) -> None:
        self.training = training
        self.file = None if folder is None else folder / f"member-{member}.safetensors"

    def read(self) -> tuple[State, dict[str, Any]] | None:
        """What an earlier run left; one of another training is refused."""
        if self.file is None or not self.file.exists():
            return None
        safetensors = require("safetensors", "local")
        try:
            with safetensors.safe_open(self.file, framework="pt") as opened:
                stored = opened.metadata() or {}
                training, state = stored["training"], State(**json.loads(stored["state"]))
                tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no mapping
        except (KeyError, TypeError, ValueError, OSError, safetensors.SafetensorError) as error:
            problem = f"the checkpoint cannot be read ({brief(error)})"
            raise InputError(problem, file=self.file, remedy="delete it to start again") from None
        if training != self.training:
            raise InputError(
                "the checkpoint belongs to another training (other texts, labels, settings or seed)",
                file=self.file,
                remedy="choose another folder, or delete the checkpoints to start again",
            )
        return state, tensors

    def write(self, state: State, tensors: Mapping[str, Any]) -> None:
        """Keeps the state."""
        if self.file is None:
            return
        save = require("safetensors.torch", "local").save_file
        header = {"training": self.training, "state": json.dumps(asdict(state))}
        put_file(self.file, lambda path: save(dict(tensors), path, metadata=header), overwrite=True)


def restore_optimizer(optimizer: Any, tensors: Mapping[str, Any]) -> None:
    """Puts the moments back."""
    state: dict[int, dict[str, Any]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer."):
            _, number, name = key.split(".", 2)
            state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained member: its parameters, its outputs for the held-out part and the score of every epoch."""

    tensors: dict[str, Any]
    held: Floats
    state: State


def train(
    network: Any,
    lesson: Lesson,
    settings: EncoderSettings,
    *,
    seed: int,
    device: str,
    checkpoint: Checkpoint,
    moved: Callable[[int], None],
) -> Trained:
    """Fine-tunes a network on a lesson and keeps its parameters of the epoch that did best on what was held out."""
    torch = require("torch", "local")
    network.to(device)
    learning = groups(network, settings)
    names = [name for name, parameter in network.named_parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learning, betas=(0.9, 0.98), fused=device.startswith("cuda") or None)
    highest = [group["lr"] for group in optimizer.param_groups]
    parameters = dict(network.named_parameters())
    learned = [parameters[name] for name in names]
    gradients = Gradients(network, lesson, settings, device)
    per_epoch = -(-len(lesson) // settings.batch)
    total = per_epoch * settings.epochs
    state, best = State(), {name: parameters[name].detach().clone() for name in names}
    if (before := checkpoint.read()) is not None:
        state, tensors = before
        put(network, {key.removeprefix("now."): value for key, value in tensors.items() if key.startswith("now.")})
        best = {name: tensors[f"best.{name}"] for name in names}
        if not state.done:
            restore_optimizer(optimizer, tensors)
        moved(per_epoch * state.epoch)
    while not state.done:
        torch.manual_seed((seed * 1009 + state.epoch) % 2**31)
        rng = np.random.default_rng([seed, state.epoch])
        network.train()
        for done, rows in enumerate(lesson.batches(settings.batch, rng)):
            share = rate_share(per_epoch * state.epoch + done, total, settings.warm_up)
            for group, rate in zip(optimizer.param_groups, highest, strict=True):
                group["lr"] = rate * share
            gradients(rows)
            torch.nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            moved(1)
        _, score = lesson.examine(network)
        if state.note(score, settings.patience, settings.epochs):
            best = {name: parameters[name].detach().clone() for name in names}
        if checkpoint.file is not None:
            checkpoint.write(state, _kept(names, parameters, best, optimizer))
    moved(per_epoch * (settings.epochs - state.epoch))
    rounded_ = rounded(best)
    put(network, rounded_)
    return Trained(rounded_, lesson.examine(network)[0], state)


def _kept(
    names: Sequence[str], parameters: Mapping[str, Any], best: Mapping[str, Any], optimizer: Any
) -> dict[str, Any]:
    kept = {f"now.{name}": parameters[name].detach().cpu().contiguous() for name in names}
    kept |= {f"best.{name}": value.cpu().contiguous() for name, value in best.items()}
    for number, moments in optimizer.state_dict()["state"].items():
        kept |= {f"optimizer.{number}.{name}": value.detach().clone() for name, value in moments.items()}
    return kept


def rate_share(step: int, total: int, warm_up: float) -> float:
    """The share of the highest rate at a step: up in a line, then down to nothing in another.

    >>> [round(rate_share(step, 10, 0.2), 2) for step in (0, 1, 2, 9)]
    [0.5, 1.0, 1.0, 0.12]
    """
    warm = max(1, int(warm_up * total))
    return (step + 1) / warm if step < warm else max(0.0, (total - step) / max(1, total - warm))


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
    aside: HeldOut | None = None

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
        spreads, scores, aside = _held_out(whole, outputs, held, lessons, turns)
        questions = tuple(one.question for one in whole.labels)
        history: dict[str, Any] = {"held_out": scores, "members": histories}
        if people is not None:
            texts = examples.instances.text[splits[0][1]]
            history |= {"pairs": len(texts), "texts": len(np.unique(texts))}
        plain = settings, questions, outputs, spreads, tokenizer, network, members, method, people
        return cls(*plain, history, notes, aside)

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


def _held_out(
    whole: Examples,
    outputs: Sequence[OutputHead],
    held: Sequence[Floats],
    lessons: Sequence[Lesson],
    turns: Sequence[tuple[Rows, Rows]],
) -> tuple[dict[str, float], dict[str, float], HeldOut | None]:
    """Per question the error on held-out texts and how well they are met, and what is said of them; not of pairs."""
    spreads, scores, labels, by_label = {}, {}, whole.labels, whole.people is not None
    said: dict[str, list[PredictedAnswers]] = {}
    # Members that were stopped on the same validation part give one answer about each of its texts.
    rows = [turn[1] for turn in turns]
    alike = all(np.array_equal(one, rows[0]) for one in rows)
    for n, (one, head) in enumerate(zip(labels, outputs, strict=True)):
        id_, scale = one.question.id, one.question.scale
        parts = [
            (predicted(out, head, scale, 1.0), lesson.held_labels[n]) for out, lesson in zip(held, lessons, strict=True)
        ]
        spreads[id_], scores[id_] = held_out(parts, by_label=by_label)
        each = [predicted(out, head, scale, spreads[id_]) for out in held]
        said[id_] = [mixture([(1.0, answers) for answers in each])] if alike else each
    aside = None if by_label else HeldOut.of(rows[:1] if alike else rows, whole.instances.texts, labels, said)
    return spreads, scores, aside


def _known_people(examples: Examples, people: People, learned: Rows) -> People:
    """The users of the rows that are learned from, without those who are in the held-out part alone."""
    if not people.users:
        return people
    users = {examples.instances.users[row] for row in learned}
    return People.of({user: examples.instances.profiles[user] for user in users}, people.traits)
