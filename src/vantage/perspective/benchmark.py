"""An open benchmark: a split as files, predictions from any file, systems compared on the same pairs, shared tasks.

The scores of the shared task are those of Learning With Disagreements, third edition (Leonardelli et al. 2025). The
*perspectivist* ones compare what is predicted for each annotator with what the annotator said; the *soft* ones compare
the distribution of labels that is predicted for a text with the distribution of people's labels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.readers.files import read_table
from vantage.corpora.storage import is_corpus
from vantage.errors import InputError, Problems
from vantage.instruments import Question
from vantage.measures.multiplicity import adjusted
from vantage.perspective.evaluation import Evaluation, evaluate, stood_for
from vantage.perspective.fairness import advantage, average_user
from vantage.perspective.splits import Split, split
from vantage.perspective.tally import CLOSENESS

FILE: Final = "split.json"
ENOUGH: Final = 10
"""From how many test users on intervals resample users; with fewer, texts."""
BASELINE: Final = "majority (baseline)"
"""The system that gives everyone the most frequent answer of the training annotators."""
NAMES: Final = {
    "item": ("item", "text_id", "item_id", "text", "id"),
    "rater": ("rater", "user", "annotator", "user_id", "annotator_id", "rater_id"),
    "value": ("value", "prediction", "predicted", "label", "answer"),
}
"""What the columns of a file of predictions may be called, the first that is there."""


def headline(question: Question) -> str:
    """What is scored: F1 of the positive class of two, closeness on an ordered scale, else macro F1."""
    scale = question.scale
    if len(scale.codes) == 2:
        return scale.label(max(scale.codes))
    return CLOSENESS if scale.ordered else "macro"


def write_split(corpus: Corpus, folder: str | Path, **options: Any) -> Split:
    """Splits a corpus and leaves the parts as files: everything a system may see, and the pairs to be predicted.

    `train.csv` and `adaptation.csv` have answers, `test.csv` has none; `texts.csv` and `users.csv` tell texts and
    traits (of test users only where users are named); `split.json` says how to make the same split again.

    Args:
        corpus: A corpus whose raters are people.
        folder: Where the files go.
        options: Those of `split`.
    """
    folder = Path(folder)
    if (folder / FILE).exists():
        raise InputError("there is a split already", file=folder, remedy="choose another folder")
    parts = split(corpus, **options)
    folder.mkdir(parents=True, exist_ok=True)
    parts.train.sort("item", "rater").write_csv(folder / "train.csv")
    parts.adaptation.sort("item", "rater").write_csv(folder / "adaptation.csv")
    parts.test.select("item", "rater").sort("item", "rater").write_csv(folder / "test.csv")
    flat = [name for name, kind in corpus.items.schema.items() if not kind.is_nested()]
    corpus.items.select(flat).write_csv(folder / "texts.csv")
    known = pl.col("rater").is_in(parts.train_users) | pl.lit(parts.users == "named")
    corpus.raters.filter(known).select("rater", *corpus.traits).write_csv(folder / "users.csv")
    about = {"corpus": corpus.about.name, "options": {**options, "question": parts.question}, "test": _digest(parts)}
    (folder / FILE).write_text(json.dumps({**about, "counts": parts.counts.to_dicts()}, indent=2) + "\n", "utf-8")
    return parts


def read_split(corpus: Corpus, folder: str | Path) -> Split:
    """The split that `write_split` left in a folder, with people's answers from the corpus."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise InputError("there is no split", file=folder, remedy="make one with: vantage perspective split")
    try:
        about = json.loads(path.read_text("utf-8"))
        parts = split(corpus, **about["options"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("the file is not a split", file=path, remedy="make it again") from error
    if _digest(parts) != about["test"]:
        raise InputError(
            f"the test pairs of '{corpus.about.name}' are not those of the split",
            file=path,
            remedy="name the corpus that was split, or split this one anew",
        )
    return parts


def read_predictions(source: str | Path, corpus: Corpus, question: str) -> pl.DataFrame:
    """Predictions of any system: a table with text, user and answer, or a corpus in which raters stand for people.

    Answers are codes of the scale or its labels; an empty one is no answer. Columns may have any of `NAMES`.
    """
    path = Path(source)
    if is_corpus(path):
        return stood_for(Corpus.read(path), question)
    table = read_table(path)
    columns: dict[str, str] = {}
    for name, known in NAMES.items():
        known_column = next((column for column in known if column in table.frame.columns), None)
        if known_column is None:
            remedy = f"name it {' or '.join(known[:3])}; the file has {', '.join(table.frame.columns)}"
            raise InputError(f"there is no column of the {name}", file=path, remedy=remedy)
        columns[name] = known_column
    frame = table.frame.select(pl.col(column).cast(pl.String).alias(name) for name, column in columns.items())
    scale = corpus.question(question).scale
    values: list[float | None] = []
    for number, answer in enumerate(frame["value"]):
        code = None if answer is None or not answer.strip() else scale.code(answer)
        if code is None and answer is not None and answer.strip():
            try:
                code = float(answer)
            except ValueError:
                labels = ", ".join(scale.label(one) for one in scale.codes)
                raise InputError(
                    f"'{answer}' is no answer to '{question}'",
                    file=path,
                    row=table.row(number),
                    column=columns["value"],
                    remedy=f"use {labels}",
                ) from None
        values.append(code)
    return frame.with_columns(pl.Series("value", values, dtype=pl.Float64))


def scored(
    predictions: pl.DataFrame, parts: Split, *, resamples: int = 1000, seed: int = 0, source: object = "predictions"
) -> Evaluation:
    """Predictions for a split at all levels; intervals are over users where there are enough of them.

    Errors name the `source` of the predictions.
    """
    over: Literal["users", "texts"] = "users" if parts.test["rater"].n_unique() >= ENOUGH else "texts"
    try:
        return evaluate(predictions, parts, resamples=resamples, seed=seed, over=over)
    except Problems as error:
        raise Problems(source, error.problems) from None


def baseline(parts: Split) -> pl.DataFrame:
    """The most frequent answer of the training annotators for everyone; the lower code where it is tied."""
    most = parts.train["value"].mode().min()
    return parts.test.select("item", "rater", pl.lit(most, dtype=pl.Float64).alias("value"))


def leaderboard(systems: Mapping[str, Evaluation], label: str = "macro") -> pl.DataFrame:
    """Systems by the score of the average user, each compared with the first on the same pairs.

    `behind` is the difference to the first with its interval and the p value of a randomisation test, corrected after
    Holm (1979); `first` marks the systems that cannot be told apart from it.
    """
    rows: list[dict[str, Any]] = []
    for name, evaluation in systems.items():
        user = average_user(evaluation, label)
        whole = {level: evaluation.f1(level, label) for level in ("global", "text")}
        unread = evaluation.pairs["predicted"].null_count()
        rows.append({"system": name, **user, **whole, "unread": unread, "pairs": len(evaluation.pairs)})
    rows.sort(key=lambda row: (-(row["estimate"] if row["estimate"] is not None else -1.0), row["system"]))
    best = rows[0]["system"]
    for row in rows:
        difference = advantage(systems[row["system"]], systems[best], label) if row["system"] != best else {}
        behind = {"behind": "difference", "behind_low": "low", "behind_high": "high", "p": "p"}
        row |= {name: difference.get(end) for name, end in behind.items()}
    for row, p in zip(rows, adjusted([row["p"] for row in rows], "holm"), strict=True):
        row["p_holm"] = p
        row["first"] = row["system"] == best or (p is not None and p >= 0.05)
    numbers = ("estimate", "low", "high", "global", "text", "behind", "behind_low", "behind_high", "p", "p_holm")
    frame = pl.DataFrame(rows, schema_overrides=dict.fromkeys(numbers, pl.Float64), infer_schema_length=None)
    return frame.with_row_index("place", 1)


def paired_differences(systems: Mapping[str, Evaluation], label: str = "macro") -> pl.DataFrame:
    """Every pair of systems on the same pairs: the difference for the average user, its interval and its test."""
    rows = [
        {"first": one, "second": two, **advantage(systems[one], systems[two], label)}
        for one, two in combinations(systems, 2)
    ]
    numbers = dict.fromkeys(("difference", "low", "high", "p"), pl.Float64)
    schema = {"first": pl.String, "second": pl.String, **numbers}
    frame = pl.DataFrame(rows, schema=schema)
    return frame.with_columns(pl.Series("p_holm", adjusted(frame["p"].to_list(), "holm"), dtype=pl.Float64))


def _digest(parts: Split) -> str:
    """What the test pairs are, in few characters."""
    pairs = parts.test.select("item", "rater").sort("item", "rater").rows()
    return sha256(json.dumps(pairs).encode()).hexdigest()[:16]
