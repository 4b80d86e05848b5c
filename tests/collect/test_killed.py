"""The server is killed at 15 random moments while people answer: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import asyncio
import http.client
import random
import re
import socket
import threading
import time
from contextlib import closing
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

import pytest
from sqlalchemy import select

from tests.collect.people import study
from tests.nursery import Nursery
from vantage.collect.answers import read
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import items, pages, submissions
from vantage.documents import dump

KILLS = 15
IMPORTS = "from vantage.collect.web.server import ServedStudy, serve"
SERVE = "serve(ServedStudy(study=sys.argv[1]), port=int(sys.argv[2]))"


class Browser:
    """Somebody who sends a form again, as it was, until the server answers."""

    def __init__(self, port: int, stop: threading.Event) -> None:
        self.port, self.stop, self.cookies = port, stop, dict[str, str]()
        self.link: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[str, str]:
        """Where the answer leads (empty for a page), and the page."""
        headers = {"Cookie": "; ".join(f"{key}={value}" for key, value in self.cookies.items())}
        body = urlencode(form) if form else None
        if form:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        while not self.stop.is_set():
            answer: http.client.HTTPResponse | None = None
            try:
                if self.link is None:
                    self.link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                self.link.request(method, path, body, headers)
                answer = self.link.getresponse()
                text = answer.read().decode()
            except (OSError, http.client.HTTPException):
                if answer is not None:
                    answer.close()
                self.close()
                time.sleep(0.01)
                continue
            for name, value in answer.getheaders():
                if name.lower() == "set-cookie":
                    self.cookies |= {key: part.value for key, part in SimpleCookie(value).items()}
            assert answer.status < 500, text
            return (answer.getheader("location") or "", text)
        raise InterruptedError

    def close(self) -> None:
        """Lets go of the connection."""
        if self.link is not None:
            self.link.close()
        self.link = None

    def walk(self, acknowledged: dict[str, str]) -> None:
        """Goes through a whole batch; notes for every item what was acknowledged."""
        path, text = "/", ""
        while "/end" not in path:
            leads, text = self.ask("GET", path)
            if leads:
                path = leads
                continue
            token = re.search(r'name="form_token" value="([^"]+)"', text)
            assert token, text
            form = {"form_token": token.group(1), "agreed": "yes"}
            target = re.search(r'<form method="post" action="([^"]+)"', text)
            assert target, text
            number = re.search(r"Text (\d+)\.", text)
            if number and "/item/" in path:
                form |= {"a0": str(1 + int(number.group(1)) % 5), "a1": str(int(number.group(1)) % 2)}
            leads, text = self.ask("POST", target.group(1), form)
            assert leads, text
            if number and "/item/" in path:
                acknowledged[number.group(1)] = form["a0"]
            path = leads


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_doubled_when_the_server_is_killed(tmp_path: Path) -> None:
    given = {"raters": 1, "batch": {"size": 500}}
    plan = study(tmp_path, 2000, **given)
    file = tmp_path / "study.yaml"
    file.write_text(dump({**plan.plan.model_dump(include={"id", "title", "corpus", "instrument"}), **given}), "utf-8")
    port, stop, rng = free_port(), threading.Event(), random.Random(7)  # noqa: S311
    acknowledged: list[dict[str, str]] = [{} for _ in range(4)]
    failures: list[BaseException] = []

    def run(number: int) -> None:
        with closing(Browser(port, stop)) as browser:
            try:
                browser.walk(acknowledged[number])
            except InterruptedError:
                pass
            except BaseException as error:
                failures.append(error)

    people = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(len(acknowledged))]
    with closing(Nursery(IMPORTS, SERVE, file, port)) as servers:
        for kill in range(KILLS + 1):
            server = servers.start()
            try:
                if kill == 0:
                    for person in people:
                        person.start()
                before = sum(map(len, acknowledged))
                until = time.monotonic() + 60
                # A moment that differs every time, counted from the first answer that this server took.
                while sum(map(len, acknowledged)) <= before and time.monotonic() < until and not failures:
                    time.sleep(0.002)
                assert not failures, failures
                assert sum(map(len, acknowledged)) > before, "the server did not come back"
                time.sleep(rng.uniform(0.0, 0.25))
            except BaseException:
                stop.set()
                raise
            finally:
                if kill == KILLS:
                    stop.set()
                servers.kill(server)
    for person in people:
        person.join(20)
    assert not failures, failures
    check(plan, acknowledged)


@pytest.mark.slow
def test_nothing_is_lost_when_one_of_several_workers_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import collect_crowd

    monkeypatch.setattr(collect_crowd, "PORT", free_port())
    killed = collect_crowd.kills(collect_crowd.planned(tmp_path, 200), "", workers=2, number=8, times=10)
    asyncio.run(asyncio.wait_for(killed, 300))
    assert "10 kills" in capsys.readouterr().out


def check(plan: AnnotationStudy, acknowledged: list[dict[str, str]]) -> None:
    """What the database holds is what was acknowledged, and at most what each person had just sent besides."""
    with closing(StudyService(plan)) as service:
        query = (
            select(pages.c.participant, items.c.record, pages.c.revision, submissions.c.answers, submissions.c.revision)
            .join(submissions, submissions.c.page == pages.c.id)
            .join(items, items.c.row == pages.c.row)
        )
        kept = service.database.read(lambda c: c.execute(query).all())
        everything = {number: value for one in acknowledged for number, value in one.items()}
        stored: dict[str, str] = {}
        for _, record, revision, answers, one in kept:
            number = "".join(c for c in record if c.isdigit())
            assert number not in stored, "an answer is stored twice"
            assert revision == one == 1, "a resubmission was taken for a change"
            stored[number] = f"{read(answers)['warm'].value:g}"
        assert {number: stored.get(number) for number in everything} == everything, "an acknowledged answer was lost"
        assert len(stored) - len(everything) <= len(acknowledged), "only what was on its way may be there besides"
        assert len(everything) >= KILLS
        assert sum(map(len, acknowledged)) == len(everything), "two people got the same item"
        assert service.researchers.overview().arms[0].answered == len(stored)
