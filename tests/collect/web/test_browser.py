"""People walk through studies in a real browser: with and without JavaScript, on a phone and on a desktop.

Every study has its own path on one server, as behind a reverse proxy. The tests need Chromium (the
variable VANTAGE_CHROMIUM may name it) and are skipped, with that reason, where there is none.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.collect.test_presenting import LABELS, TEXTS
from tests.collect.test_presenting import study as presented
from tests.collect.web.studies import OPENED, PASSWORD, QUIZ, TRAITS, study_service
from vantage.collect.service import StudyService
from vantage.collect.views import QuestionAnswer
from vantage.collect.web import create_app
from vantage.collect.web.forms import layout
from vantage.instruments import Instrument, bundled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.slow
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SIZES = {"phone": (360, 740), "desktop": (1440, 900)}
MIXED = "whole-way"
ORDERS = "orders"
TYPED = "typed"
ARABIC = {"text": "قال الوزير إن الخطة ناجحة، ولم يصدقه أحد.", "target": "الوزير"}


EVERY_SHAPE = ("appraisals", "conversation-safety", "pairwise", "politeness", "rationale-quality", "stereotype-content")
"""Instruments that together have every kind of question but that of `defensible`, which a phone walks through."""
ALIKE = [name for name in bundled() if name != "best-worst"]
"""Instruments whose questions may all have the same answer; test_answer_kinds_browser walks through best and worst."""


class Studies:
    """Many studies on one server, each under its name and created when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lock = folder, threading.Lock()
        self.services: dict[str, StudyService] = {}
        self.apps: dict[str, ASGIApp] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            name = scope["path"].split("/")[1]
            self[name]
            await self.apps[name](scope, receive, send)
        else:
            assert (await receive())["type"] == "lifespan.startup"
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})

    def __getitem__(self, name: str) -> StudyService:
        with self.lock:
            if name not in self.services:
                service = self.services[name] = self.created(name)
                OPENED.remove(service)  # it stays open for all tests here
                self.apps[name] = create_app(service, prefix=f"/{name}")
        return self.services[name]

    def created(self, name: str) -> StudyService:
        folder = self.folder / name
        if name == MIXED:
            plan: dict[str, Any] = {"traits": TRAITS, "quiz": QUIZ, "contact": "lab@x.example"}
            service = study_service(folder, "warmth-competence", items=[ARABIC, ARABIC], raters=50, **plan)
            service.researchers.set_password(PASSWORD)
        elif name == "context":
            items = [one.item for one in Instrument.load("sarcasm").examples if one.condition == "context"]
            service = study_service(folder, "sarcasm", items=items, raters=50, conditions={"between": ["context"]})
            service.researchers.set_password(PASSWORD)
            answered(service)
        elif name == TYPED:
            items = [{"post": "It rains.", "reply": "Lovely day."}] * 2
            service = study_service(folder, "irony", items=items, raters=50, evidence="typing", consent="Voluntary.")
        elif name == ORDERS:
            service = StudyService(
                presented(folder, presentation={"order": "random", "direction": ["plain", "reversed"]})
            )
            OPENED.append(service)
        else:
            items = [Instrument.load(name).examples[-1].item]
            service = study_service(folder, name, items=items, raters=50, recruitment={"completion_code": "C0DE"})
        return service


def answered(service: StudyService) -> None:
    """One person has judged one item."""
    people = service.participants
    person = people.enter({})
    people.give_consent(person, agreed=True)
    shown = people.page(person, people.confirm(person).position)
    people.submit(person, 1, {q.id: QuestionAnswer(1.0) for q in shown.questions}, token=shown.token)


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studies]:
    studies = Studies(tmp_path_factory.mktemp("studies"))
    yield studies
    for service in studies.services.values():
        service.close()


