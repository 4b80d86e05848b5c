"""Tests that need torch: one worker runs them all, since importing it takes seconds, and none imports it to collect."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

MISSING = [name for name in ("torch", "transformers") if find_spec(name) is None]
needs_torch = [
    pytest.mark.skipif(
        bool(MISSING), reason=f"{' and '.join(MISSING)} not installed: pip install vantage-raters[local]"
    ),
    pytest.mark.xdist_group("torch"),
]
