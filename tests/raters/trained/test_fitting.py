from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.raters.trained.tiny import corpus
from vantage import Corpus, InputError, Instrument, Scale, demo_corpus
from vantage.raters.models.base import ModelError
from vantage.raters.trained import TrainedRater, fit, shared_texts
from vantage.raters.trained.base import ItemTexts, PredictedAnswers, mixture, nearest_option
from vantage.raters.trained.examples import Labels, examples, grouped_folds, spearman
from vantage.raters.trained.fitting import usual_kind
from vantage.raters.trained.held_out import HeldOut


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_a_linear_rater_learns_and_saving_changes_nothing(kind: Any, tmp_path: Path) -> None:
    rater = fit(corpus(80), ["q0"], kind=kind)
    unseen = corpus(40, seed=1)
    judged = rater.judge(unseen)
    means = unseen.judgments.group_by("item").agg(pl.col("value").mean().alias("mean"))
    both = judged.join(means, on="item")
    assert spearman(both["expected"].to_numpy(), both["mean"].to_numpy()) > 0.6
    assert np.allclose(judged["probabilities"].list.sum().to_numpy(), 1)
    rater.save(tmp_path / "saved")
    assert TrainedRater.load(tmp_path / "saved").judge(unseen).equals(judged)
    assert sorted(file.suffix for file in (tmp_path / "saved").iterdir()) == [".json", ".json", ".npz", ".npz"]


@pytest.mark.parametrize("kind", ["majority", "mean", "median"])
def test_a_baseline_answers_the_same_to_everything(kind: Any, tmp_path: Path) -> None:
    rater = fit(corpus(30), ["q0"], kind=kind)
    judged = rater.judge(corpus(5, seed=2))
    assert judged["value"].n_unique() == 1
    assert judged["rater"].unique().to_list() == [kind]
    rater.save(tmp_path / "saved")
    assert TrainedRater.load(tmp_path / "saved").judge(corpus(5, seed=2)).equals(judged)


def test_predictions_stand_in_the_corpus_like_anyones() -> None:
    whole = demo_corpus()
    rater = fit(whole, ["trust", "competence"], kind="ridge", name="my ridge")
    rated = rater.rate(whole)
    shouted = whole.items.head(3).with_columns(pl.col("text").str.to_uppercase())
    assert (rater.seen(shouted), rater.seen(shouted.with_columns(text=pl.lit("Something else.")))) == (3, 0)
    row = rated.raters.filter(rater="my ridge").row(0, named=True)
    assert (row["kind"], row["model"], row["style"]) == ("trained", "tfidf-ridge", "ridge on mean")
    assert rated.judgments.filter(rater="my ridge").height == 2 * whole.items.height
    assert rater.rate(rated).judgments.height == rated.judgments.height, "what it has judged is not judged again"
    some = rater.judge(whole.filter(item=["s01"]), ["trust"])
    assert some.select("item", "question").rows() == [("s01", "trust")]
    with pytest.raises(InputError, match="did not learn question 'trst'; did you mean 'trust'"):
        rater.judge(whole, ["trst"])


def test_bands_are_learned_under_the_name_of_the_coarse_question() -> None:
    whole = demo_corpus()
    rater = fit(whole, ["trust"], kind="logistic", coarse=True)
    rated = rater.rate(whole)
    mine = rated.judgments.filter(rater=rater.id)
    assert mine["question"].unique().to_list() == ["trust-coarse"]
    assert set(mine["value"]) <= {-1.0, 0.0, 1.0}
    assert rater.id.endswith("/coarse")


def test_one_rater_is_refused_unless_it_is_named() -> None:
    alone = corpus(20, raters=1)
    with pytest.raises(InputError, match=r"rater 'r0' alone answered question 'q0'.*raters=\['r0'\]"):
        fit(alone, ["q0"], kind="ridge")
    assert fit(alone, ["q0"], kind="ridge", raters=["r0"]).about["raters"] == 1
    with pytest.raises(InputError, match="no rater 'r9'"):
        fit(alone, ["q0"], kind="ridge", raters=["r9"])


def test_a_question_with_one_distinct_value_has_nothing_to_learn() -> None:
    flat = corpus(20)
    flat = Corpus(flat.items, flat.raters, flat.judgments.with_columns(value=pl.lit(2.0)), flat.instruments)
    with pytest.raises(InputError, match="every answer to question 'q0' is 2, so there is nothing to learn"):
        fit(flat, ["q0"], kind="ridge")
    assert fit(flat, ["q0"], kind="mean").judge(flat)["value"].unique().to_list() == [2.0]


