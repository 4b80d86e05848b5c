"""The `ppi-python` package, without the minute that compiling its loops would take."""

from __future__ import annotations

import os
from typing import Any

import pytest


def ppi_python() -> Any:
    """The package; its loops run as plain Python."""
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
    return pytest.importorskip("ppi_py")
