import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import classification_report

import vantage
from tests.perspective.conftest import made
from vantage import Corpus, InputError, Instrument, Scale
from vantage.perspective import advantage, below, gaps
from vantage.perspective.evaluation import evaluate, stood_for
from vantage.perspective.splits import people_pairs, split
from vantage.perspective.tally import ClassCounts, average


def predicted(corpus: vantage.Corpus, seed: int, unread: float = 0.0, labels: int = 2) -> pl.DataFrame:
    """Predictions that are right in two of three cases, some of them unread."""
    rng = np.random.default_rng(seed)
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value").sort("item", "rater")
    values = [
        None if rng.random() < unread else v if rng.random() < 0.66 else float(rng.integers(labels))
        for v in pairs["value"]
    ]
    return pairs.with_columns(pl.Series("value", values, dtype=pl.Float64))


def reported(gold: list[float], told: list[float]) -> dict[str, Any]:
    report: dict[str, Any] = classification_report(gold, told, output_dict=True, zero_division=0.0)
    return report


def by_definition(frame: pl.DataFrame, column: str, label: float) -> tuple[float, int]:
    """The reference's average over groups of a class's F1, with one report per group."""
    scores = []
    for part in frame.partition_by(column):
        report = reported(part["gold"].to_list(), part["predicted"].fill_null(-1.0).to_list())
        if str(label) in report:
            scores.append(report[str(label)]["f1-score"])
    return float(np.mean(scores)), len(scores)


@given(seed=st.integers(0, 500), labels=st.sampled_from([2, 3]), unread=st.sampled_from([0.0, 0.2]))
@settings(max_examples=6, deadline=None)
@pytest.mark.slow
def test_the_reference_rules_equal_one_report_per_group(seed: int, labels: int, unread: float) -> None:
    corpus = made(6, 15, 8, seed, labels)
    found = evaluate(
        predicted(corpus, seed, unread, labels), corpus, undefined="reference", missing="class", resamples=0
    )
    frame = found.pairs
    report = reported(frame["gold"].to_list(), frame["predicted"].fill_null(-1.0).to_list())
    for code, name in enumerate("abc"[:labels]):
        told = found.summary.filter(pl.col("class") == name)
        overall = told.filter(pl.col("level") == "global").row(0, named=True)
        for ours, theirs in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score")):
            expected = report.get(str(float(code)), {theirs: None})[theirs]
            assert overall[ours] == (None if expected is None else pytest.approx(expected, abs=1e-12))
        for level, column in (("user", "rater"), ("text", "item")):
            row = told.filter(pl.col("level") == level).row(0, named=True)
            f1, groups = by_definition(frame, column, float(code))
            assert row["f1"] == pytest.approx(f1, abs=1e-9)
            assert row["groups"] == groups
    assert found.f1("global") == pytest.approx(report["macro avg"]["f1-score"], abs=1e-9)


@given(seed=st.integers(0, 200))
@settings(max_examples=8, deadline=None)
def test_an_unread_prediction_is_wrong_but_no_class(seed: int) -> None:
    corpus = made(6, 15, 8, seed)
    told = predicted(corpus, seed, 0.3)
    found = evaluate(told, corpus, resamples=0)
    frame = found.pairs
    for code, name in enumerate("ab"):
        hits = len(frame.filter(pl.col("gold") == code, pl.col("predicted") == code))
        said, given_ = len(frame.filter(pl.col("predicted") == code)), len(frame.filter(pl.col("gold") == code))
        assert found.f1("global", name) == pytest.approx(2 * hits / (said + given_))
    assert found.names == ("a", "b")
    right = frame.filter(pl.col("gold") == pl.col("predicted"))
    micro = found.summary.filter(pl.col("level") == "global", pl.col("class") == "micro").row(0, named=True)
    assert micro["recall"] == pytest.approx(len(right) / len(frame))
    fewer = evaluate(told, corpus, missing="left_out", resamples=0)
    assert len(fewer.pairs) == told["value"].drop_nulls().len()


def test_the_set_of_groups_is_the_same_for_every_system_unless_the_reference_asks_otherwise() -> None:
    corpus = made(8, 20, 6)
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value")
    groups = {}
    for rule in ("gold", "reference", "zero"):
        for value in (0.0, 1.0):
            found = evaluate(pairs.with_columns(value=pl.lit(value)), corpus, undefined=rule, resamples=0)
            row = found.summary.filter(pl.col("level") == "text", pl.col("class") == "b").row(0, named=True)
            groups[rule, value] = row["groups"]
    assert groups["gold", 0.0] == groups["gold", 1.0]
    assert groups["zero", 0.0] == groups["zero", 1.0]
    assert groups["reference", 0.0] < groups["reference", 1.0]


