"""Languages, directions, drafts, reservations and one question at a time, in a real browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from tests.collect.web.studies import PASSWORD, QUIZ, study_service
from tests.collect.web.test_browser import Studies, browser, fits, new_page, reach, violations
from vantage.collect.languages import language
from vantage.collect.service import StudyService
from vantage.documents import dump
from vantage.instruments import Instrument

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]  # a fixture
pytestmark = pytest.mark.slow

ENDS = {1: "غير جدير بالثقة إطلاقًا", 7: "جدير بالثقة تمامًا"}
ARABIC: dict[str, Any] = {
    "id": "thiqa",
    "version": 1,
    "language": "ar",
    "title": "الثقة في الجمل",
    "description": "كيف تُظهر الجملة شخصًا ما.",
    "fields": [{"name": "text", "title": "الجملة"}],
    "guidelines": "اقرؤوا الجملة ثم أجيبوا عن الأسئلة.\n\n- احكموا على الجملة لا على رأيكم.",
    "warning": "قد تحتوي بعض الجمل على إهانات.",
    "consent": "المشاركة طوعية، ولن نسأل عن اسمكم.",
    "scales": {
        "seven": {"level": "ordinal", "from": 1, "to": 7},
        "sides": {"level": "ordinal", "from": -2, "to": 2},
        "yes-no": {"level": "nominal", "options": [{"code": 0, "label": "لا"}, {"code": 1, "label": "نعم"}]},
    },
    "questions": [
        {"id": "trust", "title": "الثقة", "ask": "ما مدى جدارة الوزير بالثقة؟", "scale": "seven", "anchors": ENDS},
        {
            "id": "side",
            "title": "الموقف",
            "ask": "ما موقف الجملة من الخطة؟",
            "scale": "sides",
            "anchors": {-2: "ضدها", 2: "معها"},
        },
        {"id": "irony", "title": "السخرية", "ask": "هل الجملة ساخرة؟", "scale": "yes-no", "rationale": "optional"},
    ],
    "examples": [
        {"item": {"text": "خطة عظيمة!"}, "answers": {"irony": {"answer": 1, "reason": "مدح لا يُقصد."}}},
    ],
}
SENTENCES = [{"text": "قال الوزير إن الخطة ناجحة بنسبة 95%، ولم يصدقه أحد."}, {"text": "هنّأ الوزير الفريق."}]
ARABIC_TRAITS: list[dict[str, Any]] = [
    {"id": "age", "ask": "كم عمركم؟", "kind": "number", "from": 18, "to": 120, "required": True},
    {"id": "region", "ask": "أين تعيشون؟", "options": ["في المدينة", "في الريف"]},
]
ARABIC_QUIZ = {"questions": [{"ask": "علامَ تحكمون؟", "options": ["رأيي", "الجملة"], "answer": 2}]}


class OurStudies(Studies):
    """The studies of this module."""

    def created(self, name: str) -> StudyService:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        many: dict[str, Any] = {"raters": 50, "contact": "lab@x.example"}
        if name == "arabic":
            file = folder / "thiqa.yaml"
            file.write_text(dump(ARABIC), encoding="utf-8")
            plan: dict[str, Any] = {"traits": ARABIC_TRAITS, "quiz": ARABIC_QUIZ, **many}
            return study_service(folder, str(file), items=SENTENCES, **plan)
        if name == "two":
            items = [one.item for one in Instrument.load("warmth-competence").examples][:2]
            plan = {"languages": ["en", "ar"], "quiz": QUIZ, **many}
            service = study_service(folder, "warmth-competence", items=items, **plan)
            service.researchers.set_password(PASSWORD)
            return service
        if name == "short":
            return study_service(folder, "appraisals", reserve_minutes=0.36, **many)
        if name == "favicon.ico":
            name = "irony"
        if name == "prolific":
            platform = {"via": "prolific", "completion_code": "DONE"}
            return study_service(folder, "irony", recruitment=platform, **many)
        return study_service(folder, name, **many)


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurStudies]:
    studies = OurStudies(tmp_path_factory.mktemp("studies"))
    yield studies
    for service in studies.services.values():
        service.close()


@pytest.fixture(scope="module")
def address(studies: OurStudies) -> Iterator[str]:
    yield from served(studies)


def served(studies: OurStudies) -> Iterator[str]:
    """The address of a server of the studies."""
    server = uvicorn.Server(uvicorn.Config(studies, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(5)


def said(code: str, text: str) -> str:
    return f"text={language(code).say(text)}"


def begin(page: Page, place: str, code: str = "en") -> None:
    """Goes to the first item of a study without traits and quiz."""
    page.goto(f"{place}/")
    page.click(said(code, "I agree to take part"))
    page.click(said(code, "I have read the guidelines"))
    page.wait_for_url("**/item/1")


def headings(page: Page) -> list[int]:
    return [int(name[1]) for name in page.locator("h1, h2, h3, h4").evaluate_all("all => all.map(e => e.tagName)")]


def in_order(levels: list[int]) -> bool:
    """One first heading, at the start, and no level skipped."""
    steps = pairwise(levels)
    return levels[:1] == [1] and levels.count(1) == 1 and all(then <= now + 1 for now, then in steps)


@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_a_study_in_arabic_is_right_to_left_on_every_page(
    browser: Browser, address: str, studies: OurStudies, size: str
) -> None:
    context, page = new_page(browser, size, dark=size == "desktop")
    problems: dict[str, Any] = {}

    def look(name: str) -> None:
        fits(page)
        html = page.locator("html")
        assert (html.get_attribute("lang"), html.get_attribute("dir")) == ("ar", "rtl"), name
        assert in_order(headings(page)), (name, headings(page))
        if size == "phone" and (found := violations(page)):
            problems[name] = found
        latin = page.locator("body").inner_text().replace("lab@x.example", "").replace("Enter", "")
        assert not [c for c in latin if c.isascii() and c.isalpha()], (name, latin)

    page.goto(f"{address}/arabic/")
    look("consent")
    page.click(said("ar", "I agree to take part"))
    look("traits")
    page.click(said("ar", "Continue"))
    assert page.locator(".errors").inner_text().startswith("إجابة واحدة ناقصة")
    look("traits with an error")
    page.fill("#t0", "30")
    page.click(said("ar", "Continue"))
    look("guidelines")
    page.click(said("ar", "I have read the guidelines"))
    look("quiz")
    page.click(said("ar", "Check my answers"))
    look("quiz with an error")
    page.locator("[name=t0]").last.check()
    page.click(said("ar", "Check my answers"))
    look("item")
    if size == "phone":
        page.click(said("ar", "Show all questions"))
    ends_are_right(page)
    page.click(said("ar", "Save and continue"))
    look("item with errors")
    for _ in SENTENCES:
        if size == "phone" and page.locator(".one").count():
            page.click(said("ar", "Show all questions"))
        page.locator("[name=a0]").last.check(force=True)
        page.locator("[name=a1]").first.check(force=True)
        page.locator("[name=a2]").last.check()
        page.click(said("ar", "Save and continue"))
    page.wait_for_url("**/review")
    look("review")
    page.goto(f"{address}/arabic/withdraw")
    look("withdraw")
    page.goto(f"{address}/arabic/nowhere")
    look("error")
    page.goto(f"{address}/arabic/review")
    page.click(said("ar", "Submit my answers"))
    look("end")
    assert problems == {}
    judged = studies["arabic"].researchers.corpus().judgments
    assert judged.filter(question="trust")["value"].unique().to_list() == [7]
    context.close()


def ends_are_right(page: Page) -> None:
    """The lowest point is at the right, with its label below it, and signs stay before their numbers."""
    for question in page.locator(".question:has(.points)").all():
        first, last = question.locator(".points label").first, question.locator(".points label").last
        low, high = question.locator(".ends span").first, question.locator(".ends span").last
        boxes = [one.bounding_box() for one in (first, last, low, high)]
        left, right, below_left, below_right = [box["x"] + box["width"] / 2 for box in boxes if box]
        assert left > right
        assert below_left > below_right
    minus = page.locator(".points bdi", has_text="−2").first
    assert minus.evaluate("e => getComputedStyle(e).direction") == "ltr"


def test_arrow_keys_follow_the_direction_of_the_scale(browser: Browser, address: str) -> None:
    context, page = new_page(browser, "desktop")
    page.goto(f"{address}/arabic/")
    page.click(said("ar", "I agree to take part"))
    page.fill("#t0", "30")
    page.click(said("ar", "Continue"))
    page.click(said("ar", "I have read the guidelines"))
    page.locator("[name=t0]").last.check()
    page.click(said("ar", "Check my answers"))
    page.locator("[name=a0]").nth(3).check(force=True)
    page.locator("[name=a0]").nth(3).focus()
    page.keyboard.press("ArrowLeft")
    assert page.locator("[name=a0]:checked").get_attribute("value") == "5"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("[name=a0]:checked").get_attribute("value") == "3"
    page.keyboard.press("ArrowDown")
    assert page.locator("[name=a0]:checked").get_attribute("value") == "4"
    context.close()


@pytest.mark.parametrize("script", [True, False], ids=["script", "without-script"])
def test_two_languages_in_one_study(browser: Browser, address: str, script: bool) -> None:
    context, page = new_page(browser, "desktop", script=script)
    page.goto(f"{address}/two/")
    assert page.locator("html").get_attribute("lang") == "en"
    page.click("text=العربية")
    assert page.locator("html").get_attribute("dir") == "rtl"
    # The study's own text stays English, and is marked and laid out as such.
    assert page.locator("h1").get_attribute("lang") == "en"
    page.click(said("ar", "I agree to take part"))
    page.click(said("ar", "I have read the guidelines"))
    page.locator("[name=t0]").last.check()
    page.locator("[name=t1]").first.check()
    page.click(said("ar", "Check my answers"))
    page.wait_for_url("**/item/1")
    assert page.locator("fieldset").first.get_attribute("lang") == "en"
    scale = page.locator(".choices:not(.out)").first
    assert scale.evaluate("e => getComputedStyle(e).direction") == "ltr"
    page.click("text=English")
    assert page.url.endswith("/item/1")
    assert page.locator("html").get_attribute("dir") == "ltr"
    context.close()


def test_the_browser_says_which_language_comes_first(browser: Browser, address: str) -> None:
    context = browser.new_context(locale="ar-EG")
    page = context.new_page()
    page.goto(f"{address}/two/")
    assert page.locator("html").get_attribute("lang") == "ar"
    page.goto(f"{address}/two/admin/login")
    assert page.locator("html").get_attribute("lang") == "en"
    context.close()


def test_answers_survive_a_reload_and_another_device_and_are_no_answers_yet(
    browser: Browser, address: str, studies: OurStudies
) -> None:
    context, page = new_page(browser, "desktop")
    begin(page, f"{address}/appraisals")
    count = page.locator(".question").count()
    assert count >= 20
    page.evaluate("for (const q of document.querySelectorAll('.question')) q.querySelectorAll('input')[1].click()")
    with page.expect_response("**/draft"):
        page.locator("textarea").first.fill("half a thought")
    page.reload()
    assert page.locator("input:checked").count() == count
    assert page.locator("textarea").first.input_value() == "half a thought"
    assert page.locator(".note").inner_text() == "We have restored the answers that you had not sent yet."
    assert not violations(page)
    # Another device with the same session: no local storage, and no JavaScript.
    other = browser.new_context(java_script_enabled=False)
    other.add_cookies(context.cookies())  # type: ignore[arg-type]
    phone = other.new_page()
    phone.goto(f"{address}/appraisals/item/1")
    assert phone.locator("textarea").first.input_value() == "half a thought"
    assert len(studies["appraisals"].researchers.corpus().judgments) == 0
    page.evaluate("for (const reason of document.querySelectorAll('textarea')) reason.value = 'so'")
    page.click("text=Save and continue")
    page.wait_for_url("**/item/2")
    page.goto(f"{address}/appraisals/item/1")
    assert page.locator(".note").count() == 0
    assert page.locator("input:checked").count() == count
    assert len(studies["appraisals"].researchers.corpus().judgments) == count
    other.close()
    context.close()


def test_a_minute_without_a_connection_loses_nothing(browser: Browser, address: str, studies: OurStudies) -> None:
    context, page = new_page(browser, "desktop")
    begin(page, f"{address}/warmth-competence")
    before = len(studies["warmth-competence"].researchers.corpus().judgments)
    count = page.locator(".question").count()

    def choose(which: int) -> None:
        page.evaluate(
            f"for (const q of document.querySelectorAll('.question')) q.querySelectorAll('input')[{which}].click()"
        )

    def chosen() -> list[str]:
        values: list[str] = page.eval_on_selector_all("input:checked", "all => all.map((one) => one.value)")
        return values

    # Saved without a connection: the form waits, and is sent by itself.
    context.set_offline(True)
    choose(1)
    first = chosen()
    page.click("text=Save and continue")
    page.locator("#saved >> text=No connection.").wait_for()
    assert page.url.endswith("/item/1")
    context.set_offline(False)
    page.wait_for_url("**/item/2")
    assert len(studies["warmth-competence"].researchers.corpus().judgments) == before + count
    page.goto(f"{address}/warmth-competence/item/1")
    assert chosen() == first
    # Lost on the way: the browser shows its error page, and the way back brings the answers.
    page.goto(f"{address}/warmth-competence/item/2")
    page.route("**/item/2", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    page.route("**/draft", lambda route: route.abort())
    choose(2)
    second = chosen()
    page.click("text=Save and continue")
    page.wait_for_url("chrome-error://**")
    page.unroute("**/item/2")
    page.goto(f"{address}/warmth-competence/item/2")
    assert chosen() == second
    page.unroute("**/draft")
    page.goto(f"{address}/warmth-competence/item/1")
    assert chosen() == first, "a draft is of one page"
    context.close()


def test_a_warning_comes_before_the_reservation_ends_and_can_be_answered(browser: Browser, address: str) -> None:
    """21.6 seconds are reserved: the warning comes after 1.6 of them."""
    context, page = new_page(browser, "desktop")
    begin(page, f"{address}/short")
    warning = page.locator("#hold >> text=Do you need more time?")
    warning.wait_for(timeout=6000)
    assert not violations(page)
    with page.expect_response("**/draft") as response:
        page.click("text=I need more time")
    assert response.value.json() == {"left": pytest.approx(21.6)}
    warning.wait_for(state="hidden")
    context.close()


def test_one_question_at_a_time_on_a_phone(browser: Browser, address: str) -> None:
    context, page = new_page(browser, "phone")
    begin(page, f"{address}/appraisals")
    assert page.evaluate("document.documentElement.scrollHeight") < 2400
    count = page.locator(".question").count()
    shown = page.locator(".question:visible")
    assert shown.count() == 1
    assert page.locator("#steps span").inner_text() == f"Question 1 of {count}"
    assert not page.locator("text=Save and continue").is_visible()
    page.click("#steps >> text=Next")
    assert page.evaluate("document.activeElement.tagName") == "LEGEND"
    page.click("#steps >> text=Previous")
    assert page.locator("#steps span").inner_text() == f"Question 1 of {count}"
    for _ in range(count - 1):
        page.click("#steps >> text=Next")
    page.evaluate(
        "[...document.querySelectorAll('.question')].forEach((q, i) => {"
        "if (i != 4) { q.querySelector('input').click(); const reason = q.querySelector('textarea'); "
        "reason.value = 'so'; reason.dispatchEvent(new Event('input', { bubbles: true })); } })"
    )
    assert not violations(page)
    page.click("text=Save and continue")
    page.wait_for_selector(".errors")
    assert page.locator("#steps span").inner_text() == f"Question 5 of {count}"
    page.locator(".errors a").first.click()
    shown.locator("input[type=radio]").first.check(force=True)
    for reason in shown.locator("textarea").all():
        reason.fill("so")
    fits(page)
    page.click("text=Show all questions")
    assert shown.count() == count
    page.click("text=Save and continue")
    page.wait_for_url("**/item/2")
    assert shown.count() == count  # the choice is remembered
    context.close()


def test_all_questions_are_on_the_page_without_javascript(browser: Browser, address: str) -> None:
    context, page = new_page(browser, "phone", script=False)
    begin(page, f"{address}/appraisals")
    assert page.locator(".question:visible").count() == page.locator(".question").count()
    assert not page.locator("#steps").is_visible()
    assert "To keep it longer, reload it" in page.locator("noscript").first.inner_text()
    context.close()


def test_skip_links_lead_to_the_questions(browser: Browser, address: str) -> None:
    context, page = new_page(browser, "desktop")
    begin(page, f"{address}/sarcasm")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the questions"
    page.keyboard.press("Enter")
    reach(page, "[name=a0]")
    assert in_order(headings(page))
    context.close()


def test_leaving_a_platform_says_how_to_return_the_submission(browser: Browser, address: str) -> None:
    context, page = new_page(browser, "phone")
    page.goto(f"{address}/prolific/?PROLIFIC_PID=p1&STUDY_ID=s&SESSION_ID=x")
    page.click("text=I do not agree")
    assert "choose “Stop without completing”" in page.locator(".done").inner_text()
    page.goto(f"{address}/prolific/?PROLIFIC_PID=p2&STUDY_ID=s&SESSION_ID=y")
    page.click("text=I agree to take part")
    page.click("text=Stop and withdraw")
    page.click("text=Withdraw now")
    assert "choose “Stop without completing”" in page.locator(".done").inner_text()
    assert not violations(page)
    context.close()
