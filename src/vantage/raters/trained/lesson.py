"""What a network learns from, how instances are put before it, what its outputs mean, and the loss it makes small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from vantage.errors import InputError
from vantage.raters.models.base import require
from vantage.raters.trained.base import Floats, PredictedAnswers
from vantage.raters.trained.encoder_settings import EncoderSettings, PairSettings
from vantage.raters.trained.examples import Instances, Labels, Rows, goodness
from vantage.raters.trained.network import PREDICTION_BATCH, Tokens, half_precision, shuffled
from vantage.raters.trained.people import Ids, People


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
                    f"question '{one.question.id}' has a nominal scale, so it has no numbers to learn",
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


@dataclass(frozen=True, slots=True)
class EncoderBatch:
    """Some units as a network reads them, and the labels that its outputs are held against."""

    texts: dict[str, Any]
    ids: Any
    """Per instance what the network knows of the user."""
    place: Any
    """Which of the texts each instance is about."""
    rows: Any
    """The rows of the labels."""
    real: Any
    """Whether an instance is one, and not there to fill the batch up."""

    def tensors(self) -> list[Any]:
        """All tensors, in one order."""
        return [*self.texts.values(), self.ids, self.place, self.rows, self.real]


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

    def __call__(self, outputs: Any, batch: EncoderBatch) -> Any:
        """The loss of the outputs for a batch; nothing in it waits for the device."""
        losses, there = [], []
        for n, head in enumerate(self.heads):
            counted = self.answered[n][batch.rows] & batch.real
            each = self._each(n, head, outputs[:, head.start : head.start + head.width].float(), batch.rows)
            losses.append((each * counted).sum() / counted.sum().clamp(min=1))
            there.append(counted.any())
        asked = self.torch.stack(there)
        return (self.torch.stack(losses) * asked).sum() / asked.sum().clamp(min=1)

    def _each(self, n: int, head: OutputHead, out: Any, rows: Any) -> Any:
        """The loss of every row; rows without an answer have one too, which does not count."""
        functional = self.torch.nn.functional
        if head.number:
            value = out[:, 0] * head.scale + head.centre
            how = {"delta": self.settings.delta, "reduction": "none"}
            if self.single[n] or not len(self.codes[n]):
                return functional.huber_loss(value, self.score[n][rows], **how)
            codes = self.codes[n].expand(len(value), -1)
            return (functional.huber_loss(value[:, None].expand_as(codes), codes, **how) * self.shares[n][rows]).sum(1)
        logs = out.log_softmax(-1)
        terms = self.shares[n][rows] * self.weights[n] * logs
        if self.settings.loss == "focal":
            terms = terms * (1 - logs.exp()) ** self.settings.focus
        return -terms.sum(1)


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


@dataclass(frozen=True, slots=True)
class Inputs:
    """Instances as a network reads them."""

    method: str
    people: People | None
    """Null where texts are judged, whoever asks."""
    tokens: Tokens
    """Of all texts of the instances."""
    instances: Instances

    def take(self, rows: Rows) -> Inputs:
        """Some of the instances."""
        return replace(self, instances=self.instances.take(rows))

    def ids(self) -> Ids:
        """Per instance what the network knows of the user."""
        if self.people is None or self.method == "baseline":
            return np.zeros((len(self.instances), 1), dtype=np.intp)
        return self.people.ids(self.instances.users, self.instances.profiles)

    def units(self) -> Units:
        """All instances."""
        return self._units(self.instances.text, self.ids())

    def distinct(self) -> tuple[Units, Rows]:
        """Instances that look the same to the network as one, and which of them each instance is."""
        rows, same = np.unique(np.column_stack([self.instances.text, self.ids()]), axis=0, return_inverse=True)
        return self._units(rows[:, 0], rows[:, 1:]), same.reshape(-1)

    def _units(self, text: Rows, ids: Ids) -> Units:
        return Units(self.tokens, text, ids, by_pair=self.method == "tokens")


class Units:
    """Instances in the portions that the encoder reads at once: each pair alone, or each text for all its users."""

    def __init__(self, tokens: Tokens, text: Rows, ids: Ids, *, by_pair: bool) -> None:
        self.tokens, self.text, self.ids, self.by_pair = tokens, text, ids, by_pair
        if by_pair:
            self.rows = [np.array([row]) for row in range(len(text))]
        else:
            order = np.argsort(text, kind="stable")
            self.rows = np.split(order, np.flatnonzero(np.diff(text[order])) + 1) if len(text) else []
        self._texts = text[np.array([rows[0] for rows in self.rows], dtype=np.intp)]

    @property
    def lengths(self) -> Rows:
        """How many tokens each unit has."""
        return self.tokens.lengths[self._texts]

    def batch(self, units: Rows, device: str, *, like: int = 1) -> EncoderBatch:
        """Texts and instances of some units, filled up so that their numbers are multiples of `like`."""
        torch = require("torch", "local")
        rows = np.concatenate([self.rows[unit] for unit in units])
        place = np.repeat(np.arange(len(units)), [len(self.rows[unit]) for unit in units])
        # What fills up repeats the first instance, and does not count.
        filler = 0 if self.by_pair else -len(rows) % like
        filled = np.concatenate([np.arange(len(rows)), np.zeros(filler, dtype=np.intp)])
        texts = self.tokens.batch(self._texts[units], device, like=like)
        columns = self.ids[rows][filled].astype(np.int64), place[filled], rows[filled], filled == np.arange(len(filled))
        return EncoderBatch(texts, *(torch.from_numpy(column).to(device, non_blocking=True) for column in columns))

    def in_order(self) -> list[Rows]:
        """All units in batches from the shortest to the longest."""
        order = np.argsort(self.lengths, kind="stable")
        return [order[start : start + PREDICTION_BATCH] for start in range(0, len(order), PREDICTION_BATCH)]


class Lesson:
    """Instances that are learned from in units, and others that say when to stop."""

    def __init__(
        self,
        inputs: Inputs,
        labels: Sequence[Labels],
        split: tuple[Rows, Rows],
        heads: Sequence[OutputHead],
        settings: EncoderSettings,
        device: str,
    ) -> None:
        learned, held = split
        self.inputs, self.held = inputs, inputs.take(held)
        self.heads, self.settings, self.device = heads, settings, device
        self.held_labels = [one.take(held) for one in labels]
        self.units = inputs.take(learned).units()
        self.goal = Goal([one.take(learned) for one in labels], heads, settings, device)

    def __len__(self) -> int:
        return len(self.units.rows)

    def batches(self, size: int, rng: np.random.Generator) -> Sequence[Rows]:
        """All units once in random order, those of similar length together."""
        return shuffled(self.units.lengths, size, rng)

    def batch(self, units: Rows, *, like: int = 1) -> EncoderBatch:
        """Some units, with users and traits that the network is not told of drawn anew."""
        batch = self.units.batch(units, self.device, like=like)
        return replace(batch, ids=self._forgotten(batch.ids))

    def loss(self, network: Any, batch: EncoderBatch) -> Any:
        """The mean over questions of the mean over the instances of a batch."""
        return self.goal(network(batch.texts, batch.ids, batch.place), batch)

    def examine(self, network: Any) -> tuple[Floats, float]:
        """The outputs for the held-out part, and the mean over questions of how good they are."""
        outputs = outputs_of(network, self.held, self.settings, self.device)
        by_label = self.inputs.people is not None
        pairs = zip(self.held_labels, self.heads, strict=True)
        scores = [goodness(predicted(outputs, h, one.question.scale, 1.0), one, by_label=by_label) for one, h in pairs]
        return outputs, float(np.mean(scores))

    def _forgotten(self, ids: Any) -> Any:
        """The ids without some users and trait values, so that a model learns to do without them."""
        people, forget = self.inputs.people, self.settings.forget if isinstance(self.settings, PairSettings) else 0.0
        if people is None or self.inputs.method not in ("tokens", "embeddings") or not forget:
            return ids
        torch = require("torch", "local")
        # Drawn where the seed of the epoch was set, so that a GPU forgets the same as a CPU.
        lots = torch.rand(ids.shape).to(ids.device)
        users = torch.where(lots[:, :1] < forget, 0, ids[:, :1])
        values = torch.where(lots[:, 1:] < forget / 5, people.unknown, ids[:, 1:])
        return torch.cat([users, values], 1)


def outputs_of(network: Any, inputs: Inputs, settings: EncoderSettings, device: str) -> Floats:
    """One row per instance: the raw outputs, or with `heads` the logarithms of the shares that the heads give."""
    torch = require("torch", "local")
    network.eval()
    if inputs.method == "heads":
        units, same = inputs.units(), np.arange(len(inputs.instances))
        weights, user = _head_weights(inputs)
    else:
        units, same = inputs.distinct()
    outputs = np.zeros((len(units.text), network.outputs))
    with torch.inference_mode(), half_precision(device, settings):
        for batch in units.in_order():
            part = units.batch(batch, device)
            if inputs.method != "heads":
                outputs[part.rows.cpu().numpy()] = network(part.texts, part.ids, part.place).float().cpu().numpy()
                continue
            every = network.every_head(part.texts).float().softmax(-1).cpu().numpy()
            for unit, shares in zip(batch, every, strict=True):
                mine = units.rows[unit]
                outputs[mine] = np.log(np.maximum(weights[user[mine]] @ shares, 1e-300))
    return np.asarray(outputs[same])


def _head_weights(inputs: Inputs) -> tuple[Floats, Rows]:
    """Per user what each head counts, and the user of each pair.

    A known user has one head; of others the mean of the heads of those most alike in traits is taken.
    """
    people, instances = inputs.people or People(), inputs.instances
    names = {user: row for row, user in enumerate(dict.fromkeys(instances.users))}
    known = {user: n for n, user in enumerate(people.users)}
    weights = np.zeros((len(names), len(people.users)))
    for user, row in names.items():
        weights[row, known[user] if user in known else people.alike(instances.profiles[user])] = 1.0
    weights /= weights.sum(axis=1, keepdims=True)
    return weights, np.array([names[user] for user in instances.users], dtype=np.intp)
