"""What must never lie beside files that people share: the pseudonym key, platform ids, the password, log-ins.

With SQLite these are tables of a file of their own, readable only by its owner, in the user's data folder (or in
`VANTAGE_STATE`); the study's database knows its name. With PostgreSQL they are tables of the same database, which is no
file that anybody shares, so that several machines can serve a study.

Pseudonyms are keyed: the same person has the same name in every export, and only the key's holder can tell who. Without
the key a platform id cannot be found by trying all of them, as it could with a plain hash (HMAC, Krawczyk, Bellare and
Canetti 1997).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import platformdirs
from sqlalchemy import Column, Connection, Float, Index, Integer, Text, UniqueConstraint, select, true

from vantage.collect.sql import Job, SqlDatabase
from vantage.collect.tables import Tables, columns, keep_out_of_statistics, read_setting, write_setting
from vantage.errors import InputError

VARIABLE: Final = "VANTAGE_STATE"
HERE: Final = "here"
"""Stands for the study's own database."""
PRIVATE: Final = Tables()

secrets_table: Final = PRIVATE.table("private_settings", Column("key", Text, primary_key=True), *columns(Text, "value"))
identities: Final = PRIVATE.table(
    "identities",
    Column("id", Integer, primary_key=True, autoincrement=True),
    *columns(Text, "rater", "source", "external", "links"),
    Column("at", Float, nullable=False),
    UniqueConstraint("rater", "links", name="identities_once"),
)
"""Who a rater is on their platform, with the platform's further parameters: one row for each of their submissions."""
sessions: Final = PRIVATE.table("sessions", Column("id", Text, primary_key=True), *columns(Float, "expires"))
"""Researchers who are logged in."""
failures: Final = PRIVATE.table(
    "login_failures",
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("who", Text, nullable=False),
    Column("at", Float, nullable=False),
    Index("login_failures_who", "who", "at"),
)
"""Wrong passwords of late, by the browser or the address that sent them."""

recruiting: Final = PRIVATE.table(
    "recruiting",
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),
    *columns(Text, "act", "key", "state", "study", "submission"),
    Column("amount", Integer, nullable=False),
    *columns(Text, "currency", "detail"),
    UniqueConstraint("key", "state", name="recruiting_once"),
)
"""The ledger of recruiting, which names submissions on a platform (see `vantage.recruit.ledger`)."""


COST: Final = 2**14
"""How much work a guess at a password is: scrypt's N."""


class PrivateStore:
    """The private tables of a study."""

    def __init__(self, main: SqlDatabase, study: str, *, apart: bool = True) -> None:
        self._own: SqlDatabase | None = None
        known = main.read(lambda c: read_setting(c, "private"))
        name = known or (_name(study) if main.sqlite and apart else HERE)
        if name != HERE:
            file = state_folder() / f"{name}.sqlite"
            _make(file, new=known is None)
            self._own = SqlDatabase(str(file), read_only=main.read_only)
        self.sql = self._own or main
        self.read, self.write = self.sql.read, self.sql.write
        if main.read_only:
            return
        (self.write if self._own is None else self._own.open)(fill_private)
        if known is None and main.write(lambda c: _placed(c, name)) != name:
            # Another process was opening the new database at the same moment, and was first.
            self.close()
            file.unlink()
            self.__init__(main, study)  # type: ignore[misc]

    def setting(self, key: str) -> str | None:
        """A secret, or null."""
        return self.read(lambda c: read_setting(c, key, secrets_table))

    def settings(self, prefix: str) -> dict[str, str]:
        """The secrets whose keys begin so, by the rest of their keys."""
        query = select(secrets_table).where(secrets_table.c.key.startswith(prefix)).order_by(secrets_table.c.key)
        return {key.removeprefix(prefix): value for key, value in self.read(lambda c: c.execute(query).all())}

    def set(self, key: str, value: str) -> None:
        """Changes a secret."""
        self.write(lambda c: write_setting(c, key, value, secrets_table))

    def remember(self, rater: str, source: str, external: str, links: Mapping[str, str]) -> None:
        """Stores who a rater is, once for each set of parameters."""
        row = {"rater": rater, "source": source, "external": external, "links": json.dumps(links, sort_keys=True)}
        known = select(identities.c.id).where(identities.c.rater == rater, identities.c.links == row["links"])

        def job(connection: Connection) -> None:
            if connection.execute(known).first() is None:
                connection.execute(identities.insert(), {**row, "at": time.time()})

        self.write(job)

    def forget(self, rater: str) -> int:
        """Deletes who a rater is; the number of rows."""
        return self.write(lambda c: c.execute(identities.delete().where(identities.c.rater == rater)).rowcount)

    def identities(self, rater: str | None = None) -> list[dict[str, Any]]:
        """Who raters are, in the order of their arrival."""
        query = select(identities).order_by(identities.c.id)
        query = query if rater is None else query.where(identities.c.rater == rater)
        rows = self.read(lambda c: c.execute(query).mappings().all())
        return [{**row, "links": json.loads(row["links"])} for row in rows]

    def start_session(self, seconds: float, researcher: str = "") -> str:
        """A new session of a researcher, whose name stands at its end; expired ones are removed."""
        session, now = f"{secrets.token_urlsafe(18)}:{researcher}", time.time()
        new = sessions.insert().values(id=session, expires=now + seconds)
        self.sql.execute(sessions.delete().where(sessions.c.expires < now), new)
        return session

    def has_session(self, session: str) -> bool:
        """Whether a session has neither ended nor expired."""
        query = select(sessions.c.id).where(sessions.c.id == session, sessions.c.expires > time.time())
        return self.read(lambda c: c.execute(query).first() is not None)

    def end_session(self, session: str) -> None:
        """Ends a session."""
        self.sql.execute(sessions.delete().where(sessions.c.id == session))

    def end_sessions(self, researcher: str = "") -> None:
        """Ends the sessions of a researcher, or all of them, and forgets failed log-ins."""
        own = sessions.c.id.endswith(f":{researcher}", autoescape=True) if researcher else true()
        self.sql.execute(sessions.delete().where(own), failures.delete())

    def close(self) -> None:
        """Closes the file, where there is one."""
        if self._own is not None:
            self._own.close()


