"""The ways to learn about pairs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from vantage.errors import InputError, nearest


class PairMethod(NamedTuple):
    """One way to learn."""

    description: str
    """What it does, in one sentence."""
    users: bool
    """Whether it tells users apart; a blind one gives a text the same label whoever judges it."""
    kind: str
    """What learns: one of `saved.KINDS`."""

    @property
    def torch(self) -> bool:
        """Whether it needs the extra `local`."""
        return self.kind == "encoder"


PAIR_METHODS: Final[dict[str, PairMethod]] = {
    "majority": PairMethod("The most frequent label in training, for every pair.", False, "counts"),
    "text-majority": PairMethod(
        "The label most people of the training part gave the text; the majority of all where nobody judged it.",
        False,
        "counts",
    ),
    "user-majority": PairMethod(
        "The user's own most frequent label; else that of the people most alike in traits; else that of all.",
        True,
        "counts",
    ),
    "tfidf": PairMethod("Logistic regression on the words of the text, blind to users.", False, "linear"),
    "tfidf-users": PairMethod(
        "Logistic regression on words, on words once more for each trait value, and on who the user is.", True, "linear"
    ),
    "baseline": PairMethod("A fine-tuned encoder of the text alone.", False, "encoder"),
    "tokens": PairMethod(
        "A fine-tuned encoder with a token for the user and one for each trait in front of the text.", True, "encoder"
    ),
    "embeddings": PairMethod(
        "A fine-tuned encoder to whose reading of the text vectors of the user and the traits are added.",
        True,
        "encoder",
    ),
    "heads": PairMethod(
        "A fine-tuned encoder with an output layer for each user of the training part (multi-task learning).",
        True,
        "encoder",
    ),
}
LIGHT: Final = tuple(name for name, method in PAIR_METHODS.items() if not method.torch)
"""The methods that need no torch."""


def pair_method(name: str, file: Path | None = None) -> PairMethod:
    """The method of a name; one that does not exist or whose packages are missing is refused."""
    if name not in PAIR_METHODS:
        raise InputError(f"there is no method '{name}'", file=file, remedy=nearest(name, list(PAIR_METHODS)))
    method = PAIR_METHODS[name]
    missing = [package for package in ("torch", "transformers") if find_spec(package) is None]
    if method.torch and missing:
        raise InputError(
            f"the method '{name}' needs the package{'s' if missing[1:] else ''} {' and '.join(missing)}",
            remedy=f"pip install vantage[local], or use one of {', '.join(LIGHT)}",
        )
    return method
