from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.raters.models.tiny import tiny_model
from vantage.raters.encoders import load_encoder
from vantage.raters.models.base import ModelError
from vantage.raters.shots import tfidf


def test_the_light_encoder_needs_nothing() -> None:
    assert load_encoder("tfidf") is tfidf


def test_an_unknown_encoder_suggests_the_nearest() -> None:
    with pytest.raises(ModelError, match="did you mean 'minilm'"):
        load_encoder("miniln")


@pytest.mark.xdist_group("torch")
def test_any_encoder_gives_unit_vectors_whatever_the_batch(tmp_path: Path) -> None:
    encode = load_encoder(f"hf:{tiny_model(tmp_path / 'tiny')}")
    texts = ["a red fox", "another", "a red fox", "x " * 60]
    vectors = encode(texts)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.array_equal(vectors[0], vectors[2])
    alone = load_encoder(f"hf:{tmp_path / 'tiny'}")(["another"])
    assert np.allclose(alone[0], vectors[1], atol=1e-5)


@pytest.mark.xdist_group("torch")
def test_an_encoder_that_is_not_there_is_told(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install vantage-raters[local]")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_encoder(f"hf:{tmp_path / 'nowhere'}")
