"""What predictions of people's answers lose: scores of shared tasks, proper scores, floors, ceilings and skill.

A prediction is a label for each ⟨text, user⟩ pair, a distribution for each pair, or a distribution for each text. The
scores are those of Learning With Disagreements, third edition (Leonardelli et al. 2025): *perspectivist* ones compare a
label with what each annotator said, *soft* ones a text's distribution with that of its annotators. *Proper* ones
(Gneiting and Raftery 2007) compare a distribution with each annotator's answer. All are losses: lower is better.

Where one form is scored as another, the conversion is named in the result (`read_as`). A score is the mean over texts
of a value per text, so that its variance over texts and people is V_texts + V_people − V_answers (see
`rater_variance`), with the effect of leaving each annotator out of each text in closed form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.special import betaincinv, stdtr, xlogy
from scipy.stats import binom

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.measures.intervals import Spread, interval
from vantage.measures.multiplicity import adjusted
from vantage.measures.ratings import Floats, Ints
from vantage.perspective.splits import Split, people_pairs, the_question
from vantage.perspective.tally import paired
from vantage.scales import Scale, show_code

Form: TypeAlias = Literal["labels", "user distributions", "text distributions"]
Divisor: TypeAlias = Literal["points", "steps"]
Targets: TypeAlias = Literal["released", "counted"]
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
DECIMALS: Final = 0.005
"""By how much each share of a distribution may be off: those with two decimals are, and need not add up to 1."""
SHUFFLES: Final = 5
MANY: Final = 100_000
"""From so many texts on, one deal says enough about predictions for other texts."""
ALIKE: Final = 0.05
"""Systems whose difference has a larger p value share a place."""


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
    def of_texts(self) -> Floats:
        """The predicted distribution of each text; zeros where nothing was predicted."""
        if self.form == "text distributions":
            return self.predicted
        sums = [np.bincount(self.item, column, len(self.target)) for column in self.predicted.T]
        answered = np.bincount(self.item, self.predicted.any(axis=1), len(self.target))
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
            left = self.counts[self.item]
            left[np.arange(len(left)), self.gold] -= 1
            predicted = self.of_texts[self.item]
            if self.form != "text distributions":
                predicted = np.maximum(predicted * n[self.item, None] - self.predicted, 0.0)
                predicted /= np.maximum(predicted.sum(axis=1, keepdims=True), 1e-12)
            without = distance(measure, left / np.maximum(n[self.item, None] - 1, 1), predicted)
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
            lost = _proper(measure, self.predicted)
            return np.asarray(self.at_pairs(lost)[np.arange(len(self.gold)), self.gold])
        loss = self.loss(measure, divisor)
        answered = self.at_pairs(self.predicted.any(axis=1))
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
            return float(np.vdot(_proper(measure, shares), of_people) / len(shares))
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

    def shuffled(self, measure: str, divisor: Divisor, seed: int) -> dict[str, float]:
        """The score of the same predictions when texts, or the users of a text, are dealt out anew."""
        rng = np.random.default_rng(seed)
        texts = [
            self.of_texts[rng.permutation(len(self.target))] for _ in range(SHUFFLES if len(self.target) < MANY else 1)
        ]
        lost = float(np.mean([self.blind(measure, divisor, one) for one in texts]))
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
    unanswered = ~predicted.any(axis=1)
    if measure == "manhattan":
        return np.asarray(np.where(unanswered, 2.0, np.abs(target - predicted).sum(axis=1)))
    if measure == "cross_entropy":
        return np.asarray(-(target * np.log(np.clip(predicted, 1e-12, 1 - 1e-12) + 1e-9)).sum(axis=1))
    scaled = predicted * (target.sum(axis=1) / np.maximum(predicted.sum(axis=1), 1e-12))[:, None]
    area = np.abs(np.cumsum(target - scaled, axis=1))[:, :-1].sum(axis=1)
    return np.asarray(np.where(unanswered, target.shape[1] - 1.0, area))


def _proper(measure: str, shares: Floats) -> Floats:
    """What each distribution (row) loses if the answer is each of the codes (column)."""
    k = shares.shape[1]
    if measure == "log_score":
        return np.asarray(-np.log(np.maximum(shares, LEAST)))
    if measure == "brier":
        return np.asarray((shares**2).sum(axis=1, keepdims=True) - 2 * shares + 1)
    below = shares.cumsum(axis=1)[:, :-1]
    # (F − 1)² from the answer on and F² before it are F² less 2 F − 1 from the answer on.
    after = np.cumsum((2 * below - 1)[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(((below**2).sum(axis=1, keepdims=True) - np.pad(after, ((0, 0), (0, 1)))) / (k - 1))


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
        return of_texts.plus(Spread(total, people - 1, units=people), noise)

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
        return {"estimate": estimate, "low": None, "high": None, "p": None}
    total = sum(spread.variance for spread in spreads) / len(parts) ** 2
    freedom = min(spread.freedom for spread in spreads)
    low, high = interval(estimate, Spread(total, freedom), confidence)
    reach = abs(estimate) / max(total, 1e-300) ** 0.5 if estimate else 0.0
    return {"estimate": estimate, "low": low, "high": high, "p": float(2 * stdtr(min(freedom, 1e9), -reach))}


def answered(
    predictions: pl.DataFrame, gold: pl.DataFrame, corpus: Corpus, question: Question, targets: Targets = "counted"
) -> Answered:
    """Predictions beside people's answers; their form follows from their columns.

    `probabilities` has the shares of the codes in the order of the scale, those of opt-outs behind them, which are left
    out. Without `rater` they are those of a text.
    """
    scale = question.scale
    if scale.range is not None:
        raise InputError(f"question '{question.id}' has a continuous scale", remedy="use accuracy for mean errors")
    codes = np.array(sorted(scale.codes), dtype=np.float64)
    if "question" in predictions.columns:
        predictions = predictions.filter(pl.col("question") == question.id)
    form: Form = "labels"
    given = ""
    if "probabilities" in predictions.columns:
        form = "user distributions" if "rater" in predictions.columns else "text distributions"
        shares, declined = shares_of(predictions["probabilities"], question)
        given = "opt-outs left out" if declined else ""
    texts = gold["item"].unique(maintain_order=True)
    if form == "text distributions":
        order = texts.to_frame().join(
            predictions.select(pl.col("item").cast(pl.String)).with_row_index("row"), on="item", how="left"
        )
        missing = order.filter(pl.col("row").is_null())["item"]
        if len(missing) or len(order) != len(texts) or len(predictions) != len(texts):
            strange = predictions.filter(~pl.col("item").cast(pl.String).is_in(texts.implode()))["item"]
            example = [*missing.head(1), *strange.head(1), *order.filter(order["item"].is_duplicated())["item"].head(1)]
            raise InputError(
                f"{len(predictions)} distributions are given for {len(texts)} texts; see '{example[0]}'",
                remedy="give each text of the part one distribution",
            )
        pairs, predicted = gold.rename({"value": "gold"}), shares[order["row"].to_numpy()]
    elif form == "labels":
        pairs = paired(predictions, gold, corpus, question)
        place = np.searchsorted(codes, pairs["predicted"].fill_null(codes[0]).to_numpy())
        predicted = np.eye(len(codes))[place] * pairs["predicted"].is_not_null().to_numpy()[:, None]
    else:
        numbered = predictions.drop("value", strict=False).with_row_index("row")
        pairs = paired(numbered.with_columns(value=pl.lit(codes[0])), gold, corpus, question, also=["row"])
        predicted = shares[pairs["row"].to_numpy()]
    item, user = _numbered(pairs["item"], texts), _numbered(pairs["rater"], pairs["rater"].unique(maintain_order=True))
    place = np.searchsorted(codes, pairs["gold"].to_numpy())
    made = Answered(item, user, place, np.empty((len(texts), 0)), codes, scale, form, predicted)
    target = made.counts / made.counts.sum(axis=1, keepdims=True)
    if targets == "released":
        target = _released(corpus, question, texts, codes, target)
    return Answered(item, user, place, target, codes, scale, form, predicted, given)


def _numbered(names: pl.Series, known: pl.Series) -> Ints:
    """The place of each text or user among those that are known, in the order in which they come first."""
    runs = names.rle_id()
    if len(runs) and runs[-1] == len(known) - 1:
        return runs.cast(pl.Int64).to_numpy()
    index = known.to_frame().with_row_index("place")
    places = names.to_frame().join(index, on=names.name, how="left", maintain_order="left")["place"]
    return places.cast(pl.Int64).to_numpy()


def shares_of(given: pl.Series, question: Question) -> tuple[Floats, bool]:
    """Distributions as an array, codes ascending, and whether opt-outs were left out; a null one is no answer."""
    column, scale = given.cast(pl.List(pl.Float64)), question.scale
    k, longer = len(scale.codes), len(scale.codes) + len(scale.opt_outs)
    declined = bool(scale.opt_outs) and bool((column.list.len() == longer).any())
    wide = longer if declined else k
    lengths = column.list.len().fill_null(wide)
    fits = (lengths == wide).all()
    shares = column.fill_null([0.0] * wide).list.to_array(wide).to_numpy() if fits else np.full((1, 1), -1.0)
    total = shares.sum(axis=1)
    wrong = (lengths != wide).to_numpy() | ~np.isfinite(shares).all(axis=1) | (shares < -1e-9).any(axis=1)
    wrong |= (np.abs(total - 1) > DECIMALS * wide + 0.001) & (total != 0)
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"{column[row].to_list()} is no distribution over the {k} answers to '{question.id}'",
            row=row + 1,
            column="probabilities",
            remedy=f"give {k} shares of 0 or more that add up to 1",
        )
    if declined:
        shares = shares[:, :k] / np.maximum(shares[:, :k].sum(axis=1, keepdims=True), 1e-12)
    return np.asarray(shares[:, np.argsort(scale.codes)], dtype=np.float64), declined


def _released(corpus: Corpus, question: Question, texts: pl.Series, codes: Floats, counted: Floats) -> Floats:
    """The soft labels that were released with the items, where there are any; of two answers one will do."""
    items = texts.to_frame().join(corpus.items, on="item", how="left", maintain_order="left")
    names = [f"soft_label_{show_code(code)}" for code in codes]
    if all(name in items.columns for name in names):
        return items.select(names).to_numpy().astype(np.float64)
    yes = next((name for name in (names[-1], f"soft_label_{question.id}") if name in items.columns), None)
    if len(codes) != 2 or yes is None:
        return counted
    share = items[yes].to_numpy().astype(np.float64)
    return np.column_stack([1 - share, share])


def own_measures(scale: Scale) -> tuple[str, str]:
    """The soft and the perspectivist measure of a task: along the scale where three or more answers have an order."""
    far = scale.ordered and len(scale.codes) > 2
    return ("wasserstein", "absolute_distance") if far else ("manhattan", "error_rate")


def usual_measures(scale: Scale, form: Form) -> list[str]:
    """What predictions of a form are scored by unless something else is asked: the task's own and proper scores."""
    proper = ["log_score", "brier", *(["ranked_probability"] if scale.ordered and len(scale.codes) > 2 else [])]
    return [*own_measures(scale), *(proper if form != "labels" else [])]


