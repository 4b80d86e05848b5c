"""Databases of other versions, of other programs and of other studies."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from tests.collect.conftest import OpenService
from tests.collect.people import begun, ratings, study, walked, work
from vantage.collect import tables
from vantage.collect.service import StudyService
from vantage.collect.tables import read_setting
from vantage.errors import InputError

LATER = (tables.participants.c.note, tables.participants.c.state, tables.participants.c.wording)
"""Columns that an older version might not have had: with a default, and without one."""


def written(service: StudyService, *statements: str) -> None:
    """Changes a database by hand."""
    for statement in statements:
        service.database.write(lambda c, statement=statement: c.execute(text(statement)).close())  # type: ignore[misc]


def columns(service: StudyService) -> dict[str, set[tuple[str, bool]]]:
    """The columns of every table, and whether they may be null."""
    tables_ = inspect(service.database.sql.engine)
    return {name: {(c["name"], c["nullable"]) for c in tables_.get_columns(name)} for name in tables_.get_table_names()}


def test_an_older_database_is_upgraded_with_all_its_answers(
    open_service: OpenService, tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = study(tmp_path, 6, raters=2, batch={"size": 4})
    old = open_service(plan, database)
    walked(old)
    halfway = begun(old)
    work(old, halfway, pages=2)
    new, answers = columns(old), old.researchers.corpus().judgments
    written(old, "DROP TABLE drafts", *(f"ALTER TABLE {c.table.name} DROP COLUMN {c.name}" for c in LATER))
    assert columns(old) != new
    old.close()
    monkeypatch.setattr(tables, "VERSION", tables.VERSION + 1)
    service = open_service(plan, database)
    assert service.database.read(lambda c: read_setting(c, "schema")) == str(tables.VERSION)
    assert columns(service) == new
    assert service.researchers.corpus().judgments.equals(answers)
    assert work(service, halfway) == 2
    service.participants.finish(halfway)
    rater = service.researchers.raters()[0].rater
    service.researchers.review_rater(rater, "approved", "well done")
    assert {row.rater: row.note for row in service.researchers.raters()}[rater] == "well done"


def test_a_database_from_before_the_first_release_is_refused(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    plan = study(tmp_path)
    written(open_service(plan, database), "UPDATE settings SET value = '3' WHERE key = 'schema'")
    with pytest.raises(InputError, match="schema version 3, from before the first release; begin the study anew"):
        open_service(plan, database)


def test_a_newer_database_is_refused(open_service: OpenService, tmp_path: Path, database: str) -> None:
    plan = study(tmp_path)
    written(open_service(plan, database), "UPDATE settings SET value = '99' WHERE key = 'schema'")
    supported = f"supports up to version {tables.VERSION}; update Vantage"
    with pytest.raises(InputError, match=f"schema version 99, but this Vantage {supported}"):
        open_service(plan, database)


def test_a_database_of_another_program_is_refused(open_service: OpenService, tmp_path: Path) -> None:
    place = tmp_path / "other.sqlite"
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE settings (key TEXT, value TEXT)")
    connection.close()
    with pytest.raises(InputError, match="was not created by vantage collect"):
        open_service(study(tmp_path), str(place))


def test_a_database_of_another_study_is_refused(open_service: OpenService, tmp_path: Path) -> None:
    place = str(tmp_path / "a.sqlite")
    open_service(study(tmp_path, 6), place)
    with pytest.raises(InputError, match="belongs to study 'mine', not to 'other'"):
        open_service(study(tmp_path, 6, id="other"), place)
    with pytest.raises(InputError, match="'conditions' of the study has changed"):
        open_service(study(tmp_path, 6, conditions={"between": ["plain"]}), place)
    with pytest.raises(InputError, match="The items of the corpus have changed"):
        open_service(study(tmp_path, 7), place)
    with pytest.raises(InputError, match="'raters' can no longer be changed"):
        open_service(study(tmp_path, 6, raters=1), place)


def test_texts_may_change_and_raters_be_added(open_service: OpenService, tmp_path: Path) -> None:
    place = str(tmp_path / "a.sqlite")
    service = open_service(study(tmp_path, 4, raters=1), place)
    walked(service)
    assert service.participants.step(service.participants.enter({})).kind == "full"
    service = open_service(study(tmp_path, 4, raters=2, consent="New words."), place)
    walked(service)
    assert set(ratings(service).values()) == {2}
    assert json.loads(service.database.read(lambda c: read_setting(c, "study")) or "")["consent"] == "New words."
    (revised,) = service.researchers.log().filter(event="revised").to_dicts()
    assert json.loads(revised["detail"])["text"] == "consent"
