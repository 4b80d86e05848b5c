"""Studies that a test has service are closed after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.collect.web.studies import OPENED


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()
