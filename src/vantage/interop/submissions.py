"""The tasks of an edition of LeWiDi, and submissions to them: two files per data set, read, checked, scored, written.

`NAME_PART_soft.tsv` has a distribution for each text, `NAME_PART_pe.tsv` a label for each annotator of a text, in the
order of the released file. A line is an item id, a tab and a list in Python notation, of VariErrNLI a list of three
lists in the order contradiction, entailment, neutral.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.readers.files import text_of
from vantage.corpora.storage import is_corpus
from vantage.errors import InputError, Problems, nearest
from vantage.instruments import Instrument
from vantage.interop.benchmark import read_predictions, read_split
from vantage.interop.lewidi_files import EDITIONS, SPLITS, edition
from vantage.measures.ratings import Floats
from vantage.perspective.losses import Answered, Divisor
from vantage.perspective.scoring import (
    DECIMALS,
    Targets,
    TaskAnswers,
    answered,
    own_measures,
    score_rows,
    usual_measures,
)
from vantage.perspective.splits import Split, people_pairs, released_split
from vantage.raters.trained import fit
from vantage.raters.trained.pairs import pair_method
from vantage.scales import Scale

FILES: Final = {"soft": "soft", "perspectivist": "pe"}
"""The evaluations of a task, and how its files are called."""
MOST: Final = 20
"""So many faults of a file are named."""


@dataclass(frozen=True)
class SharedTask:
    """One data set of an edition: what is asked, and the people whose answers are predicted."""

    name: str
    corpus: Corpus
    """With all its parts."""
    questions: tuple[str, ...]
    part: str = "test"
    parts: Split | None = None
    """The split whose test part it is, where it is none of the released parts."""

    @cached_property
    def pairs(self) -> dict[str, pl.DataFrame]:
        """People's answers to each question in the part, in the order of the released file."""
        if self.parts is not None:
            return {self.parts.question: self.parts.test}
        chosen = self.corpus.items.filter(split=self.part).select("item")
        return {
            question: people_pairs(self.corpus, question)
            .join(chosen, on="item", how="semi", maintain_order="left")
            .select("item", "rater", "value")
            for question in self.questions
        }

    @cached_property
    def annotators(self) -> dict[str, list[str]]:
        """The annotators of each text."""
        first = self.pairs[self.questions[0]]
        return dict(first.group_by("item", maintain_order=True).agg("rater").iter_rows())

    @property
    def codes(self) -> list[float]:
        """Those of the scale, upwards."""
        return sorted(self.corpus.question(self.questions[0]).scale.codes)

    def measure(self, evaluation: str) -> str:
        """The organisers' score."""
        return own_measures(self.corpus.question(self.questions[0]).scale)[evaluation == "perspectivist"]

    def split(self, question: str) -> Split:
        """The released parts as a split, to learn from."""
        return released_split(self.corpus, question, part=self.part)

    def answered(self, predictions: pl.DataFrame, targets: Targets = "released") -> TaskAnswers:
        """Predictions beside people's answers to all questions."""
        parts: list[Answered] = []
        for name, gold in self.pairs.items():
            parts.append(answered(predictions, gold, self.corpus, self.corpus.question(name), targets))
        return TaskAnswers(parts)

    def score(
        self, predictions: pl.DataFrame, evaluation: str, *, divisor: Divisor = "points", targets: Targets = "released"
    ) -> pl.DataFrame:
        """The organisers' score with interval, floor, ceiling and skill; or proper scores."""
        scored = self.answered(predictions, targets)
        own = [self.measure(evaluation)]
        measures = usual_measures(scored.parts[0].scale, "user distributions")[2:] if evaluation == "proper" else own
        frame = score_rows(scored, measures, divisor=divisor, confidence=0.95, seed=0)
        return frame.select(pl.lit(self.name).alias("task"), pl.all())

    def file(self, evaluation: str) -> str:
        """How the organisers call the file of an evaluation."""
        return f"{self.name}_{self.part}_{FILES[evaluation]}.tsv"

    def released_id(self, item: str) -> str:
        """The id of a text in the released file."""
        return item.removeprefix(f"{self.part}-")


def tasks(
    data: str | Path, part: str = "test", *, split: str | Path | None = None, only: str | None = None
) -> dict[str, SharedTask]:
    """The tasks of which a folder has the released files, or the one that is named; or that of a corpus and a split."""
    if split is not None:
        parts = read_split(Corpus.read(data).included(), split)
        name = parts.corpus.about.name
        return {name: SharedTask(name, parts.corpus, (parts.question,), parts=parts)}
    if part not in SPLITS:
        raise InputError(f"there is no part '{part}'", remedy=nearest(part, list(SPLITS)))
    asked = {stem: question for one in EDITIONS.values() for stem, (question, _) in one.items()}
    corpora = edition(data)
    if only is not None and only not in corpora:
        raise InputError(f"there is no data set '{only}'", file=data, remedy=nearest(only, list(corpora)))
    made = {}
    for name, whole in corpora.items():
        corpus = _abusive(whole) if name == "ConvAbuse" else whole
        questions = (asked[name],) if asked[name] else tuple(question.id for question in corpus.questions)
        if part in corpus.items["split"] and only in (None, name):
            made[name] = SharedTask(name, corpus, questions, part)
    if not made:
        raise InputError(f"no data set has the part '{part}'", file=data, remedy="choose another part")
    return made


