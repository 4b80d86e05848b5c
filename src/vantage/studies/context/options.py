"""The options of the study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from vantage.studies.base import option
from vantage.studies.context.pipeline.detection import Judging
from vantage.studies.context.tasks import TASKS

ROLE: Final = "with settings of its own behind its name, or else those of --model"


@dataclass(frozen=True)
class ContextOptions:
    """What can be changed about the study."""

    GONE: ClassVar[dict[str, str]] = {
        "score": "items are scored by the entropy of the pooled answers.",
        "base": "entropies are divided by the logarithm of the number of answers, so that scales can be compared.",
        "folds": "thresholds are chosen in five folds.",
    }

    tasks: str = option("sarcasm,politeness", f"which tasks, with commas: {', '.join(TASKS)}")
    items: int = option(120, "statements per task, with labels in proportion")
    people: str = option("", "a corpus folder that vantage collect exported, judged with and without context")
    methods: str = option(
        "constant,length,words-doubt,direct,reasoning,persona,persona-reasoning,selective,selective-reasoning",
        "methods of detection, with commas; the last one that uses a model flags items",
    )
    personas: str = option("pool", "pool (the 40 bundled ones), control, or a file of your own")
    persona_count: int = option(0, "how many personas are drawn from them; 0 for all")
    samples: int = option(20, "how often a simulated reader answers at most when replies are sampled")
    stop: float = option(
        0.3, "readers stop once the error of an item's entropy is this share of the items' spread; 0 asks all of them"
    )
    most: int = option(32, "how many readers are asked at most about an item and method before they stop anyway")
    draws: int = option(5, "answers of a reader at a time, where one request can bring several; elsewhere 1")
    answers: Literal["auto", "sampling", "scoring"] = option(
        "auto", "sampled replies or scored options; auto scores the embedded model and samples all others"
    )
    ambiguous_in: bool = option(True, "whether ambiguous counts as an answer inside the entropy")
    target: Literal["doubt", "entropy", "ambiguity"] = option("doubt", "what of people's votes makes an item ambiguous")
    mark: float = option(0.4, "from which value on it does; 0.4 of the doubt are two of five readers")
    threshold: Literal["youden", "budget"] = option("youden", "how thresholds are chosen on held-out items")
    budget: float = option(0.25, "the share of items for which context can be afforded")
    simulator: str = option("", f"the models that simulate readers; {ROLE}")
    judge: str = option("", f"the models that judge the statements, without and with context; {ROLE}")
    writer: str = option(
        "", "the model that writes contexts, named likewise; none are written without one", "generator"
    )
    verifier: str = option("", "the model that checks contexts, named likewise; the writer itself without one")
    controls: str = option("label,opposite,blind", "what contexts are written for: label, opposite, blind")
    least: float = option(4.0, "the least answer of the verifier, from 1 to 5, that a context must get")
    attempts: int = option(3, "how often a context is written before the item is dropped")
    first_person: bool = option(True, "whether only statements in the first person are sampled")
    evaluate: bool = option(True, "whether the models judge the statements themselves")
    styles: str = option(
        "zero-shot,reasoning,few-shot:3,few-shot:5,few-shot:10", "the prompting styles of the judging models"
    )
    ambiguous: bool = option(True, "whether judging models are offered the answer ambiguous")
    runs: int = option(3, "how often every judging model answers")
    temperature: float = option(0.2, "of the judging models")
    check: int = option(0, "leave so many kept and so many rejected contexts in check/, for people to check blinded")
    checked: str = option("", "the corpus folder of people's checks that vantage collect exported")
    resamples: int = option(1000, "how often items are resampled for intervals")

    def judging(self, seed: int) -> Judging:
        """How methods of detection are judged."""
        return Judging(self.target, self.mark, self.threshold, self.budget, self.resamples, seed)
