"""Every phase of a flow in a real browser: on a phone without JavaScript, and on a desktop with axe."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from tests.collect.web.studies import OPENED
from tests.collect.web.test_browser import browser, fits, new_page, violations
from tests.collect.web.test_flow_pages import service_of
from vantage.collect.service import StudyService
from vantage.collect.web import create_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
__all__ = ["browser"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudyService]:
    made = service_of(tmp_path_factory.mktemp("flow"), raters=9, recruitment={"completion_code": "C0DE"})
    OPENED.remove(made)  # it stays open for all tests here
    yield made
    made.close()


@pytest.fixture(scope="module")
def address(service: StudyService) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(create_app(service), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(5)


def block(page: Page, look: Any, value: str) -> None:
    """Answers the pages of a block."""
    for number in (1, 2):
        page.wait_for_url(f"**/item/{number}")
        look("item")
        page.locator(f"input[name=a0][value='{value}']").check()
        page.click("text=Save and continue")
    page.wait_for_url("**/review")
    page.click("text=Submit my answers")


@pytest.mark.parametrize(("size", "script"), [("phone", False), ("phone", True), ("desktop", True)])
def test_every_phase(browser: Browser, address: str, service: StudyService, size: str, script: bool) -> None:
    context, page = new_page(browser, size, script=script, dark=size == "phone")
    problems: dict[str, list[Any]] = {}
    before = len(service.researchers.corpus().judgments)

    def look(name: str) -> None:
        if script:
            fits(page)
            if found := violations(page):
                problems[name] = found

    page.goto(address)
    page.click("text=I agree")
    page.wait_for_url("**/screener")
    look("screener")
    page.locator("input[value=yes]").check()
    page.click("text=Continue")
    page.wait_for_url("**/guidelines")
    page.click("text=I have read")
    page.wait_for_url("**/training")
    look("training")
    page.click("text=Check my answer")
    look("training with an error")
    page.locator("input[name=a0]").first.check()
    page.click("text=Check my answer")
    assert page.locator("[role=status]").inner_text()
    look("feedback")
    page.locator("main button").click()
    page.wait_for_url("**/quiz")
    look("quiz")
    page.locator("[name=t0]").last.check()
    page.locator("[name=t1]").first.check()
    page.click("text=Check my answers")
    block(page, look, "1")
    page.wait_for_url("**/traits")
    look("questionnaire")
    page.locator("input[value=yes]").check()
    page.locator("main button").click()
    page.wait_for_selector("text=Why?")
    look("follow-up question")
    page.fill("input[type=text]", "so")
    page.locator("main button").click()
    block(page, look, "0")
    page.wait_for_url("**/debriefing")
    look("debriefing")
    page.locator("main button").click()
    assert page.locator(".code").inner_text() == "C0DE"
    assert problems == {}
    assert len(service.researchers.corpus().judgments) == before + 4
    context.close()


def test_a_screened_out_person_is_treated_kindly(browser: Browser, address: str) -> None:
    context, page = new_page(browser, "phone")
    page.goto(address)
    page.click("text=I agree")
    page.locator("input[value=no]").check()
    page.locator("main button").click()
    page.wait_for_url("**/end")
    assert "This study is for adults. Thank you for asking." in page.locator("main").inner_text()
    assert violations(page) == []
    context.close()