def _abusive(corpus: Corpus) -> Corpus:
    """ConvAbuse as its task has it: whether a message is abusive, which are the severities below 0."""
    rows = corpus.judgments.filter(question="abuse").with_columns((pl.col("value") < 0).cast(pl.Float64))
    asked = Instrument.of_questions(
        "abuse", "ConvAbuse", {"abuse": Scale.labels("no", "yes")}, {"abuse": "Is it abusive?"}
    )
    shown = corpus.question("abuse")
    fields = next(i.document["fields"] for i in corpus.instruments if shown in i.questions)
    instrument = Instrument.from_document({**asked.document, "fields": fields}, file="abuse")
    return Corpus(corpus.items, corpus.raters, rows, instrument, corpus.about)


def read_submission(task: SharedTask, path: Path, evaluation: str) -> tuple[pl.DataFrame, list[str]]:
    """The predictions of a file as a table, and what was skipped; all faults of the file are reported at once.

    A list that has an entry for each *label* of an annotator, where `annotators` of VariErrNLI repeats them, is longer
    than there are annotators; the organisers' scorer reads its beginning, and so does this.
    """
    items = {task.released_id(item): item for item in task.annotators}
    rows: list[dict[str, Any]] = []
    faults: list[str] = []
    seen: set[str] = set()
    longer = 0
    for number, line in enumerate(text_of(path).splitlines(), 1):
        if not line.strip():
            continue
        key, tab, written = line.partition("\t")
        item, values = items.get(key.strip()), _list(written)
        if not tab or values is None:
            faults.append(f"line {number} is not an id, a tab and a list of numbers")
        elif item is None:
            faults.append(f"line {number}: '{key.strip()}' is no item of {task.name}_{task.part}")
        elif item in seen:
            faults.append(f"line {number}: item '{key.strip()}' is there twice")
        else:
            seen.add(item)
            lists = values if len(task.questions) > 1 else [values]
            wanted = len(task.codes) if evaluation == "soft" else len(task.annotators[item])
            if evaluation != "soft" and all(isinstance(one, list) and len(one) > wanted for one in lists):
                longer += 1
                lists = [one[:wanted] for one in lists]
            fault = _fault(lists, len(task.questions), wanted, None if evaluation == "soft" else task.codes)
            if fault:
                faults.append(f"line {number}, item '{key.strip()}': {fault}")
            else:
                rows += _rows(task, item, lists, evaluation)
    missing = [task.released_id(item) for item in task.annotators if item not in seen]
    if missing and not faults:
        faults.append(f"{len(missing)} of {len(items)} items are missing, such as '{missing[0]}'")
    if faults:
        more = [f"… and {len(faults) - MOST} more"] if len(faults) > MOST else []
        raise Problems(path, [*faults[:MOST], *more])
    notes = (
        [f"{path.name}: {longer} lists are longer than the annotators; their beginnings were read."] if longer else []
    )
    return pl.DataFrame(rows), notes


def _rows(task: SharedTask, item: str, lists: list[list[float]], evaluation: str) -> Iterator[dict[str, Any]]:
    for question, values in zip(task.questions, lists, strict=True):
        if evaluation == "soft":
            yield {"item": item, "question": question, "probabilities": [float(value) for value in values]}
        else:
            for rater, value in zip(task.annotators[item], values, strict=True):
                yield {"item": item, "question": question, "rater": rater, "value": float(value)}


def _list(written: str) -> list[Any] | None:
    try:
        values = ast.literal_eval(written.strip()) if len(written) < 100_000 else None
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return values if isinstance(values, list) else None


def _fault(lists: list[Any], questions: int, wanted: int, codes: list[float] | None) -> str | None:
    """What is wrong with the lists of an item, in words."""
    if len(lists) != questions:
        return f"there are {len(lists)} lists for {questions} labels"
    for values in lists:
        numbers = isinstance(values, list) and all(type(value) in (int, float) for value in values)
        if not numbers or len(values) != wanted:
            return f"a list should have {wanted} numbers"
        if codes is None and not (all(v >= 0 for v in values) and abs(sum(values) - 1) < DECIMALS * wanted + 0.001):
            return f"{values} is not a distribution: shares of 0 or more that add up to 1"
        if codes is not None and not set(map(float, values)) <= set(codes):
            return f"{values} has a label that is off the scale"
    return None


Predicted: TypeAlias = dict[str, dict[str, pl.DataFrame]]
"""What a system predicted, by evaluation and task."""


