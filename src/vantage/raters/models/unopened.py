"""Models that are not opened here: what planning requests and reading stored replies need to know of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vantage.raters.models.base import Completion, LogProbs, ModelError, Request, estimate_tokens, require


class Unopened:
    """Represents a model whose replies are stored, or that runs elsewhere; it answers nothing."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self.window: int | None = settings.get("window")
        self.notes: list[str] = []

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """Always an error."""
        raise ModelError(f"{self.name} was not opened here, so it cannot answer.")

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        """Always an error."""
        raise ModelError(f"{self.name} was not opened here, so it cannot answer.")

    def count_tokens(self, text: str) -> int:
        """An upper estimate, as for the endpoint itself."""
        return estimate_tokens(text)

    def close(self) -> None:
        """There is nothing to close."""


class HubTokens(Unopened):
    """A Transformers model that runs on other machines: measures prompts exactly as `HuggingFaceModel` does.

    Its settings are those of that model; how the weights are computed does not matter here.
    """

    def __init__(
        self,
        model: str,
        *,
        window: int | None = None,
        revision: str = "main",
        gguf_file: str | None = None,
        **others: Any,
    ) -> None:
        del others
        transformers = require("transformers", "local")
        super().__init__(f"hf:{model}", {"window": window})
        source: dict[str, Any] = {"revision": revision, "trust_remote_code": False}
        if gguf_file is not None:
            source["gguf_file"] = gguf_file
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(model, **source)
            config = transformers.AutoConfig.from_pretrained(model, **source).get_text_config()
        except (ImportError, KeyError, OSError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())[:200].rstrip(".")
            raise ModelError(f"The tokenizer of hf:{model} cannot be loaded ({reason}).") from None
        self.window = window or getattr(config, "max_position_embeddings", None)

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has, exactly."""
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])
