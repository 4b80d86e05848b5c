"""What an encoder's outputs mean and what it is trained to make small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from scipy.stats import rankdata

from vantage.errors import InputError
from vantage.raters.models.base import require
from vantage.raters.trained.base import Floats, PredictedAnswers
from vantage.raters.trained.encoder_settings import EncoderSettings
from vantage.raters.trained.examples import Labels


@dataclass(frozen=True, slots=True)
class OutputHead:
    """The part of the outputs that belongs to one question."""

    start: int
    width: int
    centre: float
    scale: float
    """Numbers are learned as differences from the centre, in units of the scale."""
    weights: tuple[float, ...] = ()
    """Weight of each option in the loss."""

    @property
    def number(self) -> bool:
        """Whether the output is a number instead of one value per option."""
        return self.width == 1


def heads(labels: Sequence[Labels], settings: EncoderSettings) -> tuple[OutputHead, ...]:
    """One head per question, side by side."""
    parts: list[OutputHead] = []
    start = 0
    for one in labels:
        scale, score = one.question.scale, one.score[one.answered]
        if settings.loss == "huber":
            if not scale.ordered:
                raise InputError(
                    f"question '{one.question.id}' has a nominal scale, of which there are no numbers to learn",
                    remedy="use loss cross-entropy or focal",
                )
            head = OutputHead(start, 1, float(score.mean()), float(score.std()) or 1.0)
        else:
            if not scale.options:
                raise InputError(f"question '{one.question.id}' has a continuous scale", remedy="use loss huber")
            head = OutputHead(start, len(scale.options), 0.0, 1.0, _weights(one, settings))
        parts.append(head)
        start += head.width
    return tuple(parts)


def _weights(labels: Labels, settings: EncoderSettings) -> tuple[float, ...]:
    """The inverse of how frequent each option is, averaging 1 over the options that were given."""
    usual = labels.shares[labels.answered].mean(axis=0)
    if not settings.class_weights:
        return (1.0,) * len(usual)
    inverse = np.divide(1.0, usual, out=np.zeros_like(usual), where=usual > 0)
    return tuple((inverse * np.count_nonzero(inverse) / inverse.sum()).tolist())


class Goal:
    """The loss of a batch: the mean over questions of the mean over the items that have an answer."""

    def __init__(
        self, labels: Sequence[Labels], heads: Sequence[OutputHead], settings: EncoderSettings, device: str
    ) -> None:
        self.torch = torch = require("torch", "local")
        self.heads, self.settings = heads, settings

        def tensor(values: Any) -> Any:
            return torch.tensor(np.nan_to_num(np.asarray(values, dtype=np.float64)), dtype=torch.float32, device=device)

        self.shares = [tensor(one.shares) for one in labels]
        self.score = [tensor(one.score) for one in labels]
        self.answered = [torch.tensor(one.answered, device=device) for one in labels]
        self.weights = [tensor(head.weights) for head in heads]
        self.codes = [tensor(one.question.scale.codes) for one in labels]
        self.single = [_single(one) for one in labels]

    def __call__(self, outputs: Any, rows: Any) -> Any:
        """The loss of the outputs for some rows."""
        torch = self.torch
        where = torch.as_tensor(rows, device=outputs.device)
        losses = []
        for n, head in enumerate(self.heads):
            there = self.answered[n][where]
            if not bool(there.any()):
                continue
            out = outputs[:, head.start : head.start + head.width].float()[there]
            losses.append(self._loss(n, head, out, where[there]))
        return torch.stack(losses).mean() if losses else outputs.sum() * 0.0

    def _loss(self, n: int, head: OutputHead, out: Any, rows: Any) -> Any:
        functional = self.torch.nn.functional
        if head.number:
            value = out[:, 0] * head.scale + head.centre
            if self.single[n] or not len(self.codes[n]):
                return functional.huber_loss(value, self.score[n][rows], delta=self.settings.delta)
            each = functional.huber_loss(
                value[:, None].expand(-1, len(self.codes[n])),
                self.codes[n].expand(len(value), -1),
                delta=self.settings.delta,
                reduction="none",
            )
            return (each * self.shares[n][rows]).sum(1).mean()
        logs = out.log_softmax(-1)
        terms = self.shares[n][rows] * self.weights[n] * logs
        if self.settings.loss == "focal":
            terms = terms * (1 - logs.exp()) ** self.settings.focus
        return -terms.sum(1).mean()


def _single(labels: Labels) -> bool:
    """Whether each item has one aggregated value rather than a distribution of judgments."""
    shares = labels.shares[labels.answered]
    return not shares.size or bool((shares.max(axis=1) == 1).all())


def predicted(outputs: Floats, head: OutputHead, labels_scale: Any, spread: float) -> PredictedAnswers:
    """What a head's outputs say about a question."""
    part = outputs[:, head.start : head.start + head.width]
    if head.number:
        return PredictedAnswers.of_numbers(part[:, 0] * head.scale + head.centre, spread, labels_scale)
    return PredictedAnswers.of_shares(softmax(part, axis=1), labels_scale)


def goodness(answers: PredictedAnswers, labels: Labels, *, by_label: bool = False) -> float:
    """How good predictions are: rank correlation with the scores, or macro F1 `by_label` or where there is no order."""
    there = labels.answered
    if not there.any():
        return 0.0
    if answers.mean is not None and not by_label:
        return spearman(answers.mean[there], labels.score[there])
    from sklearn.metrics import f1_score

    truth = labels.shares[there].argmax(axis=1)
    return float(f1_score(truth, answers.place[there], average="macro", zero_division=0))


def held_out(parts: Sequence[tuple[PredictedAnswers, Labels]], *, by_label: bool = False) -> tuple[float, float]:
    """Over held-out parts: the root mean squared error, and the mean goodness."""
    scores = [goodness(*part, by_label=by_label) for part in parts]
    return root_mean_squared_error(parts), float(np.mean(scores))


def root_mean_squared_error(parts: Sequence[tuple[PredictedAnswers, Labels]]) -> float:
    """The error of all predicted means; 0 where there are none."""
    errors = [(answers.mean - labels.score)[labels.answered] for answers, labels in parts if answers.mean is not None]
    return float(np.sqrt(np.mean(np.concatenate(errors) ** 2))) if errors else 0.0


def spearman(one: Floats, other: Floats) -> float:
    """Rank correlation; 0 where one side does not vary, so that training can go on."""
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(np.corrcoef(rankdata(one), rankdata(other))[0, 1])
