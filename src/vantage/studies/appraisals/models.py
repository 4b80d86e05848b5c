"""Models against people's ratings, in all and by run, question and group, and what it takes no reading to reach."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures import Floats, several_with_intervals
from vantage.measures.scoring.floors import Score, share_of_the_way
from vantage.report.engine import Data, there
from vantage.studies.appraisals.analysis import Appraised
from vantage.studies.appraisals.coding import (
    averaged,
    compared,
    difference,
    known_means,
    matrix,
    mean_p,
    p_over_posts,
    places,
)

ALWAYS: Final = "always 5"
PROFILE: Final = "mean of the question over other posts"
MEDIAN: Final = "median of the question over other posts"
"""What it takes no reading to reach."""
ALL: Final = ("delta", "per_question", "per_post", "spearman", "randolph", "fleiss")
SHORT: Final = ("delta", "per_question", "per_post", "randolph")
PREFIX: Final = 141
"""How many posts, from the first, the draft's Table 3 seems to rest on."""
DRAFT: Final = ("chatgpt", "alpaca-7B", "alpaca-13B", "dolly-v2-7B", "dolly-v2-12B", "flan-t5-xxl")
RUNS: Final = 5
"""How many runs of each model the draft's Table 3 is the mean of."""


def models(analysis: Appraised) -> pl.DataFrame:
    """Every model by each way of reading its replies, and what it takes no reading to reach."""
    rows: list[dict[str, Any]] = []
    for model in there(analysis.model_names or None):
        for rule, blanks, runs, gold in (
            ("parser", "as 0", analysis.parsed(model, 0.0), analysis.gold),
            ("parser", "left out", analysis.parsed(model, None), analysis.gold_answers),
            ("first whole number", "as 0", analysis.released(model), analysis.gold),
        ):
            head = {"rater": model, "read_by": rule, "blanks": blanks, "runs": len(runs)}
            # Without blanks there is nothing that could agree on them.
            rows.append({**head, **_against(analysis, runs, gold, ALL if blanks == "as 0" else ALL[:4])})
    # A mean without its own post falls as the post rises: per question it correlates −1, whatever the data.
    without = [name for name in ALL if name not in ("per_question", "spearman")]
    for name, run in _unread(analysis).items():
        head = {"rater": name, "read_by": "", "blanks": "as 0"}
        rows.append({**head, **_against(analysis, [run], analysis.gold, without)})
    return pl.DataFrame(rows, infer_schema_length=None)


def models_unread(analysis: Appraised) -> pl.DataFrame:
    """How far each model is from people, between the best guess without reading and a person."""
    guesses = there(_unread(analysis) or None)
    rows: list[dict[str, Any]] = []
    for model in analysis.model_names:
        runs = analysis.parsed(model, 0.0)
        asked = _asked(runs)
        gold, answered = analysis.gold[asked], [run[asked] for run in runs]
        mine = _distance(answered, gold)
        # A guess is judged by what the model answered, so that nobody gains by leaving out what is hard.
        floors = {
            name: _distance([np.where(np.isnan(run), np.nan, guess[asked]) for run in answered], gold)
            for name, guess in guesses.items()
        }

        def farther(weight: Floats, mine: Score = mine, floors: Mapping[str, Score] = floors) -> Floats:
            return np.asarray(mine(weight) - np.min([floor(weight) for floor in floors.values()], axis=0))

        posts = pl.Series(analysis.posts).filter(pl.Series(asked))
        ends = several_with_intervals(["farther"], len(posts), farther, analysis.how)
        (judged,) = share_of_the_way(mine, floors, _person(analysis, asked), posts, analysis.how, sign=-1.0)
        row = {"rater": model, **_against(analysis, runs, analysis.gold, ["delta"]), **ends, **judged}
        rows.append({**row, "p": p_over_posts(ends.values(), len(posts))})
    # A model that was asked about a few posts cannot be set beside one that was asked about all.
    enough = pl.col("posts") >= 0.9 * pl.col("posts").max()
    frame = there(pl.DataFrame(rows, infer_schema_length=None))
    frame = frame.with_columns(pl.when(enough).then("delta").alias("comparable"))
    known = _places(analysis, frame.drop_nulls("comparable")["rater"].to_list())
    return frame.join(known, on="rater", how="left", maintain_order="left")


def _places(analysis: Appraised, raters: Sequence[str]) -> pl.DataFrame:
    """The order of models by their distance from people, on the posts that all of them were asked about."""
    runs = {rater: analysis.parsed(rater, 0.0) for rater in raters}
    shared = np.all([_asked(several) for several in runs.values()], axis=0)
    gold = analysis.gold[shared]
    each = [averaged([difference(run[shared], gold) for run in several]) for several in runs.values()]
    known = places(raters, lambda weight: np.column_stack([one(weight) for one in each]), int(shared.sum()))
    rows = [{"rater": rater, **row} for rater, row in known.items()]
    return pl.DataFrame(rows, schema=dict.fromkeys(("rater", "place", "tied"), pl.String))


