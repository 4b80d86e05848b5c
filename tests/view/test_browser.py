"""The page in a real browser: every view, hostile and right-to-left text, phones, keyboard, following, the file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.raters.models.endpoint import Answer, Endpoint
from tests.view.conftest import ARABIC, HOSTILE
from vantage import ChatRater, demo_corpus, rate
from vantage import read as corpus_of
from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.scales import Scale
from vantage.view.app import Server
from vantage.view.explorer import Explorer
from vantage.view.exporting import export
from vantage.view.opening import STORE, open_paths

pytestmark = pytest.mark.slow

VIEWS = (
    "spectrum",
    "items",
    "item?item=b",
    "raters",
    "rater?rater=ann",
    "compare",
    "map",
    "map?kind=agreement",
    "spectrum?one=people&other=rater%3Dm1",
)


class Page:
    """A page of the explorer, opened with its token."""

    def __init__(self, browser: Any, server: Server, width: int = 1280, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page, self.server = self.context.new_page(), server
        self.problems: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._heard)
        self.page.goto(server.address)
        self.settled()

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.problems.append(message.text)

    def go(self, view: str) -> Any:
        self.page.goto(f"http://127.0.0.1:{self.server.port}/#/{view}")
        return self.settled()

    def settled(self) -> Any:
        self.page.wait_for_selector("main:not([aria-busy]) h1")
        return self.page.locator("main")


@pytest.fixture
def page(browser: Any, explorer: Explorer, serve: Callable[[Explorer], Server]) -> Any:
    opened = Page(browser, serve(explorer))
    yield opened
    opened.context.close()
    assert opened.problems == []


def test_every_view_shows_what_it_is_about(page: Page) -> None:
    assert page.go("items").locator("li").count() == 6
    assert "people" in page.go("items").inner_text()
    assert HOSTILE in page.go("item?item=b").inner_text()
    assert "m1" in page.go("raters").inner_text()
    assert "Use of the scale" in page.go("rater?rater=ann").inner_text()
    assert "points" in page.go("compare?one=rater=m1&other=people").inner_text()
    assert page.go("map?question=fair").locator("svg.heat text").count() == 5
    assert page.go("map?kind=agreement&trait=home").locator("circle").count() == 6
    assert page.page.title() != "owned"


def test_the_spectrum_shows_a_text_and_opens_it(page: Page) -> None:
    main = page.go("spectrum?question=warm")
    assert "strongly" in main.locator("h1").inner_text()
    box = main.locator(".plot").bounding_box()
    page.page.mouse.move(box["x"] + 5, box["y"] + 60)
    first = main.locator(".readout a").inner_text()
    assert "disagreement" in main.locator(".readout").inner_text()
    main.locator(".plot").focus()
    page.page.keyboard.press("End")
    assert main.locator(".readout a").inner_text() != first
    page.page.keyboard.press("Home")
    assert main.locator(".readout a").inner_text() == first
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector("text=Next item")
    page.page.go_back()
    page.page.wait_for_selector(".plot")
    assert page.page.url.endswith("question=warm")


def test_many_texts_are_opened_column_by_column(
    browser: Any, serve: Callable[[Explorer], Server], tmp_path: Path
) -> None:
    rows = [(f"t{item:04}", rater, float(1 + (item * (rater + 3)) % 5)) for item in range(900) for rater in range(4)]
    frame = pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")
    explorer = Explorer([], lambda: corpus_of(frame, question="warm"))
    opened = Page(browser, serve(explorer))
    export(explorer, tmp_path / "many.html")
    other = opened.context.new_page()
    other.goto(f"file://{tmp_path / 'many.html'}")
    for page in (opened.page, other):
        page.wait_for_selector(".plot")
        box = page.locator(".plot").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
        assert "of 900, on average" in page.locator(".readout").inner_text()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 60)
        page.wait_for_selector("text=Show all")
        page.locator(".plot").focus()
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Next item")
    assert opened.problems == []
    opened.context.close()


def test_search_filter_and_history(page: Page) -> None:
    page.go("items")
    page.page.fill("input[type=search]", "kind word")
    page.page.wait_for_function("() => location.hash.includes('search=kind')")
    page.page.wait_for_selector("main:not([aria-busy]) li")
    assert page.page.locator("main ol.rows > li").count() == 1
    page.page.locator("main ol.rows a").click()
    page.page.wait_for_selector("text=Item a")
    page.page.go_back()
    page.page.wait_for_selector("main ol.rows > li")
    assert page.page.input_value("input[type=search]") == "kind word"
    page.go("items?sort=item")
    page.page.select_option("select[name=_column]", "topic")
    page.page.fill("input[name=_value]", "law")
    page.page.keyboard.press("Enter")
    page.page.wait_for_function("() => document.querySelectorAll('main ol.rows > li').length === 3")


def test_a_box_on_a_map_lists_what_is_inside(page: Page) -> None:
    main = page.go("map?kind=agreement")
    box = main.locator("svg").first.bounding_box()
    page.page.mouse.move(box["x"] + box["width"] * 0.1, box["y"] + 5)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] * 0.98, box["y"] + box["height"] * 0.5)
    page.page.mouse.up()
    assert "in the box" in main.inner_text()
    before = main.locator("circle").count()
    for _ in range(5):
        main.locator("button", has_text="Zoom in").click()
    assert main.locator("circle").count() < before
    main.locator("button", has_text="Show all").click()
    assert main.locator("circle").count() == before
    with page.page.expect_download() as saved:
        main.locator("button", has_text="CSV").first.click()
    text = Path(saved.value.path()).read_text("utf-8")
    assert text.startswith("id,group,traits,label,x,y")
    main.locator("circle").last.click()  # others may cover the first
    page.page.wait_for_selector("text=Use of the scale")


def test_raters_of_the_heat_map_sort_the_spectrum_and_stay_in_the_address(page: Page) -> None:
    main = page.go("map?question=warm")
    heat = main.locator("svg.heat[role=slider]")
    heat.focus()
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press(" ")
    main.locator("h2", has_text="sorted by the answers of").wait_for()
    assert "among=" in page.page.url
    chosen = heat.get_attribute("aria-valuetext")
    assert chosen is not None
    assert chosen.endswith("chosen")
    page.page.reload()
    page.page.wait_for_selector("main:not([aria-busy]) .picked")
    box = main.locator("svg.heat[role=slider]").bounding_box()
    page.page.mouse.click(box["x"] + box["width"] - 5, box["y"] + box["height"] - 5)
    page.page.wait_for_function("() => document.querySelectorAll('.picked').length === 2")
    main.get_by_text("Open this Spectrum").click()
    page.page.wait_for_selector("text=Sorted by the answers of")


def test_keys_go_from_item_to_item(page: Page) -> None:
    page.go("item?item=a")
    page.page.keyboard.press("j")
    page.page.wait_for_selector("text=Item b")
    page.page.keyboard.press("k")
    page.page.wait_for_selector("text=Item a")
    page.go("items")
    page.page.keyboard.press("/")
    assert page.page.evaluate("() => document.activeElement.type") == "search"


def test_right_to_left_text_and_dialogues(page: Page) -> None:
    main = page.go("item?item=c")
    said = main.locator(".said")
    assert said.inner_text() == ARABIC
    assert said.evaluate("(element) => getComputedStyle(element).direction") == "rtl"
    assert page.go("item?item=d").locator(".dialogue li").count() == 2
    assert "no text" in page.go("item?item=e").inner_text()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light"), (3840, "light")])
def test_every_view_fits_and_is_accessible(
    width: int, scheme: str, browser: Any, explorer: Explorer, serve: Callable[[Explorer], Server]
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    opened = Page(browser, serve(explorer), width, scheme)
    for view in VIEWS:
        opened.go(view)
        assert opened.page.evaluate("() => document.documentElement.scrollWidth") <= width, view
        found = axe.Axe().run(opened.page).response["violations"]
        serious = [one["id"] for one in found if one["impact"] in ("serious", "critical")]
        assert serious == [], (view, [node["html"][:200] for one in found for node in one["nodes"]][:4])
    opened.context.close()


def test_judgments_that_arrive_are_shown(page: Page, corpus: Corpus, tmp_path: Path) -> None:
    page.go("items")
    page.page.evaluate("() => document.activeElement.blur()")
    corpus.filter(pl.col("item") != "f").write(tmp_path / "corpus")
    page.page.wait_for_function("() => document.querySelectorAll('main ol.rows > li').length === 5", timeout=15000)
    assert "5 items" in page.page.locator("#notice").inner_text()


def test_who_is_busy_is_told_that_the_files_have_changed(page: Page, corpus: Corpus, tmp_path: Path) -> None:
    page.go("items")
    page.page.locator("input[type=search]").focus()
    corpus.filter(pl.col("item") != "f").write(tmp_path / "corpus")
    page.page.wait_for_selector("#stale", timeout=15000)
    assert page.page.locator("main ol.rows > li").count() == 6
    page.page.get_by_role("button", name="Draw it again").click()
    page.page.wait_for_function("() => document.querySelectorAll('main ol.rows > li').length === 5", timeout=15000)
    assert "have changed" not in page.page.locator("#notice").inner_text()


@pytest.mark.slow
def test_a_run_is_followed_while_it_is_under_way(
    browser: Any, serve: Callable[[Explorer], Server], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none-is-needed")
    folder = demo_corpus().filter(pl.col("kind") == "person").write(tmp_path / "corpus")
    held = threading.Event()

    def reply(_: dict[str, Any]) -> Answer:
        if len(endpoint.requests) > 20:
            held.wait(30)
        return Answer("2")

    def work() -> None:
        asked = ChatRater("openai:distant", settings={"base_url": endpoint.url})
        rate(Corpus.read(folder), asked, "warmth-competence", store=folder / STORE).write(folder)

    with Endpoint(reply) as endpoint, ThreadPoolExecutor(1) as pool:
        opened = Page(browser, serve(Explorer(*open_paths([folder]))))
        running = pool.submit(work)
        opened.go("calls")
        try:
            opened.page.wait_for_function("() => document.querySelectorAll('main details').length > 5", timeout=20000)
            answered = opened.page.locator("main details").count()
            assert not running.done()
        finally:
            held.set()
        running.result(60)
        more = f"() => document.querySelectorAll('main details').length > {answered}"
        opened.page.wait_for_function(more, timeout=20000)
        assert "openai:distant" in opened.go("raters").inner_text()
    opened.context.close()
    assert opened.problems == []


def test_the_file_opens_from_disk(browser: Any, explorer: Explorer, tmp_path: Path) -> None:
    place = tmp_path / "view.html"
    export(explorer, place)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else problems.append(request.url),
    )
    page.goto(f"file://{place}")
    page.wait_for_selector("main:not([aria-busy]) .plot")
    assert "Measures" not in page.locator("nav").inner_text()
    for view, said in (
        ("item?item=b", HOSTILE),
        ("raters", "m1"),
        ("rater?rater=ann", "Use of the scale"),
        ("compare", "most divisive"),  # a file holds no tests, and has no tab for them
        ("map", "sorted by their answers"),
        ("map?kind=agreement&trait=home", "table"),
        ("spectrum?question=warm&one=home%3Dnorth&other=home%3Dsouth", "home: north beside home: south"),
    ):
        page.goto(f"file://{place}#/{view}")
        page.wait_for_selector("main:not([aria-busy]) h1")
        page.wait_for_timeout(100)
        assert said in page.locator("main").inner_text(), view
    page.goto(f"file://{place}#/items?search=kind")
    page.wait_for_function("() => document.querySelectorAll('main ol.rows > li').length === 1")
    assert problems == []
    context.close()


def test_a_notebook_shows_the_file_in_a_frame(browser: Any, corpus: Corpus, tmp_path: Path) -> None:
    place = tmp_path / "notebook.html"
    place.write_text(f"<!doctype html><title>Notebook</title>{corpus.view()._repr_html_()}", "utf-8")
    page = browser.new_page()
    page.goto(f"file://{place}")
    frame = page.frame_locator("iframe")
    frame.locator("main .plot").wait_for()
    frame.locator("main ol.pinned a").first.click()
    frame.locator("h1", has_text="Item").wait_for()
    assert page.title() == "Notebook"
    page.close()


@pytest.mark.slow
def test_forty_five_questions_and_a_folder_without_judgments(
    browser: Any, serve: Callable[[Explorer], Server], tmp_path: Path
) -> None:
    scales = {f"question-{number:02d}": Scale.points(1, 5) for number in range(45)}
    judged = [{"item": "a", "question": name, "rater": rater, "value": 3.0} for name in scales for rater in "xy"]
    raters = pl.DataFrame({"rater": ["x", "y"], "kind": ["person"] * 2})
    many = Corpus(
        pl.DataFrame({"item": ["a"]}), raters, pl.DataFrame(judged), [Instrument.of_questions("m", "M", scales)]
    )
    opened = Page(browser, serve(Explorer([], lambda: many)))
    assert opened.page.locator("select[name=question] option").count() == 45
    opened.go("item?item=a")
    assert opened.page.locator("main h2").count() == 45
    assert opened.page.evaluate("() => document.documentElement.scrollWidth") <= 1280
    none = demo_corpus()
    Corpus(none.items, none.raters, none.judgments.clear(), none.instruments).write(tmp_path / "none")
    empty = Page(browser, serve(Explorer(*open_paths([tmp_path / "none"]))))
    assert "No calls are stored" in empty.page.locator("main").inner_text()
    assert opened.problems == empty.problems == []