def test_every_user_text_and_trait_value_is_accessible() -> None:
    corpus = made(8, 20, 6)
    found = evaluate(predicted(corpus, 1), corpus, resamples=200)
    assert found.traits == ("side",)
    assert found.users["rater"].n_unique() == 8
    assert set(found.texts["item"]) == set(found.pairs["item"])
    values = found.trait_values.filter(pl.col("class") == "macro")
    assert set(values["value"]) == {"left", "right"}
    assert values["users"].to_list() == [4, 4]
    assert (values["low"] <= values["f1"]).all()
    assert (values["f1"] <= values["high"]).all()
    mean = found.users.filter(pl.col("class") == "micro")["f1"].mean()
    row = found.summary.filter(pl.col("level") == "user", pl.col("class") == "micro").row(0, named=True)
    assert row["f1"] == pytest.approx(mean)
    assert row["low"] <= row["f1"] <= row["high"]


def test_perfect_predictions_score_one_at_every_level() -> None:
    corpus = made()
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value")
    found = evaluate(pairs, corpus, resamples=50)
    assert found.summary.filter(pl.col("level") != "trait")["f1"].to_list() == pytest.approx([1.0] * 12)


def test_bad_predictions_are_counted_and_named() -> None:
    corpus = made()
    found = split(corpus, adaptation="test")
    good = found.test.select("item", "rater", "value")
    stranger = good.head(1).with_columns(rater=pl.lit("nobody"))
    cases = {
        "1 pairs are predicted more than once": pl.concat([good, good.head(1)]),
        "1 predictions are for users the corpus does not have, such as nobody": pl.concat([good, stranger]),
        "2 of .* test pairs have no prediction": good.slice(2),
        "off the scale of question 'seen', such as 7": good.with_columns(value=pl.lit(7.0)),
        "not in the test set": pl.concat([good, found.train.select("item", "rater", "value").head(3)]),
    }
    for told, frame in cases.items():
        with pytest.raises(InputError, match=told):
            evaluate(frame, found)
    with pytest.raises(InputError, match="no column 'rater'"):
        evaluate(good.drop("rater"), found)
    with pytest.raises(InputError, match="the same country"):
        evaluate(good, found, traits=["country"])
    with pytest.raises(InputError, match="'kind of'"):
        evaluate(good, found, undefined="kind of")  # type: ignore[arg-type]


def test_models_that_stand_for_people_are_read_as_predictions() -> None:
    corpus = made(4, 6, 6)
    rater = pl.DataFrame({"rater": ["m/@p0"], "kind": ["persona"], "stands_for": ["p0"], "model": ["m"]})
    rows = [
        {"item": "t0", "question": "seen", "rater": "m/@p0", "value": v, "sample": n}
        for n, v in enumerate([1.0, 1.0, 0.0])
    ]
    told = stood_for(corpus.add(pl.DataFrame(rows), rater), "seen", model="m")
    assert told.rows() == [("t0", "p0", 1.0)]
    with pytest.raises(InputError, match="stands for a person"):
        stood_for(corpus, "seen")
    other = rater.with_columns(rater=pl.lit("n/@p0"), model=pl.lit("n"))
    both = corpus.add(pl.DataFrame([*rows, {**rows[0], "rater": "n/@p0"}]), pl.concat([rater, other]))
    with pytest.raises(InputError, match=r"several answers stand for 'p0' \(rater 'm/@p0', 'n/@p0'\)"):
        stood_for(both, "seen")
    assert len(stood_for(both, "seen", model="n")) == 1


@pytest.mark.data
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # global, user, text, trait F1 of the positive class, and macro F1: PersEval 3430bd0, run on the same files
        ("always", (0.267930, 0.260, 0.186, 0.260, None)),
        ("majority", (0.496, 0.550965, 0.220833, 0.550965, None)),
        ("trainers", (0.361, 0.396, 0.153, 0.396, 0.643)),
        ("unread", (0.274194, 0.324887, 0.11245, 0.324887, 0.375859)),
    ],
)
def test_brexit_scores_equal_the_reference_library(
    data_dir: Path, rule: str, expected: tuple[float | None, ...]
) -> None:
    corpus = vantage.read(data_dir / "lewidi/2023/HS-Brexit", "hs-brexit", groups="hub")
    found = split(corpus, question="hate-speech", method="perseval-dense", stratify="group", extended=True)
    votes = people_pairs(corpus, "hate-speech")
    if rule in ("trainers", "unread"):
        votes = votes.filter(pl.col("rater").is_in(list(found.train_users)))
    majority = votes.group_by("item").agg((pl.col("value").mean() > 0.5).cast(pl.Float64).alias("value"))
    told = found.test.select("item", "rater").join(majority, on="item")
    if rule == "always":
        told = told.with_columns(value=pl.lit(1.0))
    if rule == "unread":
        # The reference numbers its users 1 … 6, and takes every seventh row in the order of their names.
        told = told.sort(pl.col("rater").str.strip_prefix("Ann"), "item").with_row_index("n")
        told = told.with_columns(value=pl.when(pl.col("n") % 7 != 0).then("value"))
    scores = evaluate(told, found, undefined="reference", missing="class", resamples=0)
    ours = [
        scores.f1("global", "yes"),
        scores.f1("user", "yes"),
        scores.f1("text", "yes"),
        scores.f1("trait", "yes", "group"),
    ]
    assert ours == pytest.approx(expected[:4], abs=6e-4)
    if expected[4] is not None:
        assert scores.f1("global") == pytest.approx(expected[4], abs=6e-4)


