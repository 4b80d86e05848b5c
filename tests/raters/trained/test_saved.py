from __future__ import annotations

from pathlib import Path

import pytest

from vantage import InputError
from vantage.raters.trained.saved import described


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "there is no trained rater here"),
        ("{", "does not describe a trained rater"),
        ("[]", "does not describe a trained rater"),
        ('{"format": 3, "vantage": "9.0"}', r"newer Vantage \(9.0\); update"),
        ('{"format": 1, "vantage": "0.1.0"}', r"older Vantage \(0.1.0\); fit it again"),
        ('{"format": 2, "instrument": {}}', "lacks 'questions'"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str | None, told: str) -> None:
    if text is not None:
        (tmp_path / "rater.json").write_text(text)
    with pytest.raises(InputError, match=told):
        described(tmp_path)
