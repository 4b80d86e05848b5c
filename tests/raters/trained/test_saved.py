from __future__ import annotations

import json
from pathlib import Path

import pytest

from vantage import InputError
from vantage.raters.trained.saved import described

WORDS = ("rater.json", "trained rater", ("parts",), "make one")


def test_a_description_is_read(tmp_path: Path) -> None:
    (tmp_path / "rater.json").write_text(json.dumps({"format": 1, "parts": []}))
    assert described(tmp_path, *WORDS)["parts"] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "there is no trained rater here"),
        ("{", "does not describe a trained rater"),
        ("[]", "does not describe a trained rater"),
        ('{"format": 2, "vantage": "9.0"}', r"newer Vantage \(9.0\)"),
        ('{"format": 1}', "lacks 'parts'"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str | None, told: str) -> None:
    if text is not None:
        (tmp_path / "rater.json").write_text(text)
    with pytest.raises(InputError, match=told):
        described(tmp_path, *WORDS)