def test_a_split_that_shares_texts_is_refused_with_the_texts() -> None:
    train, other = corpus(20), corpus(10, seed=1)
    text = train.items["text"][3]
    items = other.items.with_columns(
        pl.when(pl.col("item") == "i2").then(pl.lit(text.upper() + " !")).otherwise("text").alias("text")
    )
    shared = Corpus(items, other.raters, other.judgments, other.instruments)
    with pytest.raises(InputError, match="training part and the validation part share 1 text") as refused:
        fit(train, ["q0"], kind="ridge", validation=shared)
    assert text.upper()[:20] in str(refused.value)
    assert shared_texts(list(train.items["text"]), list(other.items["text"])) == []


def test_without_a_kind_vectors_learn_where_an_encoder_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parties = corpus(20), Scale.labels("green", "red", "blue", "black")
    named = Instrument.of_questions("parties", "Parties", {"party": parties})
    both = whole.add(whole.judgments.with_columns(question=pl.lit("party")), instruments=named)
    monkeypatch.setattr("vantage.raters.trained.fitting.require", lambda *_: None)
    monkeypatch.setattr("vantage.raters.trained.fitting.minilm_folder", Path)
    assert usual_kind(whole, ["q0"]) == "vectors"

    def nowhere() -> Path:
        raise ModelError("The encoder is not installed.")

    monkeypatch.setattr("vantage.raters.trained.fitting.minilm_folder", nowhere)
    assert (usual_kind(both, ["q0"]), usual_kind(both, ["q0", "party"])) == ("ridge", "logistic")
    assert usual_kind(whole, ["q0"], named=True) == "vectors"
    assert fit(whole, ["q0"]).id == fit(whole, ["q0"], kind="ridge").id


def test_unknown_kinds_questions_and_settings_are_named() -> None:
    whole = corpus(20)
    for how, sentence in (
        ({"kind": "rige"}, "did you mean 'ridge'"),
        ({"kind": "ridge", "questions": ["q7"]}, "no question 'q7'"),
        ({"kind": "ridge", "word": (1, 2)}, "no setting 'word'; did you mean 'words'"),
        ({"kind": "mean", "word": 1}, "a baseline has no setting 'word'"),
        ({"kind": "ridge", "target": "meen"}, "did you mean 'mean'"),
        ({"kind": "encoder", "epoch": 2}, "did you mean 'epochs'"),
        ({"kind": "encoder", "loss": "hubr"}, "did you mean 'huber'"),
        ({"kind": "encoder", "epochs": 0}, "epochs is 0"),
    ):
        with pytest.raises(InputError, match=sentence):
            fit(whole, **{"questions": ["q0"], **how})  # type: ignore[arg-type]


def test_questions_of_two_instruments_are_not_learned_together() -> None:
    whole = corpus(20)
    more = Instrument.of_questions("more", "More", {"other": Scale.points(0, 3)})
    joined = whole.add(whole.judgments.with_columns(question=pl.lit("other")), instruments=more)
    with pytest.raises(InputError, match="different instruments"):
        fit(joined, ["q0", "other"], kind="ridge")


def test_a_folder_without_a_rater_or_of_a_newer_vantage_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no trained rater here"):
        TrainedRater.load(tmp_path)
    (tmp_path / "rater.json").write_text("[]")
    with pytest.raises(InputError, match="does not describe a trained rater"):
        TrainedRater.load(tmp_path)
    (tmp_path / "rater.json").write_text('{"format": 99, "vantage": "9.0"}')
    with pytest.raises(InputError, match=r"newer Vantage \(9.0\)"):
        TrainedRater.load(tmp_path)


def test_a_saved_rater_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    rater = fit(corpus(20), ["q0"], kind="mean")
    rater.save(tmp_path / "saved")
    with pytest.raises(InputError, match="has files in it"):
        rater.save(tmp_path / "saved")
    assert rater.save(tmp_path / "saved", overwrite=True)


def test_what_is_learned_is_what_people_said() -> None:
    whole = demo_corpus()
    for target, how in (("mean", pl.col("value").mean()), ("median", pl.col("value").median())):
        found = examples(whole, ["trust"], target=target)  # type: ignore[arg-type]
        truth = dict(whole.judgments.filter(question="trust").group_by("item").agg(how).iter_rows())
        assert found.labels[0].score.tolist() == pytest.approx([truth[item] for item in found.instances.items])
    shares = examples(whole, ["trust"]).labels[0].shares
    counts = whole.judgments.filter(question="trust", item="s01")["value"].value_counts()
    row = examples(whole, ["trust"]).instances.items.index("s01")
    assert shares[row].sum() == pytest.approx(1)
    for value, count in counts.iter_rows():
        assert shares[row, int(value) + 3] == pytest.approx(count / counts["count"].sum())


