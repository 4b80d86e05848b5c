"""What Potato writes, in one form: records of an annotator and an instance, and the project's own file.

Three forms of output are read: `USER/user_state.json` (Potato 2), `USER/annotated_instances.jsonl` (Potato
1), and the table of all annotators, `annotated_instances.csv` or `.tsv` (Potato 1).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from vantage.corpora.prolific import snake_case
from vantage.corpora.readers.files import find, read_csv, read_json, read_jsonl, read_table
from vantage.corpora.readers.table_file import FileTable
from vantage.documents import Document
from vantage.errors import InputError
from vantage.interop.answers import as_number

FIXED: Final = ("", "select-one", "slider", "number", "vas", "text_box", "textbox")
"""Names under which a scheme stores its answer as the value, not as the name of an option."""
SURVEY: Final = ("prestudy", "poststudy", "survey")
NOT_TRAITS: Final = ("consent", "instruction", "end")

Labels = Mapping[str, Mapping[str, Any]]
"""From annotation schemes to the labels stored for them and their values."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """What one annotator stored for one instance."""

    item: str
    rater: str
    labels: Labels
    file: Path
    row: int | None = None
    text: Any = None
    seconds: float | None = None
    changes: tuple[Mapping[str, Any], ...] = ()


@dataclass(slots=True)
class PotatoOutput:
    """Everything that was read from the folder."""

    records: list[Annotation] = field(default_factory=list)
    traits: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    """How much of what is not read."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """An annotation scheme of the project's file."""

    kind: str
    labels: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None


def sources(path: Path) -> list[Path]:
    """The files to read, of the newest form that there is."""
    if not path.exists():
        raise InputError("there is no such file or folder", file=path, remedy="check the path")
    if path.is_file():
        return [path]
    for pattern in ("user_state.json", "annotated_instances.jsonl"):
        for depth in ("*", "*/*", "*/*/*"):
            if files := sorted(path.glob(f"{depth}/{pattern}")):
                return files
    return [find(path, "annotated_instances.tsv", "annotated_instances.csv", "user_state.json")]


def read_source(output: PotatoOutput, file: Path) -> None:
    """Reads one file of any of the three forms."""
    if file.name == "user_state.json":
        _read_state(output, file)
    elif file.suffix == ".jsonl":
        _read_lines(output, file)
    else:
        _read_columns(output, read_csv(file, "\t" if file.suffix == ".tsv" else ","))


def _read_state(output: PotatoOutput, file: Path) -> None:
    """Potato 2: everything about one annotator."""
    state = read_json(file)
    if not isinstance(state, dict) or not isinstance(state.get("instance_id_to_label_to_value"), dict):
        raise _damaged(file, "this is not the state of an annotator")
    rater = str(state.get("user_id") or file.parent.name)
    behaviour = _mapping(state.get("instance_id_to_behavioral_data"))
    for item, stored in state["instance_id_to_label_to_value"].items():
        how = _mapping(behaviour.get(item))
        changes = tuple(c for c in how.get("annotation_changes") or () if isinstance(c, dict))
        record = Annotation(str(item), rater, _labels(file, stored), file, seconds=_seconds(how), changes=changes)
        output.records.append(record)
    for spans in (state.get("instance_id_to_span_to_value") or {}).values():
        if spans:
            output.left_out["instances with spans"] += 1
    for phase, answers in _mapping(state.get("phase_to_page_to_label_to_value")).items():
        if str(phase).lower().startswith(SURVEY) and isinstance(answers, dict):
            for stored in answers.values():
                output.traits.setdefault(rater, {}).update(_survey(_labels(file, stored)))


def _read_lines(output: PotatoOutput, file: Path) -> None:
    """Potato 1: the instances of one annotator, whose name is that of the folder."""
    for row, line in enumerate(read_jsonl(file), 1):
        if "id" not in line or not isinstance(line.get("label_annotations"), dict):
            raise _damaged(file, "there is no 'id' or no 'label_annotations'", row)
        labels = _labels(file, line["label_annotations"])
        item, rater = str(line["id"]), str(line.get("user") or file.parent.name)
        if line.get("span_annotations"):
            output.left_out["instances with spans"] += 1
        seconds = _seconds(_mapping(line.get("behavioral_data")))
        _keep(output, Annotation(item, rater, labels, file, row, line.get("displayed_text"), seconds))


def _read_columns(output: PotatoOutput, table: FileTable) -> None:
    """Potato 1: one row per annotator and instance, one column `SCHEME:::LABEL` per label."""
    table.require("user", "instance_id")
    columns = [name for name in table.frame.columns if ":::" in name]
    for index, row in enumerate(table.frame.iter_rows(named=True)):
        labels: dict[str, dict[str, Any]] = {}
        for name in columns:
            scheme, _, label = name.partition(":::")
            if row[name] is None or scheme.startswith("span_annotation"):
                continue
            labels.setdefault(scheme, {})[label] = row[name]
        record = Annotation(
            str(row["instance_id"]), str(row["user"]), labels, table.path, table.row(index), row.get("displayed_text")
        )
        _keep(output, record)


