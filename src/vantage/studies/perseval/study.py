"""The recipe: read the corpora, run every feasible cell, and ask for whom each rater works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vantage.corpora import Corpus
from vantage.corpora.storage import is_corpus
from vantage.errors import InputError, nearest
from vantage.report.parts import Finding, Result, Section
from vantage.studies.base import Study, option
from vantage.studies.execution import Context
from vantage.studies.perseval.cells import planned
from vantage.studies.perseval.evaluated import Evaluated, evaluated
from vantage.studies.perseval.explained_part import people_and_models
from vantage.studies.perseval.fairness_part import fairness, minority
from vantage.studies.perseval.groups_part import shared_tasks, soft
from vantage.studies.perseval.jury_part import juries
from vantage.studies.perseval.learning import learn
from vantage.studies.perseval.prompting import prompt
from vantage.studies.perseval.published_part import published
from vantage.studies.perseval.scores_part import scores, setting
from vantage.studies.perseval.sources import read, tasks
from vantage.studies.perseval.stored import Predictions
from vantage.studies.perseval.traits_part import changes, lattice
from vantage.studies.perseval.whom_part import for_whom

SCORING: Final = ("auto", "on", "off")
DRAWS: Final = ("auto", "balanced", "paper")


@dataclass(frozen=True)
class Options:
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
    groups: str = option("hub", "names of the groups of HS-Brexit: hub (the paper's) or lewidi (the other way round)")
    threshold: float = option(0.5, "users with a lower F1 are counted as not served")
    resamples: int = option(500, "resamples behind every interval; 0 for none")


def collect(context: Context[Options]) -> Corpus:
    """The corpora with what every feasible cell predicts for their test users."""
    options = context.options
    _check(options)
    assert context.data is not None  # noqa: S101 - the study needs data
    names = [Corpus.read(context.data).about.name or context.data.name] if is_corpus(context.data) else chosen(options)
    corpus = read(context.data, names, question=options.question, traits=options.traits, groups=options.groups)
    for task in tasks(corpus, names, draw=options.draw, seed=options.split_seed):
        cells = planned(task, options, context.models)
        kept = Predictions(task, context)
        try:
            learn(task, cells, context, kept)
            prompt(task, cells, context, kept)
        finally:
            corpus = kept.added(corpus)
            context.reached = corpus
    return corpus


def analyse(corpus: Corpus, context: Context[Options]) -> Result:
    """The sections of the report; the first screen says for whom each corpus' best rater works."""
    options = context.options
    names = corpus.items["corpus"].unique(maintain_order=True).to_list()
    found = [
        evaluated(corpus, task, planned(task, options, context.models), options)
        for task in tasks(corpus, names, draw=options.draw, seed=options.split_seed)
    ]
    sections: list[Section] = []
    findings: list[Finding] = []
    whom, told = for_whom(found, options.threshold)
    findings += told
    sections += [whom, setting(found), *scores(found), fairness(found, options.threshold), minority(found)]
    for part in (soft, shared_tasks, lattice, changes, people_and_models, juries):
        section, told = part(found)
        sections += [section] if section is not None else []
        findings += told
    sections.append(published(found, options.groups))
    return Result(sections, findings, _warnings(found, context), METHODS)


def chosen(options: Options) -> list[str]:
    """The corpora that are named, each once."""
    names = list(dict.fromkeys(part.strip() for part in options.corpus.split(",") if part.strip()))
    if not names:
        raise InputError("no corpus is named", remedy="say --corpus hs-brexit")
    return names


def _check(options: Options) -> None:
    for name, value, known in (("scoring", options.scoring, SCORING), ("draw", options.draw, DRAWS)):
        if value not in known:
            raise InputError(f"{name} '{value}' is not known", remedy=nearest(value, known))
    if not 0 <= options.threshold <= 1:
        raise InputError(f"a threshold of {options.threshold} is no F1", remedy="use for example 0.5")
    if min(options.texts, options.resamples) < 0 or options.shown < 1:
        raise InputError("texts and resamples cannot be negative, and one earlier answer must be shown")


def _warnings(found: list[Evaluated], context: Context[Options]) -> list[str]:
    told = []
    for one in found:
        users = one.task.split().test["rater"].n_unique()
        if one.over == "texts":
            told.append(
                f"{one.task.name} is tested for {users} users only. Intervals resample texts, so they speak of these "
                "people; a difference between groups is a difference between very few."
            )
        if one.task.name == "hs-brexit":
            told.append(
                "HS-Brexit: two releases give the two groups of annotators opposite names. The names used here are "
                f"those of: {context.options.groups}."
            )
        if one.asked is not None and len(one.asked.test) < len(one.task.split().test):
            told.append(
                f"{one.task.name}: models were asked about {one.asked.test['item'].n_unique():,} of "
                f"{one.task.split().test['item'].n_unique():,} texts; their rows rest on "
                f"{len(one.asked.test):,} annotations."
            )
    return told


METHODS: Final = [
    "Annotators who train a rater and users it is tested for are different people; the test set is the same for every "
    "variant. Named users are known by their traits; adaptation annotations are dropped (none), added to training "
    "(train) or looked at when a user is met (test); in extended splits the texts of the test set may be in training, "
    "judged by others. HS-Brexit and MD-Agreement are split exactly as by the library of the paper.",
    "F1 is that of the positive class for questions with two answers, and the average over classes for others. A class "
    "counts in the users, texts and trait values in which people chose it, so that all raters are averaged over the "
    "same ones; the library of the paper averages over another set for every rater. An answer that could not be read "
    "is wrong for every class.",
]

STUDY: Final = Study(
    "perseval",
    "Whose perspective does a model take?",
    (
        "For whom does a model work, and for whom does it not?",
        "Does it help to tell a model who answers, or what they answered before?",
        "Does a model use traits as far as these matter among people, or does it stereotype?",
    ),
    Options,
    collect,
    analyse,
    needs_data="HS-Brexit, MD-Agreement, MP and CSC are at le-wi-di.github.io; any corpus folder will do",
    libraries=("scikit-learn", "torch", "transformers"),
)
