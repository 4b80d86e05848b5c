"""Accuracy, confusion tables, and the references they are measured against."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sklearn_metrics

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.intervals import TOO_FEW_RATERS, Bounds, percentile, weights, wilson
from vantage.measures.scoring.accuracy import accuracy, confusion
from vantage.measures.scoring.replaceability import alt_test
from vantage.scales import OptOut, Scale

LABELS = [0.0, 1.0, 2.0]
pairs = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=12)


def tables(gold: Any, predicted: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    items = [f"i{i}" for i in range(len(gold))]
    answers = pl.DataFrame({"item": items, "rater": ["m"] * len(items), "value": predicted}, strict=False)
    answers = answers.with_columns(pl.col("value").cast(pl.Float64))
    status = pl.when(pl.col("value").is_null()).then(pl.lit("unparsed")).otherwise(pl.lit("answered"))
    reference = pl.DataFrame({"item": items, "value": [float(g) for g in gold]})
    return answers.with_columns(status.alias("status")), reference


def found(frame: pl.DataFrame) -> dict[str, float | None]:
    rows = frame.select("metric", "average", "class", "estimate").iter_rows()
    return {"_".join(part for part in (m, a, c) if part): estimate for m, a, c, estimate in rows}


@pytest.mark.slow
@settings(max_examples=20)
@given(pairs, st.sampled_from([0.0, 1.0]))
def test_class_metrics_agree_with_scikit_learn(rows: list[tuple[int, int]], zero: float) -> None:
    gold, predicted = zip(*rows, strict=True)
    answers, reference = tables(gold, predicted)
    ours = found(accuracy(answers, reference=reference, labels=LABELS, zero_division=zero, ci="none"))
    assert ours["accuracy"] == pytest.approx(sklearn_metrics.accuracy_score(gold, predicted))
    options = {"labels": [0, 1, 2], "zero_division": zero}
    functions = {
        "precision": sklearn_metrics.precision_score,
        "recall": sklearn_metrics.recall_score,
        "f1": sklearn_metrics.f1_score,
    }
    for name, function in functions.items():
        for average in ("macro", "weighted", "micro"):
            expected = function(gold, predicted, average=average, **options)
            assert ours[f"{name}_{average}"] == pytest.approx(expected), (name, average)
        for label, expected in enumerate(function(gold, predicted, average=None, **options)):
            estimate = ours[f"{name}_class_{label}"]
            assert estimate is None or estimate == pytest.approx(expected), (name, label)


@settings(max_examples=20)
@given(pairs)
def test_metrics_of_codes_agree_with_scipy_and_scikit_learn(rows: list[tuple[int, int]]) -> None:
    gold, predicted = (np.array(side, dtype=float) for side in zip(*rows, strict=True))
    answers, reference = tables(gold, predicted)
    ours = found(accuracy(answers, reference=reference, labels=LABELS, ci="none"))
    assert ours["mae"] == pytest.approx(np.abs(gold - predicted).mean())
    assert ours["rmse"] == pytest.approx(np.sqrt(((gold - predicted) ** 2).mean()))
    assert ours["within"] == pytest.approx((np.abs(gold - predicted) <= 1).mean())
    varies = np.ptp(gold) > 0 and np.ptp(predicted) > 0
    peers = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    for name, peer in peers.items():
        if not varies:
            assert ours[name] is None
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert ours[name] == pytest.approx(peer(gold, predicted)[0], abs=1e-9)
    if len({*gold, *predicted}) > 1:
        for name, weights in (("kappa", None), ("quadratic_kappa", "quadratic")):
            peer_kappa = sklearn_metrics.cohen_kappa_score(gold, predicted, weights=weights, labels=[0, 1, 2])
            assert ours[name] == pytest.approx(peer_kappa, abs=1e-9)
    else:
        assert ours["kappa"] is None
        assert ours["quadratic_kappa"] is None


def test_an_unparsed_answer_counted_wrong_is_a_miss_and_no_class() -> None:
    answers, reference = tables([0, 0, 1, 1], [0, None, 1, 1])
    left_out = accuracy(answers, reference=reference, ci="none")
    wrong = accuracy(answers, reference=reference, missing="wrong", ci="none")
    assert found(left_out)["accuracy"] == 1.0
    assert found(left_out)["f1_macro"] == 1.0
    scores = found(wrong)
    assert scores["accuracy"] == 0.75
    assert scores["precision_class_0"] == 1.0
    assert scores["recall_class_0"] == 0.5
    # F1 of class 0 is 2 / 3; the mean is over two classes and not over three.
    assert scores["f1_macro"] == pytest.approx((2 / 3 + 1) / 2)
    first = wrong.filter(metric="accuracy").row(0, named=True)
    assert (first["missing"], first["wrong"], first["judgments"]) == ("wrong", 1, 4)
    assert first["left_out"] == {"unparsed": 0}
    error = wrong.filter(metric="mae").row(0, named=True)
    assert (error["missing"], error["wrong"], error["judgments"]) == ("left_out", 0, 3)
    assert error["left_out"] == {"unparsed": 1}


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(0, 2))), min_size=1, max_size=12))
def test_missing_answers_counted_wrong_by_brute_force(rows: list[tuple[int, int | None]]) -> None:
    gold, predicted = zip(*rows, strict=True)
    answers, reference = tables(gold, predicted)
    ours = found(accuracy(answers, reference=reference, labels=LABELS, missing="wrong", ci="none"))
    f1 = []
    for label in range(3):
        hit = sum(g == p == label for g, p in rows)
        claimed, wanted = sum(p == label for _, p in rows), sum(g == label for g, _ in rows)
        f1.append(2 * hit / (claimed + wanted) if claimed + wanted else 0.0)
    assert ours["accuracy"] == pytest.approx(sum(g == p for g, p in rows) / len(rows))
    assert ours["f1_macro"] == pytest.approx(np.mean(f1))


def test_the_label_set_is_that_of_the_table_and_not_of_a_group() -> None:
    answers, reference = tables([0, 1, 2], [0, 1, 2])
    answers = answers.with_columns(part=pl.Series(["x", "x", "y"]))
    rows = accuracy(answers, by="part", reference=reference, metric="f1_macro", ci="none")
    assert rows["estimate"].to_list() == pytest.approx([2 / 3, 1 / 3])
    open_ended = accuracy(answers, by="part", reference=reference, metric="f1_macro", zero_division=None, ci="none")
    assert open_ended["estimate"].to_list() == [1.0, 1.0]


def test_an_empty_class_is_null_with_a_reason() -> None:
    answers, reference = tables([0, 0], [0, 0])
    rows = accuracy(answers, reference=reference, labels=[0, 1], metric=["precision_class", "recall_class", "f1_class"])
    empty = rows.filter(pl.col("class") == "1")
    assert empty["estimate"].is_null().all()
    assert empty["reason"].to_list() == [
        "this class is never predicted",
        "the reference never has this class",
        "the class occurs neither in the answers nor in the reference",
    ]


def test_the_interval_of_accuracy_is_that_of_a_share() -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 2, 400)
    predicted = np.where(rng.random(400) < 0.8, gold, 1 - gold)
    answers, reference = tables(gold, predicted)
    row = accuracy(answers, reference=reference, metric="accuracy").row(0, named=True)
    error = 1.96 * np.sqrt(row["estimate"] * (1 - row["estimate"]) / 400)
    assert (row["low"], row["high"]) == pytest.approx((row["estimate"] - error, row["estimate"] + error), abs=0.008)


def test_replicates_equal_recomputation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval from sums is the one from scoring resampled rows."""
    rng = np.random.default_rng(3)
    gold, predicted = rng.integers(0, 3, 40), rng.integers(0, 3, 40)
    answers, reference = tables(gold, predicted)
    names = ["f1_macro", "kappa", "spearman", "kendall", "quadratic_kappa"]
    # As if every score jumped: its interval is then that of resamples.
    monkeypatch.setattr("vantage.measures.resampling.Jumping", tuple)
    how: dict[str, Any] = {"resamples": 60, "seed": 4}
    rows = accuracy(answers, reference=reference, metric=names, labels=LABELS, **how)
    order = np.argsort([f"i{i}" for i in range(40)])
    (block,) = weights(40, 60, 4)
    drawn = [np.repeat(order, row.astype(int)) for row in block]

    def replicates(score: Any) -> Any:
        return np.array([score(gold[d], predicted[d]) for d in drawn])

    def interval(score: Any) -> Bounds:
        return percentile(replicates(score))

    def f1(one: Any, two: Any) -> float:
        return float(sklearn_metrics.f1_score(one, two, average="macro", labels=[0, 1, 2], zero_division=0))

    expected = [
        interval(f1),
        interval(sklearn_metrics.cohen_kappa_score),
        interval(lambda g, p: stats.spearmanr(g, p)[0]),
        interval(lambda g, p: stats.kendalltau(g, p)[0]),
        interval(lambda g, p: sklearn_metrics.cohen_kappa_score(g, p, weights="quadratic")),
    ]
    for row, bounds in zip(rows.select("low", "high").iter_rows(), expected, strict=True):
        assert row == pytest.approx(bounds, abs=1e-9)


