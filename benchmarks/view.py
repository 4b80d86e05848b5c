"""The explorer on a million judgments: start, sorting, filtering, an item, memory; an exported file; Inspect's viewer.

`python -m benchmarks view` starts the real command in a process of its own and asks it over HTTP, as a browser does.
The file and the comparison are opened in Chromium. Inspect's viewer is started where VANTAGE_INSPECT names the Python
of an environment that has it (see `benchmarks.runs`), on a log of as many samples as our corpus has items.
"""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl
from playwright.sync_api import Error, Page, sync_playwright

from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.scales import Scale

ITEMS, RATERS, PER_ITEM = 100_000, 10_000, 10
VANTAGE = [sys.executable, "-c", "from vantage.cli import main; main()"]
TEXT = "the quick brown fox jumps over a lazy dog while many people look on and wonder about it"
WORDS = np.array(TEXT.split(" "))


def corpus(items: int = ITEMS, raters: int = RATERS, per_item: int = PER_ITEM, seed: int = 0) -> Corpus:
    """Judgments on a scale from 1 to 7, with texts and a trait."""
    random = np.random.default_rng(seed)
    count = items * per_item
    item = np.repeat(np.arange(items), per_item)
    rater = (np.tile(np.arange(per_item), items) * (raters // per_item) + item % (raters // per_item)) % raters
    middle = random.normal(4, 1.2, items)[item]
    value = np.clip(np.round(middle + random.normal(0, 1, count)), 1, 7)
    names, people = [f"i{n:06d}" for n in range(items)], [f"r{n:05d}" for n in range(raters)]
    texts = [" ".join(words) for words in WORDS[random.integers(0, len(WORDS), (items, 12))]]
    kinds = ["model" if n < 3 else "person" for n in range(raters)]
    return Corpus(
        pl.DataFrame({"item": names, "text": texts, "topic": random.choice(["law", "tea", "sea"], items)}),
        pl.DataFrame({"rater": people, "kind": kinds, "home": random.choice(["north", "south"], raters)}),
        pl.DataFrame(
            {
                "item": pl.Series(names).gather(item),
                "question": "warm",
                "rater": pl.Series(people).gather(rater),
                "value": value,
            }
        ),
        [Instrument.of_questions("bench", "Bench", {"warm": Scale.points(1, 7)})],
    )


class Browser:
    """Asks the server as a browser does, with its cookie."""

    def __init__(self, address: str) -> None:
        self.base = address.partition("/?")[0]
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)
        self._opener.open(address).read()

    def ask(self, path: str) -> Any:
        """The answer to one request."""
        return json.loads(self._opener.open(f"{self.base}/api/{path}").read())


def _p95(act: Callable[[int], object], times: int) -> float:
    taken = []
    for number in range(times):
        begin = time.perf_counter()
        act(number)
        taken.append(time.perf_counter() - begin)
    return float(np.quantile(taken, 0.95))


def _memory(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(peak[1]) / 2**20 if peak else float("nan")


def main() -> None:
    """Prints one line for each goal."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "corpus"
        corpus().write(place)
        begin = time.perf_counter()
        command = [*VANTAGE, "view", str(place), "--no-open"]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603
        try:
            line = server.stderr.readline() if server.stderr else ""
            browser = Browser(line.removeprefix("Look at ").strip())
            browser.ask("overview")
            browser.ask("items")
            print(f"first page after the process starts: {time.perf_counter() - begin:.2f} s (goal 1.5)")
            sorts = ["ambiguity", "mean", "declined", "answers", "item", "disagreement", "distance"]
            for sort in sorts:
                browser.ask(f"items?sort={sort}")
            sort_ = _p95(lambda n: browser.ask(f"items?sort={sorts[n % 7]}&page={n}"), 60)
            filter_ = _p95(lambda n: browser.ask(f"items?search={quote(str(WORDS[n % 12]))}&where.topic=tea"), 40)
            item = _p95(lambda n: browser.ask(f"item?item=i{n * 1999 % ITEMS:06d}"), 60)
            print(f"sort, p95: {1000 * sort_:.0f} ms; search and filter, p95: {1000 * filter_:.0f} ms (goal 300)")
            print(f"item page, p95: {1000 * item:.0f} ms (goal 100)")
            browser.ask("raters")
            rater = _p95(lambda n: browser.ask(f"rater?rater=r{n * 97 % RATERS:05d}"), 30)
            print(f"rater page, p95: {1000 * rater:.0f} ms; memory: {_memory(server.pid):.2f} GiB (goal 1)")
        finally:
            server.terminate()
            server.wait()
        small = Path(folder) / "small"
        corpus(SAMPLES, 500).write(small)
        file = Path(folder) / "view.html"
        begin = time.perf_counter()
        subprocess.run([*VANTAGE, "view", str(small), "--export", str(file)], check=True)  # noqa: S603
        size = file.stat().st_size / 2**20
        print(f"file of 50,000 judgments: {size:.1f} MB (goal 15), written in {time.perf_counter() - begin:.1f} s")
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"))
            page = chromium.new_page()
            begin = time.perf_counter()
            page.goto(file.as_uri())
            page.wait_for_selector(SETTLED)
            shown = time.perf_counter() - begin
            ready = _searched(page, "input[type=search]", "i004321", "i004321")
            print(f"the file in Chromium: list shown after {shown:.2f} s (goal 2), a search takes {ready:.2f} s")
            beside(chromium.new_page, small, Path(folder) / "logs")


SAMPLES = 5000
SETTLED = "main:not([aria-busy]) ol.rows li"


def beside(new_page: Callable[[], Page], small: Path, logs: Path) -> None:
    """The explorer and Inspect's viewer: from starting the process to the list of texts, and a search."""
    begin = time.perf_counter()
    command = [*VANTAGE, "view", str(small), "--no-open"]
    ours = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603
    try:
        line, page = ours.stderr.readline() if ours.stderr else "", new_page()
        page.goto(line.removeprefix("Look at ").strip())
        page.wait_for_selector(SETTLED)
        start = time.perf_counter() - begin
        search = _searched(page, "input[type=search]", "i004321", "i004321")
        print(f"explorer, {SAMPLES:,} texts in Chromium: list after {start:.2f} s, search {search:.2f} s")
    finally:
        ours.terminate()
        ours.wait()
    if not (python := os.environ.get("VANTAGE_INSPECT")):
        return
    logs.mkdir()
    writer = Path(__file__).parent / "peers" / "inspect_log.py"
    subprocess.run([python, str(writer), str(SAMPLES), str(logs / "bench.eval")], check=True)  # noqa: S603
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begin = time.perf_counter()
    command = [str(Path(python).parent / "inspect"), "view", "start", "--log-dir", str(logs), "--port", str(port)]
    theirs = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        page = new_page()
        _opened(page, f"http://127.0.0.1:{port}/")
        page.get_by_text("fox number 0 jumps").first.wait_for()
        start = time.perf_counter() - begin
        asked = 'input_contains("number 4321 ")'
        search = _searched(page, ".cm-content", asked, "fox number 4321 jumps")
        print(f"Inspect's viewer, {SAMPLES:,} samples: list after {start:.2f} s, search {search:.2f} s")
    finally:
        theirs.terminate()
        theirs.wait()


def _opened(page: Page, address: str) -> None:
    while True:
        try:
            page.goto(address)
        except Error:
            time.sleep(0.02)
        else:
            return


def _searched(page: Page, box: str, words: str, match: str) -> float:
    """Seconds from pasting the words into the box of the search to the match."""
    page.click(box)
    begin = time.perf_counter()
    page.keyboard.insert_text(words)
    page.get_by_text(match).first.wait_for()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
