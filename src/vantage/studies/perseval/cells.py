"""The options of the study, and its cells: who is known how, is met when, on which texts, and by which rater."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final, Literal, TypeAlias, get_args

from vantage.errors import InputError
from vantage.perspective.splits import Adaptation, Users
from vantage.raters.trained.pairs import PAIR_METHODS
from vantage.studies.base import listed
from vantage.studies.perseval.sources import CorpusTask


def check(options: Any) -> None:
    """Refuses values that cannot be meant."""
    if not listed(options.corpus):
        raise InputError("no corpus is named", remedy="say --corpus hs-brexit")
    if not 0 <= options.threshold <= 1:
        raise InputError(f"a threshold of {options.threshold} is not an F1 score", remedy="use for example 0.5")
    if min(options.texts, options.resamples) < 0 or options.shown < 1:
        raise InputError("texts and resamples cannot be negative, and one earlier answer must be shown")


Variants: TypeAlias = Sequence[tuple[Users | None, Adaptation | None]]
PROMPTS: Final = ("base", "perspective", "history")
"""Ways to prompt: nothing of the user, one trait at a time, earlier answers."""
BLIND: Final = [(None, None)]
KNOWN: Final[Variants] = list(product(get_args(Users), get_args(Adaptation)))
"""Users and adaptation of raters that know nothing about users, and of raters that do."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """One rater in one variant of the task; null where the variant does not matter to the rater."""

    rater: str
    kind: Literal["trained", "prompted"]
    users: Users | None = None
    adaptation: Adaptation | None = None
    extended: bool | None = None
    reason: str = ""
    """Why it cannot be run; empty where it can."""

    @property
    def variant(self) -> str:
        """The variant in words: the `style` of its raters in the study's corpus."""
        known = [self.users, self.adaptation, {True: "extended", False: "strict", None: None}[self.extended]]
        return "/".join(part for part in known if part) or "any"

    @property
    def name(self) -> str:
        """Rater and variant."""
        return self.rater if self.variant == "any" else f"{self.rater} ({self.variant.replace('/', ', ')})"

    @property
    def knows_users(self) -> bool:
        """Whether it is told anything about the user."""
        return self.users is not None

    def row(self) -> dict[str, str]:
        """The variant as columns of a table, in the paper's order."""
        extended = {True: "yes", False: "no", None: "–"}[self.extended]
        known = {"users": self.users or "–", "adaptation": self.adaptation or "–", "extended": extended}
        return {"rater": self.rater, **known}


def planned(task: CorpusTask, options: Any, models: Sequence[str] = ()) -> list[GridCell]:
    """Every cell of a corpus, with the reason for each that cannot be run."""
    cells: list[GridCell] = []
    for method in methods(options):
        variants: Variants = KNOWN if PAIR_METHODS[method].users else BLIND
        cells += [GridCell(method, "trained", *variant, extended) for extended in (False, True) for variant in variants]
    for model, way in product(models, _words(options.prompts, PROMPTS, "way to prompt")):
        variants = BLIND if way == "base" else KNOWN
        cells += [GridCell(f"{model}: {way}", "prompted", *variant) for variant in variants]
    return [replace(cell, reason=_reason(task, cell, quick=options.quick)) for cell in cells]


def methods(options: Any) -> list[str]:
    """The ways to learn that are run."""
    known = list(PAIR_METHODS)
    chosen = known if options.methods == "all" else _words(options.methods, known, "method")
    return [m for m in chosen if not PAIR_METHODS[m].torch] if options.encoder == "none" else chosen


def _reason(task: CorpusTask, cell: GridCell, *, quick: bool) -> str:
    """Why a cell cannot be run; empty where it can."""
    way = cell.rater.rpartition(": ")[2] if cell.kind == "prompted" else ""
    if cell.users == "unnamed" and cell.adaptation == "none":
        return "of an unnamed user without adaptation nothing is known"
    if cell.users == "named" and not task.traits:
        return "the corpus tells no traits of its people"
    if cell.rater == "text-majority" and not cell.extended:
        return "no text of the test set is in training, so nobody's vote is known"
    if way and cell.adaptation == "train":
        return "a prompted model is not trained"
    if way == "perspective" and (cell.users == "unnamed" or cell.adaptation == "test"):
        return "a perspective is told by traits alone"
    if way == "history" and cell.adaptation == "none":
        return "without adaptation there is no history to show"
    if quick and not way and PAIR_METHODS[cell.rater].torch:
        # Encoders take minutes each, so that they are trained on strict splits, and of users named ones are told alone.
        strict = not cell.extended and cell.users != "unnamed" and cell.adaptation != "train"
        return "" if strict else "left out by quick"
    return ""


def _words(text: str, known: Sequence[str], what: str) -> list[str]:
    return [word for word in listed(text, [*known, "none"], what) if word != "none"]
