"""Outgoing webhooks: signed, in order, repeated until they are taken, by one process, without anything personal."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.collect.conftest import OpenService
from tests.collect.people import begun, study, walked
from tests.recruit.fake import serving
from vantage.collect import outgoing
from vantage.collect.outgoing import secret_of, send, signature
from vantage.errors import Problems
from vantage.recruit.rehearsal.rehearse import clock_from


class Receiver:
    """Another program: takes events, unless it is told not to."""

    def __init__(self) -> None:
        self.status, self.taken = 200, list[dict[str, object]]()
        self.headers = list[dict[str, str]]()
        self.bodies = list[bytes]()

    def app(self) -> Starlette:
        async def take(request: Request) -> Response:
            self.bodies.append(await request.body())
            self.headers.append(dict(request.headers))
            if self.status == 200:
                self.taken.append(json.loads(self.bodies[-1]))
            return Response(status_code=self.status)

        return Starlette(routes=[Route("/", take, methods=["POST"])])


def test_events_are_sent_once_signed_and_repeated_until_taken(
    open_service: OpenService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver, clock = Receiver(), clock_from(time.time())
    monkeypatch.setattr(outgoing, "time", clock)
    with serving(receiver.app()) as address:
        service = open_service(study(tmp_path, raters=8, webhooks=[{"url": address, "events": ["finished"]}]))
        walked(service)
        send(service.database)  # what happened before the address was known is not told
        assert receiver.taken == []
        begun(service)
        walked(service)
        receiver.status = 503
        send(service.database)
        send(service.database)  # not before its time
        assert len(receiver.bodies) == 1
        (state,) = service.researchers.webhooks()
        assert (state.waiting, state.problem) == (1, "it answered 503")
        clock.now += 10
        receiver.status = 200
        walked(service)
        send(service.database)
        send(service.database)
        raters = service.researchers.log().filter(event="finished")["rater"].to_list()
        assert [one["rater"] for one in receiver.taken] == raters[1:]
        assert [set(one) for one in receiver.taken] == [{"study", "id", "event", "at", "rater"}] * 2
        at, body = receiver.headers[-1]["x-vantage-timestamp"], receiver.bodies[-1]
        assert receiver.headers[-1]["x-vantage-signature"] == signature(secret_of(service.database), at, body)
        (state,) = service.researchers.webhooks()
        assert (state.waiting, state.problem) == (0, "")


def test_an_address_that_cannot_be_reached_stops_nothing(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, webhooks=[{"url": "http://127.0.0.1:9", "events": ["consented"]}]))
    send(service.database)
    begun(service)
    send(service.database)
    (state,) = service.researchers.webhooks()
    assert (state.waiting, state.problem) == (1, "it could not be reached (ConnectError)")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x.example", "javascript:alert(1)", "//x.example"])
def test_only_addresses_of_the_web_are_taken(tmp_path: Path, url: str) -> None:
    with pytest.raises(Problems, match=r"webhooks"):
        study(tmp_path, webhooks=[{"url": url}])


def test_the_dashboard_lists_them(tmp_path: Path) -> None:
    from tests.collect.web.studies import PASSWORD, Visitor, study_service

    service = study_service(tmp_path, webhooks=[{"url": "https://lab.example/hook"}])
    service.researchers.set_password(PASSWORD)
    visitor = Visitor(service)
    visitor.log_in()
    visitor.get("/admin/invitations")
    assert "<code>https://lab.example/hook</code>: consented, screened out, finished, withdrawn." in visitor.text
    assert secret_of(service.database).decode() in visitor.text
