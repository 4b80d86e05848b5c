"""Opening a study's database: filled with the study and its items when new, compared with them when not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from vantage.collect.pseudonyms import new_secret
from vantage.collect.seats import Seats
from vantage.collect.store import Store
from vantage.collect.study import Study
from vantage.collect.tables import arms, items, settings
from vantage.corpora import storage
from vantage.errors import InputError

FIXED: Final = ("questions", "conditions", "double", "order", "gold")
"""What cannot change once the study has a database, because the answers given so far rest on it."""
CHUNK: Final = 5000


def read_setting(connection: Connection, key: str) -> str | None:
    """A setting, or null."""
    found: str | None = connection.execute(select(settings.c.value).where(settings.c.key == key)).scalar_one_or_none()
    return found


def write_setting(connection: Connection, key: str, value: str) -> None:
    """Sets a setting."""
    changed = connection.execute(settings.update().where(settings.c.key == key).values(value=value))
    if not changed.rowcount:
        connection.execute(settings.insert(), {"key": key, "value": value})


def open_store(study: Study, address: str | None = None) -> Store:
    """The study's database, made or upgraded where needed; one of another study, or of other items, is refused."""
    store = Store(address or study.database)
    try:
        store.start(lambda connection: _fill(connection, study))
        if not store.new:
            store.write(lambda connection: _compare(connection, study, store.name))
    except BaseException:
        store.close()
        raise
    return store


def stored_study(address: str, folder: Path) -> Study:
    """The study that a database was made for, from what it keeps; `folder` is where the corpus is now."""
    store = Store(address)
    try:
        told = store.read(lambda c: [read_setting(c, key) for key in ("study", "instrument")])
    except DBAPIError:
        told = [None]
    finally:
        store.close()
    if None in told:
        raise InputError("there is no study in this database", file=store.name, remedy="serve the study first")
    plan, instrument = (json.loads(text or "") for text in told)
    return Study.stored(plan, instrument, folder)


def gold_rows(study: Study) -> tuple[int, tuple[int, ...]]:
    """How many items the corpus has, and the rows of the gold items among them."""
    ids = study.corpus.scan("items").select("item").collect()["item"]
    return len(ids), tuple(row for row, item in enumerate(ids) if item in study.gold)


def arms_of(study: Study, count: int, gold: tuple[int, ...]) -> list[Seats]:
    """The arms of a study: for every set of questions, every condition."""
    double, order = study.plan.double, study.plan.order
    return [
        Seats(
            items=count,
            raters=study.plan.raters,
            seed=order.seed,
            arm=arm,
            share=double.share if double else 0.0,
            extra=double.raters - study.plan.raters if double else 0,
            apart=gold,
            fixed=order.items == "fixed",
        )
        for arm in range(len(study.question_sets) * len(study.conditions))
    ]


def _fill(connection: Connection, study: Study) -> None:
    digest, count = hashlib.sha256(), 0
    gold = []
    for rows in _records(study):
        for row in rows:
            digest.update(f"{row['item']}\x00{row['record']}\x00".encode(errors="surrogatepass"))
            if row["item"] in study.gold:
                gold.append(row["row"])
        connection.execute(items.insert(), rows)
        count += len(rows)
    if count == len(gold):
        raise InputError("the corpus has no items to hand out", file=study.folder, remedy="add items to it")
    told = {
        "study": json.dumps(_plan(study)),
        "instrument": json.dumps(dict(study.instrument.document)),
        "corpus": str(study.folder),
        "secret": new_secret(),
        "items": digest.hexdigest(),
        "items_file": _file_digest(study.folder),
        "count": str(count),
        "gold": json.dumps(gold),
        "paused": "",
    }
    connection.execute(settings.insert(), [{"key": key, "value": value} for key, value in told.items()])
    connection.execute(
        arms.insert(),
        [
            {
                "arm": seats.arm,
                "condition": study.conditions[seats.arm % len(study.conditions)],
                "question_set": seats.arm // len(study.conditions),
                "seats": seats.count,
                "next_seat": 0,
                "returned": 0,
            }
            for seats in arms_of(study, count, tuple(gold))
        ],
    )


def _compare(connection: Connection, study: Study, name: str) -> None:
    """Refuses a database that answers to another study; takes over what may change."""
    known = json.loads(read_setting(connection, "study") or "{}")
    plan = _plan(study)
    if known.get("id") != study.id:
        raise InputError(
            f"the database belongs to study '{known.get('id')}', not to '{study.id}'",
            file=name,
            remedy="choose another database",
        )
    changed = [key for key in FIXED if known.get(key) != plan.get(key)]
    if json.loads(read_setting(connection, "instrument") or "{}") != json.loads(
        json.dumps(dict(study.instrument.document))
    ):
        changed.append("instrument")
    if changed:
        raise InputError(
            f"'{changed[0]}' of the study has changed since its database was made",
            file=name,
            remedy="change it back, or give the study a new id",
        )
    if plan["raters"] < known["raters"] or (plan["double"] and plan["raters"] != known["raters"]):
        remedy = f"write {known['raters']}" if plan["double"] else f"write at least {known['raters']}"
        raise InputError("'raters' cannot become that number any more", file=name, remedy=remedy)
    if _file_digest(study.folder) != read_setting(connection, "items_file"):
        _compare_items(connection, study, name)
    if plan != known:
        write_setting(connection, "study", json.dumps(plan))
    gold = tuple(json.loads(read_setting(connection, "gold") or "[]"))
    for seats in arms_of(study, int(read_setting(connection, "count") or 0), gold):
        connection.execute(arms.update().where(arms.c.arm == seats.arm).values(seats=seats.count))


def _compare_items(connection: Connection, study: Study, name: str) -> None:
    """The file of items was written again: the items that are shown must still be the same."""
    digest = hashlib.sha256()
    for rows in _records(study):
        for row in rows:
            digest.update(f"{row['item']}\x00{row['record']}\x00".encode(errors="surrogatepass"))
    if digest.hexdigest() != read_setting(connection, "items"):
        raise InputError(
            "the items of the corpus have changed since the database was made",
            file=name,
            remedy="put the old items back, or give the study a new id",
        )
    write_setting(connection, "items_file", _file_digest(study.folder))


def _records(study: Study) -> Iterator[list[dict[str, Any]]]:
    """The items with their rows and shown fields, some thousands at a time."""
    table = study.corpus.scan("items").select("item", *study.fields).collect()
    for start in range(0, len(table), CHUNK):
        yield [
            {
                "row": start + offset,
                "item": record["item"],
                "record": json.dumps({f: record[f] for f in study.fields if record[f] is not None}, default=str),
            }
            for offset, record in enumerate(table.slice(start, CHUNK).iter_rows(named=True))
        ]


def _plan(study: Study) -> dict[str, Any]:
    """The study file as plain data; where the corpus and the database are does not belong to the study."""
    plan: dict[str, Any] = study.plan.model_dump(mode="json", by_alias=True, exclude={"corpus", "database"})
    return plan


def _file_digest(folder: Path) -> str:
    with storage.file(folder, "items.parquet").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
