"""The study itself: its options, how it collects, and how its report is put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.dictionary import Dictionary
from vantage.report.parts import Result
from vantage.studies.base import Context, Study, option
from vantage.studies.stereomap.elicitation import Plan, elicit, keyword_words, keywords_of, recounted
from vantage.studies.stereomap.groups import groups_corpus, read_groups
from vantage.studies.stereomap.people import seed_dictionary

if TYPE_CHECKING:
    from vantage.studies.stereomap.sections import Analysis

INSTRUMENT: Final = "stereotype-content"


@dataclass(frozen=True)
class Options:
    """The options of the study."""

    groups: str = option("published", 'published, reference, a file, or names: "nurses, lawyers"')
    names: Literal["people-first", "published"] = option("people-first", "in whose words the groups are named")
    form: Literal["short", "extended"] = option("extended", "which form of the instrument is asked")
    society: str = option("American society", "whose view is asked for")
    instrument: str = option("", "a translated instrument file with the same forms, instead of the bundled one")
    keyword_prompts: str = option("", "a file with the wording of the keyword questions, for other languages")
    answers: Literal["auto", "sampling", "scoring"] = option(
        "auto", "sampled replies or scored options; auto scores the embedded model and samples all others"
    )
    first: Literal["auto", "keywords", "nothing"] = option(
        "auto", "what comes before the ratings: keywords with reasons, or nothing; auto asks for them when sampling"
    )
    runs: int = option(10, "how often everything is asked")
    temperature: float = option(1.0, "of sampled replies")
    max_tokens: int = option(700, "the longest reply")
    variants: str = option("", "variants of the prompt: no-reasoning, no-instructions, bare, with commas, or all")
    variant_runs: int = option(5, "how often each variant is asked")
    k: int = option(5, "how many clusters")
    members: Literal["all", "some"] = option("all", "whether a score needs all of its questions, or any")
    dictionary: str = option("", "a dictionary file for the keywords; without it the small one that comes with Vantage")
    encoder: str = option("", "minilm or hf:NAME, for key phrases by likeness; without it by counting")
    listed: int = option(10, "how many of the highest and lowest groups are listed")
    resamples: int = option(200, "how often runs are resampled")


def plan_of(options: Options, models: tuple[str, ...]) -> Plan:
    """How the groups will be asked about, with everything that is left open decided."""
    from vantage.studies.stereomap.elicitation import VARIANTS

    answers = options.answers
    if answers == "auto":
        answers = "scoring" if models and set(models) == {"embedded"} else "sampling"
    reasons = options.first == "keywords" or (options.first == "auto" and answers == "sampling")
    named = [name.strip() for name in options.variants.split(",") if name.strip()]
    variants = tuple(VARIANTS) if named == ["all"] else tuple(named)
    words = keyword_words(options.keyword_prompts)
    sampled = {"temperature": options.temperature, "max_tokens": options.max_tokens}
    return Plan(answers, reasons, options.runs, variants, options.variant_runs, **sampled, words=words)  # type: ignore[arg-type]


def instrument_of(options: Options) -> Instrument:
    """What is asked: the form, with the society whose view is asked for."""
    loaded = Instrument.load(options.instrument or INSTRUMENT)
    form = loaded.form(options.form) if loaded.forms else loaded
    wanted = {"competence", "warmth"}
    if not wanted <= {aggregate.id for aggregate in form.aggregates}:
        raise InputError(f"instrument '{form.id}' has no scores competence and warmth", remedy="see stereotype-content")
    return form.with_parameters(society=options.society) if "society" in form.parameters else form


def collect(context: Context[Options]) -> Corpus:
    """Asks the models, or reads the judgments that were named with `--data`."""
    options = context.options
    instrument = instrument_of(options)
    _dictionary(options)
    if context.data is not None:
        corpus = Corpus.read(context.data)
        _check(corpus, instrument)
        return recounted(corpus)
    groups = read_groups(options.groups)
    if len(groups) < options.k:
        raise InputError(
            f"{len(groups)} groups cannot make {options.k} clusters",
            remedy=f"name more groups, or set k to at most {max(len(groups) - 1, 1)}",
        )
    corpus = groups_corpus(groups, instrument, published_names=options.names == "published")
    return elicit(context, corpus, instrument, plan_of(options, context.models))


def analyse(corpus: Corpus, context: Context[Options]) -> Result:
    """Tables, figures and findings, a function of the corpus and the options."""
    from vantage.studies.stereomap.sections import report

    return report(_analysis(corpus, context))


def _analysis(corpus: Corpus, context: Context[Options]) -> Analysis:
    from vantage.studies.stereomap.placing import place
    from vantage.studies.stereomap.sections import Analysis

    options = context.options
    instrument = next(
        (one for one in corpus.instruments if {"competence", "warmth"} <= {a.id for a in one.aggregates}),
        instrument_of(options),
    )
    main = corpus.judgments.filter(pl.col("condition") == "")
    sources = place(
        main,
        instrument,
        k=options.k,
        members=options.members,
        runs=options.runs,
        resamples=options.resamples,
        seed=context.seed,
    )
    encode = None
    if options.encoder:
        from vantage.raters.encoders import load_encoder

        encode = load_encoder(options.encoder)
    return Analysis(
        corpus, instrument, sources, keywords_of(corpus), _dictionary(options), encode, options.listed, context.seed
    )


def _dictionary(options: Options) -> Dictionary:
    return Dictionary.read(options.dictionary) if options.dictionary else seed_dictionary()


def _check(corpus: Corpus, instrument: Instrument) -> None:
    """Refuses a corpus that is about something else."""
    known = {question.id for question in corpus.questions}
    if not known & {question.id for question in instrument.questions}:
        raise InputError(
            "the corpus has no judgments of stereotype content",
            file=corpus.folder,
            remedy="name a corpus that this study left, or one with judgments by stereotype-content",
        )


STUDY = Study(
    "stereomap",
    "What a model thinks society thinks of people",
    (
        "Which groups does the model place where between warmth and competence?",
        "How sure is that?",
        "How does it compare with people?",
        "What does the model refuse?",
    ),
    Options,
    collect,
    analyse,
    default_models=("embedded",),
    libraries=("lemminflect", "HanTa"),
)
