from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Vantage
from vantage import Corpus
from vantage.cli import demo


@pytest.mark.slow
def test_the_demo_runs_offline_and_says_what_it_is(
    vantage: Vantage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "ASKED", 2)
    done = vantage("demo", "--to", tmp_path / "demo")
    assert done.code == 0, done.err
    for part in (
        "30 items",
        "Krippendorff's alpha",
        "Split-half",
        "r9",
        "synthetic",
        "SmolLM2",
        "not valid measurements",
    ):
        assert part in done.out
    corpus = Corpus.read(tmp_path / "demo" / "corpus")
    assert corpus.judgments.filter(rater="embedded+scoring").height == 2
