"""A task of Inspect: a folder that runs there as it stands, with the prompts of a Vantage run in a style.

    inspect eval FOLDER/task.py --model PROVIDER/NAME

It has `task.py`, `dataset.jsonl` and `instrument.json`. Its log carries the instrument and the items, so that
`vantage corpora import inspect` makes judgments of it without being told anything else. The text of items is data and
never read as a template.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Unpack

from vantage._version import __version__
from vantage.corpora import Corpus
from vantage.corpora.writers.cells import json_text
from vantage.corpora.writers.place import put_files
from vantage.documents import dump
from vantage.errors import InputError
from vantage.interop.asked import Asked, AskedWith, Sheet, plain_name


def inspect_task(corpus: Corpus, path: Path, *, overwrite: bool = False, **chosen: Unpack[AskedWith]) -> Path:
    """Writes the folder of an Inspect task."""
    sheet = Sheet.of(corpus, **chosen)
    samples = "".join(f"{json_text(_sample(sheet, asked))}\n" for asked in sheet.asked())
    if not samples:
        raise InputError("the corpus has no items to ask about", remedy="export a corpus with items")

    files = {
        "task.py": _code(sheet),
        "dataset.jsonl": samples,
        "instrument.json": f"{json_text(_metadata(sheet), indent=1)}\n",
    }
    return put_files(path, files, ours=(*files, "__pycache__/*"), overwrite=overwrite)


def _code(sheet: Sheet) -> str:
    # Only a plain name and a number are filled in: no word of an item or an instrument becomes code.
    code = Template(_template("inspect_task.py")).substitute(
        name=plain_name(sheet.instrument.id), version=int(sheet.instrument.version)
    )
    return code + _template("read_answer.py")


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


def _template(name: str) -> str:
    """A file that is written as it is, or nearly so."""
    return (resources.files("vantage.interop") / "templates" / f"{name}.txt").read_text("utf-8")
