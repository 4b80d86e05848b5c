"""Texts that a rater did not learn from: what people said of them and what it says, kept with every rater.

They say what the parts of a stack should count, and how wide ranges must be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from vantage.errors import InputError
from vantage.instruments import Question
from vantage.raters.item_words import fingerprint
from vantage.raters.trained.base import Floats, ItemTexts, PredictedAnswers, mixture
from vantage.raters.trained.examples import Labels, Rows

FILE: Final = "held-out.npz"


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Texts by their fingerprints, what people said of them, and what a rater says that did not learn from them."""

    texts: NDArray[np.str_]
    labels: tuple[Labels, ...]
    said: Mapping[str, PredictedAnswers]

    @classmethod
    def of(
        cls,
        rows: Sequence[Rows],
        texts: ItemTexts,
        labels: Sequence[Labels],
        said: Mapping[str, Sequence[PredictedAnswers]],
    ) -> HeldOut:
        """From rows that were held out in turn, with all texts and their labels."""
        every = np.concatenate(rows)
        marks = np.array([fingerprint(text) for text in texts.take(every).joined()])
        answers = {id_: PredictedAnswers.joined(parts) for id_, parts in said.items()}
        return cls(marks, tuple(one.take(every) for one in labels), answers)

    def take(self, texts: NDArray[np.str_]) -> HeldOut:
        """Some of the texts."""
        place = {text: n for n, text in enumerate(self.texts.tolist())}
        rows = np.array([place[text] for text in texts.tolist()], dtype=np.intp)
        said = {id_: one.take(rows) for id_, one in self.said.items()}
        return HeldOut(texts, tuple(one.take(rows) for one in self.labels), said)

    @staticmethod
    def stacked(several: Sequence[HeldOut], weights: Sequence[float] = ()) -> tuple[list[float], HeldOut]:
        """What each of several raters should count, and what they say together of texts that none learned from.

        Without weights they are those with the least squared error on these texts (stacking, Wolpert 1992), in units of
        each question's variance, none below 0 (Breiman 1996).
        """
        shared = set.intersection(*(set(one.texts.tolist()) for one in several))
        if not shared:
            raise InputError("the raters held out different texts", remedy="say what each counts, such as weights=3+1")
        parts = [one.take(np.array(sorted(shared))) for one in several]
        if not weights:
            errors = np.vstack(
                [_errors(one, [part.said[one.question.id] for part in parts]) for one in parts[0].labels]
            )
            upper = np.linalg.qr(errors, mode="r")
            # A row that is heavy enough makes the weights add up to 1.
            heavy = 1e4 * max(float(np.abs(upper).max()), 1e-9)
            system = np.vstack([upper, np.full(len(parts), heavy)])
            weights = nnls(system, np.append(np.zeros(len(upper)), heavy))[0].tolist()
        shares = (np.asarray(weights) / np.sum(weights)).tolist()
        said = {
            id_: mixture([(w, one.said[id_]) for w, one in zip(shares, parts, strict=True)]) for id_ in parts[0].said
        }
        return shares, replace(parts[0], said=said)

    def ranges(self, *, single: bool) -> dict[str, list[float]]:
        """Per question, for each percentage of answers, the middle share of a prediction that holds so many of them.

        That is conformal prediction (Lei et al. 2018): ranges of new texts of the same kind hold what they say,
        whatever predictions are worth, and are as wide as the prediction for each text makes them.
        """
        ranges = {}
        for one in self.labels:
            there, said = np.flatnonzero(one.answered), self.said[one.question.id]
            if said.mean is None or not len(there):
                continue
            needed = said.take(there).needed(one.score[there], one.question.scale, single=single)
            weight = one.shares[there] if needed.ndim == 2 else np.ones(len(there))
            order = np.argsort(needed, axis=None)
            reached = np.cumsum(weight.ravel()[order]) / (weight.sum() * (1 + 1 / len(there)))
            place = np.searchsorted(reached, np.arange(101) / 100 - 1e-12)
            ends = np.append(needed.ravel()[order] + 1e-9, 1.0)[place]
            ranges[one.question.id] = np.minimum(ends, 1.0).tolist()
        return ranges

    def save(self, folder: Path) -> None:
        """Writes everything as arrays."""
        arrays: dict[str, Floats | NDArray[np.str_]] = {"texts": self.texts}
        for n, one in enumerate(self.labels):
            said = self.said[one.question.id]
            numbers = {"shares": one.shares, "score": one.score}
            numbers |= {f"said-{name}": getattr(said, name) for name in ("shares", "mean", "spread")}
            arrays |= {f"{name}-{n}": array for name, array in numbers.items() if array is not None}
        np.savez_compressed(folder / FILE, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, folder: Path, questions: Sequence[Question]) -> HeldOut | None:
        """Reads what `save` wrote; null where nothing was held out."""
        if not (folder / FILE).is_file():
            return None
        with np.load(folder / FILE, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        labels = tuple(Labels(q, arrays[f"shares-{n}"], arrays[f"score-{n}"]) for n, q in enumerate(questions))
        names = ("said-shares", "said-mean", "said-spread")
        said = {q.id: PredictedAnswers(*(arrays.get(f"{name}-{n}") for name in names)) for n, q in enumerate(questions)}
        return cls(arrays["texts"], labels, said)


def _errors(labels: Labels, said: Sequence[PredictedAnswers]) -> Floats:
    """What is wrong with each of several predictions, side by side, in units of the spread of what people said."""
    shares = said[0].mean is None
    truth = (labels.shares if shares else labels.score)[labels.answered]
    scale = max(float(np.var(truth)), 1e-9) ** 0.5
    every = [one.shares if shares else one.mean for one in said]
    return np.column_stack([(truth - one[labels.answered]).ravel() / scale for one in every if one is not None])
