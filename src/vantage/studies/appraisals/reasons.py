"""The reasons given: how alike they are, how varied, what they are about, and whether they fit their ratings."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.ratings import Floats
from vantage.measures.rationale.agreement import rationale_agreement, rationale_similarity
from vantage.measures.rationale.form import says_nothing
from vantage.measures.rationale.pairs import ACTUAL, SAME_ITEM, SAME_QUESTION, Writer
from vantage.measures.rationale.topics import topics
from vantage.measures.relations.correlations import coefficient
from vantage.measures.resampling import item_codes
from vantage.measures.texts.diversity import text_diversity
from vantage.measures.texts.phrases import class_phrases
from vantage.report.engine import Absent, there
from vantage.studies.appraisals.analysis import Appraised
from vantage.studies.appraisals.coding import clustered, p_over_posts

_PROMPT_WORDS: Final = """
narrator narrator's narrators situation situations post feel feels feeling felt think thinks thought extent mention
mentions mentioned mentioning says said say state states stated express expresses text author seems seem
"""
PROMPT_WORDS: Final = tuple(_PROMPT_WORDS.split())
"""Words that stand in nearly every rationale because the questions have them."""
DIVERSITY: Final = 150
"""How many texts of each rater Self-BLEU compares."""
OTHER: Final = "the other annotator"
BASELINES: Final[tuple[tuple[str, Writer, bool], ...]] = (
    (OTHER, "other", False),
    ("either annotator", "any", False),
    ("either annotator, reference included", "any", True),
)
"""Who wrote the texts that chance draws: the draft seems to draw from either, and from the reference itself."""

_WHAT: Final = {
    SAME_QUESTION: "the same question about another post",
    SAME_ITEM: "another question about the same post",
}


@lru_cache(maxsize=1)
def reasons_agreement(analysis: Appraised) -> pl.DataFrame:
    """The annotators' pairs with baselines by the other hand, by either hand, and by either hand with the leak."""
    if "rationale" not in analysis.experts.judgments.columns:
        raise Absent
    frames = []
    for name, writer, leak in BASELINES:
        how: dict[str, Any] = {"draws": analysis.options.draws, "writer": writer, "with_itself": leak}
        agreement = rationale_agreement(analysis.experts.judgments, direction="ordered", **how, **_options(analysis))
        if leak:
            agreement = agreement.filter(pairs=SAME_ITEM)
        elif name != OTHER:
            agreement = agreement.filter(pl.col("pairs") != ACTUAL)
        frames.append(agreement.with_columns(pl.lit(name).alias("candidates_by")))
    return pl.concat(frames, how="diagonal_relaxed")


def experts_beyond_chance(analysis: Appraised) -> pl.DataFrame:
    """How many more words two experts' reasons share than chance gives, by kind of chance."""
    return _rouge(reasons_agreement(analysis))


@lru_cache(maxsize=1)
def reasons_models(analysis: Appraised) -> pl.DataFrame:
    """Models' rationales beside people's."""
    if "rationale" not in there(analysis.by_models).columns:
        raise Absent
    return rationale_similarity(analysis.judged, **_options(analysis))


def models_beyond_chance(analysis: Appraised) -> pl.DataFrame:
    """How many words models' reasons share with people's, and how many more than chance gives."""
    return _rouge(reasons_models(analysis))


def reasons_diversity(analysis: Appraised) -> pl.DataFrame:
    """How varied the rationales of each rater are, from as many texts each."""
    texts = there(analysis.judged.select("rater", pl.col("rationale").alias("text")).drop_nulls())
    size = min([DIVERSITY, *texts.group_by("rater").len()["len"]])
    return text_diversity(texts, by="rater", size=size, repeats=3, seed=analysis.seed)


def reasons_words(analysis: Appraised) -> pl.DataFrame | None:
    """What distinguishes the rationales of each question."""
    words = class_phrases(_texts(analysis), of="appraisal", names=PROMPT_WORDS, count=8, longest=2, least_texts=5)
    return words.group_by("appraisal", maintain_order=True).agg(pl.col("phrase").str.join(", ").alias("phrases"))


def reasons_topics(analysis: Appraised) -> pl.DataFrame | None:
    """Topics of people's rationales per question; none where none are asked for."""
    options = analysis.options
    if not options.topics:
        return None
    how: dict[str, Any] = {"count": options.topics, "fits": options.fits, "stop_words": PROMPT_WORDS}
    return topics(_texts(analysis), by="appraisal", seed=analysis.seed, **how)


