"""What every way to learn can do, and how a rater is saved: a JSON file that describes it, and files of predictors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

from vantage._version import __version__
from vantage.corpora.writers.place import put_folder
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.raters.trained.base import PredictedAnswers
from vantage.raters.trained.examples import Instances
from vantage.raters.trained.held_out import FILE as HELD_OUT
from vantage.raters.trained.held_out import HeldOut
from vantage.raters.trained.people import People

FILE: Final = "rater.json"
FORMAT: Final = 2
"""The version of the folder; one of a higher version was written by a newer Vantage."""
_KEYS: Final = ("instrument", "questions", "parts", "rater", "by_mean", "about", "people", "offsets", "warnings")
_HOME: Final = "vantage.raters.trained"
KINDS: Final = {
    "baseline": (f"{_HOME}.baselines", "BaselinePredictor"),
    "linear": (f"{_HOME}.linear", "LinearPredictor"),
    "encoder": (f"{_HOME}.encoder", "EncoderPredictor"),
    "probe": (f"{_HOME}.probe", "ProbePredictor"),
    "vectors": (f"{_HOME}.probe", "VectorPredictor"),
}


class Predictor(Protocol):
    """One way to learn, once it has learned."""

    notes: list[str]
    """What must be told: texts that were cut, a GPU that was not there."""

    @property
    def people(self) -> People | None:
        """Whom it learned from, where it judges pairs, and how it represents users."""
        ...

    @property
    def aside(self) -> HeldOut | None:
        """What it says of texts that were held out; null once it is loaded, and where nothing was."""
        ...

    def about(self) -> dict[str, Any]:
        """The name of the model and how it learned."""
        ...

    def predict(self, instances: Instances) -> dict[str, PredictedAnswers]:
        """Predictions per question for texts or pairs."""
        ...

    def save(self, folder: Path, name: str) -> Mapping[str, Any]:
        """Writes what it learned into files that begin with `name`, without pickle; returns the rest as plain data."""
        ...

    @classmethod
    def load(cls, saved: SavedPredictor) -> Predictor:
        """Reads what `save` wrote."""
        ...


@dataclass(frozen=True, slots=True)
class SavedPredictor:
    """What a saved predictor is read from."""

    folder: Path
    name: str
    """What the names of its files begin with."""
    data: Mapping[str, Any]
    """What its `save` returned."""
    questions: tuple[Question, ...]
    people: People | None = None
    """Whom a predictor of pairs learned from."""

    def load(self, kind: str) -> Predictor:
        """Reads a predictor of a kind."""
        if kind not in KINDS:
            remedy = nearest(kind, list(KINDS))
            raise InputError(f"there is no kind of trained rater '{kind}'", file=self.folder, remedy=remedy)
        module, name = KINDS[kind]
        predictor: type[Predictor] = getattr(import_module(module), name)
        return predictor.load(self)


def save_rater(folder: str | Path, describe: Callable[[Path], Mapping[str, Any]], *, overwrite: bool) -> Path:
    """Writes a rater: `describe` writes the files of the predictors into a folder and returns what JSON should say."""

    def prepare(empty: Path) -> None:
        description = {"format": FORMAT, "vantage": __version__, **describe(empty)}
        (empty / FILE).write_text(json.dumps(description, ensure_ascii=False, indent=1), encoding="utf-8")

    return put_folder(Path(folder), prepare, ours=(FILE, HELD_OUT, "part-*"), overwrite=overwrite)


def described(folder: Path) -> Mapping[str, Any]:
    """The description of a saved rater."""
    file = folder / FILE
    if not file.exists():
        remedy = "make one with: vantage train, or vantage.raters.fit"
        raise InputError("there is no trained rater here", file=folder, remedy=remedy)
    try:
        content: Mapping[str, Any] = json.loads(file.read_text("utf-8"))
        version = int(content["format"])
        missing = [key for key in _KEYS if key not in content]
    except (KeyError, TypeError, ValueError):
        raise InputError("this does not describe a trained rater", file=file, remedy="fit it again") from None
    if version != FORMAT:
        saver, newer = content.get("vantage"), version > FORMAT
        problem = f"the rater was saved by {'a newer' if newer else 'an older'} Vantage ({saver})"
        raise InputError(problem, file=file, remedy="update Vantage" if newer else "fit it again")
    if missing:
        raise InputError(f"the description of the trained rater lacks '{missing[0]}'", file=file, remedy="fit it again")
    return content
