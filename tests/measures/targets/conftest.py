"""The command line, as a fixture."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Vantage
from tests.cli.run import run


@pytest.fixture
def vantage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Vantage:
    """`vantage("robust", "mean", folder)` as on the command line."""
    return lambda *words: run(capsys, monkeypatch, *words)
