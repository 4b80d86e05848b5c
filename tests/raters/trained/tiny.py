"""A tiny random encoder on disk and a corpus that can be learned, so that training is tested in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage import Corpus, Instrument, Scale

GOOD = ("kind", "warm", "honest", "brave")
BAD = ("cruel", "cold", "false", "timid")
FILLER = ("the", "person", "was", "very", "today", "again", "at", "home")


def corpus(items: int = 40, *, seed: int = 0, raters: int = 3, questions: int = 1) -> Corpus:
    """Sentences of good and bad words; raters count them, with a little noise."""
    rng = np.random.default_rng(seed)
    rows, judgments = [], []
    for n in range(items):
        good = int(rng.integers(0, 4))
        words = [str(rng.choice(GOOD)) for _ in range(good)] + [str(rng.choice(BAD)) for _ in range(3 - good)]
        words += [str(rng.choice(FILLER)) for _ in range(4)]
        text = " ".join(words[i] for i in rng.permutation(len(words))) + f" {seed}x{n}"
        rows.append({"item": f"i{n}", "text": text, "target": "Ann", "split": "train" if n % 4 else "test"})
        for q in range(questions):
            for r in range(raters):
                value = float(np.clip(good + rng.integers(-1, 2) * (rng.random() < 0.2), 0, 3))
                judgments.append({"item": f"i{n}", "question": f"q{q}", "rater": f"r{r}", "value": value})
    scales = {f"q{q}": Scale.points(0, 3) for q in range(questions)}
    return Corpus(
        pl.DataFrame(rows),
        pl.DataFrame({"rater": [f"r{r}" for r in range(raters)]}),
        pl.DataFrame(judgments),
        Instrument.of_questions("tiny", "Tiny", scales),
    )


def tiny_encoder(folder: Path, **changes: Any) -> Path:
    """Saves a BERT with two small random layers and a tokenizer of whole words."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install vantage-raters[local]")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *GOOD, *BAD, *FILLER, "ann", "#", "x"]
    words += [*"abcdefghijklmnopqrstuvwxyz0123456789", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz0123456789")]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(words)), encoding="utf-8")
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), do_lower_case=True)
    tokenizer.save_pretrained(folder)
    shape = {
        "vocab_size": len(dict.fromkeys(words)),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        **changes,
    }
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.BertModel(transformers.BertConfig(**shape)).save_pretrained(folder)
    return folder
