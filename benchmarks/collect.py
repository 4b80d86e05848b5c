"""The annotation server under a crowd, beside Potato with an equal task: one question of five points per page.

python -m benchmarks collect [--potato=PYTHON] [--seconds=N] [--long] [--million]

`--potato` names the Python of an environment with potato-annotation 2.12.1; without it Potato is left out.
`--long` sends 100,000 answers and watches the server's memory; `--million` compares a corpus of 1,000,000 items
with one of 1,000. Both servers are asked over loopback by the same client, which runs on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from benchmarks.crowd import OfPotato, OfVantage, Participant, Tally, Wire, entered, run
from vantage import Corpus, Instrument, Scale
from vantage.documents import dump

PEOPLE = 200
RATE = 320
"""Answers per second that 200 paced participants send together: a little above what is promised."""
PORT = 8765
SERVE = (
    "import sys; from vantage.collect.web.server import ServedStudy, serve;"
    "serve(ServedStudy(study=sys.argv[1]), port=int(sys.argv[2]))"
)


def study(folder: Path, items: int) -> Path:
    """A study of one question with five points, large enough for every run."""
    instrument = Instrument.of_questions("warm", "How warm?", {"warm": Scale.points(1, 5)})
    table = pl.select(row=pl.int_range(items)).select(item=pl.format("i{}", "row"), text=pl.format("Text {}.", "row"))
    empty = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    Corpus(table, pl.DataFrame(schema={"rater": pl.String}), empty, instrument).write(folder / "corpus")
    (folder / "warm.yaml").write_text(dump(dict(instrument.document)), encoding="utf-8")
    plan = {"id": "warm", "title": "Warm", "corpus": "corpus", "instrument": "warm.yaml"}
    needed = max(1, 400_000 // items)
    more = {"raters": min(1000, needed), "batch": {"size": min(1000, items), "per_participant": 1000}}
    (folder / "study.yaml").write_text(dump({**plan, **more}), encoding="utf-8")
    return folder / "study.yaml"


@contextlib.contextmanager
def server(command: list[str], port: int, folder: Path, ready: str = "/") -> Iterator[int]:
    """Starts a server, waits until it answers, and gives its process id."""
    with (folder / "log.txt").open("w", encoding="utf-8") as log:
        running = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)  # noqa: S603
        try:
            start = time.perf_counter()
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}{ready}", timeout=5).close()
                    break
                except urllib.error.HTTPError:
                    break
                except OSError:
                    if running.poll() is not None or time.perf_counter() - start > 300:
                        raise RuntimeError((folder / "log.txt").read_text("utf-8")[-2000:]) from None
                    time.sleep(0.05)
            print(f"  first page after {time.perf_counter() - start:.1f} s")
            yield running.pid
        finally:
            running.terminate()
            running.wait()


def printed(name: str, tally: Tally, seconds: float) -> float:
    """Prints a run; its answers per second."""
    rate = len(tally.submits) / seconds
    quantile = [statistics.quantiles(times, n=100) for times in (tally.submits, tally.pages)]
    print(
        f"  {name}: {rate:,.0f} answers/s ({len(tally.submits):,}); submit p50 {quantile[0][49] * 1e3:.0f} ms, "
        f"p99 {quantile[0][98] * 1e3:.0f} ms; page p50 {quantile[1][49] * 1e3:.0f} ms, "
        f"p99 {quantile[1][98] * 1e3:.0f} ms; page {tally.weight / 1e3:.1f} kB"
    )
    return rate


def resident(pid: int) -> float:
    """Megabytes that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def weight(port: int) -> float:
    """Bytes of the first page with everything it loads, as sent."""

    async def measure() -> int:
        wire = Wire(port)
        _, _, text = await wire.ask("GET", "/")
        total = len(text.encode())
        for path in set(re.findall(r'(?:href|src)="(/static/[^"]+)"', text)):
            total += len((await wire.ask("GET", path))[2].encode())
        wire.close()
        return total

    return asyncio.run(measure())