@pytest.fixture(scope="module")
def address(studies: Studies) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(studies, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(5)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    place = os.environ.get("VANTAGE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if place is None:
        pytest.skip("there is no Chromium here; install it, or name it in VANTAGE_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=place, args=ARGUMENTS)
        yield browser
        browser.close()


def new_page(browser: Browser, size: str, *, script: bool = True, dark: bool = False) -> tuple[BrowserContext, Page]:
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        java_script_enabled=script,
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(10_000)
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"a script failed: {error}"))
    return context, page


def fits(page: Page) -> None:
    """No page is wider than the screen."""
    page.wait_for_load_state("load")
    # A page that is just being replaced has no elements for a moment.
    while (
        narrow := page.evaluate("document.documentElement && document.documentElement.scrollWidth <= innerWidth")
    ) is None:
        page.wait_for_timeout(50)
    # Without JavaScript the page cannot be asked; the same page with JavaScript is.
    assert narrow, page.url


SHORTEN = """() => {
    const questions = [...document.querySelectorAll(".question")];
    if (questions.length <= 8) return questions.length;
    for (const question of questions.slice(3, -1)) {
        [...question.querySelectorAll("input[type=radio]")].pop().checked = true;
        for (const reason of question.querySelectorAll("textarea")) reason.value = "so";
    }
    return 4;
}"""
"""Fills the middle of a long page, so that the walk takes seconds; the first and the last questions are answered by
hand. Says how many are left."""


def by_keys(page: Page) -> None:
    """Answers the open page by keyboard alone: digits, reasons, Enter."""
    left, reasons = page.evaluate(SHORTEN), page.locator("textarea[required]").count()
    for number in range(1, left + 1):
        page.keyboard.press("1")
        if number == left:
            assert page.locator(".question:not(:has(input:checked))").count() == 0
        page.keyboard.press("Enter")
        if reasons:
            page.keyboard.type("so")
            page.keyboard.press("Control+Enter")


def by_hand(page: Page) -> None:
    """Answers the open page as one does without JavaScript."""
    page.evaluate(SHORTEN)
    for question in page.locator(".question:not(:has(input:checked))").all()[::-1]:
        for reason in question.locator("textarea").all():
            reason.fill("because")
        question.locator("input[type=radio]").last.check()  # and with it, it leaves the list
    page.click("text=Save and continue")


def test_every_kind_of_question_is_among_the_shown_ones() -> None:
    def kinds(names: Iterable[str]) -> set[object]:
        questions = [question for name in names for question in Instrument.load(name).questions]
        return {(layout(q.scale), q.rationale, bool(q.scale.opt_outs)) for q in questions}

    assert kinds((*EVERY_SHAPE, "defensible")) == kinds(bundled())


@pytest.mark.parametrize(
    ("size", "script", "names"),
    [("phone", True, tuple(ALIKE)), ("desktop", True, EVERY_SHAPE), ("phone", False, EVERY_SHAPE)],
    ids=["phone", "desktop", "phone-without-script"],
)
def test_every_instrument_from_consent_to_code(
    browser: Browser, address: str, size: str, script: bool, names: tuple[str, ...]
) -> None:
    context, page = new_page(browser, size, script=script)
    for name in names:
        page.goto(f"{address}/{name}/")
        page.click("text=I agree to take part")
        page.click("text=I have read the guidelines")
        assert page.locator(".item").inner_text().strip()
        if script:
            fits(page)
            by_keys(page)
        else:
            by_hand(page)
        page.wait_for_url("**/review")
        page.click("text=Submit my answers")
        assert page.locator(".code").inner_text() == "C0DE"
    context.close()


def test_the_whole_way_by_keyboard_alone(browser: Browser, address: str, studies: Studies) -> None:
    context, page = new_page(browser, "desktop")
    page.goto(f"{address}/{MIXED}/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # I agree
    page.wait_for_url("**/traits")
    reach(page, "#t0")
    page.keyboard.type("42")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/guidelines")
    reach(page, "button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/quiz")
    reach(page, "[name=t0]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_url("**/item/1")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.name") == "a0"
    page.keyboard.press("7")
    assert page.locator("input[name=a0]:checked").get_attribute("value") == "3"
    page.keyboard.press("ArrowUp")
    assert page.locator("input[name=a0]:checked").get_attribute("value") == "2"
    page.keyboard.press("Enter")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.wait_for_url("**/item/2")
    judged = studies[MIXED].researchers.corpus().judgments
    assert judged.filter(question="trust")["value"].to_list() == [2]
    context.close()


def test_two_people_see_other_orders_and_their_answers_mean_the_same(
    browser: Browser, address: str, studies: Studies
) -> None:
    """One on a desktop, one on a phone without JavaScript; both agree with the text, whatever is asked of them."""
    orders, asked = [], []
    for size, script in (("desktop", True), ("phone", False)):
        context, page = new_page(browser, size, script=script)
        page.goto(f"{address}/{ORDERS}/")
        page.click("text=I agree to take part")
        page.click("text=I have read the guidelines")
        for text in TEXTS:
            assert page.locator(".item").inner_text().strip().endswith(text)
            labels = page.locator(".choices:not(.out) label span").all_inner_texts()
            ask = page.locator("legend").inner_text()
            code = int(text.split()[-1].rstrip(".")) * (-1 if "waste" in ask else 1)
            page.locator(f'label:has(span:text-is("{LABELS[code]}")) input').check()
            if script:
                fits(page)
            page.click("text=Save and continue")
        page.goto(f"{address}/{ORDERS}/item/1")
        assert page.locator("label:has(input:checked) span").inner_text() == LABELS[-2 * (-1 if "waste" in ask else 1)]
        orders.append(labels)
        asked.append(ask)
        context.close()
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(LABELS.values())
    assert orders[0] != orders[1]
    assert sorted(asked) == ["The text is a waste of time.", "The text is worth reading."]
    judged = studies[ORDERS].researchers.corpus().judgments
    for _, both in judged.group_by("item"):
        assert both["value"].n_unique() == 1
        assert both["presentation"].n_unique() == 2
    assert judged.sort("item")["value"].to_list() == [-2, -2, -1, -1, 1, 1, 2, 2]


def reach(page: Page, selector: str) -> None:
    """Tabs until the element has the focus."""
    for _ in range(40):
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"{selector} cannot be reached by keyboard on {page.url}")


def test_shortcuts_can_be_turned_off_and_stay_off(browser: Browser, address: str) -> None:
    context, page = new_page(browser, "desktop")
    page.goto(f"{address}/irony/")
    page.click("text=I agree")
    page.click("text=I have read")
    page.click("#keys")
    assert page.locator("#keys").get_attribute("aria-pressed") == "false"
    page.reload()
    page.keyboard.press("1")
    assert page.locator("input:checked").count() == 0
    context.close()


def test_the_error_summary_takes_the_focus_and_leads_to_the_question(browser: Browser, address: str) -> None:
    context, page = new_page(browser, "phone")
    page.goto(f"{address}/irony/")
    page.click("text=I agree")
    page.click("text=I have read")
    page.click("text=Save and continue")
    assert page.evaluate("document.activeElement.className") == "errors"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert page.locator("input:checked").count() == 1
    context.close()


def test_coming_back_and_a_double_click(browser: Browser, address: str, studies: Studies) -> None:
    context, page = new_page(browser, "desktop")
    page.goto(f"{address}/{MIXED}/")
    page.click("text=I agree")
    page = context.new_page()
    page.goto(f"{address}/{MIXED}/")
    assert page.url.endswith("/traits")
    page.fill("#t0", "30")
    page.dblclick("text=Continue")
    page.wait_for_url("**/guidelines")
    context.close()


def test_right_to_left_text_and_the_marked_target(browser: Browser, address: str) -> None:
    context, page = new_page(browser, "phone")
    page.goto(f"{address}/{MIXED}/")
    page.click("text=I agree")
    page.fill("#t0", "30")
    page.click("text=Continue")
    page.click("text=I have read")
    page.locator("[name=t0]").last.check()
    page.locator("[name=t1]").first.check()
    page.click("text=Check my answers")
    said = page.locator(".said").first
    assert said.evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert page.locator("mark").inner_text() == "الوزير"
    fits(page)
    context.close()


def test_a_conversation_with_the_statement_marked(browser: Browser, address: str) -> None:
    context, page = new_page(browser, "phone", dark=True)
    page.goto(f"{address}/context/")
    page.click("text=I agree")
    page.click("text=I have read")
    fits(page)
    assert page.locator(".turns li.here mark").count() >= 1
    context.close()


def violations(page: Page) -> list[Any]:
    """What axe calls serious or critical."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    page.wait_for_load_state("load")
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("size", list(SIZES))
def test_no_page_has_a_serious_accessibility_violation(browser: Browser, address: str, size: str) -> None:
    context, page = new_page(browser, size, dark=size == "phone")
    problems: dict[str, list[Any]] = {}

    def look(name: str) -> None:
        fits(page)
        if found := violations(page):
            problems[name] = found

    page.goto(f"{address}/{MIXED}/")
    look("consent")
    page.click("text=I agree")
    look("traits")
    page.click("text=Continue")
    look("traits with an error")
    page.fill("#t0", "30")
    page.click("text=Continue")
    look("guidelines")
    page.click("text=I have read")
    look("quiz")
    page.click("text=Check my answers")
    look("quiz with errors")
    page.locator("[name=t0]").last.check()
    page.locator("[name=t1]").first.check()
    page.click("text=Check my answers")
    look("item")
    if size == "phone":
        page.click("text=Show all questions")
    page.click("text=Save and continue")
    look("item with errors")
    by_hand(page)
    by_hand(page)
    look("review")
    page.goto(f"{address}/{MIXED}/withdraw")
    look("withdraw")
    page.goto(f"{address}/{MIXED}/nowhere")
    look("error")
    page.goto(f"{address}/{MIXED}/review")
    page.click("text=Submit my answers")
    look("end")
    # Long pages are looked at once, where there is least room.
    for name in ("appraisals", "conversation-safety") if size == "phone" else ():
        page.goto(f"{address}/{name}/")
        page.click("text=I agree")
        page.click("text=I have read")
        look(f"item of {name}")
    assert problems == {}
    context.close()


@pytest.mark.parametrize("size", list(SIZES))
def test_a_researcher_walks_through_the_dashboard(browser: Browser, address: str, size: str, tmp_path: Path) -> None:
    context, page = new_page(browser, size, dark=size == "phone")
    problems: dict[str, list[Any]] = {}

    def look(name: str) -> None:
        fits(page)
        if found := violations(page):
            problems[name] = found

    page.goto(f"{address}/context/admin")
    page.fill("#password", "wrong")
    page.click("button")
    look("login")
    page.fill("#password", PASSWORD)
    page.click("button")
    look("overview")
    page.click("text=Pause the study")
    page.click("text=Resume the study")
    page.click("nav >> text=Raters")
    look("raters")
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator("button", has_text="Exclude").first.click()
    page.locator("button", has_text="Reopen").first.click()
    page.click("nav >> text=Items")
    look("items")
    page.locator("tbody a").first.click()
    look("item")
    page.click("nav >> text=Links")
    look("links")
    with page.expect_download() as download:
        page.click("text=Download the corpus")
    download.value.save_as(tmp_path / "corpus.zip")
    assert (tmp_path / "corpus.zip").stat().st_size > 500
    page.click("text=Log out")
    assert page.url.endswith("/admin/login")
    assert problems == {}
    context.close()


def test_typing_is_counted_and_the_consent_says_so(studies: Studies, address: str, browser: Browser) -> None:
    from vantage.collect.evidence import CONSENT

    context, page = new_page(browser, "desktop")
    page.goto(f"{address}/{TYPED}/")
    assert CONSENT in page.content()
    while "/item/" not in page.url:
        page.locator("main button").first.click()
        page.wait_for_load_state()
    page.evaluate("() => dispatchEvent(new ClipboardEvent('paste', {clipboardData: new DataTransfer()}))")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/item/2")
    context.close()
    typed = studies[TYPED].researchers.raters()[0].evidence
    assert typed == "pastes: 1, keys: 2"