def models_ratings(analysis: Appraised) -> pl.DataFrame:
    """Every answer of every rater."""
    there(analysis.by_models)
    return analysis.judged.filter(pl.col("value").is_not_null()).sort("rater").select("rater", "value")


def models_replies(analysis: Appraised) -> pl.DataFrame:
    """How many replies were read, and how."""
    status = pl.col("status").cast(pl.String).str.replace("_", " ")
    counted = analysis.by_models.group_by("rater", status).len("replies").sort("rater", "status")
    return counted.with_columns((pl.col("replies") / pl.col("replies").sum().over("rater")).alias("share"))


def models_questions(analysis: Appraised) -> pl.DataFrame:
    """Every model and question, answers only."""
    each = {title: [place] for place, title in enumerate(analysis.titles.values())}
    return _on_parts(analysis, "appraisal", each, None, ALL[:2])


def models_groups(analysis: Appraised) -> pl.DataFrame:
    """Every model and group of questions, blanks as 0."""
    return _on_parts(analysis, "questions", analysis.groups, 0.0, SHORT)


def models_runs(analysis: Appraised) -> pl.DataFrame:
    """Every run by itself, blanks as 0."""
    rows = [
        {"rater": model, "run": sample, **compared([run], analysis.gold, SHORT, analysis.how)}
        for model in analysis.model_names
        for sample, run in zip(analysis.samples(model), analysis.parsed(model, 0.0), strict=True)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def models_draft(analysis: Appraised) -> Data:
    """The draft's Table 3 on the first 141 posts, where it fits best, by the rule of the release."""
    known = there([model for model in DRAFT if model in analysis.model_names and len(analysis.posts) >= PREFIX] or None)
    rows, gold = [], analysis.gold[:PREFIX]
    for model in known:
        runs = [run[:PREFIX] for run in analysis.released(model)]
        chances = [p for run in runs if (p := mean_p(run, gold, "posts")[0]) is not None]
        comparison = compared(runs, gold, ("delta", "per_post", "randolph"), analysis.how)
        rows.append({"rater": model, **comparison, "p": float(np.mean(chances or [np.nan]))})
    few = ", ".join(model for model in known if len(analysis.samples(model)) < RUNS)
    return Data(pl.DataFrame(rows, infer_schema_length=None), {"few_runs": few} if few else {})


def _unread(analysis: Appraised) -> dict[str, Floats]:
    gold = analysis.gold
    if len(gold) < 2:
        return {}
    others = np.array([known_means(np.delete(gold, post, axis=0).T) for post in range(len(gold))])
    with warnings.catch_warnings():
        # What nobody rated about the other posts has no median.
        warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)
        medians = np.array([np.nanmedian(np.delete(gold, post, axis=0), axis=0) for post in range(len(gold))])
    return {ALWAYS: np.full_like(gold, 5.0), PROFILE: others, MEDIAN: medians}


def _distance(runs: list[Floats], gold: Floats) -> Score:
    """The mean absolute difference of several runs from people's ratings."""
    mean = averaged([difference(run, gold) for run in runs])
    return lambda weight: mean(weight)[:, None]


def _person(analysis: Appraised, asked: Any) -> Score | None:
    names = analysis.by_people["rater"].unique().sort()[:2].to_list()
    rated = [
        matrix(analysis.by_people.filter(rater=name), analysis.posts, analysis.questions, 0.0)[asked] for name in names
    ]
    return _distance(rated[:1], rated[1]) if len(rated) == 2 else None


def _asked(runs: list[Floats]) -> Any:
    """The posts that a model was asked about, which may be some only."""
    return ~np.isnan(np.array(runs)).all(axis=(0, 2))


def _against(analysis: Appraised, runs: list[Floats], gold: Floats, names: Any) -> dict[str, Any]:
    """Runs against people's ratings of the posts that a model was asked about."""
    asked = _asked(runs)
    comparison = compared([run[asked] for run in runs], gold[asked], names, analysis.how)
    return {"posts": int(asked.sum()), **comparison}


def _on_parts(
    analysis: Appraised, name: str, parts: Mapping[str, list[int]], blank: float | None, statistics: Sequence[str]
) -> pl.DataFrame:
    """Every model against people's ratings of some questions at a time."""
    gold = analysis.gold_answers if blank is None else analysis.gold
    rows = [
        {"rater": model, name: part, **compared([run[:, at] for run in runs], gold[:, at], statistics, analysis.how)}
        for model in analysis.model_names
        for runs in [analysis.parsed(model, blank)]
        for part, at in parts.items()
    ]
    return there(pl.DataFrame(rows, infer_schema_length=None))
