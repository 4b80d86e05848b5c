"""What the tests of the context study share: planted statements on disk, and models that stand for real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.studies.context.pipeline.planted import Planted, planted_corpus
from tests.studies.context.pipeline.script_writer import ScriptWriter


@pytest.fixture
def planted_data(tmp_path: Path) -> Path:
    """A data folder with 24 statements of the task sarcasm, every second of them ambiguous to people."""
    folder = tmp_path / "data"
    planted_corpus(["clear", "clear", "ambiguous", "ambiguous"] * 6).write(folder / "sarcasm")
    return folder


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The models `planted` (judges and readers) and `writer` (contexts), in the place of real ones."""
    known: dict[str, Any] = {"planted": Planted(), "writer": ScriptWriter()}

    def load(spec: str, **_: Any) -> Any:
        return known[spec]

    monkeypatch.setattr("vantage.raters.chat.load_model", load)
    monkeypatch.setattr("vantage.raters.chat.check_model", lambda *_: {})
    return known
