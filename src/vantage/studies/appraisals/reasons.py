"""The reasons given: how alike they are, what they are like, what they are about, and whether they fit the rating."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.measures.diversity import text_diversity
from vantage.measures.phrases import class_phrases
from vantage.measures.rationale.agreement import rationale_similarity
from vantage.measures.rationale.form import rationale_form
from vantage.measures.rationale.topics import topics
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.report.published import Published
from vantage.studies.appraisals.analysis import Analysis
from vantage.studies.appraisals.reason_fit import fit_of_reasons
from vantage.studies.appraisals.reason_likeness import above_chance, experts_alike, published_likeness

PROMPT_WORDS: Final = (
    "narrator narrator's narrators situation situations post feel feels feeling felt think thinks thought extent "
    "mention "
    "mentions mentioned mentioning says said say state states stated express expresses text author seems seem"
)
"""Words that stand in nearly every rationale because the questions have them."""
DIVERSITY: Final = 150
"""How many texts of each rater Self-BLEU compares."""


def reasons(analysis: Analysis) -> tuple[Section, list[Finding], list[Published]]:
    """The section on rationales, its findings, and the draft's figures beside ours."""
    like = analysis.likeness
    options: dict[str, Any] = {
        "metrics": like.metrics,
        "smoothing": like.smoothing,
        "tokens": like.tokens,
        "weights": like.weights,
        "encode": like.encode,
        "bertscore": like.bertscore,
        "resamples": analysis.resamples,
        "seed": analysis.seed,
    }
    parts: list[Table | Figure] = []
    published: list[Published] = []
    findings: list[Finding] = []
    shown: dict[str, Column | str] = {"estimate": Column("likeness", digits=3)}
    if analysis.shared:
        experts = experts_alike(analysis, options)
        published = published_likeness(experts)
        findings += above_chance(experts)
        note = (
            "Texts by one hand are more alike than texts by two, so a baseline must be by the hand that the actual "
            "pairs are by: the rows of the other annotator."
        )
        parts.append(
            Table(
                "reasons-agreement",
                "Likeness of the two annotators' rationales, beside chance baselines.",
                experts,
                shown,
                ("metric", "pairs", "candidates_by", "estimate", "compared"),
                ("metric", "pairs", "candidates_by"),
                [note],
            )
        )
    if analysis.model_names:
        similar = rationale_similarity(analysis.judged, **options)
        parts += [
            Table(
                "reasons-models",
                "Likeness of models' rationales to people's (all people's rationales as references).",
                similar,
                shown,
                ("model", "metric", "pairs", "estimate", "compared", "reason"),
                ("model", "metric", "pairs"),
            ),
            Figure(
                "reasons-models",
                "ROUGE-L of models' rationales with people's, and of the model's rationales for something else.",
                "Bars per model and kind of pair, with 95 % intervals over posts.",
                "bars",
                similar.filter(pl.col("metric") == "rouge-l").select("model", "pairs", "estimate", "low", "high"),
                {"category": "model", "series": "pairs", "label": "ROUGE-L"},
            ),
        ]
    parts += _forms(analysis)
    fits = fit_of_reasons(analysis)
    parts.append(
        Table(
            "reasons-fit",
            "Whether rationales fit their ratings: the rating is read off the rationale by a ridge regression on the "
            "words of "
            "people's rationales (for people on posts that it has not seen), and compared with the rating that was "
            "given.",
            fits,
            {
                "r": Column("r, within questions", digits=2),
                "error": Column("mean absolute error", digits=2),
                "silent_rated": Column("rated although it says that the text does not tell", percent=True, digits=1),
            },
            keys=("rater",),
        )
    )
    parts += _themes(analysis)
    text = [
        "Rationales are compared by words in common. All reasons for one question share its words, and all reasons "
        "about one post share the post's; two baselines show how much."
    ]
    return Section("The reasons given", text, parts), findings, published


def _forms(analysis: Analysis) -> list[Table | Figure]:
    items = analysis.corpus.items.select("item", "text")
    frame = analysis.judged.join(items, on="item", how="left", maintain_order="left")
    form = rationale_form(frame, resamples=analysis.resamples, seed=analysis.seed)
    texts = analysis.judged.select("rater", pl.col("rationale").alias("text")).drop_nulls()
    size = min([DIVERSITY, *texts.group_by("rater").len()["len"]])
    varied = text_diversity(texts, by="rater", size=size, repeats=3, seed=analysis.seed) if len(texts) else None
    shown = ("rater", "property", "estimate", "judgments", "left_out")
    caption = "What rationales are like: means with 95 % intervals over posts."
    parts: list[Table | Figure] = [
        Table("reasons-form", caption, form, {"estimate": Column("mean", digits=3)}, shown, ("rater", "property"))
    ]
    if varied is not None:
        caption = (
            f"How varied rationales are: Self-BLEU of {size} texts each (lower is more varied) and the entropy of word "
            "pairs and triples, in bits, at equal numbers of them."
        )
        digits = {
            "self_bleu": Column("Self-BLEU", digits=3),
            "entropy_2": Column(digits=2),
            "entropy_3": Column(digits=2),
        }
        listed = ("rater", "texts", "self_bleu", "entropy_2", "entropy_3")
        parts.append(Table("reasons-diversity", caption, varied, digits, listed, ("rater",)))
    return parts


def _themes(analysis: Analysis) -> list[Table | Figure]:
    texts = analysis.people.select(
        "item", pl.col("question").replace_strict(analysis.titles).alias("appraisal"), pl.col("rationale").alias("text")
    ).drop_nulls()
    words = class_phrases(texts, of="appraisal", names=PROMPT_WORDS.split(), count=8, longest=2, least_texts=5)
    listed = words.group_by("appraisal", maintain_order=True).agg(pl.col("phrase").str.join(", ").alias("phrases"))
    distinctive = Table(
        "reasons-words",
        "What distinguishes the rationales of each question (class-based TF-IDF).",
        listed,
        keys=("appraisal",),
    )
    if not analysis.topics:
        return [distinctive]
    found = topics(
        texts,
        by="appraisal",
        count=analysis.topics,
        fits=analysis.fits,
        stop_words=PROMPT_WORDS.split(),
        seed=analysis.seed,
    )
    themes = Table(
        "reasons-topics",
        "Topics of people's rationales per question (latent Dirichlet allocation).",
        found,
        {"share": Column(percent=True, digits=0), "coherence": Column(digits=2), "stability": Column(digits=2)},
        ("appraisal", "topic", "words", "share", "coherence", "stability"),
        ("appraisal", "topic"),
        [
            "Coherence: 1 always together, 0 as chance would have it. Stability: how much of the topic other seeds "
            "find again; below one half a topic should not be interpreted."
        ],
    )
    return [distinctive, themes]
