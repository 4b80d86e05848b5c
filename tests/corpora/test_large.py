"""A large file is streamed: the memory that its import takes hardly grows with its size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from vantage import Corpus, InputError
from vantage.corpora.readers import files
from vantage.corpora.readers.table import read

MAP = {"item": "id", "rater": "worker", "value": "stars", "text": "sentence"}
MEASURED = """
import sys, threading, time
from pathlib import Path
from vantage.corpora.readers.table import read

def used():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon")) // 1024

top = [0]
def watch():
    while True:
        top[0] = max(top[0], used())
        time.sleep(0.005)

before = used()
threading.Thread(target=watch, daemon=True).start()
mapping = {"item": "id", "rater": "worker", "value": "stars", "text": "sentence"}
read(Path(sys.argv[1]), map=mapping, traits=["age"]).write(sys.argv[2])
print(top[0] - before)
"""


def write(path: Path, blocks: int, *, bad: int | None = None) -> None:
    """For each block 100,000 judgments of 10,000 texts of 200 characters, by ten raters each."""
    with path.open("wb") as file:
        file.write(b"id,worker,stars,sentence,age\n")
        for block in range(blocks):
            row = pl.int_range(100_000) + block * 100_000
            rater = (row * 7) % 5003
            frame = pl.select(
                pl.format("i{}", row // 10).alias("id"),
                pl.format("w{}", rater).alias("worker"),
                (row * 31 % 7 + 1).cast(pl.String).alias("stars"),
                pl.format(
                    "Sentence {} of a text that says the same again. " + 3 * "Nothing new is said here at all. ",
                    row // 10,
                ),
                (18 + rater % 60).alias("age"),
            )
            if bad is not None and bad // 100_000 == block:
                frame[bad % 100_000, "stars"] = "five"
            frame.write_csv(file, include_header=False)


def test_a_streamed_corpus_is_the_one_that_is_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "t.csv", 1)
    whole = read(tmp_path / "t.csv", map=MAP, traits=["age"])
    monkeypatch.setattr(files, "LARGE", 0)
    streamed = read(tmp_path / "t.csv", map=MAP, traits=["age"])
    assert streamed.sizes == {"items": 10_000, "raters": 5003, "judgments": 100_000}
    assert streamed.scan().collect_schema() == whole.judgments.schema
    assert Corpus.read(streamed.write(tmp_path / "c")) == whole
    assert streamed == whole
    scratch = streamed.scratch.path  # type: ignore[attr-defined]
    assert scratch.exists()
    del streamed
    assert not scratch.exists()


def test_a_bad_cell_of_a_streamed_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGE", 0)
    write(tmp_path / "t.csv", 1, bad=77_777)
    with pytest.raises(InputError, match=r"t\.csv, row 77779, column 'stars': 'five' is not a number, although other"):
        read(tmp_path / "t.csv", map=MAP)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured with /proc")
def test_a_file_takes_less_memory_than_its_size(tmp_path: Path) -> None:
    """Streaming a CSV file of any size takes Polars 200 to 400 MB, so this one must be larger."""
    write(path := tmp_path / "t.csv", 32)
    command = [sys.executable, "-c", MEASURED, str(path), str(tmp_path / "c")]
    peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    size = path.stat().st_size / 2**20
    assert peak < 0.8 * size, f"{peak} MB for a file of {size:.0f} MB"
    assert Corpus.read(tmp_path / "c").sizes["judgments"] == 3_200_000