def test_a_class_that_was_always_hit_is_not_known_to_be_hit_always() -> None:
    """Three of three and two of two are no certainty; their average is as uncertain as both together."""
    answers, reference = tables(np.array([1, 1, 1, 0, 0]), np.array([1, 1, 1, 0, 0]))
    rows = accuracy(answers, reference=reference, metric="recall", labels=[0, 1])
    lows = {(row["average"], row["class"]): row["low"] for row in rows.iter_rows(named=True)}
    two, three = wilson(2, 2, 0.95)[0], wilson(3, 3, 0.95)[0]
    assert lows["class", "0"] == pytest.approx(two)
    assert lows["class", "1"] == pytest.approx(three)
    assert lows["macro", None] == pytest.approx(1 - (((1 - two) / 2) ** 2 + ((1 - three) / 2) ** 2) ** 0.5)
    assert lows["weighted", None] == pytest.approx(1 - ((0.4 * (1 - two)) ** 2 + (0.6 * (1 - three)) ** 2) ** 0.5)
    assert lows["micro", None] == pytest.approx(wilson(5, 5, 0.95)[0])


@pytest.mark.slow
@pytest.mark.parametrize(("items", "share", "right"), [(20, 0.5, 0.9), (40, 0.1, 0.95), (100, 0.1, 0.9)])
def test_intervals_of_classes_cover(items: int, share: float, right: float) -> None:
    """The value of the population is inside in about 95 of 100 tables, for rare classes and good models too.

    Percentiles of resamples held the recall of the rare class in 20 to 64 of 100.
    """
    rng, names = np.random.default_rng(5), ["recall_class", "recall_macro", "f1_class", "f1_macro", "precision_class"]

    def drawn(n: int) -> tuple[Any, Any]:
        gold = (rng.random(n) < share).astype(int)
        return gold, np.where(rng.random(n) < right, gold, 1 - gold)

    def scored(n: int, **options: Any) -> pl.DataFrame:
        answers, reference = tables(*drawn(n))
        return accuracy(answers, reference=reference, metric=names, labels=[0, 1], **options)

    whole = scored(200_000, ci="none")["estimate"]
    tries = [scored(items, resamples=300).with_columns(whole=whole).with_row_index() for _ in range(200)]
    inside = pl.concat(tries).group_by("index").agg(pl.col("whole").is_between("low", "high").mean())
    assert inside["whole"].to_numpy().min() > 0.91


