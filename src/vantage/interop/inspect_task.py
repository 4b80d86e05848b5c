"""An Inspect task: a folder with `task.py`, `dataset.jsonl` and `instrument.json` that runs as it stands.

    inspect eval FOLDER/task.py --model PROVIDER/NAME

The prompts are those of a Vantage run in the same style. The log carries the instrument and the items, so that
`vantage corpora import inspect` makes judgments of it without being told anything else.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Final, Unpack

from vantage._version import __version__
from vantage.corpora import Corpus
from vantage.corpora.writers.cells import json_text
from vantage.corpora.writers.place import put_folder
from vantage.documents import dump
from vantage.errors import InputError
from vantage.interop.asked import Asked, AskedWith, Sheet, plain_name

OURS: Final = ("task.py", "dataset.jsonl", "instrument.json", "__pycache__/*")
REFUSED: Final = ("scoring", "two-step", "together", "voice")


def write(corpus: Corpus, path: Path, *, overwrite: bool = False, **chosen: Unpack[AskedWith]) -> Path:
    """Writes the folder of the task."""
    sheet = Sheet.of(corpus, **chosen, refused=REFUSED, tool="an Inspect task")
    samples = "".join(f"{json_text(_sample(sheet, asked))}\n" for asked in sheet.asked())
    if not samples:
        raise InputError("the corpus has no items to ask about", remedy="export a corpus with items")

    def prepare(folder: Path) -> None:
        (folder / "task.py").write_text(_code(sheet), encoding="utf-8")
        (folder / "dataset.jsonl").write_text(samples, encoding="utf-8")
        (folder / "instrument.json").write_text(f"{json_text(_metadata(sheet), indent=1)}\n", encoding="utf-8")

    return put_folder(path, prepare, ours=OURS, overwrite=overwrite)


def template(name: str) -> str:
    """A file that is written as it is, or nearly so."""
    return (resources.files("vantage.interop") / "templates" / f"{name}.txt").read_text("utf-8")


def _code(sheet: Sheet) -> str:
    # Only a plain name and a number are filled in: no word of an item or an instrument becomes code.
    code = Template(template("inspect_task.py")).substitute(
        name=plain_name(sheet.instrument.id), version=int(sheet.instrument.version)
    )
    return code + template("read_answer.py")


def _metadata(sheet: Sheet) -> dict[str, Any]:
    return {
        "written_by": f"vantage {__version__}",
        "style": sheet.style.name,
        "condition": sheet.condition,
        # As YAML, since JSON would turn the numbers that are keys into text.
        "instrument": dump(dict(sheet.instrument.document)),
    }


def _sample(sheet: Sheet, asked: Asked) -> dict[str, Any]:
    item, question = str(asked.item["item"]), asked.question.id
    return {
        "id": f"{item} · {question}",
        "input": [{"role": message.role, "content": message.content} for message in asked.messages],
        # Inspect wants a target; the scores look at how many people gave each answer instead.
        "target": asked.most or "",
        "metadata": {
            "item": item,
            "question": question,
            **asked.form,
            "people": dict(asked.people),
            "shown": sheet.shown(asked.item),
        },
    }
