"""The recipe: read the release, let raters learn and answer, and set published beside recomputed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.readers import load
from vantage.corpora.storage import is_corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.report.parts import Finding, Result, Section
from vantage.report.published import Published, published_table
from vantage.studies.base import Context, Study, option
from vantage.studies.wcsent.agreement_part import agreement
from vantage.studies.wcsent.annotators_part import annotators, replaceable, traits
from vantage.studies.wcsent.data_part import data
from vantage.studies.wcsent.learning import INSTRUMENT, asked, learned
from vantage.studies.wcsent.prediction_part import predictions
from vantage.studies.wcsent.printed import QUESTIONS
from vantage.studies.wcsent.scores_part import relations, scores


@dataclass(frozen=True)
class Options:
    """What can be changed about the study."""

    predict: bool = option(True, "whether raters learn from the training part and judge the test part")
    encoder: str = option(
        "auto", "auto (the embedded MiniLM where it is installed), none, a folder or a name on the hub"
    )
    probe: str = option(
        "auto", "the language model that is probed: auto (the embedded one where it is installed), none, or hf:NAME"
    )
    variants: str = option(
        "distribution", "distribution, huber-mean, huber-median, coarse-mean, coarse-median, coarse-focal"
    )
    seeds: int = option(1, "how often every encoder is trained, with one seed after the other")
    members: int = option(0, "how many networks an encoder consists of; 0 for the default")
    styles: str = option(
        "zero-shot,few-shot:6,coarse,few-shot:6+coarse", "the prompting styles of models that are named with --model"
    )
    limit: int = option(0, "only the first pairs of the test part are put to models; 0 for all")
    stance: str = option("", "a CSV file with text, target, stance (and sentiment) of the pairs")
    demographics: str = option("", "a CSV file with the annotators' traits and a column rater")


def collect(context: Context[Options]) -> Corpus:
    """The release, and on its test part the judgments of raters that learned and of models that were asked."""
    assert context.data is not None  # noqa: S101 - the study needs data
    corpus = Corpus.read(context.data) if is_corpus(context.data) else load("wcsent", context.data)
    if path := context.options.demographics:
        try:
            corpus = corpus.join_traits(pl.read_csv(path))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"the file cannot be read ({error})", file=path, remedy="give a CSV file") from None
    if "split" not in corpus.items.columns:
        context.warn("The data have no official split, so that nothing was predicted.")
        return corpus
    if context.options.predict:
        corpus = _always(learned(corpus, context))
    return asked(corpus, context) if context.models else corpus


def analyse(corpus: Corpus, context: Context[Options]) -> Result:
    """The sections of the report, in the order of a paper's results."""
    people, seed = corpus.filter(kind="person"), context.seed
    stance = Path(context.options.stance) if context.options.stance else None
    described, rows = data(people)
    agreed, more, findings = agreement(people, seed)
    rows += more
    scored, more = scores(people)
    rows += more
    related, more, found = relations(people, stance, seed)
    rows, findings = rows + more, findings + found
    predicted, more, found = predictions(corpus, seed)
    rows, findings = rows + more, findings + found
    single, found = annotators(people, seed)
    findings += found
    sections = [described, agreed, scored, related, *predicted, single]
    sections += [part for part in (traits(people), replaceable(corpus, seed)) if part is not None]
    sections.append(_published(rows))
    return Result(sections, [*findings, _verdicts(rows)], methods=METHODS)


METHODS: Final = [
    "The corpus is the public release of W&C-Sent. Dummies, regressions on words and encoders learn from the "
    "training and validation parts of the official split; encoders learn the distribution of single ratings, hold out "
    "texts in turn to decide when to stop, and are averaged. A probe is a regression on the inner states of a language "
    "model that has read the sentence; a blend is an encoder and a probe together. The majority dummy and logistic "
    "regression follow the paper: they learn from the training part, and the strength of the latter is chosen on the "
    "validation part.",
    "Gold labels are the released scores (means rounded half up) and, for three labels, their signs.",
]


def _always(corpus: Corpus) -> Corpus:
    """The corpus with the paper's dummy, which answers −1 to everything."""
    test = corpus.items.filter(split="test")["item"]
    judged = pl.concat(
        [
            pl.DataFrame({"item": test, "question": [q] * len(test), "rater": ["always −1"] * len(test)})
            for q in QUESTIONS
        ]
    ).with_columns(pl.lit(-1.0).alias("value"))
    row = pl.DataFrame({"rater": ["always −1"], "kind": ["trained"], "model": ["always −1"], "style": ["constant"]})
    return corpus.add(judged, row, [Instrument.load(INSTRUMENT)])


def _published(rows: list[Published]) -> Section:
    caption = "Figures of the paper beside what the release gives; matched is what is equal at the precision in print."
    text = (
        "Most figures of the paper are met exactly once the variant is known. Where they are not, the last "
        "column says why, "
        "as far as the release tells; the documentation of the study lists them as errata."
    )
    return Section("Published beside recomputed", [text], [published_table("published", caption, rows)])


def _verdicts(rows: list[Published]) -> Finding:
    told = [row.verdict for row in rows if "encoder" not in row.what]
    numbers = {"matched": told.count("matched"), "all": len(told), "differs": told.count("differs")}
    numbers["out"] = told.count("not recomputable")
    return Finding(
        "Of {all} printed figures about data, agreement, labels and baselines, {matched} are met, {differs} "
        "differ and {out} "
        "cannot be recomputed from the release.",
        numbers,
    )


STUDY: Final = Study(
    "wcsent",
    "Trust, sociability and competence in sentences",
    (
        "How far do annotators agree about the picture that a sentence draws of its target?",
        "How well do trained raters and language models meet their scores, and where do they fail?",
        "What do single annotators contribute, and how many does a reliable score need?",
    ),
    Options,
    collect,
    analyse,
    needs_data="the release is at github.com/nedjmaou/W_C_Sent",
    libraries=("scikit-learn", "torch", "transformers"),
)
