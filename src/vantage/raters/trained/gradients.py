"""The gradients of a batch, and of the same batch with its word vectors moved against the loss.

A small network leaves a GPU waiting for its next order most of the time. So there the orders of a step are recorded
once for each shape that batches have (CUDA graphs), and given again as one.
"""

from __future__ import annotations

from typing import Any, Final

from vantage.raters.models.base import require
from vantage.raters.trained.encoder_settings import EncoderSettings
from vantage.raters.trained.examples import Rows
from vantage.raters.trained.lesson import EncoderBatch, Lesson
from vantage.raters.trained.network import half_precision

LIKE: Final = 16
"""On a GPU, numbers of tokens and of instances are multiples of this, so that few shapes have to be recorded."""


class Gradients:
    """Puts the gradients of a batch into the parameters of a network."""

    def __init__(self, network: Any, lesson: Lesson, settings: EncoderSettings, device: str) -> None:
        self.network, self.lesson, self.settings, self.device = network, lesson, settings, device
        self._torch = require("torch", "local")
        self._learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
        self._recorded: dict[tuple[Any, ...], tuple[EncoderBatch, Any]] = {}
        self._memory: Any = None
        self._records = device.startswith("cuda")

    def __call__(self, units: Rows) -> None:
        """Replaces the gradients by those of some units."""
        batch = self.lesson.batch(units, like=LIKE if self._records else 1)
        shape = tuple(tensor.shape for tensor in batch.tensors())
        if self._records and shape not in self._recorded:
            self._record(shape, batch)
        if not self._records:
            for parameter in self._learned:
                parameter.grad = None
            self._made(batch)
            return
        place, graph = self._recorded[shape]
        for old, new in zip(place.tensors(), batch.tensors(), strict=True):
            old.copy_(new, non_blocking=True)
        graph.replay()

    def _record(self, shape: tuple[Any, ...], batch: EncoderBatch) -> None:
        """Keeps the orders for batches of a shape; random numbers are drawn as if nothing had been recorded."""
        torch = self._torch
        for parameter in self._learned:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        drawn = torch.cuda.get_rng_state(self.device)
        beside, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            self._made(batch)
        torch.cuda.current_stream().wait_stream(beside)
        try:
            with torch.cuda.graph(graph, pool=self._memory):
                torch._foreach_zero_([parameter.grad for parameter in self._learned])
                self._made(batch)
            self._memory = graph.pool()
            self._recorded[shape] = batch, graph
        except RuntimeError:
            # Some encoders compute a part on the processor in between (MPNet); their orders are given one by one.
            self._records = False
            self.network.moved = None
        torch.cuda.set_rng_state(drawn, self.device)

    def _made(self, batch: EncoderBatch) -> None:
        """Adds the gradients of a batch, and those of the batch with its word vectors moved."""
        network, adversarial = self.network, self.settings.adversarial
        network.keep_vectors, network.moved = adversarial > 0, None
        self._backward(batch)
        network.keep_vectors = False
        if not adversarial or network.vectors.grad is None:
            return
        vectors, slope = network.vectors.detach(), network.vectors.grad
        length = vectors.norm(dim=(1, 2), keepdim=True) / (slope.norm(dim=(1, 2), keepdim=True) + 1e-12)
        network.moved, network.vectors = adversarial * length * slope, None
        self._backward(batch)
        network.moved = None

    def _backward(self, batch: EncoderBatch) -> None:
        with half_precision(self.device, self.settings):
            loss = self.lesson.loss(self.network, batch)
        loss.backward()
