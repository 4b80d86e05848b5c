"""Pair raters over encoders, with tiny random ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.raters.torch_tests import needs_torch
from tests.raters.trained.planted import parted
from tests.raters.trained.tiny import tiny_encoder
from vantage import InputError
from vantage.perspective import evaluate
from vantage.raters.trained import TrainedRater, fit
from vantage.raters.trained.network import build
from vantage.raters.trained.people import People

pytestmark = needs_torch

QUICK: dict[str, Any] = {"epochs": 10, "patience": 10, "batch": 8, "rate": 3e-3, "train_embeddings": True}
QUICK |= {"device": "cpu", "dropout": 0.0}
SHORT: dict[str, Any] = {**QUICK, "epochs": 1, "batch": 16}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_encoder(tmp_path_factory.mktemp("encoder")))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """For networks this small a second thread only waits for the first."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def blind(tiny: str) -> float:
    return f1(fit(parted(), kind="baseline", model=tiny, **QUICK))


def f1(rater: TrainedRater) -> float:
    assert rater.split is not None
    found = evaluate(rater.judge(), rater.split, resamples=0).f1()
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("method", ["tokens", "embeddings", "heads"])
def test_strangers_are_judged_by_their_traits_and_better_than_blindly(tiny: str, blind: float, method: str) -> None:
    rater = fit(parted(), kind=method, traits=["side"], model=tiny, **QUICK)
    assert f1(rater) > max(0.8, blind + 0.2)
    assert rater.notes == ["2 of 2 users are not in training: judged by side."]
    assert blind < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("method", ["baseline", "tokens", "embeddings", "heads"])
def test_the_same_seed_gives_the_same_rater_and_saving_changes_nothing(tiny: str, method: str, tmp_path: Path) -> None:
    parts = parted("train")
    rater = fit(parts, kind=method, model=tiny, **SHORT, seed=3)
    judged = rater.judge()
    assert judged.equals(fit(parts, kind=method, model=tiny, **SHORT, seed=3).judge())
    if method == "heads":
        other = fit(parts, kind=method, model=tiny, **SHORT, seed=4).judge()
        assert not judged["probabilities"].equals(other["probabilities"])
    rater.save(tmp_path / "saved")
    loaded = TrainedRater.load(tmp_path / "saved", parts)
    shares = [frame["probabilities"].explode(empty_as_null=True, keep_nulls=True) for frame in (judged, loaded.judge())]
    assert np.allclose(shares[0].to_numpy(), shares[1].to_numpy(), atol=1e-6)
    assert loaded.notes == rater.notes == [], "users who adapt in training are no strangers"
    assert loaded.about == json.loads(json.dumps(rater.about))
    assert not [file for file in (tmp_path / "saved").rglob("*") if file.suffix in (".pkl", ".pt", ".bin", ".joblib")]
    if method == "baseline":
        told = judged.group_by("item").agg(pl.col("expected").n_unique(), pl.col("value").n_unique())
        assert (told["value"] == 1).all()


def test_a_training_that_was_cut_off_goes_on_where_it_stopped(tiny: str, tmp_path: Path) -> None:
    parts, how = parted(), {**SHORT, "epochs": 3, "members": 2}
    whole = fit(parts, kind="embeddings", model=tiny, **how)

    def interrupt(done: int, total: int) -> None:
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(parts, kind="embeddings", model=tiny, **how, checkpoints=tmp_path, progress=interrupt)
    assert (tmp_path / "member-1.safetensors").exists()
    steps: list[tuple[int, int]] = []
    resumed = fit(
        parts,
        kind="embeddings",
        model=tiny,
        **how,
        checkpoints=tmp_path,
        progress=lambda *told: steps.append(told),
    )
    assert steps[0][0] > 1, "the first epoch was there already"
    assert steps[-1][0] == steps[-1][1]
    assert len(resumed.about["validation"]["members"]) == 2
    shares = [rater.judge()["probabilities"].list.first().to_numpy() for rater in (whole, resumed)]
    assert np.allclose(shares[0], shares[1], atol=1e-6)
    with pytest.raises(InputError, match="another training"):
        fit(parts, kind="tokens", model=tiny, **how, checkpoints=tmp_path)


