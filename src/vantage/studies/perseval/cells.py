"""The options of the study, and its cells: who is known how, is met when, on which texts, and by which rater."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, Literal

from vantage.errors import InputError
from vantage.perspective.splits import Adaptation, Users
from vantage.raters.trained.pairs import PAIR_METHODS
from vantage.studies.base import listed, option
from vantage.studies.perseval.sources import CorpusTask


@dataclass(frozen=True)
class PersevalOptions:
    """What can be changed about the study."""

    corpus: str = option(
        "hs-brexit", "corpora by name, separated by commas: hs-brexit, md-agreement, mp, mp-en, csc, …"
    )
    question: str = option("", "the question that is looked at, or CORPUS=QUESTION for some of them")
    traits: str = option(
        "auto", "the traits that are told of users, separated by commas; those of the paper by default"
    )
    methods: str = option("all", "the ways to learn that are run, separated by commas")
    encoder: str = option(
        "auto", "auto (the embedded MiniLM where it is installed), none, a folder or a name on the hub"
    )
    prompts: str = option("base,perspective,history", "how models named with --model are prompted")
    shown: int = option(5, "how many earlier answers of a user a prompt shows")
    retrieval: str = option("auto", "what makes texts similar: minilm, tfidf, hf:NAME, or auto")
    scoring: Literal["auto", "on", "off"] = option(
        "auto", "whether options are scored instead of replies read; auto for the embedded model"
    )
    texts: int = option(0, "how many texts of the test set are put to models; 0 for all, or 12 with quick")
    quick: bool = option(False, "two encoders on the strict split for two epochs, and 12 texts for models")
    draw: Literal["auto", "balanced", "paper"] = option(
        "auto", "auto (the paper's draw for its corpora), balanced, or paper"
    )
    split_seed: int = option(42, "the seed of the split; the paper's is 42")
    groups: str = option("hub", "names of the groups of HS-Brexit: hub (the paper's) or lewidi (swapped)")
    threshold: float = option(
        0.5,
        "users with a lower F1 are not served; on ordered scales, those missed by more than a step on average",
    )
    resamples: int = option(500, "resamples behind every interval; 0 for none")

    @property
    def names(self) -> list[str]:
        """The corpora that are named, each once."""
        names = listed(self.corpus)
        if not names:
            raise InputError("no corpus is named", remedy="say --corpus hs-brexit")
        return names

    def check(self) -> None:
        """Refuses values that cannot be meant."""
        if not 0 <= self.threshold <= 1:
            raise InputError(f"a threshold of {self.threshold} is no F1", remedy="use for example 0.5")
        if min(self.texts, self.resamples) < 0 or self.shown < 1:
            raise InputError("texts and resamples cannot be negative, and one earlier answer must be shown")


PROMPTS: Final = ("base", "perspective", "history")
"""Ways to prompt: nothing of the user, one trait at a time, earlier answers."""
QUICK_ENCODERS: Final = ("baseline", "tokens")
NOT_KNOWN: Final = "of an unnamed user without adaptation nothing is known"
NO_TRAITS: Final = "the corpus tells no traits of its people"


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
        extended = "–" if self.extended is None else "yes" if self.extended else "no"
        return {
            "rater": self.rater,
            "users": self.users or "–",
            "adaptation": self.adaptation or "–",
            "extended": extended,
        }


def planned(task: CorpusTask, options: PersevalOptions, models: Sequence[str] = ()) -> list[GridCell]:
    """Every cell of a corpus, with the reason for each that cannot be run."""
    cells = [cell for method in methods(options) for cell in _trained(task, method)]
    if options.quick:
        cells = [replace(cell, reason=cell.reason or _left_out(cell)) for cell in cells]
    wanted = _words(options.prompts, PROMPTS, "way to prompt")
    for model in models:
        cells += [cell for prompt in wanted for cell in _prompted(task, f"{model}: {prompt}", prompt)]
    return cells


def methods(options: PersevalOptions) -> list[str]:
    """The ways to learn that are run."""
    known = list(PAIR_METHODS)
    chosen = known if options.methods == "all" else _words(options.methods, known, "method")
    return [m for m in chosen if not PAIR_METHODS[m].torch] if options.encoder == "none" else chosen


def _trained(task: CorpusTask, method: str) -> list[GridCell]:
    if not PAIR_METHODS[method].users:
        cells = [GridCell(method, "trained", extended=extended) for extended in (False, True)]
        if method == "text-majority":
            cells[0] = replace(cells[0], reason="no text of the test set is in training, so nobody's vote is known")
        return cells
    grid = []
    for extended, users, adaptation in product((False, True), ("named", "unnamed"), ("none", "train", "test")):
        reason = _unknown(task, users, adaptation)
        grid.append(GridCell(method, "trained", users, adaptation, extended, reason))  # type: ignore[arg-type]
    return grid


def _prompted(task: CorpusTask, rater: str, prompt: str) -> list[GridCell]:
    if prompt == "base":
        return [GridCell(rater, "prompted")]
    cells = []
    for users, adaptation in product(("named", "unnamed"), ("none", "train", "test")):
        reason = _unknown(task, users, adaptation)
        if not reason and adaptation == "train":
            reason = "a prompted model is not trained"
        if not reason and prompt == "perspective" and (users == "unnamed" or adaptation == "test"):
            reason = "a perspective is told by traits alone"
        if not reason and prompt == "history" and adaptation == "none":
            reason = "without adaptation there is no history to show"
        cells.append(GridCell(rater, "prompted", users, adaptation, None, reason))  # type: ignore[arg-type]
    return cells


def _unknown(task: CorpusTask, users: str, adaptation: str) -> str:
    if users == "unnamed" and adaptation == "none":
        return NOT_KNOWN
    return NO_TRAITS if users == "named" and not task.traits else ""


def _left_out(cell: GridCell) -> str:
    """Encoders take minutes each; a quick run trains two, of which one tells named users apart, on the strict split."""
    if cell.rater not in PAIR_METHODS or not PAIR_METHODS[cell.rater].torch:
        return ""
    if cell.rater not in QUICK_ENCODERS or cell.extended or cell.users == "unnamed" or cell.adaptation == "train":
        return "left out by quick"
    return ""


def _words(text: str, known: Sequence[str], what: str) -> list[str]:
    return [word for word in listed(text, [*known, "none"], what) if word != "none"]
