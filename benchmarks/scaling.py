"""Growth: time and memory of the main jobs against their size, with the exponent of each curve.

    python -m benchmarks scaling [--full] [--only JOB …]

Every size is a process of its own. Seconds are of the processor, all cores together, so that another program on the
machine hardly counts; memory is the most that the process held. The points are kept in `benchmarks/scaling.json`,
from which docs/images/scaling.svg is drawn. `--full` adds the largest size of each curve. `--only` measures the
jobs whose names begin so (`--only people report`), and keeps the points of the others.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from benchmarks.harness import peak
from tools.gallery import on_white

RECORD: Final = Path(__file__).with_name("scaling.json")
FIGURE: Final = Path(__file__).parents[1] / "docs" / "images" / "scaling.svg"
PER_ITEM: Final = 10
CHUNK: Final = 1_000_000
RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def ratings(path: Path, rows: int) -> Path:
    """A Parquet file of ratings, ten of each item by some of 2,000 raters, written a part at a time."""
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    writer: Any = None
    for begin in range(0, rows, CHUNK):
        size = min(CHUNK, rows - begin)
        item = np.arange(begin, begin + size) // PER_ITEM
        quality = rng.normal(size=item[-1] - item[0] + 1)[item - item[0]]
        part = pl.DataFrame(
            {
                "item": pl.Series(item).cast(pl.String),
                "rater": pl.Series((item * 17 + np.arange(size) % PER_ITEM * 7) % 2000).cast(pl.String),
                "value": np.clip(np.round(quality + rng.normal(size=size) + 3), 1, 5),
            }
        ).to_arrow()
        writer = writer or pq.ParquetWriter(path, part.schema, compression="zstd")
        writer.write_table(part)
    writer.close()
    return path


def streamed_alpha(folder: Path, rows: int) -> Callable[[], Any]:
    """Alpha with its interval over items, from a file that is never held."""
    from vantage.measures import alpha

    path = ratings(folder / "ratings.parquet", rows)
    return lambda: alpha(pl.scan_parquet(path), level="ordinal")


def held_alpha(folder: Path, rows: int) -> Callable[[], Any]:
    """Alpha with its interval over items and raters, from a table in memory."""
    from vantage.measures import alpha

    frame = pl.read_parquet(ratings(folder / "ratings.parquet", rows))
    return lambda: alpha(frame, level="ordinal", ci="both")


def imported(folder: Path, rows: int) -> Callable[[], Any]:
    """A CSV file read, checked and written as a corpus."""
    from vantage.corpora.readers.table import read

    path = folder / "ratings.csv"
    pl.scan_parquet(ratings(folder / "ratings.parquet", rows)).sink_csv(path)
    return lambda: read(path).write(folder / "corpus")


def reported(folder: Path, rows: int) -> Callable[[], Any]:
    """The report on a corpus, with all its files."""
    from vantage.corpora.readers.table import read
    from vantage.report.overview import corpus_report

    corpus = read(ratings(folder / "ratings.parquet", rows))
    return lambda: corpus_report(corpus).write(folder / "report")


def called(folder: Path, calls: int) -> Callable[[], Any]:
    """Model calls planned, made, stored and read, with a model that answers at once."""
    from benchmarks.runs import fill

    return lambda: fill((folder / "runs.sqlite", calls))


def rehearsed(folder: Path, people: int) -> Callable[[], Any]:
    """People in a simulated study: allocation, answers, checks and payment."""
    from vantage import demo_corpus
    from vantage.collect.study import AnnotationStudy
    from vantage.recruit.rehearsal.rehearse import rehearse

    corpus = demo_corpus().write(folder / "demo")
    raters = max(3, people // 6)
    study = AnnotationStudy.of(corpus, "warmth-competence", raters=raters, batch={"size": 5}, questions=[["trust"]])
    return lambda: rehearse(study, people=people, seed=0)


JOBS: Final[dict[str, tuple[Callable[[Path, int], Callable[[], Any]], str, int, int]]] = {
    "alpha over items, streamed": (streamed_alpha, "ratings", 3, 8),
    "alpha over items and raters, held": (held_alpha, "ratings", 3, 7),
    "import of a CSV file": (imported, "ratings", 3, 7),
    "report": (reported, "ratings", 3, 6),
    "model calls": (called, "calls", 2, 6),
    "people in a rehearsal": (rehearsed, "people", 1, 4),
}
"""What grows: the job, what its size counts, and the powers of ten of the smallest and, with --full, the largest."""


def point(job: str, size: int) -> dict[str, Any]:
    """One size of one job, in this process."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        work = JOBS[job][0](Path(folder), size)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        start, used = time.perf_counter(), time.process_time()
        work()
        wall, processor = time.perf_counter() - start, time.process_time() - used
    return {"job": job, "size": size, "seconds": processor, "wall": wall, "megabytes": peak()}


