"""The tokenizer of a model that runs elsewhere measures as the model itself does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.raters.torch_tests import needs_torch
from vantage.raters.models import Message, ModelError, Request, load_model
from vantage.raters.models.huggingface import HubTokens

from .tiny import tiny_model

pytestmark = [*needs_torch, pytest.mark.filterwarnings("default::DeprecationWarning", "default::FutureWarning")]


@pytest.mark.slow
def test_tokens_and_window_are_those_of_the_model(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path)
    model, tokens = load_model(f"hf:{folder}", device="cpu"), HubTokens(str(folder), device="cuda")
    texts = ["", "Lovely day!", "I hate this so very much, all of it.", "日本 🙂"]
    assert [tokens.count_tokens(text) for text in texts] == [model.count_tokens(text) for text in texts]
    assert (tokens.name, tokens.window) == (model.name, model.window)
    assert HubTokens(str(folder), window=77).window == 77
    with pytest.raises(ModelError, match="was not opened here"):
        tokens.complete([Request((Message("user", "Hello"),))])
    with pytest.raises(ModelError, match="was not opened here"):
        tokens.score([], ["a"])


@pytest.mark.slow
def test_a_folder_without_a_tokenizer_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be loaded"):
        HubTokens(str(tmp_path))