@dataclass(frozen=True)
class TaskAnswers:
    """Predictions for one or several questions about the same texts, scored together: the mean over questions."""

    parts: Sequence[Answered]

    def measured(self, measure: str, divisor: Divisor) -> Measured:
        """The values of texts and the effects of people."""
        each = [part.values(measure, divisor) for part in self.parts]
        value, effect = (np.mean([one[n] for one in each], axis=0) for n in (0, 1))
        return Measured(value, effect, self.parts[0].item, self.parts[0].user)

    def floor(self, measure: str, divisor: Divisor) -> tuple[float, str]:
        """The least that a rater without skill loses, and which one it is."""
        names = self.parts[0].no_skill
        lost = {n: np.mean([part.blind(measure, divisor, part.no_skill[n]) for part in self.parts]) for n in names}
        best = min(lost, key=lambda name: lost[name])
        return float(lost[best]), best

    def ceiling(self, measure: str, divisor: Divisor) -> float | None:
        """The least that a rater loses who knows each text's distribution."""
        known = [part.ceiling(measure, divisor) for part in self.parts]
        return None if None in known else float(np.mean([one for one in known if one is not None]))

    def row(self, measure: str, *, divisor: Divisor, confidence: float, seed: int) -> dict[str, Any]:
        """One score with everything that says what it is worth."""
        first, measured = self.parts[0], self.measured(measure, divisor)
        (floor, floor_rater), ceiling = self.floor(measure, divisor), self.ceiling(measure, divisor)
        ends = concluded([measured], confidence)
        low, high = ends["low"], ends["high"]
        row: dict[str, Any] = {"evaluation": EVALUATIONS[measure], "measure": measure, "score": measured.estimate}
        row |= {"low": None if low is None else max(low, 0.0), "high": high}
        row |= {"floor": floor, "floor_rater": floor_rater, "ceiling": ceiling}
        row |= skill_of(measured.estimate, low, high, floor, ceiling)
        again = [part.shuffled(measure, divisor, seed) for part in self.parts]
        row |= dict.fromkeys(SHUFFLED)
        row |= {name: float(np.mean([one[name] for one in again])) for name in again[0]}
        unread = sum(int((~part.predicted.any(axis=1)).sum()) for part in self.parts)
        row |= {"form": first.form, "read_as": first.read_as(measure), "items": len(first.target)}
        users = int(first.user.max()) + 1
        return {**row, "users": users, "annotations": len(first.gold), "unanswered": unread}