def test_models_are_not_learned_from() -> None:
    whole = demo_corpus()
    before = examples(whole, ["trust"]).judgments
    rated = fit(whole, ["trust"], kind="mean").rate(whole)
    assert examples(rated, ["trust"]).judgments == before


@given(st.lists(st.sampled_from(["a", "A ", "b", "c", "d!", "d", "e"]), min_size=12, max_size=40), st.integers(0, 9))
def test_equal_texts_are_in_the_same_fold_and_no_fold_is_empty(texts: list[str], seed: int) -> None:
    texts = [*texts, "a", "b", "c", "d"]
    folds = grouped_folds(texts, 3, seed)
    assert set(folds.tolist()) == {0, 1, 2}
    for k in range(3):
        inside = [t for t, f in zip(texts, folds, strict=True) if f == k]
        outside = [t for t, f in zip(texts, folds, strict=True) if f != k]
        assert shared_texts(inside, outside) == []


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=9), st.floats(0.01, 5))
def test_numbers_become_shares_that_sum_to_one_and_means_stay_on_the_scale(means: list[float], spread: float) -> None:
    scale = Scale.points(-3, 3)
    found = PredictedAnswers.of_numbers(np.array(means), spread, scale)
    assert found.shares is not None
    assert found.mean is not None
    assert np.allclose(found.shares.sum(axis=1), 1)
    assert np.all(np.abs(found.mean) <= 3)
    mixed = mixture([(1.0, found), (2.0, found)])
    assert mixed.mean is not None
    assert np.allclose(mixed.mean, found.mean)


def test_halves_belong_to_the_higher_option() -> None:
    codes = np.arange(-3.0, 4.0)
    values = np.array([-0.5, 0.5, -2.5, 2.4999, 9.0, -9.0])
    assert codes[nearest_option(values, codes)].tolist() == [0.0, 1.0, -2.0, 2.0, 3.0, -3.0]


def test_excluded_people_repetitions_and_labels_made_of_others_are_not_learned_from() -> None:
    items = pl.DataFrame({"item": ["i", "j"], "text": ["A", "B"], "target": ["x", "x"]})
    said = [("a", 0, 3.0), ("a", 1, 3.0), ("b", 0, -1.0), ("out", 0, 3.0), ("panel", 0, 3.0)]
    rows = [
        {"item": item, "question": "trust", "rater": rater, "sample": sample, "value": value}
        for item in ("i", "j")
        for rater, sample, value in said
    ]
    kinds = {"a": "person", "b": "person", "out": "person", "panel": "aggregate"}
    raters = pl.DataFrame({"rater": list(kinds), "kind": list(kinds.values()), "excluded": [False, False, True, False]})
    whole = Corpus(items, raters, pl.DataFrame(rows), Instrument.load("warmth-competence"))
    learned = examples(whole, ["trust"], target="mean")
    assert (learned.raters, learned.judgments, learned.labels[0].score.tolist()) == (2, 4, [1.0, 1.0])
    assert examples(whole, ["trust"], target="mean", raters=["panel"]).labels[0].score.tolist() == [3.0, 3.0]


def test_a_rater_that_learned_otherwise_takes_the_place_of_its_namesake() -> None:
    whole = demo_corpus()
    first, second = (fit(whole, ["trust"], kind="ridge", name="mine", target=how) for how in ("mean", "median"))
    rated = second.rate(first.rate(whole, whole.filter(item=["s01", "s02"])), whole.filter(item=["s02"]))
    assert rated.judgments.filter(rater="mine").select("item").to_series().to_list() == ["s02"]
    assert rated.raters.filter(rater="mine")["settings"].to_list() == [second.row()["settings"]]


def test_no_items_have_no_table() -> None:
    demo = demo_corpus()
    rater = fit(demo, ["trust"], kind="ridge")
    with pytest.raises(InputError, match="there are no items to judge"):
        rater.table(demo.items.clear())
    assert rater.judge(demo.items.clear()).is_empty()


WHO, DOES, WHAT = ("baker", "teacher", "surgeon"), ("praises", "helps", "cheats", "ignores"), ("mayor", "child", "dog")


def test_texts_in_another_language_are_unlike_those_that_it_learned_from(tmp_path: Path) -> None:
    demo = demo_corpus()
    english = [f"The {who} {does} the {what}." for who in WHO for does in DOES for what in WHAT]
    items = demo.items.with_columns(text=pl.Series(english[: len(demo.items)]))
    rater = fit(Corpus(items, demo.raters, demo.judgments, demo.instruments), ["trust"], kind="mean")
    strange = demo.items.head(3).with_columns(
        text=pl.Series([english[0], "Der Bäcker lobt seine Nachbarin.", "パン屋は隣人を褒める。"])
    )
    assert rater.unlike(strange) == [False, True, True]
    assert TrainedRater.load(rater.save(tmp_path / "kept")).unlike(strange) == [False, True, True]
    del rater.about["words"]  # as of a rater that was saved before
    assert rater.unlike(strange) == [False] * 3


