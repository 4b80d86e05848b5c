"""Setting up a study's database: a new one is filled with the study and its items, an existing one compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from vantage.collect import tables
from vantage.collect.assignment import ArmAllocation
from vantage.collect.sql import SqlDatabase
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import arms, items, participants, settings
from vantage.corpora import storage
from vantage.errors import InputError

FIXED: Final = ("questions", "conditions", "double", "order", "gold", "presentation", "rules", "evidence", "flow")
"""Keys that cannot change once the study has a database, because earlier answers depend on them."""
TEXTS: Final = ("title", "consent", "warning", "guidelines", "contact", "withdrawal")
"""Keys whose changes are recorded as events, with both wordings."""
OPEN: Final = frozenset(
    {"text", "title", "intro", "ask", "explain", "end", "minutes", "page_minutes", "raters", "batch"}
)
"""Keys of a flow that may change."""
CHUNK: Final = 5000


def open_database(
    study: AnnotationStudy, address: str | None = None, *, read_only: bool = False, revision: str | None = None
) -> SqlDatabase:
    """The study's database, created or upgraded where needed; one of another study or other items is refused.

    With `read_only` nothing is created, upgraded or stored. `revision` is a note on changed guidelines of the
    instrument, which are refused without one.
    """
    database = SqlDatabase(address or study.database, read_only=read_only)
    try:
        if read_only:
            database.open(tables.require_current)
        elif not database.start(lambda connection: _fill(connection, study)):
            database.write(lambda connection: _compare(connection, study, revision))
    except BaseException as error:
        database.close()
        if isinstance(error, InputError) and error.file is None:
            raise InputError(error.problem, file=database.name, remedy=error.remedy) from None
        raise
    return database


def stored_study(address: str, folder: Path) -> AnnotationStudy:
    """The study stored in a database; `folder` is where the corpus is now."""
    database = SqlDatabase(address, read_only=True)
    try:
        keys = ("study", "instrument", "instruments")
        stored = database.read(lambda c: [tables.read_setting(c, key) for key in keys])
    except DBAPIError:
        stored = [None, None, None]
    finally:
        database.close()
    if None in stored[:2]:
        raise InputError("This database holds no study", file=database.name, remedy="serve the study first")
    plan, instrument, others = (json.loads(text or "{}") for text in stored)
    return AnnotationStudy.stored(plan, {"": instrument, **others}, folder)


def rows_of(study: AnnotationStudy) -> dict[str, Sequence[int]]:
    """The rows of the items of every block that has its own."""
    own = [block for block in study.blocks if block.repeats is None]
    return {block.id: block.rows(study.corpus, study.kept_apart) for block in own}


def allocations(study: AnnotationStudy, rows: Mapping[str, Sequence[int]]) -> list[ArmAllocation]:
    """The allocation of every arm: each condition with each set of questions of each block."""
    return [
        ArmAllocation(
            rows=rows.get(block.id, ()),
            raters=block.raters,
            seed=block.seed,
            arm=arm,
            share=block.double.share if block.double else 0.0,
            extra=block.double.raters - block.raters if block.double else 0,
            fixed=block.fixed,
        )
        for block in study.blocks
        for arm in block.arms
    ]


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
    digest, count, gold = hashlib.sha256(), 0, []
    for rows in _records(study, digest):
        gold += [row["row"] for row in rows if row["item"] in study.kept_apart]
        connection.execute(items.insert(), rows)
        count += len(rows)
    if count == len(gold):
        raise InputError("The corpus has no items to judge", file=study.folder, remedy="add items")
    stored = {
        "study": json.dumps(_plan(study)),
        "instrument": json.dumps(dict(study.instrument.document)),
        "instruments": json.dumps(_others(study)),
        "corpus": str(study.folder),
        "items": digest.hexdigest(),
        "items_file": _file_digest(study.folder),
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


def stored_rows(connection: Connection, study: AnnotationStudy) -> dict[str, Sequence[int]]:
    """The rows of the items of every block, as they were chosen when the database was created."""
    count = int(tables.read_setting(connection, "count") or 0)
    apart = set(json.loads(tables.read_setting(connection, "gold") or "[]"))
    every: Sequence[int] = [row for row in range(count) if row not in apart] if apart else range(count)
    chosen = json.loads(tables.read_setting(connection, "rows") or "{}")
    return {block.id: chosen.get(block.id, every) for block in study.blocks if block.repeats is None}


def _compare(connection: Connection, study: AnnotationStudy, revision: str | None) -> None:
    """Refuses a database of another study; stores the changes that are allowed, and records those of texts."""
    known = json.loads(tables.read_setting(connection, "study") or "{}")
    plan = _plan(study)
    if known.get("id") != study.id:
        problem = f"The database belongs to study '{known.get('id')}', not to '{study.id}'"
        raise InputError(problem, remedy="choose another database")
    changed = [key for key in FIXED if _fixed(known.get(key) or None) != _fixed(plan.get(key) or None)]
    others = json.loads(tables.read_setting(connection, "instruments") or "{}")
    documents = (json.loads(tables.read_setting(connection, "instrument") or "{}"), dict(study.instrument.document))
    shown = (_shown(one) if study.plan.presentation is None else one for one in documents)
    before, after = (json.loads(json.dumps(one)) for one in shown)
    if others != json.loads(json.dumps(_others(study))):
        changed.append("instrument")
    elif before != after:
        if {**before, "guidelines": ""} != {**after, "guidelines": ""}:
            changed.append("instrument")
        elif revision is None:
            problem = "The guidelines of the instrument have changed since the database was created"
            remedy = "change them back, or record the change with vantage collect revise --note TEXT"
            raise InputError(problem, remedy=remedy)
    if changed:
        problem = f"'{changed[0]}' of the study has changed since its database was created"
        raise InputError(problem, remedy="change it back, or give the study a new id")
    agreed = participants.c.consented_at.is_not(None) | participants.c.stage.not_in(("consent", "declined"))
    anybody = select(participants.c.number).where(agreed).limit(1)
    now_kept = known["withdrawal"] == "delete" and plan["withdrawal"] == "keep"
    if now_kept and connection.execute(anybody).first() is not None:
        raise InputError(
            "'withdrawal' can no longer be 'keep', because people have agreed to a study that deletes their answers",
            remedy="write withdrawal: delete",
        )
    _compare_raters(plan, known)
    if _file_digest(study.folder) != tables.read_setting(connection, "items_file"):
        _compare_items(connection, study)
    texts = {key: (known.get(key) or "", plan[key]) for key in TEXTS}
    texts |= {"consent": (_consent(known), _consent(plan)), "instrument": (before["guidelines"], after["guidelines"])}
    _record_revisions(connection, texts, revision or "")
    if before != after:
        tables.write_setting(connection, "instrument", json.dumps(documents[1]))
    if plan != known:
        tables.write_setting(connection, "study", json.dumps(plan))
    made = allocations(study, stored_rows(connection, study))
    stored_seats = {row.arm: row.seats for row in connection.execute(select(arms.c.arm, arms.c.seats))}
    for arm, wanted in zip(made, seats(study, made), strict=True):
        if wanted < stored_seats[arm.arm]:
            problem = f"'raters' of the block '{study.block_of_arm(arm.arm).id}' can no longer be lowered"
            raise InputError(problem, remedy="change it back")
        values = {"seats": wanted, **({} if study.block_of_arm(arm.arm).repeats is None else {"next_seat": wanted})}
        connection.execute(arms.update().where(arms.c.arm == arm.arm).values(values))


def _consent(plan: Mapping[str, Any]) -> str:
    """What the study file itself asks participants to agree to: its flow or, where that says nothing, its own text."""
    own = (phase["consent"]["text"] for phase in plan.get("flow") or () if phase.get("consent"))
    return str(next(own, "") or plan.get("consent") or "")


def _others(study: AnnotationStudy) -> dict[str, Any]:
    """The documents of the instruments besides the study's own."""
    return {name: dict(one.document) for name, one in study.instruments.items() if name}


