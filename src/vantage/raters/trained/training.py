"""Training one member of an ensemble: warm-up, adversarial steps, early stopping, checkpoints.

Every epoch draws its own numbers from the seed, so that a training that was cut off and resumed ends where an
uninterrupted one does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vantage.raters.models.extras import require
from vantage.raters.trained.base import Floats
from vantage.raters.trained.checkpoints import Checkpoint, State, optimizer_tensors, restore_optimizer
from vantage.raters.trained.encoder_settings import EncoderSettings
from vantage.raters.trained.examples import Examples
from vantage.raters.trained.losses import Goal, Head, goodness, predicted
from vantage.raters.trained.network import PREDICTION_BATCH, Tokens, groups, shuffled
from vantage.raters.trained.weights import put


class Lesson(Protocol):
    """What a network learns from, and by what it is stopped."""

    def __len__(self) -> int:
        """How many rows an epoch goes through."""
        ...

    def batches(self, size: int, rng: np.random.Generator) -> Sequence[NDArray[np.intp]]:
        """All rows once, drawn by lot."""
        ...

    def loss(self, network: Any, rows: NDArray[np.intp]) -> Any:
        """What is to be made small for some rows."""
        ...

    def examine(self, network: Any) -> tuple[Floats, float]:
        """The outputs for the part that is held out, and how good they are; more is better."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """Texts as numbers, with their labels."""

    tokens: Tokens
    examples: Examples


class TextLesson:
    """One row per text."""

    def __init__(self, part: Part, held: Part, heads: Sequence[Head], settings: EncoderSettings, device: str) -> None:
        self.part, self.held, self.heads, self.settings, self.device = part, held, heads, settings, device
        self.goal = Goal(part.examples.labels, heads, settings, device)

    def __len__(self) -> int:
        return len(self.part.tokens)

    def batches(self, size: int, rng: np.random.Generator) -> Sequence[NDArray[np.intp]]:
        """Texts of similar length together."""
        return shuffled(self.part.tokens.lengths, size, rng)

    def loss(self, network: Any, rows: NDArray[np.intp]) -> Any:
        """The mean over questions."""
        return self.goal(network(self.part.tokens.batch(rows, self.device)), rows)

    def examine(self, network: Any) -> tuple[Floats, float]:
        """The mean over questions of how well the order or the labels are met."""
        outputs = outputs_of(network, self.held.tokens, self.settings, self.device)
        pairs = zip(self.held.examples.labels, self.heads, strict=True)
        met = [goodness(predicted(outputs, h, one.question.scale, 1.0), one) for one, h in pairs]
        return outputs, float(np.mean(met))


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
        _restore(parameters, tensors)
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
        kept |= {f"best.{name}": value.contiguous() for name, value in best.items()} | optimizer_tensors(optimizer)
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


def half_precision(device: str, settings: EncoderSettings) -> Any:
    """Half-precision arithmetic where the GPU has the sixteen-bit format that needs no scaling; else nothing."""
    torch = require("torch", "local")
    if settings.mixed_precision and device.startswith("cuda") and torch.cuda.is_bf16_supported():
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return nullcontext()


def outputs_of(network: Any, tokens: Tokens, settings: EncoderSettings, device: str) -> Floats:
    """The raw outputs for all texts, in their order."""
    torch = require("torch", "local")
    network.eval()
    found = np.zeros((len(tokens), network.top.out_features))
    with torch.inference_mode(), half_precision(device, settings):
        for rows in tokens.in_order(PREDICTION_BATCH):
            found[rows] = network(tokens.batch(rows, device)).float().cpu().numpy()
    return found


def _restore(parameters: dict[str, Any], tensors: dict[str, Any]) -> None:
    torch = require("torch", "local")
    with torch.no_grad():
        for key, value in tensors.items():
            if key.startswith("now."):
                parameters[key.removeprefix("now.")].copy_(value)