def people_and_model() -> pl.DataFrame:
    """Three people and a model on four items; item d has no majority."""
    answers = {"p1": [1, 0, 1, 0], "p2": [1, 0, 0, 1], "p3": [1, 1, 1, 2], "m": [1, 0, 0, 0]}
    return pl.DataFrame(
        [
            (item, rater, "model" if rater == "m" else "person", float(value))
            for rater, values in answers.items()
            for item, value in zip("abcd", values, strict=True)
        ],
        schema=["item", "rater", "kind", "value"],
        orient="row",
    )


def test_majority_of_people_leaves_ties_out() -> None:
    row = accuracy(people_and_model(), metric="accuracy", ci="none").row(0, named=True)
    assert row["estimate"] == pytest.approx(2 / 3)
    assert (row["items"], row["left_out"]) == (3, {"no_reference": 1})


def test_mean_of_people_needs_rounding_for_classes() -> None:
    data = people_and_model()
    unrounded = accuracy(data, reference="mean", metric=["accuracy", "mae"], ci="none")
    assert unrounded["estimate"][0] is None
    assert "rounding" in unrounded["reason"][0]
    assert unrounded["estimate"][1] == pytest.approx(np.mean([0, 1 / 3, 2 / 3, 1]))
    rounded = accuracy(data, reference="mean", rounding="half_up", metric="accuracy", ci="none")
    assert rounded["estimate"][0] == pytest.approx(0.5)


