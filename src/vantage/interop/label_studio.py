"""Label Studio: the JSON export of a project. Its short form JSON-MIN does not say which fields are answers.

What becomes of an annotation:

- `choices` (and `pairwise`) with one choice are answers by label; where several may be chosen, each option is
  a question of its own, answered no or yes. `rating` and `number` are answers by number.
- `textarea` named `rationale` gives the reason for all answers of the annotation, `QUESTION_rationale` for
  those to one question.
- A skipped (cancelled) annotation is a refusal of every question of the project.
- A rater who annotated an item several times has several samples.
- `lead_time` is the column `seconds`: the time for the whole annotation.
- Predictions are judgments of raters of kind `model`, named by their model version.

Regions, labels of spans and other results that do not judge the item as a whole are left out and noted.
Annotators are known by their number; names and addresses are not read where there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.files import find, read_json
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.interop.answers import (
    GivenAnswer,
    about_tool,
    as_number,
    ask,
    ask_option,
    ask_options,
    coded,
    items_of,
    rationale_of,
    with_rationales,
)
from vantage.scales import Scale

AGAIN: Final = "export the project again"
REGION: Final = frozenset({"start", "end", "x", "y", "ranges", "startOffset", "points", "format", "brushlabels"})
"""Keys of a value that belong to a part of the item."""


@dataclass(slots=True)
class _Annotation:
    """One annotation: who made it of which task, and what was entered in which field."""

    item: str
    row: int
    rater: str
    kind: str = "person"
    seconds: float | None = None
    cancelled: bool = False
    choices: dict[str, list[str]] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def enter(self, name: str, value: Mapping[str, Any]) -> bool:
        """Takes the value of a field; false for a value that does not judge the item as a whole."""
        picked = value.get("choices") or value.get("selected")
        number = as_number(value.get("rating", value.get("number")))
        entered = value.get("text")
        if isinstance(picked, list | str):
            self.choices.setdefault(name, []).extend([picked] if isinstance(picked, str) else map(str, picked))
        elif number is not None:
            self.numbers[name] = number
        elif entered is not None:
            self.texts[name] = "\n".join(map(str, entered)) if isinstance(entered, list) else str(entered)
        else:
            return False
        return True


@dataclass(slots=True)
class _Project:
    """Everything that was read from the file."""

    path: Path
    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    annotations: list[_Annotation] = field(default_factory=list)
    ratings: set[str] = field(default_factory=set)
    left_out: Counter[str] = field(default_factory=Counter)

    def fault(self, problem: str, remedy: str | None = AGAIN, row: int | None = None) -> InputError:
        """What to raise for a problem with the file, or with the task of a row."""
        return InputError(problem, file=self.path, row=row, remedy=remedy)


def read(path: Path, *, instrument: str | Instrument | None = None) -> Corpus:
    """Reads an export.

    Args:
        path: The JSON file, or a folder with one.
        instrument: The instrument whose scales the answers are on. Without one, the options of a question are
            coded in alphabetical order.
    """
    known = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    project = _Project(find(path, "*.json"))
    tasks = read_json(project.path)
    if isinstance(tasks, dict) and isinstance(tasks.get("tasks"), list):
        tasks = tasks["tasks"]
    if not isinstance(tasks, list) or not tasks:
        raise project.fault("this is not a list of tasks", "export the project as JSON")
    for row, task in enumerate(tasks, 1):
        if not isinstance(task, dict):
            raise project.fault("the task is not an object", row=row)
    if not any(isinstance(_annotations_of(task), list) for task in tasks):
        short = any("annotation_id" in task or "annotator" in task for task in tasks)
        minimal = "this is JSON-MIN, which does not say which fields are answers"
        raise project.fault(minimal if short else "the tasks have no annotations", "export the project as JSON")
    for row, task in enumerate(tasks, 1):
        _read_task(project, row, task)
    if not project.annotations:
        raise project.fault("no task has been annotated", "annotate some and export again")
    answers, scales = _answers(project, known)
    if not answers:
        fields = ", ".join(project.left_out) or "nothing"
        problem = f"no field judges an item as a whole (there is: {fields})"
        raise project.fault(problem, "use choices, ratings or numbers")
    judgments, instruments, notes = coded(answers, known, project.path.stem, scales)
    raters = {annotation.rater: annotation.kind for annotation in project.annotations}
    skipped = sum(annotation.cancelled for annotation in project.annotations)
    notes += [f"{skipped} annotations were skipped; their answers are refusals."] if skipped else []
    people = pl.DataFrame({"rater": list(raters), "kind": list(raters.values())})
    about = about_tool("Label Studio", project.path, notes, project.left_out)
    return Corpus(items_of(project.items), people, judgments, instruments, about)


def _annotations_of(task: Mapping[str, Any]) -> Any:
    return task.get("annotations", task.get("completions"))


def _read_task(project: _Project, row: int, task: Mapping[str, Any]) -> None:
    data = task.get("data")
    if not isinstance(data, dict):
        raise project.fault("the task has no 'data'", row=row)
    item = str(task.get("id", row))
    project.items.setdefault(item, data)
    annotations = _annotations_of(task) or []
    if not isinstance(annotations, list) or not all(isinstance(a, dict) for a in annotations):
        raise project.fault("'annotations' is not a list of objects", None, row)
    for seat, annotation in enumerate(annotations, 1):
        rater, kind = _rater(annotation.get("completed_by"), seat)
        made = _Annotation(item, row, rater, kind, as_number(annotation.get("lead_time")))
        made.cancelled = bool(annotation.get("was_cancelled") or annotation.get("skipped"))
        _enter_results(project, made, annotation.get("result"))
    for prediction in task.get("predictions") or []:
        if isinstance(prediction, dict) and prediction.get("result"):
            name = str(prediction.get("model_version") or "prediction")
            _enter_results(project, _Annotation(item, row, name, "model"), prediction["result"])


def _enter_results(project: _Project, annotation: _Annotation, results: Any) -> None:
    if not isinstance(results or [], list):
        raise project.fault("'result' is not a list", row=annotation.row)
    for result in results or []:
        if not isinstance(result, dict) or not isinstance(result.get("value"), dict):
            project.left_out["results without a value"] += 1
            continue
        name, value = str(result.get("from_name") or result.get("type") or "answer"), result["value"]
        if REGION & set(value):
            project.left_out[f"regions marked with '{name}'"] += 1
        elif not annotation.enter(name, value):
            project.left_out[f"results of type '{result.get('type', 'unknown')}' in '{name}'"] += 1
        elif "rating" in value:
            project.ratings.add(name)
    project.annotations.append(annotation)


def _rater(completed_by: Any, seat: int) -> tuple[str, str]:
    """Who annotated: the number of the annotator, or the seat where the export does not say."""
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("id") or completed_by.get("email")
    if completed_by in (None, ""):
        return f"slot-{seat}", "slot"
    return str(completed_by), "person"


def _answers(project: _Project, known: Instrument | None) -> tuple[list[GivenAnswer], dict[str, Scale]]:
    """All answers, and the scales that the kinds of their fields imply."""
    # Fields in which several options may be chosen: at least once, several were.
    several = [name for a in project.annotations for name, labels in a.choices.items() if len(labels) != 1]
    options = {
        name: sorted({label for a in project.annotations for label in a.choices.get(name, ())})
        for name in dict.fromkeys(several)
    }
    asked = list(dict.fromkeys(_asked(project, known, options)))
    samples: dict[tuple[str, str], int] = {}
    answers: list[GivenAnswer] = []
    for annotation in project.annotations:
        who = (annotation.item, annotation.rater)
        sample = samples[who] = samples.get(who, -1) + 1
        base = GivenAnswer(annotation.item, annotation.rater, "", sample=sample, seconds=annotation.seconds)
        base = replace(base, file=project.path, row=annotation.row)
        if annotation.cancelled:
            answers += [replace(base, question=question, status="refused") for question in asked]
            continue
        given = list(_given(annotation, base, known, options))
        reasons = {}
        for name, text in annotation.texts.items():
            question = rationale_of(name, asked)
            if question is None:
                project.left_out[f"texts entered in '{name}'"] += 1
            elif text.strip():
                reasons[question] = text.strip()
        answers += with_rationales(given, reasons)
    yes_no = Scale.labels("no", "yes")
    scales = {ask_option(name, label): yes_no for name, labels in options.items() for label in labels}
    scales |= {
        ask(name, known): Scale.points(1, max(5, int(max(a.numbers.get(name, 1) for a in project.annotations))))
        for name in project.ratings
        if all(a.numbers.get(name, 1) % 1 == 0 for a in project.annotations)
    }
    return answers, scales


def _asked(project: _Project, known: Instrument | None, options: Mapping[str, list[str]]) -> Iterator[str]:
    for annotation in project.annotations:
        for name in (*annotation.choices, *annotation.numbers):
            if name in options:
                yield from (ask_option(name, label) for label in options[name])
            else:
                yield ask(name, known)


def _given(
    annotation: _Annotation, base: GivenAnswer, known: Instrument | None, options: Mapping[str, list[str]]
) -> Iterator[GivenAnswer]:
    for name, labels in annotation.choices.items():
        if name not in options:
            yield replace(base, question=ask(name, known), label=labels[0])
        else:
            yield from ask_options(base, name, options[name], labels, known)
    for name, number in annotation.numbers.items():
        yield replace(base, question=ask(name, known), number=number)
