"""The study: read the release, ask models, and run the recipe."""

from __future__ import annotations

from typing import Final

from vantage.corpora import Corpus
from vantage.studies.appraisals import emotions, experts, models, reasons
from vantage.studies.appraisals.analysis import Appraised, likeness_of
from vantage.studies.appraisals.collecting import INSTRUMENT, SERVED, AppraisalsOptions, read_release, reasons_to_judge
from vantage.studies.base import paper_prompts
from vantage.studies.execution import Context, leave, taken_back
from vantage.studies.recipes import recipe_study

STYLES: Final = {"one": "zero-shot", "two": "two-step"}


def collect(context: Context[AppraisalsOptions]) -> Corpus:
    """The release with its recorded answers, and the answers of models that are asked now."""
    options = context.options
    assert context.data is not None  # noqa: S101 - the study needs data
    likeness_of(options)  # an encoder that is not known should end the run before models are asked, not after
    corpus = read_release(context.data)
    instrument = next(one for one in corpus.instruments if one.id == INSTRUMENT)
    rated = set(corpus.filter(question=[question.id for question in instrument.questions]).judgments["item"])
    asked = [item for item in corpus.items["item"] if item in rated][: options.posts or None]
    styles = paper_prompts("appraisals")["styles"] if options.prompt == "paper" else STYLES
    for style in (styles[step] for step in STYLES if context.models and options.steps in (step, "both")):
        raters = context.raters(
            style, samples=options.runs, temperature=options.temperature, max_tokens=options.max_tokens
        )
        corpus = context.rate(corpus, raters, instrument, items=asked)
    if options.evaluate and not context.plans:
        waiting = reasons_to_judge(corpus, instrument, options.evaluate, context.seed)
        leave(context, "evaluation", waiting, "reasons", SERVED, "run this study again with --judged")
    return corpus.merge(taken_back(options.judged, "source", SERVED)) if options.judged else corpus


STUDY: Final = recipe_study(
    "appraisals", __package__, AppraisalsOptions, collect, experts, emotions, models, reasons, prepare=Appraised.of
)
