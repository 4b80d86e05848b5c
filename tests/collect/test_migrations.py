"""Databases of other versions. Version 1 is made here by the statements with which it was made then."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

from tests.collect.conftest import OpenService
from tests.collect.people import begun, ratings, study, walked, work
from vantage.collect import tables
from vantage.collect.migrations import VERSION
from vantage.collect.service import StudyService
from vantage.collect.sql import SqlDatabase
from vantage.collect.study_setup import read_setting
from vantage.errors import InputError

VERSION_1 = """
CREATE TABLE settings (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE items ("row" {number} NOT NULL PRIMARY KEY, item TEXT NOT NULL UNIQUE, record TEXT NOT NULL);
CREATE TABLE arms (arm INTEGER NOT NULL PRIMARY KEY, condition TEXT NOT NULL, question_set INTEGER NOT NULL,
  seats BIGINT NOT NULL, next_seat BIGINT NOT NULL, returned BIGINT NOT NULL);
CREATE TABLE returned (arm INTEGER NOT NULL, seat BIGINT NOT NULL, "row" BIGINT NOT NULL, PRIMARY KEY (arm, seat));
CREATE INDEX returned_row ON returned (arm, "row");
CREATE TABLE participants (number {serial}, id TEXT NOT NULL UNIQUE,
  rater TEXT NOT NULL UNIQUE, source TEXT NOT NULL, external TEXT, links TEXT NOT NULL, stage TEXT NOT NULL,
  question_set INTEGER, arm INTEGER, batch INTEGER NOT NULL, pages INTEGER NOT NULL,
  answered INTEGER NOT NULL, attempts INTEGER NOT NULL, traits TEXT, lease {float},
  arrived_at {float} NOT NULL, finished_at {float}, verdict TEXT NOT NULL,
  CONSTRAINT participants_external UNIQUE (source, external));
CREATE INDEX participants_lease ON participants (lease);
CREATE TABLE pages (id {serial}, participant {number} NOT NULL REFERENCES participants (number),
  batch INTEGER NOT NULL, position INTEGER NOT NULL, kind TEXT NOT NULL, "row" BIGINT, condition TEXT NOT NULL,
  "check" TEXT NOT NULL, arm INTEGER, seat BIGINT, state TEXT NOT NULL, revision INTEGER NOT NULL,
  CONSTRAINT pages_position UNIQUE (participant, batch, position),
  CONSTRAINT pages_item_once UNIQUE (participant, "row"), CONSTRAINT pages_seat_once UNIQUE (arm, seat));
CREATE INDEX pages_row ON pages ("row");
CREATE INDEX pages_next ON pages (participant, batch, state, position);
CREATE TABLE submissions (id {serial}, page {number} NOT NULL REFERENCES pages (id), revision INTEGER NOT NULL,
  token TEXT NOT NULL, answers TEXT NOT NULL, seconds {float}, at {float} NOT NULL,
  CONSTRAINT submissions_revision UNIQUE (page, revision), CONSTRAINT submissions_token UNIQUE (page, token));
CREATE TABLE invitations (token TEXT NOT NULL PRIMARY KEY, note TEXT NOT NULL, made_at {float} NOT NULL);
INSERT INTO settings VALUES ('schema', '1');
"""
TYPES = {
    "sqlite": {"number": "INTEGER", "serial": "INTEGER NOT NULL PRIMARY KEY", "float": "FLOAT"},
    "postgresql": {"number": "BIGINT", "serial": "BIGSERIAL PRIMARY KEY", "float": "DOUBLE PRECISION"},
}


def make_version_1(address: str) -> None:
    """An empty database of the first version."""
    store = SqlDatabase(address)
    engine = create_engine(store.url)
    statements: Sequence[str] = VERSION_1.format(**TYPES["sqlite" if store.sqlite else "postgresql"]).split(";\n")
    with engine.begin() as connection:
        for statement in filter(str.strip, statements):
            connection.execute(text(statement))
    engine.dispose()
    store.close()


def fill_version_1(address: str, made: StudyService) -> None:
    """Copies a study with its answers from a present database into one of the first version, which held everything."""
    engine = create_engine(SqlDatabase(address).url)
    order = (tables.items, tables.arms, tables.returned, tables.participants, tables.pages, tables.submissions)
    read = made.database.read
    known = {one["rater"]: one for one in made.database.private.identities()}
    with engine.begin() as old:
        stored = {row.key: row.value for row in read(lambda c: c.execute(tables.settings.select()).all())}
        stored |= {"secret": made.database.key, "password": made.database.private.setting("password") or ""}
        for key in stored.keys() - {"schema", "private"}:
            old.execute(text("INSERT INTO settings VALUES (:key, :value)"), {"key": key, "value": stored[key]})
        for table in order:
            kept = [column["name"] for column in inspect(engine).get_columns(table.name)]
            rows = [dict(row) for row in read(lambda c, table=table: c.execute(table.select()).mappings().all())]  # type: ignore[misc]
            for row in rows if table is tables.participants else ():
                one = known[row["rater"]]
                row |= {"external": one["external"], "links": json.dumps(one["links"])}
            if rows:
                names = ", ".join(f'"{column}"' for column in kept)
                places = ", ".join(f":{column}" for column in kept)
                statement = text(f"INSERT INTO {table.name} ({names}) VALUES ({places})")  # noqa: S608
                old.execute(statement, [{column: row[column] for column in kept} for row in rows])
            key = next(iter(table.primary_key)).name
            if old.dialect.name == "postgresql" and key in ("id", "number"):
                counter = f"SELECT setval(pg_get_serial_sequence('{table.name}', '{key}'), 1000)"
                old.execute(text(counter))
    engine.dispose()


def test_a_study_of_the_first_version_is_upgraded_with_all_its_answers_and_its_secrets_move_out(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    plan = study(tmp_path, 6, raters=2, batch={"size": 4}, recruitment={"via": "prolific", "completion_code": "C"})
    present = open_service(plan, f"sqlite:///{tmp_path / 'present.sqlite'}")
    present.researchers.set_password("correct horse")
    walked(present, {"PROLIFIC_PID": "5a9d64f5f6df", "SESSION_ID": "session-77"})
    halfway = begun(present, {"PROLIFIC_PID": "5a9d64f5f6e0", "SESSION_ID": "session-78"})
    work(present, halfway, pages=2)
    make_version_1(database)
    fill_version_1(database, present)
    service = open_service(plan, database)
    assert service.database.read(lambda c: read_setting(c, "schema")) == str(VERSION)
    assert service.researchers.corpus().judgments.equals(present.researchers.corpus().judgments)
    assert service.participants.step(halfway).position == present.participants.step(halfway).position == 3
    assert work(service, halfway) == 2
    service.participants.finish(halfway)
    rater = service.researchers.raters()[0].rater
    service.researchers.review_rater(rater, "approved", "well done")
    assert {row.rater: row.note for row in service.researchers.raters()}[rater] == "well done"
    assert service.researchers.password_matches("correct horse")
    assert service.database.key == present.database.key
    row = service.researchers.platform_ids().to_dicts()[0]
    assert (row["platform_id"], row["SESSION_ID"], row["stage"]) == ("5a9d64f5f6df", "session-77", "finished")
    again = service.participants.enter({"PROLIFIC_PID": "5a9d64f5f6df", "SESSION_ID": "session-77"})
    assert service.participants.step(again).kind == "finished", "the same person is known again"
    if service.database.sql.sqlite:
        service.close()
        held = b"".join(file.read_bytes() for file in tmp_path.glob("answers.sqlite*"))
        for secret in ("5a9d64f5f6df", "session-77", present.database.key, "scrypt:"):
            assert secret.encode() not in held
        assert b"Text 1." in held


def test_an_upgraded_database_has_the_same_tables_as_a_new_one(tmp_path: Path, database: str) -> None:
    make_version_1(database)
    upgraded, new = SqlDatabase(database), SqlDatabase(str(tmp_path / "new.sqlite"))
    for store in (upgraded, new):
        store.start(lambda connection: None)

    def columns(store: SqlDatabase) -> dict[str, set[tuple[str, bool]]]:
        found = inspect(store.engine)
        return {name: {(c["name"], c["nullable"]) for c in found.get_columns(name)} for name in found.get_table_names()}

    assert columns(upgraded) == columns(new)
    for store in (upgraded, new):
        store.close()


def test_a_newer_database_is_refused(open_service: OpenService, tmp_path: Path, database: str) -> None:
    plan = study(tmp_path)
    service = open_service(plan, database)
    service.database.write(
        lambda c: c.execute(
            tables.settings.update().where(tables.settings.c.key == "schema").values(value="99")
        ).close()
    )
    with pytest.raises(
        InputError, match=f"schema version 99, but this Vantage supports up to version {VERSION}; update Vantage"
    ):
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