def _keep(output: PotatoOutput, record: Annotation) -> None:
    """Keeps a record; Potato 1 stores survey pages like instances, under the name of their HTML file."""
    if not record.item.endswith(".html"):
        output.records.append(record)
    elif not any(word in record.item.lower() for word in NOT_TRAITS):
        output.traits.setdefault(record.rater, {}).update(_survey(record.labels))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _labels(file: Path, stored: Any) -> dict[str, dict[str, Any]]:
    """Labels by scheme, from any of the ways in which Potato has stored them."""
    labels: dict[str, dict[str, Any]] = {}
    if isinstance(stored, list):
        for entry in stored:
            if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], dict)):
                raise _damaged(file, "a label is not stored as Potato does")
            key, value = entry
            labels.setdefault(str(key.get("schema", "")), {})[str(key.get("name", ""))] = value
        return labels
    if not isinstance(stored, dict):
        raise _damaged(file, "labels are not stored as Potato does")
    for scheme, values in stored.items():
        inner = values.get("labels", values) if isinstance(values, dict) else {"": values}
        labels[str(scheme)] = dict(inner) if isinstance(inner, dict) else {"": inner}
    return labels


def _damaged(file: Path, problem: str, row: int | None = None) -> InputError:
    return InputError(problem, file=file, row=row, remedy="check that Potato wrote it")


def _seconds(behaviour: Mapping[str, Any]) -> float | None:
    """Time spent on an instance: milliseconds in Potato 2, "Time spent: 0d 0h 0m 5s" in Potato 1."""
    if (milliseconds := as_number(behaviour.get("total_time_ms"))) is not None:
        return milliseconds / 1000
    match = re.search(r"(\d+)d (\d+)h (\d+)m (\d+)s", str(behaviour.get("time_string", "")))
    if match is None:
        return None
    days, hours, minutes, seconds = map(int, match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _survey(labels: Labels) -> dict[str, str]:
    """The answers of a survey page: the chosen label of each question, or what was entered."""
    answers = {}
    for scheme, values in labels.items():
        chosen = [label if marked(label, value) else str(value) for label, value in values.items() if filled(value)]
        if chosen:
            answers[snake_case(scheme)[:60] or "answer"] = "; ".join(chosen)
    return answers


def filled(value: Any) -> bool:
    """Whether a value says anything."""
    return value not in (None, "", False, "false", "False", "None", [], {})


def marked(label: str, value: Any) -> bool:
    """Whether a value only says that its label was chosen: true, the label itself, a number or a key."""
    text = str(value).strip().casefold()
    return label not in FIXED and (
        value is True
        or text in ("true", "on", label.strip().casefold())
        or as_number(text) is not None
        or len(text) == 1
    )


def project_of(folder: Path) -> tuple[dict[str, Scheme], dict[str, dict[str, Any]]]:
    """Annotation schemes and instances of the project whose YAML file lies in the folder or above it."""
    for place in (folder, folder.parent, folder.parent.parent):
        for file in sorted([*place.glob("*.y*ml"), *place.glob("config*/*.y*ml")]):
            try:
                data = Document.read(file).data
            except InputError:
                continue
            if isinstance(data, Mapping) and isinstance(data.get("annotation_schemes"), list):
                return dict(_schemes(data["annotation_schemes"])), _instances(file, data)
    return {}, {}


def _schemes(listed: Iterable[Any]) -> Iterator[tuple[str, Scheme]]:
    for scheme in listed:
        if not isinstance(scheme, Mapping) or "name" not in scheme:
            continue
        labels = tuple(
            str(label.get("name", "")) if isinstance(label, Mapping) else str(label)
            for label in scheme.get("labels") or ()
        )
        kind = str(scheme.get("annotation_type", ""))
        size = as_number(scheme.get("size")) if kind == "likert" else None
        low = as_number(scheme.get("min_value", 1 if size else None))
        yield str(scheme["name"]), Scheme(kind, labels, low, as_number(scheme.get("max_value", size)))


def _instances(file: Path, data: Mapping[Any, Any]) -> dict[str, dict[str, Any]]:
    """The instances of the project's data files, by id; files that are not there are passed over."""
    properties = data.get("item_properties")
    id_key = str(properties.get("id_key", "id")) if isinstance(properties, Mapping) else "id"
    listed = data.get("data_files") or []
    instances: dict[str, dict[str, Any]] = {}
    for entry in listed if isinstance(listed, list) else [listed]:
        name = entry.get("path", "") if isinstance(entry, Mapping) else entry
        path = file.parent / str(data.get("task_dir", ".")) / str(name)
        if not path.is_file():
            continue
        for row in _rows(path):
            if id_key in row:
                instances[str(row[id_key])] = {k: v for k, v in row.items() if k != id_key}
    return instances


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a data file; Potato calls JSON Lines `.json` as well."""
    if path.suffix in (".json", ".jsonl"):
        try:
            rows = read_json(path)
        except InputError:
            rows = list(read_jsonl(path))
        yield from (row for row in (rows if isinstance(rows, list) else [rows]) if isinstance(row, dict))
    else:
        yield from read_table(path).frame.iter_rows(named=True)
