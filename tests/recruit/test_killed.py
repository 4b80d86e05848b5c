"""Kills around payments: a process that pays is killed at random moments, and nobody is paid twice.

A small process forks payers, so that each starts within milliseconds; each opens the study's real database, speaks to
the fake platform over HTTP, and is killed with SIGKILL.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.often import times
from tests.recruit.world import World, world

KILLS = times(100, 40)
AMOUNTS = {f"n{n}": 50 + n for n in range(KILLS // 4)} | {f"whole{n}": 10 + n for n in range(3)}
"""The bonuses: four kills share one, so that payers also find what earlier ones left behind."""
PAYERS = """
import os, sys
from types import SimpleNamespace
import sqlalchemy.dialects.sqlite, yaml
from vantage.collect.document import StudyDocument
from vantage.collect.private import PrivateStore
from vantage.collect.sql import SqlDatabase
from vantage.recruit.on_prolific import ProlificRecruiter
from tests.recruit.world import at_once
from vantage.recruit.prolific import ProlificClient
file, database, address, token = sys.argv[1:]
plan = StudyDocument.model_validate(yaml.safe_load(open(file)))
print("ready", flush=True)
for line in sys.stdin:
    name, amount, *submissions = line.split()
    if (child := os.fork()) == 0:
        # Payments and ledger are real; measures of quality, whose threads do not survive a fork, are left out.
        sql = SqlDatabase(database)
        private = PrivateStore(sql, plan.id)
        service = SimpleNamespace(
            study=SimpleNamespace(plan=plan, id=plan.id),
            database=SimpleNamespace(sql=sql, read=sql.read, write=sql.write, private=private),
            researchers=SimpleNamespace(by="", raters=lambda now: []),
        )
        one = ProlificRecruiter(service, ProlificClient(token, address), lambda: 1.0)
        at_once(one, "approve")
        at_once(one, "bonus", dict.fromkeys(submissions, int(amount)), name)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.slow
def test_nobody_is_paid_twice_and_no_seat_is_lost(tmp_path: Path) -> None:
    with world(tmp_path, raters=5, batch={"size": 3}) as here:
        here.opened()
        submissions = [here.finish(f"p{n}") for n in range(6)]
        seats = here.free()
        killed, names = _killed(here, tmp_path / "study.yaml", submissions)
        assert killed == KILLS, "payers must still be at work when they are killed"
        # Whoever runs the command again finds what was paid, pays the rest, and asks about what nobody can know.
        here.approve()
        for name in names:
            late = here.bonus(dict.fromkeys(submissions, AMOUNTS[name]), name).unconfirmed
            for one in late:
                here.bonus({one: AMOUNTS[name]}, name, resend=True)
        assert here.fake.approvals == dict.fromkeys(submissions, 1)
        assert Counter(here.fake.paid) == {(one, AMOUNTS[name]): 1 for one in submissions for name in names}
        ended = Counter(entry.submission for entry in here.recruiter.ledger.all("bonus") if entry.state == "done")
        assert ended == dict.fromkeys(submissions, len(names))
        assert here.recruiter.state().unconfirmed == ()
        assert here.free() == seats


def _killed(here: World, file: Path, submissions: list[str]) -> tuple[int, list[str]]:
    """Kills payers at random moments of their work: how many were killed at work, and the names of their bonuses."""
    database = here.service.study.database
    arguments = [sys.executable, "-c", PAYERS, str(file), database, here.address, here.fake.token]
    rng = random.Random(1)  # noqa: S311
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as payers:
        told, asked = payers.stdout, payers.stdin
        assert told is not None
        assert asked is not None
        assert told.readline() == "ready\n"

        def pay(name: str, moment: float | None) -> int:
            asked.write(f"{name} {AMOUNTS[name]} {' '.join(submissions)}\n")
            asked.flush()
            child = int(told.readline())
            if moment is not None:
                time.sleep(moment)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            return int(told.readline())

        start = time.monotonic()
        assert [pay(f"whole{n}", None) for n in range(3)] == [0, 0, 0]
        whole = (time.monotonic() - start) / 3
        killed, tried = 0, list[str]()
        while killed < KILLS and len(tried) < 4 * KILLS:
            tried.append(f"n{killed // 4}")
            killed += pay(tried[-1], rng.uniform(0, whole)) == -signal.SIGKILL
        asked.close()
    return killed, ["whole0", "whole1", "whole2", *dict.fromkeys(tried)]