def skill_of(
    score: float, low: float | None, high: float | None, floor: float, ceiling: float | None
) -> dict[str, float | None]:
    """The share of the way from floor to ceiling; null where the ceiling is unknown or no better than the floor."""
    if ceiling is None or floor - ceiling <= 1e-9:
        return {"skill": None, "skill_low": None, "skill_high": None}
    skill, upper, lower = (None if x is None else (floor - x) / (floor - ceiling) for x in (score, low, high))
    return {"skill": skill, "skill_low": lower, "skill_high": upper}


NUMBERS: Final = ("score", "low", "high", "floor", "ceiling", "skill", "skill_low", "skill_high")
SHUFFLED: Final = ("shuffled_texts", "shuffled_users")


def shared_task(
    predictions: pl.DataFrame,
    people: Split | Corpus,
    *,
    question: str | Sequence[str] | None = None,
    measures: Sequence[str] | None = None,
    divisor: Divisor = "points",
    targets: Targets = "released",
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Scores of predictions for the annotators of a corpus or of the test part of a split; lower is better.

    * `error_rate`: the share of a text's annotators whose label was missed, averaged over texts;
    * `absolute_distance`: |predicted − given| over the number of points of the scale, averaged in the same way;
    * `manhattan`: Σ |p − q| between the two distributions of a text; `wasserstein`: the area between their cumulative
      distributions, in steps; `cross_entropy`: that of the second edition;
    * `log_score`, `brier`, `ranked_probability`: proper scores of distributions.

    A pair without a readable prediction loses as much as can be, and its text's predicted distribution is that of the
    others. `floor` is what the best of some raters loses who read no text (`floor_rater`), `ceiling` what one loses who
    knows exactly how people at large answer each text but not these people; `skill` is the share of the way between.
    `shuffled_texts` and `shuffled_users` are the scores of the same predictions for other texts and for other users of
    the text. Intervals are for other texts and people.

    Args:
        predictions: `item`, `rater` and `value`; `item`, `rater` and `probabilities`; or `item` and `probabilities`.
            Several questions have a further column `question`.
        people: The split whose test part was predicted, or a corpus.
        question: Which question of a corpus, or several that are scored together.
        measures: Which scores; those of the task and, for distributions, proper ones, unless given.
        divisor: Of the absolute distance: `points`, as the organisers' scorer has it, or `steps`, one less.
        targets: Soft labels as they were `released` with the items, often rounded, or `counted`.
        confidence: Of the intervals.
        seed: Of what is shuffled.
    """
    corpus = people.corpus if isinstance(people, Split) else people
    asked = [people.question] if isinstance(people, Split) else _asked(corpus, question)
    parts = []
    for name in asked:
        whole = people.test if isinstance(people, Split) else people_pairs(corpus, name)
        gold = whole.select("item", "rater", "value")
        parts.append(answered(predictions, gold, corpus, corpus.question(name), targets))
    return score_rows(TaskAnswers(parts), measures, divisor=divisor, confidence=confidence, seed=seed)


def score_rows(
    scored: TaskAnswers, measures: Sequence[str] | None = None, *, divisor: Divisor, confidence: float, seed: int
) -> pl.DataFrame:
    """The scores of predictions, one row per measure."""
    first = scored.parts[0]
    for name in measures or ():
        if name not in EVALUATIONS:
            raise InputError(f"there is no score '{name}'", remedy=nearest(name, list(EVALUATIONS)))
        if name in ORDERED and not (first.scale.ordered or len(first.codes) == 2):
            raise InputError(f"'{name}' needs an ordered scale", remedy="use error_rate, manhattan or brier")
    wanted = measures or usual_measures(first.scale, first.form)
    rows = [scored.row(name, divisor=divisor, confidence=confidence, seed=seed) for name in wanted]
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys((*NUMBERS, *SHUFFLED), pl.Float64))


def _asked(corpus: Corpus, question: str | Sequence[str] | None) -> list[str]:
    if question is None or isinstance(question, str):
        return [the_question(corpus, question)]
    return [corpus.question(name).id for name in question]


def calibration(
    predictions: pl.DataFrame, people: Split | Corpus, *, question: str | None = None, bins: int = 10
) -> pl.DataFrame:
    """How often people give an answer that was predicted for them with a probability, in bins of equal width.

    One row per answer and bin: the mean `predicted` probability, the share `observed`, and how many pairs it rests on.
    """
    corpus = people.corpus if isinstance(people, Split) else people
    name = people.question if isinstance(people, Split) else the_question(corpus, question)
    gold = (people.test if isinstance(people, Split) else people_pairs(corpus, name)).select("item", "rater", "value")
    part = answered(predictions, gold, corpus, corpus.question(name))
    if part.form == "labels":
        raise InputError("labels have no probabilities to be calibrated", remedy="give a column probabilities")
    shares, rows = part.at_pairs(part.predicted), []
    for place, code in enumerate(part.codes):
        frame = pl.DataFrame({"predicted": shares[:, place], "observed": part.gold == place})
        frame = frame.with_columns(bin=(pl.col("predicted") * bins).floor().clip(0, bins - 1).cast(pl.Int64))
        table = frame.group_by("bin").agg(pl.col("predicted", "observed").mean(), pl.len().alias("annotations"))
        rows.append(table.sort("bin").select(pl.lit(part.scale.label(float(code))).alias("answer"), pl.all()))
    return pl.concat(rows)


Systems: TypeAlias = Mapping[str, Mapping[str, TaskAnswers]]
"""What each system predicted for each task."""


def _skills(systems: Systems, evaluation: str, divisor: Divisor) -> dict[str, dict[str, Measured]]:
    """Each system's skill in each task that all of them predicted and whose ceiling is known."""
    first = next(iter(systems.values()))
    skills: dict[str, dict[str, Measured]] = {name: {} for name in systems}
    for task in [task for task in first if all(task in one for one in systems.values())]:
        measure = own_measures(first[task].parts[0].scale)[evaluation == "perspectivist"]
        floor, ceiling = first[task].floor(measure, divisor)[0], first[task].ceiling(measure, divisor)
        if ceiling is not None and floor - ceiling > LEAST:
            for name, one in systems.items():
                skills[name][task] = one[task].measured(measure, divisor).in_skill(floor, ceiling)
    return skills


def leaderboard(systems: Systems, evaluation: str, divisor: Divisor = "points") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Systems by skill, for each task that all of them predicted and over these together; and each pair of systems.

    `place` is one more than the number of systems that are shown to be better: differences on the same texts and
    people, corrected after Holm (1979), so that systems that cannot be told apart share a place. A system that is not
    shown to be better than a rater that reads no text has none. Floors and ceilings are the same for all.
    """
    skills = _skills(systems, evaluation, divisor)
    rows: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    common = list(next(iter(skills.values())))
    for task, used in [*((task, [task]) for task in common), *([("all", common)] if common[1:] else [])]:
        key = {"evaluation": evaluation, "task": task}
        reached = {name: concluded([one[t] for t in used]) for name, one in skills.items()}
        names = sorted(reached, key=lambda name: -(reached[name]["estimate"] or 0.0))
        able = [n for n in names if (reached[n]["estimate"] or 0.0) > 0 and (reached[n]["p"] or 0.0) < ALIKE]
        pairs = list(combinations(names, 2))
        apart = [concluded([skills[a][t].minus(skills[b][t]) for t in used]) for a, b in pairs]
        better = set()
        for (one, two), row, p in zip(pairs, apart, adjusted([row["p"] for row in apart], "holm"), strict=True):
            ends = {"difference": row["estimate"], "low": row["low"], "high": row["high"], "p": row["p"], "p_holm": p}
            differences.append({**key, "first": one, "second": two, **ends})
            better |= {(one, two)} if p is not None and p < ALIKE else set()
        for name in sorted(names, key=lambda name: name not in able):
            place = 1 + sum((other, name) in better for other in able) if name in able else None
            ends = {"skill": reached[name]["estimate"], **{end: reached[name][end] for end in ("low", "high", "p")}}
            reason = None if name in able else "not shown to be better than a rater that reads no text"
            rows.append({**key, "place": place, "system": name, **ends, "reason": reason})
    text, number = pl.String(), pl.Float64()
    ends_of = {"low": number, "high": number, "p": number}
    key_of = {"evaluation": text, "task": text}
    board = {**key_of, "place": pl.Int64(), "system": text, "skill": number, **ends_of, "reason": text}
    pairs_of = {**key_of, "first": text, "second": text, "difference": number, **ends_of, "p_holm": number}
    return pl.DataFrame(rows, schema=board), pl.DataFrame(differences, schema=pairs_of)
