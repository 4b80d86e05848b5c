"""A Transformers model that runs on other machines: here only its tokenizer and its window are needed."""

from __future__ import annotations

from typing import Any

from vantage.raters.models.base import ModelError
from vantage.raters.models.extras import require
from vantage.raters.models.unopened import Unopened


class HubTokens(Unopened):
    """Measures prompts exactly as `HuggingFaceModel` does, without loading the weights.

    Args:
        model: A folder, or the model's name on the hub.
        window: How many tokens prompt and reply may have together; otherwise what the model was trained for.
        revision: The version of a model on the hub.
        gguf_file: The name of a GGUF file in the folder.
        others: Settings that say how the weights are computed, which do not matter here.
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
