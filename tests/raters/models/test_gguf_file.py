"""Model files written here, byte by byte, and a tiny Llama in them run against its plain definition."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vantage.raters.models import ModelError
from vantage.raters.models.embedded import LlamaNet, ModelFile, read_gguf
from vantage.raters.models.options import OptionTree
from vantage.raters.models.prefix_scorer import PrefixScorer, ScoringBudget


def text(word: str) -> bytes:
    return struct.pack("<Q", len(word)) + word.encode()


def write(file: Path, kind: int, raw: bytes, shape: tuple[int, ...]) -> Path:
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 3)
    head += text("general.name") + struct.pack("<I", 8) + text("tiny")
    head += text("some.rate") + struct.pack("<If", 6, 0.5)
    head += text("some.list") + struct.pack("<IIQ", 9, 5, 2) + struct.pack("<ii", -1, 7)
    head += text("w") + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1])
    head += struct.pack("<IQ", kind, 0)
    file.write_bytes(head + bytes(-len(head) % 32) + raw)
    return file


def test_settings_and_plain_weights_are_read(tmp_path: Path) -> None:
    weights = np.arange(64, dtype=np.float16).reshape(2, 32)
    found = read_gguf(write(tmp_path / "a.gguf", 1, weights.tobytes(), (2, 32)))
    assert found.settings == {"general.name": "tiny", "some.rate": 0.5, "some.list": [-1, 7]}
    assert (found.weights["w"] == weights).all()


def test_packed_weights_are_unpacked(tmp_path: Path) -> None:
    eight = struct.pack("<e", 0.5) + struct.pack("<32b", *range(-16, 16))
    found = read_gguf(write(tmp_path / "b.gguf", 8, eight, (1, 32))).weights["w"]
    assert found[0].tolist() == [i / 2 for i in range(-16, 16)]
    four = struct.pack("<ee", 0.25, -1.0) + bytes(i | (15 - i) << 4 for i in range(16))
    found = read_gguf(write(tmp_path / "c.gguf", 3, four, (1, 32))).weights["w"]
    assert found[0].tolist() == [i / 4 - 1 for i in [*range(16), *range(15, -1, -1)]]


def test_weights_of_another_kind_and_other_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="the weights 'w' are of kind 12"):
        read_gguf(write(tmp_path / "d.gguf", 12, bytes(144), (1, 256)))
    (tmp_path / "e.gguf").write_bytes(b"GGUX" + bytes(60))
    with pytest.raises(ModelError, match="not a GGUF file"):
        read_gguf(tmp_path / "e.gguf")
    with pytest.raises(ModelError, match="kind gemma cannot be run"):
        LlamaNet(ModelFile({"general.architecture": "gemma"}, {}))


HEADS, SHARED, SIZE, WIDTH, LAYERS, VOCABULARY = 4, 2, 8, 32, 2, 50


def tiny() -> ModelFile:
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return rng.normal(0, 0.4, shape).astype(np.float32)

    weights = {"token_embd.weight": drawn(VOCABULARY, WIDTH), "output_norm.weight": 1 + drawn(WIDTH)}
    for i in range(LAYERS):
        shapes = {"attn_q": (WIDTH, WIDTH), "attn_k": (SHARED * SIZE, WIDTH), "attn_v": (SHARED * SIZE, WIDTH)}
        shapes |= {
            "attn_output": (WIDTH, WIDTH),
            "ffn_gate": (48, WIDTH),
            "ffn_up": (48, WIDTH),
            "ffn_down": (WIDTH, 48),
        }
        weights |= {f"blk.{i}.{name}.weight": drawn(*shape) for name, shape in shapes.items()}
        weights |= {f"blk.{i}.{name}.weight": 1 + drawn(WIDTH) for name in ("attn_norm", "ffn_norm")}
    settings = {
        "general.architecture": "llama",
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": SHARED,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": SIZE,
        "llama.block_count": LAYERS,
    }
    return ModelFile(settings, weights)


def plainly(file: ModelFile, tokens: list[int]) -> Any:
    """Log-probabilities behind a text, token by token and head by head, in double precision."""
    w = {name: value.astype(np.float64) for name, value in file.weights.items()}

    def normed(x: Any, scale: Any) -> Any:
        return x / np.sqrt((x**2).mean() + 1e-5) * scale

    def turned(x: Any, place: int) -> Any:
        out = x.copy()
        for pair in range(SIZE // 2):
            angle = place * 10000.0 ** (-2 * pair / SIZE)
            a, b = x[2 * pair], x[2 * pair + 1]
            out[2 * pair] = a * np.cos(angle) - b * np.sin(angle)
            out[2 * pair + 1] = a * np.sin(angle) + b * np.cos(angle)
        return out

    hidden = [w["token_embd.weight"][token] for token in tokens]
    for i in range(LAYERS):
        layer = {
            name.removeprefix(f"blk.{i}.").removesuffix(".weight"): v for name, v in w.items() if f"blk.{i}." in name
        }
        normal = [normed(x, layer["attn_norm"]) for x in hidden]
        queries, keys, values = ([(layer[f"attn_{k}"] @ x).reshape(-1, SIZE) for x in normal] for k in "qkv")
        for place, x in enumerate(list(hidden)):
            told = []
            for head in range(HEADS):
                shared = head // (HEADS // SHARED)
                query = turned(queries[place][head], place)
                scores = np.array([query @ turned(keys[p][shared], p) for p in range(place + 1)]) / np.sqrt(SIZE)
                chances = np.exp(scores) / np.exp(scores).sum()
                told.append(sum(c * values[p][shared] for p, c in enumerate(chances)))
            hidden[place] = x + layer["attn_output"] @ np.concatenate(told)
        for place, x in enumerate(hidden):
            y = normed(x, layer["ffn_norm"])
            gate = layer["ffn_gate"] @ y
            hidden[place] = x + layer["ffn_down"] @ (gate / (1 + np.exp(-gate)) * (layer["ffn_up"] @ y))
    logits = w["token_embd.weight"] @ normed(hidden[-1], w["output_norm.weight"])
    return logits - np.log(np.exp(logits).sum())


def test_a_tiny_llama_gives_what_its_definition_gives() -> None:
    file = tiny()
    tree = OptionTree([[7], [7, 8], [9, 10, 11], [9, 12], [3]])
    prompts = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 9], [1, 2, 20], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 9, 9, 9]]
    scorer = PrefixScorer(LlamaNet(file), ScoringBudget(tokens=24, worth=3))
    scorer.begin([[1, 2, 3, 9]], tree)()  # what was asked before must not matter
    found = scorer.begin(prompts, tree)()
    for prompt, row in zip(prompts, found, strict=True):
        behind = {node: dict(enumerate(plainly(file, [*prompt, *node]))) for node in tree.nodes}
        assert row == pytest.approx(tree.logprobs(behind), abs=1e-4)
