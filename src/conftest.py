"""Doctests are looked for in modules that have some: importing all of Vantage takes each test process half a minute."""

from __future__ import annotations

from pathlib import Path


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Passes over modules without an example; null leaves the rest to pytest."""
    if collection_path.suffix == ".py" and b">>> " not in collection_path.read_bytes():
        return True
    return None
