"""A study on a fake Prolific for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recruit.world import World, world


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    """A study that is not created on the platform yet."""
    with world(tmp_path) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROLIFIC_TOKEN", "PROLIFIC_URL"):
        monkeypatch.delenv(name, raising=False)
