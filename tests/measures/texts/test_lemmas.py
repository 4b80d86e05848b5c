"""Lemmas by part of speech, where the tools are installed."""

from __future__ import annotations

import importlib.util

import pytest

from vantage.measures.texts import dictionary as module
from vantage.measures.texts.dictionary import available, lemmas


@pytest.mark.skipif(not available("en"), reason="the extra text (lemminflect) is not installed")
def test_english_lemmas_by_part_of_speech() -> None:
    assert lemmas("criminals") == ["criminal"]
    assert lemmas("helping", ["VERB"]) == ["help"]
    assert lemmas("friendlier", ["ADJ"]) == ["friendly"]
    assert lemmas("", ["ADJ"]) == []


@pytest.mark.skipif(not available("de"), reason="the extra text (HanTa) is not installed")
def test_german_lemmas() -> None:
    assert "freundlich" in lemmas("freundliche", ["ADJ"], "de")


def test_without_tools_there_are_none_and_that_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(module, "find_spec", lambda name: None if name in ("lemminflect", "HanTa") else real(name))
    assert not available("en")
    assert lemmas("criminals") == []
    assert not available("fr")
