"""Training one member of an ensemble: warm-up, adversarial steps, early stopping, checkpoints.

Every epoch draws its own numbers from the seed, so that a training that was cut off and resumed ends where an
uninterrupted one does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vantage.raters.models.extras import require
from vantage.raters.trained.base import Floats
from vantage.raters.trained.checkpoints import Checkpoint, State, optimizer_tensors, restore_optimizer
from vantage.raters.trained.encoder_settings import EncoderSettings
from vantage.raters.trained.lesson import Lesson
from vantage.raters.trained.network import groups, half_precision
from vantage.raters.trained.weights import put


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


def _restore(parameters: dict[str, Any], tensors: dict[str, Any]) -> None:
    torch = require("torch", "local")
    with torch.no_grad():
        for key, value in tensors.items():
            if key.startswith("now."):
                parameters[key.removeprefix("now.")].copy_(value)
