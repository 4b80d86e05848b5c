"""The trained rater: judges texts, or what each user says of them, and is saved to a folder and loaded from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.special import entr

from vantage.corpora import Corpus
from vantage.corpora.item_fields import check_items
from vantage.corpora.schema import JUDGMENTS
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question
from vantage.perspective import Split
from vantage.raters.item_words import fingerprint, unlike
from vantage.raters.models.base import note_once
from vantage.raters.trained.base import Floats, ItemTexts, PredictedAnswers, decide, mixture
from vantage.raters.trained.examples import Instances, fields_of, reading
from vantage.raters.trained.held_out import HeldOut
from vantage.raters.trained.people import People, moved
from vantage.raters.trained.saved import FILE, Predictor, SavedPredictor, described, save_rater
from vantage.scales import Scale

DISTRIBUTIONS: Final = ("encoder", "probe", "vectors")
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

    One that learned from a split judges what each user says of a text, any other what people say of it.

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
    offsets: dict[str, list[float]] = field(default_factory=dict)
    """Per user met at test time how far each option's logit is moved."""
    split: Split | None = None
    """Whose test pairs a rater of pairs judges unless told otherwise."""
    warnings: list[str] = field(default_factory=list)
    held: HeldOut | None = None
    """What it says of texts that it did not learn from; null for baselines and raters of pairs."""

    def __post_init__(self) -> None:
        if self.held is not None:
            self.about["ranges"] = self.held.ranges(single=self.predicts_people)

    @property
    def people(self) -> People | None:
        """Whom a rater of pairs learned from and how it represents users; null where texts are judged."""
        return self.parts[0].predictor.people

    @property
    def notes(self) -> list[str]:
        """What its users should know: options it never saw, strangers it judged for, texts that were cut."""
        return list(dict.fromkeys([*self.warnings, *(note for part in self.parts for note in part.predictor.notes)]))

    def row(self) -> dict[str, Any]:
        """Its row in the raters table."""
        row = {"rater": self.id, "kind": "trained", "model": self.about.get("model", self.id)}
        return {**row, "style": self.about.get("style", ""), "settings": f"learned={self.about.get('learned')}"}

    def rows(self, users: Iterable[str]) -> pl.DataFrame:
        """Rows for a raters table in which the rater stands for each of some users, as `perspective.stood_for` reads.

        The judgments that belong to them are those of `judge`, with `rater` replaced by `as_rater`.
        """
        row = self.row()
        return pl.DataFrame(
            [{**row, "rater": self.as_rater(user), "stands_for": user} for user in dict.fromkeys(users)]
        )

    def as_rater(self, user: str) -> str:
        """The id under which the rater stands for a user."""
        return f"{self.id}/@{user}"

    def predict(self, instances: Instances) -> dict[str, PredictedAnswers]:
        """Per question the predicted distribution of people's answers to each text, or of the user's to each pair."""
        predictions = [(part.weight, part.predictor.predict(instances)) for part in self.parts]
        answers = {q.id: mixture([(weight, one[q.id]) for weight, one in predictions]) for q in self.questions}
        for question in self.questions if self.people is not None else ():
            shares = answers[question.id].shares
            assert shares is not None  # noqa: S101 - labels have shares
            shares = moved(shares, instances.users, self.offsets)
            answers[question.id] = PredictedAnswers.of_shares(shares, question.scale)
        return answers

    def judge(
        self,
        items: Corpus | pl.DataFrame | Split | None = None,
        questions: Sequence[str] = (),
        *,
        condition: str = "",
        corpus: Corpus | None = None,
    ) -> pl.DataFrame:
        """Judgments like anyone's, with what stands behind them.

        `probabilities` are the shares of the options, `expected` the mean, and `uncertainty` how far the predicted
        answers are spread: their standard deviation on the scale, or for a nominal scale their entropy as a share
        of the largest possible one. Of a rater of pairs, `rater` is the user, as `perspective.evaluate` wants it.

        Args:
            items: A corpus or a table of items. For a rater of pairs rows of `item` and `rater`, or a split, of which
                the test pairs are judged; by default those of the split that it learned from.
            questions: Some of the questions that it learned; all where none is named.
            condition: The condition under which the judgments stand.
            corpus: Where texts and traits of pairs stand; by default the corpus of the split.
        """
        known = [question.id for question in self.questions]
        for id_ in questions:
            if id_ not in known:
                raise InputError(f"rater '{self.id}' did not learn question '{id_}'", remedy=nearest(id_, known))
        if self.people is None:
            instances = self._texts(items, list(questions) or known, condition)
        else:
            instances = self._pairs(items, corpus, self.people)
        if not len(instances):
            return pl.DataFrame(schema=SCHEMA)
        predicted = self.predict(instances)
        asked = [question for question in self.questions if not questions or question.id in questions]
        return pl.concat(self._judgments(instances, q, predicted[q.id], condition) for q in asked)

    def _judgments(self, instances: Instances, asked: Question, said: PredictedAnswers, condition: str) -> pl.DataFrame:
        count = len(instances)
        columns = {
            "item": [instances.items[row] for row in instances.text],
            "question": [asked.id] * count,
            "rater": instances.users or [self.id] * count,
            "condition": [condition] * count,
            "sample": [0] * count,
            "value": decide(said, asked.scale, by_mean=self.by_mean),
            "status": ["answered"] * count,
            "rationale": [None] * count,
            "probabilities": None if said.shares is None else said.shares.tolist(),
            "expected": said.mean,
            "uncertainty": uncertainty(said, asked.scale),
        }
        return pl.DataFrame(columns, schema=SCHEMA)

    def _texts(
        self, items: Corpus | pl.DataFrame | Split | None, questions: Sequence[str] = (), condition: str = ""
    ) -> Instances:
        """The texts of items, which must have what the questions ask about."""
        table = items.items if isinstance(items, Corpus) else items
        if self.people is not None:
            raise self._no_pairs()
        if not isinstance(table, pl.DataFrame):
            raise InputError(f"rater '{self.id}' judges texts", remedy="pass a corpus, or a table of items")
        if table.is_empty():
            return Instances.of_texts(ItemTexts(()))
        known = [question.id for question in self.questions]
        check_items(self.instrument, table, questions or known, condition)
        return Instances.of_texts(reading(table, fields_of([self.instrument], known)), tuple(table["item"]))

    def _pairs(self, pairs: Corpus | pl.DataFrame | Split | None, corpus: Corpus | None, people: People) -> Instances:
        """Pairs with their texts and traits; users whom it does not know are noted."""
        split = pairs if isinstance(pairs, Split) else None if isinstance(pairs, Corpus) else self.split
        asked = pairs if isinstance(pairs, pl.DataFrame) else None if split is None else split.test
        corpus = corpus if corpus is not None or split is None else split.corpus
        if asked is None or corpus is None:
            raise self._no_pairs()
        instances = Instances.of_pairs(asked, corpus, self.questions[0].id, people.traits)
        users = dict.fromkeys(instances.users)
        strangers = [user for user in users if not people.knows(user)]
        # One that is blind to users knows nobody, and counts say themselves whom they do not know.
        if strangers and people.users and self.parts[0].kind != "baseline":
            met = sum(user in self.offsets for user in strangers)
            by = f"by {', '.join(people.traits)}" if people.traits else "as anybody"
            rest = f", {met:,} of them after labels of their own" if met else ""
            note_once(
                self.warnings, f"{len(strangers):,} of {len(users):,} users are not in training: judged {by}{rest}."
            )
            untold = sum(all(value is None for value in instances.profiles[user]) for user in strangers)
            if untold and people.traits:
                note_once(self.warnings, f"{untold:,} of them have no known trait.")
        return instances

    def _no_pairs(self) -> InputError:
        return InputError(
            f"rater '{self.id}' judges pairs of a text and a user, and none are given",
            remedy="from Python, let it judge a split, or pairs and their corpus",
        )

    @property
    def predicts_people(self) -> bool:
        """Whether it predicts what single people answer; otherwise the mean (or label) that they give together."""
        return self.about.get("target") == "individual" and all(part.kind in DISTRIBUTIONS for part in self.parts)

    def table(self, items: Corpus | pl.DataFrame, share: float = 0.8) -> pl.DataFrame:
        """One row per item, as it was given, and per question the answer, the predicted mean and a range around it.

        `low` and `high` hold the middle `share` of what single people answer (at least, since the points of a scale
        cannot be divided), or, from a rater that learned means, of where the mean of people's answers may lie; see
        `predicts_people`. Held-out texts said how much of a prediction that takes (see `HeldOut.ranges`); a range is as
        wide as the prediction for its text makes it. Of a nominal question, `probability` is that of the answer.

        >>> import vantage
        >>> from vantage.raters.trained import fit
        >>> rater = fit(vantage.demo_corpus(), ["trust"], kind="mean")
        >>> made = rater.table(vantage.demo_corpus().filter(item=["s01"]))
        >>> made.columns[3:], [round(number, 1) for number in made.row(0)[3:]]
        (['trust', 'trust_mean', 'trust_low', 'trust_high'], [0.0, 0.2, -1.7, 2.1])
        """
        if not 0 < share < 1:
            raise InputError(f"share is {share}", remedy="give the part of the answers that a range holds, such as 0.8")
        table = items.items if isinstance(items, Corpus) else items
        if table.is_empty():
            raise InputError("there are no items to judge", remedy="give a table with at least one")
        predicted = self.predict(self._texts(table))
        columns: dict[str, Floats] = {}
        for question in self.questions:
            answers = predicted[question.id]
            columns[question.id] = decide(answers, question.scale, by_mean=self.by_mean)
            if answers.mean is None:
                assert answers.shares is not None  # noqa: S101 - without a mean there are shares
                columns[f"{question.id}_probability"] = answers.shares.max(axis=1)
                continue
            reached = self.about.get("ranges", {}).get(question.id)
            part = share if reached is None else reached[int(np.ceil(share * 100))]
            low, high = answers.middle(part, question.scale, single=self.predicts_people)
            columns |= {f"{question.id}_mean": answers.mean, f"{question.id}_low": low, f"{question.id}_high": high}
        return table.with_columns(**columns)

    @classmethod
    def stacked(cls, raters: Sequence[TrainedRater], weights: Sequence[float] = (), name: str = "") -> TrainedRater:
        """One rater out of several that learned the same questions.

        Without weights, texts that none of them learned from say what each should count (see `HeldOut.stacked`).

        >>> import vantage
        >>> from vantage.raters.trained import fit
        >>> raters = [fit(vantage.demo_corpus(), ["trust"], kind=kind) for kind in ("median", "majority")]
        >>> both = TrainedRater.stacked(raters, [3, 1])
        >>> both.id, [part.weight for part in both.parts]
        ('median+majority', [0.75, 0.25])
        """
        if any(rater.people is not None for rater in raters):
            raise InputError("raters of pairs cannot be stacked", remedy="stack raters of texts")
        first, learned = raters[0], [[question.id for question in rater.questions] for rater in raters]
        for rater, ids in zip(raters, learned, strict=True):
            if ids != learned[0]:
                problem = f"'{first.id}' learned {', '.join(learned[0])} and '{rater.id}' {', '.join(ids)}"
                raise InputError(problem, remedy="stack raters of the same questions")
        check_weights(weights, len(raters))
        known = [rater.held for rater in raters if rater.held is not None]
        shares, held = [float(weight) / sum(weights) for weight in weights], None
        if len(known) == len(raters):
            shares, held = HeldOut.stacked(known, weights)
        elif not weights:
            raise InputError("a baseline has no held-out texts", remedy="pass weights")
        parts = tuple(
            replace(p, weight=w * p.weight) for w, one in zip(shares, raters, strict=True) if w for p in one.parts
        )
        model = "+".join(str(rater.about.get("model", rater.id)) for rater in raters)
        about = {**first.about, "model": model, "stacked": {"weights": shares, "about": [r.about for r in raters[1:]]}}
        about.pop("ranges", None)
        id_ = name or "+".join(rater.id for rater in raters)
        return cls(id_, first.instrument, first.questions, parts, first.by_mean, about, held=held)

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
        known = set(self.about.get("texts", ()))
        return sum(fingerprint(text) in known for text in self._texts(items).texts.first)

    def unlike(self, items: Corpus | pl.DataFrame) -> list[bool]:
        """Which items have a text unlike those that it learned from, so that neither answer nor range may hold.

        It is told by new words (see `vantage.raters.item_words`): other languages and subjects are, other opinions not.
        """
        texts = self._texts(items).texts.first
        return unlike(texts, self.about["words"]) if "words" in self.about else [False] * len(texts)

    def without_namesake(self, corpus: Corpus) -> Corpus:
        """The corpus without the judgments of a rater of the same name that had learned otherwise."""
        if "settings" not in corpus.raters.columns:
            return corpus
        alike = pl.col("settings").is_null() | (pl.col("settings") == self.row()["settings"])
        return corpus.filter((pl.col("rater") != self.id) | alike)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Writes the rater into a folder: JSON, arrays and safetensors, nothing that runs code when it is read."""

        def describe(empty: Path) -> dict[str, Any]:
            if self.held is not None:
                self.held.save(empty)
            return {
                "rater": self.id,
                "instrument": self.instrument.document,
                "questions": [question.id for question in self.questions],
                "by_mean": self.by_mean,
                "about": self.about,
                "people": self.people and self.people.described(),
                "offsets": self.offsets,
                "warnings": self.warnings,
                "parts": [
                    {
                        "weight": p.weight,
                        "kind": p.kind,
                        "notes": p.predictor.notes,
                        "data": p.predictor.save(empty, f"part-{n}"),
                    }
                    for n, p in enumerate(self.parts, 1)
                ],
            }

        return save_rater(folder, describe, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path, split: Split | None = None) -> TrainedRater:
        """Reads a rater from its folder; `split` is whose test pairs one of pairs judges unless told otherwise."""
        folder = Path(folder)
        stored = described(folder)
        instrument = Instrument.from_document(stored["instrument"], file=FILE)
        questions = tuple(instrument.question(id_) for id_ in stored["questions"])
        people = stored["people"] and People.read(stored["people"])
        parts = []
        for n, part in enumerate(stored["parts"], 1):
            predictor = SavedPredictor(folder, f"part-{n}", part["data"], questions, people).load(part["kind"])
            predictor.notes = list(part["notes"])
            parts.append(Weighted(part["weight"], part["kind"], predictor))
        plain = stored["by_mean"], stored["about"], stored["offsets"], split, stored["warnings"]
        held = HeldOut.load(folder, questions)
        return cls(stored["rater"], instrument, questions, tuple(parts), *plain, held)


def check_weights(weights: Sequence[float], raters: int) -> None:
    """Refuses weights of a stack of which there is not one for each rater, or that leave nothing to one of them."""
    if weights and (len(weights) != raters or min(weights) <= 0):
        given = ", ".join(f"{weight:g}" for weight in weights)
        raise InputError(f"the weights {given} are not those of {raters} raters", remedy="give one above 0 for each")


def uncertainty(predicted: PredictedAnswers, scale: Scale) -> Floats:
    """How far the predicted answers are spread.

    >>> even = PredictedAnswers.of_shares(np.array([[0.5, 0.5], [1.0, 0.0]]), Scale.labels("no", "yes"))
    >>> uncertainty(even, Scale.labels("no", "yes")).tolist()
    [1.0, 0.0]
    """
    if predicted.spread is not None:
        return predicted.spread
    assert predicted.shares is not None  # noqa: S101 - a nominal scale has options
    return np.asarray(entr(predicted.shares).sum(axis=1) / np.log(len(scale.codes)))
