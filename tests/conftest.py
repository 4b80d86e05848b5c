"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "vantage", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("vantage")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of published data; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("VANTAGE_DATA") or ROOT.parent / "shared" / "data")
    folder = folder if folder.is_absolute() else ROOT / folder
    if not folder.is_dir():
        pytest.skip(f"the published data are not here ({folder.name}); set VANTAGE_DATA to their folder")
    return folder