def reasons_fit(analysis: Appraised) -> pl.DataFrame | None:
    """How well each rater's ratings can be read off their rationales.

    The reader is a ridge regression on words and questions that learns from people. People's own rationales are read by
    one that has not seen their posts.
    """
    reasons = analysis.judged.drop_nulls(["value", "rationale"])
    people = reasons.filter(kind="person")
    folds = analysis.options.folds
    if people["item"].n_unique() < folds:
        return None
    places = {post: place % folds for place, post in enumerate(sorted(people["item"].unique()))}
    fold = reasons["item"].replace_strict(places, default=None, return_dtype=pl.Int64)
    # People's rationales are read fold by fold, those of others by a reader that has learnt from all.
    number = pl.when(kind="person").then(fold).otherwise(-1)
    reasons = reasons.with_columns(number.alias("fold"))
    read = np.zeros(len(reasons))
    for (part,), mine in reasons.with_row_index("row").group_by("fold"):
        reader = _Reader(reasons.filter((pl.col("kind") == "person") & (pl.col("fold") != part)))
        read[mine["row"].to_numpy()] = reader.read(mine)
    rows = []
    for (rater,), mine in reasons.with_columns(pl.Series("read", read)).group_by(["rater"], maintain_order=True):
        silent = np.array([says_nothing(text) for text in mine["rationale"]])
        error = float((mine["value"] - mine["read"]).abs().mean() or 0.0)  # type: ignore[arg-type]
        head = {"rater": rater, "rationales": len(mine), **_within(mine, analysis)}
        rows.append({**head, "error": error, "silent_rated": float(silent.mean())})
    return pl.DataFrame(rows, infer_schema_length=None).sort("rater")


def _options(analysis: Appraised) -> dict[str, Any]:
    like = analysis.likeness
    names = ("metric", "smoothing", "tokens", "weights", "encode", "bertscore")
    return {**{n: getattr(like, n) for n in names}, "resamples": analysis.options.resamples, "seed": analysis.seed}


def _rouge(scores: pl.DataFrame) -> pl.DataFrame:
    """The rows of ROUGE-L, and in words under `what` what the candidates are reasons for."""
    there(scores.drop_nulls("estimate"))
    rows = scores.filter(metric="rouge-l").with_columns(pl.col("pairs").replace(_WHAT).alias("what"))
    p = [
        p_over_posts(row[:3], row[3]) for row in rows.select("beyond", "beyond_low", "beyond_high", "items").iter_rows()
    ]
    return rows.with_columns(pl.Series("p", p, dtype=pl.Float64))


def _texts(analysis: Appraised) -> pl.DataFrame:
    return analysis.by_people.select("item", "appraisal", pl.col("rationale").alias("text")).drop_nulls()


def _within(mine: pl.DataFrame, analysis: Appraised) -> dict[str, float | None]:
    """The correlation of ratings given and read, after taking off questions' means, with its interval over posts."""
    centred = mine.select(pl.col(name) - pl.col(name).mean().over("question") for name in ("value", "read"))
    one, two = (column.to_numpy() for column in centred)
    if len(mine) < 3 or np.std(one) < 1e-9 or np.std(two) < 1e-9:
        return dict.fromkeys(("r", "r_low", "r_high", "p"))
    (low, high), p = clustered(one, two, item_codes(mine["item"])[0], analysis.how)
    return {"r": coefficient(one, two, "pearson"), "r_low": low, "r_high": high, "p": p}


class _Reader:
    """Reads ratings off rationales, as it has learnt from some."""

    def __init__(self, known: pl.DataFrame) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import Ridge
        from sklearn.preprocessing import OneHotEncoder

        self.terms = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True).fit(known["rationale"].to_list())
        self.asked = OneHotEncoder(handle_unknown="ignore").fit(known.select("question").to_numpy())
        self.model = Ridge(alpha=1.0, solver="lsqr").fit(self._features(known), known["value"].to_numpy())

    def read(self, rationales: pl.DataFrame) -> Floats:
        """One rating from 1 to 9 for each."""
        return np.clip(np.asarray(self.model.predict(self._features(rationales)), dtype=np.float64), 1, 9)

    def _features(self, rationales: pl.DataFrame) -> Any:
        from scipy.sparse import hstack

        words = self.terms.transform(rationales["rationale"].to_list())
        return hstack([words, self.asked.transform(rationales.select("question").to_numpy())]).tocsr()
