"""The reasons given: how alike they are, what they are like, what they are about, and whether they fit the rating."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.diversity import text_diversity
from vantage.measures.phrases import class_phrases
from vantage.measures.ratings import Floats
from vantage.measures.rationale.agreement import rationale_agreement, rationale_similarity
from vantage.measures.rationale.form import rationale_form, says_nothing
from vantage.measures.rationale.pairs import SAME_ITEM, SAME_QUESTION, Writer
from vantage.measures.rationale.topics import topics
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.report.published import Published
from vantage.studies.appraisals.analysis import Analysis

PROMPT_WORDS: Final = (
    "narrator narrator's narrators situation situations post feel feels feeling felt think thinks thought extent "
    "mention "
    "mentions mentioned mentioning says said say state states stated express expresses text author seems seem"
)
"""Words that stand in nearly every rationale because the questions have them."""
OTHER: Final = "the other annotator"
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
        experts = _experts(analysis, options)
        published = _published(experts)
        findings += _above_chance(experts)
        note = "Texts by one hand are more alike than texts by two, so a baseline must compare what the actual pairs "
        "compare."
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


def _experts(analysis: Analysis, options: dict[str, Any]) -> pl.DataFrame:
    """The annotators' pairs with baselines by the other hand, by either hand, and by either hand with the leak."""
    told = []
    baselines: tuple[tuple[str, Writer, bool], ...] = (
        (OTHER, "other", False),
        ("either annotator", "any", False),
        ("either, reference included", "any", True),
    )
    for name, writer, leak in baselines:
        found = rationale_agreement(
            analysis.double, direction="ordered", draws=analysis.draws, writer=writer, with_itself=leak, **options
        )
        if leak:
            found = found.filter(pl.col("pairs") == SAME_ITEM)
        elif name != OTHER:
            found = found.filter(pl.col("pairs") != "actual")
        told.append(found.with_columns(pl.lit(name).alias("candidates_by")))
    return pl.concat(told, how="diagonal_relaxed")


def _above_chance(experts: pl.DataFrame) -> list[Finding]:
    rows = experts.filter((pl.col("candidates_by") == OTHER) & (pl.col("metric") == "rouge-l"))
    told = dict(rows.select("pairs", "estimate").iter_rows())
    if told.get("actual") is None:
        return []
    return [
        Finding(
            "Two experts' reasons share more words (ROUGE-L {actual:.3f}) than one expert's reasons for the same "
            "question about "
            "another post ({question:.3f}) or for another question about the same post ({item:.3f}); the draft reads "
            "the opposite "
            "from baselines that mix both hands.",
            {"actual": told["actual"], "question": told.get(SAME_QUESTION), "item": told.get(SAME_ITEM)},
        )
    ]


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


def fit_of_reasons(analysis: Analysis) -> pl.DataFrame:
    """How well each rater's ratings can be read off their rationales."""
    told = analysis.judged.filter(pl.col("value").is_not_null() & pl.col("rationale").is_not_null())
    people = told.filter(pl.col("kind") == "person")
    schema = {
        "rater": pl.String,
        "rationales": pl.Int64,
        "r": pl.Float64,
        "error": pl.Float64,
        "silent_rated": pl.Float64,
    }
    if people["item"].n_unique() < analysis.folds:
        return pl.DataFrame(schema=schema)
    rows = []
    for (rater,), mine in told.group_by(["rater"], maintain_order=True):
        own = mine["value"].to_numpy()
        read = _read_off(people, mine, analysis.folds, cross=mine["kind"][0] == "person")
        r = _within(mine["question"], own, read)
        silent = np.array([says_nothing(text) for text in mine["rationale"]])
        rows.append((rater, len(mine), r, float(np.abs(own - read).mean()), float(silent.mean())))
    return pl.DataFrame(rows, schema=schema, orient="row").sort("rater")


def _read_off(people: pl.DataFrame, mine: pl.DataFrame, folds: int, *, cross: bool) -> Floats:
    """Ratings predicted from rationales and questions; people's own from a model that has not seen their posts."""
    if not cross:
        return _predicted(people, mine)
    posts = {post: place % folds for place, post in enumerate(sorted(people["item"].unique()))}
    fold = mine["item"].replace_strict(posts, return_dtype=pl.Int64).to_numpy()
    known = people["item"].replace_strict(posts, return_dtype=pl.Int64).to_numpy()
    found = np.zeros(len(mine))
    for number in range(folds):
        if (fold == number).any():
            train = people.filter(pl.Series(known != number))
            found[fold == number] = _predicted(train, mine.filter(pl.Series(fold == number)))
    return found


