"""Every sentence against its numbers: on planted effects, turned round, on noise, and where little is left."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.report.noise import SEEDS, Claiming, claiming, few
from tests.report.truth import check, check_all, findings
from tests.studies.appraisals.release import DOUBLE, write
from vantage import Corpus
from vantage.measures.rationale.semantic import Likeness
from vantage.report.parts import Result
from vantage.report.recipe import Recipe
from vantage.report.record import Record
from vantage.report.sentences import Words, decide, statement
from vantage.studies.appraisals import emotions, experts, models, reasons
from vantage.studies.appraisals.analysis import Appraised
from vantage.studies.appraisals.coding import p_over_posts
from vantage.studies.appraisals.study import STUDY, read_release
from vantage.studies.base import find
from vantage.studies.execution import Context

CRITERIA = ("factuality", "relevance", "consistency", "usefulness")


def analysed(corpus: Corpus, **options: Any) -> Result:
    given: dict[str, Any] = {"resamples": 100, "draws": 1, "topics": 0, "folds": 3, **options}
    return STUDY.analyse(corpus, Context(find("appraisals").options(**given), Record("appraisals", "")))


def changed(corpus: Corpus, judgments: pl.DataFrame) -> Corpus:
    return Corpus(corpus.items, corpus.raters, judgments, corpus.instruments)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return read_release(write(tmp_path_factory.mktemp("truths") / "release"))


def planted(corpus: Corpus, turned: bool) -> Corpus:
    """Experts and the model near each other and the model's reasons praised, or all of it the other way round."""
    told = corpus.judgments.join(corpus.items.select("item", "source"), on="item", how="left", maintain_order="left")
    appraisal = ~pl.col("question").is_in(CRITERIA)
    double = pl.col("item").is_in([f"p{post}" for post in range(DOUBLE)])
    against = appraisal & ((pl.col("rater") == "chatgpt") | ((pl.col("rater") == "annotator-2") & double))
    praised = pl.col("source") == ("gold" if turned else "chatgpt")
    top = pl.when(question="relevance").then(5.0).otherwise(1.0)
    # Not quite all of it: of answers that never vary nothing is known but their signs.
    once = (pl.col("item").str.starts_with("p0-")) & (pl.col("rater") == pl.col("rater").min().over("item", "question"))
    lowest = pl.when(once).then(1.0).otherwise(0.0)
    bottom = pl.when(question="relevance").then(1 + 4 * lowest).otherwise(lowest)
    value = (
        pl.when(pl.col("source").is_not_null())
        .then(pl.when(praised).then(top).otherwise(bottom))
        .when(against & pl.lit(turned))
        .then(10 - pl.col("value"))
        .otherwise("value")
    )
    told = told.with_columns(value.alias("value")).drop("source")
    return changed(corpus, told.drop("reply") if turned else told)


def sentences(result: Result, start: str) -> list[str]:
    return [one.text for one in findings(result) if one.text.startswith(start)]


@pytest.mark.slow
def test_planted_effects_are_found_and_turn_round_with_the_labels(corpus: Corpus) -> None:
    told, turned = (analysed(planted(corpus, round_)) for round_ in (False, True))
    check_all(told)
    check_all(turned)
    assert sentences(told, "Two experts agree better than chance")
    assert sentences(turned, "Two experts agree less than chance")
    for result, side in ((told, "further from"), (turned, "closer to")):
        assert {f" is {side} people's ratings" in text for text in sentences(result, TRUE_OF_NOISE)} == {True}
    assert sentences(told, "People score the reasons of models higher than the experts': chatgpt in")
    assert sentences(turned, "People score the reasons of models lower than the experts': chatgpt in")
    assert sentences(told, "Two experts' reasons for the same thing share more words than")


@pytest.mark.slow
def test_reasons_that_share_fewer_words_than_chance_are_not_called_more_alike(corpus: Corpus) -> None:
    # One expert takes words that the other one keeps for other posts and questions.
    places = {item: place for place, item in enumerate(corpus.items["item"])}
    asked = {question.id: place for place, question in enumerate(corpus.questions)}
    side = (
        pl.col("item").replace_strict(places)
        + pl.col("question").replace_strict(asked)
        + (pl.col("rater") == "annotator-2").cast(pl.Int64)
    ) % 2
    said = pl.when(side == 0).then(pl.lit("rent is due and money is gone")).otherwise(pl.lit("nobody sleeps at night"))
    text = pl.when(pl.col("rater").str.starts_with("annotator")).then(said).otherwise("rationale")
    result = analysed(changed(corpus, corpus.judgments.with_columns(text.alias("rationale"))))
    check_all(result)
    assert not sentences(result, "Two experts' reasons for the same thing share more words than reasons for the same")
    assert sentences(result, "Two experts' reasons for the same thing share fewer words than")