def test_each_person_in_turn() -> None:
    data = people_and_model()
    for person, share in {"p1": 0.75, "p2": 0.75, "p3": 0.25}.items():
        alone = accuracy(data, reference="each", people=[person], raters=["m"], metric="accuracy", ci="none")
        assert alone["estimate"].to_list() == [share]
    mean = accuracy(data, reference="each", metric="accuracy").row(0, named=True)
    assert mean["estimate"] == pytest.approx(np.mean([0.75, 0.75, 0.25]))
    assert mean["low"] <= mean["estimate"] <= mean["high"]


def test_people_who_make_the_reference_stand_for_others() -> None:
    rng = np.random.default_rng(0)
    rater, item = (grid.ravel() for grid in np.indices((11, 40)))
    value = rng.integers(0, 2, 40)[item] ^ (rng.random(len(item)) < np.where(rater < 5, 0.45, 0.1))
    kind = np.where(rater == 10, "model", "person")
    data = pl.DataFrame({"item": item, "rater": rater, "kind": kind, "value": value.astype(float)})
    options: dict[str, Any] = {"metric": "accuracy", "reference": "each"}
    both, items = (accuracy(data, ci=ci, **options).row(0, named=True) for ci in ("auto", "items"))
    assert (both["over"], both["reason"], items["over"]) == ("both", None, "items")
    assert both["high"] - both["low"] > 1.3 * (items["high"] - items["low"])  # people are of two minds
    few = accuracy(data.filter(pl.col("rater") > 6), **options).row(0, named=True)
    assert (few["over"], few["reason"]) == ("items", TOO_FEW_RATERS)
    assert few["low"] < few["estimate"] < few["high"]
    tested = alt_test(data, alignment="accuracy").row(0, named=True)
    assert tested["advantage_over"] == "both"


def test_a_person_under_test_is_not_part_of_the_reference() -> None:
    data = people_and_model()
    alone = accuracy(data, raters=["p3"], reference="majority", metric="accuracy", ci="none").row(0, named=True)
    # The others, p1 and p2, agree on items a and b.
    assert (alone["estimate"], alone["items"]) == (0.5, 2)
    named = accuracy(data.drop("kind"), people=["p1"], raters=["m"], metric="accuracy", ci="none")
    assert named["estimate"][0] == 0.75


def corpus() -> Corpus:
    scale = Scale.labels("no", "yes", opt_outs=[OptOut("ambiguous", "cannot tell")])
    return Corpus(
        items=pl.DataFrame({"item": ["a", "b", "c"], "text": ["a", "b", "c"], "gold": ["yes", "no", "yes"]}),
        raters=pl.DataFrame({"rater": ["p", "m"], "kind": ["person", "model"]}),
        judgments=pl.DataFrame(
            {
                "item": ["a", "b", "c"] * 2,
                "rater": ["p"] * 3 + ["m"] * 3,
                "question": ["q"] * 6,
                "value": [1.0, 0.0, 0.0, 1.0, 0.0, None],
                "status": ["answered"] * 5 + ["ambiguous"],
            }
        ),
        instruments=Instrument.of_questions("test", "Test", {"q": scale}),
    )


def test_a_corpus_has_gold_labels_in_words_and_opt_outs_apart() -> None:
    data = corpus()
    rows = accuracy(data, by="rater", reference="gold", metric="accuracy", ci="none")
    assert dict(rows.select("rater", "estimate").rows()) == {"m": 1.0, "p": pytest.approx(2 / 3)}
    wrong = accuracy(data, by="rater", reference="gold", metric="accuracy", opt_outs="wrong", ci="none")
    assert dict(wrong.select("rater", "estimate").rows())["m"] == pytest.approx(2 / 3)
    everything = accuracy(data, reference="majority", ci="none")
    assert set(everything["metric"]) == {"accuracy", "kappa", "precision", "recall", "f1"}
    assert set(everything["class"].drop_nulls()) == {"no", "yes"}
    with pytest.raises(InputError, match="'q' has a nominal scale"):
        accuracy(data, reference="gold", metric="mae")