@pytest.mark.data
def test_md_scores_equal_the_reference_library_and_show_what_the_zero_rule_does(data_dir: Path) -> None:
    corpus = vantage.read(data_dir / "lewidi/2023/MD-Agreement", "md-agreement")
    found = split(
        corpus,
        users="unnamed",
        adaptation="test",
        extended=True,
        method="perseval-md",
    )
    trainers = found.train.group_by("item").agg((pl.col("value").mean() > 0.5).cast(pl.Float64).alias("value"))
    told = found.test.select("item", "rater").join(trainers, on="item", how="left").fill_null(0.0)
    scores = {rule: evaluate(told, found, undefined=rule, resamples=0) for rule in ("reference", "gold", "zero", "one")}
    reference = scores["reference"]
    assert reference.f1("global", "yes") == pytest.approx(0.590, abs=6e-4)
    assert reference.f1("user", "yes") == pytest.approx(0.555, abs=6e-4)
    assert reference.f1("text", "yes") == pytest.approx(0.396, abs=6e-4)
    assert [scores[rule].f1("text", "yes") for rule in ("gold", "zero", "one")] == pytest.approx(
        [0.451, 0.188, 0.714], abs=6e-4
    )
    assert not math.isclose(scores["gold"].f1("text", "yes") or 0, reference.f1("text", "yes") or 0)


def test_an_ordered_scale_is_scored_by_distance() -> None:
    """Against the plain mean of distances, user by user, text by text and for all pairs."""
    rng = np.random.default_rng(3)
    pairs = [(f"t{t}", f"u{u}") for u in range(6) for t in range(8)]
    gold, told = rng.integers(1, 6, len(pairs)), rng.integers(1, 6, len(pairs)).astype(object)
    told[[3, 17]] = None
    judged = pl.DataFrame(pairs, schema=["item", "rater"], orient="row").with_columns(
        pl.Series("value", gold.astype(np.float64)), pl.lit("warm").alias("question")
    )
    raters = pl.DataFrame({"rater": [f"u{n}" for n in range(6)], "side": ["a", "b"] * 3})
    items = pl.DataFrame({"item": [f"t{n}" for n in range(8)], "text": "…"})
    scale = Instrument.of_questions("mine", "Mine", {"warm": Scale.points(1, 5)})
    corpus = Corpus(items, raters, judged, scale)
    predictions = judged.select("item", "rater").with_columns(pl.Series("value", told.tolist(), dtype=pl.Float64))
    found = evaluate(predictions, corpus, resamples=50)
    distance = np.array([4 if b is None else abs(a - b) for a, b in zip(gold, told, strict=True)]).reshape(6, 8)
    assert found.f1("global", "closeness") == pytest.approx(1 - distance.mean() / 4)
    assert found.users.filter(pl.col("class") == "closeness")["f1"].to_list() == pytest.approx(
        (1 - distance.mean(axis=1) / 4).tolist()
    )
    assert found.f1("text", "closeness") == pytest.approx(1 - distance.mean() / 4)
    row = found.summary.filter(pl.col("class") == "closeness", level="user").row(0, named=True)
    assert row["low"] < row["f1"] < row["high"]
    assert row["precision"] is row["recall"] is None
    assert row["support"] == 48
    errors = dict(gaps(found).select("group", "error").iter_rows())
    assert errors == pytest.approx({side: distance[n::2].mean() / 4 for n, side in enumerate("ab")})
    assert advantage(found, found, "closeness")["difference"] == 0.0
    with pytest.raises(InputError, match="there is no class 'closeness'"):
        below(evaluate(predictions.with_columns(value=1.0), _nominal(corpus), resamples=0), 0.5, "closeness")


def _nominal(corpus: Corpus) -> Corpus:
    """The same answers on a scale without order."""
    scale = Instrument.of_questions("mine", "Mine", {"warm": Scale.labels("a", "b", "c", "d", "e", "f")})
    return Corpus(corpus.items, corpus.raters, corpus.judgments, scale)


@pytest.mark.slow
@pytest.mark.parametrize("users", [2, 5, 12])
def test_intervals_of_the_average_user_cover_with_few_users(users: int) -> None:
    """Users with different chances to be hit; resamples of two users cannot reach beyond these two."""
    rng, inside = np.random.default_rng(3), 0
    for seed in range(200):
        chance = rng.beta(6, 4, users)
        group, gold = np.repeat(np.arange(users), 60), rng.integers(0, 2, 60 * users)
        predicted = np.where(rng.random(60 * users) < chance[group], gold, 1 - gold)
        counts = ClassCounts.of(gold, predicted, group, users, 2)
        low, high = average(counts, "gold", 300, 0.95, seed).bounds[3]  # micro: the share of hits
        assert low is not None
        assert high is not None
        inside += low <= 0.6 <= high
    assert inside >= 182