@pytest.mark.parametrize(("beyond", "word"), [(-0.2, "fewer"), (0.2, "more"), (0.001, "cannot be told apart")])
def test_the_sentence_on_reasons_follows_the_difference(beyond: float, word: str) -> None:
    recipe = Recipe.bundled("vantage.studies.appraisals", experts, emotions, models, reasons)
    entry = next(e for section in recipe.sections for e in section.show if e.function == "reasons_agreement")
    row = {"candidates_by": "the other annotator", "what": "the same question about another post"}
    ends = {"beyond": beyond, "beyond_low": beyond - 0.05, "beyond_high": beyond + 0.05}
    [rule] = entry.rules or []
    frame = pl.DataFrame([{**row, **ends, "said": beyond, "p": p_over_posts(ends.values(), 40)}])
    [[finding]] = decide([statement(rule, frame, Words())])
    check(finding)
    assert word in finding.text


SAYING = Claiming("vantage.studies.appraisals", experts, emotions, models, reasons)
TRUE_OF_NOISE = "Without reading, the guess"
"""Answers at random are truly further from people than a guess is."""


def shuffled(part: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    for columns in (["value", "status"], ["rationale"]):
        part = part.with_columns(part.select(columns)[rng.permutation(len(part))].get_columns())
    return part


def noise(corpus: Corpus, seed: int) -> Corpus:
    """The release with answers, reasons, scores and emotions dealt out anew."""
    rng = np.random.default_rng(seed)
    told = corpus.judgments.drop("reply").with_columns(pl.col("question").is_in(CRITERIA).alias("evaluation"))
    parts = told.partition_by(["evaluation", "question"], maintain_order=True)
    appraisals = shuffled(pl.concat(part for part in parts if not part["evaluation"][0]), rng)
    judged = [shuffled(part, rng) for part in parts if part["evaluation"][0]]
    felt = [name for name in corpus.items.columns if name.startswith("emotion_")]
    posts = corpus.items.filter(pl.col("source").is_null())
    items = pl.concat(
        [
            posts.with_columns(posts.select(felt)[rng.permutation(len(posts))].get_columns()),
            corpus.items.filter(pl.col("source").is_not_null()),
        ]
    )
    return Corpus(items, corpus.raters, pl.concat([appraisals, *judged]).drop("evaluation"), corpus.instruments)


def on_noise(corpus: Corpus, seed: int) -> Result:
    options = find("appraisals").options(resamples=100, draws=1, topics=0, folds=2)
    # Of the measures of likeness, sentences speak of ROUGE-L alone.
    return SAYING.result(Appraised(noise(corpus, seed), options, seed, Likeness(["rouge-l"])))


def test_noise_claims_nothing(corpus: Corpus) -> None:
    assert claiming(partial(on_noise, corpus), range(1), TRUE_OF_NOISE) == {}


@pytest.mark.slow
def test_noise_hardly_ever_claims_anything(corpus: Corpus) -> None:
    assert len(found := claiming(partial(on_noise, corpus), range(SEEDS), TRUE_OF_NOISE)) <= few(SEEDS), found


def _one_rater(corpus: Corpus) -> Corpus:
    return corpus.filter(rater=["annotator-1", "chatgpt"])


def _one_post(corpus: Corpus) -> Corpus:
    return corpus.filter(item=["p0"])


def _people_only(corpus: Corpus) -> Corpus:
    return corpus.filter(rater=["annotator-1", "annotator-2"])


def _model_only(corpus: Corpus) -> Corpus:
    return corpus.filter(rater=["chatgpt"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reduced", "gone"),
    [
        (_one_rater, "Do people agree?"),
        (_one_post, "Which reasons convince people?"),
        (_people_only, "How do models compare with people?"),
        (_model_only, "Do people agree?"),
    ],
)
def test_what_is_missing_leaves_the_rest(corpus: Corpus, reduced: Callable[[Corpus], Corpus], gone: str) -> None:
    result = analysed(reduced(corpus))
    check_all(result)
    titles = [section.title for section in result.sections]
    assert gone not in titles
    assert titles[-1] == "Published beside recomputed"
    for figure in result.figures:
        assert figure.draw().axes
