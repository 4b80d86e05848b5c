"""Inspect's logs (`.eval` and `.json`) as judgments: every reply is read again by Vantage's own rules.

A log of a task that Vantage wrote knows its instrument and its items. For any other log the instrument is named, and
the question where it has several; the id of a sample is the item, its input the text, and the model is the rater.

A `.eval` log is a zip archive of JSON files, which are read one by one, never unpacked, never larger than they may be.
Inspect compresses it with Zstandard. Python reads that from 3.14 on; before, the package `zstandard` does it.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import About, Corpus
from vantage.corpora.schema import JUDGMENTS
from vantage.documents import Document
from vantage.errors import InputError
from vantage.instruments import Instrument, Question
from vantage.raters.conversation import read_reply
from vantage.raters.models.base import Completion
from vantage.raters.models.evidence import ENDINGS

HOME: Final = "inspect.aisi.org.uk"
"""Why a reply ended, as Inspect says it; everything else is an ordinary end."""
LARGEST: Final = 256 * 2**20
"""Bytes of one file, unpacked; a sample of a text task has some thousands."""
ZSTANDARD: Final = 93
_HEADER: Final = struct.Struct("<4s5H3I2H")
"""The head of a file in the archive (PKWARE 2022, 4.3.7); the lengths of name and extra field stand last."""
_ATTACHED: Final = "attachment://"
_ROWS: Final = {**JUDGMENTS, "reply": pl.String, "rule": pl.String}


@dataclass(frozen=True, slots=True)
class Log:
    """One log: what was run, and its samples."""

    path: Path
    head: Mapping[str, Any]
    samples: Iterable[Mapping[str, Any]]

    @property
    def ours(self) -> Mapping[str, Any]:
        """What Vantage wrote into the task; nothing for another task."""
        metadata = (self.head.get("metadata") or {}).get("vantage")
        return metadata if isinstance(metadata, Mapping) else {}

    @property
    def rater(self) -> dict[str, str]:
        """The model that was evaluated, in the style in which it was asked, as a row of the raters."""
        model, style = f"inspect:{self.head.get('model') or 'model'}", self.ours.get("style")
        asked = {"style": str(style)} if style else {}
        return {"rater": f"{model}+{style}" if style else model, "kind": "model", "model": model, **asked}


def read(
    path: Path, *, instrument: str | Instrument | None = None, question: str | None = None, condition: str = ""
) -> Corpus:
    """Reads a log, or all logs of a folder, as one corpus.

    Args:
        path: A `.eval` or `.json` log, or a folder of logs.
        instrument: What was asked, where the task is not one that Vantage wrote.
        question: Which of its questions, where it has several.
        condition: The circumstances under which the judgments are to stand.
    """
    corpora = [_corpus(file, instrument, question, condition) for file in _files(path)]
    return corpora[0].merge(*corpora[1:])


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix == ".eval")
        files = files or sorted(file for file in path.iterdir() if file.suffix == ".json" and _is_log(file))
        if not files:
            raise InputError("the folder has no logs of Inspect", file=path, remedy="name a .eval or .json log")
        return files
    if not path.is_file():
        raise InputError("there is no such file or folder", file=path, remedy="check the path")
    return [path]


def _is_log(file: Path) -> bool:
    with file.open("rb") as stream:
        return b'"eval"' in stream.read(4096)


def _corpus(path: Path, named: str | Instrument | None, question: str | None, condition: str) -> Corpus:
    log = _open(path)
    instrument, rater = _instrument(log, named), log.rater
    condition = condition or str(log.ours.get("condition") or "")
    items: dict[str, dict[str, Any]] = {}
    rows: list[tuple[Any, ...]] = []
    for place, sample in enumerate(log.samples, 1):
        if not isinstance(sample, Mapping) or "id" not in sample:
            raise InputError("this sample has no id", file=path, row=place, remedy="this is not an Inspect log")
        metadata = _mapping(sample.get("metadata"))
        asked = _question(instrument, question or (str(metadata["question"]) if "question" in metadata else None), path)
        id_ = str(metadata.get("item", sample["id"]))
        shown = metadata.get("shown")
        items.setdefault(id_, {"item": id_, **(shown if isinstance(shown, Mapping) else {"text": _input(sample)})})
        completion = _completion(sample)
        reply = read_reply(completion, [asked], _words(items[id_]), lettered=True, prose=not log.ours)[asked.id]
        said = completion.error if completion.finish == "failed" else completion.text
        key = (id_, asked.id, rater["rater"], condition, int(sample.get("epoch") or 1) - 1)
        rows.append((*key, reply.value, reply.status, reply.rationale, said, reply.rule))
    if not rows:
        raise InputError("the log has no samples", file=path, remedy="import a log of a finished evaluation")
    return Corpus(
        items=pl.DataFrame(list(items.values()), infer_schema_length=None),
        raters=pl.DataFrame([rater]),
        judgments=pl.DataFrame(rows, schema=_ROWS, orient="row"),
        instruments=instrument,
        about=About(str(log.head.get("task") or "inspect"), f"{log.head.get('task')} in Inspect", HOME),
        place=lambda table, index: {"file": path} if table != "judgments" else {"file": path, "row": index + 1},
    )


def _open(path: Path) -> Log:
    with path.open("rb") as file:
        zipped = file.read(4) == b"PK\x03\x04"
    if zipped:
        with archive(path) as opened:
            names = opened.names
            head = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
            if head is None:
                raise InputError("the archive is not an Inspect log", file=path, remedy="name a .eval or .json log")
            header = _mapping(_mapping(opened.json(head)).get("eval"))
        return Log(path, header, _samples(path))
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise InputError("this is neither a .eval nor a .json log of Inspect", file=path) from None
    if not isinstance(data, Mapping) or not isinstance(data.get("eval"), Mapping):
        raise InputError("this is not an Inspect log", file=path, remedy="name a .eval or .json log")
    return Log(path, data["eval"], data.get("samples") or [])


def _samples(path: Path) -> Iterator[Mapping[str, Any]]:
    with archive(path) as opened:
        for name in opened.names:
            if name.startswith("samples/") and name.endswith(".json"):
                yield opened.json(name)


def _instrument(log: Log, named: str | Instrument | None) -> Instrument:
    if isinstance(named, Instrument):
        return named
    if named is not None:
        return Instrument.load(named)
    text = log.ours.get("instrument")
    document = Document.parse(text, str(log.path)).data if isinstance(text, str) else None
    if not isinstance(document, Mapping):
        problem = f"task '{log.head.get('task')}' does not say what was asked"
        raise InputError(problem, file=log.path, remedy="name the instrument with --instrument")
    return Instrument.from_document(document, file=str(log.path))


def _question(instrument: Instrument, id_: str | None, path: Path) -> Question:
    if id_ is not None:
        return instrument.question(id_)
    if len(instrument.questions) > 1:
        known = ", ".join(question.id for question in instrument.questions)
        problem = f"the log does not say which question was asked: {known}"
        raise InputError(problem, file=path, remedy="name it with --question")
    return instrument.questions[0]


def _completion(sample: Mapping[str, Any]) -> Completion:
    """The reply of a sample; one that ended with an error has failed."""
    error = sample.get("error")
    output = _mapping(sample.get("output"))
    choices = output.get("choices")
    first = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
    if error or (not first and not output.get("completion")):
        message = _mapping(error).get("message") or output.get("error") or "there is no reply"
        return Completion("", "failed", error=str(message))
    text = output.get("completion") or _text(_mapping(first.get("message")).get("content"))
    reason = str(first.get("stop_reason") or "")
    return Completion(_attached(str(text), sample), ENDINGS["inspect"].get(reason, "broken"), reason=reason)


def _input(sample: Mapping[str, Any]) -> str:
    """The input of a sample as text: what was said to the model last, where it is a conversation."""
    given = sample.get("input")
    if isinstance(given, list):
        said = [_mapping(turn) for turn in given]
        users = [turn for turn in said if turn.get("role") == "user"] or said
        given = _text(users[-1].get("content")) if users else ""
    return _attached(str(given or ""), sample)


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = [_mapping(part) for part in content]
        return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
    return str(content or "")


def _attached(text: str, sample: Mapping[str, Any]) -> str:
    """Long texts may stand among the attachments of a sample, under their name."""
    if not text.startswith(_ATTACHED):
        return text
    return str(_mapping(sample.get("attachments")).get(text.removeprefix(_ATTACHED), text))


def _words(item: Mapping[str, Any]) -> str:
    return " ".join(value for value in item.values() if isinstance(value, str))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


class Archive:
    """A zip archive whose JSON files are read by name."""

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self.path, self._file = path, file
        # A file that was written again stands twice; the last one counts.
        self._entries = {entry.filename: entry for entry in file.infolist() if not entry.is_dir()}

    @property
    def names(self) -> list[str]:
        """The names of the files, in the order in which they were written."""
        return list(self._entries)

    def json(self, name: str) -> Any:
        """The data of a file."""
        entry = self._entries[name]
        try:
            data = self._bytes(entry)
        except (OSError, EOFError, zipfile.BadZipFile, struct.error, _zstandard_error()) as error:
            raise InputError(f"'{name}' in the archive cannot be read ({error})", file=self.path) from None
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise InputError(f"'{name}' in the archive is not JSON ({error})", file=self.path) from None

    def _bytes(self, entry: zipfile.ZipInfo) -> bytes:
        if entry.flag_bits & 1:
            raise InputError("the archive is encrypted", file=self.path, remedy="unpack it first")
        if entry.compress_type != ZSTANDARD:
            with self._file.open(entry) as stream:
                return self._whole(stream, entry)
        with self.path.open("rb") as raw:
            raw.seek(entry.header_offset)
            *_, name, extra = _HEADER.unpack(raw.read(_HEADER.size))
            raw.seek(name + extra, io.SEEK_CUR)
            packed = raw.read(entry.compress_size)
        with _unpacked(packed, self.path) as stream:
            return self._whole(stream, entry)

    def _whole(self, stream: Any, entry: zipfile.ZipInfo) -> bytes:
        data: bytes = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            problem = f"'{entry.filename}' in the archive has more than {LARGEST // 2**20} MiB"
            raise InputError(problem, file=self.path, remedy="this is not a log of text samples")
        return data


@contextmanager
def archive(path: Path) -> Iterator[Archive]:
    """An opened archive."""
    try:
        file = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"this archive cannot be read ({error})", file=path) from None
    with file:
        yield Archive(path, file)


def _unpacked(packed: bytes, path: Path) -> Any:
    """A stream of what Zstandard packed, frame after frame."""
    module = _module("compression.zstd")
    if module is not None:
        return module.ZstdFile(io.BytesIO(packed))
    module = _module("zstandard")
    if module is None:
        remedy = "run: pip install zstandard; or convert it with: inspect log convert --to json"
        problem = "the log is compressed with Zstandard, which this Python cannot read"
        raise InputError(problem, file=path, remedy=remedy)
    return module.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True)


def _zstandard_error() -> type[Exception]:
    module = _module("compression.zstd") or _module("zstandard")
    error: type[Exception] = getattr(module, "ZstdError", OSError)
    return error


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None
