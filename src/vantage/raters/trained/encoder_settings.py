"""How an encoder is fine-tuned; docs/trained.md says how the defaults were chosen."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, Literal, Self, get_args

from vantage.errors import InputError, nearest
from vantage.raters.trained.base import refuse_unknown

Loss = Literal["cross-entropy", "focal", "huber"]
LOSSES: Final[tuple[Loss, ...]] = get_args(Loss)
MEMBERS: Final = (1, 3)
"""How many members an ensemble has where it is not said: for one question alone, and for several at once."""


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """How an encoder is fine-tuned.

    Args:
        model: `minilm` (comes in a package, works offline), a folder, or a name on the hub such as
            `vinai/bertweet-base`.
        loss: `cross-entropy` or `focal` over the options, or `huber` for a number (Huber 1964).
        class_weights: Whether rare options weigh more, by the inverse of their frequency (of the first two losses).
        focus: How much focal loss looks away from what is easy (Lin et al. 2017).
        delta: Where Huber loss turns from squares to absolute values, in points of the scale.
        members: How many networks are trained and averaged, each stopped on another part of the texts; null for three
            where several questions are learned at once and one where one is.
        folds: Into how many parts the texts are split for that; more parts leave more to learn from.
        epochs: The most passes over the data.
        patience: Training stops after so many epochs without a gain on the held-out part.
        batch: How many texts are learned from at a time.
        rate: The highest learning rate, of the encoder's last layer; null for one that suits its depth.
        head_rate: How many times that for the new layer on top.
        layer_decay: By what the rate falls from each layer to the one below.
        warm_up: The share of steps in which the rate rises; then it falls to nothing.
        decay: Weight decay.
        dropout: The share of activations dropped in training.
        adversarial: Length of the step in which word vectors are moved against the loss, as a share of their own
            length (Miyato, Dai and Goodfellow 2017); 0 for none, which halves the time.
        train_embeddings: Whether the word vectors themselves change.
        split_hashtags: Whether `#VoteThemOut` and `@votethemout` are read as `# Vote Them Out` and `@ vote them out`.
        longest: The most tokens that are read; longer texts are cut, and a note counts them.
        mixed_precision: Whether a GPU that has bfloat16 computes in it; faster for large encoders.
        device: Where it runs, such as `cpu` or `cuda`; otherwise on the GPU if there is one.
    """

    model: str = "minilm"
    loss: Loss = "cross-entropy"
    class_weights: bool = False
    focus: float = 2.0
    delta: float = 1.0
    members: int | None = None
    folds: int = 10
    epochs: int = 4
    patience: int = 2
    batch: int = 16
    rate: float | None = None
    head_rate: float = 5.0
    layer_decay: float = 0.9
    warm_up: float = 0.1
    decay: float = 0.01
    dropout: float = 0.1
    adversarial: float = 0.02
    train_embeddings: bool = False
    split_hashtags: bool = True
    longest: int = 128
    mixed_precision: bool = True
    device: str | None = None

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise InputError(f"there is no loss '{self.loss}'", remedy=nearest(self.loss, list(LOSSES)))
        for name, lowest in (("epochs", 1), ("batch", 1), ("patience", 1), ("longest", 8), ("folds", 2)):
            if getattr(self, name) < lowest:
                raise InputError(f"{name} is {getattr(self, name)}", remedy=f"give at least {lowest}")
        if self.members is not None and self.members < 1:
            raise InputError(f"members is {self.members}", remedy="give at least 1")

    def highest_rate(self, layers: int) -> float:
        """The highest learning rate of an encoder with so many layers; deep ones, which know more, learn more slowly.

        >>> EncoderSettings().highest_rate(6), EncoderSettings().highest_rate(12)
        (0.00025, 0.0001)
        """
        return self.rate or (2.5e-4 if layers <= 6 else 1e-4)

    def size(self, questions: int) -> int:
        """How many members are trained for so many questions.

        >>> EncoderSettings().size(1), EncoderSettings().size(3), EncoderSettings(members=1).size(3)
        (1, 3, 1)
        """
        return self.members or MEMBERS[questions > 1]

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Settings by name; one that does not exist is named.

        >>> EncoderSettings.of(epoch=3)
        Traceback (most recent call last):
            ...
        vantage.errors.InputError: an encoder has no setting 'epoch'; did you mean 'epochs'?
        """
        refuse_unknown(given, [part.name for part in fields(cls)], "an encoder")
        return cls(**given)


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
