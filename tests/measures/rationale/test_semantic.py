"""Likeness of meaning: cosines by hand, and BERTScore where its package is there."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vantage.errors import InputError
from vantage.measures.rationale.semantic import BertScore, embedding_similarity


def letters(texts: list[str] | tuple[str, ...] | Any) -> Any:
    return np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float64)


def test_the_most_similar_reference_counts() -> None:
    found = embedding_similarity([("aa", ["b", "ab"]), ("b", ["bbb"])], letters)
    assert found == pytest.approx([np.sqrt(0.5), 1.0])


def test_a_text_without_a_vector_is_like_nothing() -> None:
    assert embedding_similarity([("c", ["a"])], letters).tolist() == [0.0]
    assert embedding_similarity([], letters).tolist() == []


def test_an_encoder_that_loses_texts_is_refused() -> None:
    with pytest.raises(InputError, match="for 2 texts"):
        embedding_similarity([("a", ["b"])], lambda _: np.zeros((1, 2)))


def test_bertscore_asks_its_package_and_rescales(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def score(texts: list[str], references: list[list[str]], **options: Any) -> Any:
        asked.update(texts=texts, references=references, **options)
        return None, None, SimpleNamespace(numpy=lambda: np.array([0.9, 0.5]))

    monkeypatch.setitem(sys.modules, "bert_score", SimpleNamespace(score=score))
    found = BertScore("models/tiny", layers=3, baseline=0.5)([("a", ("b", "c")), ("d", ("e",))])
    assert found == pytest.approx([0.8, 0.0])
    assert asked["references"] == [["b", "c"], ["e"]]
    assert (asked["model_type"], asked["num_layers"]) == ("models/tiny", 3)
    assert BertScore("models/tiny").name == "bert-score with tiny"


def test_bertscore_without_its_package_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(InputError, match="needs bert-score and torch"):
        BertScore("any")([("a", ("b",))])
    with pytest.raises(InputError, match="leaves no room"):
        BertScore("any", baseline=1.0)


def test_an_encoder_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(*_: Any, **__: Any) -> Any:
        raise OSError("no such model")

    monkeypatch.setitem(sys.modules, "bert_score", SimpleNamespace(score=score))
    with pytest.raises(InputError, match="'nowhere' cannot be used for BERTScore"):
        BertScore("nowhere", 2)([("a", ("b",))])


@pytest.mark.slow
def test_the_real_package_with_the_bundled_encoder() -> None:
    pytest.importorskip("bert_score")
    from vantage.raters.encoders import minilm_folder

    score = BertScore(str(minilm_folder()), 6)
    alike, unlike = score([("They blame the office.", ("The office is blamed.",)), ("They blame it.", ("Nice sun.",))])
    assert 0 < unlike < alike < 1
    assert score([("Same words.", ("Same words.",))])[0] == pytest.approx(1.0, abs=1e-4)
