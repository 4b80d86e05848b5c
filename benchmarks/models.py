"""Mixed models of ratings: ours beside lme4 and ordinal, where R is installed.

Run with `python -m benchmarks models`; `--full` adds 1,000,000 ratings of 100,000 items by 10,000 raters. W&C-Sent and
MD-Agreement are read from `VANTAGE_DATA`. On a busy machine set `OMP_NUM_THREADS=1`: threads of linear algebra that
wait for a core make everything slow. Both sides are timed within their own process, without start-up; R fits twice and
the second time counts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.harness import measured
from tools.models_golden import wcsent

_SCRIPT = """
suppressMessages({{library(lme4); library(ordinal)}})
data <- read.csv("{file}"); data$item <- factor(data$item); data$rater <- factor(data$rater)
data$answer <- factor(data$value, ordered = TRUE)
for (i in 1:{times}) took <- system.time(fit <- {call})[["elapsed"]]
cat(took, as.numeric(logLik(fit)))
"""
_CALLS = {
    "gaussian": "lmer(value ~ 1 + (1 | item) + (1 | rater), data)",
    "ordinal": "clmm(answer ~ 1 + (1 | item) + (1 | rater), data = data)",
}


def data() -> Path:
    """The folder of published data."""
    return Path(os.environ.get("VANTAGE_DATA", "../shared/data"))


def trust() -> pl.DataFrame:
    """The ratings of trust in W&C-Sent."""
    return wcsent(data()).filter(question="trust")


def offensive() -> pl.DataFrame:
    """The judgments of MD-Agreement."""
    from vantage.corpora.readers import load

    return load("md-agreement", data() / "lewidi" / "2023" / "MD-Agreement").judgments.select("item", "rater", "value")


def many() -> pl.DataFrame:
    """A million ratings."""
    rng = np.random.default_rng(0)
    item, rater = np.repeat(np.arange(100_000), 10), rng.integers(0, 10_000, 1_000_000)
    value = 1.2 * rng.normal(size=100_000)[item] + 0.5 * rng.normal(size=10_000)[rater] + rng.normal(size=1_000_000)
    return pl.DataFrame({"item": item, "rater": rater, "value": value})


def fitted(family: Any, frame: pl.DataFrame) -> float:
    """The log-likelihood of a model without traits."""
    from vantage.measures.models.crossed import Crossed
    from vantage.measures.models.cumulative import Cumulative
    from vantage.measures.models.gaussian import Gaussian

    codes = [frame[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in ("item", "rater")]
    value, ones, design = frame["value"].to_numpy(), np.ones((len(frame), 1)), Crossed(codes)
    if family == "gaussian":
        return Gaussian(value, ones, design).fit(np.array([1.0, 0.4])).log_likelihood
    return Cumulative(value, ones, design).fit(np.array([1.0, 0.4])).log_likelihood


def in_r(family: str, frame: pl.DataFrame) -> tuple[float, float] | None:
    """Seconds and log-likelihood in R; null where it is not installed."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "data.csv"
        frame.select("item", "rater", "value").write_csv(file)
        script = _SCRIPT.format(file=file, call=_CALLS[family], times=2 if family == "gaussian" else 1)
        result = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=True)  # noqa: S603, S607
    seconds, likelihood = map(float, result.stdout.split())
    return seconds, likelihood


def main() -> None:
    """Prints one line per case."""
    cases: list[tuple[str, str, Any, bool]] = [
        ("W&C-Sent trust", "gaussian", trust, True),
        ("W&C-Sent trust", "ordinal", trust, True),
        ("MD-Agreement", "gaussian", offensive, False),
        ("MD-Agreement", "ordinal", offensive, False),
    ]
    cases += [("1,000,000 ratings", "gaussian", many, False)] if "--full" in sys.argv else []
    for name, family, load, peer in cases:
        ours = measured(partial(fitted, family), load, warm=trust, repeats=3 if peer else 1)
        line = f"{name:20} {family:9} {ours.seconds:8.2f} s {ours.megabytes:7.0f} MB  log-likelihood {ours.result:.2f}"
        other = in_r(family, load()) if peer else None
        if other is not None:
            line += f"   R {other[0]:7.2f} s, {other[1]:.2f}: {other[0] / ours.seconds:.0f} times as long"
        print(line, flush=True)
