from __future__ import annotations

import math
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vantage.raters.models import Message, ModelError, Request, Sampling, gguf, load_model
from vantage.raters.models.embedded import weights

pytest.importorskip("xllamacpp", reason="llama.cpp is not installed: pip install vantage-raters[embedded]")

SHORT = (Message("user", "Lovely day!"),)
RATED = (Message("system", "Rate 1 to 5."), Message("user", "Lovely day!"))
OTHER = (Message("system", "Rate 1 to 5."), Message("user", "I hate it."))


@pytest.fixture(scope="module")
def file() -> Path:
    try:
        return weights()
    except ModelError as missing:
        pytest.skip(str(missing))


def test_a_file_that_is_not_there_or_not_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.gguf: there is no such model file"):
        load_model(f"gguf:{tmp_path}/none.gguf")
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(ModelError, match="not a GGUF file"):
        load_model(f"gguf:{tmp_path}/text.gguf")
    (tmp_path / "cut.gguf").write_bytes(b"GGUF" + bytes(200))
    with pytest.raises(ModelError, match=r"llama\.cpp cannot load the file"):
        load_model(f"gguf:{tmp_path}/cut.gguf")


@pytest.mark.slow
def test_a_file_without_a_template_is_given_plain_text(file: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.gguf"
    bare.write_bytes(file.read_bytes().replace(b"tokenizer.chat_template", b"tokenizer.chat_tempLATE"))
    model: Any = load_model(f"gguf:{bare}", window=256)
    try:
        assert model.notes == ["bare.gguf has no chat template; prompts are given to it as plain text."]
        assert model._prompt(SHORT) == "Lovely day!\n\nAnswer:"
        reply = model.complete([Request(SHORT, Sampling(max_tokens=3))])[0]
        assert reply.prompt_tokens == len(model._tokens("Lovely day!\n\nAnswer:", prompt=True))
        assert model._option_tokens("Lovely day!\n\nAnswer:", ["Yes"]) == [model._tokens(" Yes")]
        assert np.isfinite(model.score([Request(SHORT)], ["Yes", "No"])).all()
    finally:
        model.close()
    with pytest.raises(ModelError, match="was closed"):
        model.complete([Request(SHORT)])


@pytest.mark.slow
def test_requests_side_by_side_get_the_same_answers(file: Path) -> None:
    requests = [Request((Message("user", f"Say {word}."),), Sampling(max_tokens=4)) for word in ("yes", "no", "hi")]
    both = [load_model(f"gguf:{file}", window=256, parallel=n) for n in (1, 3)]
    one, three = (model.complete(requests) for model in both)
    assert [reply.text for reply in one] == [reply.text for reply in three]
    for model in both:
        assert model.window == 256
        model.close()


def forced(model: Any, prompt: list[int], token: int) -> float:
    """The log-probability of one token behind a prompt, by making the model write it."""
    answer = model._server.handle_completions(
        {"prompt": prompt, "max_tokens": 1, "n_probs": 1, "temperature": 0, "logit_bias": [[token, 1000.0]]}
    )
    entry = answer["choices"][0]["logprobs"]["content"][0]
    assert entry["id"] == token
    return float(entry["logprob"])


@pytest.mark.slow
def test_whole_options_are_scored_as_token_by_token_by_hand(file: Path) -> None:
    model: Any = load_model(f"gguf:{file}", window=512)
    options = ["1", "10", "very warm", "very cold", "not"]
    requests = [Request(RATED), Request(OTHER)]
    scored = model.score(requests, options)
    prompt = model._tokens(model._prompt(RATED), prompt=True)
    paths = [model._tokens(option) for option in options]
    assert paths[1][0] == paths[0][0]
    assert paths[2][0] == paths[3][0]
    begun = [sum(forced(model, [*prompt, *p[:i]], t) for i, t in enumerate(p)) for p in paths]
    begun[0] += math.log1p(-math.exp(begun[1] - begun[0]))
    assert scored[0] == pytest.approx(begun, abs=1e-4)
    assert (np.exp(scored).sum(axis=1) < 1).all()
    assert not np.allclose(scored[0], scored[1])
    assert (model.score(requests[::-1], options)[::-1] == scored).all(), "what was asked before must not matter"
    rare = model.score(requests[:1], ["5", "🐌 snail"])[0]
    assert np.isfinite(rare).all()
    assert rare[1] < rare[0] - 5, "a rare option is scored from the whole vocabulary"
    model.close()


def test_control_c_is_heard_only_when_llama_cpp_has_started() -> None:
    # A server that is given up before it has answered once waits for ever in its destructor.
    steps = []

    def start() -> None:
        with gguf._deaf():
            signal.raise_signal(signal.SIGINT)
            steps.append("started")

    # Processes that a shell starts in the background ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            start()
        assert steps == ["started"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
