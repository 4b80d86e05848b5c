"""A corpus with people, a model with replies, two questions, and everything that is awkward to show."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import uvicorn

from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.scales import Scale
from vantage.view.app import Server
from vantage.view.explorer import Explorer
from vantage.view.opening import open_paths

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>alert(1)</script> =cmd"
ARABIC = "هذا نص قصير عن الجيران"


@pytest.fixture
def corpus() -> Corpus:
    """Six items, five people who answer 1 to 5 and yes or no, and a model with replies."""
    texts = ["A kind word.", HOSTILE, ARABIC, "Ann: The soup is cold.\nBen: How lovely.", None, "The last one."]
    items = pl.DataFrame({"item": list("abcdef"), "text": texts, "topic": ["tea", "law"] * 3})
    rows = []
    for number, item in enumerate("abcdef"):
        for place, rater in enumerate(("ann", "bob", "cid", "dee", HOSTILE)):
            value = 1 + (number * (place + 1)) % 5
            rows.append({"item": item, "question": "warm", "rater": rater, "value": float(value)})
            rows.append({"item": item, "question": "fair", "rater": rater, "value": float((number + place) % 2)})
        reply = "I would say 2 at first. Rating: 5" if item != "b" else f"As a model I cannot judge. {HOSTILE}"
        answered = {"value": 5.0, "status": "answered"} if item != "b" else {"value": None, "status": "refused"}
        rule = "marked:number" if item != "b" else "refusal"
        rows.append({"item": item, "question": "warm", "rater": "m1", **answered, "reply": reply, "rule": rule})
    judgments = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("status").fill_null("answered"))
    raters = pl.DataFrame(
        {
            "rater": ["ann", "bob", "cid", "dee", HOSTILE, "m1"],
            "kind": ["person"] * 5 + ["model"],
            "home": ["north", "north", "south", "south", HOSTILE, None],
        }
    )
    scales = {"warm": Scale.points(1, 5), "fair": Scale.labels("no", "yes")}
    return Corpus(items, raters, judgments, [Instrument.of_questions("try", "Try", scales)])


@pytest.fixture
def explorer(corpus: Corpus, tmp_path: Path) -> Explorer:
    """The corpus on disk, opened."""
    corpus.write(tmp_path / "corpus")
    return Explorer(*open_paths([tmp_path / "corpus"]))


@pytest.fixture
def serve() -> Iterator[Callable[[Explorer], Server]]:
    """Starts real servers on free ports and stops them at the end."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(explorer: Explorer) -> Server:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = Server(explorer, listener.getsockname()[1])
        process = uvicorn.Server(uvicorn.Config(server.app(), log_level="error", access_log=False))
        thread = threading.Thread(target=process.run, args=([listener],), daemon=True)
        thread.start()
        running.append((process, thread))
        return server

    yield start
    for process, thread in running:
        process.should_exit = True
        thread.join(timeout=10)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real Chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()
