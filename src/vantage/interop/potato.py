"""Potato (Pei et al. 2022): the annotation output folder.

Three forms are read: `USER/user_state.json` (Potato 2), `USER/annotated_instances.jsonl` (Potato 1), and the
table of all annotators, `annotated_instances.csv` or `.tsv` (Potato 1). The project's YAML file, where it
lies in the folder or above it, tells kinds and options of the questions, and the data files with the texts,
which Potato 2 does not store beside the answers.

What becomes of an annotation scheme: radio, likert, select, slider and number are questions; each option of a
multiselect is a question of its own, answered no or yes, and so is each row of a multirate, answered on its
scale. A text box named like a rationale (`rationale`, `QUESTION_rationale`), or the free response of a
question, gives the reason for an answer. Answers on survey pages become traits of the rater. Spans and other
texts are left out and noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.prolific import known as known_values
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
    scale_of_labels,
    with_rationales,
)
from vantage.interop.potato_files import (
    FIXED,
    Annotation,
    PotatoOutput,
    Scheme,
    filled,
    marked,
    project_of,
    read_source,
    sources,
)
from vantage.scales import Scale

ONE: Final = ("radio", "likert", "confidence")
"""Schemes with one entry per option, of which one holds."""
TEXT: Final = ("text_box", "textbox")
FREE: Final = "free_response"


def read(path: Path, *, instrument: str | Instrument | None = None) -> Corpus:
    """Reads the output of a project.

    Args:
        path: The output folder, the project's folder above it, or one file of the forms named above.
        instrument: The instrument whose scales the answers are on.
    """
    asked = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    output, folder = PotatoOutput(), path if path.is_dir() else path.parent
    for source in sources(path):
        read_source(output, source)
    if not output.records:
        raise InputError("nothing has been annotated", file=path, remedy="check the folder")
    schemes, texts = project_of(folder)
    answers, scales = _answers(output, schemes, asked)
    several = [name for name in _several(output, schemes) if name in schemes]
    if not answers:
        remedy = "use radio, likert, select, slider, number or multiselect"
        raise InputError("no annotation scheme judges an item as a whole", file=path, remedy=remedy)
    judgments, instruments, notes = coded(answers, asked, path.stem, scales)
    notes += [] if schemes else ["The project's YAML file was not found: kinds of questions are guessed."]
    notes += [f"Where several boxes of '{name}' may be ticked, no box ticked was read as no." for name in several]
    items, raters = _items(output, texts, judgments), _raters(output, judgments)
    return Corpus(items, raters, judgments, instruments, about_tool("Potato", path, notes, output.left_out))


def _answers(
    output: PotatoOutput, schemes: Mapping[str, Scheme], known: Instrument | None
) -> tuple[list[GivenAnswer], dict[str, Scale]]:
    """All answers, and the scales that the project's file implies."""
    several = _several(output, schemes)
    options = {
        name: list(schemes[name].labels) if name in schemes and schemes[name].labels else sorted(labels)
        for name, labels in several.items()
    }
    names = [scheme for record in output.records for scheme in record.labels]
    asked = list(dict.fromkeys(ask(name, known) for name in names))
    answers: list[GivenAnswer] = []
    for record in output.records:
        base = GivenAnswer(record.item, record.rater, "", seconds=record.seconds, file=record.file, row=record.row)
        given: list[GivenAnswer] = []
        reasons: dict[str, str] = {}
        # Where several boxes may be ticked, none means no to all of them.
        missing = [name for name in options if name in schemes and record.labels and name not in record.labels]
        unticked: dict[str, dict[str, Any]] = {name: {} for name in missing}
        for name, stored in {**record.labels, **unticked}.items():
            values = {label: value for label, value in stored.items() if filled(value)}
            if (free := values.pop(FREE, None)) is not None:
                reasons[ask(name, known)] = str(free).strip()
            if (reason := _text(name, values, schemes)) is not None:
                question = rationale_of(name, asked)
                if question is None:
                    output.left_out[f"texts entered in '{name}'"] += 1
                else:
                    reasons[question] = reason
            elif name in options:
                given += ask_options(base, name, options[name], values, known)
            elif values:
                given += _given(record, name, values, base, schemes.get(name), ask(name, known))
        answers += with_rationales(given, reasons)
    return answers, dict(_scales(schemes, options, answers))


