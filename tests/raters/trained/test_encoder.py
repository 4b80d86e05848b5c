from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.raters.torch_tests import needs_torch
from tests.raters.trained.tiny import corpus, tiny_encoder
from vantage import Corpus, InputError, Instrument, Scale
from vantage.raters.models.base import ModelError
from vantage.raters.trained import TrainedRater, fit
from vantage.raters.trained.encoder import chosen_device
from vantage.raters.trained.examples import spearman

pytestmark = needs_torch

QUICK: dict[str, Any] = {"epochs": 8, "patience": 8, "batch": 8, "rate": 3e-3, "train_embeddings": True}
QUICK |= {"kind": "encoder", "members": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_encoder(tmp_path_factory.mktemp("encoder")))


def learned(rater: TrainedRater, unseen: Corpus, question: str = "q0") -> float:
    judged = rater.judge(unseen).filter(question=question)
    means = unseen.judgments.filter(question=question).group_by("item").agg(pl.col("value").mean().alias("mean"))
    both = judged.join(means, on="item")
    return spearman(both["expected"].to_numpy(), both["mean"].to_numpy())


@pytest.mark.parametrize(
    ("loss", "target"),
    [
        ("cross-entropy", "individual"),
        *(
            pytest.param(*ways, marks=pytest.mark.slow)
            for ways in [("huber", "mean"), ("huber", "individual"), ("focal", "majority")]
        ),
    ],
)
def test_an_encoder_learns_what_raters_answer(tiny: str, loss: str, target: Any) -> None:
    rater = fit(corpus(60), ["q0"], model=tiny, loss=loss, target=target, **QUICK)
    assert learned(rater, corpus(30, seed=1)) > 0.5
    judged = rater.judge(corpus(30, seed=1))
    assert judged["value"].is_between(0, 3).all()
    assert judged["status"].unique().to_list() == ["answered"]
    sums = judged["probabilities"].list.sum()
    assert np.allclose(sums.to_numpy(), 1)
    assert (judged["uncertainty"] > 0).all()


@pytest.mark.slow
def test_several_questions_share_one_encoder(tiny: str) -> None:
    rater = fit(corpus(60, questions=3), model=tiny, **QUICK)
    assert [q.id for q in rater.questions] == ["q0", "q1", "q2"]
    assert all(learned(rater, corpus(30, seed=1, questions=3), f"q{n}") > 0.4 for n in range(3))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_rater_and_saving_changes_nothing(tiny: str, tmp_path: Path) -> None:
    how = {**QUICK, "epochs": 2, "members": 2}
    rater = fit(corpus(30), ["q0"], model=tiny, seed=3, **how)
    again = fit(corpus(30), ["q0"], model=tiny, seed=3, **how)
    other = fit(corpus(30), ["q0"], model=tiny, seed=4, **how)
    unseen = corpus(10, seed=1)
    assert rater.judge(unseen).equals(again.judge(unseen))
    assert not rater.judge(unseen).equals(other.judge(unseen))
    rater.save(tmp_path / "saved")
    loaded = TrainedRater.load(tmp_path / "saved")
    assert np.allclose(loaded.judge(unseen)["expected"], rater.judge(unseen)["expected"], atol=1e-6)
    assert loaded.about == json.loads(json.dumps(rater.about))
    assert not [file for file in (tmp_path / "saved").rglob("*") if file.suffix in (".pkl", ".pt", ".bin", ".joblib")]


