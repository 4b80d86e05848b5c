"""Scores of shared tasks and proper scores beside their definitions; floors, ceilings, intervals and leaderboards."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import wasserstein_distance

import vantage
from tests.perspective.conftest import made
from vantage import Corpus, InputError, Instrument, Scale
from vantage.perspective import shared_task, split
from vantage.perspective.scoring import TaskAnswers, answered
from vantage.perspective.splits import people_pairs
from vantage.report.leaderboard import UNREAD, leaderboard


def ordinal(seed: int = 0) -> Corpus:
    corpus = made(6, 10, 10, seed, labels=5)
    scale = Scale.labels(*"abcde", level="ordinal")
    return Corpus(
        corpus.items, corpus.raters, corpus.judgments, Instrument.of_questions("made", "Made", {"seen": scale})
    )


def pairs_of(corpus: Corpus) -> pl.DataFrame:
    return people_pairs(corpus, "seen").select("item", "rater", "value")


def estimates(frame: pl.DataFrame) -> dict[str, float]:
    return dict(frame.select("measure", "score").iter_rows())


MEASURES = ["error_rate", "absolute_distance", "manhattan", "wasserstein"]


def test_scores_equal_their_definitions_text_by_text() -> None:
    corpus = ordinal()
    rng = np.random.default_rng(3)
    pairs = pairs_of(corpus)
    guess = pairs.with_columns(value=pl.Series(rng.integers(5, size=len(pairs)).astype(float)))
    scores = estimates(shared_task(guess, corpus, measures=MEASURES))
    steps = estimates(shared_task(guess, corpus, measures=["absolute_distance"], divisor="steps"))
    frame = pairs.join(guess.rename({"value": "guess"}), on=["item", "rater"])
    expected: dict[str, list[float]] = {name: [] for name in MEASURES}
    for part in frame.partition_by("item"):
        gold, value = part["value"].to_numpy(), part["guess"].to_numpy()
        p, q = (np.bincount(v.astype(int), minlength=5) / len(v) for v in (gold, value))
        expected["error_rate"].append(float(np.mean(gold != value)))
        expected["absolute_distance"].append(float(np.mean(np.abs(gold - value)) / 5))
        expected["manhattan"].append(float(np.abs(p - q).sum()))
        expected["wasserstein"].append(float(wasserstein_distance(gold, value)))
    assert scores == pytest.approx({name: np.mean(values) for name, values in expected.items()})
    assert steps["absolute_distance"] == pytest.approx(scores["absolute_distance"] * 5 / 4)


def test_proper_scores_of_distributions_equal_their_definitions() -> None:
    corpus = ordinal()
    pairs = pairs_of(corpus)
    shares = np.random.default_rng(1).dirichlet(np.ones(5), len(pairs))
    given = pairs.select("item", "rater").with_columns(pl.Series("probabilities", shares.tolist()))
    scores = estimates(shared_task(given, corpus))
    gold = pairs["value"].to_numpy().astype(int)
    chosen = np.eye(5)[gold]
    each = {
        "log_score": -np.log(shares[np.arange(len(gold)), gold]),
        "brier": ((shares - chosen) ** 2).sum(axis=1),
        "ranked_probability": ((shares.cumsum(axis=1) - chosen.cumsum(axis=1)) ** 2)[:, :-1].sum(axis=1) / 4,
        "absolute_distance": np.abs((shares.cumsum(axis=1) >= 0.5).argmax(axis=1) - gold) / 5,
    }
    for name, values in each.items():
        by_text = pairs.with_columns(lost=pl.Series(values)).group_by("item").agg(pl.col("lost").mean())
        assert scores[name] == pytest.approx(by_text["lost"].mean()), name


def test_forms_are_told_apart_and_conversions_named() -> None:
    corpus = made(6, 10, 10)
    pairs = pairs_of(corpus)
    text = pairs.select("item").unique().with_columns(pl.Series("probabilities", [[0.4, 0.6]] * 10))
    user = pairs.select("item", "rater").join(text, on="item")
    soft, one_each = (shared_task(frame, corpus) for frame in (text, user))
    assert soft["form"].unique().to_list() == ["text distributions"]
    assert estimates(soft) == pytest.approx(estimates(one_each))
    assert dict(soft.select("measure", "read_as").iter_rows())["manhattan"] == ""
    assert dict(one_each.select("measure", "read_as").iter_rows()) == {
        "manhattan": "mean over users",
        "error_rate": "most probable answer",
        "log_score": "",
        "brier": "",
    }
    assert set(shared_task(pairs, corpus)["measure"]) == {"manhattan", "error_rate"}


def test_perfect_predictions_have_no_distance_and_unread_ones_the_largest() -> None:
    corpus = ordinal()
    pairs = pairs_of(corpus)
    assert shared_task(pairs, corpus, measures=MEASURES)["score"].to_list() == [0.0] * 4
    nothing = shared_task(pairs.with_columns(value=pl.lit(None, dtype=pl.Float64)), corpus, measures=MEASURES)
    largest = {"error_rate": 1.0, "absolute_distance": 0.8, "manhattan": 2.0, "wasserstein": 4.0}
    assert estimates(nothing) == pytest.approx(largest)
    assert nothing["unanswered"].to_list() == [len(pairs)] * 4


def test_released_soft_labels_are_the_targets_unless_counted_ones_are_asked_for() -> None:
    corpus = made(6, 10, 10)
    pairs = pairs_of(corpus)
    items = corpus.items.with_columns(soft_label_1=pl.lit(1.0))
    labelled = Corpus(items, corpus.raters, corpus.judgments, corpus.instruments)
    ones = pairs.with_columns(value=pl.lit(1.0))
    assert estimates(shared_task(ones, labelled, measures=["manhattan"])) == {"manhattan": 0.0}
    assert estimates(shared_task(ones, labelled, measures=["manhattan"], targets="counted"))["manhattan"] > 0.1


@pytest.mark.parametrize(
    ("shares", "told"),
    [([0.5, 0.6], "is not a distribution"), ([1.0], "is not a distribution"), ([-0.5, 1.5], "is not a distribution")],
)
def test_what_is_no_distribution_is_refused(shares: list[float], told: str) -> None:
    corpus = made(6, 10, 10)
    given = pairs_of(corpus).select("item").unique().with_columns(pl.Series("probabilities", [shares] * 10))
    with pytest.raises(InputError, match=told):
        shared_task(given, corpus)
    with pytest.raises(InputError, match="9 distributions are given for 10 texts"):
        shared_task(given.with_columns(pl.Series("probabilities", [[0.5, 0.5]] * 10)).head(9), corpus)


def test_measures_that_make_no_sense_are_refused() -> None:
    corpus = made(6, 10, 10, labels=3)
    pairs = pairs_of(corpus)
    assert set(shared_task(pairs, corpus)["measure"]) == {"error_rate", "manhattan"}
    with pytest.raises(InputError, match="needs an ordered scale"):
        shared_task(pairs, corpus, measures=["wasserstein"])
    with pytest.raises(InputError, match="there is no score 'eror_rate'"):
        shared_task(pairs, corpus, measures=["eror_rate"])
    scale = Scale(level="interval", range=(0.0, 1.0))
    slider = Corpus(
        corpus.items,
        corpus.raters,
        pairs.with_columns(question=pl.lit("seen"), value=pl.lit(0.5)),
        Instrument.of_questions("m", "M", {"seen": scale}),
    )
    with pytest.raises(InputError, match="continuous"):
        shared_task(pairs, slider)


def crossed(
    rng: np.random.Generator, texts: int, people: int, points: int = 2, spread: float = 1.5, lean: float = 0.7
) -> tuple[Corpus, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Everyone judges everything: a text has a level, a person a leaning. Also the true level of each text."""
    level, leaning = rng.normal(0, spread, texts), rng.normal(0, lean, people)
    heard = level[:, None] + leaning + rng.logistic(size=(texts, people))
    edges = np.linspace(-2, 2, points + 1)[1:-1]
    value = np.searchsorted(edges, heard).astype(float)
    ids = [(f"t{i}", f"p{j}") for i in range(texts) for j in range(people)]
    rows = pl.DataFrame(ids, schema=["item", "rater"], orient="row").with_columns(
        question=pl.lit("seen"), value=pl.Series(value.ravel())
    )
    scale = Scale.points(0, points - 1) if points > 2 else Scale.labels("no", "yes")
    corpus = Corpus(
        pl.DataFrame({"item": [f"t{i}" for i in range(texts)], "text": ["x"] * texts}),
        pl.DataFrame({"rater": [f"p{j}" for j in range(people)]}),
        rows,
        Instrument.of_questions("made", "Made", {"seen": scale}),
    )
    return corpus, level


