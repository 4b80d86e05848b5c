"""Runs the benchmarks that are named, or all of them."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = (
    "table",
    "alpha",
    "split_half",
    "aggregation",
    "scoring",
    "runs",
    "engines",
    "collect",
    "collect_crowd",
    "perspective",
    "trained",
    "models",
    "view",
    "calibration",
    "calibration_models",
    "audit",
    "planning",
    "adaptive",
    "calibration_powered",
    "powered",
    "rehearsal",
    "readers",
)


def main() -> None:
    chosen = [word for word in sys.argv[1:] if not (word.startswith("-") or word.isdecimal())] or list(NAMES)
    for name in chosen:
        if name not in NAMES:
            sys.exit(f"there is no benchmark '{name}'; known are: {', '.join(NAMES)}")
        print(f"\n=== {name}")
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
