"""The study itself: its options, how it collects, and the order of its report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from vantage.corpora import Corpus
from vantage.errors import InputError, VantageError
from vantage.measures.rationale.scoring import OVERLAP, Likeness
from vantage.measures.rationale.semantic import BertScore
from vantage.report.parts import Result, Section
from vantage.report.published import Published, published_table
from vantage.studies.appraisals.analysis import THIRDS, Analysis
from vantage.studies.appraisals.collecting import INSTRUMENT, read_release
from vantage.studies.base import Study, option
from vantage.studies.execution import Context

STYLES: Final = {"one": ("zero-shot",), "two": ("two-step",), "both": ("zero-shot", "two-step")}


@dataclass(frozen=True)
class Options:
    """The options of the study."""

    steps: Literal["one", "two", "both"] = option(
        "both", "how models are asked: rating and reason at once, the reason after the rating, or each way"
    )
    runs: int = option(5, "how often a model is asked, each time with another seed")
    temperature: float = option(0.1, "of models that are asked")
    max_tokens: int = option(400, "the longest reply")
    posts: int = option(0, "how many posts models are asked about, from the first; 0 for all")
    encoder: str = option("", "minilm, tfidf or hf:NAME, for the likeness of rationales in meaning; none without it")
    bertscore: str = option("", "minilm or a Transformers encoder, for BERTScore; needs torch and bert-score")
    bertscore_layers: int = option(0, "from which layer; 0 for what bert-score knows, 6 for minilm")
    draws: int = option(3, "how many texts the chance baselines draw for each pair")
    topics: int = option(3, "how many topics per question; 0 for none")
    fits: int = option(3, "how many fits a topic's stability rests on")
    folds: int = option(5, "folds of the cross-validation")
    epsilon: float = option(0.2, "what a model saves, in the alternative annotator test; 0.2 is for experts")
    resamples: int = option(1000, "how often posts are resampled")


def collect(context: Context[Options]) -> Corpus:
    """The release with its recorded answers, and the answers of models that are asked now."""
    options = context.options
    if context.data is None:
        raise InputError("the appraisals study needs data", remedy="pass --data with the folder of the release")
    likeness_of(options)  # an encoder that is not known should end the run before models are asked, not after
    corpus = read_release(context.data)
    if not context.models:
        return corpus
    instrument = next(one for one in corpus.instruments if one.id == INSTRUMENT)
    rated = set(corpus.filter(question=[question.id for question in instrument.questions]).judgments["item"])
    asked = [item for item in corpus.items["item"] if item in rated][: options.posts or None]
    part = corpus.filter(item=asked)
    for style in STYLES[options.steps]:
        raters = context.raters(
            style, samples=options.runs, temperature=options.temperature, max_tokens=options.max_tokens
        )
        part = context.rate(part, raters, instrument)
    new = part.filter(rater=[rater for rater in part.raters["rater"] if rater not in set(corpus.raters["rater"])])
    return corpus.merge(new)


def likeness_of(options: Options) -> tuple[Likeness, list[str]]:
    """What rationales are compared by, and what is left out because it is not installed."""
    metrics, notes = list(OVERLAP), []
    encode = bertscore = None
    if options.encoder:
        from vantage.raters.encoders import load_encoder

        try:
            encode = load_encoder(options.encoder)
            metrics.append("embedding")
        except VantageError as error:
            notes.append(f"Likeness in meaning is left out: {error}")
    if options.bertscore:
        try:
            bertscore = _bertscore(options)
            metrics.append("bertscore")
        except VantageError as error:
            notes.append(f"BERTScore is left out: {error}")
    return Likeness(metrics, weights=THIRDS, encode=encode, bertscore=bertscore), notes


def _bertscore(options: Options) -> BertScore:
    from importlib.util import find_spec

    if not find_spec("bert_score") or not find_spec("torch"):
        raise InputError("bert-score and torch are not installed", remedy="pip install bert-score")
    if options.bertscore == "minilm":
        from vantage.raters.encoders import minilm_folder

        return BertScore(str(minilm_folder()), options.bertscore_layers or 6)
    return BertScore(options.bertscore.removeprefix("hf:"), options.bertscore_layers or None)


def analyse(corpus: Corpus, context: Context[Options]) -> Result:
    """Tables, figures and findings, a function of the corpus and the options."""
    from vantage.studies.appraisals.agreement import agreement
    from vantage.studies.appraisals.emotions import emotions
    from vantage.studies.appraisals.evaluation import evaluation
    from vantage.studies.appraisals.models import models
    from vantage.studies.appraisals.people import answers
    from vantage.studies.appraisals.reasons import reasons

    options = context.options
    likeness, notes = likeness_of(options)
    for note in notes:
        context.warn(note)
    analysis = Analysis(
        corpus,
        context.seed,
        options.resamples,
        likeness,
        options.draws,
        options.topics,
        options.fits,
        options.folds,
        options.epsilon,
    )
    with context.step("analysing", 6) as moved:
        given, first = answers(analysis)
        moved(1)
        agreed, second, published = agreement(analysis)
        moved(1)
        felt, third = emotions(analysis)
        moved(1)
        modelled, fourth, more = models(analysis)
        moved(1)
        written, fifth, further = reasons(analysis)
        moved(1)
        convincing, sixth, last = evaluation(analysis)
        moved(1)
    beside = [*published, *further, *more, *last]
    sections = [_guide(), agreed, felt, given, modelled, convincing, written, _beside(beside)]
    findings = [*second, *third, *fourth, *sixth, *fifth, *first]
    return Result(sections, findings, _warnings(analysis, beside), [_METHOD])


def _guide() -> Section:
    return Section(
        "Where to look",
        [
            "Of interest to psychologists: agreement of experts, appraisals and emotions, and the distributions come "
            "first. "
            "Of interest to language technology: models beside people, the human evaluation with the automatic "
            "measures that "
            "do or do not agree with it, and the rationales follow. The draft's figures stand beside ours at the end."
        ],
    )


def _beside(rows: list[Published]) -> Section:
    title = "Published beside recomputed"
    if not rows:
        return Section(title, ["None of the published figures can be recomputed from these data."])
    matched, differing, neither = (
        sum(row.verdict == name for row in rows) for name in ("matched", "differs", "not recomputable")
    )
    told = (
        f"Of {len(rows)} figures {matched} match, {differing} differ and {neither} cannot be recomputed from these "
        "data; each has its variant or its reason."
    )
    return Section(title, [told], [published_table("published", "As printed and as recomputed.", rows)])


def _warnings(analysis: Analysis, rows: list[Published]) -> list[str]:
    found = ["The posts tell of personal distress during the COVID-19 pandemic."]
    if any(row.where == "Table 3" for row in rows) and any(len(analysis.samples(m)) < 5 for m in analysis.model_names):
        found.append(
            "Of some models there are fewer than five runs here, while the draft's Table 3 gives means of five: "
            "figures of "
            "models can differ from it in the third digit for this reason alone."
        )
    return found


_METHOD: Final = (
    "Recorded replies were read by Vantage's parser with the questions and the ends of the scale in the wording of "
    "the release. "
    "In the coding of the draft a blank is 0. Intervals are percentile bootstrap intervals over posts."
)

STUDY = Study(
    "appraisals",
    "Twenty-four ways to see one's own situation, and the reasons given",
    (
        "How do people appraise what a post tells, and do two experts agree?",
        "Do appraisals tell the emotion?",
        "How do models' ratings and reasons compare with people's?",
        "Which reasons convince people, and does any automatic measure know it?",
    ),
    Options,
    collect,
    analyse,
    needs_data="the folder of the release of CovidET-Appraisals, or a corpus that this study left",
    libraries=("sacrebleu", "rouge-score", "bert-score", "scikit-learn"),
)