@pytest.mark.parametrize("points", [2, 5])
def test_no_rater_that_reads_no_text_has_skill(points: int) -> None:
    rng = np.random.default_rng(points)
    corpus, _ = crossed(rng, 400, 6, points)
    pairs = pairs_of(corpus)
    for value in [*range(points), None]:
        drawn = rng.integers(points, size=len(pairs)) if value is None else np.full(len(pairs), value)
        guess = pairs.with_columns(value=pl.Series(drawn.astype(float)))
        assert (shared_task(guess, corpus)["skill"] <= 1e-9).all(), value
    shares = pl.Series("probabilities", rng.dirichlet(np.ones(points), 400).tolist())
    frame = shared_task(pairs.select("item").unique(maintain_order=True).with_columns(shares), corpus)
    assert (frame["skill_low"] <= 0).all()


@pytest.mark.parametrize("points", [2, 5])
def test_a_rater_that_knows_the_texts_reaches_the_ceiling(points: int) -> None:
    rng = np.random.default_rng(10 + points)
    corpus, level = crossed(rng, 400, 5, points, lean=0.0)
    edges = np.linspace(-2, 2, points + 1)[1:-1]
    below = 1 / (1 + np.exp(-(edges[None, :] - level[:, None])))
    shares = np.diff(np.column_stack([np.zeros(400), below, np.ones(400)]), axis=1)
    known = pl.DataFrame({"item": [f"t{i}" for i in range(400)], "probabilities": shares.tolist()})
    rows = {row["measure"]: row for row in shared_task(known, corpus).iter_rows(named=True)}
    own = "absolute_distance" if points > 2 else "error_rate"
    assert rows[own]["skill"] == pytest.approx(1.0, abs=0.12)
    proper = "ranked_probability" if points > 2 else "brier"
    assert rows[proper]["skill"] == pytest.approx(1.0, abs=0.12)
    soft = "wasserstein" if points > 2 else "manhattan"
    # The distribution itself is not quite what loses least against that of five people.
    assert 0.8 < rows[soft]["skill"] < 1.05


