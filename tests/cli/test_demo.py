from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Vantage
from vantage import Corpus
from vantage.raters.models.embedded import WEAKNESS


@pytest.mark.slow
def test_the_demo_runs_offline_and_says_what_it_is(vantage: Vantage, tmp_path: Path) -> None:
    done = vantage("demo", "--out", tmp_path / "demo", "--groups", "2")
    assert done.code == 0, done.err
    for part in ("1. ", "2. ", "3. ", "r9", "synthetic", "135 million parameters", "report.html", WEAKNESS):
        assert part in done.out
    corpus = Corpus.read(tmp_path / "demo" / "corpus")
    assert corpus.judgments.filter(rater="embedded+scoring").height == 2 * 15
    page = (tmp_path / "demo" / "report.html").read_text()
    for part in ("for demonstration", "synthetic", "competence, people", "Krippendorff"):
        assert part in page
