from __future__ import annotations

from pathlib import Path

import pytest

from vantage import InputError
from vantage.runs.prices import read_prices


def test_prices_are_read(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("openai:x: {input: 2.0, output: 10.0}\n", encoding="utf-8")
    assert read_prices(path) == {"openai:x": {"input": 2.0, "output": 10.0}}


@pytest.mark.parametrize(
    "text", ["openai:x: cheap\n", "openai:x: {input: free, output: 1}\n", "- a\n", "openai:x: {input: 1}\n"]
)
def test_a_bad_price_file_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"prices\.yaml"):
        read_prices(path)