def test_shuffled_users_lose_what_knowing_them_gains() -> None:
    corpus, _ = crossed(np.random.default_rng(2), 40, 8, lean=2.0)
    pairs = pairs_of(corpus)
    row = shared_task(pairs, corpus, measures=["error_rate"]).row(0, named=True)
    assert row["score"] == 0.0
    assert row["shuffled_users"] > 0.1
    assert row["shuffled_texts"] > row["shuffled_users"]


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["error_rate", "manhattan"])
def test_intervals_cover_for_other_texts_and_people(measure: str) -> None:
    rng = np.random.default_rng(5)
    scores, held = [], []
    for _ in range(300):
        corpus, _ = crossed(rng, 40, 12)
        pairs = pairs_of(corpus)
        frame = shared_task(pairs.with_columns(value=pl.lit(1.0)), corpus, measures=[measure])
        scores.append(frame["score"].item())
        held.append((frame["low"].item(), frame["high"].item()))
    truth = float(np.mean(scores))
    covered = np.mean([low <= truth <= high for low, high in held])
    assert 0.91 <= covered <= 0.99


def systems_of(corpus: Corpus, shares: dict[str, float], seed: int = 0) -> dict[str, dict[str, TaskAnswers]]:
    """Systems that are right except for a known share, and coins."""
    rng, pairs = np.random.default_rng(seed), pairs_of(corpus)
    systems = {}
    for name, share in shares.items():
        gold = pairs["value"].to_numpy()
        value = np.where(rng.random(len(gold)) < share, rng.integers(2, size=len(gold)), gold)
        guess = pairs.with_columns(pl.Series("value", value.astype(float)))
        systems[name] = {"made": TaskAnswers([answered(guess, pairs, corpus, corpus.question("seen"))])}
    return systems