def _fixed(part: Any) -> Any:
    """A part of the study file without what may change."""
    if isinstance(part, dict):
        return {key: _fixed(value) for key, value in part.items() if key not in OPEN and value is not None}
    return [_fixed(value) for value in part] if isinstance(part, list) else part


def _record_revisions(connection: Connection, texts: Mapping[str, tuple[str, str]], note: str) -> None:
    """Records which texts have changed, and both wordings."""
    for key, (earlier, later) in texts.items():
        if earlier != later:
            hashes = [tables.store_wording(connection, text) for text in (earlier, later)]
            tables.record(connection, "revised", text=key, before=hashes[0], after=hashes[1], note=note)


def _compare_raters(plan: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Refuses a number of raters that earlier assignments contradict; it may rise, an adaptive core may not."""
    now, before = plan["raters"], known["raters"]
    if isinstance(now, int) and isinstance(before, int):
        if now < before or (plan["double"] and now != before):
            remedy = f"write {before}" if plan["double"] else f"write at least {before}"
            raise InputError("'raters' can no longer be changed to this number", remedy=remedy)
    elif isinstance(now, int) or isinstance(before, int):
        raise InputError("A study cannot become adaptive, or cease to be", remedy="give it a new id")
    elif now["max"] < before["max"] or {**now, "max": 0} != {**before, "max": 0}:
        remedy = f"write {before['min']}, {before['max']} or more, '{before['until']}' and the same 'balance'"
        raise InputError("Of an adaptive 'raters' only 'max' may change, and only rise", remedy=remedy)


def _shown(instrument: Mapping[str, Any]) -> dict[str, Any]:
    """An instrument without the wordings that only a presentation shows."""
    bare = {"wordings", "reversed"}
    questions = [{k: v for k, v in question.items() if k not in bare} for question in instrument.get("questions", [])]
    return {**{k: v for k, v in instrument.items() if k not in bare}, "questions": questions}


def _compare_items(connection: Connection, study: AnnotationStudy) -> None:
    """Checks, after the items file was rewritten, that the items shown are still the same."""
    digest = hashlib.sha256()
    for _ in _records(study, digest):
        pass
    if digest.hexdigest() != tables.read_setting(connection, "items"):
        problem = "The items of the corpus have changed since the database was created"
        raise InputError(problem, remedy="restore the old items, or give the study a new id")
    tables.write_setting(connection, "items_file", _file_digest(study.folder))


def _records(study: AnnotationStudy, digest: hashlib._Hash) -> Iterator[list[dict[str, Any]]]:
    """The items with their rows and shown fields, in chunks, added to a digest."""
    table = study.corpus.scan("items").select("item", *study.fields).collect()
    for start in range(0, len(table), CHUNK):
        rows = []
        for row, item in enumerate(table.slice(start, CHUNK).iter_rows(named=True), start):
            shown = json.dumps({f: item[f] for f in study.fields if item[f] is not None}, default=str)
            digest.update(f"{item['item']}\x00{shown}\x00".encode(errors="surrogatepass"))
            rows.append({"row": row, "item": item["item"], "record": shown})
        yield rows


def _plan(study: AnnotationStudy) -> dict[str, Any]:
    """The study file as plain data, without the locations of corpus and database."""
    plan: dict[str, Any] = study.plan.model_dump(mode="json", by_alias=True, exclude={"corpus", "database"})
    return plan


def _file_digest(folder: Path) -> str:
    with storage.file(folder, "items.parquet").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
