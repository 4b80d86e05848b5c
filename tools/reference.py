"""Writes the pages of the documentation that follow from the code: `make reference`.

tests/test_docs.py compares the pages with what is written here, so that they cannot fall behind.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import vantage
import vantage.perspective
from tools import pictures
from tools.formats import reference
from tools.gallery import FIGURES, picture
from tools.signatures import signatures
from tools.structure import drawing
from vantage.collect.document import StudyDocument
from vantage.instruments.document import InstrumentDocument

DOCS = Path(__file__).resolve().parents[1] / "docs"

INSTRUMENT = """
Every key of an instrument file. It is written from the models that check the file, so it is complete and true for this
version. [instruments.md](instruments.md) explains how to write one; `vantage instruments check FILE` reports every
problem with its line, and `vantage instruments schema` prints the JSON Schema for editors.
"""
STUDY = """
Every key of a study file for the annotation server. It is written from the models that check the file.
[collect-study.md](collect-study.md) explains what the keys are for; `vantage collect check FILE` reports every problem
with its line.
"""
API = """
The names that `import vantage` offers. They keep their meaning between minor versions; everything else may change. Each
has a docstring with an example that runs: `help(vantage.measures.alpha)`.
"""


def api() -> str:
    """The public names with the first sentence of each."""
    blocks = ["# Public names", API.strip()]
    for module in (vantage, vantage.measures, vantage.perspective):
        rows = ["| name | what it is |", "| --- | --- |"]
        rows += [f"| `{name}` | {_sentence(getattr(module, name))} |" for name in sorted(module.__all__, key=str.lower)]
        blocks += [f"## `{module.__name__}`", "\n".join(rows)]
    return "\n\n".join(blocks) + "\n"


def _sentence(thing: object) -> str:
    if isinstance(thing, str):
        return "the version"
    text = inspect.getdoc(thing) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


PAGES: Final[dict[str, Callable[[], str]]] = {
    "instrument-reference.md": lambda: reference(InstrumentDocument, "The keys of an instrument file", INSTRUMENT),
    "study-reference.md": lambda: reference(StudyDocument, "The keys of a study file", STUDY),
    "api.md": api,
    "images/structure.svg": drawing,
    **{f"images/gallery-{name}.svg": partial(picture, name) for name in FIGURES},
    **{f"images/{name}.svg": partial(pictures.chart, name) for name in pictures.CHARTS},
    "images/scaling.svg": pictures.scaling,
    "../src/vantage/measures/_signatures.pyi": signatures,
}
"""What writes every generated file, by its path from docs/."""


if __name__ == "__main__":
    for name, write in PAGES.items():
        (DOCS / name).write_text(write(), "utf-8")
    pictures.photograph()