def test_a_leaderboard_finds_planted_differences_and_no_coin_has_a_place() -> None:
    corpus, _ = crossed(np.random.default_rng(4), 120, 12)
    board, pairs = leaderboard(
        systems_of(corpus, {"good": 0.1, "coin": 1.0, "poor": 0.5, "as good": 0.1}), "perspectivist"
    )
    places = dict(board.select("system", "place").iter_rows())
    assert places == {"good": 1, "as good": 1, "poor": 3, UNREAD: None, "coin": None}
    assert board["system"].to_list()[2:] == ["poor", UNREAD, "coin"]
    assert "reads no text" in board.filter(system="coin")["reason"].item()
    apart = {frozenset(row[:2]): row[2] for row in pairs.select("first", "second", "p_family").iter_rows()}
    assert apart[frozenset({"good", "as good"})] > 0.05
    assert apart[frozenset({"good", "poor"})] < 0.05


def test_coins_lead_no_leaderboard() -> None:
    led = 0
    for seed in range(30):
        corpus, _ = crossed(np.random.default_rng(seed), 40, 6)
        board, _ = leaderboard(systems_of(corpus, {"a": 1.0, "b": 1.0}, seed), "perspectivist")
        led += board["place"].count()
        assert board["system"][0] == UNREAD
    assert led == 0


def test_equal_systems_are_seldom_told_apart() -> None:
    apart = 0
    for seed in range(60):
        corpus, _ = crossed(np.random.default_rng(seed), 30, 6)
        _, pairs = leaderboard(systems_of(corpus, {"a": 0.4, "b": 0.4}, seed), "perspectivist")
        apart += pairs["p"].item() < 0.05
    assert apart <= 9


@pytest.mark.slow
def test_a_million_distributions_of_users_are_scored_in_two_seconds() -> None:
    rng = np.random.default_rng(0)
    item, turn = np.repeat(np.arange(10**5), 10), np.tile(np.arange(10), 10**5)
    answers = pl.DataFrame({"item": item, "rater": (item * 7 + turn * 131) % 2000, "value": rng.integers(0, 6, 10**6)})
    answers = answers.select(pl.col("item", "rater").cast(pl.String), pl.col("value").cast(pl.Float64))
    corpus = Corpus(
        answers.select("item").unique(maintain_order=True),
        answers.select("rater").unique(maintain_order=True),
        answers.with_columns(question=pl.lit("q")),
        Instrument.of_questions("q", "Q", {"q": Scale.points(0, 5)}),
    )
    shares = pl.Series("probabilities", rng.dirichlet(np.ones(6), 10**6), dtype=pl.Array(pl.Float64, 6))
    given = answers.select("item", "rater", shares.arr.to_list())
    begin = time.process_time()
    made = shared_task(given, corpus)
    assert time.process_time() - begin < 4  # two seconds on two cores
    assert made["annotations"].to_list() == [10**6] * 5


def test_released_parts_are_a_split() -> None:
    corpus = made(6, 10, 10)
    items = corpus.items.with_columns(split=pl.Series(["train"] * 5 + ["dev"] * 2 + ["test"] * 3))
    parted = Corpus(items, corpus.raters, corpus.judgments, corpus.instruments)
    parts = split(parted, method="released")
    assert (parts.train["item"].n_unique(), parts.test["item"].n_unique()) == (7, 3)
    assert set(parts.train["rater"]) == set(parts.test["rater"])
    assert len(shared_task(parts.test, parts)) == 2
    with pytest.raises(InputError, match="no part 'test'"):
        split(corpus, method="released")


@pytest.mark.data
def test_the_median_of_a_real_corpus_is_scored(data_dir: Path) -> None:
    corpus = vantage.read(data_dir / "lewidi/2025/CSC", "csc").filter(split="dev")
    question = corpus.questions[0].id
    pairs = people_pairs(corpus, question)
    mean = pairs.group_by("item").agg(pl.col("value").median().round().alias("value"))
    frame = shared_task(pairs.select("item", "rater").join(mean, on="item"), corpus, question=question)
    scores = estimates(frame)
    assert 0 < scores["absolute_distance"] < 0.2
    assert (frame["low"] < frame["score"]).all()
    assert (frame["skill"] > 0.3).all()
