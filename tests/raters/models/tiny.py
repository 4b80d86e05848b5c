"""A tiny random language model on disk, so that Transformers is tested without a model hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + TEMPLATE
SPECIAL = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|pad|>"]


def tiny_model(folder: Path, *, template: str | None = TEMPLATE, **changes: Any) -> Path:
    """Saves a Llama with two small layers and a tokenizer of bytes; `changes` go to its configuration."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install vantage-raters[local]")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    vocabulary = {letter: i for i, letter in enumerate(sorted(letters))}
    merges = [("v", "e"), ("ve", "r"), ("ver", "y"), ("1", "0")]
    for left, right in merges:
        vocabulary[left + right] = len(vocabulary)
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    named = {"eos_token": "<|end|>", "pad_token": "<|pad|>", "additional_special_tokens": SPECIAL[:3]}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **named)
    if template is not None:
        tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "eos_token_id": tokenizer.eos_token_id,
        "bos_token_id": None,
        "initializer_range": 0.5,
        **changes,
    }
    torch.manual_seed(0)
    kind = shape.pop("kind", "Llama")
    config = getattr(transformers, f"{kind}Config")(**shape)
    getattr(transformers, f"{kind}ForCausalLM")(config).save_pretrained(folder)
    return folder