def test_held_out_texts_say_what_each_of_three_raters_should_count(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    question = Instrument.load("warmth-competence").question("trust")
    score = rng.normal(0, 1, 400).clip(-3, 3)
    labels, texts = Labels(question, np.zeros((400, 7)), score), ItemTexts(tuple(f"text {n}" for n in range(400)))
    rows = [rng.permutation(400)[:350] for _ in range(3)]
    # The first errs by 0.5, the second by 1, independently, the third as the second and more: 4/5, 1/5 and nothing.
    noise = [rng.normal(0, error, 400) for error in (0.5, 1.0, 0.5)]
    noise[2] += noise[1]
    said = [
        PredictedAnswers.of_numbers((score + n)[row], 1.0, question.scale) for n, row in zip(noise, rows, strict=True)
    ]
    parts = [HeldOut.of([row], texts, [labels], {"trust": [one]}) for row, one in zip(rows, said, strict=True)]
    weights, whole = HeldOut.stacked(parts)
    assert weights == pytest.approx([0.8, 0.2, 0.0], abs=0.08)
    assert sum(weights) == pytest.approx(1)
    assert len(whole.texts) == len(set(rows[0]) & set(rows[1]) & set(rows[2]))
    errors = [
        np.abs(one.said["trust"].mean - one.labels[0].score).mean()  # type: ignore[operator]
        for one in (*(part.take(whole.texts) for part in parts), whole)
    ]
    assert errors[3] < min(errors[:3])
    assert HeldOut.stacked(parts[:2], [3, 1])[0] == [0.75, 0.25]
    apart = replace(parts[1], texts=np.array([f"other {n}" for n in range(350)]))
    with pytest.raises(InputError, match="held out different texts"):
        HeldOut.stacked([parts[0], apart])
    parts[0].save(tmp_path)
    again = HeldOut.load(tmp_path, [question])
    assert again is not None
    assert HeldOut.stacked([again, *parts[1:]])[0] == weights


def test_raters_that_were_saved_can_be_stacked(tmp_path: Path) -> None:
    corpus = demo_corpus()
    for seed in (1, 2):
        fit(corpus, ["trust"], kind="ridge", seed=seed, least=seed).save(tmp_path / f"{seed}")
    loaded = [TrainedRater.load(tmp_path / f"{seed}") for seed in (1, 2)]
    both = TrainedRater.stacked(loaded)
    assert sum(part.weight for part in both.parts) == pytest.approx(1)
    both.save(tmp_path / "both")
    again = TrainedRater.load(tmp_path / "both")
    assert again.table(corpus).equals(both.table(corpus))
    assert again.about["ranges"] == both.about["ranges"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"parts": "encoder"}, "a blend cannot have the parts encoder; name two or more of encoder, probe"),
        ({"parts": "encoder+median"}, "cannot have the parts encoder, median"),
        ({"parts": "probe+ridge", "epochs": "3"}, "no part of the blend has the setting 'epochs'"),
        ({"weights": "1+2+3"}, "the weights 1, 2, 3 are not those of 2 raters"),
    ],
)
def test_a_blend_of_what_there_is_not_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        fit(demo_corpus(), ["trust"], kind="blend", **given)


@pytest.mark.parametrize("boast", [0.3, 1.0, 3.0])
def test_ranges_hold_what_they_say_however_sure_predictions_are_and_follow_the_text(boast: float) -> None:
    rng = np.random.default_rng(5)
    question = Instrument.load("warmth-competence").question("trust")
    spread = np.where(rng.random(1200) < 0.5, 0.2, 0.8)
    mean = rng.normal(0, 0.7, 1200)
    score = mean + rng.normal(0, spread)
    answers = PredictedAnswers(None, mean, spread * boast)
    old, new = np.arange(600), np.arange(600, 1200)
    texts = ItemTexts(tuple(f"text {n}" for n in range(1200)))
    held = HeldOut.of([old], texts, [Labels(question, np.zeros((1200, 7)), score)], {"trust": [answers.take(old)]})
    part = held.ranges(single=False)["trust"][80]
    low, high = answers.take(new).middle(part, question.scale, single=False)
    assert ((low <= score[new]) & (score[new] <= high)).mean() == pytest.approx(0.8, abs=0.05)
    assert (high - low)[spread[new] > 0.5].mean() > 2 * (high - low)[spread[new] < 0.5].mean()
