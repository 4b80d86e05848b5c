"""How often slow tests repeat something: in CI enough to see a defect, before a release as often as is claimed."""

from __future__ import annotations

import os


def times(claimed: int, usually: int) -> int:
    """The number that documents claim where `VANTAGE_THOROUGH` is set (`make test SLOW=yes THOROUGH=yes`), else fewer.

    >>> times(200, 80) in (80, 200)
    True
    """
    return claimed if os.environ.get("VANTAGE_THOROUGH") else usually
