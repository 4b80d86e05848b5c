from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import Done, run
from vantage import demo_corpus

Vantage = Callable[..., Done]


@pytest.fixture
def vantage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Vantage:
    """`vantage("corpora", "describe", folder)` as on the command line."""
    return lambda *words: run(capsys, monkeypatch, *words)


@pytest.fixture(scope="session")
def _written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_corpus().write(tmp_path_factory.mktemp("written") / "demo-corpus")


@pytest.fixture
def demo(tmp_path: Path, _written: Path) -> Path:
    """A folder with the demo corpus."""
    return shutil.copytree(_written, tmp_path / "demo-corpus")