def fill_private(connection: Connection, copy: Job[None] | None = None) -> None:
    """Creates the tables, and a new key or what is copied from another store."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7263514902)")
    PRIVATE.create_all(connection)
    keep_out_of_statistics(connection, [identities.c.external, identities.c.links])
    if read_setting(connection, "secret", secrets_table) is None:
        if copy is not None:
            copy(connection)
        else:
            write_setting(connection, "secret", secrets.token_hex(32), secrets_table)


def key_of(address: str) -> str:
    """The pseudonym key of another study, by the address of its database."""
    with closing(SqlDatabase(address, read_only=True)) as main, closing(PrivateStore(main, "", apart=False)) as other:
        if key := other.setting("secret"):
            return key
    raise InputError("This database has no study", file=address, remedy="correct people_of in the study file")


def create_private(study: str, copy: Job[None]) -> str:
    """A new private file with what is copied from another one; its name."""
    name = _name(study)
    file = state_folder() / f"{name}.sqlite"
    _make(file, new=True)
    with closing(SqlDatabase(str(file))) as store:
        store.open(lambda connection: fill_private(connection, copy))
    return name


def _name(study: str) -> str:
    return f"{study}-{secrets.token_hex(8)}"


def state_folder() -> Path:
    """The folder of private files: `VANTAGE_STATE`, or the user's data folder."""
    return Path(os.environ.get(VARIABLE) or platformdirs.user_data_path("vantage")) / "collect"


def _make(file: Path, *, new: bool) -> None:
    if not new and not file.exists():
        raise InputError(
            "The keys and platform ids of this study are not here",
            file=file,
            remedy=f"set {VARIABLE} to the folder that has them, or restore a backup",
        )
    if new:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))


def _placed(connection: Connection, name: str) -> str:
    """Stores in the study's database where its private tables are, unless it knows; that place."""
    if known := read_setting(connection, "private"):
        return known
    write_setting(connection, "private", name)
    return name


LENGTH: Final = 12
LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Letters of codes, which are not easily confused."""


def derived(secret: str, purpose: str) -> bytes:
    """A key for one purpose; keys for different purposes are independent."""
    return hmac.digest(bytes.fromhex(secret), purpose.encode(), "sha256")


def pseudonym(secret: str, source: str, identity: str) -> str:
    """The name of a participant in exports.

    >>> pseudonym("00" * 32, "prolific", "5a9d64f5f6dfdd0001eaa73d")
    'p-lplcgi7wfg7h'
    """
    digest = hmac.digest(derived(secret, "pseudonym"), f"{source}:{identity}".encode(), "sha256")
    return f"p-{base64.b32encode(digest).decode().lower()[:LENGTH]}"


def code_of(secret: str, rater: str) -> str:
    """A participant's completion code.

    >>> code_of("00" * 32, "p-abc")
    'VAQD26U6'
    """
    digest = hmac.digest(derived(secret, "completion"), rater.encode(), "sha256")
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:8])


def password_hash(password: str) -> str:
    """A password as it is stored: scrypt (Percival 2009) with its own salt."""
    salt = secrets.token_bytes(16)
    return f"scrypt:{salt.hex()}:{_scrypt(password, salt).hex()}"


def password_matches(password: str, stored: str) -> bool:
    """Whether a password matches the stored hash, compared in constant time."""
    kind, _, rest = stored.partition(":")
    salt, _, wanted = rest.partition(":")
    if kind != "scrypt":
        return False
    return hmac.compare_digest(_scrypt(password, bytes.fromhex(salt)), bytes.fromhex(wanted))


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=COST, r=8, p=1, maxmem=2**26)
