"""The ways to learn about pairs, and how the encoders among them are fine-tuned."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final, NamedTuple

from vantage.errors import InputError
from vantage.raters.trained.encoder_settings import EncoderSettings, Loss


class PairMethod(NamedTuple):
    """One way to learn."""

    description: str
    """What it does, in one sentence."""
    torch: bool
    """Whether it needs the extra `local`."""
    users: bool
    """Whether it tells users apart; a blind one gives a text the same label whoever judges it."""


PAIR_METHODS: Final[dict[str, PairMethod]] = {
    "majority": PairMethod("The most frequent label in training, for every pair.", False, False),
    "text-majority": PairMethod(
        "The label most people of the training part gave the text; the majority of all where nobody judged it.",
        False,
        False,
    ),
    "user-majority": PairMethod(
        "The user's own most frequent label; else that of the people most alike in traits; else that of all.",
        False,
        True,
    ),
    "tfidf": PairMethod("Logistic regression on the words of the text, blind to users.", False, False),
    "tfidf-users": PairMethod(
        "Logistic regression on words, on words once more for each trait value, and on who the user is.", False, True
    ),
    "baseline": PairMethod("A fine-tuned encoder of the text alone.", True, False),
    "tokens": PairMethod(
        "A fine-tuned encoder with a token for the user and one for each trait in front of the text.", True, True
    ),
    "embeddings": PairMethod(
        "A fine-tuned encoder to whose reading of the text vectors of the user and the traits are added.", True, True
    ),
    "heads": PairMethod(
        "A fine-tuned encoder with an output layer for each user of the training part (multi-task learning).",
        True,
        True,
    ),
}
LIGHT: Final = tuple(name for name, method in PAIR_METHODS.items() if not method.torch)
"""The methods that need no torch."""


def refuse_without_torch(method: str) -> None:
    """Refuses a method whose packages are missing, and names the methods that do without them."""
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if PAIR_METHODS[method].torch and missing:
        raise InputError(
            f"the method '{method}' needs the package{'s' if missing[1:] else ''} {' and '.join(missing)}",
            remedy=f"pip install vantage[local], or use one of {', '.join(LIGHT)}",
        )


@dataclass(frozen=True, slots=True)
class PairSettings(EncoderSettings):
    """How an encoder is fine-tuned on pairs: the settings of any encoder, some with other defaults, and one more.

    Rare labels are kept from being overlooked by focal loss (Lin et al. 2017) and class weights. One part of `folds`
    decides when to stop; no text of it is learned from.

    Args:
        forget: The share of training pairs in which the model is not told who the user is (and a fifth of it for
            each trait), so that it can also judge for users whom it does not know.
    """

    loss: Loss = "focal"
    class_weights: bool = True
    members: int | None = 1
    folds: int = 5
    epochs: int = 5
    adversarial: float = 0.0
    forget: float = 0.25

    def __post_init__(self) -> None:
        # The shorthand super() does not work in a class with slots.
        EncoderSettings.__post_init__(self)
        if self.loss == "huber":
            raise InputError("pairs have labels, which loss 'huber' does not learn", remedy="use focal")
        if not 0 <= self.forget < 1:
            raise InputError(f"forget is {self.forget}", remedy="give a share of pairs, such as 0.25")