async def vantage_runs(pid: int, seconds: float, *, long: bool) -> float:
    people: list[Participant] = [OfVantage(PORT, number) for number in range(PEOPLE)]
    await entered(people)
    await run(people, 2)
    printed(f"paced, {PEOPLE} people", await run(people, seconds, PEOPLE / RATE), seconds)
    full = printed("as fast as it goes", await run(people, seconds), seconds)
    if long:
        before, sent = resident(pid), 0
        while sent < 100_000:
            sent += len((await run(people, 30)).submits)
            print(f"  {sent:,} answers: {resident(pid):.0f} MB (at the start {before:.0f} MB)")
    return full


def run_vantage(seconds: float, *, long: bool) -> float:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        file = study(folder, 20_000)
        with server([sys.executable, "-c", SERVE, str(file), str(PORT)], PORT, folder) as pid:
            print(f"  first page with its style and script: {weight(PORT) / 1e3:.1f} kB")
            return asyncio.run(vantage_runs(pid, seconds, long=long))


async def potato_runs(seconds: float) -> float:
    people: list[Participant] = [OfPotato(PORT, number) for number in range(PEOPLE)]
    await entered(people)
    await run(people, 2)
    return printed("as fast as it goes", await run(people, seconds), seconds)


def run_potato(python: str, seconds: float) -> float:
    config = {
        "port": PORT,
        "server_name": "potato",
        "annotation_task_name": "Warm",
        "task_dir": ".",
        "output_annotation_dir": "annotation_output/",
        "output_annotation_format": "jsonl",
        "data_files": ["items.json"],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "user_config": {"allow_all_users": True, "users": []},
        "require_password": False,
        "alert_time_each_instance": 10_000_000,
        "annotation_schemes": [
            {
                "annotation_type": "radio",
                "name": "warm",
                "description": "How warm?",
                "labels": ["1", "2", "3", "4", "5"],
            }
        ],
        "assignment_strategy": "random",
        "max_annotations_per_user": 1000,
        "max_annotations_per_item": 20,
        "site_dir": "default",
    }
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "config.yaml").write_text(dump(config), encoding="utf-8")
        lines = (json.dumps({"id": f"i{n}", "text": f"Text {n}."}) for n in range(20_000))
        (folder / "items.json").write_text("\n".join(lines), encoding="utf-8")
        command = [
            str(Path(python).with_name("potato")),
            "start",
            "config.yaml",
            "-p",
            str(PORT),
            "--host",
            "127.0.0.1",
        ]
        with server(command, PORT, folder):
            return asyncio.run(potato_runs(seconds))


async def few() -> Tally:
    people: list[Participant] = [OfVantage(PORT, number) for number in range(4)]
    await entered(people)
    return await run(people, 10, 0.02)


def run_million() -> None:
    for items in (1_000, 1_000_000):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            file = study(folder, items)
            with server([sys.executable, "-c", SERVE, str(file), str(PORT)], PORT, folder) as pid:
                tally = asyncio.run(few())
                middle = statistics.median(tally.pages) * 1e3
                print(f"  {items:,} items: page p50 {middle:.1f} ms, {resident(pid):.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="*")
    parser.add_argument("--potato", default=os.environ.get("POTATO_PYTHON"))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--million", action="store_true")
    given, _ = parser.parse_known_args()
    os.environ.setdefault("VANTAGE_STATE", tempfile.mkdtemp(prefix="vantage-state-"))
    print("Vantage, SQLite, one process")
    ours = run_vantage(given.seconds, long=given.long)
    if given.potato:
        print("Potato")
        theirs = run_potato(given.potato, given.seconds)
        print(f"  {ours / theirs:.1f} times Potato's rate")
    if given.million:
        print("Corpora of two sizes")
        run_million()


if __name__ == "__main__":
    main()
