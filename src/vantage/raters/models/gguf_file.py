"""Reads what is in a GGUF model file: its settings and its weights, unpacked to full precision."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vantage.raters.models.base import ModelError

_NUMBERS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Kinds of values of a setting; 8 is text and 9 a list."""
_BLOCK: Final = 32
_KINDS: Final = {0: ("float32", 4 * _BLOCK), 1: ("float16", 2 * _BLOCK), 3: ("Q4_1", 20), 8: ("Q8_0", 34)}
"""Kinds of weights: their name, and how many bytes 32 of them take."""

Weights = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """Settings by name, and weights by name as matrices of a row per output."""

    settings: dict[str, Any]
    weights: dict[str, Weights]


def read(file: Path) -> ModelFile:
    """Everything in a file, for models small enough to be held in full precision."""
    data = np.memmap(file, dtype=np.uint8, mode="r")
    cursor = _Cursor(data)
    if cursor.bytes(4) != b"GGUF" or cursor.number("I") < 2:
        raise ModelError(
            f"{file}: this is not a GGUF file of version 2 or 3; convert the model with llama.cpp's tools."
        )
    tensors, count = cursor.number("Q"), cursor.number("Q")
    settings = {cursor.text(): cursor.value(cursor.number("I")) for _ in range(count)}
    places = {}
    for _ in range(tensors):
        name = cursor.text()
        shape = [cursor.number("Q") for _ in range(cursor.number("I"))]
        places[name] = (shape[::-1], cursor.number("I"), cursor.number("Q"))
    alignment = settings.get("general.alignment", 32)
    base = -(-cursor.place // alignment) * alignment
    weights = {}
    for name, (shape, kind, start) in places.items():
        if kind not in _KINDS:
            raise ModelError(f"{file}: the weights '{name}' are of kind {kind}, which cannot be unpacked here.")
        size = math.prod(shape) // _BLOCK * _KINDS[kind][1]
        weights[name] = _unpacked(data[base + start : base + start + size], _KINDS[kind][0]).reshape(shape)
    return ModelFile(settings, weights)


def _unpacked(raw: NDArray[np.uint8], kind: str) -> Weights:
    """Weights in full precision; 32 of them share a scale and, in Q4_1, a least value."""
    if kind in ("float32", "float16"):
        return raw.view(kind).astype(np.float32)
    if kind == "Q8_0":
        blocks = raw.reshape(-1, 34)
        scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        return scale * blocks[:, 2:].copy().view(np.int8).astype(np.float32)
    blocks = raw.reshape(-1, 20)
    scale, least = np.split(blocks[:, :4].copy().view(np.float16).astype(np.float32), 2, axis=1)
    # The low halves of the bytes are the first sixteen weights, the high halves the others.
    halves = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)
    return scale * halves.astype(np.float32) + least


class _Cursor:
    """A place in a file that moves on with what is read."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.data, self.place = data, 0

    def bytes(self, size: int) -> bytes:
        self.place += size
        return self.data[self.place - size : self.place].tobytes()

    def number(self, kind: str) -> Any:
        return struct.unpack(f"<{kind}", self.bytes(struct.calcsize(kind)))[0]

    def text(self) -> str:
        return self.bytes(self.number("Q")).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == 8:
            return self.text()
        if kind == 9:
            inner, length = self.number("I"), self.number("Q")
            values: Iterable[Any] = (self.value(inner) for _ in range(length))
            return list(values)
        return self.number(_NUMBERS[kind])
