"""Training one member of an ensemble: warm-up, adversarial steps, early stopping, checkpoints.

Every epoch draws its own numbers from the seed, so that a training that was cut off and resumed ends where an
uninterrupted one does. After every epoch, everything that is needed to go on is kept: tensors as safetensors, the rest
as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vantage.corpora.writers.place import put_file
from vantage.errors import InputError
from vantage.raters.models.base import require
from vantage.raters.trained.base import Floats
from vantage.raters.trained.encoder_settings import EncoderSettings
from vantage.raters.trained.lesson import Lesson
from vantage.raters.trained.network import groups, half_precision, put


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
        """Takes in the score of an epoch; says whether it is the best one so far."""
        self.epoch += 1
        self.history.append(score)
        better = score > self.best
        if better:
            self.best, self.best_epoch = score, self.epoch
        self.done = self.epoch >= epochs or self.epoch - self.best_epoch >= patience
        return better


class Checkpoint:
    """The files of one member in a folder; without a folder, nothing is kept."""

    def __init__(self, folder: Path | None, member: int, training: str) -> None:
        self.training = training
        self._state = None if folder is None else folder / f"member-{member}.json"
        self._tensors = None if folder is None else folder / f"member-{member}.safetensors"

    def read(self) -> tuple[State, dict[str, Any]] | None:
        """What an earlier run left; one of another training is refused."""
        if self._state is None or self._tensors is None or not self._state.exists():
            return None
        try:
            stored = json.loads(self._state.read_text("utf-8"))
            training, state = stored.pop("training"), State(**stored["state"])
        except (KeyError, TypeError, ValueError):
            raise InputError("this is no checkpoint", file=self._state, remedy="delete it to begin anew") from None
        if training != self.training:
            raise InputError(
                "the checkpoint belongs to another training (other texts, labels, settings or seed)",
                file=self._state,
                remedy="choose another folder, or delete the checkpoints to begin anew",
            )
        try:
            return state, dict(require("safetensors.torch", "local").load_file(self._tensors))
        except (OSError, require("safetensors", "local").SafetensorError) as error:
            raise InputError(
                f"the checkpoint cannot be read ({' '.join(str(error).split())[:120]})",
                file=self._tensors,
                remedy="delete it to begin anew",
            ) from None

    def write(self, state: State, tensors: Mapping[str, Any]) -> None:
        """Keeps the state; a crash leaves the last epoch's or this one's, and its tensors are written first."""
        if self._state is None or self._tensors is None:
            return
        save = require("safetensors.torch", "local").save_file
        # Once the tensors of a later epoch stand beside an older state, the state must not be believed.
        self._state.unlink(missing_ok=True)
        put_file(self._tensors, lambda path: save(dict(tensors), path), overwrite=True)
        text = json.dumps({"training": self.training, "state": asdict(state)}, indent=1)
        put_file(self._state, lambda path: path.write_text(text, encoding="utf-8"), overwrite=True)


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
    """What came of a member: its parameters, its outputs for the held-out part and the score of every epoch."""

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
    per_epoch = -(-len(lesson) // settings.batch)
    total = per_epoch * settings.epochs
    state, best = State(), {name: parameters[name].detach().cpu().clone() for name in names}
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
            _step(network, lesson, rows, settings, device)
            torch.nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            moved(1)
        _, score = lesson.examine(network)
        if state.note(score, settings.patience, settings.epochs):
            best = {name: parameters[name].detach().cpu().clone() for name in names}
        kept = {f"now.{name}": parameters[name].detach().cpu().contiguous() for name in names}
        kept |= {f"best.{name}": value.contiguous() for name, value in best.items()}
        for number, moments in optimizer.state_dict()["state"].items():
            kept |= {f"optimizer.{number}.{name}": value.detach().clone() for name, value in moments.items()}
        checkpoint.write(state, kept)
    moved(per_epoch * (settings.epochs - state.epoch))
    rounded = {name: value.half().float() for name, value in best.items()}
    put(network, rounded)
    return Trained(rounded, lesson.examine(network)[0], state)


def _step(network: Any, lesson: Lesson, rows: NDArray[np.intp], settings: EncoderSettings, device: str) -> None:
    """The gradients of one batch, and of the same batch with its word vectors moved against the loss."""
    adversarial = settings.adversarial > 0
    network.keep_vectors, network.moved = adversarial, None
    with half_precision(device, settings):
        loss = lesson.loss(network, rows)
    loss.backward()
    network.keep_vectors = False
    if not adversarial or network.vectors.grad is None:
        return
    vectors, slope = network.vectors.detach(), network.vectors.grad
    length = vectors.norm(dim=(1, 2), keepdim=True) / (slope.norm(dim=(1, 2), keepdim=True) + 1e-12)
    network.moved, network.vectors = settings.adversarial * length * slope, None
    with half_precision(device, settings):
        loss = lesson.loss(network, rows)
    loss.backward()
    network.moved = None


def rate_share(step: int, total: int, warm_up: float) -> float:
    """The share of the highest rate at a step: up in a line, then down to nothing in another.

    >>> [round(rate_share(step, 10, 0.2), 2) for step in (0, 1, 2, 9)]
    [0.5, 1.0, 1.0, 0.12]
    """
    warm = max(1, int(warm_up * total))
    return (step + 1) / warm if step < warm else max(0.0, (total - step) / max(1, total - warm))
