"""Contract with a real LiteLLM proxy before a real llama.cpp server.

The proxy has about a hundred dependencies, so it gets an environment of its own; the test uses the command that
`VANTAGE_LITELLM` names, or one beside Python or on the path, and is skipped where there is none:

    python -m venv proxy && proxy/bin/pip install "litellm[proxy]"
    VANTAGE_LITELLM=proxy/bin/litellm pytest tests/raters/models/test_litellm_proxy.py
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from shutil import which
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.raters.models.llama_server import check_style, llama_server, pairs
from vantage.raters.models import Message, Request, Sampling, load_model
from vantage.raters.models.openai import OpenAIModel

COMMAND = os.environ.get("VANTAGE_LITELLM") or which("litellm", path=Path(sys.executable).parent) or which("litellm")
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "integer", "enum": [1, 2, 3]}},
    "required": ["answer"],
    "additionalProperties": False,
}
KEY = f"sk-{token_hex(24)}"
OFFLINE = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
START = 240
"""Seconds in which the proxy must be up."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not COMMAND, reason="there is no LiteLLM proxy; VANTAGE_LITELLM may name one"),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("proxy")
    with llama_server() as served, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        told = {"model": "openai/smollm2", "api_base": served, "api_key": "none"}
        lines = {
            "model_list": [{"model_name": "smollm2", "litellm_params": told}],
            "general_settings": {"master_key": KEY},
        }
        (folder / "config.yaml").write_text(json.dumps(lines))
        assert COMMAND is not None
        words = [COMMAND, "--config", str(folder / "config.yaml"), "--host", "127.0.0.1", "--port", str(port)]
        with (folder / "log").open("w") as log:
            proxy = subprocess.Popen(words, stdout=log, stderr=log, cwd=folder, env={**os.environ, **OFFLINE})
        try:
            _wait(f"http://127.0.0.1:{port}/health/liveliness", proxy, folder / "log")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            proxy.terminate()
            proxy.wait()


def _wait(address: str, proxy: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START
    while time.monotonic() < end and proxy.poll() is None:
        try:
            with urlopen(address, timeout=5):  # noqa: S310 - an address of this machine
                return
        except (URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"the proxy did not come up: {log.read_text()[-500:]}")


@pytest.fixture
def model(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIModel]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    loaded = load_model("openai:smollm2", base_url=url, timeout=300, max_retries=0)
    assert isinstance(loaded, OpenAIModel)
    yield loaded
    loaded.close()


def test_replies_schemas_and_faults_come_through_the_proxy(model: OpenAIModel, url: str) -> None:
    asked = (Message("user", "Tell a story."),)
    plain, cut, held = (
        model.complete([Request(asked, Sampling(0.0, 1.0, 5, 1))])[0],
        model.complete([Request(asked, Sampling(1.0, 1.0, 3, 2))])[0],
        model.complete([Request(asked, Sampling(max_tokens=60), SCHEMA)])[0],
    )
    assert (plain.error, plain.finish, plain.completion_tokens) == ("", "length", 5)
    assert cut.finish == "length"
    assert json.loads(held.text)["answer"] in (1, 2, 3)
    long = model.complete([Request((Message("user", "word " * 9000),))])[0]
    assert long.finish == "failed"
    assert "max_tokens" not in model.left_out
    other = load_model("openai:nobody", base_url=url, timeout=300, max_retries=0)
    try:
        assert other.complete([Request(asked)])[0].finish == "failed"
    finally:
        other.close()


@pytest.mark.parametrize(("instrument", "style"), pairs(every=9))
def test_all_styles_come_through_the_proxy(
    url: str, instrument: str, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    check_style(url, instrument, style)