def test_weights_of_other_people_are_refused(tiny: str, tmp_path: Path) -> None:
    rater = fit(parted(), kind="heads", model=tiny, **SHORT)
    rater.save(tmp_path / "one")
    file = tmp_path / "one" / "rater.json"
    told = json.loads(file.read_text("utf-8"))
    shares = [one.judge(parted())["probabilities"].list.first() for one in (rater, TrainedRater.load(tmp_path / "one"))]
    assert np.allclose(shares[0].to_numpy(), shares[1].to_numpy(), atol=1e-6)
    told["people"]["users"].pop()
    told["people"]["profiles"].pop()
    file.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(InputError, match="another architecture"):
        TrainedRater.load(tmp_path / "one")


def test_long_texts_leave_room_for_the_tokens_of_people_and_are_counted(tiny: str) -> None:
    parts = parted()
    rater = fit(parts, kind="tokens", model=tiny, **SHORT)
    items = parts.corpus.items.with_columns(pl.lit("kind " * 100).alias("text"))
    corpus = type(parts.corpus)(items, parts.corpus.raters, parts.corpus.judgments, parts.corpus.instruments)
    judged = rater.judge(parts.test, corpus=corpus)
    assert len(judged) == len(parts.test)
    assert "longer than 61 tokens" in rater.notes[-1]


def test_labels_given_beforehand_move_what_an_encoder_predicts_and_need_no_second_training(
    tiny: str, tmp_path: Path
) -> None:
    plain = fit(parted(), kind="heads", model=tiny, **SHORT, checkpoints=tmp_path)
    steps: list[tuple[int, int]] = []
    met = fit(
        parted("test"),
        kind="heads",
        model=tiny,
        **SHORT,
        checkpoints=tmp_path,
        progress=lambda *told: steps.append(told),
    )
    assert steps[0][0] == steps[0][1], "all of it was there"
    assert set(met.offsets) == set(met.split.adaptation["rater"])  # type: ignore[union-attr]
    assert not plain.judge()["probabilities"].equals(met.judge()["probabilities"])
    met.offsets = {}
    assert plain.judge().equals(met.judge())


@pytest.mark.parametrize("kind", ["Bert", "Roberta", "DistilBert"])
def test_tokens_stand_in_front_of_any_encoder_and_nobody_has_none(kind: str) -> None:
    import torch
    import transformers

    shape = {"vocab_size": 30, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    shape |= {"num_attention_heads": 2, "max_position_embeddings": 40}
    if kind == "DistilBert":
        shape = {"vocab_size": 30, "dim": 16, "hidden_dim": 16, "n_layers": 1, "n_heads": 2}
        shape |= {"max_position_embeddings": 40}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = getattr(transformers, f"{kind}Model")(getattr(transformers, f"{kind}Config")(**shape))
        people = People.of({"ann": ("old",), "bob": ("young",)}, ["age"])
        network = build(encoder, "tokens", people, 2, 0.0).eval()
    batch = {"input_ids": torch.tensor([[5, 6, 7, 8]] * 3), "attention_mask": torch.ones(3, 4, dtype=torch.long)}
    ids = torch.tensor(people.ids(["ann", "bob", "eve"], {"ann": ("old",), "bob": ("young",), "eve": ("young",)}))
    with torch.no_grad():
        before = network(batch, ids, torch.arange(3))
        network.people.weight[0] = torch.linspace(-5, 5, 16)
        assert torch.allclose(network(batch, ids, torch.arange(3)), before, atol=1e-6), "nobody's token is not read"
        network.people.weight[1] = torch.linspace(-5, 5, 16)
        after = network(batch, ids, torch.arange(3))
    assert not torch.allclose(after[0], before[0], atol=1e-3)
    assert torch.allclose(after[1:], before[1:], atol=1e-6)
    assert not torch.allclose(before[1], before[2], atol=1e-6), "a stranger is read without an id"


@pytest.mark.slow
def test_the_embedded_encoder_learns_pairs_offline() -> None:
    from vantage.raters.encoders import minilm_folder
    from vantage.raters.models.base import ModelError

    try:
        minilm_folder()
    except ModelError as error:
        pytest.skip(str(error))
    rater = fit(parted(texts=60), kind="heads", traits=["side"], epochs=2, device="cpu", batch=4)
    assert rater.id == "heads:minilm"
    assert f1(rater) > 0.8
