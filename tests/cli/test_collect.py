from __future__ import annotations

import io
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.run import run
from tests.collect.people import study, walked, work
from vantage import Corpus
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.documents import dump


@pytest.fixture
def plan(tmp_path: Path) -> AnnotationStudy:
    """A study that has begun: one of two wanted ratings per item."""
    found = study(tmp_path, 5, raters=2)
    with closing(StudyService(found)) as service:
        walked(service)
    return found


def test_status(plan: AnnotationStudy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(capsys, monkeypatch, "collect", "status", plan.folder, "--json")
    assert done.json["arms"][0]["answered"] == 5
    done = run(capsys, monkeypatch, "collect", "status", plan.folder)
    assert "participants: 1 finished" in done.out


def test_export_adds_to_the_corpus(
    plan: AnnotationStudy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        done = run(capsys, monkeypatch, "collect", "export", plan.folder, "--json")
        assert (done.code, done.json["collected"]) == (0, 10)
    assert len(Corpus.read(plan.folder).judgments) == 10


def test_export_elsewhere(
    plan: AnnotationStudy, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(capsys, monkeypatch, "collect", "export", plan.folder, "--to", tmp_path / "out", "--only")
    assert "10 collected judgments" in done.out
    assert Corpus.read(tmp_path / "out").raters["study"].to_list() == ["mine"]
    assert run(capsys, monkeypatch, "collect", "export", plan.folder, "--only").code == 2


@pytest.fixture
def traits(tmp_path: Path) -> AnnotationStudy:
    """A study in which two women and one man have taken part."""
    gender = {"id": "gender", "ask": "Gender?", "options": ["woman", "man"]}
    found = study(tmp_path, 2, traits=[gender])
    with closing(StudyService(found)) as service:
        for answer in ("woman", "woman", "man"):
            person = service.participants.enter({})
            service.participants.give_consent(person, agreed=True)
            service.participants.give_traits(person, {"gender": answer})
            service.participants.confirm_guidelines(person)
            work(service, person)
            service.participants.finish(person)
    return found


@pytest.mark.parametrize(
    ("flags", "code", "warning"),
    [
        ((), 0, "Warning: 3 of 3 raters could be identified: fewer than 5 people share their gender"),
        (("--k", 2), 0, "Warning: 1 of 3 raters could be identified: fewer than 2 people share their gender"),
        (("--k", 1), 0, ""),
        (("--strict",), 2, "3 of 3 raters could be identified: fewer than 5 people share their gender"),
        (("--strict", "--k", 2), 2, "1 of 3 raters could be identified: fewer than 2 people share their gender"),
        (("--strict", "--k", 1), 0, ""),
        (("--allow-unique",), 0, ""),
        (("--strict", "--allow-unique"), 0, ""),
    ],
)
def test_an_export_guards_against_disclosure(
    traits: AnnotationStudy,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[object, ...],
    code: int,
    warning: str,
) -> None:
    done = run(capsys, monkeypatch, "collect", "export", traits.folder, "--to", tmp_path / "out", *flags)
    assert done.code == code
    assert " ".join(done.err.split()).find(warning) >= 0 if warning else not done.err
    assert (tmp_path / "out").exists() == (code == 0), "a refused export writes nothing"
    if code == 0:
        exported = Corpus.read(tmp_path / "out")
        assert exported.raters["gender"].to_list() == ["woman", "woman", "man"]
        allowed = "--allow-unique" in flags
        assert any("raters share their traits with fewer than 5" in n for n in exported.about.notes) == allowed
    else:
        assert "--allow-unique" in done.err


def test_invite(plan: AnnotationStudy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(capsys, monkeypatch, "collect", "invite", plan.folder, "-n", 3, "--url", "https://example.org/s/")
    links = done.out.split()
    assert len(set(links)) == 3
    assert all(link.startswith("https://example.org/s/?invitation=") for link in links)


def test_password(plan: AnnotationStudy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse\n"))
    assert run(capsys, monkeypatch, "collect", "password", plan.folder).code == 0
    with closing(StudyService(plan)) as service:
        assert service.researchers.password_matches("correct horse")


def test_check(
    plan: AnnotationStudy, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "study.yaml"
    data = {"id": "a", "title": "A", "corpus": "corpus", "instrument": "mine.yaml", "raters": 4, "batch": {"size": 3}}
    file.write_text(dump(data), encoding="utf-8")
    done = run(capsys, monkeypatch, "collect", "check", file, "--json")
    assert (done.json["items"], done.json["ratings_wanted"], done.json["people_needed"]) == (5, 20, 7)
    file.write_text(dump({**data, "raters": 0, "oops": 1}), encoding="utf-8")
    done = run(capsys, monkeypatch, "collect", "check", file)
    assert done.code == 2
    assert "2 problems" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "No study given"),
        (("{folder}/nowhere",), "The folder has no study yet"),
        (("{folder}", "--database", "mysql://x/y"), "neither a SQLite file"),
        (("{folder}", "--database", "{folder}/new.sqlite"), "This database holds no study"),
    ],
)
def test_bad_input_ends_in_a_sentence(
    plan: AnnotationStudy,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    message: str,
) -> None:
    done = run(capsys, monkeypatch, "collect", "status", *(word.format(folder=plan.folder) for word in words))
    assert done.code == 2
    assert message in done.err


def test_without_a_command_the_study_is_served(
    plan: AnnotationStudy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[tuple[object, dict[str, object]]] = []
    monkeypatch.setattr("vantage.collect.web.server.serve", lambda source, **how: served.append((source, how)))
    file = plan.plan.instrument
    done = run(capsys, monkeypatch, "collect", plan.folder, "--instrument", file, "--port", 8123)
    assert "http://localhost:8123/" in done.out
    assert "The dashboard's password is" in done.out
    again = run(capsys, monkeypatch, "collect", plan.folder, "--instrument", file)
    assert "password is" not in again.out, "it is shown once"
    assert [how["port"] for _, how in served] == [8123, 8000]
    assert run(capsys, monkeypatch, "collect", plan.folder).code == 2
