"""Every kind of answer in a real browser: with keys alone, without JavaScript, from right to left, and on a phone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn

from tests.collect.web.studies import OPENED, study_service
from tests.collect.web.test_browser import browser, fits, new_page
from tests.instruments.test_kinds import KINDS, OPINIONS, ORDERS
from vantage.collect.service import StudyService
from vantage.collect.web import create_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
__all__ = ["browser"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StudyService, str]]:
    yield from served(tmp_path_factory.mktemp("kinds"), KINDS)


@pytest.fixture(scope="module")
def opinions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StudyService, str]]:
    yield from served(tmp_path_factory.mktemp("opinions"), OPINIONS)


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StudyService, str]]:
    yield from served(tmp_path_factory.mktemp("orders"), ORDERS)


def served(folder: Path, instrument: Path) -> Iterator[tuple[StudyService, str]]:
    """A study of two texts on a server of its own."""
    items = [{"text": "It rained."}, {"text": "It snowed."}]
    if str(instrument) in ("pairwise", "best-worst"):
        said = ["It rained.", "It snowed.", "The sun came out.", "Fog."]
        items = [{f"text_{n}": text for n, text in enumerate(said[: 2 if str(instrument) == "pairwise" else 4], 1)}] * 2
    if instrument == ORDERS:
        items = [{"text": "We need work first, and clean air.", "place": "Rome"}] * 2
    service = study_service(folder, str(instrument), items=items, raters=50)
    OPENED.remove(service)
    server = uvicorn.Server(uvicorn.Config(create_app(service), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield service, f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(5)
    service.close()


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_a_text_that_is_compared_is_chosen_by_pressing_it(browser: Browser, tmp_path: Path, size: str) -> None:
    for service, address in served(tmp_path, Path("pairwise")):
        page = opened(browser, address, size)
        cards = page.locator(".item .panel")
        assert cards.count() == 2
        cards.nth(1).click()
        assert "chosen" in str(cards.nth(1).get_attribute("class"))
        cards.nth(0).click()
        assert "chosen" not in str(cards.nth(1).get_attribute("class"))
        fits(page)
        page.get_by_role("button", name="Save and continue").click()
        page.wait_for_url("**/item/2")
        assert [value for value, _ in last(service).values()] == [1.0]


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_best_and_worst_are_chosen_on_the_texts(browser: Browser, tmp_path: Path, size: str) -> None:
    for service, address in served(tmp_path, Path("best-worst")):
        page = opened(browser, address, size)
        assert page.locator(".item .panel button").count() == 8
        page.get_by_role("button", name="Most: Text C").click()
        page.get_by_role("button", name="Least: Text D").click()
        pressed = page.locator(".item [aria-pressed=true]").all()
        assert [button.get_attribute("aria-label") for button in pressed] == ["Most: Text C", "Least: Text D"]
        fits(page)
        page.get_by_role("button", name="Save and continue").click()
        page.wait_for_url("**/item/2")
        assert {question: value for question, (value, _) in last(service).items()} == {"best": 3.0, "worst": 4.0}


def opened(browser: Browser, address: str, size: str = "desktop", *, script: bool = True) -> Page:
    """The first item of somebody who has just come."""
    _, page = new_page(browser, size, script=script)
    page.goto(address)
    for _ in range(4):
        if "/item/" in page.url:
            break
        for box in page.locator("main input[type=checkbox]").all():
            box.check()
        page.locator("main button").first.click()
        page.wait_for_load_state()
    assert "/item/1" in page.url
    return page


def last(service: StudyService) -> dict[str, tuple[float | None, str | None]]:
    """What the person who came last has answered."""
    judgments = service.researchers.corpus().judgments
    mine = judgments.filter(judgments["rater"] == judgments["rater"][-1])
    return {row["question"]: (row["value"], row["rationale"]) for row in mine.iter_rows(named=True)}


def test_nothing_is_chosen_until_a_slider_is_used_and_the_middle_can_be(
    browser: Browser, study: tuple[StudyService, str]
) -> None:
    page = opened(browser, study[1])
    fits(page)
    assert (page.input_value("#a0"), page.locator(".untouched").count()) == ("", 2)
    line = page.locator("input[type=range]").first.bounding_box()
    assert line is not None
    page.mouse.click(line["x"] + line["width"] / 2, line["y"] + line["height"] / 2)
    assert page.input_value("#a0") == "50"
    page.locator("input[type=range]").nth(1).focus()
    page.keyboard.press(" ")
    assert page.input_value("#a1") == "50"
    page.keyboard.press("ArrowLeft")
    assert page.input_value("#a1") == "49"
    assert page.locator(".untouched").count() == 0


def test_options_and_none_of_them_exclude_each_other(browser: Browser, study: tuple[StudyService, str]) -> None:
    page = opened(browser, study[1])
    page.get_by_label("joy").check()
    page.get_by_label("None of these").check()
    assert page.locator(".several input:checked").count() == 1
    page.get_by_label("fear").check()
    assert page.locator(".several input:checked").evaluate_all("boxes => boxes.map((box) => box.name)") == ["a4"]


@pytest.mark.parametrize("script", [True, False])
def test_every_kind_is_answered_by_keys_alone(browser: Browser, study: tuple[StudyService, str], script: bool) -> None:
    page = opened(browser, study[1], script=script)
    page.focus("#a0")
    page.keyboard.type("12.5")
    page.focus("#a1")
    page.keyboard.type("7")
    page.focus("#a2")
    page.keyboard.press(" ")
    page.focus("#a5")
    page.keyboard.type("rain")
    page.focus("#a7")
    page.keyboard.press(" ")
    page.focus("input[name=a8][value='3']")
    page.keyboard.press(" ")
    page.focus("text=Save and continue")
    page.keyboard.press("Enter")
    page.wait_for_url("**/item/2")
    answers = last(study[0])
    assert answers["strength"] == (12.5, None)
    assert answers["emotions.joy"] == (1.0, None)
    assert answers["emotions.fear"] == (0.0, None)
    assert answers["keywords"] == (1.0, "rain")
    assert answers["remark"] == (0.0, None)
    assert (answers["best"], answers["worst"]) == ((1.0, None), (3.0, None))


def test_a_slider_runs_from_right_to_left_with_its_anchors(browser: Browser, study: tuple[StudyService, str]) -> None:
    page = opened(browser, study[1])
    page.evaluate("document.querySelectorAll('.number').forEach((box) => { box.dir = 'rtl'; })")
    line = page.locator("input[type=range]").first.bounding_box()
    lowest = page.locator(".anchors li").first.locator("bdi").bounding_box()
    assert line is not None
    assert lowest is not None
    assert lowest["x"] > line["x"] + line["width"] * 2 / 3
    page.mouse.click(line["x"] + line["width"] - 4, line["y"] + line["height"] / 2)
    assert float(page.input_value("#a0")) < 5


def tabbed_to(page: Page, selector: str) -> None:
    """Moves on with the Tab key alone."""
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(selector)


@pytest.mark.parametrize("script", [True, False])
def test_a_list_is_ranked_and_words_are_marked_by_keys_alone(
    browser: Browser, orders: tuple[StudyService, str], script: bool
) -> None:
    page = opened(browser, orders[1], script=script)
    for name, place in (("a0", "2"), ("a1", "3"), ("a2", "1")):
        tabbed_to(page, f"[name={name}]")
        page.keyboard.press(place)
    assert [page.input_value(f"[name=a{n}]") for n in range(3)] == ["2", "3", "1"]
    tabbed_to(page, "[name=a3]")
    page.keyboard.press("ArrowDown")  # the second option
    page.keyboard.press(" ")
    chosen = page.locator("[name=a3]:checked").get_attribute("value")
    for word in (1, 2, 4):
        tabbed_to(page, f"[name='m4.{word}']")
        page.keyboard.press(" ")
    tabbed_to(page, "main form.questions button:not(.quiet)")
    page.keyboard.press("Enter")
    page.wait_for_url("**/item/2")
    assert chosen is not None
    assert last(orders[0]) == {
        "aims.jobs": (2.0, None),
        "aims.the-climate-or-nature": (3.0, None),
        "aims.safety": (1.0, None),
        "side": (float(chosen), None),
        "side-words": (1.0, "need work; and"),
    }


def test_a_place_that_is_taken_is_exchanged_and_arrows_move_through_words(
    browser: Browser, orders: tuple[StudyService, str]
) -> None:
    page = opened(browser, orders[1])
    for name, place in (("a0", "1"), ("a1", "2"), ("a2", "3"), ("a2", "ArrowUp"), ("a2", "ArrowUp")):
        page.focus(f"[name={name}]")
        page.keyboard.press(place)
    assert [page.input_value(f"[name=a{n}]") for n in range(3)] == ["2", "3", "1"]
    page.focus("[name='m4.0']")
    for key in ("ArrowRight", " ", "ArrowRight", "ArrowRight", " ", "ArrowLeft", " "):
        page.keyboard.press(key)
    assert page.locator(".words input:checked").evaluate_all("all => all.map((one) => one.name)") == [
        "m4.1",
        "m4.2",
        "m4.3",
    ]


def test_sliders_of_shares_end_where_all_is_given_away(browser: Browser, opinions: tuple[StudyService, str]) -> None:
    page = opened(browser, opinions[1])
    sliders = page.locator(".shares input[type=range]")
    sliders.nth(0).fill("70")
    sliders.nth(1).fill("60")
    assert [page.input_value(f"[name='s2.{n}']") for n in range(3)] == ["70", "30", ""]
    assert page.locator(".sum").first.inner_text() == "100 / 100"
    page.fill("[name='s3.2']", "100")
    assert sliders.nth(5).input_value() == "100"
    page.get_by_label("hostile").first.check()
    page.fill("#a1", "80")
    page.click("text=Save and continue")
    page.wait_for_url("**/item/2")
    answers = opinions[0].researchers.corpus().judgments
    assert answers["probabilities"].drop_nulls().to_list() == [[0.7, 0.3, 0.0], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize("kinds", ["study", "opinions", "orders"])
def test_a_phone_shows_it_without_faults(browser: Browser, kinds: str, request: pytest.FixtureRequest) -> None:
    study: tuple[StudyService, str] = request.getfixturevalue(kinds)
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    page = opened(browser, study[1], "phone")
    fits(page)
    if page.locator("text=Show all questions").count():
        page.click("text=Show all questions")
    fits(page)
    faults = Axe().run(page).response["violations"]
    assert [(fault["id"], [node["html"] for node in fault["nodes"]]) for fault in faults] == []
