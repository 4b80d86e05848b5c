from __future__ import annotations

from pathlib import Path

import pytest
import typer

from tests.cli.conftest import Vantage
from vantage import Corpus
from vantage.raters.models.embedded import WEAKNESS


@pytest.mark.slow
def test_the_demo_runs_offline_and_says_what_it_is(
    vantage: Vantage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(typer, "launch", opened.append)
    done = vantage("demo", "--to", tmp_path / "demo", "--asked", "4", "--open")
    assert done.code == 0, done.err
    for part in ("1. ", "p07, p19", "synthetic", "report.html", WEAKNESS, "vantage new project"):
        assert part in done.out
    corpus = Corpus.read(tmp_path / "demo" / "corpus")
    assert corpus.judgments.filter(rater="embedded+scoring").height == 4
    page = (tmp_path / "demo" / "report.html").read_text()
    for part in ("Planted beside found", "synthetic", "coverage in other corpora"):
        assert part in page
    assert opened == [str((tmp_path / "demo" / "report.html").resolve())]
