"""What the paper prints: sizes of corpora (Table 2), and F1 at four levels of encoders and models (Tables 3 and 5)."""

from __future__ import annotations

from typing import Final, NamedTuple

SIZES: Final[dict[str, tuple[str, str, str]]] = {
    "hs-brexit": ("6", "1,120", "3,872"),
    "md-agreement": ("819", "10,753", "53,765"),
    "epic": ("74", "3,000", "14,172"),
    "mhs": ("7,912", "39,565", "135,556"),
    "dices": ("123", "350", "43,050"),
}
"""Annotators, texts and instances of Table 2."""


class Printed(NamedTuple):
    """A row of Table 3 or 5: the variant and the F1s of the positive class, global, by user and by text."""

    corpus: str
    where: str
    approach: str
    users: str
    adaptation: str
    extended: str
    scores: tuple[float, float, float]


_ENCODER: Final = "RoBERTa"
ROWS: Final = tuple(
    Printed(*row)
    for row in (
        ("hs-brexit", "Table 3", f"{_ENCODER}, baseline", "–", "–", "no", (0.567, 0.519, 0.403)),
        ("hs-brexit", "Table 3", _ENCODER, "named", "none", "no", (0.558, 0.524, 0.416)),
        ("hs-brexit", "Table 3", _ENCODER, "named", "train", "no", (0.544, 0.512, 0.405)),
        ("hs-brexit", "Table 3", _ENCODER, "unnamed", "train", "no", (0.514, 0.484, 0.378)),
        ("hs-brexit", "Table 3", f"{_ENCODER}, baseline", "–", "–", "yes", (0.592, 0.543, 0.427)),
        ("hs-brexit", "Table 3", _ENCODER, "named", "none", "yes", (0.587, 0.557, 0.455)),
        ("hs-brexit", "Table 3", _ENCODER, "named", "train", "yes", (0.540, 0.509, 0.424)),
        ("hs-brexit", "Table 3", _ENCODER, "unnamed", "train", "yes", (0.554, 0.524, 0.436)),
        ("md-agreement", "Table 3", f"{_ENCODER}, baseline", "–", "–", "no", (0.665, 0.591, 0.500)),
        ("md-agreement", "Table 3", _ENCODER, "unnamed", "train", "no", (0.665, 0.597, 0.499)),
        ("md-agreement", "Table 3", f"{_ENCODER}, baseline", "–", "–", "yes", (0.667, 0.603, 0.495)),
        ("md-agreement", "Table 3", _ENCODER, "unnamed", "train", "yes", (0.681, 0.620, 0.518)),
        ("hs-brexit", "Table 5", "Llama, base", "–", "–", "–", (0.502, 0.476, 0.340)),
        ("hs-brexit", "Table 5", "Llama, perspective", "named", "none", "–", (0.527, 0.502, 0.371)),
        ("hs-brexit", "Table 5", "Llama, history", "named", "test", "–", (0.364, 0.362, 0.238)),
        ("hs-brexit", "Table 5", "Llama, history", "unnamed", "test", "–", (0.330, 0.319, 0.231)),
        ("hs-brexit", "Table 5", "Mixtral, base", "–", "–", "–", (0.255, 0.235, 0.128)),
        ("hs-brexit", "Table 5", "Mixtral, perspective", "named", "none", "–", (0.344, 0.323, 0.193)),
        ("hs-brexit", "Table 5", "Mixtral, history", "named", "test", "–", (0.406, 0.382, 0.263)),
        ("hs-brexit", "Table 5", "Mixtral, history", "unnamed", "test", "–", (0.448, 0.410, 0.313)),
        ("md-agreement", "Table 5", "Llama, base", "–", "–", "–", (0.556, 0.515, 0.381)),
        ("md-agreement", "Table 5", "Llama, history", "unnamed", "test", "–", (0.613, 0.535, 0.451)),
        ("md-agreement", "Table 5", "Mixtral, base", "–", "–", "–", (0.538, 0.495, 0.678)),
        ("md-agreement", "Table 5", "Mixtral, history", "unnamed", "test", "–", (0.531, 0.398, 0.643)),
    )
)
"""The rows of the corpora whose test sets are the same here, as far as the paper's tables are legible."""
