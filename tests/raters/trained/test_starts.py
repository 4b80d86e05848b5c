from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.raters.torch_tests import needs_torch
from tests.raters.trained.tiny import corpus, tiny_encoder
from vantage import InputError
from vantage.raters.trained import fit
from vantage.raters.trained.encoder_settings import EncoderSettings

pytestmark = needs_torch

QUICK: dict[str, Any] = {"epochs": 1, "patience": 1, "batch": 8, "rate": 3e-3, "device": "cpu"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_encoder(tmp_path_factory.mktemp("encoder")))


@pytest.fixture(scope="module")
def saved(tiny: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    rater = fit(corpus(20), ["q0"], model=tiny, members=2, **QUICK)
    return str(rater.save(tmp_path_factory.mktemp("raters") / "saved"))


def begun(tiny: str, *starts: str, **more: Any) -> list[dict[str, Any]]:
    from vantage.raters.trained.encoder import beginnings
    from vantage.raters.trained.network import pretrained

    settings = EncoderSettings(model=tiny, starts=starts, **more)
    return beginnings(settings, pretrained(settings)[1])


def test_members_take_turns_at_what_they_begin_with(tiny: str, saved: str) -> None:
    import torch

    own, first, again, second = begun(tiny, tiny, saved)
    layer, words = "encoder.layer.1.output.dense.weight", "embeddings.word_embeddings.weight"
    assert torch.equal(own[layer], again[layer])
    assert not torch.equal(first[layer], second[layer]), "the two members of the saved rater"
    assert not torch.equal(own[layer], first[layer])
    assert all(torch.equal(own[words], state[words]) for state in (first, second)), "word vectors are shared"


def test_a_start_changes_what_is_learned_and_a_checkpoint_knows_it(tiny: str, saved: str, tmp_path: Path) -> None:
    how = {**QUICK, "model": tiny, "members": 1}
    unseen = corpus(8, seed=1)
    plain = fit(corpus(20), ["q0"], **how)
    started = fit(corpus(20), ["q0"], starts=saved, checkpoints=tmp_path, **how)
    assert started.about["settings"]["starts"] == (saved,)
    assert plain.judge(unseen)["expected"].to_list() != started.judge(unseen)["expected"].to_list()
    with pytest.raises(InputError, match="another training"):
        fit(corpus(20), ["q0"], checkpoints=tmp_path, **how)


def test_a_start_of_another_encoder_is_refused(tiny: str, saved: str, tmp_path: Path) -> None:
    wider = tiny_encoder(tmp_path / "wider", intermediate_size=64)
    with pytest.raises(InputError, match="another architecture"):
        begun(str(wider), saved)
    stranger = tiny_encoder(tmp_path / "stranger", initializer_range=0.5)
    with pytest.raises(InputError, match="made from another encoder than"):
        begun(str(stranger), saved)
    assert begun(str(stranger), saved, train_embeddings=True), "where word vectors learn, they are taken along"


def test_a_saved_rater_is_no_model(saved: str) -> None:
    with pytest.raises(InputError, match="a saved rater; give it as starts"):
        fit(corpus(20), ["q0"], model=saved, **QUICK)
