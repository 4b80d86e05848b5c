"""JUDGE-BENCH (Bavaresco et al. 2025): over twenty data sets of human judgments in one form, a JSON file each.

A file declares its questions (`annotations`: a metric with its prompt and scale) and lists the texts with the scores
that people gave. Scores have a place in a list and no names: who they are from is not known, unless the same people
judged every text in the same order. Where a file has only the mean or the majority, it is the answer of one rater of
the kind `aggregate`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.release import release
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.scales import Scale

AGGREGATES: Final = ("mean", "majority")
"""What the raters are called whose answers are those of several people."""
_FILLED: Final = re.compile(r"\{\{\s*(.*?)\s*\}\}")
"""Where a prompt has the text that is judged, or a part of it: an instrument shows it above the question."""


def read(path: Path, *, people: str = "no") -> Corpus:
    """Reads one file of the collection.

    Args:
        path: The JSON file.
        people: `yes` where the place of a score in its list is always the same person, as in DICES-350.
    """
    if people not in ("yes", "no"):
        raise InputError(f"people is yes or no, not '{people}'")
    data = _opened(path)
    texts = [str(one["id"]) for one in data["instances"]]
    if len(set(texts)) < len(texts):
        texts = [f"{n}-{text}" for n, text in enumerate(texts)]
    scored = list(_scored(data, texts))
    if not scored:
        raise InputError("no text has a score", file=path, remedy="check that this is the released file")
    asked = {str(one["metric"]): one for one in data["annotations"]}
    notes: list[str] = []
    scales, codes = {}, {}
    for name, one in asked.items():
        given = [score for _, metric, _, score in scored if metric == name]
        scales[name], codes[name] = _scale(name, one, given, path, notes)
    raters = list(dict.fromkeys(rater for _, _, rater, _ in scored))
    person = "person" if people == "yes" else "slot"
    kinds = ["aggregate" if rater in AGGREGATES else person for rater in raters]
    judgments = [(text, metric, rater, codes[metric][str(score)]) for text, metric, rater, score in scored]
    wordings = {name: _wording(one["prompt"]) for name, one in asked.items()}
    id_ = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")
    return release(
        "judge-bench",
        pl.DataFrame({"item": texts, "text": [_text(one["instance"]) for one in data["instances"]]}),
        pl.DataFrame({"rater": raters, "kind": kinds}),
        pl.DataFrame(judgments, schema=["item", "question", "rater", "value"], orient="row"),
        Instrument.of_questions(id_, str(data["dataset"]), scales, wordings),
        notes,
        dataset=str(data["dataset"]),
    )


def _wording(prompt: str) -> str:
    """A prompt with the names of the parts of a text in brackets; the whole text at an end of it is left out.

    >>> _wording("{{ instance }} Is it clear?"), _wording("Does {{ response }} answer {{ query }}?")
    ('Is it clear?', 'Does [response] answer [query]?')
    """
    return _FILLED.sub(r"[\1]", prompt).strip().removeprefix("[instance]").removesuffix("[instance]").strip()


def _opened(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError("there is no such file", file=path, remedy="name one JSON file of the collection")
    try:
        data = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"the file is not JSON: {error}", file=path, remedy="download it again") from None
    if not isinstance(data, dict) or not {"dataset", "annotations", "instances"} <= set(data):
        missing = "the file does not have 'dataset', 'annotations' and 'instances'"
        raise InputError(missing, file=path, remedy="name one JSON file of the collection")
    return data


def _scored(data: Mapping[str, Any], texts: list[str]) -> Iterator[tuple[str, str, str, Any]]:
    """Text, question, rater and score of every judgment."""
    for text, one in zip(texts, data["instances"], strict=True):
        for metric, answers in one["annotations"].items():
            scores = answers.get("individual_human_scores") or []
            yield from (
                (text, metric, f"annotator-{n}", score) for n, score in enumerate(scores, 1) if score is not None
            )
            if not scores and (known := [k for k in AGGREGATES if answers.get(f"{k}_human") is not None]):
                yield text, metric, known[0], answers[f"{known[0]}_human"]


def _scale(
    name: str, declared: Mapping[str, Any], given: list[Any], path: Path, notes: list[str]
) -> tuple[Scale, dict[str, float]]:
    """The scale of a question, and the code of every score that was given."""
    if "labels_list" in declared:
        labels = [str(label) for label in declared["labels_list"]]
        if further := sorted({str(score) for score in given} - set(labels)):
            notes.append(f"'{name}' has answers that the file does not declare: {', '.join(further)}.")
        options = [*labels, *further]
        return Scale.labels(*options), {label: float(n) for n, label in enumerate(options)}
    low, high = sorted((declared["worst"], declared["best"]))
    wrong = [score for score in given if not isinstance(score, int | float) or not low <= score <= high]
    if wrong:
        problem = f"'{name}' is judged from {low} to {high}, and '{wrong[0]}' is a score ({len(wrong):,} such in all)"
        raise InputError(problem, file=path, remedy="correct the scores, or 'worst' and 'best'")
    coded = {str(score): float(score) for score in given}
    whole = all(value.is_integer() for value in coded.values()) and float(low).is_integer()
    if not whole and declared.get("category") == "graded":
        notes.append(f"'{name}' is declared as graded and has scores between its points; it was read as continuous.")
    if whole and declared.get("category") != "continuous":
        return Scale.points(int(low), int(high)), coded
    return Scale.continuous(low, high), coded


def _text(instance: Any) -> str:
    if isinstance(instance, Mapping):
        return "\n\n".join(f"{name}: {value}" for name, value in instance.items())
    return str(instance)
