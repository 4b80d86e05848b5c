"""What predictions of people's answers lose, text by text, beside raters that read no text and one that knows people.

A prediction is a label for each ⟨text, user⟩ pair, a distribution for each pair, or a distribution for each text. The
scores are those of Learning With Disagreements, third edition (Leonardelli et al. 2025): *perspectivist* ones compare a
label with what each annotator said, *soft* ones a text's distribution with that of its annotators. *Proper* ones
(Gneiting and Raftery 2007) compare a distribution with each annotator's answer. All are losses: lower is better.

A score is the mean over texts of a value per text, so that its variance over texts and people is V_texts + V_people −
V_answers (see `rater_variance`), with the effect of leaving each annotator out of each text in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, stdtr, xlogy
from scipy.stats import binom

from vantage.measures.intervals import Spread, interval
from vantage.measures.ratings import Floats, Ints
from vantage.scales import Scale

Form: TypeAlias = Literal["labels", "user distributions", "text distributions"]
Divisor: TypeAlias = Literal["points", "steps"]
EVALUATIONS: Final = {
    "manhattan": "soft",
    "wasserstein": "soft",
    "cross_entropy": "soft",
    "error_rate": "perspectivist",
    "absolute_distance": "perspectivist",
    "log_score": "proper",
    "brier": "proper",
    "ranked_probability": "proper",
}
"""The measures, and what kind of evaluation each is."""
ORDERED: Final = ("wasserstein", "absolute_distance", "ranked_probability")
"""Measures that need an ordered scale."""
LEAST: Final = 1e-6
"""The log score counts a smaller probability as this one, so that one answer held impossible does not decide all."""
SHUFFLES: Final = 5
MANY: Final = 100_000
"""From so many texts on, one deal says enough about predictions for other texts."""


@dataclass(frozen=True)
class Answered:
    """People's answers to one question beside what was predicted for them."""

    item: Ints
    """Of each pair; as are the user and the place of the answer on the scale."""
    user: Ints
    gold: Ints
    target: Floats
    """The distribution of people's answers to each text, as it was released or counted."""
    codes: Floats
    scale: Scale
    form: Form
    predicted: Floats
    """One row per pair (zeros where there is no answer) or, of text distributions, per text."""
    given: str = ""
    """What was done to the predictions before they were scored, in words."""

    @cached_property
    def counts(self) -> Floats:
        """People's answers to each text."""
        k = len(self.codes)
        cells = np.bincount(self.item * k + self.gold, minlength=len(self.target) * k)
        return cells.reshape(-1, k).astype(np.float64)

    @cached_property
    def predicted_any(self) -> NDArray[np.bool_]:
        """Whether each row of predictions holds an answer."""
        return np.asarray(totals(self.predicted) > 0)

    @cached_property
    def of_texts(self) -> Floats:
        """The predicted distribution of each text; zeros where nothing was predicted."""
        if self.form == "text distributions":
            return self.predicted
        sums = [np.bincount(self.item, column, len(self.target)) for column in self.predicted.T]
        answered = np.bincount(self.item, self.predicted_any, len(self.target))
        return np.column_stack(sums) / np.maximum(answered, 1)[:, None]

    @cached_property
    def of_people(self) -> Floats:
        """The shares of people's answers to each text."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    def at_pairs(self, rows: Any) -> Any:
        """What belongs to the rows of predictions, for each pair."""
        return rows[self.item] if self.form == "text distributions" else rows

    def read_as(self, measure: str) -> str:
        """How the predictions were converted for a measure; empty where they were scored as they are."""
        return ", ".join(filter(None, (self.given, self._converted(measure))))

    def _converted(self, measure: str) -> str:
        wanted = EVALUATIONS[measure]
        if wanted == "soft":
            return "" if self.form == "text distributions" else "mean over users"
        everyone = " of the text, for everyone" if self.form == "text distributions" else ""
        if wanted == "proper":
            return f"distribution{everyone}" if everyone else ""
        if self.form == "labels":
            return ""
        return f"{'median' if measure == 'absolute_distance' else 'most probable'} answer{everyone}"

    def loss(self, measure: str, divisor: Divisor) -> Floats:
        """What a label (row) loses where the answer is another (column)."""
        if measure == "error_rate":
            return 1 - np.eye(len(self.codes))
        length = self.codes[-1] - self.codes[0]
        apart = np.abs(self.codes[:, None] - self.codes)
        return np.asarray(apart / (length + 1 if divisor == "points" else length))

    def values(self, measure: str, divisor: Divisor) -> tuple[Floats, Floats]:
        """The value of each text, and how much the answer of each pair moves it."""
        n = self.counts.sum(axis=1)
        if EVALUATIONS[measure] == "soft":
            value = distance(measure, self.target, self.of_texts)
            # A million pairs are held once, so that what is left without each of them is made in place.
            left, predicted = self.counts[self.item], self.of_texts[self.item]
            left[np.arange(len(left)), self.gold] -= 1
            left /= np.maximum(n[self.item, None] - 1, 1)
            if self.form != "text distributions":
                predicted *= n[self.item, None]
                predicted -= self.predicted
                np.maximum(predicted, 0.0, out=predicted)
                predicted /= np.maximum(totals(predicted), 1e-12)[:, None]
            without = distance(measure, left, predicted)
            effect = value[self.item] - without
        else:
            each = self._each(measure, divisor)
            value = np.bincount(self.item, each, len(n)) / n
            effect = (each - value[self.item]) / np.maximum(n[self.item] - 1, 1)
        alone = n[self.item] < 2
        effect[alone] = (value[self.item] - value.mean())[alone]
        return value, effect

    def _each(self, measure: str, divisor: Divisor) -> Floats:
        """What is lost for each pair."""
        if EVALUATIONS[measure] == "proper":
            return _proper(measure, self.at_pairs(self.predicted), self.gold)
        loss = self.loss(measure, divisor)
        answered = self.at_pairs(self.predicted_any)
        return np.where(answered, loss[self.choices(measure, divisor), self.gold], loss.max())

    def choices(self, measure: str, divisor: Divisor) -> Ints:
        """The answer that loses least for each pair if its distribution is true: a label is its own."""
        if self.form == "labels":
            return np.asarray(self.predicted.argmax(axis=1))
        return np.asarray(self.at_pairs((self.predicted @ self.loss(measure, divisor).T).argmin(axis=1)))

    def blind(self, measure: str, divisor: Divisor, shares: Floats) -> float:
        """The mean value if each text had this distribution of predictions, or all texts one, whoever answers."""
        if EVALUATIONS[measure] == "soft":
            return float(distance(measure, self.target, shares).mean())
        of_people = self.of_people if len(shares) > 1 else self.of_people.mean(axis=0, keepdims=True)
        if EVALUATIONS[measure] == "proper":
            lost = [_proper(measure, shares, np.full(len(shares), place)) for place in range(len(self.codes))]
            return float(np.vdot(np.column_stack(lost), of_people) / len(shares))
        return float(np.vdot(shares.T @ of_people, self.loss(measure, divisor)) / len(shares))

    @cached_property
    def no_skill(self) -> dict[str, Floats]:
        """What raters predict for any text who read none: how all people answer all texts is all they know.

        The median of answers and of cumulative shares loses least of all constant predictions, so that predictions that
        have nothing to do with the texts cannot be expected to do better.
        """
        k = len(self.codes)
        share = self.of_people.mean(axis=0)
        middle = np.median(self.target.cumsum(axis=1)[:, :-1], axis=0)
        known = {"modal answer": np.eye(k)[share.argmax()], "people's marginal distribution": share}
        if self.scale.ordered or k == 2:
            known["median answer"] = np.eye(k)[(share.cumsum() >= 0.5 - 1e-12).argmax()]
            known["median distribution"] = np.diff(middle, prepend=0.0, append=1.0)
        if k == 2:
            known["always yes"] = np.array([0.0, 1.0])
        return {name: one[None, :] for name, one in known.items()}

    @cached_property
    def _dealt(self) -> dict[int, list[Floats]]:
        """The predictions of texts dealt out anew, by seed: the same for all measures."""
        return {}

    def shuffled(self, measure: str, divisor: Divisor, seed: int) -> dict[str, float]:
        """The score of the same predictions when texts, or the users of a text, are dealt out anew."""
        if seed not in self._dealt:
            rng, times = np.random.default_rng(seed), SHUFFLES if len(self.target) < MANY else 1
            self._dealt[seed] = [self.of_texts[rng.permutation(len(self.target))] for _ in range(times)]
        lost = float(np.mean([self.blind(measure, divisor, one) for one in self._dealt[seed]]))
        if EVALUATIONS[measure] == "soft" or self.form == "text distributions":
            return {"shuffled_texts": lost}
        return {"shuffled_texts": lost, "shuffled_users": self.blind(measure, divisor, self.of_texts)}

    def ceiling(self, measure: str, divisor: Divisor) -> float | None:
        """What a rater loses who knows exactly how people at large answer each text, but not these people.

        An ordered scale is a row of thresholds, and a loss along it a sum over them. The share of people below a
        threshold differs between texts as a beta distribution does, fitted by moments. Null for other losses.
        """
        k = len(self.codes)
        summed = measure in ORDERED or (k == 2 and measure != "cross_entropy")
        n = self.counts.sum(axis=1)
        if not summed or (n < 2).all():
            return None
        sizes, times = np.unique(np.minimum(n, 200).astype(np.int64), return_counts=True)
        total = 0.0
        for threshold in range(k - 1):
            below = self.counts[:, : threshold + 1].sum(axis=1)
            share = _beta_grid(below, n)
            least = np.minimum(share, 1 - share)
            if EVALUATIONS[measure] == "soft":
                lost = float(np.average([_oracle_distance(share, int(size)) for size in sizes], weights=times))
                total += lost * (2 if measure == "manhattan" else 1)
            elif measure in ("error_rate", "absolute_distance"):
                total += float(least.mean()) * (self.loss(measure, divisor)[threshold, threshold + 1])
            elif measure == "log_score":
                total += float((-xlogy(share, share) - xlogy(1 - share, 1 - share)).mean())
            else:
                total += float((share * (1 - share)).mean()) * (2 if measure == "brier" else 1 / (k - 1))
        return total


def _beta_grid(below: Floats, n: Floats, points: int = 400) -> Floats:
    """Quantiles of the share of people below a threshold over texts, from counts of pairs of people."""
    mean = below.sum() / n.sum()
    if not 0 < mean < 1:
        return np.full(points, mean)
    together = (below * (below - 1)).sum() / max((n * (n - 1)).sum(), 1)
    weighted = (below * (n - 1)).sum() / max((n * (n - 1)).sum(), 1)
    alike = (together - weighted**2) / max(weighted * (1 - weighted), 1e-12)
    precision = 1 / min(max(alike, 1e-4), 1 - 1e-4) - 1
    share = betaincinv(mean * precision, (1 - mean) * precision, (np.arange(points) + 0.5) / points)
    return np.asarray(np.clip(share, LEAST, 1 - LEAST))


def _oracle_distance(share: Floats, n: int) -> float:
    """How far the share among n people lies from its own median, if each is below with this probability."""
    count = np.arange(n + 1)
    chance = binom.pmf(count, n, share[:, None])
    median = (chance.cumsum(axis=1) >= 0.5).argmax(axis=1)
    return float((chance * np.abs(count - median[:, None]) / n).sum(axis=1).mean())


def distance(measure: str, target: Floats, predicted: Floats) -> Floats:
    """The distance of two distributions, row by row; the largest possible where nothing was predicted.

    Predictions are scaled to the sum of the target along a scale, as the organisers' scorer does. The cross entropy is
    that of the second edition, with its bounds.

    >>> distance("wasserstein", np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.5, 0.5]])).tolist()
    [1.5]
    """
    total = totals(predicted)
    if measure == "manhattan":
        return np.asarray(np.where(total > 0, totals(np.abs(target - predicted)), 2.0))
    if measure == "cross_entropy":
        return np.asarray(-totals(target * np.log(np.clip(predicted, 1e-12, 1 - 1e-12) + 1e-9)))
    apart = predicted * (totals(target) / np.maximum(total, 1e-12))[:, None] - target
    return np.asarray(np.where(total > 0, totals(np.abs(_below(apart))), target.shape[1] - 1.0))


def totals(shares: Floats) -> Floats:
    """The sum of each row: for rows of a few numbers a product is several times as fast."""
    return np.asarray(shares @ np.ones(shares.shape[1]))


def _below(shares: Floats) -> Floats:
    """The cumulative distribution of each row, without the last one, which is all."""
    k = shares.shape[1]
    return np.asarray(shares @ np.triu(np.ones((k, k - 1))))


def _proper(measure: str, shares: Floats, gold: Ints) -> Floats:
    """What each distribution (row) loses where the answer has a place among the codes."""
    held = shares[np.arange(len(gold)), gold]
    if measure == "log_score":
        return np.asarray(-np.log(np.maximum(held, LEAST)))
    if measure == "brier":
        return np.asarray(np.einsum("ij,ij->i", shares, shares) - 2 * held + 1)
    k = shares.shape[1]
    apart = _below(shares) - np.triu(np.ones((k, k - 1)))[gold]
    return np.asarray(np.einsum("ij,ij->i", apart, apart) / (k - 1))


@dataclass(frozen=True)
class Measured:
    """A mean over texts with what texts and people add to its variance."""

    value: Floats
    """Of each text."""
    effect: Floats
    """Of each pair: by how much the value of its text moves without it."""
    item: Ints
    user: Ints

    @property
    def estimate(self) -> float:
        """The score."""
        return float(self.value.mean())

    @property
    def spread(self) -> Spread | None:
        """Over texts and people; null where there are fewer than two texts."""
        texts = len(self.value)
        if texts < 2:
            return None
        of_texts = Spread(float(self.value.var(ddof=1)) / texts, texts - 1, units=texts)
        moved = np.bincount(self.user, self.effect)
        people = int(self.user.max()) + 1
        if people < 3:
            return of_texts
        total, noise = (float(np.square(effect).sum()) / texts**2 for effect in (moved, self.effect))
        return of_texts.plus(Spread(total, people - 1, units=people, noise=noise))

    def in_skill(self, floor: float, ceiling: float) -> Measured:
        """As shares of the way from floor to ceiling."""
        return Measured((floor - self.value) / (floor - ceiling), self.effect / (floor - ceiling), self.item, self.user)

    def minus(self, other: Measured) -> Measured:
        """The difference of two systems, text by text and person by person."""
        return Measured(self.value - other.value, self.effect - other.effect, self.item, self.user)


def concluded(parts: Sequence[Measured], confidence: float = 0.95) -> dict[str, float | None]:
    """The mean of one or several scores with its interval, and the p value of the hypothesis that it is 0."""
    estimate = float(np.mean([part.estimate for part in parts]))
    known = [part.spread for part in parts]
    spreads = [spread for spread in known if spread is not None]
    if len(spreads) < len(known):
        return {"estimate": estimate, **dict.fromkeys(("low", "high", "p", "df"))}
    total = sum(spread.variance for spread in spreads) / len(parts) ** 2
    freedom = min(spread.freedom for spread in spreads)
    low, high = interval(estimate, Spread(total, freedom), confidence)
    reach = abs(estimate) / max(total, 1e-300) ** 0.5 if estimate else 0.0
    freedom = min(freedom, 1e9)
    return {"estimate": estimate, "low": low, "high": high, "p": float(2 * stdtr(freedom, -reach)), "df": freedom}
