from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vantage.raters.models import Message, ModelError, Request, Sampling, load_model
from vantage.raters.models.embedded import weights

pytest.importorskip("xllamacpp", reason="llama.cpp is not installed: pip install vantage[embedded]")

SHORT = (Message("user", "Lovely day!"),)


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


def test_requests_side_by_side_get_the_same_answers(file: Path) -> None:
    requests = [Request((Message("user", f"Say {word}."),), Sampling(max_tokens=4)) for word in ("yes", "no", "hi")]
    both = [load_model(f"gguf:{file}", window=256, parallel=n) for n in (1, 3)]
    one, three = (model.complete(requests) for model in both)
    assert [reply.text for reply in one] == [reply.text for reply in three]
    for model in both:
        assert model.window == 256
        model.close()
