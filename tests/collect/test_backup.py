"""Backups of a study that is running, on both databases and from one to the other; and looking that changes nothing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.collect.conftest import OpenService, new_database
from tests.collect.people import begun, ratings, study, walked, work
from vantage.collect.backup import backup, restore
from vantage.collect.service import StudyService
from vantage.errors import InputError

PROLIFIC = {"via": "prolific", "completion_code": "DONE"}


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Another empty database, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'other.sqlite'}"
    return new_database(request.getfixturevalue("postgres"))


@pytest.mark.slow
def test_a_backup_of_a_running_study_is_one_moment_of_it_and_goes_on_anywhere(
    open_service: OpenService, tmp_path: Path, database: str, other: str
) -> None:
    plan = study(tmp_path, 12, raters=4, batch={"size": 12}, recruitment=PROLIFIC)
    service = open_service(plan, database)
    service.researchers.set_password("correct horse")
    walked(service, {"PROLIFIC_PID": "first"})
    half = begun(service, {"PROLIFIC_PID": "half", "SESSION_ID": "s1"})
    work(service, half, pages=5)
    busy = threading.Thread(target=lambda: walked(service, {"PROLIFIC_PID": "busy"}))
    busy.start()
    with_open = StudyService(plan, database, read_only=True)
    file = backup(with_open.database, tmp_path / "study.backup")
    with_open.close()
    busy.join()
    assert file.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.glob("*.part*")] == []
    with pytest.raises(InputError, match="already exists"):
        backup(service.database, file)
    assert restore(file, other) == "mine"
    with pytest.raises(InputError, match="already holds a study"):
        restore(file, other)
    restored = open_service(plan, other)
    assert restored.database.key == service.database.key
    assert restored.researchers.role("", "correct horse") == "manage"
    found = restored.researchers.overview()
    assert found.arms[0].answered + found.arms[0].reserved + found.arms[0].free == found.arms[0].wanted == 48
    assert 17 <= found.arms[0].answered <= 29
    again = restored.participants.find(half.id)
    assert again is not None
    assert restored.participants.step(again).position == 6
    work(restored, again)
    restored.participants.finish(again)
    walked(restored, {"PROLIFIC_PID": "later"})
    assert set(ratings(restored).values()) <= {3, 4}
    judged = restored.researchers.corpus().judgments
    assert judged.unique(["item", "question", "rater"]).height == judged.height
    ids = restored.researchers.platform_ids()["platform_id"]
    assert {"first", "half", "later"} <= set(ids)
    assert "restored" in restored.researchers.log()["event"]


def test_what_is_no_backup(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        restore(tmp_path / "nothing", str(tmp_path / "a.sqlite"))
    (tmp_path / "text").write_text("hello")
    with pytest.raises(InputError, match="Cannot open the database"):
        restore(tmp_path / "text", str(tmp_path / "a.sqlite"))
    assert not (tmp_path / "a.sqlite").exists()


def content(folder: Path) -> dict[str, bytes]:
    """What a SQLite database holds; SQLite notes elsewhere who is reading, and leaves an empty log."""
    files = [file for file in folder.glob("answers.sqlite*") if not file.name.endswith("-shm")]
    return {file.name: file.read_bytes() for file in files if file.stat().st_size}


def test_looking_changes_nothing(open_service: OpenService, tmp_path: Path, database: str) -> None:
    plan = study(tmp_path, 3, raters=2)
    with pytest.raises(InputError):
        StudyService(plan, database, read_only=True)
    assert not (tmp_path / "answers.sqlite").exists()
    service = open_service(plan, database)
    walked(service)
    files = content(tmp_path)
    # The study file has changed in the meantime, which serving would store.
    looking = open_service(study(tmp_path, 3, raters=5, title="Another"), database, read_only=True)
    assert looking.researchers.overview().arms[0].wanted == 6
    assert looking.researchers.overview().arms[0].answered == 3
    assert looking.researchers.log().height == 6
    with pytest.raises(Exception, match=r"readonly|read-only"):
        looking.researchers.pause()
    looking.close()
    assert content(tmp_path) == files
    service.close()
    # A database that nobody has open, whose log is gone.
    before = content(tmp_path)
    looking = open_service(plan, database, read_only=True)
    assert looking.researchers.overview().arms[0].answered == 3
    looking.close()
    assert content(tmp_path) == before
