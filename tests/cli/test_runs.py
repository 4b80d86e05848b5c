from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Vantage
from tests.raters.models.endpoint import Answer, Endpoint
from tests.runs.test_rating import answering
from vantage import Corpus


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    with Endpoint(answering) as running:
        yield running


@pytest.fixture
def words(demo: Path, endpoint: Endpoint) -> tuple[object, ...]:
    asked = ("--instrument", "warmth-competence", "--question", "trust", "--limit", 6)
    return ("rate", demo, *asked, "--model", "openai:tester", "--no-probe", "--base-url", endpoint.url)


def test_a_store_is_listed_shown_and_exported(
    vantage: Vantage, demo: Path, words: tuple[object, ...], tmp_path: Path
) -> None:
    assert vantage(*words).code == 0
    assert (demo / "runs.sqlite").is_file()
    (row,) = vantage("runs", "list", demo, "--json").json
    assert (row["run"], row["state"], row["requests"], row["sent"]) == (1, "complete", 6, 6)
    assert "openai:tester+zero-shot" in vantage("runs", "list", demo).out
    shown = vantage("runs", "show", demo, 1, "--calls", 2)
    assert shown.out.count("── reply\n2") == 2
    assert "temperature: 0" in shown.out
    assert len(vantage("runs", "show", demo, 1, "--json").json["calls"]) == 1
    assert vantage("runs", "export", demo, tmp_path / "calls.jsonl").code == 0
    lines = (tmp_path / "calls.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["reply"] for line in lines} == {"2"}
    assert "secret-key" not in "".join(lines)
    assert "6 calls" in vantage("runs", "export", demo, tmp_path / "first.csv", "--run", 1).out
    assert vantage("runs", "export", demo, tmp_path / "second.csv", "--run", 2).code == 2
    assert b"secret-key" not in (demo / "runs.sqlite").read_bytes()


def test_replies_are_read_again(vantage: Vantage, demo: Path, words: tuple[object, ...], tmp_path: Path) -> None:
    vantage(*words)
    done = vantage("runs", "reparse", demo, "--to", tmp_path / "again")
    assert "Read 6 replies again: 0 judgments changed" in done.out
    assert Corpus.read(tmp_path / "again").judgments.equals(Corpus.read(demo).judgments)
    assert "Nothing was written" in vantage("runs", "reparse", demo, "--dry-run").out


def test_a_damaged_store_is_saved_on_demand(vantage: Vantage, demo: Path, words: tuple[object, ...]) -> None:
    vantage(*words)
    assert "6 replies were saved" in vantage("runs", "recover", demo).out
    assert vantage("runs", "list", demo).code == 0


@pytest.mark.parametrize(
    ("rest", "sentence"),
    [
        (("list", "nowhere"), "no run store here"),
        (("show", "DEMO", 9), "no run store here"),
        (("recover", "nowhere.sqlite"), "no run store here"),
        (("reparse", "DEMO"), "no column 'reply'"),
        (("export", "DEMO", "x.csv"), "no run store here"),
    ],
)
def test_bad_input_gets_one_sentence(vantage: Vantage, demo: Path, rest: tuple[object, ...], sentence: str) -> None:
    done = vantage("runs", *(demo if word == "DEMO" else word for word in rest))
    assert done.code == 2, done.out
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_failures_are_kept_told_and_taken_up_again(
    vantage: Vantage, demo: Path, words: tuple[object, ...], endpoint: Endpoint
) -> None:
    endpoint.reply = lambda body: Answer(status=400, error={"message": "no"})
    done = vantage(*words, "--fail-on", 2, "--concurrency", 1)
    assert done.code == 1
    assert "more than the 2 allowed" in done.err
    assert Corpus.read(demo).judgments.filter(rater="openai:tester+zero-shot", status="failed").height >= 3
    endpoint.reply = answering
    done = vantage(*words, "--json")
    assert done.code == 0, done.err
    assert done.json["raters"][0]["answered"] == 6
    mine = Corpus.read(demo).judgments.filter(rater="openai:tester+zero-shot")
    assert mine["status"].to_list() == ["answered"] * 6


def test_the_cost_of_a_run_is_limited(
    vantage: Vantage, demo: Path, words: tuple[object, ...], tmp_path: Path, endpoint: Endpoint
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai:tester: {input: 0, output: 1000000}\n", encoding="utf-8")
    more = ("--prices", prices, "--max-tokens", 2, "--max-cost", 3.5, "--concurrency", 1)
    done = vantage(*words, *more)
    assert done.code == 1
    assert "exceed the limit of 3.5" in done.err
    assert len(endpoint.requests) == 2
    assert Corpus.read(demo).judgments.filter(rater="openai:tester+zero-shot").height == 2
    assert "needs the price" in vantage(*words, "--max-cost", 1).err


def test_a_store_elsewhere_serves_another_folder(
    vantage: Vantage, demo: Path, words: tuple[object, ...], tmp_path: Path, endpoint: Endpoint
) -> None:
    store = tmp_path / "all.sqlite"
    for folder in ("one", "two"):
        assert vantage(*words, "--store", store, "--to", tmp_path / folder).code == 0
    assert len(endpoint.requests) == 6
    assert not (tmp_path / "one" / "runs.sqlite").exists()
    one, two = (Corpus.read(tmp_path / folder) for folder in ("one", "two"))
    assert one == two


def test_an_unknown_engine_is_told(vantage: Vantage, words: tuple[object, ...]) -> None:
    done = vantage(*words, "--engine", "locl")
    assert done.code == 2
    assert "did you mean 'local'?" in done.err


@pytest.mark.slow
def test_control_c_keeps_what_has_arrived_and_says_how_to_go_on(
    vantage: Vantage, demo: Path, words: tuple[object, ...], endpoint: Endpoint
) -> None:
    # From the fourth request on there is time enough for the interruption, however busy the machine is.
    endpoint.reply = lambda body: Answer("2", wait=0.3 if len(endpoint.requests) < 4 else 8)
    # Where the tests run in the background, interruptions are ignored by what they start.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    started = [sys.executable, "-c", f"{heeding}; from vantage.cli import main; main()"]
    told = [*started, *map(str, words), "--concurrency", "1"]
    running = subprocess.Popen(told, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    deadline = time.monotonic() + 60
    while len(endpoint.requests) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, (out, err)
    assert "run the same command again to resume" in err
    assert "Traceback" not in err
    kept = Corpus.read(demo).judgments.filter(rater="openai:tester+zero-shot").height
    assert 2 <= kept <= 5
    endpoint.reply = lambda body: Answer("2")
    rows = vantage(*words, "--json").json["raters"]
    assert (rows[0]["already_there"], rows[0]["answered"]) == (kept, 6 - kept)
    assert len(endpoint.requests) == 6


def test_what_runs_cost_is_shown_by_run_model_and_sitting(
    vantage: Vantage, demo: Path, words: tuple[object, ...], tmp_path: Path
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("date: 2026-11-15\nopenai:tester: {input: 1000000, output: 1000000}\n", encoding="utf-8")
    assert vantage(*words, "--prices", prices).code == 0
    assert vantage(*words).code == 0
    (by_run,) = vantage("runs", "cost", demo, "--json").json
    (sitting,) = vantage("runs", "cost", demo, "--by", "sitting", "--json").json
    assert (by_run["calls"], sitting["sitting"], sitting["prices_of"]) == (6, 1, "2026-11-15")
    assert by_run["cost"] == by_run["prompt_tokens"] + by_run["completion_tokens"]
    assert vantage("runs", "list", demo, "--json").json[0]["cost"] == by_run["cost"]
    assert vantage("runs", "cost", demo, "--run", 1, "--json").json == [by_run]
    assert vantage("runs", "cost", demo, "--run", 7, "--json").json == []
    assert "openai:tester" in vantage("runs", "cost", demo, "--by", "model").out
    assert "--by cannot be 'models'; did you mean 'model'?" in vantage("runs", "cost", demo, "--by", "models").err
