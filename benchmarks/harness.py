"""One case in a process of its own: how long it took, and how much memory."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds (the median of the repeats), megabytes above the start, and what came out."""

    seconds: float
    megabytes: float
    result: Any


def measured(
    case: Callable[[Any], Any], load: Callable[[], Any], *, warm: Callable[[], Any] | None = None, repeats: int = 1
) -> Taken:
    """Runs a case in a fresh process on what `load` gives there, after a run on what `warm` gives."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_timed, (case, load, warm, repeats))


def _timed(case: Callable[[Any], Any], load: Callable[[], Any], warm: Callable[[], Any] | None, repeats: int) -> Taken:
    if warm is not None:
        case(warm())
    data = load()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak so far
    before, times, result = peak(), [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = case(data)
        times.append(time.perf_counter() - start)
    return Taken(statistics.median(times), peak() - before, result)


def peak() -> float:
    """The most memory that this process has held, in megabytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
