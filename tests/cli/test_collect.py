from __future__ import annotations

import io
import json
import sys
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from tests.cli.run import run
from tests.collect.people import study, walked, work
from vantage import Corpus, demo_corpus
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
    demo = demo_corpus().write(tmp_path / "demo")
    refused = run(capsys, monkeypatch, "collect", "export", plan.folder, "--to", demo)
    assert (refused.code, Corpus.read(demo)) == (2, demo_corpus())
    assert "holds another corpus" in refused.err


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
            service.participants.confirm(person)
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


@pytest.fixture
def prolific(tmp_path: Path) -> AnnotationStudy:
    """A study in which one person has finished, one was screened out, one withdrew and one declined."""
    quiz = {"questions": [{"ask": "One?", "options": ["a", "b"], "answer": 1}], "attempts": 1}
    recruitment = {"via": "prolific", "completion_code": "C"}
    found = study(tmp_path, 2, quiz=quiz, recruitment=recruitment)
    with closing(StudyService(found)) as service:
        people = service.participants
        for name in ("done", "failed", "left", "declined"):
            person = people.enter({"PROLIFIC_PID": name, "SESSION_ID": f"session-{name}"})
            if people.give_consent(person, agreed=name != "declined").kind == "declined":
                continue
            people.confirm(person)
            people.answer_quiz(person, [int(name == "failed")])
            if name == "left":
                people.withdraw(person)
            elif name == "done":
                work(service, person)
                people.finish(person)
    return found


def test_export_of_platform_ids_is_for_the_owner_alone(
    prolific: AnnotationStudy, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ids.csv"
    done = run(capsys, monkeypatch, "collect", "export", prolific.folder, "--platform-ids", file)
    assert done.code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    rows = {row["stage"]: row for row in pl.read_csv(file).iter_rows(named=True)}
    assert rows.keys() == {"finished", "screened_out", "withdrawn"}
    assert rows["finished"]["platform_id"] == "done"
    assert rows["finished"]["SESSION_ID"] == "session-done"
    assert all(rows["finished"][name] for name in ("entered_at", "consented_at", "finished_at", "consent_sha256"))
    assert rows["screened_out"]["platform_id"] == "failed"
    assert rows["withdrawn"]["platform_id"] is None
    shared = b"".join(f.read_bytes() for f in prolific.folder.iterdir() if f.is_file())
    assert b"session-" not in shared
    inside = prolific.folder / "ids.csv"
    done = run(capsys, monkeypatch, "collect", "export", prolific.folder, "--platform-ids", inside)
    assert done.code == 2
    assert "must not lie in a corpus folder" in done.err
    assert not inside.exists()
    log = run(capsys, monkeypatch, "collect", "log", prolific.folder, "--json").json
    assert log[-1]["event"] == "exported"
    assert "platform ids" in log[-1]["detail"]


def test_status_creates_no_database(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = study(tmp_path, 2)
    done = run(capsys, monkeypatch, "collect", "status", found.folder, "--instrument", found.plan.instrument)
    assert done.code == 2
    assert not list(found.folder.glob("*.sqlite*"))


def test_backup_and_restore(
    plan: AnnotationStudy, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, place = tmp_path / "study.backup", f"sqlite:///{tmp_path / 'restored.sqlite'}"
    assert "keep it to yourself" in run(capsys, monkeypatch, "collect", "backup", file, plan.folder).out
    assert "'mine' is restored" in run(capsys, monkeypatch, "collect", "restore", file, "--database", place).out
    done = run(capsys, monkeypatch, "collect", "status", plan.folder, "--database", place, "--json")
    assert done.json["arms"][0]["answered"] == 5
    assert run(capsys, monkeypatch, "collect", "restore", file, "--database", place).code == 2


def test_corrected_guidelines_are_a_recorded_revision(
    plan: AnnotationStudy, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    instrument, file = tmp_path / "mine.yaml", tmp_path / "study.yaml"
    data = {"id": "mine", "title": plan.title, "corpus": "corpus", "instrument": "mine.yaml", "raters": 2}
    file.write_text(dump(data), encoding="utf-8")
    words = instrument.read_text("utf-8")
    instrument.write_text(words.replace("guidelines: ", "guidelines: Truely. ", 1), encoding="utf-8")
    done = run(capsys, monkeypatch, "collect", "export", "--study", file, "--to", tmp_path / "out")
    assert done.code == 0
    assert "changes nothing yet (instrument.guidelines)" in done.err
    done = run(capsys, monkeypatch, "collect", "revise", file, "--note", "a typo")
    assert done.out.startswith("instrument.guidelines:\n  - ")
    assert "\n  + Truely. " in done.out
    log = run(capsys, monkeypatch, "collect", "log", plan.folder, "--json").json
    detail = json.loads(log[-1]["detail"])
    assert (log[-1]["event"], detail["text"], detail["note"]) == ("revised", "instrument.guidelines", "a typo")
    assert detail["before"] != detail["after"]
    assert run(capsys, monkeypatch, "collect", "export", "--study", file, "--to", tmp_path / "out").code == 0
    instrument.write_text(words.replace("warm", "cold"), encoding="utf-8")
    done = run(capsys, monkeypatch, "collect", "revise", file, "--note", "another question")
    assert done.code == 2
    assert "differ in question 'warm'" in done.err


def test_preview(plan: AnnotationStudy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(capsys, monkeypatch, "collect", "preview", plan.folder, "--url", "https://example.org/s/")
    assert done.out.startswith("https://example.org/s/preview/?key=")


def test_invite(plan: AnnotationStudy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(capsys, monkeypatch, "collect", "invite", plan.folder, "-n", 3, "--url", "https://example.org/s/")
    links = done.out.split()
    assert len(set(links)) == 3
    assert all(link.startswith("https://example.org/s/?invitation=") for link in links)


def test_password(plan: AnnotationStudy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse\n"))
    assert run(capsys, monkeypatch, "collect", "password", plan.folder).code == 0
    with closing(StudyService(plan)) as service:
        assert service.researchers.role("", "correct horse") == "manage"
    monkeypatch.setattr(sys, "stdin", io.StringIO("anns own password\n"))
    named = ("collect", "password", plan.folder, "--name", "ann")
    assert run(capsys, monkeypatch, *named, "--role", "boss").code == 2
    assert run(capsys, monkeypatch, *named, "--role", "review").code == 0
    with closing(StudyService(plan)) as service:
        assert (service.researchers.named(), service.researchers.role("ann", "correct horse")) == (
            {"ann": "review"},
            None,
        )
    assert "can no longer log in" in run(capsys, monkeypatch, *named, "--remove").out
    with closing(StudyService(plan)) as service:
        assert service.researchers.named() == {}


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
        (("{folder}/nowhere",), "there is no such folder"),
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
