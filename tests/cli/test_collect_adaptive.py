"""Adaptive studies on the command line: checked, watched, exported and measured."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.run import run
from tests.collect.people import corpus, instrument
from tests.collect.test_adapting import run as everyone
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.documents import dump

STUDY = """\
id: mine
title: Mine
corpus: corpus
instrument: mine.yaml
questions: [[kind]]
batch: {size: 6}
raters: {min: 2, max: 12, until: RULE}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A study file with its instrument and corpus."""
    corpus(tmp_path, 24)
    (tmp_path / "mine.yaml").write_text(dump(dict(instrument().document)), encoding="utf-8")
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("RULE", "width 0.4"), encoding="utf-8")
    return path


def test_check_says_what_a_rule_needs(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(capsys, monkeypatch, "collect", "check", file)
    assert "evenly split need 21 ratings for 'width 0.4', so they stop at 12" in done.out
    assert run(capsys, monkeypatch, "collect", "check", file, "--json").json["ratings_at_most"] == 24 * 12
    file.write_text(STUDY.replace("RULE", "width 0.1"), encoding="utf-8")
    done = run(capsys, monkeypatch, "collect", "check", file)
    assert done.code == 2
    assert "line 7, raters.until: no item can be known to a width of 0.1 with 12 ratings" in done.err
    assert "'max' must be at least 35" in done.err


@pytest.mark.slow
def test_status_export_and_measure(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(StudyService(AnnotationStudy.load(file))) as service:
        everyone(service, 100)
    done = run(capsys, monkeypatch, "collect", "status", "--study", file)
    assert "kind: alpha " in done.out
    assert "always-valid 95 % interval" in done.out
    known = run(capsys, monkeypatch, "collect", "status", "--study", file, "--json").json["adaptive"][0]
    assert (known["known"], known["open"], known["at_most"]) == (12, 0, 12)
    folder = tmp_path / "out"
    run(capsys, monkeypatch, "collect", "export", "--study", file, "--to", folder, "--only")
    done = run(capsys, monkeypatch, "measure", "alpha", folder, "--ci", "none")
    assert "ratings beyond the core; to use them too, pass --include-extra" in done.err
    assert "Estimated from the core alone" in done.err
    done = run(capsys, monkeypatch, "measure", "alpha", folder, "--ci", "none", "--include-extra")
    assert "Warning: biased" in done.err