def exponent(points: list[dict[str, Any]]) -> float:
    """How time grows from the second largest size to the largest: 1 where twice the size takes twice the time."""
    before, last = points[-2:]
    return float(np.log(last["seconds"] / before["seconds"]) / np.log(last["size"] / before["size"]))


def _power(value: float, _: float) -> str:
    return f"{value:,.10g}" if value < 1e5 else f"10{str(round(np.log10(value))).translate(RAISED)}"


def draw(points: list[dict[str, Any]]) -> str:
    """Time and memory against size, one line a job."""
    from matplotlib.ticker import LogLocator, NullFormatter

    from vantage.report.style import canvas, colours, drawn, markers

    def figure() -> Any:
        sheet, (time_, memory) = canvas(6.9, 3.4, 1, 2)
        colour, mark = colours(list(JOBS)), markers(list(JOBS))
        for job in JOBS:
            mine = [p for p in points if p["job"] == job]
            if len(mine) < 2:
                continue
            label = f"{job} (exponent {exponent(mine):.2f})"
            for axes, what in ((time_, "seconds"), (memory, "megabytes")):
                x, y = [p["size"] for p in mine], [p[what] for p in mine]
                axes.plot(x, y, marker=mark[job], color=colour[job], label=label, markersize=3)
        for axes, name in ((time_, "seconds of processor"), (memory, "megabytes held at most")):
            axes.set(xscale="log", yscale="log", xlabel="ratings, calls or people", ylabel=name)
            low, high = np.log10(axes.get_ylim())
            axes.set_ylim(10 ** np.floor(low), 10 ** np.ceil(high))
            for axis, most in ((axes.xaxis, 9), (axes.yaxis, 6)):
                axis.set_major_locator(LogLocator(numticks=most))
                axis.set_major_formatter(_power)
                axis.set_minor_formatter(NullFormatter())
        sheet.legend(*time_.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return sheet

    return on_white(drawn(figure))


def main() -> None:
    beyond = 0 if "--full" in sys.argv else 1
    chosen = tuple(sys.argv[sys.argv.index("--only") + 1 :]) if "--only" in sys.argv else ""
    jobs = [job for job in JOBS if job.startswith(chosen)]
    points: list[dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    for job in jobs:
        _, unit, least, most = JOBS[job]
        points = [one for one in points if one["job"] != job]
        print(f"\n{job:34} {'seconds':>9} {'wall':>8} {'MB':>7}")
        for power in range(least, most + 1 - beyond):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                points.append(pool.apply(point, (job, 10**power)))
            taken = points[-1]
            print(f"{10**power:>19,} {unit:14} {taken['seconds']:9.2f} {taken['wall']:8.2f} {taken['megabytes']:7.0f}")
        print(f"exponent {exponent([p for p in points if p['job'] == job]):.2f}")
        points.sort(key=lambda one: (list(JOBS).index(one["job"]), one["size"]))
        RECORD.write_text(json.dumps(points, indent=1) + "\n", encoding="utf-8")
    FIGURE.write_text(draw(points), encoding="utf-8")


if __name__ == "__main__":
    main()
