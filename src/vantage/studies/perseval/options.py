"""The options of the study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vantage.errors import InputError, nearest
from vantage.studies.base import option

SCORING: Final = ("auto", "on", "off")
DRAWS: Final = ("auto", "balanced", "paper")


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
    scoring: str = option("auto", "whether options are scored instead of replies read: auto (embedded model), on, off")
    texts: int = option(0, "how many texts of the test set are put to models; 0 for all, or 12 with quick")
    quick: bool = option(False, "two encoders on the strict split for two epochs, and 12 texts for models")
    draw: str = option("auto", "auto (the paper's draw for its corpora), balanced, or paper")
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
        names = list(dict.fromkeys(part.strip() for part in self.corpus.split(",") if part.strip()))
        if not names:
            raise InputError("no corpus is named", remedy="say --corpus hs-brexit")
        return names

    def check(self) -> None:
        """Refuses values that cannot be meant."""
        for name, value, known in (("scoring", self.scoring, SCORING), ("draw", self.draw, DRAWS)):
            if value not in known:
                raise InputError(f"{name} '{value}' is not known", remedy=nearest(value, known))
        if not 0 <= self.threshold <= 1:
            raise InputError(f"a threshold of {self.threshold} is no F1", remedy="use for example 0.5")
        if min(self.texts, self.resamples) < 0 or self.shown < 1:
            raise InputError("texts and resamples cannot be negative, and one earlier answer must be shown")
