"""Batches that are filled up for a GPU, and steps that it is given as one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.raters.torch_tests import needs_torch
from tests.raters.trained.planted import parted
from tests.raters.trained.tiny import corpus, tiny_encoder
from vantage.raters.trained import TrainedRater, fit
from vantage.raters.trained.examples import Rows
from vantage.raters.trained.gradients import LIKE, Gradients
from vantage.raters.trained.pairs import PAIR_METHODS

pytestmark = needs_torch

SHORT: dict[str, Any] = {"epochs": 1, "batch": 12, "dropout": 0.0, "members": 1}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_encoder(tmp_path_factory.mktemp("encoder")))


def trained(method: str, tiny: str, **settings: Any) -> TrainedRater:
    if method == "texts":
        return fit(corpus(40), ["q0"], kind="encoder", model=tiny, **settings)
    return fit(parted(), kind=method, model=tiny, forget=0.0, **settings)


@pytest.mark.parametrize("method", ["texts", "baseline", "tokens", "embeddings", "heads"])
def test_what_fills_a_batch_up_does_not_count(method: str, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert method in {"texts", *PAIR_METHODS}
    losses: list[tuple[float, float]] = []
    filled = 0
    plain = Gradients.__call__

    def compared(self: Gradients, units: Rows) -> None:
        nonlocal filled
        as_it_is, wide = self.lesson.batch(units), self.lesson.batch(units, like=LIKE)
        filled += wide.texts["input_ids"].shape != as_it_is.texts["input_ids"].shape
        one, two = (self.lesson.loss(self.network, batch).item() for batch in (as_it_is, wide))
        losses.append((one, two))
        plain(self, units)

    monkeypatch.setattr(Gradients, "__call__", compared)
    trained(method, tiny, device="cpu", **SHORT)
    assert filled
    for as_it_is, wide in losses:
        assert wide == pytest.approx(as_it_is, abs=1e-5)


@pytest.mark.parametrize("method", ["texts", "embeddings", "tokens"])
def test_recorded_steps_learn_what_single_orders_do(method: str, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    how = {**SHORT, "mixed_precision": False, "device": "cuda"}

    def probabilities() -> list[float]:
        rater = trained(method, tiny, **how)
        judged = rater.judge(corpus(10)) if method == "texts" else rater.judge()
        return [float(share) for share in judged["probabilities"].explode()]

    recorded, made = probabilities(), Gradients.__init__

    def single(self: Gradients, *given: Any) -> None:
        made(self, *given)
        self._records = False

    monkeypatch.setattr(Gradients, "__init__", single)
    assert recorded == pytest.approx(probabilities(), abs=1e-3)