@pytest.mark.slow
def test_a_training_that_was_cut_off_goes_on_where_it_stopped(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = {**QUICK, "epochs": 3, "members": 2}
    whole = fit(corpus(30), ["q0"], model=tiny, **how)
    seen: list[int] = []

    def interrupt(done: int, total: int) -> None:
        seen.append(done)
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(corpus(30), ["q0"], model=tiny, checkpoints=tmp_path, progress=interrupt, **how)
    assert [file.name for file in tmp_path.iterdir()] == ["member-1.safetensors"]
    steps: list[tuple[int, int]] = []
    resumed = fit(
        corpus(30), ["q0"], model=tiny, checkpoints=tmp_path, progress=lambda *told: steps.append(told), **how
    )
    assert steps[0][0] == 4, "one epoch of four batches was there already"
    assert steps[-1][0] == steps[-1][1]
    unseen = corpus(10, seed=1)
    assert np.allclose(resumed.judge(unseen)["expected"], whole.judge(unseen)["expected"], atol=1e-6)
    with pytest.raises(InputError, match="another training"):
        fit(corpus(30), ["q0"], model=tiny, checkpoints=tmp_path, **{**how, "rate": 1e-3})
    (tmp_path / "member-1.safetensors").write_bytes(b"not tensors")
    with pytest.raises(InputError, match="cannot be read"):
        fit(corpus(30), ["q0"], model=tiny, checkpoints=tmp_path, **how)


def test_weights_of_another_architecture_are_refused(tiny: str, tmp_path: Path) -> None:
    how = {**QUICK, "epochs": 1}
    fit(corpus(20), ["q0"], model=tiny, **how).save(tmp_path / "one")
    wider = tiny_encoder(tmp_path / "wider", intermediate_size=64)
    fit(corpus(20), ["q0"], model=str(wider), **how).save(tmp_path / "other")
    strange = (tmp_path / "other" / "part-1-member-1.safetensors").read_bytes()
    (tmp_path / "one" / "part-1-member-1.safetensors").write_bytes(strange)
    with pytest.raises(InputError, match=r"another architecture: 'encoder\..*intermediate"):
        TrainedRater.load(tmp_path / "one")


def test_a_saved_rater_is_no_model(tiny: str, tmp_path: Path) -> None:
    how = {**QUICK, "epochs": 1}
    saved = fit(corpus(20), ["q0"], model=tiny, **how).save(tmp_path / "saved")
    with pytest.raises(InputError, match="a saved rater; name the encoder"):
        fit(corpus(20), ["q0"], model=str(saved), **how)


def test_a_text_longer_than_the_window_is_cut_counted_and_stated(tiny: str) -> None:
    rater = fit(corpus(20), ["q0"], model=tiny, **{**QUICK, "epochs": 1})
    assert rater.notes == []
    long = pl.DataFrame({"item": ["a", "b"], "text": ["kind " * 100, "cruel"], "target": ["Ann", "Ann"]})
    assert rater.judge(long).height == 2
    assert rater.notes == ["1 of 2 texts are longer than 64 tokens; the rest was not read."]


def test_a_device_that_is_not_there_is_replaced_and_told() -> None:
    import torch

    notes: list[str] = []
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    assert chosen_device("cuda:7", notes) in ("cpu", "mps")
    assert "no device 'cuda:7'" in notes[0]
    assert chosen_device("cpu", notes) == "cpu"


def test_a_model_that_cannot_be_had_offline_names_what_can(monkeypatch: pytest.MonkeyPatch) -> None:
    # As the variable HF_HUB_OFFLINE does when it is set before the library is first used: no waiting for a network.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=r"neither a folder here nor .* the hub.*minilm.*ridge or logistic"):
        fit(corpus(20), ["q0"], model="nobody/no-such-encoder", **QUICK)


@pytest.mark.slow
def test_a_nominal_question_is_learned_and_has_no_numbers(tiny: str) -> None:
    numbers = corpus(60)
    labelled = Corpus(
        numbers.items,
        numbers.raters,
        numbers.judgments.with_columns((pl.col("value") >= 2).cast(pl.Float64).alias("value")),
        Instrument.of_questions("tiny", "Tiny", {"q0": Scale.labels("bad", "good")}),
    )
    rater = fit(labelled, ["q0"], model=tiny, class_weights=True, **QUICK)
    judged = rater.judge(labelled)
    assert judged["expected"].null_count() == len(judged)
    majority = labelled.judgments.group_by("item").agg(pl.col("value").mean().round())
    right = judged.join(majority, on="item")
    assert (right["value"] == right["value_right"]).sum() > 0.8 * len(right)
    assert judged["uncertainty"].is_between(0, 1).all()
    with pytest.raises(InputError, match="no numbers to learn"):
        fit(labelled, ["q0"], model=tiny, loss="huber", **QUICK)


def test_validation_stops_training_and_is_never_learned_from(tiny: str) -> None:
    rater = fit(corpus(30), ["q0"], validation=corpus(16, seed=1), model=tiny, **{**QUICK, "members": 2, "epochs": 3})
    told = rater.about["validation"]
    assert len(told["members"]) == 2
    assert all(1 <= member["best_epoch"] <= 3 for member in told["members"])
    assert rater.about["items"] == 30


@pytest.mark.slow
@pytest.mark.data
def test_the_real_encoder_learns_trust_in_sentences(data_dir: Path) -> None:
    """A tenth of the data, one epoch and short texts: enough to be above chance, quick enough for every run."""
    from vantage.corpora.readers import load
    from vantage.raters.encoders import minilm_folder

    try:
        minilm_folder()
    except ModelError as missing:
        pytest.skip(str(missing))
    whole = load("wcsent", data_dir / "wcsent")
    short = whole.items.filter(pl.col("text").str.len_chars() < 90)
    train = whole.filter(item=short.filter(split="train")["item"].to_list()[::3])
    test = whole.filter(item=short.filter(split="test")["item"].to_list())
    rater = fit(train, ["trust"], kind="encoder", epochs=1, patience=1, batch=4, adversarial=0.0, device="cpu")
    both = rater.judge(test).join(test.items.select("item", "final_trust"), on="item")
    assert spearman(both["expected"].to_numpy(), both["final_trust"].to_numpy()) > 0.15
