"""Writing the first files of a project, an instrument or a study; nothing that exists is ever replaced."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final

from vantage.corpora import Corpus
from vantage.corpora.writers.place import put_file, put_folder
from vantage.documents import dump
from vantage.errors import InputError
from vantage.instruments import Instrument

PROJECT: Final = ("README.md", "instrument.yaml", "ratings.csv", "study.yaml", "collect.yaml")
"""The files of a project, in the order of reading."""


def new_project(path: Path) -> list[Path]:
    """Writes a folder with an instrument, invented ratings, a study, and a file for collecting."""
    name = _name(path.name)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError("the file or folder exists already", file=path, remedy="choose another name")

    def prepare(folder: Path) -> None:
        for file in PROJECT:
            (folder / file).write_text(_filled(file, name, file), encoding="utf-8")

    put_folder(path, prepare, ours=())
    return [path / file for file in PROJECT]


def new_instrument(path: Path, corpus: Corpus | None = None) -> list[Path]:
    """Writes an instrument file: an example, or the questions of a corpus; `.yaml` is added to a name without it."""
    path = _yaml(path)
    if corpus is None:
        return [_put(path, _filled("instrument.yaml", _name(path.stem), path.name))]
    scales = {question.id: question.scale for question in corpus.questions}
    wordings = {question.id: question.ask for question in corpus.questions}
    made = Instrument.of_questions(_name(path.stem), corpus.about.title or path.stem, scales, wordings)
    return [_put(path, _filled("questions.yaml", made.id, path.name) + dump(dict(made.document)))]


def new_study(path: Path) -> list[Path]:
    """Writes the recipe of a study; `.yaml` is added to a name without it."""
    path = _yaml(path)
    return [_put(path, _filled("study.yaml", _name(path.stem), path.name))]


def _yaml(path: Path) -> Path:
    return path if path.suffix in (".yaml", ".yml") else path.with_name(f"{path.name}.yaml")


def _put(path: Path, text: str) -> Path:
    if path.exists():
        raise InputError("the file or folder exists already", file=path, remedy="choose another name")

    def prepare(file: Path) -> None:
        file.write_text(text, encoding="utf-8")

    put_file(path, prepare)
    return path


def _filled(file: str, name: str, called: str) -> str:
    text = (resources.files("vantage.scaffold") / "files" / f"{file}.txt").read_text("utf-8")
    # What is filled in are letters, digits and hyphens, and a name of a file that is one of ours or holds no more.
    called = called if re.fullmatch(r"[\w. -]+", called) else file
    return Template(text).substitute(name=name, title=name.replace("-", " ").capitalize(), file=called)


def _name(text: str) -> str:
    """The name inside the files: small letters, digits and hyphens, a letter first.

    >>> _name("My Study_2")
    'my-study-2'
    """
    name = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")
    if not name[:1].isalpha():
        raise InputError(f"'{text}' cannot be the name", remedy="use a name that begins with a letter from a to z")
    return name
