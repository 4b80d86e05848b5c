"""The recipe: which statements are ambiguous, which method finds them, and whether context settles them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import polars as pl

from vantage.context.controls import attached_steps
from vantage.context.simulation import METHOD
from vantage.corpora import Corpus
from vantage.report.parts import Finding, Result, Section
from vantage.studies.base import Study, option
from vantage.studies.context.collecting import COSTS, collect, listed
from vantage.studies.context.contexts_part import contexts_sections
from vantage.studies.context.detecting import Detection, detection_of, judging_of, spread_of, surface_names
from vantage.studies.context.detection_part import detection_sections
from vantage.studies.context.glance_part import glance
from vantage.studies.context.models_part import models_sections
from vantage.studies.context.people_part import people_sections
from vantage.studies.context.tasks import TASK, TASKS, chosen_tasks, labels_of
from vantage.studies.execution import Context


@dataclass(frozen=True)
class Options:
    """What can be changed about the study."""

    tasks: str = option("sarcasm,politeness", f"which tasks, with commas: {', '.join(TASKS)}")
    items: int = option(120, "statements per task, as many of every label")
    people: str = option("", "a corpus folder that vantage collect exported, judged with and without context")
    methods: str = option(
        "constant,length,words,words-doubt,direct,reasoning,persona,persona-reasoning,selective,selective-reasoning",
        "methods of detection, with commas; the last one that uses a model flags items",
    )
    personas: str = option("pool", "pool (the 40 bundled ones), control, or a file of your own")
    persona_count: int = option(0, "how many personas are drawn from them; 0 for all")
    samples: int = option(20, "how often a simulated reader answers when replies are sampled")
    answers: Literal["auto", "sampling", "scoring"] = option(
        "auto", "sampled replies or scored options; auto scores the embedded model and samples all others"
    )
    score: Literal["entropy", "ambiguous", "doubt"] = option("entropy", "what of the pooled answers is the score")
    base: Literal["k", "nats", "bits"] = option("k", "the logarithm of the entropy; k makes scales comparable")
    ambiguous_in: bool = option(True, "whether ambiguous counts as an answer inside the entropy")
    target: Literal["doubt", "entropy", "ambiguity"] = option("doubt", "what of people's votes makes an item ambiguous")
    mark: float = option(0.4, "from which value on it does; 0.4 of the doubt are two of five readers")
    threshold: Literal["youden", "f1", "budget"] = option("youden", "how thresholds are chosen on held-out items")
    budget: float = option(0.25, "the share of items for which context can be afforded")
    folds: int = option(5, "folds of items of which each is flagged by what was learned on the others")
    generator: str = option("", "the model that writes contexts; none are written without one")
    verifier: str = option("", "the model that checks them; the generator itself without one")
    controls: str = option("label,opposite,blind", "what contexts are written for: label, opposite, blind, turns")
    least: float = option(4.0, "the least answer of the verifier, from 1 to 5, that a context must get")
    attempts: int = option(3, "how often a context is written before the item is dropped")
    first_person: bool = option(True, "whether only statements in the first person get a context")
    evaluate: bool = option(True, "whether the models judge the statements themselves")
    styles: str = option(
        "zero-shot,reasoning,few-shot:3,few-shot:5,few-shot:10", "the prompting styles of the judging models"
    )
    runs: int = option(3, "how often every judging model answers")
    temperature: float = option(0.2, "of the judging models")
    resamples: int = option(1000, "how often items are resampled for intervals")


def analyse(corpus: Corpus, context: Context[Options]) -> Result:
    """The report: ambiguous statements first, then people, methods, contexts and models."""
    options, seed = context.options, context.seed
    tasks = chosen_tasks(options.tasks)
    labels = labels_of(corpus.items)
    sections: list[Section] = []
    ambiguous: list[Finding] = []
    findings: list[Finding] = []
    found: list[Detection] = []
    for task in tasks:
        part = corpus.filter(pl.col(TASK) == task.name)
        one = detection_of(
            part,
            task,
            surfaces=surface_names(listed(options.methods)),
            costs=context.noted.get(COSTS, {}),
            spread=spread_of(options),
            judging=judging_of(options, seed),
        )
        found.append(one)
        more, told = detection_sections(one)
        sections += more
        ambiguous += told[:1]
        findings += told[1:]
    how: dict[str, Any] = {"resamples": options.resamples, "seed": seed}
    settled, told = people_sections(corpus, labels, **how)
    findings += told
    written, said = contexts_sections(corpus, attached_steps(corpus))
    flagged = {item for one in found for item in one.flagged()}
    judged, heard = models_sections(judges(corpus), labels, flagged=flagged, **how)
    first, answer = glance(found, corpus, judged)
    return Result(
        [first, *sections, *settled, *written, *judged],
        [*ambiguous, *answer, *findings, *said, *heard],
        methods=[*METHODS, *_chosen(options)],
    )


def judges(corpus: Corpus) -> Corpus:
    """The corpus without simulated readers: people, and models that judge for themselves."""
    if METHOD not in corpus.raters.columns:
        return corpus
    return corpus.filter(pl.col(METHOD).is_null())


METHODS: Final = [
    "Statements are sampled with as many of every label as there are. The sarcasm labels are those of the tweets' "
    "authors; five outside readers voted on each of the test tweets, and these votes say which of them are ambiguous. "
    "The politeness labels are the top and bottom quarter of a released score, without single votes.",
    "Simulated readers answer each statement standing alone; all answers to it are pooled, and the score is read off "
    "their distribution. Methods are judged on items whose votes were not used to choose their threshold, beside "
    "random flags of the same number.",
]


def _chosen(options: Options) -> list[str]:
    inside = "an answer like the others" if options.ambiguous_in else "left out"
    return [
        f"The score is the {options.score} of the pooled answers (base {options.base}), with “ambiguous” {inside}; "
        f"an item is ambiguous to people from a {options.target} of {options.mark:g} on; thresholds are chosen by "
        f"{options.threshold} in {options.folds} folds."
    ]


STUDY: Final = Study(
    "context",
    "Which statements are ambiguous, and does context settle them?",
    (
        "Which statements do people find ambiguous when they stand alone, and which method finds them at what cost?",
        "Does a conversation around them settle it, for people and for models, and is that more than the label that "
        "was written into it?",
        "Do models keep their order when they are judged with context?",
    ),
    Options,
    collect,
    analyse,
    needs_data="a folder with isarcasmeval/ (github.com/iabufarha/iSarcasmEval) and tydip/ "
    "(github.com/Genius1237/TyDiP)",
    libraries=("scikit-learn",),
)