def test_confusion_counts_every_pair_and_every_status() -> None:
    table = confusion(corpus(), by="rater", reference="gold")
    of_model = table.filter(rater="m").select("reference", "predicted", "status", "judgments", "estimate").rows()
    assert of_model == [
        ("no", "no", "answered", 1, 1.0),
        ("no", "yes", "answered", 0, 0.0),
        ("no", None, "ambiguous", 0, 0.0),
        ("yes", "no", "answered", 0, 0.0),
        ("yes", "yes", "answered", 1, 0.5),
        ("yes", None, "ambiguous", 1, 0.5),
    ]


@settings(max_examples=20)
@given(pairs)
def test_confusion_agrees_with_scikit_learn(rows: list[tuple[int, int]]) -> None:
    gold, predicted = zip(*rows, strict=True)
    answers, reference = tables(gold, predicted)
    labels = sorted({*gold, *predicted})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer warns of a single label
        expected = sklearn_metrics.confusion_matrix(gold, predicted, labels=labels)
    assert confusion(answers, reference=reference)["judgments"].to_list() == expected.ravel().tolist()


def test_people_alone_leave_nobody_under_test() -> None:
    with pytest.raises(InputError, match="none is under test"):
        accuracy(people_and_model().filter(kind="person"))


def test_nothing_to_compare_is_null_with_a_reason() -> None:
    answers, reference = tables([0, 1], [None, None])
    rows = accuracy(answers, reference=reference)
    assert rows["estimate"].is_null().all()
    assert set(rows["reason"]) == {"no judgment has both an answer and a reference"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metric": "f2"}, "metric 'f2'"),
        ({"missing": "ignored"}, "missing 'ignored'"),
        ({"reference": "gold"}, "neither a column"),
        ({"reference": "majority"}, "which raters are people"),
        ({"raters": ["x"], "reference": {"item": ["i0"], "value": [1]}}, "no rater 'x'"),
        ({"reference": {"item": ["i0", "i0"], "value": [1, 2]}}, "item 'i0' twice"),
        ({"reference": {"item": ["i0"]}}, "no column 'value'"),
        ({"reference": {"item": ["i0"], "value": ["yes"]}}, "reference 'yes'"),
    ],
)
def test_bad_input_is_told_in_one_sentence(options: dict[str, Any], said: str) -> None:
    answers, _ = tables([0, 1], [0, 1])
    with pytest.raises(InputError, match=said):
        accuracy(answers, **options)


@pytest.mark.data
def test_third_party_votes_against_the_authors_of_isarcasmeval(data_dir: Path) -> None:
    """Five outside readers against the authors' own labels (SemEval-2022 task 6, English test set)."""
    file = data_dir / "social-cognition" / "isarcasmeval" / "third-party" / "english_task_a.csv"
    if not file.exists():
        pytest.skip("the iSarcasmEval third-party votes are not in the folder VANTAGE_DATA")
    votes = pl.read_csv(file)
    answers, reference = tables(votes["sarcasm_ref"], (votes["#humans_sarcasm"] >= 3).cast(pl.Float64))
    ours = found(accuracy(answers, reference=reference, ci="none"))
    assert ours["accuracy"] == pytest.approx(0.855, abs=5e-4)
    assert ours["f1_class_1"] == pytest.approx(0.613, abs=5e-4)
    assert ours["f1_macro"] == pytest.approx(0.762, abs=5e-4)
    assert ours["kappa"] == pytest.approx(0.530, abs=5e-4)


