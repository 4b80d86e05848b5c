"""Predictions read and scored: scores of shared tasks and proper scores with floors, ceilings and skill.

Where one form of predictions is scored as another, the conversion is named in the result (`read_as`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.measures.ratings import Floats, Ints
from vantage.perspective.losses import (
    EVALUATIONS,
    ORDERED,
    Answered,
    Divisor,
    Form,
    Measured,
    concluded,
    totals,
)
from vantage.perspective.splits import Split, tested
from vantage.perspective.tally import paired
from vantage.scales import Scale, show_code

Targets: TypeAlias = Literal["released", "counted"]
DECIMALS: Final = 0.005
"""By how much each share of a distribution may be off: those with two decimals are, and need not add up to 1."""


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
    total = totals(shares)
    wrong = (lengths != wide).to_numpy() | ~np.isfinite(total) | (shares.min(axis=1) < -1e-9)
    wrong |= (np.abs(total - 1) > DECIMALS * wide + 0.001) & (total != 0)
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"{column[row].to_list()} is not a distribution over the {k} answers to '{question.id}'",
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
        unread = sum(int((~part.predicted_any).sum()) for part in self.parts)
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

    `predictions` has `item`, `rater` and `value`; `item`, `rater` and `probabilities`; or `item` and `probabilities`;
    several questions have a further column `question` and are scored together. `measures` are, by default those of the
    task and proper ones for distributions: `error_rate`, `absolute_distance` (over the number of points of the scale,
    or of `steps`, as `divisor` says), `manhattan`, `wasserstein`, `cross_entropy`, `log_score`, `brier` and
    `ranked_probability` (docs/perspective.md). Soft labels are as they were `released` with the items, often rounded,
    or `counted`.

    A pair without a readable prediction loses as much as can be. `floor` is what the best of some raters loses who read
    no text (`floor_rater`), `ceiling` what one loses who knows exactly how people at large answer each text but not
    these people; `skill` is the share of the way between. `shuffled_texts` and `shuffled_users` are the scores of the
    same predictions for other texts and for other users of the text. Intervals are for other texts and people.
    """
    parts = []
    for one in [question] if question is None or isinstance(question, str) else question:
        corpus, asked, gold = tested(people, one)
        parts.append(answered(predictions, gold, corpus, asked, targets))
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
