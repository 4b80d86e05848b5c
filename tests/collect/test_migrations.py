"""Databases of other versions, of other programs and of other studies."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from tests.collect.conftest import OpenService
from tests.collect.people import begun, honest, instrument, ratings, study, walked, work
from vantage import Corpus, Instrument
from vantage.collect import opened_study, tables
from vantage.collect.export import merged
from vantage.collect.migrations import STEPS
from vantage.collect.service import StudyService
from vantage.collect.study_setup import stored_study
from vantage.collect.tables import METADATA, read_setting
from vantage.documents import dump
from vantage.errors import InputError

SCHEMAS = Path(__file__).parent / "schemas"


def written(service: StudyService, *statements: str) -> None:
    """Changes a database by hand."""
    for statement in statements:
        service.database.write(lambda c, statement=statement: c.execute(text(statement)).close())  # type: ignore[misc]


def columns(service: StudyService) -> dict[str, set[tuple[str, bool]]]:
    """The columns of every table, and whether they may be null."""
    tables_ = inspect(service.database.sql.engine)
    return {name: {(c["name"], c["nullable"]) for c in tables_.get_columns(name)} for name in tables_.get_table_names()}


def as_declared(service: StudyService) -> bool:
    """Whether Alembic finds no difference between the database and the tables as they are declared."""

    def job(connection: Connection) -> bool:
        own = {table.name for table in METADATA.sorted_tables}
        context = MigrationContext.configure(
            connection, opts={"include_object": lambda _, name, kind, *__: kind != "table" or name in own}
        )
        return not compare_metadata(context, METADATA)

    return service.database.read(job)


OLDER = {4: "ALTER TABLE participants DROP COLUMN language", 5: "DROP TABLE evidence"}
"""What makes the tables of today those of an older version."""
AS_OF = "UPDATE settings SET value = '{}' WHERE key = 'schema'"


@pytest.mark.parametrize("version", OLDER)
def test_an_older_database_is_upgraded_with_all_its_answers(
    open_service: OpenService, tmp_path: Path, database: str, version: int
) -> None:
    plan = study(tmp_path, 6, raters=2, batch={"size": 4})
    old = open_service(plan, database)
    walked(old)
    halfway = begun(old)
    work(old, halfway, pages=2)
    new, answers = columns(old), old.researchers.corpus().judgments
    written(old, OLDER[version], AS_OF.format(version))
    assert columns(old) != new
    old.close()
    service = open_service(plan, database)
    assert service.database.read(lambda c: read_setting(c, "schema")) == str(tables.VERSION)
    assert columns(service) == new
    assert as_declared(service)
    assert service.researchers.corpus().judgments.equals(answers)
    assert work(service, halfway) == 2
    service.participants.finish(halfway)
    rater = service.researchers.raters()[0].rater
    service.researchers.review_rater(rater, "approved", "well done")
    assert {row.rater: row.note for row in service.researchers.raters()}[rater] == "well done"


def test_an_upgrade_keeps_how_answers_were_typed(open_service: OpenService, tmp_path: Path) -> None:
    place, plan = str(tmp_path / "a.sqlite"), study(tmp_path, 6, evidence="typing")
    old = open_service(plan, place)
    person = begun(old)
    page = old.participants.page(person, 1)
    old.participants.submit(person, 1, honest(page), token=page.token, evidence='{"keys": 3}')
    written(old, OLDER[4], AS_OF.format(4))
    old.close()
    assert [row.evidence for row in open_service(plan, place).researchers.raters()] == ["keys: 3"]


def test_every_version_has_a_step_and_a_dump() -> None:
    assert sorted(STEPS) == list(range(tables.FIRST + 1, tables.VERSION + 1))
    assert sorted(int(path.stem) for path in SCHEMAS.glob("*.sql")) == list(range(tables.FIRST, tables.VERSION))


def test_a_database_from_before_the_first_release_is_refused(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    plan = study(tmp_path)
    written(open_service(plan, database), "UPDATE settings SET value = '3' WHERE key = 'schema'")
    with pytest.raises(InputError, match="schema version 3, from before the first release; start a new study"):
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


def test_edits_that_answers_depend_on_are_refused(open_service: OpenService, tmp_path: Path) -> None:
    place = str(tmp_path / "a.sqlite")
    begun(open_service(study(tmp_path, 6), place))
    with pytest.raises(InputError, match=r"'conditions\.between\.0' can no longer be changed"):
        open_service(study(tmp_path, 6, conditions={"between": ["plain"]}), place, revision="one condition")
    with pytest.raises(InputError, match="'raters' can no longer be changed"):
        open_service(study(tmp_path, 6, raters=1), place, revision="fewer")
    document = dict(instrument().document)
    document["questions"] = [{**one, "ask": "Quite another question?"} for one in document["questions"]]
    edited = study(tmp_path, 6)
    edited = replace(edited, instruments={"": Instrument.from_document(document)})
    with pytest.raises(InputError, match=r"'instrument\.questions\.0\.ask' can no longer be changed"):
        open_service(edited, place, revision="another question")


@pytest.mark.parametrize("version", sorted(path.stem for path in SCHEMAS.glob("*.sql")))
def test_databases_of_every_released_schema_go_on(open_service: OpenService, tmp_path: Path, version: str) -> None:
    """Each file is a dump of a study on Prolific: one person has finished, another has answered two pages."""
    place = tmp_path / "old.sqlite"
    with sqlite3.connect(place) as connection:
        connection.executescript((SCHEMAS / f"{version}.sql").read_text("utf-8"))
    connection.close()
    service = open_service(stored_study(str(place), study(tmp_path, 6).folder))
    assert as_declared(service)
    assert len(service.researchers.corpus().judgments) == 12
    halfway = service.participants.enter({"PROLIFIC_PID": "b" * 24, "SESSION_ID": "b" * 24 + "s"})
    assert work(service, halfway) == 3
    assert service.participants.finish(halfway).code == "DONE"
    corpus = service.researchers.corpus()
    assert len(corpus.judgments) == 16
    assert corpus.raters["age"].to_list() == [33, 33]


def test_a_study_goes_on_as_it_was_started(open_service: OpenService, tmp_path: Path) -> None:
    """Whatever becomes of its file, of its instrument, such as a bundled one in a later version, and of its texts."""
    file = tmp_path / "study.yaml"
    written_ = {"id": "mine", "title": "Mine", "corpus": "corpus", "instrument": "mine.yaml", "raters": 2}
    study(tmp_path, 4)
    file.write_text(dump({**written_, "gold": {"items": [{"item": "i000", "accept": {"warm": [2]}}]}}), "utf-8")
    started, note = opened_study(file)
    assert note == ""
    walked(open_service(started))
    words = (tmp_path / "mine.yaml").read_text("utf-8")
    (tmp_path / "mine.yaml").write_text(words.replace("My questions", "Our questions"), "utf-8")
    again, note = opened_study(file)
    assert "changes nothing yet (instrument.title)" in note
    assert again.instrument.title == "My questions"
    (tmp_path / "mine.yaml").write_text(words.replace("warm", "cold"), "utf-8")
    again, note = opened_study(file)
    assert "unknown question 'warm'" in note
    assert "goes on as it was started" in note
    Corpus(
        pl.DataFrame({"item": ["i001", "new"], "text": ["Corrected.", "New."], "source": ["A", "B"]}),
        pl.DataFrame(schema={"rater": pl.String}),
        started.corpus.judgments,
        instrument(),
    ).write(started.folder)
    service = open_service(opened_study(file)[0])
    walked(service)
    corpus = service.researchers.corpus()
    assert corpus.items["text"].to_list() == [f"Text {n}." for n in range(4)]
    assert corpus.items["source"].to_list() == [None, "A", None, None]
    assert corpus.judgments.group_by("question").len()["len"].to_list() == [6, 6]
    with pytest.raises(InputError, match=r"corpus has changed since the study started.*--only --to"):
        merged(Corpus.read(started.folder), corpus, "mine")


def test_before_anybody_came_everything_may_change(open_service: OpenService, tmp_path: Path) -> None:
    place = str(tmp_path / "a.sqlite")
    open_service(study(tmp_path, 6, raters=3), place).close()
    service = open_service(study(tmp_path, 4, raters=1, conditions={"between": ["plain"]}), place, revision="other")
    walked(service)
    assert ratings(service) == {(f"i{n:03}", "plain"): 1 for n in range(4)}
    assert service.participants.step(service.participants.enter({})).kind == "full"


def test_texts_may_change_and_raters_be_added(open_service: OpenService, tmp_path: Path) -> None:
    place = str(tmp_path / "a.sqlite")
    service = open_service(study(tmp_path, 4, raters=1), place)
    walked(service)
    assert service.participants.step(service.participants.enter({})).kind == "full"
    edited = study(tmp_path, 4, raters=2, consent="New words.")
    assert open_service(edited, place).study.plan.raters == 1
    service = open_service(edited, place, revision="one more")
    walked(service)
    assert set(ratings(service).values()) == {2}
    assert json.loads(service.database.read(lambda c: read_setting(c, "study")) or "")["consent"] == "New words."
    revised = service.researchers.log().filter(event="revised")["detail"]
    assert [json.loads(detail)["text"] for detail in revised] == ["raters", "consent"]
