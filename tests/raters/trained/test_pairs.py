"""Pair raters that need no torch, and what all of them have in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vantage
from tests.raters.trained.planted import parted, planted
from vantage import InputError
from vantage.perspective import evaluate, split, stood_for
from vantage.raters.trained import TrainedRater, fit
from vantage.raters.trained.encoder_settings import PairSettings
from vantage.raters.trained.examples import Instances
from vantage.raters.trained.pairs import PAIR_METHODS
from vantage.raters.trained.people import People, fit_offsets, moved, profiles_of

LIGHT = [name for name, method in PAIR_METHODS.items() if not method.torch]


def f1(rater: TrainedRater, level: Any = "global") -> float:
    assert rater.split is not None
    found = evaluate(rater.judge(), rater.split, resamples=0).f1(level)
    assert found is not None
    return found


@pytest.mark.parametrize("method", LIGHT)
def test_every_light_method_judges_all_test_pairs_and_is_the_same_after_saving(method: str, tmp_path: Path) -> None:
    parts = parted("test")
    rater = fit(parts, kind=method, seed=1)
    judged = rater.judge()
    assert (
        judged.select("item", "rater")
        .sort("item", "rater")
        .equals(parts.test.select("item", "rater").sort("item", "rater"))
    )
    assert np.allclose(judged["probabilities"].list.sum().to_numpy(), 1)
    assert judged.equals(fit(parts, kind=method, seed=1).judge())
    rater.save(tmp_path / "saved")
    assert TrainedRater.load(tmp_path / "saved", parts).judge().equals(judged)
    assert TrainedRater.load(tmp_path / "saved").judge(parts).equals(judged)
    assert not [file for file in (tmp_path / "saved").rglob("*") if file.suffix in (".pkl", ".pt", ".joblib")]
    assert rater.row() == {
        "rater": method,
        "kind": "trained",
        "model": rater.about["model"],
        "style": f"pairs:{method}",
        "settings": f"learned={rater.about['learned']}",
    }


def test_traits_are_used_for_users_never_met_and_a_blind_rater_cannot_follow() -> None:
    parts = parted()
    aware, blind = fit(parts, kind="tfidf-users"), fit(parts, kind="tfidf")
    assert f1(aware) > 0.9
    assert f1(blind) < 0.7
    aware.judge()
    assert aware.notes == ["2 of 2 users are not in training: judged by side, shoe."]
    told = blind.judge().group_by("item").agg(pl.col("value").n_unique())
    assert (told["value"] == 1).all(), "blind: one label per text"


def test_a_trait_of_many_numbers_is_learned_in_quarters() -> None:
    corpus = planted()
    people = People.of(profiles_of(corpus, corpus.raters["rater"], ["shoe", "side"]), ["shoe", "side"])
    assert people.values == (("quarter 1", "quarter 2", "quarter 3", "quarter 4"), ("left", "right"))
    assert people.grouped(("100", None)) == ("quarter 4", None)
    assert people.grouped(("unheard", "left")) == (None, "left")


def test_strangers_have_no_id_and_unknown_values_share_one() -> None:
    people = People.of({"ann": ("old", None), "bob": ("young", "uk")}, ["age", "country"])
    ids = people.ids(["bob", "eve"], {"bob": ("young", "uk"), "eve": ("older", "uk")})
    assert ids[1].tolist() == [0, people.unknown, ids[0, 2]]
    assert ids.max() < people.size
    assert People.read(json.loads(json.dumps(people.described()))) == people
    assert people.alike(("old", "uk")).tolist() == [True, True], "one shared value each"
    assert people.alike(("young", "uk")).tolist() == [False, True]
    assert people.alike((None, "fr")).tolist() == [True, True], "nothing shared: all"


@given(
    st.dictionaries(
        st.text("abc", min_size=1, max_size=3),
        st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from(["1", "2", None])),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=30, deadline=None)
def test_ids_tell_users_and_values_apart(profiles: dict[str, Any]) -> None:
    people = People.of(profiles, ["one", "two"])
    users = list(profiles)
    ids = people.ids(users, profiles)
    assert len(set(ids[:, 0])) == len(users)
    assert 0 not in ids
    for column in (1, 2):
        values = {(profiles[u][column - 1], int(i)) for u, i in zip(users, ids[:, column], strict=True)}
        assert len({v for v, _ in values}) == len({i for _, i in values}), "one id per value, one for unknown"
    assert not set(ids[:, 1]) - {people.unknown} & set(ids[:, 2])
    assert all(people.alike(profiles[user]).any() for user in users)


def test_majorities_fall_back_step_by_step_and_say_so() -> None:
    parts = parted()
    text = fit(parts, kind="text-majority")
    assert text.judge()["value"].n_unique() == 1
    assert text.notes[-1].startswith(f"{len(parts.test)} of {len(parts.test)} pairs are about texts that nobody judged")
    extended = fit(parted(extended=True), kind="text-majority")
    assert extended.judge()["value"].n_unique() == 2
    user = fit(parts, kind="user-majority")
    user.judge()
    assert user.notes == ["2 of 2 users gave no label beforehand; they get that of the people most alike in traits."]
    adapted = fit(parted("test", users="unnamed", stratify=None), kind="user-majority")
    own = adapted.split.adaptation  # type: ignore[union-attr]
    judged = adapted.judge().filter(pl.col("rater").is_in(own["rater"].to_list()))
    usual = own.group_by("rater").agg(pl.col("value").mean())
    clear = judged.join(usual.filter(pl.col("value") != 0.5), on="rater", suffix="_usual")
    assert len(clear)
    assert (clear["value"] == clear["value_usual"].round()).all()


def test_labels_given_beforehand_move_a_user_and_only_this_one() -> None:
    base = fit(parted(), kind="tfidf-users")
    met = fit(parted("test"), kind="tfidf-users")
    assert set(met.offsets) == set(met.split.adaptation["rater"])  # type: ignore[union-attr]
    assert not base.offsets
    assert any("move what is predicted" in note for note in met.notes)
    assert not base.judge()["probabilities"].equals(met.judge()["probabilities"])
    blind = fit(parted("test"), kind="tfidf")
    assert any("not used" in note for note in blind.notes)


@given(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=12))
@settings(max_examples=25, deadline=None)
def test_an_offset_leans_towards_what_a_user_says_and_stays_finite(said: list[int]) -> None:
    even = np.full((len(said), 3), 1 / 3)
    found = fit_offsets(even, np.array(said), ["ann"] * len(said), [1.0, 1.0, 1.0])
    counts = np.bincount(said, minlength=3)
    offset = np.array(found["ann"])
    assert np.all(np.diff(offset[np.argsort(counts, kind="stable")]) >= -1e-4)
    assert np.abs(offset).max() < 3
    after = moved(even, ["eve"] * len(said), found)
    assert np.allclose(after, even), "another user is not moved"


def test_held_out_texts_are_in_no_pair_that_is_learned() -> None:
    parts = parted("train")
    table = Instances.of_pairs(parts.train, parts.corpus, "seen", ["side"])
    kept = frozenset(parts.set_aside["item"])
    learned, held = table.split(5, 0, kept)
    assert sorted([*learned, *held]) == list(range(len(table)))
    assert 0 < len(held) < len(table) / 2
    assert not set(table.text[held]) & set(table.text[learned])
    assert not {table.items[row] for row in table.text[held]} & kept, "users who adapt are learned about"
    assert len(table.split(5, 0, frozenset(table.items))[1])


def test_judgments_stand_for_users_in_a_corpus() -> None:
    parts = parted()
    rater = fit(parts, kind="tfidf-users", name="reader")
    judged = rater.judge()
    rows = rater.rows(judged["rater"])
    told = judged.with_columns(pl.col("rater").map_elements(rater.as_rater, return_dtype=pl.String))
    corpus = parts.corpus.add(told.select(parts.corpus.judgments.columns), rows)
    found = stood_for(corpus, "seen", style="pairs:tfidf-users")
    both = found.join(judged, on=["item", "rater"])
    assert len(both) == len(judged)
    assert (both["value"] == both["value_right"]).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kind": "token"}, "no method 'token'; did you mean 'tokens'"),
        ({"traits": ["sid"]}, "no trait 'sid'; did you mean 'side'"),
        ({"strength": 1}, "no setting 'strength'"),
        ({"kind": "majority", "a": 1}, "a baseline has no setting 'a'"),
    ],
)
def test_what_does_not_exist_is_named(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        fit(parted(), **{"kind": "tfidf-users", **change})


def test_splits_that_cannot_be_learned_from_are_refused() -> None:
    with pytest.raises(InputError, match="no trait is known of unnamed users"):
        fit(parted("train", users="unnamed"), kind="tfidf-users", traits=["side"])
    with pytest.raises(InputError, match="with a split, target cannot be chosen"):
        fit(parted(), kind="tfidf", target="mean")
    with pytest.raises(InputError, match="no kind of trained rater 'tokens' of texts; it judges pairs; pass a split"):
        fit(planted(), kind="tokens")
    with pytest.raises(InputError, match="traits of users can be given only with a split"):
        fit(planted(), kind="ridge", traits=["side"])
    corpus = planted()
    same = vantage.Corpus(
        corpus.items,
        corpus.raters.with_columns(pl.lit("here").alias("country")),
        corpus.judgments.with_columns(pl.lit(1.0).alias("value")),
        corpus.instruments,
    )
    parts = split(same, adaptation_items=1, test_texts=0.3)
    with pytest.raises(InputError, match="every answer to question 'seen' is 1"):
        fit(parts, kind="tfidf")
    with pytest.raises(InputError, match="the same country"):
        fit(parts, kind="user-majority", traits=["country"])
    rater = fit(parts, kind="majority")
    assert rater.notes == ["No training pair has the label 'no'; it is never predicted."]
    assert rater.judge()["value"].unique().to_list() == [1.0]


def test_pairs_and_folders_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    rater = fit(parted(), kind="tfidf-users", strengths=(1.0,))
    assert rater.judge(pl.DataFrame(schema={"item": pl.String, "rater": pl.String})).is_empty()
    for pairs, sentence in [
        ({"item": ["t0"]}, "no column 'rater'"),
        ({"item": ["x"], "rater": ["p00"]}, "1 texts are not in the corpus, such as 'x'"),
        ({"item": ["t0"], "rater": ["eve"]}, "1 users are not in the corpus, such as 'eve'"),
    ]:
        with pytest.raises(InputError, match=sentence):
            rater.judge(pl.DataFrame(pairs))
    rater.save(tmp_path / "one")
    loaded, corpus = TrainedRater.load(tmp_path / "one"), planted()
    for without_pairs in (None, corpus):
        with pytest.raises(InputError, match="judges pairs of a text and a user, and none are given"):
            loaded.judge(without_pairs)
    with pytest.raises(InputError, match="judges pairs of a text and a user, and none are given"):
        loaded.table(corpus)
    with pytest.raises(InputError, match="raters of pairs cannot be stacked"):
        TrainedRater.stacked([loaded, loaded], [1, 1])
    with pytest.raises(InputError, match="rater 'majority' judges texts; pass a corpus"):
        fit(corpus, kind="majority").judge(parted())
    with pytest.raises(InputError, match="no trained rater here"):
        TrainedRater.load(tmp_path)
    file = tmp_path / "one" / "rater.json"
    told = json.loads(file.read_text("utf-8"))
    told["people"]["users"].append("eve")
    told["people"]["profiles"].append([None, None])
    file.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(InputError, match="do not fit the vocabulary"):
        TrainedRater.load(tmp_path / "one")
    file.write_text(json.dumps({**told, "format": 99}), encoding="utf-8")
    with pytest.raises(InputError, match="newer Vantage"):
        TrainedRater.load(tmp_path / "one")
    told["parts"][0]["kind"] = "guess"
    file.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(InputError, match="no kind of trained rater 'guess'"):
        TrainedRater.load(tmp_path / "one")
    file.write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match="does not describe"):
        TrainedRater.load(tmp_path / "one")


def test_without_torch_the_light_methods_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vantage.raters.trained.pairs.find_spec", lambda name: None)
    with pytest.raises(
        InputError, match=r"needs the packages torch and transformers; pip install 'vantage-raters\[local\]'"
    ) as told:
        fit(parted(), kind="tokens")
    assert "tfidf-users" in str(told.value)


def test_settings_with_which_pairs_cannot_be_learned_are_refused() -> None:
    with pytest.raises(InputError, match="forget is 1"):
        PairSettings(forget=1.0)
    with pytest.raises(InputError, match="huber"):
        PairSettings(loss="huber")
    assert PairSettings.of(epochs=2).loss == "focal"


@pytest.mark.data
def test_text_majority_is_the_reference_one_on_published_labels(data_dir: Path) -> None:
    corpus = vantage.read(data_dir / "lewidi/2023/HS-Brexit", "hs-brexit", groups="hub")
    parts = split(corpus, question="hate-speech", method="perseval-dense", stratify="group", extended=True)
    found = evaluate(fit(parts, kind="text-majority").judge(), parts, resamples=0, undefined="reference")
    values = [found.f1("global", "yes"), found.f1("user", "yes"), found.f1("text", "yes"), found.f1("global")]
    assert np.round(np.array(values, dtype=float), 3).tolist() == [0.361, 0.396, 0.153, 0.643]
