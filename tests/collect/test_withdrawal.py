"""Consent is evidence, declining leaves nothing, and withdrawing removes answers from every file there is."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from tests.collect.conftest import OpenService, new_database
from tests.collect.people import begun, study, walked, work
from vantage.collect.private import identities
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import METADATA, events, participants, submissions, wordings
from vantage.collect.views import QuestionAnswer
from vantage.errors import InputError

PROLIFIC = {"via": "prolific", "completion_code": "DONE", "screen_out_code": "OUT"}
TRAITS = [{"id": "job", "ask": "Job?", "kind": "text"}]
ANN = {"PROLIFIC_PID": "annannannann", "STUDY_ID": "studystudy", "SESSION_ID": "sessionsession"}


def dump(service: StudyService) -> str:
    """Everything that both databases hold."""
    rows = [
        str(row)
        for store, tables in (
            (service.database.sql, METADATA.sorted_tables),
            (service.database.private.sql, [identities]),
        )
        for table in tables
        for row in store.read(lambda c, table=table: c.execute(select(table)).all())  # type: ignore[misc]
    ]
    return "\n".join(rows)


def test_the_time_and_the_wording_of_consent_are_stored(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    service = open_service(study(tmp_path, 3, consent="You may stop."), database)
    before = time.time()
    for words in ("You may stop.", "You may stop.", "You may always stop."):
        person = service.participants.enter({})
        service.participants.give_consent(person, agreed=True, wording=words)
    rows = service.database.read(lambda c: c.execute(select(participants)).all())
    assert all(before <= row.consented_at <= time.time() for row in rows)
    texts = service.database.read(lambda c: dict(c.execute(select(wordings.c.sha256, wordings.c.text)).all()))
    assert sorted(texts.values()) == ["You may always stop.", "You may stop."], "each wording is kept once"
    assert all(hashlib.sha256(text.encode()).hexdigest() == digest for digest, text in texts.items())
    assert [texts[row.wording] for row in rows] == ["You may stop.", "You may stop.", "You may always stop."]
    consented = service.researchers.log().filter(event="consented")
    assert [json.loads(detail)["wording"] for detail in consented["detail"]] == [row.wording for row in rows]


def test_withdrawal_cannot_be_weakened_once_somebody_has_agreed(open_service: OpenService, tmp_path: Path) -> None:
    place = str(tmp_path / "a.sqlite")
    open_service(study(tmp_path, 3, withdrawal="delete"), place)
    for kind in ("keep", "delete"):  # nobody has agreed to anything yet
        service = open_service(study(tmp_path, 3, withdrawal=kind), place, revision="other words")
        assert service.study.plan.withdrawal == kind
    begun(service)
    with pytest.raises(InputError, match="people have agreed to a study that deletes their answers; write withdrawal"):
        open_service(study(tmp_path, 3, withdrawal="keep"), place, revision="other words")
    service = open_service(study(tmp_path, 3, id="other", withdrawal="keep"), str(tmp_path / "b.sqlite"))
    begun(service)
    kinder = study(tmp_path, 3, id="other", withdrawal="delete")
    assert open_service(kinder, str(tmp_path / "b.sqlite"), revision="kinder").study.plan.withdrawal == "delete"


def test_declining_leaves_nothing(open_service: OpenService, tmp_path: Path, database: str) -> None:
    service = open_service(study(tmp_path, 3, recruitment=PROLIFIC), database)
    person = service.participants.enter(ANN)
    rater = service.database.read(lambda c: c.execute(select(participants.c.rater)).scalar_one())
    assert "annannannann" in dump(service)
    assert service.participants.give_consent(person, agreed=False).kind == "declined"
    held = dump(service)
    for trace in (*ANN.values(), person.id):
        assert trace not in held
    assert service.database.read(lambda c: c.execute(select(participants.c.rater)).scalar_one()) != rater
    assert service.participants.step(service.participants.enter(ANN)).kind == "consent", "they may think again"


def files_of(service: StudyService, tmp_path: Path) -> bytes:
    """All bytes of a database on disk."""
    if service.database.sql.sqlite:
        places = [tmp_path, Path(service.database.private.sql.name).parent]
        return b"".join(f.read_bytes() for place in places for f in place.glob("*.sqlite*"))
    with service.database.sql._reader.connect() as connection:
        connection.exec_driver_sql("CHECKPOINT")
        folder = Path(connection.exec_driver_sql("SHOW data_directory").scalar_one())
        base = connection.exec_driver_sql("SELECT oid FROM pg_database WHERE datname = current_database()").scalar_one()
    held = []
    for file in (folder / "base" / str(base)).iterdir():
        with suppress(FileNotFoundError):
            held.append(file.read_bytes())
    return b"".join(held)  # adding one to the other would copy gigabytes


@pytest.mark.slow
def test_withdrawing_removes_answers_from_tables_files_and_exports_and_gives_a_receipt(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    file = tmp_path / "why.yaml"
    plan = study(tmp_path, 40, raters=3, traits=TRAITS, recruitment=PROLIFIC, batch={"size": 20})
    data = dict(plan.instrument.document)
    data["questions"] = [{**question, "rationale": "optional"} for question in data["questions"]]
    from vantage.documents import dump as yaml

    file.write_text(yaml(data), encoding="utf-8")
    plan = AnnotationStudy.of(
        plan.folder, file, **plan.plan.model_dump(include={"raters", "traits", "recruitment", "batch"}, by_alias=True)
    )
    service = open_service(plan, database)
    people = service.participants

    def start(name: str) -> None:
        person = people.enter({"PROLIFIC_PID": name, "SESSION_ID": f"session-{name}"})
        people.give_consent(person, agreed=True)
        people.give_traits(person, {"job": f"job-of-{name}"})
        people.confirm(person)
        while (step := people.step(person)).kind == "item":
            page = people.page(person, step.position)
            for text in (f"reason-of-{name}-{step.position}", f"second-reason-of-{name}-{step.position}"):
                given = {q.id: QuestionAnswer(1.0, rationale=text) for q in page.questions}
                people.submit(person, step.position, given, token=people.page(person, step.position).token)
        if name == "leaving":
            leaving.append(person)

    leaving: list = []  # type: ignore[type-arg]
    for name in ("first", "leaving", "last"):
        start(name)
    assert b"reason-of-leaving-7" in files_of(service, tmp_path)
    if service.database.sql.engine.dialect.name == "postgresql":
        # The server does so by itself from time to time, and keeps frequent values.
        service.database.write(lambda connection: connection.exec_driver_sql("ANALYZE"))
    (person,) = leaving
    assert people.withdraw(person).kind == "withdrawn"
    receipt = people.receipt(person)
    assert receipt is not None
    assert (receipt.pages, receipt.traits, len(receipt.code)) == (20, True, 10)
    assert receipt.purged_at is not None
    assert receipt.purged_at >= receipt.at
    held = files_of(service, tmp_path)
    for trace in (b"reason-of-leaving", b"job-of-leaving", b'"leaving"', b"session-leaving"):
        assert trace not in held, trace
    assert "leaving" not in dump(service)
    assert b"reason-of-last-7" in held
    assert service.researchers.corpus().raters.height == 2
    table = service.researchers.platform_ids()
    assert sorted(table["platform_id"].drop_nulls()) == ["first", "last"]
    assert table.filter(stage="withdrawn")["platform_id"].to_list() == [None]
    again = people.enter({"PROLIFIC_PID": "leaving", "SESSION_ID": "session-leaving"})
    assert people.step(again).kind == "withdrawn"
    assert "session-leaving" not in dump(service), "coming back does not store the id again"


def test_a_deletion_that_was_interrupted_is_completed_at_the_next_start(
    open_service: OpenService, tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = study(tmp_path, 4, recruitment=PROLIFIC)
    service = open_service(plan, database)
    person, _ = walked(service, ANN)
    with monkeypatch.context() as patch:
        patch.setattr(service.database, "complete_deletions", lambda wait: None)
        service.participants.withdraw(person)
    receipt = service.participants.receipt(person)
    assert receipt is not None
    assert receipt.purged_at is None
    assert "annannannann" in dump(service)
    service.close()
    service = open_service(plan, database)
    until = time.monotonic() + 20
    while service.participants.receipt(person).purged_at is None:  # type: ignore[union-attr]
        assert time.monotonic() < until
        time.sleep(0.02)
    assert "annannannann" not in dump(service)


def test_people_who_withdraw_together_share_a_purge(
    open_service: OpenService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = open_service(study(tmp_path, 4, raters=4))
    people = [walked(service)[0] for _ in range(4)]
    purges: list[float] = []
    release, first = threading.Event(), threading.Event()

    def slow(_: object) -> None:
        purges.append(time.monotonic())
        first.set()
        assert release.wait(20)

    monkeypatch.setattr(service.database.sql, "purge", slow)
    monkeypatch.setattr("vantage.collect.participants.PATIENCE", 0.0)
    service.participants.withdraw(people[0])
    assert first.wait(20)
    for person in people[1:]:
        service.participants.withdraw(person)
    release.set()
    until = time.monotonic() + 20
    while None in [service.participants.receipt(person).purged_at for person in people]:  # type: ignore[union-attr]
        assert time.monotonic() < until
        time.sleep(0.01)
    service.close()
    assert len(purges) == 2


def test_a_purge_does_not_keep_others_waiting(postgres: str, open_service: OpenService, tmp_path: Path) -> None:
    """While somebody reads a table for long, its purge waits, and nobody waits behind the purge."""
    service = open_service(study(tmp_path, 4, raters=4), new_database(postgres))
    walked(service)
    sql = service.database.sql
    with sql.engine.connect() as reader:
        reader.execute(select(submissions)).all()  # the transaction holds the table until it ends
        thread = threading.Thread(target=sql.purge, args=([submissions.name],))
        thread.start()
        start = time.monotonic()
        for _ in range(2):
            walked(service)
        assert thread.is_alive()
        assert time.monotonic() - start < 15
    thread.join(20)
    assert not thread.is_alive()


def test_events_cannot_be_changed(open_service: OpenService, tmp_path: Path, database: str) -> None:
    service = open_service(study(tmp_path, 3), database)
    walked(service)
    for statement in (events.delete(), events.update().values(kind="nothing")):
        with pytest.raises(DBAPIError, match="append-only"):
            service.database.write(lambda c, statement=statement: c.execute(statement).close())  # type: ignore[misc]
    kinds = service.researchers.log()["event"].to_list()
    assert kinds == ["entered", "consented", *["submitted"] * 3, "finished"]


def test_the_log_has_decisions_pauses_exports_and_revisions_of_answers(
    open_service: OpenService, tmp_path: Path
) -> None:
    service = open_service(study(tmp_path, 2, attention={"per_batch": 1}))
    person = begun(service)
    work(service, person)
    page = service.participants.page(person, 1)
    other = {q.id: QuestionAnswer(2.0 if q.id == "warm" else 0.0) for q in page.questions}
    service.participants.submit(person, 1, other, token=page.token)
    service.participants.finish(person)
    service.researchers.pause()
    service.researchers.pause(False)
    rater = service.researchers.raters()[0].rater
    service.researchers.review_rater(rater, "excluded", "answers in a second", "speed")
    service.researchers.export_zip()
    log = service.researchers.log()
    assert log["event"].to_list()[-5:] == ["finished", "paused", "resumed", "excluded", "exported"]
    assert json.loads(log.filter(event="excluded")["detail"][0]) == {"rule": "speed", "reason": "answers in a second"}
    revisions = [json.loads(detail)["revision"] for detail in log.filter(event="submitted")["detail"]]
    assert revisions == [1, 1, 1, 2]
    corpus = service.researchers.corpus()
    assert corpus.raters.select("excluded", "excluded_rule", "excluded_reason").row(0) == (
        *(True, "speed", "answers in a second"),
    )
    assert sorted(corpus.judgments["revision"].unique()) == [1, 2]
    assert corpus.judgments["answered_at"].is_not_null().all()


def test_the_rule_of_an_exclusion_is_what_the_rater_was_flagged_for(open_service: OpenService, tmp_path: Path) -> None:
    from tests.collect.people import careless

    service = open_service(study(tmp_path, 6, raters=2, attention={"per_batch": 2}))
    walked(service, answer=careless)
    (row,) = service.researchers.raters()
    service.researchers.review_rater(row.rater, "excluded")
    (row,) = service.researchers.raters()
    assert "attention checks" in row.rule
    service.researchers.review_rater(row.rater, "pending")
    assert service.researchers.raters()[0].rule == ""


def test_ids_key_and_password_lie_outside_the_corpus_folder_for_the_owner_alone(
    open_service: OpenService, tmp_path: Path
) -> None:
    service = open_service(study(tmp_path, 3, recruitment=PROLIFIC))
    service.researchers.set_password("correct horse")
    walked(service, ANN)
    file = Path(service.database.private.sql.name)
    key = service.database.key
    service.close()
    assert service.study.folder not in file.parents
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o077 == 0
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT external FROM identities").fetchall() == [("annannannann",)]
    connection.close()
    shared = b"".join(f.read_bytes() for f in service.study.folder.iterdir() if f.is_file())
    for secret in (*ANN.values(), key, "scrypt:"):
        assert secret.encode() not in shared


def test_a_study_whose_private_file_is_gone_is_refused_in_one_sentence(
    open_service: OpenService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = study(tmp_path, 3)
    walked(open_service(plan))
    monkeypatch.setenv("VANTAGE_STATE", str(tmp_path / "elsewhere"))
    with pytest.raises(InputError, match="keys and platform ids of this study are not here; set VANTAGE_STATE"):
        open_service(plan)
