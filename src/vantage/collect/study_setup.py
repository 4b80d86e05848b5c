"""A study's database holds the study itself: its file, its instruments and its items as they were at the start.

A study always runs from its database. Files that are edited later, and instruments that another version of Vantage
words differently, change nothing unless they are applied as a revision (see `revisions`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from math import ceil
from pathlib import Path
from typing import Any, Final

import polars as pl
from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from vantage.collect import tables
from vantage.collect.assignment import ArmAllocation
from vantage.collect.revisions import changes, check_changes, plan_of, shown
from vantage.collect.sql import SqlDatabase, database_url
from vantage.collect.study import AnnotationStudy, corpus_places, default_database, study_document
from vantage.collect.tables import arms, items, participants, settings
from vantage.corpora import storage
from vantage.errors import InputError

CHUNK: Final = 5000
FILLED: Final = ("study", "instrument", "instruments", "items_file", "count", "gold", "paused", "rows")
"""Settings that are filled in with the study."""


def open_database(
    study: AnnotationStudy, address: str | None = None, *, read_only: bool = False, revision: str | None = None
) -> tuple[SqlDatabase, AnnotationStudy]:
    """The study's database, created or upgraded where needed, and the study as it was started; others are refused.

    With `read_only` nothing is created, upgraded or stored. `revision` is a note on edits of the study that are to
    hold from now on; without one they are not looked at.
    """
    database = SqlDatabase(address or study.database, read_only=read_only)
    try:
        if read_only:
            database.open(tables.require_current)
        elif database.start(lambda connection: _fill(connection, study)):
            return database, study
        started = database.read(lambda connection: _started(connection, study))
        if revision is not None:
            revised = started
            database.write(lambda connection: _revise(connection, revised, study, revision))
            started = study
    except BaseException as error:
        database.close()
        if isinstance(error, InputError) and error.file is None:
            raise InputError(error.problem, file=database.name, remedy=error.remedy) from None
        raise
    return database, started


def _stored(connection: Connection) -> tuple[dict[str, Any], dict[str, Any]]:
    keys = ("study", "instrument", "instruments")
    plan, own, others = (json.loads(tables.read_setting(connection, key) or "{}") for key in keys)
    return plan, {"": own, **others} if own else {}


def _begun(connection: Connection) -> bool:
    return connection.execute(select(participants.c.number).limit(1)).first() is not None


def _started(connection: Connection, study: AnnotationStudy) -> AnnotationStudy:
    """The study as it was started, with its corpus where it is now; another one is refused."""
    plan, documents = _stored(connection)
    if plan.get("id") != study.id:
        problem = f"The database belongs to study '{plan.get('id')}', not to '{study.id}'"
        raise InputError(problem, remedy="choose another database")
    return AnnotationStudy.stored(plan, documents, study.folder, study.sources, study.plan.database)


def stored_study(address: str, folder: Path, sources: Mapping[str, Path] | None = None) -> AnnotationStudy:
    """The study stored in a database; `folder` is where the corpus is now, or `sources` are several corpora."""
    with closing(SqlDatabase(address, read_only=True)) as database:
        try:
            plan, documents = database.read(_stored)
        except DBAPIError:
            plan = {}
    if not plan:
        raise InputError("This database holds no study", file=database.name, remedy="serve the study first")
    return AnnotationStudy.stored(plan, documents, folder, sources or {"": folder}, address)


def opened_study(
    path: str | Path, folder: str | Path | None = None, database: str | None = None
) -> tuple[AnnotationStudy, str]:
    """The study of a file as it was started or, before that, as the file says; and what of the file does not hold.

    A study starts with its first participant. From then on it goes on whatever becomes of its file and of what that
    refers to.
    """
    document, beside = study_document(path, folder)
    data = document.data if isinstance(document.data, Mapping) else {}
    id_, (place, sources) = data.get("id"), corpus_places(data, beside)
    address = database or data.get("database") or default_database(str(id_), sources)
    try:
        url = database_url(str(address))
        if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
            return AnnotationStudy.load(path, folder), ""
        started = stored_study(str(address), place, sources)
        with closing(SqlDatabase(str(address), read_only=True)) as opened:
            begun = opened.read(_begun)
    except InputError:
        return AnnotationStudy.load(path, folder), ""
    if started.id != id_ or not begun:
        return AnnotationStudy.load(path, folder), ""
    try:
        edits = changes(started, AnnotationStudy.load(path, folder))
    except InputError as error:
        return started, f"{error}\nThe study goes on as it was started."
    names = ", ".join(dict.fromkeys(edit.name for edit in edits))
    return started, names and (
        f"{path} was edited since the study started, which changes nothing yet ({names}); to apply it, use "
        f"vantage collect revise {path} --note TEXT"
    )


def rows_of(study: AnnotationStudy) -> dict[str, Sequence[int]]:
    """The rows of the items of every block that has its own."""
    own = [block for block in study.blocks if block.repeats is None]
    return {block.id: block.rows(study.corpus, study.kept_apart) for block in own}


def allocations(study: AnnotationStudy, rows: Mapping[str, Sequence[int]]) -> list[ArmAllocation]:
    """The allocation of every arm: each condition with each set of questions of each block."""
    return [block.allocation(arm, rows.get(block.id, ())) for block in study.blocks for arm in block.arms]


def seats(study: AnnotationStudy, arms: Sequence[ArmAllocation]) -> list[int]:
    """The number of ratings wanted in every arm; those that repeat others count as many as there are to repeat."""
    wanted = [arm.count for arm in arms]
    by_id = {block.id: block for block in study.blocks}
    for block in study.blocks:
        source = by_id.get(block.repeats or "")
        if source is not None:
            for arm in block.arms:
                own = source.arms_of(source.first_set + block.set_of(arm) - block.first_set)
                size = min(source.size, arms[source.first_arm].pool or source.size)
                share = min(1.0, (block.selection.sample or size) / size)
                wanted[arm] = ceil(sum(wanted[one] for one in own) * share)
    return wanted


def _fill(connection: Connection, study: AnnotationStudy) -> None:
    count, gold = 0, []
    for rows in _records(study):
        gold += [row["row"] for row in rows if row["item"] in study.kept_apart]
        connection.execute(items.insert(), rows)
        count += len(rows)
    if count == len(gold):
        raise InputError("The corpus has no items to judge", file=study.folder, remedy="add items")
    stored = {
        **_snapshot(study),
        "items_file": _file_digest(study),
        "count": str(count),
        "gold": json.dumps(gold),
        "paused": "",
    }
    chosen = rows_of(study)
    # Blocks of all items need not store which these are.
    stored["rows"] = json.dumps({name: list(rows) for name, rows in chosen.items() if len(rows) + len(gold) < count})
    connection.execute(settings.insert(), [{"key": key, "value": value} for key, value in stored.items()])
    made = allocations(study, chosen)
    for arm, wanted in zip(made, seats(study, made), strict=True):
        block = study.block_of_arm(arm.arm)
        own = {"arm": arm.arm, "condition": block.condition(arm.arm), "question_set": block.set_of(arm.arm)}
        taken = 0 if block.repeats is None else wanted
        connection.execute(arms.insert(), {**own, "seats": wanted, "next_seat": taken, "returned": 0})


def _snapshot(study: AnnotationStudy) -> dict[str, str]:
    documents = {name: dict(one.document) for name, one in study.instruments.items()}
    parts = {"study": plan_of(study), "instrument": documents.pop(""), "instruments": documents}
    return {key: json.dumps(part) for key, part in parts.items()}


def stored_rows(connection: Connection, study: AnnotationStudy) -> dict[str, Sequence[int]]:
    """The rows of the items of every block, as they were chosen when the database was created."""
    count = int(tables.read_setting(connection, "count") or 0)
    apart = set(json.loads(tables.read_setting(connection, "gold") or "[]"))
    every: Sequence[int] = [row for row in range(count) if row not in apart] if apart else range(count)
    chosen = json.loads(tables.read_setting(connection, "rows") or "{}")
    return {block.id: chosen.get(block.id, every) for block in study.blocks if block.repeats is None}


def _revise(connection: Connection, started: AnnotationStudy, study: AnnotationStudy, note: str) -> None:
    """Stores edits of a study, each with both wordings: of one that has started those on which no answer depends."""
    edits = changes(started, study)
    if not _begun(connection):
        for table in (items, arms):
            connection.execute(table.delete())
        connection.execute(settings.delete().where(settings.c.key.in_(FILLED)))
        _fill(connection, study)
        return
    agreed = participants.c.consented_at.is_not(None) | participants.c.stage.not_in(("consent", "declined"))
    anybody = connection.execute(select(participants.c.number).where(agreed).limit(1)).first() is not None
    check_changes(started, study, edits, agreed=anybody)
    made = allocations(study, stored_rows(connection, study))
    stored_seats = {row.arm: row.seats for row in connection.execute(select(arms.c.arm, arms.c.seats))}
    for arm, wanted in zip(made, seats(study, made), strict=True):
        if wanted < stored_seats[arm.arm]:
            problem = f"'raters' of the block '{study.block_of_arm(arm.arm).id}' can no longer be lowered"
            raise InputError(problem, remedy="change it back")
        values = {"seats": wanted, **({} if study.block_of_arm(arm.arm).repeats is None else {"next_seat": wanted})}
        connection.execute(arms.update().where(arms.c.arm == arm.arm).values(values))
    for edit in edits:
        before, after = (tables.store_wording(connection, shown(value)) for value in (edit.before, edit.after))
        tables.record(connection, "revised", text=edit.name, before=before, after=after, note=note)
    for key, value in _snapshot(study).items():
        tables.write_setting(connection, key, value)


def stored_items(connection: Connection, study: AnnotationStudy) -> pl.DataFrame:
    """The items as participants saw them, with the columns that they did not see as the corpus has them now."""
    now = study.corpus.items
    if _file_digest(study) == tables.read_setting(connection, "items_file"):
        return now
    rows = connection.execute(select(items.c.item, items.c.record).order_by(items.c.row))
    seen = pl.DataFrame([{"item": item, **json.loads(record)} for item, record in rows], infer_schema_length=None)
    return seen.join(now.select("item", pl.exclude(seen.columns)), on="item", how="left", maintain_order="left")


def _records(study: AnnotationStudy) -> Iterator[list[dict[str, Any]]]:
    table = study.corpus.scan("items").select("item", *study.fields).collect()
    for start in range(0, len(table), CHUNK):
        rows = []
        for row, item in enumerate(table.slice(start, CHUNK).iter_rows(named=True), start):
            record = json.dumps({f: item[f] for f in study.fields if item[f] is not None}, default=str)
            rows.append({"row": row, "item": item["item"], "record": record})
        yield rows


def _file_digest(study: AnnotationStudy) -> str:
    digest = hashlib.sha256()
    for folder in study.sources.values():
        digest.update(storage.file(folder, "items.parquet").read_bytes())
    return digest.hexdigest()