def read_system(path: Path, data: Mapping[str, SharedTask]) -> tuple[Predicted, list[str]]:
    """What a system predicted: a folder of submission files, or a table for the only task; and notes on it.

    Labels for users have a perspectivist evaluation, distributions of texts a soft one, and those of users both.
    """
    predicted: Predicted = {}
    notes: list[str] = []
    if not path.exists():
        raise InputError("there is no such file or folder", file=path, remedy="check the path")
    if path.is_dir() and not is_corpus(path):
        for name, task in data.items():
            for evaluation in FILES:
                if (file := path / task.file(evaluation)).is_file():
                    frame, remarks = read_submission(task, file, evaluation)
                    predicted.setdefault(evaluation, {})[name] = frame
                    notes += remarks
        if not predicted:
            wanted = ", ".join(task.file(evaluation) for task in data.values() for evaluation in FILES)
            raise InputError("the folder has no submission file", file=path, remedy=f"it needs one of {wanted}")
        return predicted, notes
    if len(data) > 1:
        raise InputError("a table has predictions for one task", file=path, remedy=f"name it: {', '.join(data)}")
    ((name, task),) = data.items()
    frame = read_predictions(path, task.corpus, task.questions[0])
    if "rater" in frame.columns:
        predicted["perspectivist"] = {name: frame}
    if "probabilities" in frame.columns:
        predicted["soft"] = {name: frame}
    return predicted, notes


def write_submission(task: SharedTask, predictions: pl.DataFrame, folder: str | Path) -> list[Path]:
    """Writes the two files of a task and reads them again, which checks them.

    Predictions are labels or distributions for all annotators of the part. Of distributions, the soft file has their
    mean over the annotators of a text, and the other one the answers that lose least by the organisers' score.
    """
    parts = task.answered(predictions).parts
    labels = [_labels(part, task.measure("perspectivist")) for part in parts]
    soft: dict[str, Any] = {}
    given: dict[str, Any] = {}
    first = 0
    for place, (item, annotators) in enumerate(task.annotators.items()):
        rows = slice(first, first := first + len(annotators))
        key = task.released_id(item)
        shares = [[round(float(share), 8) for share in part.of_texts[place]] for part in parts]
        chosen = [[int(label) for label in one[rows]] for one in labels]
        soft[key], given[key] = (shares, chosen) if len(parts) > 1 else (shares[0], chosen[0])
    Path(folder).mkdir(parents=True, exist_ok=True)
    written = []
    for evaluation, lines in (("soft", soft), ("perspectivist", given)):
        path = Path(folder) / task.file(evaluation)
        path.write_text("".join(f"{key}\t{values}\n" for key, values in lines.items()), "utf-8")
        read_submission(task, path, evaluation)
        written.append(path)
    return written


def _labels(part: Answered, measure: str) -> Floats:
    """The answer to give for each pair; one that was never predicted would be invented."""
    if not part.predicted_any.all():
        raise InputError("some pairs have no prediction", remedy="a submission needs an answer for every annotator")
    return part.codes[part.choices(measure, "points")]


SIMPLE: Final = ("most-frequent", "random", "marginal")
"""Baselines of shared tasks that learn nothing of texts or users."""
UNBALANCED: Final[dict[str, dict[str, Any]]] = {
    "logistic": {"balanced": False, "words": (1, 1), "least": 3, "strengths": (1.0,)},
    "encoder": {"class_weights": False, "loss": "cross-entropy"},
}
"""Settings of distributions; words that count once more for each of a hundred trait values are learned in a minute."""


def task_baseline(
    task: SharedTask, method: str = "tfidf-users", *, seed: int = 0, settings: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    """Distributions for all annotators of the part of a shared task, learned from the parts released before it.

    `most-frequent`, `random` and `marginal` know how often each answer was given, `encoder` is the `baseline` of
    `PAIR_METHODS`, which has all others. Classes are not balanced: a distribution is to say how often an answer is
    given.
    """
    method = "baseline" if method == "encoder" else method
    frames = []
    for number, question in enumerate(task.questions):
        parts = task.split(question)
        codes = np.array(task.codes)
        if method in SIMPLE:
            shares = np.array([(parts.train["value"] == code).mean() for code in codes])
            rows = np.tile(
                np.eye(len(codes))[shares.argmax()] if method == "most-frequent" else shares, (len(parts.test), 1)
            )
            if method == "random":
                drawn = np.random.default_rng([seed, number]).integers(len(codes), size=len(parts.test))
                rows = np.eye(len(codes))[drawn]
            frame = parts.test.select("item", "rater").with_columns(pl.Series("probabilities", rows.tolist()))
        else:
            how = pair_method(method)
            given = UNBALANCED.get(how.kind, {})
            frame = fit(parts, kind=method, seed=seed, **{**given, **(settings or {})}).judge()
        frames.append(frame.select("item", "rater", "probabilities", question=pl.lit(question)))
    return pl.concat(frames)