def _predicted(train: pl.DataFrame, test: pl.DataFrame) -> Floats:
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import OneHotEncoder

    terms = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True)
    asked = OneHotEncoder(handle_unknown="ignore")
    known = hstack(
        [terms.fit_transform(train["rationale"].to_list()), asked.fit_transform(train.select("question").to_numpy())]
    )
    model = Ridge(alpha=1.0, solver="lsqr").fit(known.tocsr(), train["value"].to_numpy())
    unknown = hstack(
        [terms.transform(test["rationale"].to_list()), asked.transform(test.select("question").to_numpy())]
    )
    return np.clip(np.asarray(model.predict(unknown.tocsr()), dtype=np.float64), 1, 9)


def _within(question: pl.Series, one: Floats, two: Floats) -> float | None:
    """The correlation after taking off each question's means, so that questions' profiles do not count."""
    frame = pl.DataFrame({"q": question, "one": one, "two": two})
    centred = frame.with_columns((pl.col(c) - pl.col(c).mean().over("q")).alias(c) for c in ("one", "two"))
    if centred["one"].std() in (None, 0.0) or centred["two"].std() in (None, 0.0):
        return None
    return float(np.corrcoef(centred["one"].to_numpy(), centred["two"].to_numpy())[0, 1])


def _themes(analysis: Analysis) -> list[Table | Figure]:
    texts = analysis.people.select(
        "item", pl.col("question").replace_strict(analysis.titles).alias("appraisal"), pl.col("rationale").alias("text")
    ).drop_nulls()
    found = topics(
        texts,
        by="appraisal",
        count=analysis.topics,
        fits=analysis.fits,
        stop_words=PROMPT_WORDS.split(),
        seed=analysis.seed,
    )
    words = class_phrases(texts, of="appraisal", names=PROMPT_WORDS.split(), count=8, longest=2, least_texts=5)
    listed = words.group_by("appraisal", maintain_order=True).agg(pl.col("phrase").str.join(", ").alias("phrases"))
    return [
        Table(
            "reasons-topics",
            "Topics of people's rationales per question (latent Dirichlet allocation).",
            found,
            {"share": Column(percent=True, digits=0), "coherence": Column(digits=2), "stability": Column(digits=2)},
            ("appraisal", "topic", "words", "share", "coherence", "stability"),
            ("appraisal", "topic"),
            [
                "Coherence: 1 always together, 0 as chance would have it. Stability: how much of the topic other "
                "seeds find again; "
                "below one half a topic should not be interpreted."
            ],
        ),
        Table(
            "reasons-words",
            "What distinguishes the rationales of each question (class-based TF-IDF).",
            listed,
            keys=("appraisal",),
        ),
    ]


def _published(experts: pl.DataFrame) -> list[Published]:
    """Table 4 of the draft; baselines are draws, so theirs can match only within their sampling."""
    printed = {
        "actual": (OTHER, ("0.161", "0.085", "0.046", "0.336", "0.120", "0.262")),
        SAME_QUESTION: ("either annotator", ("0.174", "0.108", "0.076", "0.336", "0.142", "0.279")),
        SAME_ITEM: ("either, reference included", ("0.152", "0.087", "0.059", "0.305", "0.118", "0.247")),
    }
    how = {
        "actual": "first row of a post as reference; BLEU-3 with weights 0.33",
        SAME_QUESTION: "candidates by either annotator, draws with our seed; tolerance 0.006 for the draws",
        SAME_ITEM: "fits only if the reference itself may be drawn; tolerance 0.006 for the draws",
    }
    rows = []
    for kind, (by, values) in printed.items():
        told = experts.filter((pl.col("pairs") == kind) & (pl.col("candidates_by") == by))
        ours = dict(told.select("metric", "estimate").iter_rows())
        for metric, value in zip(("bleu-2", "bleu-3", "bleu-4", "rouge-1", "rouge-2", "rouge-l"), values, strict=True):
            if metric in ours:
                within = None if kind == "actual" else 0.006
                name = {"actual": "experts"}.get(kind, f"baseline, {kind}")
                rows.append(
                    Published(f"{metric}: {name}", "Tables 2 and 4", value, ours[metric], how[kind], tolerance=within)
                )
    for name, value in (
        ("experts", "0.379"),
        (f"baseline, {SAME_QUESTION}", "0.364"),
        (f"baseline, {SAME_ITEM}", "0.337"),
    ):
        why = "the draft names neither encoder nor baseline of its BERTScore"
        rows.append(Published(f"bertscore: {name}", "Table 2", value, None, why))
    return rows