@pytest.mark.parametrize("reference", ["majority", "mean", "each"])
def test_the_ceiling_is_what_a_person_reaches_against_the_others(reference: str) -> None:
    rng = np.random.default_rng(0)
    table = np.where(rng.random((5, 30)) < 0.75, rng.integers(0, 2, 30), rng.integers(0, 2, (5, 30))).astype(float)
    rater, item = (grid.ravel() for grid in np.indices((6, 30)))
    value = np.vstack([table, rng.integers(0, 2, 30)]).ravel()
    data = pl.DataFrame({"item": item, "rater": [f"r{r}" for r in rater], "value": value})
    people = [f"r{r}" for r in range(5)]
    metric = "mae" if reference == "mean" else "accuracy"
    row = accuracy(data, reference=reference, people=people, metric=metric).row(0, named=True)
    by_hand = []
    for person in people:
        others = [p for p in people if p != person]
        alone = accuracy(data, reference=reference, people=others, raters=[person], metric=metric, ci="none")
        by_hand.append(alone["estimate"][0])
    assert row["ceiling"] == pytest.approx(np.mean(by_hand))
    each = accuracy(data, by="rater", reference=reference, people=people, metric=metric)
    assert set(each["ceiling"]) == {row["ceiling"]}, "it is people's, whoever is scored"
    given = accuracy(data, reference={"item": [0, 1], "value": [1, 0]}, metric=metric, ci="none")
    assert given["ceiling"].null_count() == len(given), "people do not make this reference"


def test_an_aggregate_is_a_reference_and_is_not_tested() -> None:
    rows = [(1, 1, 1, 0), (2, 0, 0, 0), (3, 1, 0, 1), (4, 1, 1, 1)]
    kinds = {"gold": "aggregate", "m1": "model", "m2": "model"}
    table = pl.DataFrame(
        [(item, rater, value, kinds[rater]) for item, *row in rows for rater, value in zip(kinds, row, strict=True)],
        schema=["item", "rater", "value", "kind"],
        orient="row",
    )
    wanted: dict[str, Any] = {"by": "rater", "metric": "accuracy", "ci": "none"}
    named = accuracy(table, reference="gold", **wanted)
    assert named.select("rater", "estimate").rows() == [("m1", 0.75), ("m2", 0.75)]
    assert accuracy(table, **wanted).select("rater", "estimate").equals(named.select("rater", "estimate"))
    people = table.filter(rater="gold").with_columns(
        rater=pl.lit("ann"), kind=pl.lit("slot"), value=1 - pl.col("value")
    )
    tested = alt_test(pl.concat([table, people]), level="nominal", min_items=1, ci="none")
    assert set(tested["model"]) == {"m1", "m2"}
    both = accuracy(pl.concat([table, people]), **wanted)  # a slot is a person, whose answers are the majority then
    assert both.select("rater", "estimate").rows() == [("m1", 0.25), ("m2", 0.25)]
    with pytest.raises(InputError, match="neither a column of the table, nor a rater"):
        accuracy(table, reference="golden")
    with pytest.raises(InputError, match="rater 'gold' answered an item several times"):
        accuracy(pl.concat([table, table.with_columns(condition=pl.lit("b"))], how="diagonal"), reference="gold")


def test_the_ceiling_is_that_of_the_items_that_were_answered() -> None:
    agreed = {"item": [*"aaaabbbb"], "rater": [*"pqrm"] * 2, "value": [1.0, 1, 1, 1, 0, 1, 0, None]}
    found = accuracy(agreed, people=[*"pqr"], metric="accuracy", ci="none").row(0, named=True)
    assert (found["items"], found["ceiling"]) == (1, 1.0)
    wrong = accuracy(agreed, people=[*"pqr"], metric="accuracy", missing="wrong", ci="none")
    assert wrong["ceiling"][0] < 1


def test_a_rare_class_has_an_interval_over_twelve_people() -> None:
    """Draws without the class say nothing; the people whose draws they are stay in."""
    rng = np.random.default_rng(2)
    rater, item = (grid.ravel() for grid in np.indices((13, 60)))
    truth = (np.arange(60) < 4).astype(int)
    value = truth[item] ^ (rng.random(len(item)) < 0.05)
    kind = np.where(rater == 12, "model", "person")
    data = pl.DataFrame({"item": item, "rater": rater, "kind": kind, "value": value.astype(float)})
    found = accuracy(data, metric=["recall_class", "precision_class", "f1_macro"], skill=False)
    for row in found.iter_rows(named=True):
        assert (row["over"], row["reason"]) == ("both", None), row
        assert row["low"] <= row["estimate"] <= row["high"]