def _several(output: PotatoOutput, schemes: Mapping[str, Scheme]) -> dict[str, set[str]]:
    """Schemes in which several options may be chosen, with the options that were."""
    chosen: dict[str, set[str]] = {}
    several = {name for name, scheme in schemes.items() if scheme.kind == "multiselect"}
    for record in output.records:
        for name, stored in record.labels.items():
            marks = {label for label, value in stored.items() if filled(value) and marked(label, value)} - {FREE}
            chosen.setdefault(name, set()).update(marks)
            if len(marks) > 1 and name not in schemes:
                several.add(name)
    return {name: chosen.get(name, set()) for name in sorted(several) if chosen.get(name)}


def _text(name: str, values: Mapping[str, Any], schemes: Mapping[str, Scheme]) -> str | None:
    """What was entered in a text box, or null for a scheme that is none."""
    kind = schemes[name].kind if name in schemes else ""
    typed = kind == "text" or any(label in TEXT for label in values)
    if not kind and not typed:
        typed = bool(values) and not any(marked(label, value) or label in FIXED for label, value in values.items())
    if kind == "number" or not values or not typed:
        return None
    return "\n".join(str(value).strip() for value in values.values())


def _given(
    record: Annotation, name: str, values: Mapping[str, Any], base: GivenAnswer, scheme: Scheme | None, question: str
) -> Iterator[GivenAnswer]:
    if scheme and scheme.kind == "multirate":
        for label, value in values.items():
            yield replace(base, question=ask_option(name, label), label=str(value))
        return
    label, value = _final(record, name, values)
    if label in FIXED or not marked(label, value):
        number = as_number(value)
        yield replace(base, question=question, number=number, label=None if number is not None else str(value))
    elif (point := re.fullmatch(r"scale_(-?\d+)", label)) is not None:
        yield replace(base, question=question, number=float(point[1]))
    else:
        yield replace(base, question=question, label=label)


def _final(record: Annotation, name: str, values: Mapping[str, Any]) -> tuple[str, Any]:
    """The answer on which the annotator settled.

    Before version 2.7.2, Potato kept every option that was ever clicked; the timed trail of changes says
    which was the last. Without a trail it is the one that is stored last.
    """
    clicks = [
        change
        for change in record.changes
        if change.get("schema_name") == name
        and change.get("action") in ("select", "update")
        and change.get("label_name") in values
    ]
    if len(values) > 1 and clicks:
        label = str(max(clicks, key=lambda change: as_number(change.get("timestamp")) or 0.0)["label_name"])
    else:
        label = list(values)[-1]
    return label, values[label]


def _scales(
    schemes: Mapping[str, Scheme], options: Mapping[str, list[str]], answers: Iterable[GivenAnswer]
) -> Iterator[tuple[str, Scale]]:
    for name, labels in options.items():
        yield from ((ask_option(name, label), Scale.labels("no", "yes")) for label in labels)
    numbers: dict[str, list[float]] = {}
    for answer in answers:
        if answer.number is not None:
            numbers.setdefault(answer.question, []).append(answer.number)
    for name, scheme in schemes.items():
        low, high = scheme.low, scheme.high
        if scheme.kind in (*ONE, "select") and len(scheme.labels) > 1:
            yield name, scale_of_labels(scheme.labels)
        elif low is not None and high is not None and low < high:
            given = numbers.get(name, [])
            whole = high - low <= 100 and not any(number % 1 for number in (low, high, *given))
            if scheme.kind == "likert" or whole:
                yield name, Scale.points(int(low), int(high))
            else:
                yield name, Scale.continuous(low, high)


def _items(output: PotatoOutput, texts: Mapping[str, Mapping[str, Any]], judgments: pl.DataFrame) -> pl.DataFrame:
    """The instances that were judged, with their data or the text that was displayed."""
    judged = judgments["item"].unique(maintain_order=True).to_list()
    tasks: dict[str, Mapping[str, Any]] = {item: {} for item in judged}
    for record in output.records:
        if record.item in tasks and not tasks[record.item]:
            shown = {"text": record.text} if record.text is not None else {}
            tasks[record.item] = texts.get(record.item) or shown
    return items_of(tasks)


def _raters(output: PotatoOutput, judgments: pl.DataFrame) -> pl.DataFrame:
    raters = judgments.select(pl.col("rater").unique(maintain_order=True))
    names = dict.fromkeys(name for traits in output.traits.values() for name in traits)
    for name in names:
        column = f"{name}_trait" if name in ("rater", "kind") else name
        values = [output.traits.get(rater, {}).get(name) for rater in raters["rater"]]
        raters = raters.with_columns(known_values(pl.Series(column, values, dtype=pl.String)))
    return raters
