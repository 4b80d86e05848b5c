"""How many modules of measures a value passes through on its way to alpha and its interval."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import numpy as np

import vantage.measures
from vantage.measures import alpha

FOLDER = Path(vantage.measures.__file__).parent
WALK = {
    "base", "kinds", "ratings", "tables", "codes", "counts", "missing", "agreement.alpha", "kernel",
    "intervals",
}  # fmt: skip


def test_a_value_reaches_alpha_with_its_interval_through_few_modules() -> None:
    votes = np.random.default_rng(0).integers(1, 6, (6, 30)).astype(float)
    alpha(votes, level="ordinal")  # whatever is imported on the way
    seen = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(FOLDER):
            seen.add(".".join(path.relative_to(FOLDER).with_suffix("").parts))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        row = alpha(votes, level="ordinal").row(0, named=True)
    finally:
        sys.setprofile(before)
    assert row["over"] == "both"
    assert seen <= WALK
