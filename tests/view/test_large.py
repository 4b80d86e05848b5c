"""Many texts: the explorer opens, follows the pointer and is written as a file in the time that is claimed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.report import as_json
from vantage.scales import Scale
from vantage.view.app import Server
from vantage.view.explorer import Explorer
from vantage.view.exporting import LARGEST, export
from vantage.view.opening import open_paths

pytestmark = pytest.mark.slow
TEXTS, VOTES, PEOPLE = 100_000, 5, 200
SLACK = 1.5
"""Processor time on a machine that does other things besides is longer than on a quiet one."""
START = """
from time import process_time
from vantage.view.app import Server
from vantage.view.explorer import Explorer
from vantage.view.opening import open_paths
import sys, uvicorn
Explorer(*open_paths(sys.argv[1:])).prepare()
print(process_time())
"""
MOVES, PANS = 60, 5
HOVER = """(moves) => {
  const plot = document.querySelector(".plot"), box = plot.getBoundingClientRect();
  for (let at = 0; at < moves; at++) {
    const where = { clientX: box.left + (at * box.width) / moves, clientY: box.top + 20, bubbles: true };
    plot.dispatchEvent(new PointerEvent("pointermove", where));
    document.body.getBoundingClientRect();
  }
}"""


class Spent:
    """Milliseconds of processor time of a page's main thread, whatever else the machine does."""

    def __init__(self, page: Any) -> None:
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def __call__(self) -> float:
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        return 1000 * float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def many(texts: int) -> Corpus:
    """Five of 200 people and a model about each text."""
    rng = np.random.default_rng(1)
    latent = 3 + 1.2 * rng.normal(0, 1.1, texts)
    who = (np.arange(texts)[:, None] * 7 + np.arange(VOTES) * 31) % PEOPLE
    votes = np.column_stack([latent[:, None] + rng.normal(0, 0.9, (texts, VOTES)), latent])
    items = pl.Series("item", [f"t{n:06}" for n in range(texts)])
    names = pl.Series("rater", [f"p{n:03}" for n in range(PEOPLE)] + ["model"])
    text = [f"The neighbour said sentence number {n}, and then went on about the weather." for n in range(texts)]
    judgments = pl.DataFrame(
        {
            "item": items.gather(np.repeat(np.arange(texts), VOTES + 1)),
            "question": "warm",
            "rater": names.gather(np.column_stack([who, np.full(texts, PEOPLE)]).ravel()),
            "value": np.clip(np.round(votes), 1, 5).ravel(),
        }
    )
    raters = pl.DataFrame({"rater": names, "kind": ["person"] * PEOPLE + ["model"]})
    instrument = Instrument.of_questions("try", "Try", {"warm": Scale.points(1, 5)})
    return Corpus(pl.DataFrame({"item": items, "text": text}), raters, judgments, [instrument])


def test_the_spectrum_of_a_hundred_thousand_texts_comes_soon_and_follows_the_pointer(
    browser: Any, serve: Callable[[Explorer], Server], tmp_path: Path
) -> None:
    many(TEXTS).write(tmp_path / "many")
    ran = subprocess.run([sys.executable, "-c", START, str(tmp_path / "many")], capture_output=True, check=True)
    assert float(ran.stdout) < 2.5 * SLACK
    explorer = Explorer(*open_paths([tmp_path / "many"]))
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(serve(explorer).address)
    page.wait_for_selector("main:not([aria-busy]) .plot")
    spent = Spent(page)
    begun_page = spent()
    page.evaluate(HOVER, MOVES)
    assert (spent() - begun_page) / MOVES < 50
    page.locator(".plot").click(position={"x": 600, "y": 60})
    page.get_by_text("Show all").wait_for()
    # Going on to the texts beside those, on the page and on the server.
    first = page.locator(".pages").inner_text()
    begun_page = spent()
    for _ in range(PANS):
        page.keyboard.press("j")
        page.wait_for_function("(before) => document.querySelector('.pages').innerText !== before", arg=first)
        first = page.locator(".pages").inner_text()
    on_page = (spent() - begun_page) / PANS
    begun = process_time()
    for start in range(1000, 1000 + 250 * PANS, 250):
        assert len(as_json(explorer.spectrum(start=start, end=start + 250))) > 250
    assert on_page < 50
    assert 1000 * (process_time() - begun) / PANS < 50
    page.keyboard.press("k")
    page.wait_for_function("(before) => document.querySelector('.pages').innerText !== before", arg=first)
    page.close()


def test_a_file_of_fifty_thousand_judgments_is_small_and_soon_written() -> None:
    corpus = many(LARGEST // (VOTES + 1))
    begun = process_time()
    text = export(Explorer([], lambda: corpus))
    assert process_time() - begun < 2.0 * SLACK
    assert len(text.encode()) < 15_000_000
