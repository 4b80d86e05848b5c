"""The trained rater: judges items, has a row in the raters table, is saved to a folder and loaded from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import JUDGMENTS
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question
from vantage.instruments.needs import check_items
from vantage.raters.item_words import fingerprint
from vantage.raters.trained.base import Floats, PredictedAnswers, decide, mixture
from vantage.raters.trained.instances import Instances, fields_of, reading
from vantage.raters.trained.saved import Predictor, SavedPredictor, described, save_rater
from vantage.scales import Scale

FILE: Final = "rater.json"
KEYS: Final = ("instrument", "questions", "parts", "rater", "by_mean", "about")
DISTRIBUTIONS: Final = ("encoder", "probe")
"""The kinds that learn individual judgments where nothing else is said."""
SCHEMA: Final[dict[str, Any]] = {
    **JUDGMENTS,
    "probabilities": pl.List(pl.Float64),
    "expected": pl.Float64,
    "uncertainty": pl.Float64,
}


@dataclass(frozen=True, slots=True)
class Weighted:
    """One part of a rater: how much it counts, of what kind it is, and what it learned."""

    weight: float
    kind: str
    predictor: Predictor


@dataclass
class TrainedRater:
    """A rater that learned from people; made by `fit` or `TrainedRater.load`.

    >>> import vantage
    >>> from vantage.raters.trained import fit
    >>> rater = fit(vantage.demo_corpus(), ["trust"], kind="median")
    >>> judged = rater.judge(vantage.demo_corpus().filter(item=["s01", "s02"]))
    >>> judged.select("item", "question", "rater", "value").rows()
    [('s01', 'trust', 'median', 0.0), ('s02', 'trust', 'median', 0.0)]
    """

    id: str
    instrument: Instrument
    questions: tuple[Question, ...]
    parts: tuple[Weighted, ...]
    by_mean: bool
    """Whether its answer is the option nearest to the expected value, rather than the most probable one."""
    about: dict[str, Any] = field(default_factory=dict)
    """What it learned from and how."""

    @property
    def notes(self) -> list[str]:
        """What must be told about it."""
        return list(dict.fromkeys(note for part in self.parts for note in part.predictor.notes))

    def row(self) -> dict[str, Any]:
        """Its row in the raters table."""
        row = {"rater": self.id, "kind": "trained", "model": self.about.get("model", self.id)}
        return {**row, "style": self.about.get("style", ""), "settings": f"learned={self.about.get('learned')}"}

    def predict(self, items: Corpus | pl.DataFrame) -> dict[str, PredictedAnswers]:
        """Per question the predicted distribution of people's answers."""
        table = items.items if isinstance(items, Corpus) else items
        texts = reading(table, fields_of([self.instrument], [question.id for question in self.questions]))
        predictions = [(part.weight, part.predictor.predict(Instances.of_texts(texts))) for part in self.parts]
        return {q.id: mixture([(weight, one[q.id]) for weight, one in predictions]) for q in self.questions}

    def judge(
        self, items: Corpus | pl.DataFrame, questions: Sequence[str] = (), *, condition: str = ""
    ) -> pl.DataFrame:
        """Judgments like anyone's, with what stands behind them.

        `probabilities` are the shares of the options, `expected` the mean, and `uncertainty` how far the predicted
        answers are spread: their standard deviation on the scale, or for a nominal scale their entropy as a share
        of the largest possible one.
        """
        table = items.items if isinstance(items, Corpus) else items
        known = [question.id for question in self.questions]
        for id_ in questions:
            if id_ not in known:
                raise InputError(f"rater '{self.id}' did not learn question '{id_}'", remedy=nearest(id_, known))
        if table.is_empty():
            return pl.DataFrame(schema=SCHEMA)
        check_items(self.instrument, table, list(questions) or known, condition)
        predicted = self.predict(table)
        frames = [
            judgments(
                table["item"], [self.id] * len(table), q, predicted[q.id], by_mean=self.by_mean, condition=condition
            )
            for q in self.questions
            if not questions or q.id in questions
        ]
        return pl.concat(frames)

    @property
    def predicts_people(self) -> bool:
        """Whether it predicts what single people answer; otherwise the mean (or label) that they give together."""
        return self.about.get("target") == "individual" and all(part.kind in DISTRIBUTIONS for part in self.parts)

    def table(self, items: Corpus | pl.DataFrame, share: float = 0.8) -> pl.DataFrame:
        """One row per item, as it was given, and per question the answer, the predicted mean and a range around it.

        `low` and `high` hold the middle `share` of what single people answer (at least, since the points of a scale
        cannot be divided), or, from a rater that learned means, of where the mean of people's answers may lie; see
        `predicts_people`. Of a nominal question, `probability` is that of the answer.

        >>> import vantage
        >>> from vantage.raters.trained import fit
        >>> rater = fit(vantage.demo_corpus(), ["trust"], kind="mean")
        >>> made = rater.table(vantage.demo_corpus().filter(item=["s01"]))
        >>> made.columns[3:], [round(number, 1) for number in made.row(0)[3:]]
        (['trust', 'trust_mean', 'trust_low', 'trust_high'], [0.0, 0.2, -1.7, 2.1])
        """
        check_share(share)
        table = items.items if isinstance(items, Corpus) else items
        predicted, judged = self.predict(table), self.judge(table)
        columns: dict[str, pl.Series | Floats] = {}
        for question in self.questions:
            own, answers = judged.filter(question=question.id), predicted[question.id]
            columns[question.id] = own["value"]
            if answers.mean is None:
                assert answers.shares is not None  # noqa: S101 - without a mean there are shares
                columns[f"{question.id}_probability"] = answers.shares.max(axis=1)
                continue
            low, high = answers.middle(share, question.scale, single=self.predicts_people)
            columns |= {f"{question.id}_mean": answers.mean, f"{question.id}_low": low, f"{question.id}_high": high}
        return table.with_columns(**columns)

    def blended(self, other: TrainedRater, share: float, name: str = "") -> TrainedRater:
        """One rater out of two that learned the same questions: this one, and the other for a share of the answer.

        >>> import vantage
        >>> from vantage.raters.trained import fit
        >>> low, high = (fit(vantage.demo_corpus(), ["trust"], kind=kind) for kind in ("median", "majority"))
        >>> low.blended(high, 0.25).id, [part.weight for part in low.blended(high, 0.25).parts]
        ('median+majority', [0.75, 0.25])
        """
        check_share(share)
        mine, others = ([question.id for question in rater.questions] for rater in (self, other))
        if mine != others:
            raise InputError(
                f"'{self.id}' learned {', '.join(mine)} and '{other.id}' {', '.join(others)}",
                remedy="blend raters of the same questions",
            )
        parts = [(1 - share, part) for part in self.parts] + [(share, part) for part in other.parts]
        weighted = tuple(Weighted(weight * part.weight, part.kind, part.predictor) for weight, part in parts)
        model = "+".join(str(rater.about.get("model", rater.id)) for rater in (self, other))
        about = {**self.about, "model": model, "blended": {"share": share, "about": other.about}}
        return TrainedRater(
            name or f"{self.id}+{other.id}", self.instrument, self.questions, weighted, self.by_mean, about
        )

    def rate(self, corpus: Corpus, items: Corpus | pl.DataFrame | None = None, *, condition: str = "") -> Corpus:
        """The corpus with this rater's judgments of all its items, or of some; what it has judged stays."""
        chosen = corpus if items is None else items
        judged, corpus = self.judge(chosen, condition=condition), self.without_namesake(corpus)
        keys = ["item", "question", "rater", "condition", "sample"]
        judged = judged.join(corpus.judgments.select(keys), on=keys, how="anti", maintain_order="left")
        known = self.id in set(corpus.raters["rater"])
        return corpus.add(judged, None if known else pl.DataFrame([self.row()]), [self.instrument])

    def seen(self, items: Corpus | pl.DataFrame) -> int:
        """How many of the items have a text that it learned from, of which it knows more than of new ones."""
        table, known = items.items if isinstance(items, Corpus) else items, set(self.about.get("texts", ()))
        texts = reading(table, fields_of([self.instrument], [question.id for question in self.questions]))
        return sum(fingerprint(text) in known for text in texts.first)

    def without_namesake(self, corpus: Corpus) -> Corpus:
        """The corpus without the judgments of a rater of the same name that had learned otherwise."""
        if "settings" not in corpus.raters.columns:
            return corpus
        alike = pl.col("settings").is_null() | (pl.col("settings") == self.row()["settings"])
        return corpus.filter((pl.col("rater") != self.id) | alike)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Writes the rater into a folder: JSON, arrays and safetensors, nothing that runs code when it is read."""

        def describe(empty: Path) -> dict[str, Any]:
            return {
                "rater": self.id,
                "instrument": self.instrument.document,
                "questions": [question.id for question in self.questions],
                "by_mean": self.by_mean,
                "about": self.about,
                "parts": [
                    {"weight": p.weight, "kind": p.kind, "data": p.predictor.save(empty, f"part-{n}")}
                    for n, p in enumerate(self.parts, 1)
                ],
            }

        return save_rater(folder, FILE, describe, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> TrainedRater:
        """Reads a rater from its folder."""
        folder = Path(folder)
        stored = described(folder, FILE, "trained rater", KEYS, "make one with: vantage train")
        instrument = Instrument.from_document(stored["instrument"], file=FILE)
        questions = tuple(instrument.question(id_) for id_ in stored["questions"])
        parts = tuple(
            Weighted(p["weight"], p["kind"], SavedPredictor(folder, f"part-{n}", p["data"], questions).load(p["kind"]))
            for n, p in enumerate(stored["parts"], 1)
        )
        return cls(stored["rater"], instrument, questions, parts, stored["by_mean"], stored["about"])


def judgments(
    items: Sequence[str] | pl.Series,
    raters: Sequence[str],
    question: Question,
    predicted: PredictedAnswers,
    *,
    by_mean: bool,
    condition: str = "",
) -> pl.DataFrame:
    """Predictions as rows of the judgments table, with what is behind them."""
    count = len(items)
    return pl.DataFrame(
        {
            "item": items,
            "question": [question.id] * count,
            "rater": raters,
            "condition": [condition] * count,
            "sample": [0] * count,
            "value": decide(predicted, question.scale, by_mean=by_mean),
            "status": ["answered"] * count,
            "rationale": [None] * count,
            "probabilities": None if predicted.shares is None else predicted.shares.tolist(),
            "expected": predicted.mean,
            "uncertainty": uncertainty(predicted, question.scale),
        },
        schema=SCHEMA,
    )


def check_share(share: float) -> None:
    """Refuses a share of a blend that leaves nothing to one of the two."""
    if not 0 < share < 1:
        raise InputError(f"share is {share}", remedy="give what the second rater counts, between 0 and 1")


def uncertainty(predicted: PredictedAnswers, scale: Scale) -> Floats:
    """How far the predicted answers are spread.

    >>> even = PredictedAnswers.of_shares(np.array([[0.5, 0.5], [1.0, 0.0]]), Scale.labels("no", "yes"))
    >>> uncertainty(even, Scale.labels("no", "yes")).tolist()
    [1.0, 0.0]
    """
    if predicted.spread is not None:
        return predicted.spread
    assert predicted.shares is not None  # noqa: S101 - a nominal scale has options
    shares = predicted.shares
    logs = np.log(np.where(shares > 0, shares, 1.0))
    entropy: Floats = np.abs((shares * logs).sum(axis=1)) / np.log(len(scale.codes))
    return entropy
