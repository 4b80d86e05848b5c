from __future__ import annotations

import io
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.run import run
from tests.collect.people import study, walked
from vantage import Corpus
from vantage.collect.desk import Desk
from vantage.collect.study import Study
from vantage.documents import dump


@pytest.fixture
def plan(tmp_path: Path) -> Study:
    """A study that has begun: one of two wanted ratings per item."""
    found = study(tmp_path, 5, raters=2)
    with closing(Desk.open(found)) as desk:
        walked(desk)
    return found


def test_status(plan: Study, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(capsys, monkeypatch, "collect", "status", plan.folder, "--json")
    assert done.json["arms"][0]["answered"] == 5
    done = run(capsys, monkeypatch, "collect", "status", plan.folder)
    assert "participants: 1 finished" in done.out


def test_export_adds_to_the_corpus(
    plan: Study, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        done = run(capsys, monkeypatch, "collect", "export", plan.folder, "--json")
        assert (done.code, done.json["collected"]) == (0, 10)
    assert len(Corpus.read(plan.folder).judgments) == 10


def test_export_elsewhere(
    plan: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(capsys, monkeypatch, "collect", "export", plan.folder, "--to", tmp_path / "out", "--only")
    assert "10 collected judgments" in done.out
    assert Corpus.read(tmp_path / "out").raters["study"].to_list() == ["mine"]
    assert run(capsys, monkeypatch, "collect", "export", plan.folder, "--only").code == 2


def test_invite(plan: Study, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(capsys, monkeypatch, "collect", "invite", plan.folder, "-n", 3, "--url", "https://example.org/s/")
    links = done.out.split()
    assert len(set(links)) == 3
    assert all(link.startswith("https://example.org/s/?invitation=") for link in links)


def test_password(plan: Study, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse\n"))
    assert run(capsys, monkeypatch, "collect", "password", plan.folder).code == 0
    with closing(Desk.open(plan)) as desk:
        assert desk.password_matches("correct horse")


def test_check(
    plan: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "study.yaml"
    data = {"id": "a", "title": "A", "corpus": "corpus", "instrument": "mine.yaml", "raters": 4, "batch": {"size": 3}}
    file.write_text(dump(data), encoding="utf-8")
    done = run(capsys, monkeypatch, "collect", "check", file, "--json")
    assert (done.json["items"], done.json["ratings_wanted"], done.json["batches_needed"]) == (5, 20, 7)
    file.write_text(dump({**data, "raters": 0, "oops": 1}), encoding="utf-8")
    done = run(capsys, monkeypatch, "collect", "check", file)
    assert done.code == 2
    assert "2 problems" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "no study given"),
        (("{folder}/nowhere",), "the folder has no study yet"),
        (("{folder}", "--database", "mysql://x/y"), "neither a SQLite file"),
        (("{folder}", "--database", "{folder}/new.sqlite"), "there is no study in this database"),
    ],
)
def test_bad_input_ends_in_a_sentence(
    plan: Study,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    told: str,
) -> None:
    done = run(capsys, monkeypatch, "collect", "status", *(word.format(folder=plan.folder) for word in words))
    assert done.code == 2
    assert told in done.err


def test_without_a_command_the_study_is_served(
    plan: Study, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[tuple[object, dict[str, object]]] = []
    monkeypatch.setattr("vantage.collect.web.server.serve", lambda source, **how: served.append((source, how)))
    file = plan.plan.instrument
    done = run(capsys, monkeypatch, "collect", plan.folder, "--instrument", file, "--port", 8123)
    assert "http://localhost:8123/" in done.out
    assert "The dashboard's password is" in done.out
    again = run(capsys, monkeypatch, "collect", plan.folder, "--instrument", file)
    assert "password is" not in again.out, "it is told once"
    assert [how["port"] for _, how in served] == [8123, 8000]
    assert run(capsys, monkeypatch, "collect", plan.folder).code == 2
